"""The figures of ndt7 tests."""

from __future__ import annotations

from nettrial.protocols.figures import Figure, Outcome
from nettrial.protocols.ndt7.client import Transfer
from nettrial.protocols.ndt7.wire import Measurement, TcpInfo

BUSY_PERCENT = 90.0
"""The CPU time of this program, in percent of the time, above which it may have limited the goodput."""


def outcome(transfer: Transfer) -> Outcome:
    """Returns the figures and the warnings of a test."""
    sender = transfer.own if transfer.direction == "upload" else _last_kernel(transfer.server)
    who = "this machine's system" if transfer.direction == "upload" else "the server's messages"
    none = f"{who} had no figures of the connection (TCP_INFO)"

    def figure(metric: str, title: str, unit: str, value: float | str) -> Figure:
        return Figure(transfer.direction, metric, title, unit, value)

    def time(value: int | None) -> float | str:
        return none if value is None else value / 1000

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
    return Outcome(figures, warnings)


def _last_kernel(messages: tuple[Measurement, ...]) -> TcpInfo | None:
    """Returns the last figures of the server's kernel, if it sent any."""
    return next((each.tcp_info for each in reversed(messages) if each.tcp_info), None)


def _goodput(transfer: Transfer) -> tuple[float | str, str]:
    """Returns the goodput at the receiver in Mbit/s, or the reason for none; and a warning if the bytes
    counted are not those of the application."""
    if transfer.direction == "download":
        if not transfer.elapsed_us or not transfer.num_bytes:
            return "nothing arrived", ""
        return 8 * transfer.num_bytes / transfer.elapsed_us, ""
    for message in reversed(transfer.server):
        counted = message.app_info
        if counted and counted.elapsed_time and counted.num_bytes:
            return 8 * counted.num_bytes / counted.elapsed_time, ""
        kernel = message.tcp_info
        if kernel and kernel.bytes_received and kernel.elapsed_time:
            warning = (
                "upload: the server's kernel counted the bytes, with those of TLS and WebSocket: the goodput "
                "is too high by less than 1%"
            )
            return 8 * kernel.bytes_received / kernel.elapsed_time, warning
    return "the server did not say how much arrived; this machine only knows what its kernel accepted", ""


def _retransmitted(sender: TcpInfo | None, none: str) -> float | str:
    if sender is None or sender.bytes_sent is None or sender.bytes_retrans is None:
        return none
    return 100 * sender.bytes_retrans / sender.bytes_sent if sender.bytes_sent else "nothing was sent"
