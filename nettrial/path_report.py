"""The request for an examination of a path, and its answer: from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/path.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from nettrial.fields import Generated, GeneratedRoot
from nettrial.scenario import Absence as Absence
from nettrial.scenario import FailureKind as FailureKind
from nettrial.scenario import IpVersion as IpVersion
from nettrial.scenario import Offloads as Offloads
from nettrial.scenario import Problem as Problem
from nettrial.scenario import Rate as Rate
from nettrial.scenario import Shortfall as Shortfall
from nettrial.scenario import Size as Size


class Means(GeneratedRoot[Literal["echo", "udp"]]):
    """A kind of probe."""


class BaseRtt(Generated):
    """The round-trip time of small packets, one at a time."""

    model_config = ConfigDict(extra="forbid")
    means: Means
    """The kind of probe with which it was measured."""
    median_us: float
    """The median of the round-trip times, in microseconds."""
    minimum_us: float
    """The smallest round-trip time, in microseconds."""
    received_pkts: Annotated[int, Field(ge=0)]
    """The number of probes answered."""
    sent_pkts: Annotated[int, Field(ge=0)]
    """The number of probes sent."""


class Buffers(Generated):
    """The bandwidth-delay product of the path, compared with the buffers of this host."""

    model_config = ConfigDict(extra="forbid")
    bdp_bytes: Annotated[int, Field(ge=0)]
    """The bandwidth-delay product: the rate times the smallest round-trip time."""
    fixes: list[str]
    """The lines for sysctl.conf that let one connection fill the path; empty if it can already."""
    rate_bps: Annotated[int, Field(ge=0)]
    """The rate assumed for the path's slowest link, in bits per second."""
    rate_from: str
    """The source of the rate: `given`, or `interface`."""
    receive_window_bytes: Annotated[int, Field(ge=0)]
    """The largest window that this host's receive buffer allows."""
    send_window_bytes: Annotated[int, Field(ge=0)]
    """The largest window that this host's send buffer allows."""
    sysctls: dict[str, str]
    """The settings that determine these windows, by sysctl name."""


class Direction(Generated):
    """The path MTU in one direction."""

    model_config = ConfigDict(extra="forbid")
    how: str
    """The way in which the path MTU was found."""
    limited: bool
    """True if a packet that was one byte larger did not arrive. If false, the path MTU may be larger."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The largest packet that is known to arrive whole."""


class Goodput(Generated):
    """The goodput that TCP could reach at most."""

    model_config = ConfigDict(extra="forbid")
    efficiency: float
    """The ratio of the payload to the bytes that its frame occupies on Ethernet, which are the MTU and 38
    bytes."""
    line_bps: float | None = None
    """The efficiency times the rate, in bits per second."""
    loss_bps: float | None = None
    """The goodput that a Reno-like sender reaches with the measured loss (Mathis et al. 1997: MSS / RTT ×
    sqrt(3/2p)), in bits per second. Present only if probes were lost; a handful of probes gives a coarse
    estimate."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The MTU."""
    passes: bool | None = None
    """True if packets of that size are known to pass in both directions; absent if that is not known."""
    window_bps: float | None = None
    """The window that the buffers in force allow, divided by the round-trip time, in bits per second."""


class Hop(Generated):
    """A router on the path, or the far host."""

    model_config = ConfigDict(extra="forbid")
    address: str | None = None
    """The hop's address; absent if it is silent."""
    claimed_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """The MTU that the hop claimed in an ICMP message."""
    lie: str | None = None
    """The part of that claim that the measurements contradict."""
    not_reached_bytes: Annotated[int | None, Field(ge=0)] = None
    """The smallest packet that is known not to reach the hop."""
    number: Annotated[int, Field(ge=0, le=255)]
    """The number of links between this host and the hop: 1 is the first router."""
    reached_bytes: Annotated[int | None, Field(ge=0)] = None
    """The largest packet that is known to have reached the hop."""
    rtt_us: float | None = None
    """The round-trip time of one small packet, in microseconds."""


class Interface(Generated):
    """The interface through which packets leave."""

    model_config = ConfigDict(extra="forbid")
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The interface's MTU."""
    name: str
    """The interface's name."""
    offloads: Offloads | None = None
    """The interface's offloads, if its driver reports them."""
    speed_bps: Annotated[int | None, Field(ge=0)] = None
    """The speed of the interface's link in bits per second, if its driver reports it."""


class Jumbo(GeneratedRoot[Literal["clean", "not_clean", "cannot_tell"]]):
    """The answer to the question whether packets of 9000 bytes pass in both directions."""


class Limit(Generated):
    """A place where the path gets narrower, between two hops."""

    model_config = ConfigDict(extra="forbid")
    after_hop: Annotated[int, Field(ge=0, le=255)]
    """The last hop that larger packets reached; 0 is this host."""
    announced_by: str | None = None
    """The address that announced this limit in an ICMP message, if any did."""
    at_fault: str
    """The hop or link at fault, in words."""
    before_hop: Annotated[int, Field(ge=0, le=255)]
    """The first hop that answers and that larger packets did not reach. Hops between the two are
    silent."""
    below_bytes: Annotated[int, Field(ge=0)]
    """The smallest packet that is known not to pass; sizes between the two were not tried there."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The largest packet that is known to pass."""


class MssFinding(GeneratedRoot[Literal["fits", "clamped", "too_large", "unknown"]]):
    """The comparison of the MSS in force with the path MTU."""


class Mss(Generated):
    """The segment size in force on a TCP connection, before any data."""

    model_config = ConfigDict(extra="forbid")
    announced_bytes: Annotated[int, Field(ge=0)]
    """The MSS option that this host sent."""
    finding: MssFinding
    """The comparison of the MSS in force with the implied one."""
    implied_bytes: Annotated[int | None, Field(ge=0)] = None
    """The MSS that the path MTU towards the host implies: the path MTU less the IP and TCP headers (RFC
    9293 section 3.7.1)."""
    option_bytes: Annotated[int, Field(ge=0)]
    """The number of bytes of TCP options in each segment."""
    port: Annotated[int, Field(ge=0, le=65535)]
    """The port of the far host."""
    segment_bytes: Annotated[int, Field(ge=0)]
    """The payload of a full segment that this host would send."""
    timestamps: bool
    """True if segments carry timestamps."""
    window_scaling: bool
    """True if both sides scale their windows."""


class TooBig(Generated):
    """An ICMP message "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443 section 3.2)."""

    model_config = ConfigDict(extra="forbid")
    by: str
    """The message's sender."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The MTU that the message claims."""
    size_bytes: Annotated[int, Field(ge=0)]
    """The size of the packet that caused the message."""


class Trusting(Generated):
    """Path MTU discovery according to RFC 1191 and RFC 8201, which relies on ICMP messages alone."""

    model_config = ConfigDict(extra="forbid")
    arrives: bool
    """True if packets of that size arrive. If false, the sender has met a black hole, and its connections
    stall."""
    messages: list[TooBig]
    """The messages that the sender received, in order."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The size that a sender that relies on ICMP arrives at."""


class Verdict(Generated):
    """The verdict on a path: clean for jumbo frames or not, with the reasons."""

    model_config = ConfigDict(extra="forbid")
    at_fault: str | None = None
    """The node or host at fault, in words; absent if none is, or if it is not known."""
    black_hole: bool | None = None
    """True if a sender that relies on ICMP stalls on this path; absent if that is not known."""
    jumbo: Jumbo
    """The answer."""
    reasons: list[str]
    """The reasons for the verdict and further remarks, one sentence each."""


class PathRecord(Generated):
    """The findings about one path. Sizes are those of whole IP packets, in bytes, unless stated
    otherwise."""

    model_config = ConfigDict(extra="forbid")
    absent: list[Absence]
    """The figures that could not be measured, each with the reason."""
    address: str
    """The far host's address."""
    answers: list[Means]
    """The kinds of probe that the far host answers."""
    buffers: Buffers | None = None
    """The bandwidth-delay product, and the buffers in force on this host."""
    forward: Direction | None = None
    """The path MTU towards the far host."""
    hops: list[Hop]
    """The routers on the path, and as the last hop the far host."""
    interface: Interface
    """The interface through which packets to the far host leave."""
    ip: IpVersion
    """The IP version."""
    kernel_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """The path MTU that the kernel held before the examination: the MTU of the route, or one that it
    learned. Absent if the system does not report it."""
    largest_tried_bytes: Annotated[int, Field(ge=0)]
    """The largest packet that was tried."""
    limits: list[Limit]
    """The places where the path towards the far host gets narrower, in order, so that larger packets are
    lost there."""
    local_address: str
    """The source address of packets to the far host."""
    mss: Mss | None = None
    """The segment size of a TCP connection to the host."""
    reverse: Direction | None = None
    """The path MTU from the far host back."""
    rtt: BaseRtt | None = None
    """Round-trip time of small packets."""
    theory: list[Goodput]
    """The goodput that TCP could reach at most, by MTU."""
    trusting: Trusting | None = None
    """The path MTU towards the far host as found by a sender that relies on ICMP."""
    verdict: Verdict
    """The verdict on jumbo frames."""


class PathReport(Generated):
    """The findings about the paths to a host, one path for each IP version."""

    model_config = ConfigDict(extra="forbid")
    absent: list[Absence]
    """The IP versions whose path could not be examined, each with the reason."""
    engine_version: str
    """The engine's version."""
    format: Annotated[int, Field(ge=0)]
    """The document's version: 1."""
    host: str
    """The host as it was given."""
    paths: list[PathRecord]
    """The paths that were examined, one for each IP version."""
    started_unix_ns: Annotated[int, Field(ge=0)]
    """The time at which the examination began, in nanoseconds since 1970-01-01 UTC."""


class ReportAnswer(Generated):
    """The path was examined, whatever the findings."""

    model_config = ConfigDict(extra="forbid")
    answer: Literal["report"] = "report"
    report: PathReport
    """The findings."""


class BadRequestAnswer(Generated):
    """The request is invalid."""

    model_config = ConfigDict(extra="forbid")
    answer: Literal["bad_request"] = "bad_request"
    problem: Problem
    """The fault in the request."""


class CannotAnswer(Generated):
    """This machine can't send probes."""

    model_config = ConfigDict(extra="forbid")
    answer: Literal["cannot"] = "cannot"
    missing: list[Shortfall]
    """All reasons."""


class PathAnswer(GeneratedRoot[ReportAnswer | BadRequestAnswer | CannotAnswer]):
    """The outcome of an examination."""


class PathRequest(Generated):
    """The path to examine."""

    model_config = ConfigDict(extra="forbid")
    host: str
    """The name or address of the far host."""
    ip: IpVersion | None = None
    """The IP version; if absent, each version of which the host has an address."""
    max_mtu: Size | None = None
    """The largest IP packet to try; if absent, the largest one that the interface sends."""
    ports: Annotated[list[Annotated[int, Field(ge=0, le=65535)]] | None, Field(validate_default=True)] = []
    """The TCP ports of the host to which to connect, in this order, until one is open."""
    rate: Rate | None = None
    """The line rate of the path's slowest link; if absent, the speed of the interface."""


class PathProtocol(Generated):
    """The documents that cross the standard input and output of the engine that examines a path."""

    answer: PathAnswer
    request: PathRequest
