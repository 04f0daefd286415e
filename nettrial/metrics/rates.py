"""Metrics of amounts and rates: goodput, IP rate and wire rate are separate figures."""

from __future__ import annotations

from nettrial.metrics.metric import add, mean_of, scaled
from nettrial.scenario import FlowRecord


def _rate(count: float | None, flow: FlowRecord) -> float | None:
    """Returns a count per second of the flow's duration."""
    return None if count is None or not flow.active_ns else count * 1e9 / flow.active_ns


add(
    "goodput",
    "Mbit/s",
    "Goodput",
    "application bytes over the time from the first write to the receiver's confirmation that it has read "
    "all, summed over the flow's connections; of packets, from the first departure to the last arrival",
    "RFC 2647 section 3.17",
    "higher",
    "sum",
    flow=lambda flow: scaled(flow.goodput_bps, 1e6),
)
add(
    "ip_rate",
    "Mbit/s",
    "IP rate",
    "bytes of the IP packets sent by the flow's first host, including headers and retransmissions, over the "
    "time of the goodput",
    "RFC 5136: IP-layer bits",
    "higher",
    "sum",
    flow=lambda flow: scaled(_rate(scaled(flow.ip_bytes, 1 / 8), flow), 1e6),
)
add(
    "wire_rate",
    "Mbit/s",
    "Wire rate",
    "the same packets as Ethernet frames, including header, preamble, frame check sequence and gap",
    "IEEE 802.3 clauses 3 and 4.4.2",
    "higher",
    "sum",
    flow=lambda flow: scaled(_rate(scaled(flow.wire_bytes, 1 / 8), flow), 1e6),
)
add(
    "packet_rate",
    "packets/s",
    "Packet rate",
    "number of different packets that arrived, over the time from the first departure to the last arrival",
    "RFC 2544, which counts frames per second",
    "higher",
    "sum",
    flow=lambda flow: _rate(flow.packets.received_pkts, flow) if flow.packets else None,
)
add(
    "transaction_rate",
    "1/s",
    "Transaction rate",
    "requests answered per second",
    "netperf's request/response tests",
    "higher",
    "sum",
    flow=lambda flow: flow.transactions_per_second,
)
add(
    "completion_time",
    "ms",
    "Completion time",
    "mean time from the call to connect until the receiver's confirmation, for each transfer of a size or a "
    "file",
    "RFC 6349 section 4.1",
    "lower",
    "maximum",
    flow=lambda flow: mean_of(flow.completion_us),
)
add(
    "rate_error",
    "%",
    "Rate error",
    "absolute deviation of the payload rate sent from the requested rate",
    "this project: accuracy of the sender's pacing",
    "lower",
    "mean",
    flow=lambda flow: (
        100 * abs(flow.pacing.sent_bps / flow.pacing.asked_bps - 1)
        if flow.pacing and flow.pacing.asked_bps
        else None
    ),
)
add(
    "lateness_p99",
    "us",
    "Lateness, 99th percentile",
    "99th percentile of the delay between a packet's requested departure and its handover to the kernel",
    "this project: accuracy of the sender's pacing",
    "lower",
    "none",
    flow=lambda flow: flow.pacing.lateness_us.p99 if flow.pacing and flow.pacing.lateness_us.count else None,
)
