"""The JSON of `iperf3 -J` (tested with 3.12). Goodput is that of the receiver; over TCP, the sender's
TCP_INFO is read, and over UDP loss, reordering and jitter."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from nettrial.imports.figures import LONGEST_SECONDS, MOST, Imported, Source, Unusable, distribution

Count = Annotated[int, Field(ge=0, le=MOST)]
Number = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Connected(_Part):
    local_host: Annotated[str, Field(max_length=100)]


class _Timestamp(_Part):
    timesecs: Annotated[int, Field(ge=0, le=2**33)]


class _Test(_Part):
    protocol: Literal["TCP", "UDP"]
    num_streams: Annotated[int, Field(ge=1, le=10_000)] = 1
    reverse: Literal[0, 1] = 0
    bidir: Literal[0, 1] = 0


class _Start(_Part):
    connected: Annotated[list[_Connected], Field(max_length=10_000)] = []
    version: Annotated[str, Field(max_length=200)] = "iperf3"
    system_info: Annotated[str, Field(max_length=500)] = ""
    timestamp: _Timestamp | None = None
    test_start: _Test | None = None
    tcp_mss_default: Annotated[int, Field(ge=0, le=65535)] = 0


class _Stream(_Part):
    end: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)] = 0.0
    bytes: Count = 0
    retransmits: Count = 0
    snd_cwnd: Annotated[int, Field(ge=0, le=2**40)] | None = None
    rtt: Annotated[int, Field(ge=0, le=2**32)] | None = None


class _Interval(_Part):
    streams: Annotated[list[_Stream], Field(max_length=10_000)] = []


class _Sum(_Part):
    seconds: Seconds
    bytes: Count
    bits_per_second: Number
    retransmits: Count | None = None
    jitter_ms: Number | None = None
    lost_packets: Annotated[int, Field(ge=-MOST, le=MOST)] | None = None
    packets: Count | None = None


class _Sender(_Part):
    min_rtt: Annotated[int, Field(ge=0, le=2**32)] | None = None


class _Udp(_Part):
    out_of_order: Count | None = None


class _EndStream(_Part):
    sender: _Sender | None = None
    udp: _Udp | None = None


class _End(_Part):
    streams: Annotated[list[_EndStream], Field(max_length=10_000)] = []
    sum: _Sum | None = None
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None
    sender_tcp_congestion: Annotated[str, Field(max_length=50)] = ""


class Document(_Part):
    """The document that `iperf3 -J` prints. It has more fields, which are ignored."""

    start: _Start
    """The settings of the test, and its hosts."""
    intervals: Annotated[list[_Interval], Field(max_length=1_000_000)] = []
    """The figures of each interval."""
    end: _End
    """The figures of the whole test."""
    error: Annotated[str, Field(max_length=1000)] | None = None
    """iperf3's error message, if the test failed."""


def imported(document: Document) -> Imported:
    """Returns the test as a record; raises Unusable if it failed, or if it lacks the receiver's count."""
    test, end = document.start.test_start, document.end
    if document.error is not None:
        raise Unusable(f"the test failed: {document.error}", "a test that succeeded")
    if test is None:
        raise Unusable("no start.test_start", "the JSON of `iperf3 -J`")
    if test.bidir:
        raise Unusable("a test in both directions at once", "one direction")
    if end.sum_received is None:
        raise Unusable(
            "no end.sum_received", "the count of the receiver, which iperf3 prints at the end of a test"
        )
    udp, received = test.protocol == "UDP", end.sum_received
    record = {
        "bytes": received.bytes,
        "goodput_bps": received.bits_per_second,
        "connections": 0 if udp else test.num_streams,
    }
    streams = "1 stream" if test.num_streams == 1 else f"{test.num_streams} streams"
    source = Source(
        title=f"iperf3, {test.protocol}, {'reverse, ' if test.reverse else ''}{streams}",
        program=document.start.version,
        transport=test.protocol.lower(),
        ip=_version(document.start),
        command="iperf3",
        seconds=received.seconds,
        record=record,
        reverse=bool(test.reverse),
        started_s=document.start.timestamp.timesecs if document.start.timestamp else 0.0,
        system=document.start.system_info,
    )
    if udp:
        _udp(source, end)
    else:
        _tcp(source, document)
    return source.imported()


def _version(start: _Start) -> int:
    hosts = [each.local_host.partition("%")[0] for each in start.connected]
    try:
        return ipaddress.ip_address(hosts[0]).version
    except (IndexError, ValueError):
        raise Unusable("no address in start.connected", "an IPv4 or IPv6 address") from None


def _tcp(source: Source, document: Document) -> None:
    end, start, record = document.end, document.start, source.record
    record["congestion_control"] = end.sender_tcp_congestion
    record["mss_bytes"] = start.tcp_mss_default
    if end.sum_sent and end.sum_sent.retransmits is not None:
        record["retransmissions_pkts"] = end.sum_sent.retransmits
    minima = [each.sender.min_rtt for each in end.streams if each.sender and each.sender.min_rtt]
    if minima:
        record["min_rtt_us"] = min(minima)
    rtts = [float(stream.rtt) for each in document.intervals for stream in each.streams if stream.rtt]
    if rtts:
        record["srtt_us"] = distribution(rtts)
    lines = [each.streams[0] for each in document.intervals if len(each.streams) == 1]
    mss = start.tcp_mss_default
    # Several streams have no common window.
    if mss and lines and len(lines) == len(document.intervals) and all(each.snd_cwnd for each in lines):
        passed, resent, intervals = 0, 0, []
        for each in lines:
            passed, resent = passed + each.bytes, resent + each.retransmits
            intervals.append(
                {
                    "at_ns": round(each.end * 1e9),
                    "bytes": passed,
                    "cwnd_pkts": (each.snd_cwnd or 0) // mss,
                    "srtt_us": each.rtt or 0,
                    "min_rtt_us": record.get("min_rtt_us", 0),
                    "retransmissions_pkts": resent,
                }
            )
        record["intervals"] = intervals


def _udp(source: Source, end: _End) -> None:
    total = end.sum
    if total is None:
        return
    if total.jitter_ms is not None:
        source.record["jitter_rfc3550_us"] = total.jitter_ms * 1e3
    if total.packets is None or total.lost_packets is None:
        return
    # iperf3 takes a packet that arrived twice for a lost one that arrived late, so the number of losses may
    # be negative.
    lost = max(0, total.lost_packets)
    orders = [each.udp.out_of_order for each in end.streams if each.udp and each.udp.out_of_order is not None]
    source.record["packets"] = {
        "sent_pkts": total.packets,
        "received_pkts": max(0, total.packets - lost),
        "lost_pkts": lost,
        "send_errors_pkts": 0,
        **({"reordered_pkts": sum(orders)} if len(orders) == len(end.streams) else {}),
    }
