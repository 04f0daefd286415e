"""What a trial's record says of a flow or a host, by name: each metric with its unit, definition and
source. A metric that could not be measured is absent, with the reason; it is never a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from nettrial.registry import Registry
from nettrial.scenario import Distribution, FlowRecord, HostRecord, Record


@dataclass(frozen=True)
class Metric:
    """A figure of one flow or host in one trial."""

    name: str
    unit: str
    title: str
    definition: str
    source: str
    better: Literal["higher", "lower"]
    of: Literal["flow", "host"]
    read: Callable[[Record, str], float | str]
    """The figure of the flow or host of that name, in `unit`; or, where it is absent, the reason."""


METRICS: Registry[Metric] = Registry("metric")
"""Every metric by name."""


def _reason(record: Record, name: str, of: str, otherwise: str) -> str:
    """Why `name` of `of` is absent: the engine's reason, where it gives one."""
    given = (absence.reason for absence in record.absent if (absence.metric, absence.object) == (name, of))
    return next(given, otherwise)


def _add(
    name: str,
    unit: str,
    title: str,
    definition: str,
    source: str,
    better: Literal["higher", "lower"],
    flow: Callable[[FlowRecord], float | None] | None = None,
    host: Callable[[HostRecord], float | None] | None = None,
) -> None:
    """Registers a metric that `flow` or `host` (one of them) takes from a record of its kind."""

    def read(record: Record, of: str) -> float | str:
        value: float | None = None
        if flow is not None:
            value = next((flow(found) for found in record.flows if found.name == of), None)
        elif host is not None:
            value = next((host(found) for found in record.hosts if found.name == of), None)
        if value is None or not math.isfinite(value):
            return _reason(record, name, of, f"the record has no {title.lower()} of {of}")
        return value

    kind: Literal["flow", "host"] = "flow" if flow else "host"
    METRICS.add(name, Metric(name, unit, title, definition, source, better, kind, read))


def _of(values: Distribution | None, pick: Callable[[Distribution], float]) -> float | None:
    """One figure of a distribution in thousandths of its unit; None if it has no values."""
    return pick(values) / 1000 if values and values.count else None


def _scaled(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor


_add(
    "goodput",
    "Mbit/s",
    "Goodput",
    "application bytes over the time from the first write to the receiver's confirmation that it has read "
    "all, summed over the flow's connections",
    "RFC 2647 section 3.17",
    "higher",
    flow=lambda flow: _scaled(flow.goodput_bps, 1e6),
)
_add(
    "rtt",
    "ms",
    "Round-trip time",
    "mean time from sending a request to reading its response, at the application",
    "RFC 2681, at the application",
    "lower",
    flow=lambda flow: _of(flow.rtt_us, lambda rtt: rtt.mean),
)
_add(
    "rtt_p99",
    "ms",
    "Round-trip time, 99th percentile",
    "99th percentile of the time from sending a request to reading its response, at the application",
    "RFC 2681, at the application",
    "lower",
    flow=lambda flow: _of(flow.rtt_us, lambda rtt: rtt.p99),
)
_add(
    "srtt",
    "ms",
    "Smoothed round-trip time",
    "mean of the kernel's smoothed round-trip time over the trial's samples",
    "RFC 6298 section 2; TCP_INFO tcpi_rtt",
    "lower",
    flow=lambda flow: _of(flow.srtt_us, lambda srtt: srtt.mean),
)
_add(
    "min_rtt",
    "ms",
    "Smallest round-trip time",
    "the smallest round-trip time the kernel saw",
    "TCP_INFO tcpi_min_rtt",
    "lower",
    flow=lambda flow: _scaled(flow.min_rtt_us or None, 1e3),
)
_add(
    "retransmissions",
    "packets",
    "Retransmissions",
    "segments sent again, all connections of the flow",
    "TCP_INFO tcpi_total_retrans",
    "lower",
    flow=lambda flow: float(flow.retransmissions_pkts),
)
_add(
    "jitter_rfc3550",
    "ms",
    "Jitter (RFC 3550)",
    "smoothed difference of successive transit times, J += (|D| - J)/16 from J = 0, its last value",
    "RFC 3550 section 6.4.1 and appendix A.8",
    "lower",
    flow=lambda flow: _scaled(flow.jitter_rfc3550_us, 1e3),
)
_add(
    "delay_difference_mean",
    "ms",
    "Mean delay difference",
    "mean of the differences of successive transit times, each without its sign",
    "D-ITG's average jitter",
    "lower",
    flow=lambda flow: _scaled(flow.delay_difference_mean_us, 1e3),
)
_add(
    "connect_time",
    "ms",
    "Connection time",
    "mean time from the call to connect until it returns",
    "RFC 9293 section 3.5",
    "lower",
    flow=lambda flow: _of(flow.connect_us, lambda connect: connect.mean),
)
_add(
    "completion_time",
    "ms",
    "Completion time",
    "mean time from the call to connect until the receiver's confirmation, each sized transfer",
    "RFC 6349 section 4.1",
    "lower",
    flow=lambda flow: _of(flow.completion_us, lambda completion: completion.mean),
)
_add(
    "cpu",
    "%",
    "CPU",
    "time the host's processor was not idle while traffic went, interrupts included",
    "Linux Documentation/filesystems/proc.rst: /proc/stat",
    "lower",
    host=lambda host: host.cpu_percent,
)
_add(
    "service_demand",
    "us/kB",
    "Service demand",
    "processor time per kilobyte (1000 bytes) of payload that the host's transfers moved",
    "netperf's service demand",
    "lower",
    host=lambda host: host.service_demand_us_per_kb,
)
