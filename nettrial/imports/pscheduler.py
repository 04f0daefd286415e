"""perfSONAR's results of pScheduler's tests `throughput`, `rtt`, `latency` and `trace`, after the files
validate.py and the result schemas of its repository. A result is read alone, or within the document that
archivers receive, which also has the test."""

from __future__ import annotations

import ipaddress
import math
import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from nettrial.imports import figures
from nettrial.imports.figures import LONGEST_SECONDS, MOST, FigureSource, Imported, Unusable, distribution

Count = Annotated[int, Field(ge=0, le=MOST)]
Number = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
Text = Annotated[figures.Text, Field(max_length=300)]
_DURATION = re.compile(
    r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,12})?)S)?)?", re.ASCII
)
"""An ISO 8601 duration without months and years."""
MOST_VALUES = 1_000_000
"""The largest number of values in a list."""
WITH_RFC3550 = ("iperf2", "iperf3")
"""The tools whose jitter is that of RFC 3550."""
OTHER_JITTER = {"nuttcp": "nuttcp reports its largest jitter, which is not that of RFC 3550"}
"""The reasons for which the jitter of other tools is left out."""
UNTIMED = {"packet_rate": "pScheduler did not report the time that the packets took"}
"""The reason for the absence of rates, by metric, if a result has no duration."""
NOTHING_ARRIVED = "no packet arrived"
"""The reason for the absence of times and orders of packets if all were lost."""
ROUND_TRIPS = ("rtt", "rtt_p50", "rtt_p90", "rtt_p99")
"""The metrics of round trips."""
DELAYS = ("owd", "owd_p50", "owd_p90", "owd_p99")
"""The metrics of one-way delays."""
VARIATIONS = ("delay_variation_p50", "delay_variation_p99")
"""The metrics of the variation of one-way delays."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class _Throughput(_Part):
    bits: Annotated[Number | None, Field(alias="throughput-bits")] = None
    received_bits: Annotated[Number | None, Field(alias="receiver-throughput-bits")] = None
    sent: Count | None = None
    lost: Count | None = None
    jitter: Number | None = None
    retransmits: Count | None = None
    start: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)] = 0.0
    end: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)] = 0.0


class _Summary(_Part):
    summary: _Throughput
    streams: Annotated[list[_Throughput], Field(max_length=10_000)] = []


class _Trip(_Part):
    rtt: Text | None = None


class _Hop(_Part):
    ip: Text | None = None
    rtt: Text | None = None


class PschedulerOutput(_Part):
    """A result. It has more fields, which are ignored."""

    succeeded: bool = True
    """True if the test succeeded."""
    error: Text | None = None
    """The error message of a failed test."""
    summary: _Summary | None = None
    """throughput: the figures of the whole test."""
    roundtrips: Annotated[list[_Trip] | None, Field(max_length=MOST_VALUES)] = None
    """rtt: the round trips, in the order of their packets."""
    sent: Count | None = None
    """rtt: the number of requests sent."""
    received: Count | None = None
    """rtt: the number of answers received."""
    lost: Count | None = None
    """rtt: the number of requests without an answer."""
    reorders: Count | None = None
    """rtt: the number of answers that arrived out of order."""
    duplicates: Count | None = None
    """rtt: the number of duplicate answers."""
    packets_sent: Annotated[Count | None, Field(alias="packets-sent")] = None
    """latency: the number of packets sent."""
    packets_received: Annotated[Count | None, Field(alias="packets-received")] = None
    """latency: the number of packets received."""
    packets_lost: Annotated[Count | None, Field(alias="packets-lost")] = None
    """latency: the number of packets lost."""
    packets_reordered: Annotated[Count | None, Field(alias="packets-reordered")] = None
    """latency: the number of packets that arrived out of order."""
    packets_duplicated: Annotated[Count | None, Field(alias="packets-duplicated")] = None
    """latency: the number of duplicate packets."""
    clock_error: Annotated[Number | None, Field(alias="max-clock-error")] = None
    """latency: the largest error of the hosts' clocks, in milliseconds."""
    latencies: Annotated[
        dict[Text, Count] | None, Field(alias="histogram-latency", max_length=MOST_VALUES)
    ] = None
    """latency: the number of packets by one-way delay, a multiple of the width of a bucket."""
    paths: Annotated[list[Annotated[list[_Hop], Field(max_length=1000)]] | None, Field(max_length=1000)] = (
        None
    )
    """trace: the hops of each path."""


class _Specification(_Part):
    source: Text | None = None
    dest: Text | None = None
    destination: Text | None = None
    ip_version: Annotated[int | None, Field(alias="ip-version")] = None
    udp: bool = False
    bucket_width: Annotated[float, Field(alias="bucket-width", gt=0, le=1)] = 0.001


class _Test(_Part):
    type: Text = ""
    spec: _Specification = _Specification()


class _Tool(_Part):
    name: Text = ""


class _Run(_Part):
    start: Annotated[Text | None, Field(alias="start-time")] = None


class PschedulerResult(_Part):
    """The document of an archiver, or a result alone."""

    test: _Test = _Test()
    """The test that was requested."""
    tool: _Tool | Text = ""
    """The program that made the test."""
    run: _Run = _Run()
    """The time of the test."""
    result: PschedulerOutput
    """The result of the test."""


def wrapped(result: dict[str, Any]) -> dict[str, Any]:
    """Returns a result alone in the form of an archiver's document."""
    return result if "result" in result else {"result": result}


def imported(document: PschedulerResult, ip: int | None) -> Imported:
    """Returns a result as a record. `ip` is the IP version of a result that does not contain it. Raises
    Unusable if the result is that of a failed test, or of a test that has no record."""
    result = document.result
    if not result.succeeded or result.error:
        raise Unusable(
            f"the test failed{f': {result.error}' if result.error else ''}", "a test that succeeded"
        )
    tool = document.tool if isinstance(document.tool, str) else document.tool.name
    source = FigureSource(
        title="",
        program=f"pScheduler{f' with {tool}' if tool else ''}",
        transport="udp",
        ip=ip or _version(document),
        command=tool or "pscheduler",
        seconds=0.0,
        record={},
        started_s=_moment(document.run.start),
    )
    if result.summary is not None:
        _throughput(source, document, result.summary)
    elif result.roundtrips is not None:
        _round_trips(source, result, [each.rtt for each in result.roundtrips])
    elif result.latencies is not None:
        _latency(source, document.test.spec, result, result.latencies)
    elif result.paths is not None:
        _trace(source, result.paths)
    else:
        raise Unusable("a result of another test", "a result of throughput, rtt, latency or trace")
    return source.imported()


def _version(document: PschedulerResult) -> int:
    spec = document.test.spec
    if spec.ip_version in (4, 6):
        return spec.ip_version
    ends = [spec.dest, spec.destination, spec.source]
    for path in document.result.paths or []:
        ends += [hop.ip for hop in path]
    for text in filter(None, ends):
        try:
            return ipaddress.ip_address(text).version
        except ValueError:
            continue
    raise Unusable("a result without an address", "its IP version by --ip")


def _moment(text: str | None) -> float:
    if not text:
        return 0.0
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise Unusable(f"run.start-time {text!r}", "a time such as 2026-01-31T12:00:00Z") from None


def seconds_of(text: str) -> float:
    """Returns a duration such as "PT0.0012S" in seconds; raises Unusable."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise Unusable(f"the duration {text!r}", 'an ISO 8601 duration such as "PT0.0012S"')
    return math.fsum(
        float(part) * unit for part, unit in zip(match.groups(), (86400, 3600, 60, 1), strict=True) if part
    )


def _throughput(source: FigureSource, document: PschedulerResult, summary: _Summary) -> None:
    total, udp = summary.summary, document.test.spec.udp or summary.summary.sent is not None
    seconds = total.end - total.start
    goodput = total.bits if total.received_bits is None else total.received_bits
    if goodput is None or seconds <= 0:
        raise Unusable("a summary without throughput-bits, start and end", "a summary with these")
    source.title = f"pScheduler throughput, {'UDP' if udp else 'TCP'}"
    source.transport = "udp" if udp else "tcp"
    source.seconds = seconds
    source.record = {
        "goodput_bps": goodput,
        "bytes": round(goodput * seconds / 8),
        "connections": 0 if udp else max(1, len(summary.streams)),
    }
    if total.received_bits is None:
        source.warnings.append(
            {
                "code": "sender_count",
                "message": "pScheduler has no count of the receiver; goodput is what its tool reports",
                "consequence": "goodput may include data that did not arrive",
            }
        )
    if not udp:
        if total.retransmits is not None:
            source.record["retransmissions_pkts"] = total.retransmits
        return
    if source.command in WITH_RFC3550:
        if total.jitter is not None:
            source.record["jitter_rfc3550_us"] = total.jitter * 1e3
    else:
        source.absent["jitter_rfc3550"] = OTHER_JITTER.get(
            source.command, f"{source.program} does not say how its jitter is computed"
        )
    if total.sent is not None and total.lost is not None:
        source.record["packets"] = _packets(total.sent, total.lost, None, None)


def _counts(
    sent: int | None, lost: int | None, received: int | None, reordered: int | None, duplicated: int | None
) -> dict[str, int]:
    """Returns the numbers of packets; none if the source does not say how many were lost."""
    if lost is None and sent is not None and received is not None:
        lost = max(0, sent - received)
    return {} if sent is None or lost is None else _packets(sent, lost, reordered, duplicated)


def _packets(sent: int, lost: int, reordered: int | None, duplicated: int | None) -> dict[str, int]:
    if lost > sent:
        raise Unusable(f"{lost} packets of {sent} lost", "no more packets lost than sent")
    counts = {"sent_pkts": sent, "lost_pkts": lost, "received_pkts": sent - lost, "send_errors_pkts": 0}
    counts |= {} if reordered is None else {"reordered_pkts": reordered}
    return counts if duplicated is None else {**counts, "duplicated_pkts": duplicated}


def _requests(source: FigureSource, seconds: list[float]) -> None:
    """Sets the fields of a record of requests and responses from these round-trip times."""
    source.record = {"rtt_us": distribution([each * 1e6 for each in seconds])}
    source.absent |= UNTIMED


def _round_trips(source: FigureSource, result: PschedulerOutput, texts: list[str | None]) -> None:
    times = [seconds_of(text) for text in texts if text is not None]
    source.title = "pScheduler rtt"
    counts = _counts(result.sent, result.lost, result.received, result.reorders, result.duplicates)
    if times:
        _requests(source, times)
    elif counts and not counts["received_pkts"]:
        source.absent |= {
            **UNTIMED,
            **dict.fromkeys((*ROUND_TRIPS, "reordering", "duplication"), NOTHING_ARRIVED),
        }
    else:
        raise Unusable("no round trip with a time", "`roundtrips` with `rtt`, or `sent` and `lost`")
    if counts:
        source.record["packets"] = counts


def _trace(source: FigureSource, paths: list[list[_Hop]]) -> None:
    last = [path[-1].rtt for path in paths if path]
    times = [seconds_of(text) for text in last if text is not None]
    if not times:
        raise Unusable("a trace whose last hop did not answer", "a trace with the `rtt` of its last hop")
    _requests(source, times)
    source.title = "pScheduler trace, round-trip time of the last hop"


def _latency(
    source: FigureSource, spec: _Specification, result: PschedulerOutput, latencies: dict[str, int]
) -> None:
    source.title = "pScheduler latency"
    source.absent |= UNTIMED
    counts = _counts(
        result.packets_sent,
        result.packets_lost,
        result.packets_received,
        result.packets_reordered,
        result.packets_duplicated,
    )
    if counts:
        source.record["packets"] = counts
    if sum(latencies.values()):
        _delays(source, spec, result, latencies)
    elif counts and not counts["received_pkts"]:
        named = (*DELAYS, *VARIATIONS, "owd_error", "reordering", "duplication")
        source.absent |= dict.fromkeys(named, NOTHING_ARRIVED)
    else:
        raise Unusable("a histogram-latency without values", "numbers of packets by number of bucket")


def _delays(
    source: FigureSource, spec: _Specification, result: PschedulerOutput, latencies: dict[str, int]
) -> None:
    """Fills in the one-way delays of packets that arrived. twping reports 0 as the error of the clocks if a
    clock has no estimate of it (RFC 4656 section 4.1.2: a multiplier of 0 is no estimate)."""
    try:
        delays = [float(key) * spec.bucket_width * 1e6 for key in latencies]
    except ValueError:
        raise Unusable("a histogram-latency with other keys", "numbers of buckets") from None
    counts = list(latencies.values())
    if not all(math.isfinite(each) and abs(each) <= MOST for each in delays):
        raise Unusable("a histogram-latency without values", "numbers of packets by number of bucket")
    least = min(delay for delay, count in zip(delays, counts, strict=True) if count)
    source.record["delay_variation_us"] = distribution([each - least for each in delays], counts)
    if not result.clock_error:
        why = "pScheduler did not report the error of the clocks"
    elif least <= result.clock_error * 1e3:
        why = "the smallest delay is not above the error of the clocks"
    else:
        source.record["owd_us"] = distribution(delays, counts)
        source.record["owd_error_us"] = result.clock_error * 1e3
        return
    source.absent |= dict.fromkeys(("owd", "owd_error"), why)
