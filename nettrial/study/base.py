"""The fields that studies and scenarios share: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from pydantic import Field

from nettrial.fields import Strict
from nettrial.study.variates import Imix, Value, variate
from nettrial.units import DURATION, SIZE, Duration, Fraction, Probability, Queue, Rate, Size

Answer = Literal["acknowledgment", "echo"]
"""The answer that the receiver sends back."""

Band = Literal["2.4 GHz", "5 GHz"]
"""The frequency band of a channel."""

Connecting = Literal["once", "each_request"]
"""The occasions on which a connection is opened."""

ControllerApplication = Literal["learning", "shortest_path", "ecmp", "k_shortest_paths"]
"""The application of a controller."""

ControllerMode = Literal["proactive", "reactive"]
"""The time at which a controller installs rules."""

FrameErrors = Literal["none", "awgn"]
"""The frames that are lost to noise."""

QueueDrops = Literal["allowed", "unexpected"]
"""The meaning of a full queue in the trial: expected, or a disturbance."""

RateControl = Literal["fixed", "minstrel_ht"]
"""The way in which stations choose the MCS and the streams of their frames."""

Scheduler = Literal["linux", "lowest_rtt", "round_robin"]
"""The scheduler of an MPTCP connection, which chooses the subflow for the next data."""

ToolName = Literal[
    "iperf3", "ping", "netperf", "ditg", "sockperf", "ftp", "tftp", "http1", "http2", "http3", "exec"
]
"""A program that nettrial starts on the scenario's hosts, and whose output it reads."""

Transport = Literal["tcp", "udp", "mptcp", "icmp"]
"""The transport protocol of a flow."""

Tunnel = Literal["6in4", "4in6", "nat64"]
"""The tunnel, or the translation, by which a link carries packets in the other version of IP: with a
header more, or with the other header instead."""

WlanDiscipline = Literal["drop_tail", "fq_codel"]
"""The discipline that serves the packets queued at an interface of a radio channel."""

WlanMode = Literal["infrastructure", "ad_hoc"]
"""The way in which the stations of a channel reach each other."""

WlanStandard = Literal["a", "g", "n", "ac", "ax"]
"""The amendment of IEEE 802.11 whose modulation a channel's stations use."""


class Truncation(Strict, Generic[Value]):
    """The bounds of a truncated distribution, which are part of it. Values outside are drawn again."""

    minimum: Value | None = None
    """The smallest value that is kept."""
    maximum: Value | None = None
    """The largest value that is kept."""


class Share(Strict, Generic[Value]):
    """A value of a mix."""

    value: Value
    """The value."""
    share: float
    """The relative frequency of the value, in proportion to the others' shares."""


class Constant(Strict, Generic[Value]):
    """A constant value."""

    distribution: Literal["constant"]
    """The distribution's name."""
    value: Value
    """The value."""


class Uniform(Strict, Generic[Value]):
    """The uniform distribution between two bounds."""

    distribution: Literal["uniform"]
    """The distribution's name."""
    minimum: Value
    """The smallest."""
    maximum: Value
    """The largest."""


class Exponential(Strict, Generic[Value]):
    """The exponential distribution, such as the gaps of a Poisson process: density exp(−x/mean)/mean."""

    distribution: Literal["exponential"]
    """The distribution's name."""
    mean: Value
    """The mean, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Normal(Strict, Generic[Value]):
    """The normal distribution. It needs a minimum of zero or more."""

    distribution: Literal["normal"]
    """The distribution's name."""
    mean: Value
    """The mean, before truncation."""
    deviation: Value
    """The standard deviation, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Pareto(Strict, Generic[Value]):
    """The Pareto distribution: P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape
    above 1."""

    distribution: Literal["pareto"]
    """The distribution's name."""
    scale: Value
    """The smallest value."""
    shape: float
    """The tail's exponent."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Cauchy(Strict, Generic[Value]):
    """The Cauchy distribution: density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless it is
    truncated on both sides."""

    distribution: Literal["cauchy"]
    """The distribution's name."""
    location: Value
    """The median, before truncation."""
    scale: Value
    """Half the width at half the height."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Gamma(Strict, Generic[Value]):
    """The gamma distribution: density ∝ x^(shape − 1) exp(−x/scale)."""

    distribution: Literal["gamma"]
    """The distribution's name."""
    shape: float
    """The shape."""
    scale: Value
    """The scale; the mean is shape × scale."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Weibull(Strict, Generic[Value]):
    """The Weibull distribution: P(X > x) = exp(−(x/scale)^shape)."""

    distribution: Literal["weibull"]
    """The distribution's name."""
    shape: float
    """The shape."""
    scale: Value
    """The scale."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Mix(Strict, Generic[Value]):
    """A mix of a few values, each with its share, such as an Internet mix (IMIX, RFC 6985)."""

    distribution: Literal["mix"]
    """The distribution's name."""
    shares: list[Share[Value]]
    """The values."""


class Listed(Strict, Generic[Value]):
    """A list of values in this order, which starts again after the last."""

    distribution: Literal["listed"]
    """The distribution's name."""
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
"""A constant or random quantity: a distribution, its parameters, and its truncation. Values outside the
truncation are drawn again, so that the rest of the distribution keeps its shape. Without a truncation,
distributions with values below zero or without a mean are errors."""

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
"""A constant or random quantity: a distribution, its parameters, and its truncation. Values outside the
truncation are drawn again, so that the rest of the distribution keeps its shape. Without a truncation,
distributions with values below zero or without a mean are errors."""


class Offloads(Strict):
    """The offloads of interfaces, which handle larger units than a packet. All are off by default, so
    that the MTU is in force (with them, a virtual link passes "packets" of 64 KiB)."""

    tso: bool = False
    """TCP segmentation offload: the interface segments GSO packets."""
    gso: bool = False
    """Generic segmentation offload: the kernel segments GSO packets just before the interface."""
    gro: bool = False
    """Generic receive offload: received segments are coalesced before the stack sees them."""


class LossBursts(Strict):
    """Losses in bursts, by a good state, in which the impairment's `loss` applies, and a bad state
    (Gilbert 1960, Elliott 1963). The state may change before each frame, and the first state is good."""

    enter: Probability = Fraction(0.0)
    """The probability that the bad state begins; 0 means no bursts."""
    leave: Probability = Fraction(1.0)
    """The probability that the bad state ends."""
    loss: Probability = Fraction(1.0)
    """The probability that a frame is lost in the bad state."""


class Impairment(Strict):
    """Loss, duplication, reordering and jitter on a link. They apply after the queue, to each frame in
    each direction independently."""

    loss: Probability = Fraction(0.0)
    """The probability that a frame is lost."""
    duplication: Probability = Fraction(0.0)
    """The probability that a frame arrives twice."""
    reordering: Probability = Fraction(0.0)
    """The probability that a frame is held back by `reordering_delay`, so that later ones overtake it."""
    reordering_delay: Duration = "0 ns"
    """The time for which a reordered frame is held back."""
    jitter: Duration = "0 ns"
    """The jitter: each frame's delay is drawn uniformly between the link's delay and this much more. The
    order of frames is kept."""
    bursts: LossBursts | None = None
    """Losses in bursts, in addition to those of `loss`."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random numbers."""


class GuestHardware(Strict):
    """The hardware of a guest."""

    processors: Annotated[int, Field(ge=1, le=64)] = 1
    """Virtual CPUs."""
    memory: Size = "512 MiB"
    """Memory of the guest, allocated from this machine's memory on demand."""
    pinned: list[Annotated[int, Field(ge=0)]] = []
    """The CPUs of this machine, by number, to which the virtual CPUs are bound, one for each; where
    empty, the kernel chooses."""
    coalescing: Duration = "0 ns"
    """The time for which the guest's interface collects outgoing packets into a batch; 0 sends at
    once."""


class HostCost(Strict):
    """The cost of packets to a simulated host. The host has one CPU, and work waits while the CPU is
    busy."""

    per_packet: Duration = "0 ns"
    """The CPU time of a packet sent or received."""
    per_kilobyte: Duration = "0 ns"
    """The CPU time of 1000 bytes sent or received, IP headers included."""
    per_interrupt: Duration = "0 ns"
    """The CPU time of an interrupt, which starts the work on all packets that have arrived since the
    previous interrupt."""
    coalescing: Duration = "0 ns"
    """The time from the first packet until the interface interrupts, so that several packets share an
    interrupt."""


class SocketOptions(Strict):
    """Options of a flow's sockets at both hosts. Options that are left out keep the kernel's values. Each
    option affects the cost of the flow or its packets on the wire, and so can be a factor."""

    mss: Size | None = None
    """The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7);
    RFC 6691). With timestamps, the payload is 12 bytes smaller."""
    window: Size | None = None
    """The TCP window, bytes: the largest receive window that either host announces (TCP_WINDOW_CLAMP,
    tcp(7), if the system has it), and the fixed size of both its socket buffers (SO_RCVBUF and SO_SNDBUF,
    socket(7)). If absent, the system sizes the buffers automatically."""
    block: Size | None = None
    """The bytes that a transfer hands to the kernel at a time; 128 KiB if absent."""
    busy_poll: Duration | None = None
    """The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual
    link has nothing to poll, so in the lab the reader itself retries for that long."""
    dscp: Annotated[int, Field(ge=0, le=63)] | None = None
    """The differentiated services codepoint of the flow's packets, 0 to 63 (RFC 2474; IP_TOS, ip(7), and
    IPV6_TCLASS, ipv6(7)). A radio channel maps each to an access category."""
    nagle: bool = False
    """The beginning of a message may wait for the acknowledgment of a small segment before it (Nagle, RFC
    896), as on a socket without TCP_NODELAY (tcp(7)). Data of transfers, which fill segments, always
    may."""
    quick_ack: bool = False
    """Received data is acknowledged as soon as it is read, and not with the next data or after the time
    of a delayed acknowledgment (TCP_QUICKACK, tcp(7), set again with each read)."""
    zerocopy: bool = False
    """Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst)."""
    udp_gso: bool = False
    """UDP packets of one size are sent in GSO packets that the kernel segments (UDP_SEGMENT, udp(7))."""
    udp_gro: bool = False
    """UDP packets are received coalesced by the kernel (UDP_GRO, udp(7))."""
    udp_buffer: Size | None = None
    """The size of the send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF,
    socket(7)), which Linux doubles for its own bookkeeping. The simulator has only the send buffer,
    because its readers take no time. If absent, packets are sent from the kernel's default buffer of 104
    KiB, and all other buffers are large enough not to matter."""


class Measurement(Strict):
    """The measurements made in addition to those of every flow."""

    interval: Duration
    """The interval at which a flow's transport state is read."""
    cpu: list[str] = []
    """The hosts whose CPU time is measured. Each then needs a CPU of its own."""
    queue_drops: QueueDrops
    """The rule for drops in a link's queue: `allowed` only counts them, `unexpected` also warns of
    them."""
    queue_interval: Duration | None = None
    """The mean interval at which the length of each shaped queue is read; if absent, lengths are not
    read. If it is given, records also have the delays at the stations of radio channels over time, in
    steps of 100 ms."""
    queue_series: bool = False
    """Keep each reading of a queue's length, with the bytes that the interface sent since the previous
    one. For simulated links only."""
    packet_sizes: bool = False
    """Count the packets that each interface sends, by size."""
    recovered_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """A flow has recovered from an event once its goodput is back at this share of its value before; 0.5
    by default."""


class Outage(Strict):
    """A link or node that fails while traffic goes, and may return."""

    at: Duration
    """The time of the failure, after all flows are ready."""
    fails: list[str]
    """The names of the two nodes between which every cable fails, or that of a router or switch, with
    which all of its cables fail."""
    returns: Duration | None = None
    """The time of its return, after all flows are ready; where absent it stays away."""


class Controller(Strict):
    """The OpenFlow controller of all switches: one of nettrial's applications, a program of one's own, or
    one that listens elsewhere. Where a scenario has one, each switch is a bridge of Open vSwitch that
    speaks OpenFlow 1.3 with it, or OpenFlow 1.0 where a controller of one's own has no more."""

    application: ControllerApplication | None = None
    """The application of nettrial's, which decides on the switches' rules."""
    mode: ControllerMode = "proactive"
    """The time at which the application installs rules."""
    paths: Annotated[int, Field(ge=1, le=1000)] = 8
    """The largest number of paths between two hosts that `k_shortest_paths` uses."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """The seed of the choices that an application makes at random."""
    command: list[str] = []
    """The program, and its arguments, that is started as the controller of a trial in the switches'
    namespace. It must listen at port 6653 of 127.0.0.1, which its arguments can name as `{port}`."""
    address: str | None = None
    """The address at which a controller listens already, seen from this machine: `tcp:HOST:PORT`."""
    connect_limit: Duration = "1 min"
    """The longest time until the controller has all switches, from its start on; with nettrial's
    applications, until it is ready."""
    settle: Duration = "1 s"
    """The time without a change of rules after which a `command` or `address` counts as ready for
    traffic."""


class WlanStation(Strict):
    """The settings of one station of a radio channel, or of the access point, that differ from the
    channel's."""

    x_m: Annotated[float, Field(ge=-100000, le=100000)] | None = None
    """The position, metres. Either all nodes of the channel have a position or none has."""
    y_m: Annotated[float, Field(ge=-100000, le=100000)] | None = None
    """The second coordinate of the position, metres."""
    snr_db: Annotated[float, Field(ge=-20, le=80)] | None = None
    """The ratio of signal to noise between the station and the access point, in both directions, in place
    of positions."""
    tx_power_dbm: Annotated[float, Field(ge=-10, le=36)] | None = None
    """The transmit power; the channel's if absent."""
    mcs: Annotated[int, Field(ge=0, le=11)] | None = None
    """The MCS of frames from and to the station; the channel's if absent."""
    streams: Annotated[int, Field(ge=1, le=4)] | None = None
    """The spatial streams of that MCS; the channel's if absent."""


class Wlan(Strict):
    """A radio channel after IEEE 802.11: an access point and its stations. Every frame of a station goes
    to the access point, and packets for another station cross the air again. All stations hear each
    other, unless they have positions."""

    mode: WlanMode = "infrastructure"
    """The way in which stations reach each other."""
    standard: WlanStandard = "n"
    """The amendment that all stations use."""
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
    """The most MPDUs in an A-MPDU; 1 means no aggregation. If absent, as many as one BlockAck can
    acknowledge: 64 with n and ac, 256 with ax, 1 with a and g."""
    amsdu: Size | None = None
    """The largest A-MSDU; if absent, each MPDU has one packet."""
    rts_threshold: Size = "64 KiB"
    """The RTS threshold: a PPDU with a larger MPDU begins with RTS and CTS. No MPDU is larger than the
    default, which turns RTS off; one with an A-MSDU can be larger than 2347 B."""
    cts_to_self: bool = False
    """Each PPDU that does not begin with RTS begins with a CTS of its own sender (CTS-to-self)."""
    fragmentation_threshold: Size | None = None
    """The fragmentation threshold, 256 to 2346 B: a larger MPDU is sent in fragments of at most this
    size. Only without aggregation."""
    tries: Annotated[int, Field(ge=1, le=255)] = 7
    """The number of times that an MPDU is sent before it is dropped."""
    mpdu_loss: Probability = Fraction(0.0)
    """The probability that an MPDU is lost to noise."""
    basic_rate: Rate = "24 Mbit/s"
    """The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s."""
    beacon_interval: Duration = "102.4 ms"
    """The time between beacons, 102.4 ms being 100 time units; 0 for none."""
    queue: Queue = "1000 packets"
    """The common limit of each interface's queues, beyond which they drop packets."""
    discipline: WlanDiscipline = "drop_tail"
    """The discipline of each interface's queues."""
    rate_control: RateControl = "fixed"
    """The way in which stations choose the MCS and the streams."""
    frame_errors: FrameErrors = "awgn"
    """The frames that are lost to noise."""
    tx_power_dbm: Annotated[float, Field(ge=-10, le=36)] = 16.0
    """The transmit power."""
    noise_figure_db: Annotated[float, Field(ge=0, le=30)] = 7.0
    """The noise of a receiver above thermal noise."""
    path_loss_at_1_m_db: Annotated[float, Field(ge=0, le=150)] | None = None
    """The path loss at a distance of 1 m; if absent, that of free space: 46.7 dB at 5 GHz, 40.2 dB at 2.4
    GHz."""
    path_loss_exponent: Annotated[float, Field(ge=1, le=8)] = 3.0
    """The exponent of path loss: at ten times the distance, the path loss is larger by ten times this
    value, in dB."""
    carrier_sense_dbm: Annotated[float, Field(ge=-110, le=-20)] = -82.0
    """The power above which a station senses that another sends."""
    capture_db: Annotated[float, Field(ge=0, le=60)] = 10.0
    """The capture threshold: the ratio to all other signals at which a receiver can read a frame whose
    start overlaps with other frames."""
    stations: dict[str, WlanStation] = {}
    """The settings of single stations, and of the access point, by node."""


class OnOff(Strict):
    """Alternating times of sending and of silence, starting with sending."""

    on: DurationVariate
    """The time for which packets are sent."""
    off: DurationVariate
    """The time for which no packets are sent."""


class DropTail(Strict):
    """Packets are dropped only at the limit."""

    discipline: Literal["drop_tail"]
    """The discipline's name."""


class Mark(Strict):
    """Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); packets
    that can't be marked pass."""

    discipline: Literal["mark"]
    """The discipline's name."""
    threshold: Queue
    """The queue above which packets are marked."""


class Red(Strict):
    """Random early detection (Floyd and Jacobson 1993): the probability of a drop rises with the average
    queue."""

    discipline: Literal["red"]
    """The discipline's name."""
    minimum: Size
    """The average queue above which packets are dropped at random."""
    maximum: Size
    """The average queue at which the probability is `probability`."""
    probability: Probability = Fraction(0.1)
    """The probability at `maximum`."""
    weight: Annotated[float, Field(ge=0, le=1)] = 0.002
    """The weight of a new queue length in the average."""
    gentle: bool = True
    """From the maximum to twice as much, the probability rises to 1 (Floyd 2000). Otherwise every packet
    is dropped from the maximum on, as Linux does."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them."""


class CoDel(Strict):
    """Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above
    the target."""

    discipline: Literal["codel"]
    """The discipline's name."""
    target: Duration = "5 ms"
    """The target: the delay that may persist."""
    interval: Duration = "100 ms"
    """The interval: the time for which the delay may stay above the target."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them."""


class Fq(Strict):
    """A queue for each flow, served in turn, without drops before the limit (Linux's fq)."""

    discipline: Literal["fq"]
    """The discipline's name."""


class FqCodel(Strict):
    """A queue with CoDel for each flow, served in turn (RFC 8290)."""

    discipline: Literal["fq_codel"]
    """The discipline's name."""
    target: Duration = "5 ms"
    """The target: the delay that may persist."""
    interval: Duration = "100 ms"
    """The interval: the time for which the delay may stay above the target."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them."""


class Cake(Strict):
    """Common Applications Kept Enhanced (Hoiland-Jorgensen, Taht and Morton 2018), which the link's rate
    limits: fair among hosts, then flows, with a variant of CoDel for each. It marks packets that can be
    marked."""

    discipline: Literal["cake"]
    """The discipline's name."""
    rtt: Duration = "100 ms"
    """The round-trip time for which its drops are tuned."""


class Pie(Strict):
    """Proportional integral controller enhanced (RFC 8033): the probability of a drop follows the queue's
    delay."""

    discipline: Literal["pie"]
    """The discipline's name."""
    target: Duration = "15 ms"
    """The target: the delay that may persist."""
    update: Duration = "15 ms"
    """The interval between two updates of the probability."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them."""


class FqPie(Strict):
    """A queue with PIE for each flow, served in turn (Linux's fq_pie)."""

    discipline: Literal["fq_pie"]
    """The discipline's name."""
    target: Duration = "15 ms"
    """The target: the delay that may persist."""
    update: Duration = "15 ms"
    """The interval between two updates of the probability."""
    ecn: bool = False
    """Mark packets that can be marked instead of dropping them."""


class Transfer(Strict):
    """A bulk transfer of a number of bytes, for a duration, or with both one such transfer after the
    other."""

    kind: Literal["transfer"]
    """The kind's name."""
    size: Size | None = None
    """The bytes of one transfer."""
    duration: Duration | None = None
    """The duration of the flow."""


class FileTransfer(Strict):
    """One transfer of a file from the sender's disk to the receiver's. There the file has no name, and is
    removed at the end of the trial."""

    kind: Literal["file_transfer"]
    """The kind's name."""
    file: str
    """The file's path on the sender."""


class RequestResponse(Strict):
    """Messages and their answers, one or several in flight, until a duration or a number of messages is
    reached, whichever comes first."""

    kind: Literal["request_response"]
    """The kind's name."""
    request: Size
    """The bytes of a request, at least 24 (for a number and two times)."""
    response: Size
    """The bytes of a response, at least 24."""
    duration: Duration | None = None
    """The duration of the flow."""
    count: Annotated[int, Field(ge=1, le=1000000000)] | None = None
    """The number of requests."""
    interval: Duration | None = None
    """The time from one request to the next. If absent, the next request follows the response at once. A
    response that takes longer than the interval delays the next request, and delayed requests are not
    sent in a burst."""
    in_flight: Annotated[int, Field(ge=1, le=10000)] = 1
    """The number of requests that may wait for their responses at a time."""
    connecting: Connecting = "once"
    """The occasions on which a connection is opened; with `each_request` the round-trip time starts with
    the call to connect."""
    mechanisms: bool = False
    """The kernel states when each message reaches a queue, leaves and arrives (SO_TIMESTAMPING, Linux
    Documentation/networking/timestamping.rst), from which the flow's `mechanisms` follow; in the
    simulator, its events do. Over UDP, one request at a time, with responses of 72 bytes or more, which
    bring the responder's times."""


class Packets(Strict):
    """Packets in one direction, until a duration or a number of packets is reached, whichever comes
    first. With a gap, the gap follows each packet. With a rate, payload is sent evenly at this rate. With
    neither, packets are sent as fast as the transport accepts them."""

    kind: Literal["packets"]
    """The kind's name."""
    size: SizeVariate
    """The bytes of a packet's payload, at least 24 (for a number and two times)."""
    gap: DurationVariate | None = None
    """The time from one departure to the next."""
    rate: Rate | None = None
    """The payload rate, bits per second."""
    on_off: OnOff | None = None
    """Alternating times of sending and of silence."""
    duration: Duration | None = None
    """The duration of the flow."""
    count: Annotated[int, Field(ge=1, le=1000000000)] | None = None
    """The number of packets."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random numbers. Sizes, gaps and ON/OFF times are three independent sequences."""


class Sweep(Strict):
    """Requests of many sizes in a random order on one connection. For each size a number of bytes is sent
    in requests of this size, each answered before the next."""

    kind: Literal["sweep"]
    """The kind's name."""
    first: Size
    """The smallest request, at least 24 B."""
    last: Size
    """The largest request; over UDP at most 65507 B (IPv4) or 65527 B (IPv6)."""
    step: Size
    """The step from one size to the next."""
    repeats: Annotated[int, Field(ge=1)] = 1
    """The number of times that each size is measured in one trial."""
    bytes: Size
    """The bytes sent for one measurement of a size, in one request or more. The last request may be
    shorter, but has at least 24 B."""
    answer: Answer
    """The answer that the receiver sends back: 24 bytes, or as many as the request has."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random order."""


class Tool(Strict):
    """Another program's traffic, measured by that program."""

    kind: Literal["tool"]
    """The kind's name."""
    tool: ToolName
    """The program; `ditg` is D-ITG, `exec` any command."""
    duration: Duration | None = None
    """The time for which the program sends, or within which a download is expected to end; only `exec`
    may leave it out."""
    size: Size | None = None
    """The payload bytes of a packet, a write or a request; for downloads, those of the file."""
    rate: Rate | None = None
    """The payload rate, bits per second; if absent, the program sends as fast as it can."""
    request_response: bool = False
    """Send requests and responses instead of a stream; netperf only."""
    block_size: Size | None = None
    """The bytes of the file in a block (RFC 2348); 512 if absent. TFTP only."""
    window_size: Annotated[int, Field(ge=0)] | None = None
    """The number of blocks that are sent before an acknowledgment is awaited (RFC 7440); 1 if absent.
    TFTP only."""
    arguments: list[str] = []
    """Further options of the sending program. For `exec`, the command and its arguments, in which
    `{destination}`, `{source}` and `{port}` stand for the flow's."""
    server_arguments: list[str] = []
    """Further options of the receiving program. For `exec`, a command for the receiving host, or none."""
