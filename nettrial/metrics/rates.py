"""Metrics of amounts and rates: goodput, IP rate and wire rate are separate figures."""

from __future__ import annotations

from nettrial.metrics.metric import add, mean_of, scaled
from nettrial.metrics.spans import megabits, span
from nettrial.scenario import FlowRecord

GROUP = "; of several flows, their sum over the union of the flows' times"
"""The part of a rate's definition that tells how those of several flows are combined."""


def _rate(count: float | None, flow: FlowRecord) -> float | None:
    """Returns a count per second of the time in which all bytes of the flow were transferred."""
    return None if count is None or not flow.active_ns else count * 1e9 / flow.active_ns


add(
    "goodput",
    "Mbit/s",
    "Goodput",
    "application bytes over time: of a transfer with a duration, the bytes that the receiver had read "
    "when the duration ended, over the time from the first write until then; of a transfer of a size, "
    "over the time from the first write to the receiver's confirmation that it has read all; of "
    "packets, from the first departure to the last departure or arrival" + GROUP,
    "RFC 2647 section 3.17",
    "higher",
    "rate",
    flow=lambda flow: scaled(flow.goodput_bps, 1e6),
    amount=megabits,
    time=span,
)
add(
    "ip_rate",
    "Mbit/s",
    "IP rate",
    "bytes of the IP packets sent by the flow's first host, including headers and retransmissions, over the "
    "time until the receiver has everything, which for a transfer with a duration may be longer than that of "
    "the goodput" + GROUP,
    "RFC 5136: IP-layer bits",
    "higher",
    "rate",
    flow=lambda flow: scaled(_rate(scaled(flow.ip_bytes, 1 / 8), flow), 1e6),
    amount=lambda flow: scaled(flow.ip_bytes, 1e6 / 8),
)
add(
    "wire_rate",
    "Mbit/s",
    "Wire rate",
    "the same packets as Ethernet frames, including header, preamble, frame check sequence and gap" + GROUP,
    "IEEE 802.3 clauses 3 and 4.4.2",
    "higher",
    "rate",
    flow=lambda flow: scaled(_rate(scaled(flow.wire_bytes, 1 / 8), flow), 1e6),
    amount=lambda flow: scaled(flow.wire_bytes, 1e6 / 8),
)
add(
    "packet_rate",
    "packets/s",
    "Packet rate",
    "number of different packets that arrived, over the time from the first departure to the last departure "
    "or arrival" + GROUP,
    "RFC 2544, which counts frames per second",
    "higher",
    "rate",
    flow=lambda flow: _rate(flow.packets.received_pkts, flow) if flow.packets else None,
    amount=lambda flow: flow.packets.received_pkts if flow.packets else None,
)
add(
    "transaction_rate",
    "1/s",
    "Transaction rate",
    "requests answered per second, from the first request to the last response" + GROUP,
    "netperf's request/response tests",
    "higher",
    "rate",
    flow=lambda flow: flow.transactions_per_second,
    amount=lambda flow: scaled(flow.transactions_per_second, 1e9 / max(flow.active_ns, 1)),
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
