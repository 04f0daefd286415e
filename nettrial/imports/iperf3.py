"""The JSON of iperf3, read by its content: the documents of versions 3.1 to 3.21 differ in their fields.

Goodput is that of the receiver; over TCP, the sender's TCP_INFO is read, and over UDP loss, reordering and
jitter. A server knows nothing of the client's end of a stream, so its document lacks those figures, and its
zeros in their place are not values."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from nettrial.fields import wrong
from nettrial.imports.figures import (
    FLOW,
    LONGEST_SECONDS,
    MOST,
    SHORTEST_SECONDS,
    Imported,
    Source,
    Text,
    Unusable,
    distribution,
)

Count = Annotated[int, Field(ge=0, le=MOST)]
Signed = Annotated[int, Field(ge=-MOST, le=MOST)]
Number = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
REVERSE = "_bidir_reverse"
"""The end of the names of fields about the stream from the server, in a test in both directions."""
TWICE = ("sum", "sum_sent", "sum_received", "sender_tcp_congestion")
"""The fields that versions before 3.11 write once for each direction under one name, first for the stream
from the client; all versions do so with the last one."""
UNKNOWN_TO_SERVER = "the document is the server's, which sent and has no count of the receiver"
"""The reason for the absence of the receiver's figures."""
OF_RECEIVER = ("goodput", "loss", "jitter_rfc3550", "packet_rate", "reordering")
"""The metrics that the receiver measures, of which TCP has the first alone."""
MEASURED = ("goodput_bps", "retransmissions_pkts", "srtt_us", "min_rtt_us", "packets", "jitter_rfc3550_us")
"""The fields of a record of which a test has at least one."""
LARGEST_CONTRADICTION = 0.005
"""The largest difference between two counts of packets that is no contradiction, as a share of those sent:
the hosts end a test at different times."""
OTHER_RATE = 2.0
"""The ratio of a stated rate to that of the bytes and the time, or its inverse, above which the rate is not
that of the test. iperf3 computes the one from the others."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Connected(_Part):
    local_host: Annotated[Text, Field(max_length=100)]


class _Timestamp(_Part):
    timesecs: Annotated[int, Field(ge=0, le=2**33)]


class _Test(_Part):
    protocol: Literal["TCP", "UDP"]
    num_streams: Annotated[int, Field(ge=1, le=10_000)] = 1
    blksize: Count = 0
    reverse: Literal[0, 1] = 0
    bidir: Literal[0, 1] = 0


class _Start(_Part):
    connected: Annotated[list[_Connected], Field(max_length=10_000)] = []
    version: Annotated[Text, Field(max_length=200)] = "iperf3"
    system_info: Annotated[Text, Field(max_length=500)] = ""
    timestamp: _Timestamp | None = None
    test_start: _Test | None = None
    tcp_mss_default: Annotated[int, Field(ge=0, le=65535)] = 0
    accepted_connection: dict[str, Any] | None = None


class _Stream(_Part):
    end: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)] = 0.0
    bytes: Count = 0
    retransmits: Signed | None = None
    snd_cwnd: Annotated[int, Field(ge=0, le=2**40)] | None = None
    rtt: Annotated[int, Field(ge=0, le=2**32)] | None = None
    omitted: bool = False
    sender: bool | None = None


class _Interval(_Part):
    streams: Annotated[list[_Stream], Field(max_length=10_000)] = []


def _long(seconds: float) -> float:
    if 0 < seconds < SHORTEST_SECONDS:
        raise wrong(expected=f"0, or {SHORTEST_SECONDS} or more: iperf3 counts microseconds")
    return seconds


class _Sum(_Part):
    seconds: Annotated[float, Field(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False), AfterValidator(_long)]
    bytes: Count
    bits_per_second: Number
    retransmits: Signed | None = None
    jitter_ms: Number | None = None
    lost_packets: Signed | None = None
    packets: Count | None = None


class _Sender(_Part):
    min_rtt: Annotated[int, Field(ge=0, le=2**32)] | None = None
    sender: bool | None = None


class _Udp(_Part):
    out_of_order: Signed | None = None
    sender: bool | None = None


class _EndStream(_Part):
    sender: _Sender | None = None
    udp: _Udp | None = None

    @property
    def sends(self) -> bool | None:
        """True if the host that wrote the document sent the stream; None if it does not say."""
        part = self.udp or self.sender
        return part.sender if part else None


class _End(_Part):
    streams: Annotated[list[_EndStream], Field(max_length=10_000)] = []
    sum: _Sum | None = None
    sum_sent: _Sum | None = None
    sum_received: _Sum | None = None
    sender_tcp_congestion: Annotated[Text, Field(max_length=50)] = ""
    sum_bidir_reverse: _Sum | None = None
    sum_sent_bidir_reverse: _Sum | None = None
    sum_received_bidir_reverse: _Sum | None = None
    sender_tcp_congestion_bidir_reverse: Annotated[Text, Field(max_length=50)] = ""


class Iperf3Output(_Part):
    """The document that `iperf3 -J` prints. It has more fields, which are ignored."""

    start: _Start
    """The settings of the test, and its hosts."""
    intervals: Annotated[list[_Interval], Field(max_length=1_000_000)] = []
    """The figures of each interval."""
    end: _End
    """The figures of the whole test."""
    error: Annotated[Text, Field(max_length=1000)] | None = None
    """iperf3's error message, if the test failed."""


@dataclass(frozen=True)
class _Way:
    """The streams of one direction of a test, and what the document says about them."""

    reverse: bool
    """True if the server sent."""
    ours: bool
    """True if the host that wrote the document sent."""
    peer_known: bool
    """True if the document has the figures of the other host; a server's has not."""
    total: _Sum | None
    """The figures of both ends (UDP)."""
    sent: _Sum | None
    """The figures of the sender."""
    received: _Sum | None
    """The figures of the receiver."""
    congestion_control: str
    """The congestion control of the sender; empty if it is not known."""
    streams: list[_EndStream]
    """The figures of each stream."""
    intervals: list[list[_Stream]]
    """The streams' figures in each interval that was not omitted."""

    @property
    def sender_known(self) -> bool:
        """True if the document has the sender's figures."""
        return self.ours or self.peer_known

    @property
    def receiver_known(self) -> bool:
        """True if the document has the receiver's figures."""
        return not self.ours or self.peer_known


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a JSON object's fields; a field of `TWICE` that occurs a second time is that of the reverse
    direction."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name + REVERSE if name in TWICE and name in found else name] = value
    return found


def is_farewell(document: object) -> bool:
    """Returns true for the document that a server writes when it is ended while it waits for a client: there
    was no test."""
    if not isinstance(document, dict) or "error" not in document or document.get("intervals"):
        return False
    start = document.get("start")
    return isinstance(start, dict) and not start.get("connected") and "connecting_to" not in start


def imported(document: Iperf3Output) -> Imported:
    """Returns the test as a record; raises Unusable if it failed, or if it has no figures."""
    test = document.start.test_start
    if document.error is not None:
        raise Unusable(f"the test failed: {document.error}", "a test that succeeded")
    if test is None:
        raise Unusable("no start.test_start", "the JSON of `iperf3 -J`")
    ways = _ways(document, test)
    if all(each is None for way in ways for each in (way.total, way.sent, way.received)):
        expected = "the sums that iperf3 prints at the end of a test"
        raise Unusable("no end.sum, end.sum_sent and end.sum_received", expected)
    streams = "1 stream" if test.num_streams == 1 else f"{test.num_streams} streams"
    both = len(ways) > 1
    kind = "both directions, " if both else "reverse, " if test.reverse else ""
    sources = [_source(document, test, way, both) for way in ways]
    if not any(name in source.record for source in sources for name in MEASURED):
        why = next((why for source in sources for why in source.absent.values()), "")
        raise Unusable(f"no figure of the test: {why}", "the client's document of the test")
    return Imported.of(f"iperf3, {test.protocol}, {kind}{streams}", sources)


def _ways(document: Iperf3Output, test: _Test) -> list[_Way]:
    """Returns the directions of a test."""
    end, server = document.end, document.start.accepted_connection is not None
    flags = {each.sends for each in end.streams} - {None}
    reverse_sums = end.sum_bidir_reverse, end.sum_sent_bidir_reverse, end.sum_received_bidir_reverse
    both = bool(test.bidir) or len(flags) > 1 or any(reverse_sums)
    kept = [[each for each in interval.streams if not each.omitted] for interval in document.intervals]
    if not both:
        ours = bool(test.reverse) == server
        sums = end.sum, end.sum_sent, end.sum_received
        intervals = [streams for streams in kept if streams]
        control = end.sender_tcp_congestion
        return [_Way(bool(test.reverse), ours, not server, *sums, control, end.streams, intervals)]

    def way(reverse: bool, sums: tuple[_Sum | None, _Sum | None, _Sum | None], control: str) -> _Way:
        ours = reverse == server
        streams = [each for each in end.streams if each.sends == ours]
        intervals = [[each for each in streams if each.sender == ours] for streams in kept]
        return _Way(reverse, ours, not server, *sums, control, streams, [each for each in intervals if each])

    controls = end.sender_tcp_congestion, end.sender_tcp_congestion_bidir_reverse
    if not all(controls):  # a server knows its own alone, and does not say which direction has it
        controls = "", ""
    return [
        way(False, (end.sum, end.sum_sent, end.sum_received), controls[0]),
        way(True, reverse_sums, controls[1]),
    ]


def _source(document: Iperf3Output, test: _Test, way: _Way, both: bool) -> Source:
    """Returns one direction of a test."""
    start, udp = document.start, test.protocol == "UDP"
    sums = [each.seconds for each in (way.received, way.total, way.sent) if each]
    source = Source(
        title="",
        program=start.version,
        transport=test.protocol.lower(),
        ip=_version(start),
        command="iperf3",
        seconds=next((each for each in sums if each), 0.0),
        record={"connections": 0 if udp else test.num_streams},
        reverse=way.reverse,
        started_s=start.timestamp.timesecs if start.timestamp else 0.0,
        system=start.system_info,
        name=("reverse" if way.reverse else "forward") if both else FLOW,
    )
    if udp:
        _udp(source, way, test.blksize)
    else:
        _tcp(source, way, start.tcp_mss_default)
    if not way.receiver_known:
        lacking = OF_RECEIVER if udp else OF_RECEIVER[:1]
        source.absent |= dict.fromkeys(lacking, f"{source.program}: {UNKNOWN_TO_SERVER}")
    return source


def _version(start: _Start) -> int:
    hosts = [each.local_host.partition("%")[0] for each in start.connected]
    try:
        address = ipaddress.ip_address(hosts[0])
    except (IndexError, ValueError):
        raise Unusable("no address in start.connected", "an IPv4 or IPv6 address") from None
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped
    return 4 if mapped else address.version


def _counted(received: _Sum) -> dict[str, Any]:
    """Returns what the receiver counted; raises Unusable if its rate contradicts its bytes and its time."""
    rate = received.bits_per_second
    if received.seconds:
        expected = received.bytes * 8 / received.seconds
        if max(rate, expected) > OTHER_RATE * min(rate, expected):
            value = f"{rate:g} bit/s, {received.bytes} bytes in {received.seconds:g} s"
            raise Unusable(value, f"the rate of these bytes in this time, {expected:g} bit/s")
    return {"bytes": received.bytes, "goodput_bps": rate}


def _tcp(source: Source, way: _Way, mss: int) -> None:
    record = source.record
    if way.receiver_known and way.received:
        record |= _counted(way.received)
    record["congestion_control"] = way.congestion_control
    record["mss_bytes"] = mss
    if not way.sender_known:
        return
    resent = way.sent.retransmits if way.sent else None
    if resent is not None and resent >= 0:  # -1: the sender's system does not count them
        record["retransmissions_pkts"] = resent
    minima = [each.sender.min_rtt for each in way.streams if each.sender and each.sender.min_rtt]
    if minima and way.ours:  # hosts do not tell each other
        record["min_rtt_us"] = min(minima)
    rtts = [float(stream.rtt) for streams in way.intervals for stream in streams if stream.rtt]
    if rtts:
        record["srtt_us"] = distribution(rtts)
    lines = [streams[0] for streams in way.intervals if len(streams) == 1]
    # Several streams have no common window.
    if mss and lines and len(lines) == len(way.intervals):
        found = [_interval(each, mss) for each in lines]
        if all(one.end < other.end for one, other in pairwise(lines)):
            if all(found):
                record["intervals"] = found
        else:
            source.absent["cwnd"] = f"the intervals of {source.program} do not end one after the other"


def _interval(stream: _Stream, mss: int) -> dict[str, int] | None:
    """Returns the sender's state at the end of an interval; None if the document lacks a part of it. iperf3
    reports the smallest round-trip time for the whole test alone."""
    if not stream.snd_cwnd or not stream.rtt or stream.retransmits is None:
        return None
    return {
        "at_ns": round(stream.end * 1e9),
        "bytes": stream.bytes,
        "cwnd_pkts": stream.snd_cwnd // mss,
        "srtt_us": stream.rtt,
        "retransmissions_pkts": max(0, stream.retransmits),
    }


def _udp(source: Source, way: _Way, block_bytes: int) -> None:
    """Fills in what the receiver counted of packets, if the document has it."""
    total, received, record = way.total, way.received, source.record
    if not way.receiver_known:
        return
    if received:
        record |= _counted(received)
    if total is None or total.packets is None or total.lost_packets is None:
        return
    if received is None:
        _from_packets(source, total, block_bytes)
    if not record.get("bytes"):
        source.absent.setdefault("jitter_rfc3550", "no packet arrived")
    elif total.jitter_ms is not None:
        record["jitter_rfc3550_us"] = total.jitter_ms * 1e3
    if "goodput_bps" in record:
        _packets(source, way, total, block_bytes)


def _from_packets(source: Source, total: _Sum, block_bytes: int) -> None:
    """Fills in goodput from the packets that arrived. Before 3.11, the only sum over UDP has the bytes of the
    sender, and the packets of the receiver or those of the sender less those lost."""
    packets, lost = total.packets or 0, max(0, total.lost_packets or 0)
    if not lost and not total.jitter_ms:
        why = f"{source.program} does not say whether a packet arrived: it reports neither loss nor jitter"
        source.absent |= dict.fromkeys(
            ("goodput", "loss", "jitter_rfc3550", "packet_rate", "reordering"), why
        )
        return
    size = total.bytes / packets if total.bytes and packets else block_bytes
    if size and source.seconds:
        bytes_ = round(size * max(0, packets - lost))
        source.record |= {"bytes": bytes_, "goodput_bps": bytes_ * 8 / source.seconds}


def _packets(source: Source, way: _Way, total: _Sum, block_bytes: int) -> None:
    """Fills in the numbers of packets, unless they contradict the bytes that arrived.

    iperf3 counts as lost the gaps before the last packet that arrived. Those sent after it may have been on
    their way when the test ended, so a few do not count; more of them count as lost, as all packets do if
    none arrived. A packet that arrived twice is taken for a lost one that arrived late, so the number of
    losses may be negative."""
    sent = total.packets or 0
    if way.sent and way.sender_known:
        sent = max(sent, way.sent.packets or 0)
    seen = sent
    if way.received and way.received.packets is not None:
        seen = way.received.packets
    if abs(sent - seen) <= LARGEST_CONTRADICTION * sent:
        sent = seen
    sent = max(sent, seen)
    arrived = max(0, seen - max(0, total.lost_packets or 0))
    own = way.sent if way.sent and way.sender_known and way.sent.packets else total
    size = own.bytes / own.packets if own.bytes and own.packets else block_bytes
    if way.received and size:
        by_bytes = way.received.bytes / size
        if abs(by_bytes - arrived) > max(2.0, LARGEST_CONTRADICTION * sent):
            _contradict(source, arrived, by_bytes)
            return
    orders = [each.udp.out_of_order for each in way.streams if each.udp and each.udp.out_of_order is not None]
    source.record["packets"] = {
        "sent_pkts": sent,
        "received_pkts": arrived,
        "lost_pkts": sent - arrived,
        "send_errors_pkts": 0,
        **({"reordered_pkts": max(0, sum(orders))} if orders and len(orders) == len(way.streams) else {}),
    }


def _contradict(source: Source, arrived: int, by_bytes: float) -> None:
    """Leaves out the numbers of packets, with a warning."""
    message = (
        f"{source.program} reports {arrived} packets as arrived, but the bytes of {by_bytes:.0f}: its peer "
        "may be of another version"
    )
    source.absent |= dict.fromkeys(("loss", "reordering", "packet_rate"), message)
    source.warnings.append(
        {
            "code": "contradictory_counts",
            "message": message,
            "consequence": "loss, reordering and packet rate are absent; goodput is that of the bytes",
        }
    )
