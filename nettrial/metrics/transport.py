"""Metrics of what the transport says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from nettrial.metrics.metric import add, mean_of, scaled, share
from nettrial.scenario import FlowRecord


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are there and not 0, which stands for no open connection."""
    there = [value for value in values if value]
    return fmean(there) if there else None


def _busiest(flow: FlowRecord) -> float | None:
    """The share of the subflow that carried most, in percent."""
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
)
add(
    "min_rtt",
    "ms",
    "Smallest round-trip time",
    "the smallest round-trip time the kernel saw",
    "TCP_INFO tcpi_min_rtt",
    "lower",
    "minimum",
    flow=lambda flow: scaled(flow.min_rtt_us or None, 1e3),
)
add(
    "cwnd",
    "packets",
    "Congestion window",
    "mean of the congestion window over the samples in which a connection was open, segments",
    "TCP_INFO tcpi_snd_cwnd",
    "higher",
    "mean",
    flow=lambda flow: _mean(interval.cwnd_pkts for interval in flow.intervals),
)
add(
    "delivery_rate",
    "Mbit/s",
    "Delivery rate",
    "mean of the kernel's estimate of the rate at which data arrives over the samples that have one",
    "TCP_INFO tcpi_delivery_rate",
    "higher",
    "sum",
    flow=lambda flow: scaled(_mean(interval.delivery_rate_bps for interval in flow.intervals), 1e6),
)
add(
    "retransmissions",
    "packets",
    "Retransmissions",
    "segments retransmitted, all connections of the flow",
    "TCP_INFO tcpi_total_retrans",
    "lower",
    "sum",
    flow=lambda flow: float(flow.retransmissions_pkts) if flow.connections else None,
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
)
add(
    "subflows",
    "subflows",
    "Subflows",
    "subflows of the connection at its end",
    "RFC 8684",
    "higher",
    "mean",
    flow=lambda flow: float(len(flow.subflows)) if flow.subflows else None,
)
add(
    "subflow_share",
    "%",
    "Share of the busiest subflow",
    "bytes acknowledged on the subflow that carried most, of those on all subflows of the connection",
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
)
add(
    "subflow_cwnd",
    "packets",
    "Congestion window of subflows",
    "sum over the connection's subflows of their congestion windows at its end, segments",
    "TCP_INFO tcpi_snd_cwnd",
    "higher",
    "mean",
    flow=lambda flow: float(sum(subflow.cwnd_pkts for subflow in flow.subflows)) if flow.subflows else None,
)
add(
    "time_to_recover",
    "ms",
    "Time to recover",
    "how long after an event (a link or node that fails) goodput was below a share of what it was before, by "
    "samples of the measurement's interval; half of it where the study has no `recovered_share`; of several "
    "events the longest",
    "RFC 6412: rate-derived convergence, here of a flow's goodput",
    "lower",
    "maximum",
    flow=lambda flow: scaled(flow.recovery_ns, 1e6),
)
