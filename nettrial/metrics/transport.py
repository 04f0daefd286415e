"""Metrics reported by the transport protocol."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from nettrial.metrics.metric import add, mean_of, scaled, share
from nettrial.scenario import Figure, FlowRecord

ROUND_TRIPS = Figure("round_trip_times")
"""The round-trip times of a record."""
RETRANSMISSIONS = Figure("retransmissions")
"""The retransmissions of a record."""
MARKS = Figure("marks")
"""The congestion marks of a record."""


def _mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of the values that are present and not 0, which stands for no open connection."""
    there = [value for value in values if value]
    return fmean(there) if there else None


def _marks(flow: FlowRecord) -> float | str | None:
    """Returns the packets delivered whose acknowledgments had the flag ECE, or the reason for their
    absence."""
    if flow.connections and flow.marks_pkts is None:
        return "the sender's TCP does not count them, or the record is older than this figure"
    return scaled(flow.marks_pkts, 1)


def _busiest(flow: FlowRecord) -> float | None:
    """Returns the share of the subflow that carried most, in percent."""
    carried = [subflow.bytes for subflow in flow.subflows or []]
    return share(max(carried), sum(carried)) if carried else None


add(
    "srtt",
    "ms",
    "Smoothed round-trip time",
    "mean of the kernel's smoothed round-trip time over the trial's samples",
    "RFC 6298 section 2; TCP_INFO tcpi_rtt",
    "lower",
    "mean",
    flow=lambda flow: mean_of(flow.srtt_us),
    needs=ROUND_TRIPS,
)
add(
    "min_rtt",
    "ms",
    "Smallest round-trip time",
    "the smallest round-trip time that the kernel measured",
    "TCP_INFO tcpi_min_rtt",
    "lower",
    "minimum",
    flow=lambda flow: scaled(flow.min_rtt_us or None, 1e3),
    needs=ROUND_TRIPS,
)
add(
    "cwnd",
    "packets",
    "Congestion window",
    "mean of the congestion window in segments, over the samples in which a connection was open",
    "TCP_INFO tcpi_snd_cwnd",
    "higher",
    "mean",
    flow=lambda flow: _mean(interval.cwnd_pkts for interval in flow.intervals),
    needs=ROUND_TRIPS,
)
add(
    "delivery_rate",
    "Mbit/s",
    "Delivery rate",
    "mean of the kernel's estimate of the delivery rate, over the samples that have one; of several flows, "
    "the mean over the flows",
    "TCP_INFO tcpi_delivery_rate",
    "higher",
    "mean",
    flow=lambda flow: scaled(_mean(interval.delivery_rate_bps for interval in flow.intervals), 1e6),
    needs=ROUND_TRIPS,
)
add(
    "retransmissions",
    "packets",
    "Retransmissions",
    "number of segments retransmitted on all connections of the flow",
    "TCP_INFO tcpi_total_retrans",
    "lower",
    "sum",
    flow=lambda flow: scaled(flow.retransmissions_pkts, 1) if flow.connections else None,
    needs=RETRANSMISSIONS,
)
add(
    "marks",
    "packets",
    "Congestion marks",
    "number of packets delivered whose acknowledgments had the flag ECE, on all connections of the flow: "
    "with DCTCP those that were marked, with classic ECN all from the first that was marked until the "
    "receiver has the sender's confirmation (CWR), so that one mark counts about a window; 0 without ECN",
    "RFC 3168 section 6.1; RFC 8257 section 3; TCP_INFO tcpi_delivered_ce",
    "lower",
    "sum",
    flow=_marks,
    needs=MARKS,
)
add(
    "connect_time",
    "ms",
    "Connection time",
    "mean time from the call to connect until it returns",
    "RFC 9293 section 3.5",
    "lower",
    "mean",
    flow=lambda flow: mean_of(flow.connect_us),
    needs=ROUND_TRIPS,
)
add(
    "subflows",
    "subflows",
    "Subflows",
    "number of subflows of the connection at its end",
    "RFC 8684",
    "higher",
    "mean",
    flow=lambda flow: float(len(flow.subflows)) if flow.subflows else None,
)
add(
    "subflow_share",
    "%",
    "Share of the busiest subflow",
    "share of the connection's acknowledged bytes on the subflow that carried most",
    "RFC 8684; TCP_INFO tcpi_bytes_acked",
    "lower",
    "mean",
    flow=_busiest,
)
add(
    "subflow_srtt",
    "ms",
    "Smoothed round-trip time of subflows",
    "mean over the connection's subflows of their smoothed round-trip time at its end",
    "RFC 6298 section 2; TCP_INFO tcpi_rtt",
    "lower",
    "mean",
    flow=lambda flow: scaled(_mean(subflow.srtt_us for subflow in flow.subflows or []), 1e3),
    needs=ROUND_TRIPS,
)
add(
    "subflow_cwnd",
    "packets",
    "Congestion window of subflows",
    "sum of the congestion windows of the connection's subflows at its end, in segments",
    "TCP_INFO tcpi_snd_cwnd",
    "higher",
    "mean",
    flow=lambda flow: (
        float(sum(subflow.cwnd_pkts or 0 for subflow in flow.subflows)) if flow.subflows else None
    ),
    needs=ROUND_TRIPS,
)
add(
    "time_to_recover",
    "ms",
    "Time to recover",
    "time after an event (the failure of a link or node) during which goodput was below a share of its "
    "previous value, "
    "with the resolution of the measurement's interval; the share is `recovered_share`, by default one half; "
    "for several "
    "events, the longest time",
    "RFC 6412: rate-derived convergence, here of a flow's goodput",
    "lower",
    "maximum",
    flow=lambda flow: scaled(flow.recovery_ns, 1e6),
)
