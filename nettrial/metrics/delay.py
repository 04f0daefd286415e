"""Round-trip times, one-way delays and their variation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from nettrial.metrics.metric import PERCENTILES, add, mean_of, percentile, scaled
from nettrial.scenario import Figure, FlowRecord, SizeRecord

ROUND_TRIPS = Figure("round_trip_times")
"""The round-trip times of a record."""


RISE = 100
"""The bytes over which `size_rise` is the rise of the round-trip time."""


def _rise(size: SizeRecord, sizes: Sequence[SizeRecord]) -> float | None:
    """Returns the mean round-trip time of a size less that of the size 100 bytes smaller; None without it."""
    smaller = next((each for each in sizes if each.size_bytes == size.size_bytes - RISE), None)
    return fmean(size.rtt_us) - fmean(smaller.rtt_us) if smaller else None


def _sweep(flow: FlowRecord) -> float | None:
    """Returns the mean over sizes and repeats of the mean round-trip time."""
    return fmean(fmean(size.rtt_us) for size in flow.sizes) / 1000 if flow.sizes else None


add(
    "rtt",
    "ms",
    "Round-trip time",
    "mean time from sending a request to reading its response, at the application",
    "RFC 2681, at the application",
    "lower",
    "mean",
    flow=lambda flow: mean_of(flow.rtt_us),
    needs=ROUND_TRIPS,
)
for _field, _words in PERCENTILES.items():
    add(
        f"rtt_{_field}",
        "ms",
        f"Round-trip time, {_words}",
        f"{_words} of the time from sending a request to reading its response, at the application",
        "RFC 2681, at the application",
        "lower",
        flow=lambda flow, field=_field: percentile(flow.rtt_us, field),  # type: ignore[misc]
        needs=ROUND_TRIPS,
    )
for _part, _title, _words in (
    (
        "sending",
        "Sending",
        "from the calls to send until the messages reach their interfaces' queues: system calls, protocols, "
        "segmentation",
    ),
    ("queue", "Queues", "from there until the interfaces have taken them: queues and shapers of the hosts"),
    (
        "wire",
        "Wires",
        "from there until the other hosts' kernels take them in: links, the nodes between them, interrupts",
    ),
    ("reading", "Reading", "from there until the programs have them: protocols, wake-ups, reading"),
    ("answering", "Answering", "from reading the request to the call to send the response"),
):
    add(
        f"{_part}_time",
        "ms",
        f"Time of a round trip: {_title.lower()}",
        f"mean time of a request and its response together {_words}; the parts of a round trip sum to its "
        "time, and those that the simulator does not model are absent. Requests with `mechanisms` alone",
        "Linux Documentation/networking/timestamping.rst: SCM_TSTAMP_SCHED, SCM_TSTAMP_SND, arrival; the "
        "simulator's events",
        "lower",
        "mean",
        flow=lambda flow, part=_part: (  # type: ignore[misc]
            mean_of(getattr(flow.mechanisms, f"{part}_us")) if flow.mechanisms else None
        ),
        needs=Figure("mechanisms"),
    )
add(
    "sweep_rtt",
    "ms",
    "Round-trip time over all sizes",
    "mean over a sweep's sizes, with equal weights, of the mean time from sending a request to reading "
    "its answer",
    "RFC 2681, at the application",
    "lower",
    "mean",
    flow=_sweep,
    needs=ROUND_TRIPS,
)
add(
    "size_rtt",
    "ms",
    "Round-trip time of a size",
    "mean time from sending a request of this size to reading its answer",
    "RFC 2681, at the application",
    "lower",
    "mean",
    size=lambda size, _: fmean(size.rtt_us) / 1000,
    needs=ROUND_TRIPS,
)
add(
    "size_rise",
    "us",
    "Rise of the round-trip time before a size",
    f"mean round-trip time of this size less that of the size {RISE} bytes smaller; absent if the sweep has "
    "no such size",
    "RFC 2681, at the application",
    "lower",
    size=_rise,
    needs=ROUND_TRIPS,
)
add(
    "owd",
    "ms",
    "One-way delay",
    "mean time from a packet's departure to its arrival, at the applications",
    "RFC 7679, at the applications",
    "lower",
    "mean",
    flow=lambda flow: mean_of(flow.owd_us),
)
for _field, _words in PERCENTILES.items():
    add(
        f"owd_{_field}",
        "ms",
        f"One-way delay, {_words}",
        f"{_words} of the time from a packet's departure to its arrival, at the applications",
        "RFC 7679, at the applications",
        "lower",
        flow=lambda flow, field=_field: percentile(flow.owd_us, field),  # type: ignore[misc]
    )
add(
    "owd_error",
    "ms",
    "Error of the one-way delay",
    "the possible error of one-way delays due to the estimated offset between two clocks; absent "
    "if both hosts share a clock",
    "RFC 7679 section 3.7.1",
    "lower",
    "maximum",
    flow=lambda flow: scaled(flow.owd_error_us, 1e3),
    needs=Figure("owd_error"),
)
for _field, _words in PERCENTILES.items():
    add(
        f"delay_variation_{_field}",
        "ms",
        f"Delay variation, {_words}",
        f"{_words} of the one-way delay above the flow's smallest",
        "RFC 5481 section 4.2 (packet delay variation)",
        "lower",
        flow=lambda flow, field=_field: percentile(flow.delay_variation_us, field),  # type: ignore[misc]
    )
add(
    "jitter_rfc3550",
    "ms",
    "Jitter (RFC 3550)",
    "smoothed difference of successive transit times, J += (|D| - J)/16 from J = 0, its last value",
    "RFC 3550 section 6.4.1 and appendix A.8",
    "lower",
    "mean",
    flow=lambda flow: scaled(flow.jitter_rfc3550_us, 1e3),
)
add(
    "delay_difference_mean",
    "ms",
    "Mean delay difference",
    "mean of the absolute differences of successive transit times",
    "D-ITG's average jitter",
    "lower",
    "mean",
    flow=lambda flow: scaled(flow.delay_difference_mean_us, 1e3),
)
