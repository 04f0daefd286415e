"""The fields that studies and scenarios share: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from pydantic import Field

from nettrial.fields import Strict
from nettrial.study.variates import Imix, Value, variate
from nettrial.units import DURATION, SIZE, Duration, Queue, Rate, Size

Answer = Literal["acknowledgment", "echo"]
"""The answer that the receiver sends back."""

Band = Literal["2.4 GHz", "5 GHz"]
"""The frequency band of a channel."""

Connecting = Literal["once", "each_request"]
"""The occasions on which a connection is opened."""

FrameErrors = Literal["none", "awgn"]
"""The frames that noise takes."""

QueueDrops = Literal["allowed", "unexpected"]
"""The role of a full queue in the trial: expected, or a disturbance."""

RateControl = Literal["fixed", "minstrel_ht"]
"""The way in which stations choose the MCS and the streams by which they send."""

Scheduler = Literal["lowest_rtt", "round_robin"]
"""The rule by which a subflow of an MPTCP connection takes the next data, of those whose congestion
window has room."""

ToolName = Literal["iperf3", "ping", "netperf", "ditg", "sockperf", "exec"]
"""A program that nettrial starts on the scenario's hosts, and whose output it reads."""

Transport = Literal["tcp", "udp", "mptcp", "icmp"]
"""The transport protocol of a flow."""

WlanDiscipline = Literal["drop_tail", "fq_codel"]
"""The way in which the packets that wait at an interface of a radio channel are served."""

WlanMode = Literal["infrastructure", "ad_hoc"]
"""The way in which the stations of a channel reach each other."""

WlanStandard = Literal["a", "g", "n", "ac", "ax"]
"""An amendment of IEEE 802.11 by whose modulation a channel's stations send."""


class Truncation(Strict, Generic[Value]):
    """The bounds at which a distribution is cut off, bounds included; what is cut off is drawn again."""

    minimum: Value | None = None
    """The smallest value kept."""
    maximum: Value | None = None
    """The largest value kept."""


class Share(Strict, Generic[Value]):
    """A value of a mix."""

    value: Value
    """The value."""
    share: float
    """The relative frequency of the value, in proportion to the others' shares."""


class Constant(Strict, Generic[Value]):
    """Always the same."""

    distribution: Literal["constant"]
    """Says which distribution it is."""
    value: Value
    """The value."""


class Uniform(Strict, Generic[Value]):
    """Each value between two bounds as likely as another."""

    distribution: Literal["uniform"]
    """Says which distribution it is."""
    minimum: Value
    """The smallest."""
    maximum: Value
    """The largest."""


class Exponential(Strict, Generic[Value]):
    """Gaps of a Poisson process: density exp(−x/mean)/mean."""

    distribution: Literal["exponential"]
    """Says which distribution it is."""
    mean: Value
    """The mean, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Normal(Strict, Generic[Value]):
    """The bell curve. It needs a minimum of zero or more."""

    distribution: Literal["normal"]
    """Says which distribution it is."""
    mean: Value
    """The mean, before truncation."""
    deviation: Value
    """The standard deviation, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Pareto(Strict, Generic[Value]):
    """P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape above 1."""

    distribution: Literal["pareto"]
    """Says which distribution it is."""
    scale: Value
    """The smallest value."""
    shape: float
    """The tail's exponent."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Cauchy(Strict, Generic[Value]):
    """Density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless cut off on both sides."""

    distribution: Literal["cauchy"]
    """Says which distribution it is."""
    location: Value
    """The median, before truncation."""
    scale: Value
    """Half the width at half the height."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Gamma(Strict, Generic[Value]):
    """Density ∝ x^(shape − 1) exp(−x/scale)."""

    distribution: Literal["gamma"]
    """Says which distribution it is."""
    shape: float
    """The shape."""
    scale: Value
    """The scale; the mean is shape × scale."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Weibull(Strict, Generic[Value]):
    """P(X > x) = exp(−(x/scale)^shape)."""

    distribution: Literal["weibull"]
    """Says which distribution it is."""
    shape: float
    """The shape."""
    scale: Value
    """The scale."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Mix(Strict, Generic[Value]):
    """A few values, each with its share, such as an Internet mix (IMIX, RFC 6985)."""

    distribution: Literal["mix"]
    """Says which distribution it is."""
    shares: list[Share[Value]]
    """The values."""


class Listed(Strict, Generic[Value]):
    """These values in this order, again from the first after the last."""

    distribution: Literal["listed"]
    """Says which distribution it is."""
    values: list[Value]
    """The values."""


DISTRIBUTIONS = (
    "constant",
    "uniform",
    "exponential",
    "normal",
    "pareto",
    "cauchy",
    "gamma",
    "weibull",
    "mix",
    "listed",
)
"""The names of the distributions."""

SizeVariate = Annotated[
    Constant[Size]
    | Uniform[Size]
    | Exponential[Size]
    | Normal[Size]
    | Pareto[Size]
    | Cauchy[Size]
    | Gamma[Size]
    | Weibull[Size]
    | Mix[Size]
    | Listed[Size]
    | Imix,
    Field(discriminator="distribution"),
    variate(SIZE, (*DISTRIBUTIONS, "imix")),
]
"""A constant or random quantity: a distribution, its parameters, and where it is cut off. What is cut off
is drawn again, so the rest keeps its shape (a truncated distribution). Without a truncation, draws below
zero and means that do not exist are errors, not surprises."""

DurationVariate = Annotated[
    Constant[Duration]
    | Uniform[Duration]
    | Exponential[Duration]
    | Normal[Duration]
    | Pareto[Duration]
    | Cauchy[Duration]
    | Gamma[Duration]
    | Weibull[Duration]
    | Mix[Duration]
    | Listed[Duration],
    Field(discriminator="distribution"),
    variate(DURATION, DISTRIBUTIONS),
]
"""A constant or random quantity: a distribution, its parameters, and where it is cut off. What is cut off
is drawn again, so the rest keeps its shape (a truncated distribution). Without a truncation, draws below
zero and means that do not exist are errors, not surprises."""


class Offloads(Strict):
    """The work that interfaces do in larger pieces than a packet. All are off unless asked for, so that
    an MTU means what it says (a virtual link passes 64 KiB "packets" otherwise)."""

    tso: bool = False
    """TCP segmentation offload: the interface cuts segments."""
    gso: bool = False
    """Generic segmentation offload: the kernel cuts them just before the interface."""
    gro: bool = False
    """Generic receive offload: received segments are coalesced before the stack sees them."""


class LossBursts(Strict):
    """Losses in bursts: a good state, in which `loss` of the impairment holds, and a bad one (Gilbert
    1960, Elliott 1963). The state may change before each frame; the first is good."""

    enter: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that the bad state begins; with 0 there are no bursts."""
    leave: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The probability that it ends."""
    loss: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The probability that a frame is lost in it."""


class Impairment(Strict):
    """The changes that a link makes to frames beside carrying them: in each direction, each frame by
    itself, after the queue."""

    loss: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that a frame is lost."""
    duplication: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that a frame arrives twice."""
    reordering: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that a frame is held back by `reordering_delay`, so that later ones overtake it."""
    reordering_delay: Duration = "0 ns"
    """The time for which such a frame is held back."""
    jitter: Duration = "0 ns"
    """Each frame's delay is drawn evenly from the link's delay to this much more; the order is kept."""
    bursts: LossBursts | None = None
    """Losses in bursts beside those of `loss`."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random numbers."""


class HostCost(Strict):
    """The cost of packets to a simulated host, which has one CPU: work that finds it busy waits."""

    per_packet: Duration = "0 ns"
    """CPU time of a packet sent or received."""
    per_kilobyte: Duration = "0 ns"
    """CPU time of 1000 bytes sent or received, IP headers included."""
    per_interrupt: Duration = "0 ns"
    """CPU time of an interrupt, which begins the work of all packets that have arrived since the one
    before."""
    coalescing: Duration = "0 ns"
    """The time from the first packet until the interface interrupts, so that more packets share the
    interrupt."""


class SocketOptions(Strict):
    """Options of a flow's sockets, at both hosts; what is left out is as the kernel has it. Each option
    changes what the flow costs or what is on the wire, and so can be a factor."""

    mss: Size | None = None
    """The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7);
    RFC 6691): with timestamps 12 bytes less of payload."""
    window: Size | None = None
    """The TCP window, bytes: the most that either host announces as its receive window (TCP_WINDOW_CLAMP,
    tcp(7), where the system has it), and the size that both its socket buffers keep (SO_RCVBUF and
    SO_SNDBUF, socket(7)). Without it the system sizes both as the connection goes."""
    block: Size | None = None
    """Bytes handed to the kernel at a time by a transfer; 128 KiB where absent."""
    busy_poll: Duration | None = None
    """The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual
    link has nothing to poll, so in the lab the reader itself tries again for that long."""
    dscp: Annotated[int, Field(ge=0, le=63)] | None = None
    """The differentiated services codepoint of what is sent, 0 to 63 (RFC 2474; IP_TOS, ip(7), and
    IPV6_TCLASS, ipv6(7)): a radio channel has an access category for each."""
    zerocopy: bool = False
    """Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst)."""
    udp_gso: bool = False
    """UDP packets of one size leave in GSO packets that the kernel segments (UDP_SEGMENT, udp(7))."""
    udp_gro: bool = False
    """UDP packets arrive in packets that the kernel coalesced (UDP_GRO, udp(7))."""
    udp_buffer: Size | None = None
    """The send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF, socket(7)). Linux
    doubles it for its own bookkeeping of packets. The simulator has the send buffer alone, for its
    readers take no time. Where absent, packets are sent from the kernel's default of 104 KiB, and all
    else has room enough not to matter."""


class Measurement(Strict):
    """The measurements made beside what every flow gives."""

    interval: Duration
    """The interval at which a flow's transport state is read."""
    cpu: list[str] = []
    """The hosts whose CPU time is measured. Each then needs a CPU of its own."""
    queue_drops: QueueDrops
    """The response to drops in a link's queue: `allowed` counts them, `unexpected` warns of them, too."""
    queue_interval: Duration | None = None
    """The mean interval at which the length of each shaped queue is read; lengths are not read where
    absent. Where it is there, records have the delays at the stations of radio channels over time, too,
    by 100 ms."""
    queue_series: bool = False
    """Keep each of these readings, with what the interface sent since the one before. Of simulated links
    only."""
    packet_sizes: bool = False
    """Count the packets that each interface sends by size."""


class WlanStation(Strict):
    """The settings of one station of a radio channel, or of the access point, that differ from the
    channel's."""

    x_m: Annotated[float, Field(ge=-100000, le=100000)] | None = None
    """The position, metres. Either all nodes of the channel have one or none."""
    y_m: Annotated[float, Field(ge=-100000, le=100000)] | None = None
    """The position's other coordinate, metres."""
    snr_db: Annotated[float, Field(ge=-20, le=80)] | None = None
    """The ratio of signal to noise between the station and the access point, in both directions, in place
    of positions."""
    tx_power_dbm: Annotated[float, Field(ge=-10, le=36)] | None = None
    """The transmit power; the channel's where absent."""
    mcs: Annotated[int, Field(ge=0, le=11)] | None = None
    """The MCS by which the station sends and is sent to; the channel's where absent."""
    streams: Annotated[int, Field(ge=1, le=4)] | None = None
    """The spatial streams of that MCS; the channel's where absent."""


class Wlan(Strict):
    """A radio channel after IEEE 802.11: an access point and its stations. Every frame of a station goes
    to the access point, and what is for another station crosses the air again. All hear each other,
    unless they have positions."""

    mode: WlanMode = "infrastructure"
    """The way in which stations reach each other."""
    standard: WlanStandard = "n"
    """The amendment by which all stations send."""
    band: Band = "5 GHz"
    """The frequency band."""
    width_mhz: Annotated[int, Field(ge=20, le=160)] = 20
    """The channel's width in MHz: 20, and 40 with n, ac and ax, and 80 and 160 with ac and ax."""
    streams: Annotated[int, Field(ge=1, le=4)] = 1
    """Spatial streams, 1 to 4; 1 with a and g."""
    mcs: Annotated[int, Field(ge=0, le=11)] = 7
    """The modulation and coding of each stream, from 0: to 7 (a, g, n), 9 (ac), 11 (ax). The MCS 8 to 31
    of 802.11n are 0 to 7 with more streams."""
    guard_interval: Duration = "800 ns"
    """The guard interval between symbols: 800 ns, and 400 ns with n and ac, and 1.6 us and 3.2 us with
    ax."""
    ampdu: Annotated[int, Field(ge=1, le=256)] | None = None
    """MPDUs in an A-MPDU at the most; 1 is no aggregation. Where absent, as many as one BlockAck can
    acknowledge: 64 with n and ac, 256 with ax, 1 with a and g."""
    amsdu: Size | None = None
    """The largest A-MSDU; each MPDU has one packet where absent."""
    rts_threshold: Size = "2347 B"
    """A PPDU with an MPDU larger than this begins with RTS and CTS."""
    cts_to_self: bool = False
    """Each PPDU that does not begin with RTS begins with a CTS of its own sender (CTS-to-self)."""
    fragmentation_threshold: Size | None = None
    """An MPDU larger than this is sent in fragments of at most this size, 256 to 2346 B; only without
    aggregation."""
    tries: Annotated[int, Field(ge=1, le=255)] = 7
    """The number of times that an MPDU is sent before it is dropped."""
    mpdu_loss: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The probability that an MPDU is lost to noise."""
    basic_rate: Rate = "24 Mbit/s"
    """The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s."""
    beacon_interval: Duration = "102.4 ms"
    """The time between beacons, 102.4 ms being 100 time units; 0 for none."""
    queue: Queue = "1000 packets"
    """The limit of each interface's queues together, beyond which they drop."""
    discipline: WlanDiscipline = "drop_tail"
    """The order in which each interface sends its packets, and those that it drops."""
    rate_control: RateControl = "fixed"
    """The way in which stations choose the MCS and the streams."""
    frame_errors: FrameErrors = "awgn"
    """The frames that noise takes."""
    tx_power_dbm: Annotated[float, Field(ge=-10, le=36)] = 16.0
    """The transmit power."""
    noise_figure_db: Annotated[float, Field(ge=0, le=30)] = 7.0
    """The noise of a receiver above thermal noise."""
    path_loss_at_1_m_db: Annotated[float, Field(ge=0, le=150)] | None = None
    """The path loss at a distance of 1 m; where absent, that of free space: 46.7 dB at 5 GHz, 40.2 dB at
    2.4 GHz."""
    path_loss_exponent: Annotated[float, Field(ge=1, le=8)] = 3.0
    """The exponent of path loss: at ten times the distance it is ten times this more, in dB."""
    carrier_sense_dbm: Annotated[float, Field(ge=-110, le=-20)] = -82.0
    """The power above which a station senses that another sends."""
    capture_db: Annotated[float, Field(ge=0, le=60)] = 10.0
    """The ratio to all else at which a receiver can read a frame whose beginning is not alone in the
    air."""
    stations: dict[str, WlanStation] = {}
    """The settings of single stations, and of the access point, by node."""


class OnOff(Strict):
    """Times of sending and of silence in turn, the first one of sending."""

    on: DurationVariate
    """The time for which packets are sent."""
    off: DurationVariate
    """The time for which none are sent."""


class DropTail(Strict):
    """The limit alone drops."""

    discipline: Literal["drop_tail"]
    """Says which discipline it is."""


class Mark(Strict):
    """Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); those
    that can't bear a mark pass."""

    discipline: Literal["mark"]
    """Says which discipline it is."""
    threshold: Queue
    """The queue above which packets are marked."""


class Red(Strict):
    """Random early detection (Floyd and Jacobson 1993), gentle: the probability of a drop rises with the
    average queue."""

    discipline: Literal["red"]
    """Says which discipline it is."""
    minimum: Size
    """The average queue above which packets are dropped at random."""
    maximum: Size
    """The average queue at which the probability is `probability`; from there to twice as much it rises
    to 1."""
    probability: Annotated[float, Field(ge=0, le=1)] = 0.1
    """The probability at `maximum`."""
    weight: Annotated[float, Field(ge=0, le=1)] = 0.002
    """The weight of a new queue length in the average."""
    ecn: bool = False
    """Mark packets that can bear a mark instead of dropping them."""


class CoDel(Strict):
    """Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above
    the target."""

    discipline: Literal["co_del"]
    """Says which discipline it is."""
    target: Duration = "5 ms"
    """The delay that may persist."""
    interval: Duration = "100 ms"
    """The time for which the delay may stay above the target."""
    ecn: bool = False
    """Mark packets that can bear a mark instead of dropping them."""


class Transfer(Strict):
    """A bulk transfer: so many bytes, for so long, or with both one such transfer after the other."""

    kind: Literal["transfer"]
    """Says which kind it is."""
    size: Size | None = None
    """Bytes of one transfer."""
    duration: Duration | None = None
    """The duration of the flow."""


class FileTransfer(Strict):
    """A file, once, from the sender's disk to the receiver's, where it has no name and is gone with the
    trial."""

    kind: Literal["file_transfer"]
    """Says which kind it is."""
    file: str
    """The file's path on the sender."""


class RequestResponse(Strict):
    """A message and its answer, one or several in flight, for so long, so many times, or whichever of
    both comes first."""

    kind: Literal["request_response"]
    """Says which kind it is."""
    request: Size
    """Bytes of a request, at least 24 (it carries a number and two times)."""
    response: Size
    """Bytes of a response, at least 24."""
    duration: Duration | None = None
    """The duration of the flow."""
    count: Annotated[int, Field(ge=1, le=1000000000)] | None = None
    """The number of requests."""
    interval: Duration | None = None
    """From one request to the next. Absent: the next follows a response at once. A response that comes
    later than the interval delays the next request; none are sent in a burst after."""
    in_flight: Annotated[int, Field(ge=1, le=10000)] = 1
    """Requests that may wait for their responses at a time."""
    connecting: Connecting = "once"
    """The occasions on which a connection is opened; with `each_request` the round-trip time starts with
    the call to connect."""


class Packets(Strict):
    """Packets in one direction, for so long, so many of them, or whichever of both comes first. With a
    gap: one packet, then the gap. With a rate: as much payload a second, evenly. With neither: as fast as
    the transport takes them."""

    kind: Literal["packets"]
    """Says which kind it is."""
    size: SizeVariate
    """Bytes of a packet's payload, at least 24 (it carries a number and two times)."""
    gap: DurationVariate | None = None
    """From one departure to the next."""
    rate: Rate | None = None
    """Payload bits per second."""
    on_off: OnOff | None = None
    """Times of sending and of silence in turn."""
    duration: Duration | None = None
    """The duration of the flow."""
    count: Annotated[int, Field(ge=1, le=1000000000)] | None = None
    """The number of packets."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random numbers: sizes, gaps and ON/OFF times are three independent sequences drawn from
    it."""


class Sweep(Strict):
    """Requests of many sizes in a random order on one connection: for each size a number of bytes,
    request by request, each answered before the next."""

    kind: Literal["sweep"]
    """Says which kind it is."""
    first: Size
    """The smallest request, at least 24 B."""
    last: Size
    """The largest; over UDP at most 65507 B (IPv4) or 65527 B (IPv6)."""
    step: Size
    """From one size to the next."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """The number of times that each size is measured in one trial."""
    bytes: Size
    """Bytes sent for one measurement of a size: one request or more, the last one shorter, but no shorter
    than 24 B."""
    answer: Answer
    """The answer that the receiver sends back: 24 bytes, or as many as came."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the order's random numbers."""


class Tool(Strict):
    """Another program's traffic, measured by that program."""

    kind: Literal["tool"]
    """Says which kind it is."""
    tool: ToolName
    """The program; `ditg` is D-ITG, `exec` any command."""
    duration: Duration | None = None
    """The time for which it sends; only `exec` may leave it out."""
    size: Size | None = None
    """Payload bytes of a packet, a write or a request."""
    rate: Rate | None = None
    """Payload bits per second; as fast as it can where absent."""
    request_response: bool = False
    """Requests and responses instead of a stream; netperf only."""
    arguments: list[str] = []
    """Further options of the sending program, as it takes them. For `exec`: the command and its
    arguments, in which `{destination}`, `{source}` and `{port}` stand for the flow's."""
    server_arguments: list[str] = []
    """Further options of the receiving program. For `exec`: a command for the receiving host, or none."""
