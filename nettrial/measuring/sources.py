"""Storing measurements with ndt7 and STAMP as runs, which `nettrial report` and `compare` can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nettrial.imports.figures import FigureSource, distribution, together
from nettrial.measuring.measured_run import MeasuredPart, keep
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.stamp import figures as stamp_figures
from nettrial.protocols.stamp.figures import FORWARD, WHOLE, StampDirection
from nettrial.protocols.stamp.sender import StampResult

if TYPE_CHECKING:
    from nettrial.protocols.ndt7.client import Ndt7Transfer  # it needs the extra nettrial[ndt7]

CONSEQUENCE = "it limits what the figures say"
"""The consequence of each warning."""


def store(directory: Path, words: str, repeats: Sequence[Sequence[FigureSource]]) -> None:
    """Stores repeats as a run in `directory`; each has the same parts. Raises BadInput and CannotRun."""
    parts = [MeasuredPart(source.flow(), [source.name]) for source in repeats[0]]
    keep(directory, words, parts, 0, [together(sources, "remote") for sources in repeats])


def _with_warnings(program: str, outcome: ProtocolOutcome, sources: list[FigureSource]) -> list[FigureSource]:
    """Returns the parts of a repeat with its warnings."""
    warnings = [
        {"object": program, "code": program.lower(), "message": text, "consequence": CONSEQUENCE}
        for text in dict.fromkeys(outcome.warnings)
    ]
    return [replace(sources[0], warnings=warnings), *sources[1:]]


def of_ndt7(
    transfers: Sequence[Ndt7Transfer], outcome: ProtocolOutcome, started_s: float, ip: int
) -> list[FigureSource]:
    """Returns a download and an upload as parts of a repeat that began at a time since 1970."""
    return _with_warnings("ndt7", outcome, [_transfer(each, outcome, started_s, ip) for each in transfers])


def _transfer(transfer: Ndt7Transfer, outcome: ProtocolOutcome, started_s: float, ip: int) -> FigureSource:
    values = {each.metric: each.value for each in outcome.figures if each.direction == transfer.direction}
    seconds = transfer.elapsed_us / 1e6
    record: dict[str, Any] = {}
    absent = {
        "retransmissions": "ndt7 reports bytes that were retransmitted, not segments",
        **{metric: value for metric, value in values.items() if isinstance(value, str)},
    }
    goodput, smallest = values["goodput"], values["min_rtt"]
    if not isinstance(goodput, str):
        record |= {"goodput_bps": goodput * 1e6, "bytes": round(goodput * 1e6 * seconds / 8)}
    if not isinstance(smallest, str):
        record["min_rtt_us"] = round(smallest * 1e3)
    from nettrial.protocols.ndt7.figures import is_time  # it needs the extra nettrial[ndt7]

    upload = transfer.direction == "upload"
    kernel = [transfer.own] if upload else [each.tcp_info for each in transfer.server]
    times = [float(each.rtt) for each in kernel if each and each.rtt and is_time(each.rtt)]
    if times:
        record["srtt_us"] = distribution(times)
    return FigureSource(
        title="ndt7",
        program="ndt7",
        transport="tcp",
        ip=ip,
        command="ndt7",
        seconds=seconds,
        record=record,
        absent=absent,
        reverse=not upload,
        started_s=started_s,
        name=transfer.direction,
    )


def of_stamp(
    result: StampResult, outcome: ProtocolOutcome, started_s: float, seconds: float, ip: int
) -> list[FigureSource]:
    """Returns the directions of a session as parts of a repeat that began at a time since 1970 and took that
    long."""
    directions = stamp_figures.directions(result)
    sources = [
        FigureSource(
            title="STAMP",
            program="STAMP",
            transport="udp",
            ip=ip,
            command="stamp",
            seconds=seconds,
            record={},
            absent={"packet_rate": "STAMP sends packets at the interval that was asked for"},
            reverse=each.name not in (WHOLE, FORWARD),
            started_s=started_s,
            name=each.name.replace(" ", "_"),
            silence="does not measure it",
        )
        for each in directions
    ]
    for source, direction in zip(sources, directions, strict=True):
        _delays(source, direction)
        _counts(source, direction)
    return _with_warnings("STAMP", outcome, sources)


def _delays(source: FigureSource, direction: StampDirection) -> None:
    """Fills in the delays of a direction. One-way delays that are not above the clocks' error are absent."""
    microseconds = [1e3 * each for each in direction.delays]
    if not microseconds:
        names = ("rtt",) if direction.name == WHOLE else ("owd", "owd_error", "delay_variation")
        source.absent |= dict.fromkeys(names, direction.absent)
        return
    if direction.name == WHOLE:
        source.record["rtt_us"] = distribution(microseconds)
        return
    source.record["delay_variation_us"] = distribution(stamp_figures.variation(microseconds))
    least = min(direction.delays)
    if isinstance(direction.error, str):
        why = direction.error
    elif least <= direction.error:
        why = f"the smallest delay, {least:.3g} ms, is not above the clocks' error, {direction.error:.3g} ms"
    else:
        source.record |= {"owd_us": distribution(microseconds), "owd_error_us": 1e3 * direction.error}
        return
    source.absent |= {"owd": why, "owd_error": why}


def _counts(source: FigureSource, direction: StampDirection) -> None:
    """Fills in the numbers of packets, as far as they are known."""
    if isinstance(direction.lost, str):
        source.absent |= dict.fromkeys(("loss", "reordering", "duplication"), direction.lost)
        return
    lost, sent = direction.lost
    packets = {"sent_pkts": sent, "lost_pkts": lost, "received_pkts": sent - lost, "send_errors_pkts": 0}
    for metric, field, counted in (
        ("reordering", "reordered_pkts", direction.reordered),
        ("duplication", "duplicated_pkts", direction.duplicated),
    ):
        if isinstance(counted, str):
            source.absent[metric] = counted
        else:
            packets[field] = counted[0]
    source.record["packets"] = packets
