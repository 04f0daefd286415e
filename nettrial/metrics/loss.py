"""Metrics of packets: loss, reordering and duplication as three separate figures."""

from __future__ import annotations

from nettrial.metrics.metric import add, share
from nettrial.scenario import FlowRecord


def _arrived(flow: FlowRecord, count: int | None) -> float | None:
    """Returns `count` in percent of the packets that arrived; None if it was not counted."""
    if flow.packets is None or count is None:
        return None
    return share(count, flow.packets.received_pkts)


def _burst(flow: FlowRecord) -> float | str | None:
    """Returns the mean length of a burst of losses."""
    if flow.packets is None:
        return None
    lost, bursts = flow.packets.lost_pkts, flow.packets.loss_bursts
    if bursts is None:
        return None
    return lost / bursts if bursts else "no packet was lost"


def _longest(flow: FlowRecord) -> float | None:
    """Returns the length of the longest burst of losses."""
    if flow.packets is None or flow.packets.longest_loss_burst_pkts is None:
        return None
    return float(flow.packets.longest_loss_burst_pkts)


add(
    "loss",
    "%",
    "Loss",
    "share of the packets sent that never arrived",
    "RFC 7680",
    "lower",
    "mean",
    flow=lambda flow: share(flow.packets.lost_pkts, flow.packets.sent_pkts) if flow.packets else None,
)
add(
    "loss_burst_mean",
    "packets",
    "Mean loss burst",
    "mean number of packets lost in a row, without an arrival between them",
    "RFC 3357",
    "lower",
    "none",
    flow=_burst,
)
add(
    "loss_burst_longest",
    "packets",
    "Longest loss burst",
    "largest number of packets lost in a row, without an arrival between them",
    "RFC 3357",
    "lower",
    "maximum",
    flow=_longest,
)
add(
    "reordering",
    "%",
    "Reordering",
    "share of the packets received that arrived after one sent later",
    "RFC 4737 section 3.3",
    "lower",
    "mean",
    flow=lambda flow: _arrived(flow, flow.packets.reordered_pkts) if flow.packets else None,
)
add(
    "duplication",
    "%",
    "Duplication",
    "share of the packets received that were duplicates",
    "RFC 5560",
    "lower",
    "mean",
    flow=lambda flow: _arrived(flow, flow.packets.duplicated_pkts) if flow.packets else None,
)
add(
    "sweep_resent",
    "packets",
    "Requests retransmitted",
    "requests of a sweep over UDP that were retransmitted because they were not answered in time",
    "this project: requests that the round-trip times of a sweep exclude",
    "lower",
    "sum",
    flow=lambda flow: float(sum(size.resent_pkts for size in flow.sizes)) if flow.sizes else None,
)
