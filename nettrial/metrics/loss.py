"""Metrics of packets: loss, reordering and duplication are three figures, and none hides another."""

from __future__ import annotations

from nettrial.metrics.metric import add, share
from nettrial.scenario import FlowRecord


def _arrived(flow: FlowRecord, count: int | None) -> float | None:
    """The share of `count` in the packets that arrived, percent; None if it was not counted."""
    if flow.packets is None or count is None:
        return None
    return share(count, flow.packets.received_pkts)


def _burst(flow: FlowRecord) -> float | str | None:
    """The mean length of a run of losses."""
    if flow.packets is None:
        return None
    lost, bursts = flow.packets.lost_pkts, flow.packets.loss_bursts
    if bursts is None:
        return None
    return lost / bursts if bursts else "no packet was lost"


def _longest(flow: FlowRecord) -> float | None:
    """The longest run of losses."""
    if flow.packets is None or flow.packets.longest_loss_burst_pkts is None:
        return None
    return float(flow.packets.longest_loss_burst_pkts)


add(
    "loss",
    "%",
    "Loss",
    "packets sent that never arrived, of those sent",
    "RFC 7680",
    "lower",
    "mean",
    flow=lambda flow: share(flow.packets.lost_pkts, flow.packets.sent_pkts) if flow.packets else None,
)
add(
    "loss_burst_mean",
    "packets",
    "Mean loss burst",
    "packets lost in a row without an arrival between them, the mean of such runs",
    "RFC 3357",
    "lower",
    "none",
    flow=_burst,
)
add(
    "loss_burst_longest",
    "packets",
    "Longest loss burst",
    "the longest run of packets lost without an arrival between them",
    "RFC 3357",
    "lower",
    "maximum",
    flow=_longest,
)
add(
    "reordering",
    "%",
    "Reordering",
    "packets that arrived after one that was sent later, of those that arrived",
    "RFC 4737 section 3.3",
    "lower",
    "mean",
    flow=lambda flow: _arrived(flow, flow.packets.reordered_pkts) if flow.packets else None,
)
add(
    "duplication",
    "%",
    "Duplication",
    "packets that arrived again, of those that arrived",
    "RFC 5560",
    "lower",
    "mean",
    flow=lambda flow: _arrived(flow, flow.packets.duplicated_pkts) if flow.packets else None,
)
add(
    "sweep_resent",
    "packets",
    "Requests retransmitted",
    "requests of a sweep over UDP that were not answered in time and retransmitted",
    "this project: what the round-trip times of a sweep leave out",
    "lower",
    "sum",
    flow=lambda flow: float(sum(size.resent_pkts for size in flow.sizes)) if flow.sizes else None,
)
