"""The tests of iperf3, which the engine reads, as records, and in words what their documents lack."""

from __future__ import annotations

from typing import Any

from nettrial.imports.figures import FigureSource, Imported, Unusable
from nettrial.scenario import (
    ArrivalsUnknownGap,
    BadFieldRefusal,
    ContradictoryCountsGap,
    IntervalsOutOfOrderGap,
    Iperf3Direction,
    Iperf3Gap,
    Iperf3Refusal,
    Iperf3Test,
    NoAddressRefusal,
    NoFigureRefusal,
    NoSettingsRefusal,
    NoSumsRefusal,
    NothingArrivedGap,
    OtherRateRefusal,
)
from nettrial.texts import one_line

OF_RECEIVER = ("goodput", "loss", "jitter_rfc3550", "packet_rate", "reordering")
"""The metrics that the receiver measures, of which TCP has the first alone."""
OF_COUNTS = ("loss", "reordering", "packet_rate")
"""The metrics that follow from the numbers of packets."""


def imported(test: Iperf3Test) -> Imported:
    """Returns a test as a record."""
    streams = "1 stream" if test.streams == 1 else f"{test.streams} streams"
    both, (first, *_) = len(test.directions) > 1, test.directions
    kind = "both directions, " if both else "reverse, " if first.reverse else ""
    sources = [_source(test, direction) for direction in test.directions]
    return Imported.of(f"iperf3, {test.transport.root.upper()}, {kind}{streams}", sources)


def unusable(refusal: Iperf3Refusal) -> Unusable:
    """Returns the reason why a document can't become a record."""
    why, figure = refusal.root, "the JSON of `iperf3 -J`"
    if isinstance(why, NoSettingsRefusal):
        return Unusable("no start.test_start", figure)
    if isinstance(why, NoAddressRefusal):
        return Unusable("no address in start.connected", "an IPv4 or IPv6 address")
    if isinstance(why, NoSumsRefusal):
        expected = "the sums that iperf3 prints at the end of a test"
        return Unusable("no end.sum, end.sum_sent and end.sum_received", expected)
    if isinstance(why, OtherRateRefusal):
        value = f"{why.bits_per_second:g} bit/s, {why.bytes} bytes in {why.seconds:g} s"
        expected = f"{why.bytes * 8 / why.seconds:g} bit/s"
        return Unusable(value, f"the rate of these bytes in this time, {expected}")
    if isinstance(why, NoFigureRefusal):
        reason = next((_words(gap, "iperf3") for gap in why.gaps), "")
        return Unusable(f"no figure of the test: {reason}", "the client's document of the test")
    if isinstance(why, BadFieldRefusal):
        return Unusable(one_line(why.value), why.expected, why.place)
    return Unusable(f"the test failed: {one_line(why.error)}", "a test that succeeded")


def _source(test: Iperf3Test, direction: Iperf3Direction) -> FigureSource:
    """Returns one direction of a test."""
    record = direction.record
    source = FigureSource(
        title="",
        program=one_line(test.version),
        transport=record.transport.root,
        ip=record.ip.root,
        command="iperf3",
        seconds=record.active_ns / 1e9,
        record=_figures(direction),
        reverse=direction.reverse,
        started_s=float(test.started_s or 0),
        system=one_line(test.system),
        name=record.name,
    )
    for gap in direction.gaps or []:
        words = _words(gap, source.program)
        source.absent |= dict.fromkeys(_metrics(gap, source.transport), words)
        if isinstance(gap.root, ContradictoryCountsGap):
            source.warnings.append(
                {
                    "code": "contradictory_counts",
                    "message": words,
                    "consequence": (
                        "loss, reordering and packet rate are absent; goodput is that of the bytes"
                    ),
                }
            )
    return source


def _figures(direction: Iperf3Direction) -> dict[str, Any]:
    """Returns the fields of a direction's record that the document has."""
    record = direction.record.model_dump(mode="json", by_alias=True, exclude_none=True)
    record["congestion_control"] = one_line(record["congestion_control"])
    missing = [name for name in ("connect_us", "srtt_us") if not record[name]["count"]]
    return {name: value for name, value in record.items() if name not in missing and value != []}


def _metrics(gap: Iperf3Gap, transport: str) -> tuple[str, ...]:
    """Returns the metrics that are absent because of a gap."""
    why = gap.root
    if isinstance(why, IntervalsOutOfOrderGap):
        return ("cwnd",)
    if isinstance(why, NothingArrivedGap):
        return ("jitter_rfc3550",)
    if isinstance(why, ContradictoryCountsGap):
        return OF_COUNTS
    return OF_RECEIVER if transport == "udp" else OF_RECEIVER[:1]


def _words(gap: Iperf3Gap, program: str) -> str:
    """Returns the reason for the absence of metrics, for people."""
    why = gap.root
    if isinstance(why, IntervalsOutOfOrderGap):
        return f"the intervals of {program} do not end one after the other"
    if isinstance(why, NothingArrivedGap):
        return "no packet arrived"
    if isinstance(why, ContradictoryCountsGap):
        return (
            f"{program} reports {why.arrived_pkts} packets as arrived, but the bytes of "
            f"{why.arrived_by_bytes_pkts}: its peer may be of another version"
        )
    if isinstance(why, ArrivalsUnknownGap):
        return f"{program} does not say whether a packet arrived: it reports neither loss nor jitter"
    return f"{program}: the document is the server's, which sent and has no count of the receiver"
