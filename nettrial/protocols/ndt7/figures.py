"""The figures of ndt7 tests."""

from __future__ import annotations

import bisect

from nettrial.protocols.figures import MetricValue, ProtocolOutcome
from nettrial.protocols.ndt7.client import OPEN_SECONDS, Ndt7Transfer
from nettrial.protocols.ndt7.wire import LIMIT, Ndt7Measurement, TcpInfo

BUSY_PERCENT = 90.0
"""The CPU time of this program, in percent of the time, above which it may have limited the goodput."""

LONGEST_US = round((OPEN_SECONDS + LIMIT) * 1e6)
"""The longest time for which a connection is open, in microseconds."""
LATE_US = 100_000
"""The time in microseconds by which the clock of a server's test may begin later than this machine's. Servers
tell nothing so early: the first message comes after `INTERVAL`."""
OVERHEAD, OPENING_BYTES = 0.01, 2**16
"""The largest share of the bytes of TLS and WebSocket in those of messages, and the most bytes of the
handshakes."""


def outcome(transfer: Ndt7Transfer) -> ProtocolOutcome:
    """Returns the figures and the warnings of a test."""
    sender = transfer.own if transfer.direction == "upload" else _last_kernel(transfer.server)
    who = (
        "the figures of this machine's system" if transfer.direction == "upload" else "the server's messages"
    )
    none = f"{who} have nothing of the connection (TCP_INFO)"

    def figure(metric: str, title: str, unit: str, value: float | str) -> MetricValue:
        return MetricValue(transfer.direction, metric, title, unit, value)

    def time(value: int | None) -> float | str:
        if value is None:
            return none
        return value / 1000 if is_time(value) else f"{who} have {value} µs, which can't be right"

    goodput, basis = _goodput(transfer)
    figures = [
        figure("goodput", "goodput", "Mbit/s", goodput),
        figure("min_rtt", "smallest round-trip time", "ms", time(sender.min_rtt if sender else None)),
        figure("srtt", "smoothed round-trip time, last", "ms", time(sender.rtt if sender else None)),
        figure("retransmitted", "bytes retransmitted", "%", _retransmitted(sender, none)),
    ]
    warnings = [f"{transfer.direction}: {transfer.ended}"] if transfer.ended else []
    warnings += [basis] if basis else []
    if transfer.unreadable:
        warnings.append(f"{transfer.direction}: the server sent text messages that are no measurements")
    if transfer.busy_percent > BUSY_PERCENT:
        warnings.append(
            f"{transfer.direction}: nettrial itself used {transfer.busy_percent:.0f}% of a CPU: the goodput "
            "may be this program's limit and not the path's"
        )
    return ProtocolOutcome(figures, warnings)


def _last_kernel(messages: tuple[Ndt7Measurement, ...]) -> TcpInfo | None:
    """Returns the last figures of the server's kernel, if it sent any."""
    return next((each.tcp_info for each in reversed(messages) if each.tcp_info), None)


def _goodput(transfer: Ndt7Transfer) -> tuple[float | str, str]:
    """Returns the goodput at the receiver in Mbit/s, or the reason for none; and a warning if the bytes
    counted are not those of the application."""
    if transfer.direction == "download":
        if not transfer.elapsed_us or not transfer.num_bytes:
            return "nothing arrived", ""
        return 8 * transfer.num_bytes / transfer.elapsed_us, ""
    for message in reversed(transfer.server):
        counted = message.app_info
        if counted and counted.elapsed_time and counted.num_bytes:
            sent = _sent_until(transfer, counted.elapsed_time)
            return _rate(counted.num_bytes, counted.elapsed_time, sent), ""
        kernel = message.tcp_info
        if kernel and kernel.bytes_received and kernel.elapsed_time:
            warning = (
                "upload: the server's kernel counted the bytes, with those of TLS and WebSocket: the goodput "
                "is too high by less than 1%"
            )
            sent = round(_sent_until(transfer, kernel.elapsed_time) * (1 + OVERHEAD)) + OPENING_BYTES
            rate = _rate(kernel.bytes_received, kernel.elapsed_time, sent)
            return rate, "" if isinstance(rate, str) else warning
    return "the server did not say how much arrived; this machine only knows what its kernel accepted", ""


def _sent_until(transfer: Ndt7Transfer, elapsed_us: int) -> int:
    """Returns the most bytes that this machine can have sent when the server's clock showed this time."""
    place = bisect.bisect_left(transfer.progress, (elapsed_us + LATE_US, 0))
    return transfer.progress[place][1] if place < len(transfer.progress) else transfer.num_bytes


def _rate(num_bytes: int, elapsed_us: int, sent: int) -> float | str:
    """Returns the goodput in Mbit/s that the server states, or the reason why it can't be right."""
    if num_bytes > sent:
        return (
            f"the server's message can't be right: {num_bytes} bytes had arrived after {elapsed_us} µs, "
            f"until when {sent} bytes had been sent"
        )
    if not LATE_US <= elapsed_us <= LONGEST_US:
        return f"the server's message can't be right: the test took {elapsed_us} µs"
    return 8 * num_bytes / elapsed_us


def is_time(value: int | None) -> bool:
    """Returns whether a time in microseconds may be one within a test: above 0, and below the longest time
    of a connection."""
    return value is not None and 0 < value <= LONGEST_US


def _retransmitted(sender: TcpInfo | None, none: str) -> float | str:
    if sender is None or sender.bytes_sent is None or sender.bytes_retrans is None:
        return none
    if sender.bytes_retrans > sender.bytes_sent:
        stated = f"{sender.bytes_retrans} of {sender.bytes_sent} bytes were retransmitted"
        return f"the figures of the connection can't be right: {stated}"
    return 100 * sender.bytes_retrans / sender.bytes_sent if sender.bytes_sent else "nothing was sent"
