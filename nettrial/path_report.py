"""The request for an examination of a path, and its answer: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/path.
"""

from __future__ import annotations

from nettrial.fields import Generated
from pydantic import ConfigDict, Field, RootModel
from typing import Annotated, Literal


class Absence(Generated):
    """
    A metric that could not be measured.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    metric: str
    """
    The metric's name.
    """
    object: str
    """
    The host or flow that lacks the metric.
    """
    reason: str
    """
    The reason for the absence.
    """


class Buffers(Generated):
    """
    The bandwidth-delay product against the buffers of this host.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    bdp_bytes: Annotated[int, Field(ge=0)]
    """
    Rate times the smallest round-trip time.
    """
    fixes: list[str]
    """
    Lines for sysctl.conf that let one connection fill the path; none if it can.
    """
    rate_bps: Annotated[int, Field(ge=0)]
    """
    The rate taken for the path's slowest link, bits per second.
    """
    rate_from: str
    """
    The source of the rate: `given`, or `interface`.
    """
    receive_window_bytes: Annotated[int, Field(ge=0)]
    """
    The window that this host's receive buffer lets a sender fill.
    """
    send_window_bytes: Annotated[int, Field(ge=0)]
    """
    The same of its send buffer.
    """
    sysctls: dict[str, str]
    """
    The settings these follow from, by sysctl name.
    """


class Direction(Generated):
    """
    The path MTU in one direction.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    how: str
    """
    The way in which it was found.
    """
    limited: bool
    """
    True if a packet one byte larger was seen not to. If not, the path MTU may be larger.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The largest packet that is known to arrive whole.
    """


class Goodput(Generated):
    """
    The goodput that TCP could reach at most.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    efficiency: float
    """
    Payload over what its frame occupies on Ethernet: MTU and 38 bytes.
    """
    line_bps: float | None = None
    """
    The goodput as that share of the rate, bits per second.
    """
    loss_bps: float | None = None
    """
    The goodput that loss leaves to a Reno-like sender (Mathis et al. 1997: MSS / RTT × sqrt(3/2p)), bits per
    second. Only where probes were lost; a handful of probes makes a coarse estimate.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The MTU.
    """
    passes: bool | None = None
    """
    True if packets of that size are known to pass in both directions; absent where that is not known.
    """
    window_bps: float | None = None
    """
    Window over round-trip time with the buffers in force, bits per second.
    """


class Hop(Generated):
    """
    A router on the path, or the far host.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    address: str | None = None
    """
    Its address; absent where it is silent.
    """
    claimed_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The MTU it claimed in an ICMP message.
    """
    lie: str | None = None
    """
    The part of that claim that is not so.
    """
    not_reached_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The smallest packet that is known not to come to it.
    """
    number: Annotated[int, Field(ge=0, le=255)]
    """
    Links from this host: 1 is the first router.
    """
    reached_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The largest packet that is known to have come to it.
    """
    rtt_us: float | None = None
    """
    Round-trip time of one small packet, microseconds.
    """


class IpVersion(RootModel[Literal[4, 6]]):
    root: Literal[4, 6]
    """
    Which Internet Protocol: 4 or 6.
    """


class Jumbo(RootModel[Literal["clean", "not_clean", "cannot_tell"]]):
    root: Literal["clean", "not_clean", "cannot_tell"]
    """
    The answer to whether packets of 9000 bytes pass in both directions.
    """


class Limit(Generated):
    """
    A place where the path gets narrower: behind one hop and before another.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    after_hop: Annotated[int, Field(ge=0, le=255)]
    """
    The last hop that larger packets came to; 0 is this host.
    """
    announced_by: str | None = None
    """
    The address that said in an ICMP message that it is the limit, if any did.
    """
    at_fault: str
    """
    The hop at fault in words.
    """
    before_hop: Annotated[int, Field(ge=0, le=255)]
    """
    The first hop that answers and that they did not come to. Hops between the two are silent.
    """
    below_bytes: Annotated[int, Field(ge=0)]
    """
    The smallest that is known not to; sizes between the two were not tried there.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The largest packet that is known to pass.
    """


class Means(RootModel[Literal["echo", "udp"]]):
    root: Literal["echo", "udp"]
    """
    A kind of probe.
    """


class MssFinding(RootModel[Literal["fits", "clamped", "too_large", "unknown"]]):
    root: Literal["fits", "clamped", "too_large", "unknown"]
    """
    The comparison of the MSS in force with the path MTU.
    """


class Offloads(Generated):
    """
    The offloads of interfaces, which handle larger units than a packet. All are off by default, so that the MTU is
    in force (with them, a virtual link passes "packets" of 64 KiB).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    gro: bool | None = False
    """
    Generic receive offload: received segments are coalesced before the stack sees them.
    """
    gso: bool | None = False
    """
    Generic segmentation offload: the kernel segments GSO packets just before the interface.
    """
    tso: bool | None = False
    """
    TCP segmentation offload: the interface segments GSO packets.
    """


class Port(RootModel[int]):
    root: Annotated[int, Field(ge=0, le=65535)]


class Problem(Generated):
    """
    One thing that is wrong with a scenario, or with another document that was checked.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    expected: str
    """
    The expected values.
    """
    hint: str
    """
    The reason, and the remedy.
    """
    object: str
    """
    The object that has the setting, in words: "link sender - router".
    """
    of_machine: bool | None = None
    """
    True if nothing is wrong with the document, but a machine lacks what it needs.
    """
    pointer: str
    """
    The place of the bad value in the document, as a JSON pointer (RFC 6901). For an absent setting, this is
    the place where it would be.
    """
    setting: str
    """
    The setting's name: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …
    """
    value: str
    """
    The bad value.
    """


class Rate(RootModel[str]):
    root: Annotated[
        str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s)$")
    ]
    """
    A rate, such as "1 Gbit/s".
    """


class Shortfall(Generated):
    """
    A feature that the machine lacks.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    remedy: str
    """
    The remedy.
    """
    what: str
    """
    The feature that was tried.
    """
    why: str
    """
    The result of trying it.
    """


class Size(RootModel[str]):
    root: Annotated[
        str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB)$")
    ]
    """
    A size, such as "9000 B".
    """


class TooBig(Generated):
    """
    An ICMP "fragmentation needed" (RFC 1191) or "packet too big" (RFC 4443 section 3.2).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    by: str
    """
    Its sender.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The MTU it claims.
    """
    size_bytes: Annotated[int, Field(ge=0)]
    """
    The size of the packet it is about.
    """


class Trusting(Generated):
    """
    Path MTU discovery as RFC 1191 and RFC 8201 have it: the size follows ICMP messages alone.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    arrives: bool
    """
    True if packets of that size arrive. If not it has met a black hole, and its connections stall.
    """
    messages: list[TooBig]
    """
    The messages it got, in order.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The size such a sender ends with.
    """


class Verdict(Generated):
    """
    The verdict on a path: clean for jumbo frames or not, with the reasons.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_fault: str | None = None
    """
    The node or host at fault, in words; absent where none is, or where that is not known.
    """
    black_hole: bool | None = None
    """
    True if a sender that relies on ICMP stalls on this path; absent where that is not known.
    """
    jumbo: Jumbo
    """
    The answer.
    """
    reasons: list[str]
    """
    The reasons, and what else to know, a sentence each.
    """


class BaseRtt(Generated):
    """
    Round-trip time of small packets, one in flight.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    means: Means
    """
    The means by which it was measured.
    """
    median_us: float
    """
    The median, microseconds.
    """
    minimum_us: float
    """
    The smallest time, microseconds.
    """
    received_pkts: Annotated[int, Field(ge=0)]
    """
    Probes answered.
    """
    sent_pkts: Annotated[int, Field(ge=0)]
    """
    Probes sent.
    """


class Interface(Generated):
    """
    The interface that packets leave by.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    Its MTU.
    """
    name: str
    """
    Its name.
    """
    offloads: Offloads | None = None
    """
    Its offloads, where its driver says.
    """
    speed_bps: Annotated[int | None, Field(ge=0)] = None
    """
    The speed of its link, where its driver says.
    """


class Mss(Generated):
    """
    The segment size in force on a TCP connection, before any data.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    announced_bytes: Annotated[int, Field(ge=0)]
    """
    The MSS option this host sent.
    """
    finding: MssFinding
    """
    The comparison of the two.
    """
    implied_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The MSS that the path MTU towards the host implies: less IP and TCP headers (RFC 9293 section 3.7.1).
    """
    option_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes of TCP options in each segment.
    """
    port: Annotated[int, Field(ge=0, le=65535)]
    """
    The port of the far host.
    """
    segment_bytes: Annotated[int, Field(ge=0)]
    """
    Payload of a full segment that this host would send.
    """
    timestamps: bool
    """
    True if segments carry timestamps.
    """
    window_scaling: bool
    """
    True if both sides scale their windows.
    """


class BadRequestAnswer(Generated):
    """
    The request can't be followed.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    answer: Literal["bad_request"] = "bad_request"
    problem: Problem
    """
    The fault in the request.
    """


class CannotAnswer(Generated):
    """
    This machine can't probe.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    answer: Literal["cannot"] = "cannot"
    missing: list[Shortfall]
    """
    Every reason.
    """


class PathRecord(Generated):
    """
    One path. Sizes are of whole IP packets, in bytes, unless they say otherwise.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    absent: list[Absence]
    """
    The figures that could not be measured, each with the reason.
    """
    address: str
    """
    The far host's address.
    """
    answers: list[Means]
    """
    The kinds of probe that the far host answers.
    """
    buffers: Buffers | None = None
    """
    The bandwidth-delay product and the buffers in force here.
    """
    forward: Direction | None = None
    """
    Towards the far host.
    """
    hops: list[Hop]
    """
    The routers on the path, and last the far host.
    """
    interface: Interface
    """
    The interface they leave by.
    """
    ip: IpVersion
    """
    The IP version.
    """
    kernel_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The path MTU that the kernel held before the examination: the route's, or one it learned. Absent where it does not
    tell.
    """
    largest_tried_bytes: Annotated[int, Field(ge=0)]
    """
    The largest packet that was tried.
    """
    limits: list[Limit]
    """
    The places where large packets end, towards the far host: each where the path gets narrower, in order.
    """
    local_address: str
    """
    The address that packets to it are sent from.
    """
    mss: Mss | None = None
    """
    The segment size of a TCP connection to the host.
    """
    reverse: Direction | None = None
    """
    From the far host back.
    """
    rtt: BaseRtt | None = None
    """
    Round-trip time of small packets.
    """
    theory: list[Goodput]
    """
    The goodput that TCP could reach at most, by MTU.
    """
    trusting: Trusting | None = None
    """
    Towards the far host as a sender sees it that relies on ICMP.
    """
    verdict: Verdict
    """
    The verdict on jumbo frames.
    """


class PathReport(Generated):
    """
    The findings about the paths to a host: one for each IP version.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    absent: list[Absence]
    """
    IP versions that could not, and why.
    """
    engine_version: str
    """
    The engine's version.
    """
    format: Annotated[int, Field(ge=0)]
    """
    The document's version: 1.
    """
    host: str
    """
    The host as it was given.
    """
    paths: list[PathRecord]
    """
    One for each IP version that could be examined.
    """
    started_unix_ns: Annotated[int, Field(ge=0)]
    """
    The beginning of the examination, nanoseconds since 1970-01-01 UTC.
    """


class PathRequest(Generated):
    """
    The path to examine.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    host: str
    """
    The far host: a name or an address.
    """
    ip: IpVersion | None = None
    """
    The IP version; each one that the host has an address of where absent.
    """
    max_mtu: Size | None = None
    """
    The largest IP packet to try; where absent, the largest that the interface sends.
    """
    ports: Annotated[list[Port] | None, Field(validate_default=True)] = []
    """
    TCP ports of the host to connect to, in this order, until one is open.
    """
    rate: Rate | None = None
    """
    The line rate of the path's slowest link; where absent, the speed of the interface.
    """


class ReportAnswer(Generated):
    """
    The path was examined, whatever came of it.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    answer: Literal["report"] = "report"
    report: PathReport
    """
    The findings.
    """


class PathAnswer(RootModel[ReportAnswer | BadRequestAnswer | CannotAnswer]):
    root: ReportAnswer | BadRequestAnswer | CannotAnswer
    """
    The outcome of an examination.
    """


class PathProtocol(Generated):
    """
    The roots of what crosses the standard input and output of the engine that examines a path.
    """

    answer: PathAnswer
    request: PathRequest
