"""The examination of a path as a page of text."""

from __future__ import annotations

from collections.abc import Iterator

from nettrial.cli.console import print_table
from nettrial.path_report import (
    BaseRtt,
    Buffers,
    Direction,
    Hop,
    Interface,
    Mss,
    PathRecord,
    PathReport,
    Trusting,
)
from nettrial.units import SIZE

JUMBO = {
    "clean": "clean for jumbo frames",
    "not_clean": "not clean for jumbo frames",
    "cannot_tell": "can't tell whether it is clean for jumbo frames",
}
"""The verdicts on jumbo frames, in words."""
MSS = {
    "fits": "full segments are as large as the path allows",
    "clamped": "segments are smaller than the path allows: requested by the host or by a device on the path "
    "that rewrites the option (MSS clamping), or due to a smaller path MTU in this host's cache",
    "too_large": "segments are larger than the path allows: the connection relies on ICMP, or on TCP's own "
    "probing",
    "unknown": "the path MTU is unknown",
}
"""The findings on the segment size, in words."""
METRIC = {
    "rtt": "round-trip time",
    "forward": "path MTU to the host",
    "reverse": "path MTU back",
    "mss": "segment size",
    "buffers": "bandwidth-delay product",
    "path": "path",
    "trusting": "path MTU to the host, trusting ICMP",
    "hops": "hops",
    "kernel_mtu": "kernel's path MTU",
}
"""The absent figures of a report, in words."""


def show(report: PathReport) -> None:
    """Prints the report of each path, and the reason for each path that was not examined."""
    for number, path in enumerate(report.paths):
        if number:
            print()
        _path(report.host, path)
    for absent in report.absent:
        print(f"\nNot examined: {absent.object}: {absent.reason}")


def _path(host: str, path: PathRecord) -> None:
    name = host if host == path.address else f"{host} ({path.address})"
    print(f"Path to {name}, IPv{path.ip.root}: {JUMBO[path.verdict.jumbo.root]}")
    if path.verdict.at_fault:
        print(f"At fault: {path.verdict.at_fault}")
    for reason in path.verdict.reasons:
        print(f"- {reason}")
    _title("Path MTU, bytes of the whole IP packet")
    rows = [_direction("to the host", path.forward), _direction("back", path.reverse)]
    print_table(["direction", "path MTU", "how it was measured"], [*rows, _trusting(path.trusting)])
    _title("Hops")
    print_table(
        ["hop", "address", "time", "largest that arrived", "smallest that did not", "says"], _hops(path)
    )
    print()
    print_table(["this host and its connection", ""], _facts(path))
    if path.buffers and path.buffers.fixes:
        _title("Settings that would let one connection fill the path (sysctl)")
        print("\n".join(path.buffers.fixes))
    _title("Theoretical maximum of TCP's rate")
    _theory(path)
    if path.absent:
        _title("Not measured")
        for absent in path.absent:
            print(f"- {METRIC.get(absent.metric, absent.metric)}: {absent.reason}")


def _title(text: str) -> None:
    print(f"\n{text}")


def _direction(name: str, direction: Direction | None) -> list[str]:
    if direction is None:
        return [name, "not measured", ""]
    return [
        name,
        f"{direction.mtu_bytes}" if direction.limited else f"{direction.mtu_bytes} or more",
        direction.how,
    ]


def _trusting(trusts: Trusting | None) -> list[str]:
    name = "to the host, trusting ICMP"
    if trusts is None:
        return [name, "not measured", ""]
    steps = [f"{message.by} says {message.mtu_bytes}" for message in trusts.messages]
    steps.append(
        "that size arrives" if trusts.arrives else "that size is lost without a message: a black hole"
    )
    return [name, f"{trusts.mtu_bytes}", "; ".join(steps)]


def _hops(path: PathRecord) -> Iterator[list[str]]:
    yield [
        "0",
        path.local_address,
        "",
        "",
        "",
        f"this host's {path.interface.name}, MTU {path.interface.mtu_bytes}",
    ]
    for hop in path.hops:
        yield [
            f"{hop.number}",
            hop.address or "silent",
            "" if hop.rtt_us is None else _time(hop.rtt_us),
            f"{hop.reached_bytes or ''}",
            f"{hop.not_reached_bytes or ''}",
            _says(hop, path),
        ]


def _says(hop: Hop, path: PathRecord) -> str:
    if hop.lie:
        return f"false: {hop.lie}"
    if hop.claimed_mtu_bytes:
        return f"packets above {hop.claimed_mtu_bytes} are too big"
    return "the host" if hop.address == path.address else ""


def _facts(path: PathRecord) -> Iterator[list[str]]:
    yield ["interface", _interface(path.interface)]
    if path.kernel_mtu_bytes:
        yield ["kernel's path MTU", f"{path.kernel_mtu_bytes} before this examination"]
    if path.rtt:
        yield ["round-trip time", _rtt(path.rtt)]
    if path.mss:
        yield ["TCP segments", _mss(path.mss)]
    if path.buffers:
        yield ["bandwidth-delay product", _product(path.buffers)]
        yield ["windows the buffers allow", _windows(path.buffers)]


def _interface(interface: Interface) -> str:
    parts = [interface.name, f"MTU {interface.mtu_bytes}"]
    parts.append(_rate(interface.speed_bps) if interface.speed_bps else "speed unknown")
    if interface.offloads:
        offloads = {
            "tso": interface.offloads.tso,
            "gso": interface.offloads.gso,
            "gro": interface.offloads.gro,
        }
        parts += [f"{name} {'on' if on else 'off'}" for name, on in offloads.items()]
    return ", ".join(parts)


def _rtt(rtt: BaseRtt) -> str:
    kind = {"echo": "ICMP echo", "udp": "UDP"}[rtt.means.root]
    answered = f"{rtt.received_pkts} of {rtt.sent_pkts} answered"
    return f"minimum {_time(rtt.minimum_us)}, median {_time(rtt.median_us)} ({kind}, {answered})"


def _mss(mss: Mss) -> str:
    options = f" and {mss.option_bytes} of options" if mss.option_bytes else ""
    implied = f"; the path MTU implies {mss.implied_bytes}" if mss.implied_bytes else ""
    scaling = "" if mss.window_scaling else "; no window scaling, so windows are limited to 65535 B"
    return (
        f"port {mss.port}: {mss.segment_bytes} bytes{options}{implied}: {MSS[mss.finding.root]}; "
        f"this host announced {mss.announced_bytes}{scaling}"
    )


def _product(buffers: Buffers) -> str:
    source = "as given" if buffers.rate_from == "given" else "the interface's speed; --rate overrides it"
    return f"{SIZE.print(buffers.bdp_bytes)} at {_rate(buffers.rate_bps)} ({source})"


def _windows(buffers: Buffers) -> str:
    receive, send = buffers.receive_window_bytes, buffers.send_window_bytes
    enough = "enough" if min(receive, send) >= buffers.bdp_bytes else "too small for the path"
    return f"{SIZE.print(receive)} to receive, {SIZE.print(send)} to send: {enough}"


def _theory(path: PathRecord) -> None:
    passes = {True: "yes", False: "no", None: "unknown"}
    columns = ["MTU", "passes", "of the line", "line allows", "buffers allow"]
    lossy = any(row.loss_bps for row in path.theory)
    print_table(
        columns + (["loss allows"] if lossy else []),
        [
            [
                f"{row.mtu_bytes}",
                passes[row.passes],
                f"{row.efficiency * 100:.1f}%",
                _rate(row.line_bps) if row.line_bps else "",
                _rate(row.window_bps) if row.window_bps else "",
                *([_rate(row.loss_bps) if row.loss_bps else ""] if lossy else []),
            ]
            for row in path.theory
        ],
    )


def _rate(bps: float) -> str:
    """Returns a rate in words, with four digits."""
    for unit, scale in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= scale:
            return f"{bps / scale:.4g} {unit}"
    return f"{bps:.4g} bit/s"


def _time(microseconds: float) -> str:
    """Returns a time in words, in milliseconds."""
    return f"{microseconds / 1000:.3g} ms"
