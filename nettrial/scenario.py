"""The scenario, the record, and the requests and events: from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field

from nettrial.fields import Generated, GeneratedRoot

Value = TypeVar("Value")
"""The kind of a random quantity's values."""


class Truncation(Generated, Generic[Value]):
    """The bounds of a truncated distribution, which are part of it. Values outside are drawn again."""

    model_config = ConfigDict(extra="forbid")
    maximum: Value | None = None
    """The largest value that is kept."""
    minimum: Value | None = None
    """The smallest value that is kept."""


class Share(Generated, Generic[Value]):
    """A value of a mix."""

    model_config = ConfigDict(extra="forbid")
    share: float
    """The relative frequency of the value, in proportion to the others' shares."""
    value: Value
    """The value."""


class Constant(Generated, Generic[Value]):
    """A constant value."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["constant"] = "constant"
    value: Value
    """The value."""


class Uniform(Generated, Generic[Value]):
    """The uniform distribution between two bounds."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["uniform"] = "uniform"
    maximum: Value
    """The largest."""
    minimum: Value
    """The smallest."""


class Exponential(Generated, Generic[Value]):
    """The exponential distribution, such as the gaps of a Poisson process: density exp(−x/mean)/mean."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["exponential"] = "exponential"
    mean: Value
    """The mean, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Normal(Generated, Generic[Value]):
    """The normal distribution. It needs a minimum of zero or more."""

    model_config = ConfigDict(extra="forbid")
    deviation: Value
    """The standard deviation, before truncation."""
    distribution: Literal["normal"] = "normal"
    mean: Value
    """The mean, before truncation."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Pareto(Generated, Generic[Value]):
    """The Pareto distribution: P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape
    above 1."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["pareto"] = "pareto"
    scale: Value
    """The smallest value."""
    shape: float
    """The tail's exponent."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Cauchy(Generated, Generic[Value]):
    """The Cauchy distribution: density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless it is
    truncated on both sides."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["cauchy"] = "cauchy"
    location: Value
    """The median, before truncation."""
    scale: Value
    """Half the width at half the height."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Gamma(Generated, Generic[Value]):
    """The gamma distribution: density ∝ x^(shape − 1) exp(−x/scale)."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["gamma"] = "gamma"
    scale: Value
    """The scale; the mean is shape × scale."""
    shape: float
    """The shape."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Weibull(Generated, Generic[Value]):
    """The Weibull distribution: P(X > x) = exp(−(x/scale)^shape)."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["weibull"] = "weibull"
    scale: Value
    """The scale."""
    shape: float
    """The shape."""
    truncation: Truncation[Value] | None = None
    """The bounds at which it is cut off."""


class Mix(Generated, Generic[Value]):
    """A mix of a few values, each with its share, such as an Internet mix (IMIX, RFC 6985)."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["mix"] = "mix"
    shares: list[Share[Value]]
    """The values."""


class Listed(Generated, Generic[Value]):
    """A list of values in this order, which starts again after the last."""

    model_config = ConfigDict(extra="forbid")
    distribution: Literal["listed"] = "listed"
    values: list[Value]
    """The values."""


class Absence(Generated):
    """A metric that could not be measured."""

    model_config = ConfigDict(extra="forbid")
    metric: str
    """The metric's name."""
    object: str
    """The host or flow that lacks the metric."""
    reason: str
    """The reason for the absence."""


class Airtime(Generated):
    """The time for which a station used a channel, by purpose, in picoseconds, without collisions."""

    model_config = ConfigDict(extra="forbid")
    data_ps: Annotated[int, Field(ge=0)]
    """The time of the bytes of MPDUs that arrived."""
    errors_ps: Annotated[int, Field(ge=0)]
    """The time of the bytes of MPDUs that were lost to noise or interference."""
    overhead_ps: Annotated[int, Field(ge=0)]
    """The time of preambles, padding, inter-frame spaces within an exchange, acknowledgments, RTS, CTS
    and beacons. An unfinished exchange counts as overhead."""


class Answer(GeneratedRoot[Literal["acknowledgment", "echo"]]):
    """The answer that the receiver sends back."""


class Band(GeneratedRoot[Literal["2.4 GHz", "5 GHz"]]):
    """The frequency band of a channel."""


class Size(GeneratedRoot[str]):
    """A size, such as "9000 B"."""

    root: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB)$")]


class Buffer(Generated):
    """A socket buffer's automatic sizing, as the kernel's `tcp_rmem` and `tcp_wmem`."""

    model_config = ConfigDict(extra="forbid")
    initial: Size
    """The size with which a socket starts."""
    maximum: Size
    """The largest size that automatic sizing may reach."""
    minimum: Size
    """The size that each socket keeps even under memory pressure."""


class Callbacks(Generated):
    """The number of calls by the kernel to each function of a congestion control (struct
    tcp_congestion_ops, include/net/tcp.h)."""

    model_config = ConfigDict(extra="forbid")
    cong_avoid: Annotated[int, Field(ge=0)]
    """Calls for the growth of the window after an acknowledgment."""
    coupled: Annotated[int, Field(ge=0)]
    """The calls of those above that saw two or more subflows of their connection."""
    init: Annotated[int, Field(ge=0)]
    """Calls for a new connection or subflow."""
    pkts_acked: Annotated[int, Field(ge=0)]
    """Calls with the round-trip time of an acknowledgment."""
    release: Annotated[int, Field(ge=0)]
    """Calls for a connection or subflow that ends. Most end after the traffic and are not counted."""
    repaired: Annotated[int, Field(ge=0)]
    """The calls that the kernel skipped, using an undefined value instead of an answer, and after which
    the program repaired the windows."""
    ssthresh: Annotated[int, Field(ge=0)]
    """Calls for the window after a loss."""
    undo_cwnd: Annotated[int, Field(ge=0)]
    """Calls to undo a reduction after a loss that was none."""


class Figure(
    GeneratedRoot[
        Literal[
            "channels",
            "controller",
            "cpu",
            "interfaces",
            "marks",
            "mechanisms",
            "owd_error",
            "radio",
            "retransmissions",
            "round_trip_times",
        ]
    ]
):
    """A part of the record that a backend may not be able to measure, whatever the scenario asks for."""


class Medium(GeneratedRoot[Literal["cable", "wlan"]]):
    """The medium that carries a link's frames between its interfaces."""


class Setting(
    GeneratedRoot[
        Literal[
            "block",
            "bursts",
            "controller",
            "cost",
            "delay_trace",
            "ecn",
            "events",
            "filters_icmp",
            "impairment",
            "machine",
            "mechanisms",
            "minimum_rto",
            "mtu_probing",
            "nagle",
            "packet_sizes",
            "pair",
            "quick_ack",
            "queue_interval",
            "queue_series",
            "program",
            "rate_trace",
            "routing",
            "scheduler",
            "small_queues",
            "sysctls",
            "system",
            "tunnel",
            "udp_gro",
            "udp_gso",
            "window",
            "zerocopy",
        ]
    ]
):
    """A setting that not every backend follows. Its default is followed everywhere."""


class Transport(GeneratedRoot[Literal["tcp", "udp", "mptcp", "icmp"]]):
    """The transport protocol of a flow."""


class Capabilities(Generated):
    """A backend's statement of its capabilities on a machine that lacks nothing. Each preflight contains
    it, scenarios are checked against it, and planners of trials consult it instead of the backend's
    name."""

    model_config = ConfigDict(extra="forbid")
    captures: bool
    """The packets of interfaces can be captured."""
    congestion_controls: list[str]
    """The congestion controls that the backend brings."""
    deterministic: bool
    """A trial depends only on its scenario: the same scenario gives the same record."""
    disciplines: list[str]
    """The disciplines that transmit queues can have."""
    estimates: bool
    """A check returns an estimate of the work."""
    figures: list[Figure]
    """The figures that this backend's records can have, of those that not every record has."""
    kernel_congestion_controls: bool
    """Hosts can have every congestion control of the machine's kernel."""
    makes_links: bool
    """Links are made as the scenario says. If this is false, their rates and delays are expectations, and
    a trial that contradicts them carries a warning."""
    media: list[Medium]
    """The media that links can have."""
    modelled_hosts: bool
    """Hosts are models: the scenario states the cost of a packet, and hosts need nothing of the
    kernel."""
    most_flows: Annotated[int, Field(ge=0)]
    """The largest number of flows of a trial."""
    most_nodes: Annotated[int, Field(ge=0)]
    """The largest number of hosts, routers and switches of a trial."""
    parallel: bool
    """Several trials may run at the same time on one machine without affecting each other."""
    settings: list[Setting]
    """The settings that this backend follows, of those that some backend does not follow."""
    shared_kernel: bool
    """All hosts share the kernel of one machine."""
    simulated_time: bool
    """Trials run in simulated time, so their duration says nothing about how long they take."""
    traffic: list[str]
    """The kinds of traffic that flows can have."""
    transports: list[Transport]
    """The transport protocols that flows can have."""
    warm_up: bool
    """The first trials of a session differ from later ones and should not be counted."""


class Capture(Generated):
    """The packets of a trial to capture, and their directory. Capturing is not part of the scenario,
    because the measurements mean the same with and without it, apart from its cost."""

    model_config = ConfigDict(extra="forbid")
    directory: str
    """The directory of the files, which must exist."""
    interfaces: list[str] | None = None
    """The interfaces, each a node's name (all its interfaces) or `NODE:INTERFACE`; empty for all
    interfaces. A radio channel is an interface of its access point, `INTERFACE-air`."""
    name: str
    """The trial's name in the names of the files. Each interface has one file:
    `NAME-NODE-INTERFACE.pcapng`."""
    snap_bytes: Annotated[int, Field(ge=0)]
    """The bytes kept of each frame, Ethernet's header included."""


class DelaySample(Generated):
    """The delays at a station of a radio channel in 100 ms. A delay is absent if nothing was sent."""

    model_config = ConfigDict(extra="forbid")
    at_ns: Annotated[int, Field(ge=0)]
    """The beginning of these 100 ms, after the trial's beginning."""
    contention_delay_ns: Annotated[int | None, Field(ge=0)] = None
    """The mean time from the moment at which the station might contend until it sent, over its
    attempts."""
    queue_delay_ns: Annotated[int | None, Field(ge=0)] = None
    """The mean time from the arrival of IP packets until they were sent for the first time."""


class RateSample(Generated):
    """The mean rate of the PPDUs that a station of a radio channel sent in 100 ms."""

    model_config = ConfigDict(extra="forbid")
    at_ns: Annotated[int, Field(ge=0)]
    """The beginning of these 100 ms, after the trial's beginning."""
    rate_bps: Annotated[int, Field(ge=0)]
    """The mean of the PPDUs' rates."""


class RateUse(Generated):
    """The number of times that a station of a radio channel used a rate."""

    model_config = ConfigDict(extra="forbid")
    mcs: Annotated[int, Field(ge=0)]
    """The MCS of each stream."""
    ppdus: Annotated[int, Field(ge=0)]
    """The PPDUs sent at this rate, including those that collided."""
    streams: Annotated[int, Field(ge=0)]
    """Spatial streams."""


class StationRecord(Generated):
    """A station of a radio channel as a sender."""

    model_config = ConfigDict(extra="forbid")
    aggregates: list[Annotated[int, Field(ge=0)]]
    """The number of PPDUs without a collision that had one MPDU, two MPDUs, and so on."""
    airtime: Airtime
    """The time for which the station used the channel, by purpose."""
    beacons: Annotated[int, Field(ge=0)]
    """The beacons that the station sent."""
    codel_drops_pkts: Annotated[int | None, Field(ge=0)] = None
    """The IP packets that CoDel dropped because they had waited for too long."""
    codel_marks_pkts: Annotated[int | None, Field(ge=0)] = None
    """The IP packets that CoDel marked instead of dropping them, because their transport understands
    marks (ECN)."""
    collided_ps: Annotated[int, Field(ge=0)]
    """The time of the station's own frames that collided, picoseconds."""
    collisions: Annotated[int, Field(ge=0)]
    """The station's attempts that collided with another station's."""
    contention_delay_max_ns: Annotated[int, Field(ge=0)]
    """The longest of these times."""
    contention_delay_mean_ns: Annotated[int, Field(ge=0)]
    """The mean time from the moment at which the station has something to send and may contend until it
    sends, over its attempts, nanoseconds."""
    delay_series: list[DelaySample] | None = None
    """These delays over time, where the measurement has a `queue_interval`."""
    delivered_pkts: Annotated[int, Field(ge=0)]
    """The IP packets that the receiving station has received, including those that an access point
    forwards."""
    exchanges: Annotated[int, Field(ge=0)]
    """The exchanges that the station began, without collided ones and beacons. Each exchange of a TXOP
    counts."""
    interface: str
    """Its interface."""
    lost_mpdus_pkts: Annotated[int, Field(ge=0)]
    """The MPDUs of these that were lost to noise, or to interference after the start of their PPDU."""
    mpdus_pkts: Annotated[int, Field(ge=0)]
    """The MPDUs sent, retransmissions included."""
    node: str
    """The node."""
    queue_delay_max_ns: Annotated[int, Field(ge=0)]
    """The longest of these times."""
    queue_delay_mean_ns: Annotated[int, Field(ge=0)]
    """The mean time from the arrival of an IP packet at the interface until it is sent for the first
    time, nanoseconds."""
    queue_drops_pkts: Annotated[int, Field(ge=0)]
    """The IP packets dropped because the queue was full."""
    queued_pkts: Annotated[int, Field(ge=0)]
    """The IP packets still queued at the end of the trial."""
    rate_series: list[RateSample] | None = None
    """The mean rate of the station's PPDUs over time, if rate control chose it."""
    rates: list[RateUse] | None = None
    """The PPDUs by their rate, if rate control chose it."""
    retries_pkts: Annotated[int, Field(ge=0)]
    """The MPDUs of these that had been sent before."""
    retry_drops_pkts: Annotated[int, Field(ge=0)]
    """The IP packets dropped because they had been sent as often as the settings allow."""


class ChannelRecord(Generated):
    """A radio channel's figures over the trial. `idle_ps`, `collisions_ps` and the airtime of all
    stations add up to exactly `elapsed_ps`."""

    model_config = ConfigDict(extra="forbid")
    access_point: str
    """The access point's node, after which the channel is named."""
    collisions_ps: Annotated[int, Field(ge=0)]
    """The time in which frames of several stations overlapped, because they collided or because the
    stations did not hear each other."""
    elapsed_ps: Annotated[int, Field(ge=0)]
    """The time from the start of the trial to the end of its last flow, picoseconds."""
    idle_ps: Annotated[int, Field(ge=0)]
    """The time in which no station sent, inter-frame spaces and backoff included."""
    stations: list[StationRecord]
    """The access point first, then the stations in the order of the link's interfaces."""


class Check(Generated):
    """A check made before or after the traffic."""

    model_config = ConfigDict(extra="forbid")
    expected: str
    """The value that the scenario implies."""
    found: str
    """The value that was found."""
    name: str
    """The name of the check: `path_mtu`, `mss`, `congestion_control`, `congestion_control_ran`,
    `clock`."""
    object: str
    """The object of the check: a flow, a host, a direction."""
    passed: bool
    """True if the two agree."""


class CongestionRecord(Generated):
    """The use of one of nettrial's own congestion controls in the kernel during the traffic."""

    model_config = ConfigDict(extra="forbid")
    callbacks: Callbacks
    """The number of calls by the kernel, on all hosts together."""
    name: str
    """The congestion control's name in the scenario."""


class Connecting(GeneratedRoot[Literal["once", "each_request"]]):
    """The occasions on which a connection is opened."""


class ControllerApplication(GeneratedRoot[Literal["learning", "shortest_path", "ecmp", "k_shortest_paths"]]):
    """The application of a controller."""


class ControllerMode(GeneratedRoot[Literal["proactive", "reactive"]]):
    """The time at which a controller installs rules."""


class Duration(GeneratedRoot[str]):
    """A duration, such as "20 ms"."""

    root: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|min)$")]


class Controller(Generated):
    """The OpenFlow controller of all switches: one of nettrial's applications, a program of one's own, or
    one that listens elsewhere. Where a scenario has one, each switch is a bridge of Open vSwitch that
    speaks OpenFlow 1.3 with it, or OpenFlow 1.0 where a controller of one's own has no more."""

    model_config = ConfigDict(extra="forbid")
    address: str | None = None
    """The address at which a controller listens already, seen from this machine: `tcp:HOST:PORT`."""
    application: ControllerApplication | None = None
    """The application of nettrial's, which decides on the switches' rules."""
    command: list[str] | None = None
    """The program, and its arguments, that is started as the controller of a trial in the switches'
    namespace. It must listen at port 6653 of 127.0.0.1, which its arguments can name as `{port}`."""
    connect_limit: Annotated[Duration | None, Field(validate_default=True)] = "1 min"
    """The longest time until the controller has all switches, from its start on; with nettrial's
    applications, until it is ready."""
    mode: Annotated[ControllerMode | None, Field(validate_default=True)] = "proactive"
    """The time at which the application installs rules."""
    paths: Annotated[int | None, Field(ge=1, le=1000)] = 8
    """The largest number of paths between two hosts that `k_shortest_paths` uses."""
    seed: Annotated[int | None, Field(ge=0)] = None
    """The seed of the choices that an application makes at random."""
    settle: Annotated[Duration | None, Field(validate_default=True)] = "1 s"
    """The time without a change of rules after which a `command` or `address` counts as ready for
    traffic."""


class Distribution(Generated):
    """The summary of a set of values."""

    model_config = ConfigDict(extra="forbid")
    count: Annotated[int, Field(ge=0)]
    """The number of values; if it is 0, all other fields are 0."""
    deviation: float
    """The standard deviation of the values."""
    maximum: float
    """The largest value."""
    mean: float
    """The arithmetic mean."""
    minimum: float
    """The smallest value."""
    p50: float
    """The median."""
    p90: float
    """The 90th percentile."""
    p99: float
    """99th percentile."""
    p99_9: float | None = None
    """The percentile 99.9; absent with fewer than 1000 values, because it would be the largest."""
    p99_99: float | None = None
    """The percentile 99.99; absent with fewer than 10 000 values."""
    p99_999: float | None = None
    """The percentile 99.999; absent with fewer than 100 000 values."""


class ControllerRecord(Generated):
    """The work of an OpenFlow controller and of its switches."""

    model_config = ConfigDict(extra="forbid")
    changes: Annotated[int, Field(ge=0)]
    """The changes of rules and groups that the controller asked for while traffic went (OFPT_FLOW_MOD,
    OFPT_GROUP_MOD)."""
    connect_ns: Annotated[int, Field(ge=0)]
    """The time from configuring the controller's address in the switches until the last of them had
    connected."""
    cpu_ns: Annotated[int | None, Field(ge=0)] = None
    """The CPU time that the controller used while traffic went; absent if nettrial did not start it."""
    discovery_ns: Annotated[int | None, Field(ge=0)] = None
    """The time from the first switch's connection until the controller knew every link between switches,
    which it finds by LLDP (IEEE 802.1AB); absent for a controller that is not nettrial's, which does not
    tell."""
    lost_pkts: Annotated[int | None, Field(ge=0)] = None
    """The frames that the switches were too slow to read while traffic went; absent where the system does
    not let them be counted."""
    openflow: str
    """The version of OpenFlow that switches and controller agreed on, `1.0` or `1.3`; the lowest if they
    differ."""
    packet_ins: Annotated[int, Field(ge=0)]
    """The packets that switches sent to the controller while traffic went (OFPT_PACKET_IN). LLDP frames
    do not count."""
    packet_outs: Annotated[int, Field(ge=0)]
    """The packets that the controller had switches send while traffic went (OFPT_PACKET_OUT), LLDP frames
    not counted."""
    ready_ns: Annotated[int | None, Field(ge=0)] = None
    """The time from configuring the controller's address in the switches until it was ready for traffic:
    all links known, and all rules in place that it installs beforehand. Absent for a controller that is
    not nettrial's."""
    rules: Distribution
    """The rules in the tables of a switch after the traffic, over all switches."""
    setup_us: Distribution | None = None
    """The time from when the controller had the first packet of a flow until it had sent the flow's
    rules, of each flow whose first packet came to it while traffic went. Reactive rules of nettrial's
    applications only."""
    switches_cpu_ns: Annotated[int, Field(ge=0)]
    """The CPU time that all switches used while traffic went, frames that the controller sent and got
    among them. What the kernel does for their interfaces is not in it."""


class DelayTrace(Generated):
    """A propagation delay that changes in steps, as that of a satellite link does with each handover. Its
    time begins when all flows are ready, with the traffic; until then, the first delay applies. A frame
    takes the delay that is in force when its last bit leaves, and never arrives before the frame in front
    of it: both arrive together where the delay falls by more than the time between them."""

    model_config = ConfigDict(extra="forbid")
    delays_ns: list[Annotated[int, Field(ge=0)]]
    """The delay in one direction from each of these times, in nanoseconds."""
    from_ns: list[Annotated[int, Field(ge=0)]]
    """The times from which the delays apply, in nanoseconds; the first is 0, and each is later than the
    one before."""
    repeats_after_ns: Annotated[int | None, Field(ge=0)] = None
    """The time after which the trace begins again, in nanoseconds. If it is absent, the last delay
    stays."""


class QueueLimit(GeneratedRoot[str]):
    """The limit of a queue: "1000 packets", or a size such as "64 KiB"."""

    root: Annotated[str, Field(pattern="^([0-9]+ ?packets|[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB))$")]


class DropTail(Generated):
    """Packets are dropped only at the limit."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["drop_tail"] = "drop_tail"


class Mark(Generated):
    """Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); packets
    that can't be marked pass."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["mark"] = "mark"
    threshold: QueueLimit
    """The queue above which packets are marked."""


class Red(Generated):
    """Random early detection (Floyd and Jacobson 1993): the probability of a drop rises with the average
    queue."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["red"] = "red"
    ecn: bool | None = False
    """Mark packets that can be marked instead of dropping them."""
    gentle: bool | None = True
    """From the maximum to twice as much, the probability rises to 1 (Floyd 2000). Otherwise every packet
    is dropped from the maximum on, as Linux does."""
    maximum: Size
    """The average queue at which the probability is `probability`."""
    minimum: Size
    """The average queue above which packets are dropped at random."""
    probability: Annotated[float | None, Field(ge=0, le=1)] = 0.1
    """The probability at `maximum`."""
    weight: Annotated[float | None, Field(ge=0, le=1)] = 0.002
    """The weight of a new queue length in the average."""


class CoDel(Generated):
    """Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above
    the target."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["codel"] = "codel"
    ecn: bool | None = False
    """Mark packets that can be marked instead of dropping them."""
    interval: Annotated[Duration | None, Field(validate_default=True)] = "100 ms"
    """The interval: the time for which the delay may stay above the target."""
    target: Annotated[Duration | None, Field(validate_default=True)] = "5 ms"
    """The target: the delay that may persist."""


class Fq(Generated):
    """A queue for each flow, served in turn, without drops before the limit (Linux's fq)."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["fq"] = "fq"


class FqCodel(Generated):
    """A queue with CoDel for each flow, served in turn (RFC 8290)."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["fq_codel"] = "fq_codel"
    ecn: bool | None = False
    """Mark packets that can be marked instead of dropping them."""
    interval: Annotated[Duration | None, Field(validate_default=True)] = "100 ms"
    """The interval: the time for which the delay may stay above the target."""
    target: Annotated[Duration | None, Field(validate_default=True)] = "5 ms"
    """The target: the delay that may persist."""


class Cake(Generated):
    """Common Applications Kept Enhanced (Hoiland-Jorgensen, Taht and Morton 2018), which the link's rate
    limits: fair among hosts, then flows, with a variant of CoDel for each. It marks packets that can be
    marked."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["cake"] = "cake"
    rtt: Annotated[Duration | None, Field(validate_default=True)] = "100 ms"
    """The round-trip time for which its drops are tuned."""


class Pie(Generated):
    """Proportional integral controller enhanced (RFC 8033): the probability of a drop follows the queue's
    delay."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["pie"] = "pie"
    ecn: bool | None = False
    """Mark packets that can be marked instead of dropping them."""
    target: Annotated[Duration | None, Field(validate_default=True)] = "15 ms"
    """The target: the delay that may persist."""
    update: Annotated[Duration | None, Field(validate_default=True)] = "15 ms"
    """The interval between two updates of the probability."""


class FqPie(Generated):
    """A queue with PIE for each flow, served in turn (Linux's fq_pie)."""

    model_config = ConfigDict(extra="forbid")
    discipline: Literal["fq_pie"] = "fq_pie"
    ecn: bool | None = False
    """Mark packets that can be marked instead of dropping them."""
    target: Annotated[Duration | None, Field(validate_default=True)] = "15 ms"
    """The target: the delay that may persist."""
    update: Annotated[Duration | None, Field(validate_default=True)] = "15 ms"
    """The interval between two updates of the probability."""


class Discipline(GeneratedRoot[DropTail | Mark | Red | CoDel | Fq | FqCodel | Cake | Pie | FqPie]):
    """The rule by which a queue drops packets, or marks them (ECN, RFC 3168), before it reaches its
    limit."""


class DisturbanceRecord(Generated):
    """The disturbances of a machine during the traffic: what was not the trial's own work. Figures that
    its system does not report are absent, and `absent` of the record says why."""

    model_config = ConfigDict(extra="forbid")
    clock_step_ns: int | None = None
    """The change of the wall clock against the monotonic clock, in nanoseconds."""
    MOST_CLOCK_STEP_NS: ClassVar[int] = 1000000
    """The largest `clock_step_ns` that disturbs no trial."""
    machine: str
    """The machine: its name in the inventory, `client` or `server` of a measurement, or `this machine` in
    the lab."""
    other_work_percent: float | None = None
    """The CPU time of processes that are not the trial's, in percent of the time of one CPU. Kernel
    threads do not count, because some do the trial's own work."""
    MOST_OTHER_WORK_PERCENT: ClassVar[float] = 5.0
    """The largest `other_work_percent` that disturbs no trial."""
    stolen_percent: float | None = None
    """The largest share of a CPU's time that the hypervisor took, in percent."""
    MOST_STOLEN_PERCENT: ClassVar[float] = 2.0
    """The largest `stolen_percent` that disturbs no trial."""
    timer_lateness_us: float | None = None
    """The largest lateness of a thread that sleeps for 5 to 20 ms at a time, in microseconds."""


DurationShare = Share[Duration]
"""A value of a mix."""

DurationTruncation = Truncation[Duration]
"""The bounds of a truncated distribution, which are part of it. Values outside are drawn again."""


class DurationVariate(
    GeneratedRoot[
        Constant[Duration]
        | Uniform[Duration]
        | Exponential[Duration]
        | Normal[Duration]
        | Pareto[Duration]
        | Cauchy[Duration]
        | Gamma[Duration]
        | Weibull[Duration]
        | Mix[Duration]
        | Listed[Duration]
    ]
):
    """A constant or random quantity: a distribution, its parameters, and its truncation. Values outside
    the truncation are drawn again, so that the rest of the distribution keeps its shape. Without a
    truncation, distributions with values below zero or without a mean are errors."""


class Offloads(Generated):
    """The offloads of interfaces, which handle larger units than a packet. All are off by default, so
    that the MTU is in force (with them, a virtual link passes "packets" of 64 KiB)."""

    model_config = ConfigDict(extra="forbid")
    gro: bool | None = False
    """Generic receive offload: received segments are coalesced before the stack sees them."""
    gso: bool | None = False
    """Generic segmentation offload: the kernel segments GSO packets just before the interface."""
    tso: bool | None = False
    """TCP segmentation offload: the interface segments GSO packets."""


class Rate(GeneratedRoot[str]):
    """A rate, such as "1 Gbit/s"."""

    root: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s)$")]


class Wireless(Generated):
    """The radio of a Wi-Fi interface at one moment, as its driver reports it (nl80211). Values that the
    driver does not report are absent."""

    model_config = ConfigDict(extra="forbid")
    access_point: str | None = None
    """The hardware address of the access point."""
    failed_pkts: Annotated[int | None, Field(ge=0)] = None
    """The number of these packets that the interface gave up."""
    frequency_mhz: Annotated[int | None, Field(ge=0)] = None
    """The middle of the primary channel, MHz."""
    received_bps: Annotated[int | None, Field(ge=0)] = None
    """The bit rate of frames received from the access point, bits per second."""
    retries: Annotated[int | None, Field(ge=0)] = None
    """The number of times that the interface retransmitted a packet to the access point."""
    sent_bps: Annotated[int | None, Field(ge=0)] = None
    """The bit rate of frames sent to the access point, bits per second."""
    sent_pkts: Annotated[int | None, Field(ge=0)] = None
    """The packets sent to the access point since the interface joined it."""
    signal_dbm: Annotated[int | None, Field(ge=-128, le=127)] = None
    """The signal strength of the access point at this interface, dBm."""
    width_mhz: Annotated[int | None, Field(ge=0)] = None
    """The width of the channel, MHz."""


class MachineInterface(Generated):
    """An interface of a machine."""

    model_config = ConfigDict(extra="forbid")
    addresses: list[str]
    """The interface's addresses, including those that the inventory does not use for traffic."""
    bus: str | None = None
    """The interface's bus with its width and speed, such as "PCI 0000:03:00.0, 4 lanes of 8.0 GT/s PCIe";
    absent for an interface without a bus, such as a virtual one."""
    driver: str | None = None
    """The interface's driver; absent if the kernel does not report it."""
    is_up: bool
    """True if the interface is up and carries packets."""
    largest_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """The largest MTU that the interface can be given, bytes; absent if the driver does not report it."""
    mtu_bytes: Annotated[int, Field(ge=0)]
    """The interface's MTU, bytes."""
    name: str
    """The interface's name on the machine."""
    offloads: Offloads | None = None
    """The offloads in force; absent if the system does not report them."""
    speed: Rate | None = None
    """The speed of the interface's link; absent if the driver does not report it."""
    wireless: Wireless | None = None
    """The interface's radio; absent for an interface that is not Wi-Fi."""


class IpVersion(GeneratedRoot[Literal[4, 6]]):
    """The version of the Internet Protocol: 4 or 6."""


class MachineReach(Generated):
    """The largest packets that reach another machine."""

    model_config = ConfigDict(extra="forbid")
    ip: IpVersion
    """The IP version of the addresses that were used."""
    passed_bytes: Annotated[int, Field(ge=0)]
    """The largest IP packet that passed without being fragmented, bytes; 0 if none did."""
    to: str
    """The other machine's name."""
    tried_bytes: Annotated[int, Field(ge=0)]
    """The largest IP packet that was tried, bytes: the largest that both interfaces can send."""


class Machine(Generated):
    """One of the user's machines, as it was found at the start of the session."""

    model_config = ConfigDict(extra="forbid")
    architecture: str
    """The instruction set, such as "x86_64"."""
    boot: str
    """The identifier of the running kernel (random/boot_id, random(4); on systems without one, the host's
    name). Machines with the same identifier are one machine."""
    clock_ahead_ns: int
    """The lead of the machine's wall clock over that of this machine, nanoseconds."""
    clock_error_ns: Annotated[int, Field(ge=0)]
    """The largest possible error of that lead, nanoseconds."""
    clock_source: str | None = None
    """The kernel's clock source; absent if the kernel does not report it."""
    congestion_controls: list[str]
    """Congestion controls that the kernel has loaded."""
    free_ports: Annotated[int | None, Field(ge=0)] = None
    """The number of free ports that the kernel can give to a program that asks for any port
    (ip_local_port_range, ip(7)); absent if the system does not report it."""
    governor: str | None = None
    """The scaling governor of the CPUs, such as "performance" (Documentation/admin-guide/pm/cpufreq.rst);
    absent if the kernel does not report one."""
    interfaces: list[MachineInterface]
    """The interfaces of the inventory, in its order."""
    is_root: bool
    """True if the user on the machine is root and so may change settings; false on systems other than
    Linux, where nettrial changes no settings."""
    kernel: str
    """The kernel's name, release and version."""
    name: str
    """The machine's name in the inventory."""
    processor: str
    """The CPU's model."""
    processors: Annotated[int, Field(ge=0)]
    """The number of CPUs that a process may use."""
    reaches: list[MachineReach] | None = None
    """The largest packets that reach the other machines, if this was examined."""
    sysctls: dict[str, str]
    """Settings that a study may change, by sysctl name."""
    system: str
    """The operating system and its version as it names itself, such as "Debian GNU/Linux 12
    (bookworm)"."""


class TimerLateness(Generated):
    """The lateness of sleeps of 200 us, on all CPUs that the engine may use."""

    model_config = ConfigDict(extra="forbid")
    median_ns: Annotated[int, Field(ge=0)]
    """Median, nanoseconds."""
    p99_9_ns: Annotated[int, Field(ge=0)]
    """Percentile 99.9, nanoseconds."""
    p99_ns: Annotated[int, Field(ge=0)]
    """99th percentile, nanoseconds."""


class Environment(Generated):
    """The machine on which a run was made."""

    model_config = ConfigDict(extra="forbid")
    apparatus: dict[str, str] | None = None
    """The parts of the apparatus that may differ between sessions and affect results, each with its value
    in words: the shaper, the CPUs that are used and their behaviour, clocks. Empty on backends that
    depend on none of them."""
    congestion_controls: list[str]
    """The congestion controls that the kernel has."""
    engine_version: str
    """The engine's version."""
    kernel: str
    """The kernel's name, release and version."""
    machines: list[Machine] | None = None
    """The user's machines on which trials ran, by name; absent if trials ran elsewhere."""
    privileges: str
    """`root`, or `user_namespace`."""
    processor: str
    """The CPU's model."""
    processors: Annotated[int, Field(ge=0)]
    """The number of CPUs that this process may use."""
    sysctls: dict[str, str]
    """The network settings of a new namespace that affect the results, by sysctl name."""
    timer_lateness: TimerLateness | None = None
    """The lateness of timers, measured at the start of the engine. Absent on the simulator, which uses
    none."""


class Estimate(Generated):
    """The work of simulating a scenario."""

    model_config = ConfigDict(extra="forbid")
    packet_hops: Annotated[int, Field(ge=0)]
    """The number of times that packets would cross a link without losses."""
    seconds: float
    """The CPU time that this takes, seconds."""


class FailureKind(
    GeneratedRoot[
        Literal[
            "unreachable",
            "refused",
            "busy",
            "other_token",
            "other_version",
            "udp_filtered",
            "timed_out",
            "agent_ended",
            "missing_program",
            "no_privileges",
            "other",
        ]
    ]
):
    """The kind of a failure. Programs decide by it; the text of a failure is for people."""


class Shortfall(Generated):
    """A feature that the machine lacks."""

    model_config = ConfigDict(extra="forbid")
    kind: FailureKind | None = None
    """The kind of the failure that showed it, if programs tell it from others."""
    remedy: str
    """The remedy."""
    what: str
    """The feature that was tried."""
    why: str
    """The result of trying it."""


class Preflight(Generated):
    """The findings about what this machine can run."""

    model_config = ConfigDict(extra="forbid")
    capabilities: Capabilities | None = None
    """The backend's statement of its capabilities if nothing is missing; absent if the backend does not
    run on this system at all."""
    environment: Environment
    """The machine, for the run's record."""
    limits: list[Shortfall]
    """The missing features without which trials can run, each with its consequence."""
    missing: list[Shortfall]
    """Everything that keeps trials from running; empty if they can."""


class Problem(Generated):
    """One thing that is wrong with a scenario, or with another document that was checked."""

    model_config = ConfigDict(extra="forbid")
    expected: str
    """The expected values."""
    hint: str
    """The reason, and the remedy."""
    object: str
    """The object that has the setting, in words: "link sender - router"."""
    of_machine: bool | None = None
    """True if nothing is wrong with the document, but a machine lacks what it needs."""
    pointer: str
    """The place of the bad value in the document, as a JSON pointer (RFC 6901). For an absent setting,
    this is the place where it would be."""
    setting: str
    """The setting's name: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …"""
    value: str
    """The bad value."""


class Histogram(GeneratedRoot[str]):
    """All values of a figure: an HDR histogram with three significant digits, in nanoseconds, in the
    library's V2 encoding, deflated, in base 64 (RFC 4648), which every HdrHistogram implementation
    reads."""


class Interval(Generated):
    """A flow's transport state at one moment."""

    model_config = ConfigDict(extra="forbid")
    at_ns: Annotated[int, Field(ge=0)]
    """The time after the instant at which all flows were ready."""
    bytes: Annotated[int, Field(ge=0)]
    """The application bytes since the previous interval: those acknowledged (TCP_INFO tcpi_bytes_acked),
    or over UDP those sent."""
    cwnd_pkts: Annotated[int, Field(ge=0)]
    """The congestion window in segments, for MPTCP the sum over the subflows; 0 while no connection is
    open."""
    delivery_rate_bps: Annotated[int | None, Field(ge=0)] = None
    """The kernel's estimate of the rate at which data arrives (TCP_INFO tcpi_delivery_rate)."""
    min_rtt_us: Annotated[int | None, Field(ge=0)] = None
    """The smallest round-trip time of this connection; absent while no connection is open, and before its
    first estimate."""
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """The segments retransmitted since the previous interval."""
    srtt_us: Annotated[int | None, Field(ge=0)] = None
    """The smoothed round-trip time, for MPTCP the mean over the subflows that have one; absent while no
    connection is open, and before its first estimate."""
    subflow_bytes: list[Annotated[int, Field(ge=0)]] | None = None
    """The application bytes of each subflow since the previous interval, in the record's order. MPTCP
    only."""
    subflow_cwnd_pkts: list[Annotated[int, Field(ge=0)]] | None = None
    """The congestion window in segments of each subflow, in the same order; 0 while the subflow is not
    open. MPTCP only."""


class MechanismsRecord(Generated):
    """The times of the parts of a request's way to its answer, each part in both directions together. For
    each request they sum to its round-trip time, by the wall clock or in simulated time. Of a kernel's
    times, requests that it did not state some of, and the last one, are not included. Parts that the
    simulator's model does not have are absent; `absent` then says why."""

    model_config = ConfigDict(extra="forbid")
    answering_us: Distribution | None = None
    """From reading the request to the call to send the response, in the responder."""
    queue_us: Distribution | None = None
    """From there until the interface has taken it: the queue and its shaper (SCM_TSTAMP_SND)."""
    reading_us: Distribution | None = None
    """From there until the program has it: protocol, the socket's queue, wake-up, reading. In the
    simulator, the `cost` of the hosts."""
    sending_us: Distribution | None = None
    """From the call to send until the kernel puts the message into the interface's queue: system call,
    protocol, segmentation (SCM_TSTAMP_SCHED). In the simulator, the `cost` of the hosts."""
    wire_us: Distribution
    """From there until the other host's kernel takes it in: links, the nodes between them, the
    interrupt."""


class Pacing(Generated):
    """The accuracy with which a sender kept to its departures."""

    model_config = ConfigDict(extra="forbid")
    asked_bps: float
    """The payload rate that follows from the departures requested, bits per second."""
    cpu_percent: float | None = None
    """The CPU time of the sending thread in percent of the flow's time; absent if the system does not
    report it."""
    lateness_us: Distribution
    """The time after its departure at which each packet was handed to the kernel."""
    sent_bps: float
    """The payload rate sent, bits per second."""


class PacketCounts(Generated):
    """The packets of a flow that were received, lost, reordered and duplicated, by their sequence
    numbers. Loss, reordering and duplication are counted separately, so that none hides another."""

    model_config = ConfigDict(extra="forbid")
    duplicated_pkts: Annotated[int | None, Field(ge=0)] = None
    """The arrivals beyond the first of a packet (RFC 5560); absent if a tool does not report them."""
    longest_loss_burst_pkts: Annotated[int | None, Field(ge=0)] = None
    """The longest run of losses; absent if a tool does not report it."""
    loss_bursts: Annotated[int | None, Field(ge=0)] = None
    """The runs of losses without an arrival between them (RFC 3357); absent if a tool does not report
    them."""
    lost_pkts: Annotated[int, Field(ge=0)]
    """The packets that were sent and never arrived (RFC 7680)."""
    received_pkts: Annotated[int, Field(ge=0)]
    """The different packets that arrived."""
    reordered_pkts: Annotated[int | None, Field(ge=0)] = None
    """The packets that arrived after one that was sent later (RFC 4737 section 3.3); absent if a tool
    does not report them."""
    send_errors_pkts: Annotated[int, Field(ge=0)]
    """The packets that the sender's kernel refused, which do not count as sent."""
    sent_pkts: Annotated[int, Field(ge=0)]
    """The packets that the sender handed to the kernel."""


class SizeRecord(Generated):
    """The results of one size of a sweep. Each list has one entry for each repeat, in the order of
    measurement."""

    model_config = ConfigDict(extra="forbid")
    resent_pkts: Annotated[int, Field(ge=0)]
    """The requests that had to be retransmitted (UDP) in all repeats."""
    rtt_minimum_us: list[float]
    """The smallest of these times, microseconds."""
    rtt_us: list[float]
    """The mean time from sending a request to reading its answer, microseconds, of the requests of the
    full size that were sent once, or of all requests if there are none of these."""
    size_bytes: Annotated[int, Field(ge=0)]
    """Bytes of a request."""
    total_us: list[float]
    """The time that all bytes took, microseconds."""


class Span(Generated):
    """The time over which a flow's goodput is computed, and the bytes that arrived in it. The goodput of
    several flows is their bytes over the union of their spans. The span of a transfer begins with its
    first write, or with the call to connect if no connection opened in the flow's duration. If the flow
    has a duration, the span ends with it, and bytes that arrive later, from buffers and queues, are
    outside; the receiver counts by its own clock, so the offset between the hosts' clocks is taken off,
    or, where that is not known, the receiver's span begins and ends later by the delay of the path.
    Without a duration the span ends with the receiver's confirmation that it has read all. That of
    packets begins with the first departure and ends with the last departure or arrival, whichever is
    later; that of requests begins when the first may be sent and ends with the last response."""

    model_config = ConfigDict(extra="forbid")
    active_ns: Annotated[int, Field(ge=0)]
    """The part of this time in which a connection carried data: for transfers one after the other, the
    time between one's confirmation and the next one's first write is left out."""
    began_ns: Annotated[int, Field(ge=0)]
    """Its beginning, after the instant at which all flows were ready."""
    bytes: Annotated[int, Field(ge=0)]
    """The application bytes that the receiver had read by its end, or for requests those sent."""
    ended_ns: Annotated[int, Field(ge=0)]
    """Its end, after the same instant."""


class SubflowRecord(Generated):
    """A subflow's state at the end of its connection. Subflows of several connections between the same
    addresses are one entry, with the sum of their bytes, retransmissions and marks, and the state of the
    last. Figures that a backend does not have are absent."""

    model_config = ConfigDict(extra="forbid")
    bytes: Annotated[int, Field(ge=0)]
    """Bytes acknowledged (TCP_INFO tcpi_bytes_acked)."""
    congestion_control: str
    """The subflow's congestion control in force."""
    cwnd_pkts: Annotated[int | None, Field(ge=0)] = None
    """Congestion window in segments."""
    local: str
    """Address and port of the flow's first host."""
    marks_pkts: Annotated[int | None, Field(ge=0)] = None
    """Packets delivered whose acknowledgments had the flag ECE (see the flow's `marks_pkts`)."""
    min_rtt_us: Annotated[int | None, Field(ge=0)] = None
    """Smallest round-trip time."""
    remote: str
    """Address and port of the flow's second host."""
    retransmissions_pkts: Annotated[int | None, Field(ge=0)] = None
    """Segments retransmitted."""
    srtt_us: Annotated[int | None, Field(ge=0)] = None
    """Smoothed round-trip time."""


class ToolRecord(Generated):
    """A program that made a flow's traffic."""

    model_config = ConfigDict(extra="forbid")
    command: list[str]
    """The command that was run on the first host."""
    output: str
    """The output that it printed, cut after 64 KiB."""
    version: str
    """The version that the tool prints."""


class FlowRecord(Generated):
    """A flow's figures. Rates count the application's bytes (goodput)."""

    model_config = ConfigDict(extra="forbid")
    active_ns: Annotated[int, Field(ge=0)]
    """The time that all of those bytes took, which may exceed the flow's duration. For a transfer, this
    is the sum over connections of the time from the first write to the receiver's confirmation that it
    has read all. For packets, it is the time from the first departure to the last departure or arrival,
    whichever is later, and for requests from the first request to the last response."""
    bytes: Annotated[int, Field(ge=0)]
    """The application bytes that the receiver confirmed (transfer, packets), or that were sent in
    requests, whenever they arrived."""
    completion_us: Distribution | None = None
    """The time from the call to connect until the receiver's confirmation, of each sized transfer."""
    congestion_control: str
    """The congestion control in force at the sender, as the kernel or simulator names it."""
    connect_us: Distribution
    """The time from the call to connect until it returns, of each connection."""
    connections: Annotated[int, Field(ge=0)]
    """The number of connections opened, which for sized transfers is also the number of transfers. 0 if
    there are none, or if a tool does not report its connections; such a tool does not report
    retransmissions either."""
    delay_difference_mean_us: float | None = None
    """The mean of |D| over the same transit times (what D-ITG calls average jitter)."""
    delay_variation_us: Distribution | None = None
    """The one-way delay above the smallest one of the flow (RFC 5481, packet delay variation). The two
    hosts' clocks need not agree."""
    ended_ns: Annotated[int | None, Field(ge=0)] = None
    """The time at which all of `bytes` had been confirmed, after the instant at which all flows were
    ready. A flow with a duration may end later than its span, because its buffers and queues drain.
    Absent like `span`."""
    goodput_bps: float | None = None
    """The goodput, bits per second: the bytes of `span` over its `active_ns`, or a tool's figure.
    Transfers and packets only."""
    intervals: list[Interval]
    """The transport's state over time."""
    ip: IpVersion
    """The flow's IP version."""
    ip_bytes: Annotated[int | None, Field(ge=0)] = None
    """The bytes of the IP packets that the flow's first host sent, headers and retransmissions included.
    For TCP and MPTCP they are computed from the kernel's counts of bytes and segments and the size of the
    headers with the options in force (without selective acknowledgments). Absent for MPTCP with a
    connection for each request."""
    jitter_rfc3550_us: float | None = None
    """The jitter of RFC 3550 section 6.4.1 and appendix A.8 over the transit times of requests or
    packets: the last value of J += (|D| − J)/16 from J = 0. The two hosts' clocks need not agree, because
    D is a difference."""
    marks_pkts: Annotated[int | None, Field(ge=0)] = None
    """The packets delivered whose acknowledgments had the flag ECE (TCP_INFO tcpi_delivered_ce) on all
    connections, which is 0 without ECN. With DCTCP they are the packets that were marked. With classic
    ECN (RFC 3168) they are more, because the receiver sets the flag until the sender has confirmed it.
    Absent if the sender's system does not count them."""
    mechanisms: MechanismsRecord | None = None
    """The times of the parts of a request's way. Requests with `mechanisms` only."""
    min_rtt_us: Annotated[int | None, Field(ge=0)] = None
    """The smallest round-trip time that the kernel measured; absent if it measured none."""
    mss_bytes: Annotated[int, Field(ge=0)]
    """The sender's maximum segment size at the end, bytes of payload."""
    name: str
    """The flow's name."""
    owd_error_us: float | None = None
    """The largest error of `owd_us`, which follows from the estimate of the offset between the clocks;
    absent if both hosts have one clock."""
    owd_histogram: Histogram | None = None
    """All values of `owd_us` as a histogram, nanoseconds."""
    owd_us: Distribution | None = None
    """The time from a packet's departure to its arrival. Absent if the hosts' clocks do not agree."""
    pacing: Pacing | None = None
    """The accuracy with which the sender kept to the departures requested. Packets only."""
    packets: PacketCounts | None = None
    """The packets received, lost, reordered and duplicated. Over UDP only, because TCP hides them."""
    peer_window_bytes: Annotated[int | None, Field(ge=0)] = None
    """The largest receive window that the receiver announced, bytes, as the sender's system reported it
    with each sample; absent if the system does not report it."""
    recovery_ns: Annotated[int | None, Field(ge=0)] = None
    """The time after an event for which goodput was below `recovered_share` of what it was before, the
    longest of all events. Absent where it can't be told; `absent` then says why."""
    retransmissions_pkts: Annotated[int | None, Field(ge=0)] = None
    """The segments retransmitted (TCP_INFO tcpi_total_retrans) on all connections; absent from records of
    a backend without this figure."""
    rtt_histogram: Histogram | None = None
    """All values of `rtt_us` as a histogram, nanoseconds."""
    rtt_us: Distribution | None = None
    """The time from sending a request to reading its response. Request/response only."""
    sizes: list[SizeRecord] | None = None
    """The results of each size, by size. Sweeps only."""
    span: Span | None = None
    """The time over which the flow's goodput is computed, and the bytes that arrived in it. Absent if a
    tool does not report it, and from records made before this field."""
    srtt_us: Distribution
    """The kernel's smoothed round-trip time (RFC 6298), over the samples of all intervals."""
    subflows: list[SubflowRecord] | None = None
    """The connection's subflows. MPTCP only."""
    tool: ToolRecord | None = None
    """The program that made the traffic. Tools only."""
    transactions_per_second: float | None = None
    """The requests answered per second, from the first request to the last response. Request/response
    only."""
    transport: Transport
    """The flow's transport."""
    wire_bytes: Annotated[int | None, Field(ge=0)] = None
    """The bytes of the same packets as Ethernet frames: header, preamble, frame check sequence and gap
    count."""


class GuestRecord(Generated):
    """A guest that was a host."""

    model_config = ConfigDict(extra="forbid")
    emulated: bool
    """True if its instructions were carried out by software, and not by the machine's CPUs (KVM)."""
    kernel: str
    """The release of the kernel that was found inside (uname(2))."""
    memory_bytes: Annotated[int, Field(ge=0)]
    """Its memory, bytes."""
    processors: Annotated[int, Field(ge=0)]
    """Its virtual CPUs."""
    system: str
    """The system's name in studies."""


class MachineRecord(Generated):
    """A machine of the user's that was a host on the lab's links, as its agent describes it."""

    model_config = ConfigDict(extra="forbid")
    kernel: str
    """The kernel's name, release and version."""
    name: str
    """The machine's name in the inventory."""


class RadioRecord(Generated):
    """A host's radio just before the traffic and just after it."""

    model_config = ConfigDict(extra="forbid")
    after: Wireless
    """The driver's report after the traffic."""
    before: Wireless
    """The driver's report before the traffic."""
    interface: str
    """The name of the host's interface on its machine."""


class StackRecord(Generated):
    """A program whose TCP/IP a host had."""

    model_config = ConfigDict(extra="forbid")
    name: str
    """The program's name in studies."""
    version: str
    """The version of the stack, as the program prints it."""


class HostRecord(Generated):
    """A host's figures."""

    model_config = ConfigDict(extra="forbid")
    cpu_busy_ns: Annotated[int | None, Field(ge=0)] = None
    """The time in which the CPU was not idle, nanoseconds, without the shapers' time."""
    cpu_percent: float | None = None
    """The share of the traffic's time in which the CPU was not idle, interrupts included, in percent,
    without `shaper_percent`."""
    guest: GuestRecord | None = None
    """The guest that the host was, if it was one."""
    machine: MachineRecord | None = None
    """The user's machine that the host was on the lab's links, if it was one."""
    name: str
    """The host's name."""
    processor: Annotated[int | None, Field(ge=0)] = None
    """The CPU to which the host's work was bound; absent if it was not."""
    processor_shared_with: list[str]
    """The other nodes whose forwarding used the same CPU, and the engine's own work on it (`delay line`,
    `packet counter`, `queue sampler`)."""
    radio: RadioRecord | None = None
    """The radio of the host's Wi-Fi interface, if its driver reports it."""
    service_demand_us_per_kb: float | None = None
    """The CPU time per kilobyte (1000 bytes) of payload that the host's transfers moved, microseconds
    (netperf's service demand)."""
    shaper_percent: float | None = None
    """The share of the traffic's time in which the lab's shapers used the CPU, in percent; absent if it
    was not measured, and is therefore part of the host's."""
    stack: StackRecord | None = None
    """The program whose TCP/IP the host had; absent if it had its kernel's."""
    system: str | None = None
    """The operating system of the user's machine that was the host, with its version, as it names itself;
    absent elsewhere."""


class InterfaceSample(Generated):
    """An interface's state at one moment."""

    model_config = ConfigDict(extra="forbid")
    at_ns: Annotated[int, Field(ge=0)]
    """The time since the start of the trial."""
    queue_bytes: Annotated[int, Field(ge=0)]
    """The bytes in the interface's queue as they will occupy the wire."""
    queue_pkts: Annotated[int, Field(ge=0)]
    """The packets in the interface's queue."""
    utilisation_percent: float
    """The bytes sent as a share of what the link's rate allows, in percent."""
    wire_bytes: Annotated[int, Field(ge=0)]
    """The bytes sent since the previous sample, as they occupy the wire."""


class PacketSize(Generated):
    """The number of packets of one size that an interface sent."""

    model_config = ConfigDict(extra="forbid")
    packets: Annotated[int, Field(ge=0)]
    """The number of packets."""
    size_bytes: Annotated[int, Field(ge=0)]
    """The bytes of the IP packet. A GSO packet that crosses the link unsegmented (TSO, GSO) counts with
    its own size."""


class InterfaceRecord(Generated):
    """An interface's figures over the trial."""

    model_config = ConfigDict(extra="forbid")
    burst_bytes: Annotated[int | None, Field(ge=0)] = None
    """The bytes that the shaper holds as credit, which the interface may send beyond the link's rate
    after an idle time or a late timer. Absent if the link is not shaped, and on the simulator."""
    drops_pkts: Annotated[int, Field(ge=0)]
    """Frames dropped by the queue."""
    frames_pkts: Annotated[int, Field(ge=0)]
    """Frames sent."""
    interface: str
    """Its interface."""
    node: str
    """The node that sends."""
    packet_sizes: list[PacketSize] | None = None
    """The IP packets sent, by size. Present if the measurement asks for it."""
    queue_bytes: Distribution | None = None
    """The bytes in the queue as they will occupy the wire, sampled at the same moments."""
    queue_pkts: Distribution | None = None
    """The packets in the queue, sampled; a GSO packet that is segmented after the queue counts once.
    Present if the measurement asks for it and the link has a rate."""
    series: list[InterfaceSample] | None = None
    """The queue over time. Present if the measurement asks for it."""
    wire_bytes: Annotated[int, Field(ge=0)]
    """The bytes sent as they occupy the wire, with preamble, frame check sequence and gap."""


class OutageRecord(Generated):
    """A link or node that failed."""

    model_config = ConfigDict(extra="forbid")
    at_ns: Annotated[int, Field(ge=0)]
    """The time of the failure, after the instant at which all flows were ready."""
    fails: list[str]
    """The names of the nodes, as the scenario has them."""
    returned_ns: Annotated[int | None, Field(ge=0)] = None
    """The time of its return; absent where it did not return before the traffic's end."""


class Phases(Generated):
    """The time that each phase of a trial took, by the monotonic clock. The simulator has `traffic_ns`
    alone, in simulated time."""

    model_config = ConfigDict(extra="forbid")
    checks_ns: Annotated[int, Field(ge=0)]
    """Starting the agents and checking the path."""
    network_ns: Annotated[int, Field(ge=0)]
    """Building namespaces, links, addresses, routes and queues."""
    tear_down_ns: Annotated[int, Field(ge=0)]
    """Collecting results and taking the network down."""
    traffic_ns: Annotated[int, Field(ge=0)]
    """The traffic, from the start of the first flow to the end of the last."""


class ProcessorRecord(Generated):
    """A CPU during the traffic."""

    model_config = ConfigDict(extra="forbid")
    busy_percent: float
    """The share of time in which the CPU was neither idle nor taken by the hypervisor, in percent."""
    frequency_mhz: float | None = None
    """The CPU's clock rate at the end of the traffic; absent if the kernel does not report it (cpufreq;
    virtual machines seldom have it)."""
    number: Annotated[int, Field(ge=0)]
    """The CPU's number."""
    stolen_percent: float
    """The share of time that the hypervisor took, in percent."""
    timer_lateness_us: Distribution | None = None
    """The lateness of timers on the CPU during the traffic, as sleeps of 10 ms on average measured it, in
    microseconds; absent where it is not measured."""


class Warning(Generated):
    """A reason for which a trial's figures may be misleading."""

    model_config = ConfigDict(extra="forbid")
    code: str
    """A stable word for the kind of warning, such as `path_mtu` or `processor_saturated`."""
    consequence: str
    """The consequence for the figures."""
    message: str
    """The observation."""
    object: str
    """The object of the warning: a flow, a host, an interface."""


class Record(Generated):
    """The record of a trial: its measurements, the checks made around it, and the warnings that
    follow."""

    model_config = ConfigDict(extra="forbid")
    absent: list[Absence]
    """The metrics that could not be measured, with the reasons."""
    backend: str
    """The backend that ran the trial."""
    channels: list[ChannelRecord] | None = None
    """The radio channels, in the scenario's order."""
    checks: list[Check]
    """The checks made before and after the traffic."""
    congestion: list[CongestionRecord] | None = None
    """The calls to each of nettrial's own congestion controls that the scenario uses. Absent if it uses
    none."""
    controller: ControllerRecord | None = None
    """The work of the switches' OpenFlow controller, if they have one."""
    disturbances: list[DisturbanceRecord] | None = None
    """The disturbances of each machine that took part, during the traffic. None in simulated and virtual
    time, which other work on a machine does not change."""
    ends: list[InterfaceRecord]
    """The interfaces whose queue or packets were counted."""
    engine_version: str
    """The engine's version."""
    events: list[OutageRecord] | None = None
    """The events of the scenario that happened, in its order."""
    flows: list[FlowRecord]
    """The flows, in the scenario's order."""
    format: Annotated[int, Field(ge=0)]
    """The document's version: [`crate::FORMAT`]."""
    hosts: list[HostRecord]
    """The hosts, in the scenario's order."""
    phases: Phases
    """The time that each phase of the trial took."""
    processors: list[ProcessorRecord] | None = None
    """The CPUs that the trial could use; none if hosts are simulated."""
    set: str | None = None
    """The set of the user's machines that ran the trial, by its name in the inventory; absent if that has
    no sets."""
    started_unix_ns: Annotated[int, Field(ge=0)]
    """The start of the trial, nanoseconds since 1970-01-01 UTC; 0 on the simulator, whose records depend
    only on the scenario."""
    warnings: list[Warning]
    """The reasons for which the trial's figures may be misleading."""


class PreflightEvent(Generated):
    """Answers [`Request::Preflight`]."""

    model_config = ConfigDict(extra="forbid")
    event: Literal["preflight"] = "preflight"
    preflight: Preflight
    """The findings."""


class CheckedEvent(Generated):
    """Answers [`Request::Check`]."""

    model_config = ConfigDict(extra="forbid")
    estimate: Estimate | None = None
    """The estimated work of running the scenario; only the simulator can tell it."""
    event: Literal["checked"] = "checked"
    problems: list[Problem]
    """Everything that is wrong with the scenario on this backend; empty if it can run."""


class RecordEvent(Generated):
    """A trial's result."""

    model_config = ConfigDict(extra="forbid")
    event: Literal["record"] = "record"
    record: Record
    """The record of the trial."""
    trial: str
    """The request's."""


class FailedEvent(Generated):
    """A trial that failed."""

    model_config = ConfigDict(extra="forbid")
    event: Literal["failed"] = "failed"
    kind: FailureKind
    """The kind of the failure."""
    message: str
    """The action that failed, and the error, for people."""
    trial: str
    """The request's."""


class RefusedEvent(Generated):
    """The line could not be read as a request."""

    model_config = ConfigDict(extra="forbid")
    event: Literal["refused"] = "refused"
    message: str
    """Why."""


class Event(GeneratedRoot[PreflightEvent | CheckedEvent | RecordEvent | FailedEvent | RefusedEvent]):
    """A line from the engine."""


class SocketOptions(Generated):
    """Options of a flow's sockets at both hosts. Options that are left out keep the kernel's values. Each
    option affects the cost of the flow or its packets on the wire, and so can be a factor."""

    model_config = ConfigDict(extra="forbid")
    block: Size | None = None
    """The bytes that a transfer hands to the kernel at a time; 128 KiB if absent."""
    busy_poll: Duration | None = None
    """The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual
    link has nothing to poll, so in the lab the reader itself retries for that long."""
    dscp: Annotated[int | None, Field(ge=0, le=63)] = None
    """The differentiated services codepoint of the flow's packets, 0 to 63 (RFC 2474; IP_TOS, ip(7), and
    IPV6_TCLASS, ipv6(7)). A radio channel maps each to an access category."""
    mss: Size | None = None
    """The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7);
    RFC 6691). With timestamps, the payload is 12 bytes smaller."""
    nagle: bool | None = None
    """The beginning of a message may wait for the acknowledgment of a small segment before it (Nagle, RFC
    896), as on a socket without TCP_NODELAY (tcp(7)). Data of transfers, which fill segments, always
    may."""
    quick_ack: bool | None = None
    """Received data is acknowledged as soon as it is read, and not with the next data or after the time
    of a delayed acknowledgment (TCP_QUICKACK, tcp(7), set again with each read)."""
    udp_buffer: Size | None = None
    """The size of the send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF,
    socket(7)), which Linux doubles for its own bookkeeping. The simulator has only the send buffer,
    because its readers take no time. If absent, packets are sent from the kernel's default buffer of 104
    KiB, and all other buffers are large enough not to matter."""
    udp_gro: bool | None = None
    """UDP packets are received coalesced by the kernel (UDP_GRO, udp(7))."""
    udp_gso: bool | None = None
    """UDP packets of one size are sent in GSO packets that the kernel segments (UDP_SEGMENT, udp(7))."""
    window: Size | None = None
    """The TCP window, bytes: the largest receive window that either host announces (TCP_WINDOW_CLAMP,
    tcp(7), if the system has it), and the fixed size of both its socket buffers (SO_RCVBUF and SO_SNDBUF,
    socket(7)). If absent, the system sizes the buffers automatically."""
    zerocopy: bool | None = None
    """Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst)."""


class OnOff(Generated):
    """Alternating times of sending and of silence, starting with sending."""

    model_config = ConfigDict(extra="forbid")
    off: DurationVariate
    """The time for which no packets are sent."""
    on: DurationVariate
    """The time for which packets are sent."""


SizeShare = Share[Size]
"""A value of a mix."""

SizeTruncation = Truncation[Size]
"""The bounds of a truncated distribution, which are part of it. Values outside are drawn again."""


class SizeVariate(
    GeneratedRoot[
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
    ]
):
    """A constant or random quantity: a distribution, its parameters, and its truncation. Values outside
    the truncation are drawn again, so that the rest of the distribution keeps its shape. Without a
    truncation, distributions with values below zero or without a mean are errors."""


class ToolName(
    GeneratedRoot[
        Literal[
            "iperf3", "ping", "netperf", "ditg", "sockperf", "ftp", "tftp", "http1", "http2", "http3", "exec"
        ]
    ]
):
    """A program that nettrial starts on the scenario's hosts, and whose output it reads."""


class TransferTraffic(Generated):
    """A bulk transfer of a number of bytes, for a duration, or with both one such transfer after the
    other."""

    model_config = ConfigDict(extra="forbid")
    duration: Duration | None = None
    """The duration of the flow."""
    kind: Literal["transfer"] = "transfer"
    size: Size | None = None
    """The bytes of one transfer."""


class FileTransferTraffic(Generated):
    """One transfer of a file from the sender's disk to the receiver's. There the file has no name, and is
    removed at the end of the trial."""

    model_config = ConfigDict(extra="forbid")
    file: str
    """The file's path on the sender."""
    kind: Literal["file_transfer"] = "file_transfer"


class RequestResponseTraffic(Generated):
    """Messages and their answers, one or several in flight, until a duration or a number of messages is
    reached, whichever comes first."""

    model_config = ConfigDict(extra="forbid")
    connecting: Annotated[Connecting | None, Field(validate_default=True)] = "once"
    """The occasions on which a connection is opened; with `each_request` the round-trip time starts with
    the call to connect."""
    count: Annotated[int | None, Field(ge=1, le=1000000000)] = None
    """The number of requests."""
    duration: Duration | None = None
    """The duration of the flow."""
    in_flight: Annotated[int | None, Field(ge=1, le=10000)] = 1
    """The number of requests that may wait for their responses at a time."""
    interval: Duration | None = None
    """The time from one request to the next. If absent, the next request follows the response at once. A
    response that takes longer than the interval delays the next request, and delayed requests are not
    sent in a burst."""
    kind: Literal["request_response"] = "request_response"
    mechanisms: bool | None = None
    """The kernel states when each message reaches a queue, leaves and arrives (SO_TIMESTAMPING, Linux
    Documentation/networking/timestamping.rst), from which the flow's `mechanisms` follow; in the
    simulator, its events do. Over UDP, one request at a time, with responses of 72 bytes or more, which
    bring the responder's times."""
    request: Size
    """The bytes of a request, at least 24 (for a number and two times)."""
    response: Size
    """The bytes of a response, at least 24."""


class PacketsTraffic(Generated):
    """Packets in one direction, until a duration or a number of packets is reached, whichever comes
    first. With a gap, the gap follows each packet. With a rate, payload is sent evenly at this rate. With
    neither, packets are sent as fast as the transport accepts them."""

    model_config = ConfigDict(extra="forbid")
    count: Annotated[int | None, Field(ge=1, le=1000000000)] = None
    """The number of packets."""
    duration: Duration | None = None
    """The duration of the flow."""
    gap: DurationVariate | None = None
    """The time from one departure to the next."""
    kind: Literal["packets"] = "packets"
    on_off: OnOff | None = None
    """Alternating times of sending and of silence."""
    rate: Rate | None = None
    """The payload rate, bits per second."""
    seed: Annotated[int | None, Field(ge=0)] = 0
    """Seed of the random numbers. Sizes, gaps and ON/OFF times are three independent sequences."""
    size: SizeVariate
    """The bytes of a packet's payload, at least 24 (for a number and two times)."""


class SweepTraffic(Generated):
    """Requests of many sizes in a random order on one connection. For each size a number of bytes is sent
    in requests of this size, each answered before the next."""

    model_config = ConfigDict(extra="forbid")
    answer: Answer
    """The answer that the receiver sends back: 24 bytes, or as many as the request has."""
    bytes: Size
    """The bytes sent for one measurement of a size, in one request or more. The last request may be
    shorter, but has at least 24 B."""
    first: Size
    """The smallest request, at least 24 B."""
    kind: Literal["sweep"] = "sweep"
    last: Size
    """The largest request; over UDP at most 65507 B (IPv4) or 65527 B (IPv6)."""
    repeats: Annotated[int | None, Field(ge=1)] = 1
    """The number of times that each size is measured in one trial."""
    seed: Annotated[int | None, Field(ge=0)] = 0
    """Seed of the random order."""
    step: Size
    """The step from one size to the next."""


class ToolTraffic(Generated):
    """Another program's traffic, measured by that program."""

    model_config = ConfigDict(extra="forbid")
    arguments: list[str] | None = None
    """Further options of the sending program. For `exec`, the command and its arguments, in which
    `{destination}`, `{source}` and `{port}` stand for the flow's."""
    block_size: Size | None = None
    """The bytes of the file in a block (RFC 2348); 512 if absent. TFTP only."""
    duration: Duration | None = None
    """The time for which the program sends, or within which a download is expected to end; only `exec`
    may leave it out."""
    kind: Literal["tool"] = "tool"
    rate: Rate | None = None
    """The payload rate, bits per second; if absent, the program sends as fast as it can."""
    request_response: bool | None = None
    """Send requests and responses instead of a stream; netperf only."""
    server_arguments: list[str] | None = None
    """Further options of the receiving program. For `exec`, a command for the receiving host, or none."""
    size: Size | None = None
    """The payload bytes of a packet, a write or a request; for downloads, those of the file."""
    tool: ToolName
    """The program; `ditg` is D-ITG, `exec` any command."""
    window_size: Annotated[int | None, Field(ge=0)] = None
    """The number of blocks that are sent before an acknowledgment is awaited (RFC 7440); 1 if absent.
    TFTP only."""


class Traffic(
    GeneratedRoot[
        TransferTraffic
        | FileTransferTraffic
        | RequestResponseTraffic
        | PacketsTraffic
        | SweepTraffic
        | ToolTraffic
    ]
):
    """The traffic that a flow sends."""


class Flow(Generated):
    """Traffic between two hosts."""

    model_config = ConfigDict(extra="forbid")
    from_: Annotated[str, Field(alias="from")]
    """The host that opens the connection. It sends the transfer, the packets or the requests."""
    ip: IpVersion
    """The IP version of the addresses that the flow uses."""
    name: str
    """The flow's name, which is unique in the scenario."""
    pair: Annotated[int | None, Field(ge=0)] = None
    """The pair of the hosts' addresses with which the flow begins, counted from 0 and starting over after
    the last pair. Further subflows use the following pairs."""
    socket: SocketOptions | None = None
    """The options of the flow's sockets."""
    start: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The start of the flow, relative to the instant at which all flows are ready."""
    to: str
    """The host that accepts the connection."""
    traffic: Traffic
    """The traffic that is sent."""
    transport: Transport
    """The protocol."""


class FrameErrors(GeneratedRoot[Literal["none", "awgn"]]):
    """The frames that are lost to noise."""


class GuestHardware(Generated):
    """The hardware of a guest."""

    model_config = ConfigDict(extra="forbid")
    coalescing: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The time for which the guest's interface collects outgoing packets into a batch; 0 sends at
    once."""
    memory: Annotated[Size | None, Field(validate_default=True)] = "512 MiB"
    """Memory of the guest, allocated from this machine's memory on demand."""
    pinned: Annotated[list[Annotated[int, Field(ge=0)]] | None, Field(validate_default=True)] = []
    """The CPUs of this machine, by number, to which the virtual CPUs are bound, one for each; where
    empty, the kernel chooses."""
    processors: Annotated[int | None, Field(ge=1, le=64)] = 1
    """Virtual CPUs."""


class HostCost(Generated):
    """The cost of packets to a simulated host. The host has one CPU, and work waits while the CPU is
    busy."""

    model_config = ConfigDict(extra="forbid")
    coalescing: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The time from the first packet until the interface interrupts, so that several packets share an
    interrupt."""
    per_interrupt: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The CPU time of an interrupt, which starts the work on all packets that have arrived since the
    previous interrupt."""
    per_kilobyte: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The CPU time of 1000 bytes sent or received, IP headers included."""
    per_packet: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The CPU time of a packet sent or received."""


class LossBursts(Generated):
    """Losses in bursts, by a good state, in which the impairment's `loss` applies, and a bad state
    (Gilbert 1960, Elliott 1963). The state may change before each frame, and the first state is good."""

    model_config = ConfigDict(extra="forbid")
    enter: Annotated[float | None, Field(ge=0, le=1)] = 0.0
    """The probability that the bad state begins; 0 means no bursts."""
    leave: Annotated[float | None, Field(ge=0, le=1)] = 1.0
    """The probability that the bad state ends."""
    loss: Annotated[float | None, Field(ge=0, le=1)] = 1.0
    """The probability that a frame is lost in the bad state."""


class Impairment(Generated):
    """Loss, duplication, reordering and jitter on a link. They apply after the queue, to each frame in
    each direction independently."""

    model_config = ConfigDict(extra="forbid")
    bursts: LossBursts | None = None
    """Losses in bursts, in addition to those of `loss`."""
    duplication: Annotated[float | None, Field(ge=0, le=1)] = 0.0
    """The probability that a frame arrives twice."""
    jitter: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The jitter: each frame's delay is drawn uniformly between the link's delay and this much more. The
    order of frames is kept."""
    loss: Annotated[float | None, Field(ge=0, le=1)] = 0.0
    """The probability that a frame is lost."""
    reordering: Annotated[float | None, Field(ge=0, le=1)] = 0.0
    """The probability that a frame is held back by `reordering_delay`, so that later ones overtake it."""
    reordering_delay: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The time for which a reordered frame is held back."""
    seed: Annotated[int | None, Field(ge=0)] = 0
    """Seed of the random numbers."""


class ReceiverUnknownGap(Generated):
    """The document is the server's, which sent and knows nothing of what the client received: the
    receiver's figures."""

    model_config = ConfigDict(extra="forbid")
    gap: Literal["receiver_unknown"] = "receiver_unknown"


class ArrivalsUnknownGap(Generated):
    """The document reports neither loss nor jitter, so that nothing says whether a packet arrived: the
    receiver's figures."""

    model_config = ConfigDict(extra="forbid")
    gap: Literal["arrivals_unknown"] = "arrivals_unknown"


class NothingArrivedGap(Generated):
    """No packet arrived: the jitter."""

    model_config = ConfigDict(extra="forbid")
    gap: Literal["nothing_arrived"] = "nothing_arrived"


class IntervalsOutOfOrderGap(Generated):
    """The intervals do not end one after the other: the intervals."""

    model_config = ConfigDict(extra="forbid")
    gap: Literal["intervals_out_of_order"] = "intervals_out_of_order"


class ContradictoryCountsGap(Generated):
    """The counts of packets contradict the bytes that arrived: the counts."""

    model_config = ConfigDict(extra="forbid")
    arrived_by_bytes_pkts: Annotated[int, Field(ge=0)]
    """The packets of which the bytes are that arrived."""
    arrived_pkts: Annotated[int, Field(ge=0)]
    """The packets that arrived according to the counts."""
    gap: Literal["contradictory_counts"] = "contradictory_counts"


class Iperf3Gap(
    GeneratedRoot[
        ReceiverUnknownGap
        | ArrivalsUnknownGap
        | NothingArrivedGap
        | IntervalsOutOfOrderGap
        | ContradictoryCountsGap
    ]
):
    """The reason why a direction lacks figures."""


class BadFieldRefusal(Generated):
    """A field has another value than iperf3 writes."""

    model_config = ConfigDict(extra="forbid")
    expected: str
    """The values that are expected, in words."""
    place: str
    """The path to the field, such as `end.sum.bytes`."""
    refusal: Literal["bad_field"] = "bad_field"
    value: str
    """The value, as in the document; shortened if it is long."""


class TestFailedRefusal(Generated):
    """The test failed."""

    model_config = ConfigDict(extra="forbid")
    error: str
    """iperf3's message."""
    refusal: Literal["test_failed"] = "test_failed"


class NoClientRefusal(Generated):
    """A server was ended while it waited for a client: there was no test."""

    model_config = ConfigDict(extra="forbid")
    error: str
    """iperf3's message."""
    refusal: Literal["no_client"] = "no_client"


class NoSettingsRefusal(Generated):
    """There is no `start.test_start`."""

    model_config = ConfigDict(extra="forbid")
    refusal: Literal["no_settings"] = "no_settings"


class NoAddressRefusal(Generated):
    """There is no address in `start.connected`."""

    model_config = ConfigDict(extra="forbid")
    refusal: Literal["no_address"] = "no_address"


class NoSumsRefusal(Generated):
    """There are no sums of the test."""

    model_config = ConfigDict(extra="forbid")
    refusal: Literal["no_sums"] = "no_sums"


class OtherRateRefusal(Generated):
    """A rate is not that of its bytes in their time."""

    model_config = ConfigDict(extra="forbid")
    bits_per_second: float
    """The rate, bits per second."""
    bytes: Annotated[int, Field(ge=0)]
    """The bytes."""
    refusal: Literal["other_rate"] = "other_rate"
    seconds: float
    """Their time, seconds."""


class NoFigureRefusal(Generated):
    """No figure of the test is known."""

    model_config = ConfigDict(extra="forbid")
    gaps: list[Iperf3Gap]
    """The reasons, as far as the document has them."""
    refusal: Literal["no_figure"] = "no_figure"


class Iperf3Refusal(
    GeneratedRoot[
        BadFieldRefusal
        | TestFailedRefusal
        | NoClientRefusal
        | NoSettingsRefusal
        | NoAddressRefusal
        | NoSumsRefusal
        | OtherRateRefusal
        | NoFigureRefusal
    ]
):
    """The reason why a document of iperf3 can't be used."""


class Iperf3Direction(Generated):
    """The streams of one direction of a test."""

    model_config = ConfigDict(extra="forbid")
    gaps: list[Iperf3Gap] | None = None
    """The figures that are absent for another reason than that the document does not have them."""
    record: FlowRecord
    """The figures. A distribution without values and an empty list are absent."""
    reverse: bool
    """True if the server sent."""


class Iperf3Test(Generated):
    """A test of iperf3, as a document describes it."""

    model_config = ConfigDict(extra="forbid")
    directions: list[Iperf3Direction]
    """The directions of the test: one, or the one from the client and then the one from the server."""
    ip: IpVersion
    """The version of IP."""
    started_s: Annotated[int | None, Field(ge=0)] = None
    """The beginning of the test, seconds since 1970-01-01 UTC; absent if the document does not say."""
    streams: Annotated[int, Field(ge=0)]
    """The number of streams in each direction."""
    system: str
    """The system of the host that wrote the document; empty if the document does not say."""
    transport: Transport
    """The transport."""
    version: str
    """The program and its version, such as `iperf 3.12`."""


class Iperf3Document(Generated):
    """A test of iperf3."""

    model_config = ConfigDict(extra="forbid")
    document: Literal["iperf3"] = "iperf3"
    test: Iperf3Test
    """The test."""


class RefusedDocument(Generated):
    """A document of iperf3 that can't be used."""

    model_config = ConfigDict(extra="forbid")
    document: Literal["refused"] = "refused"
    refusal: Iperf3Refusal
    """Why."""


class OtherDocument(Generated):
    """A part of the text that is no document of iperf3: the JSON of another program, or a rest that is
    not JSON."""

    model_config = ConfigDict(extra="forbid")
    document: Literal["other"] = "other"
    from_byte: Annotated[int, Field(ge=0)]
    """The place of its first byte in the text, in UTF-8."""
    to_byte: Annotated[int, Field(ge=0)]
    """The place after its last byte."""


class ImportedDocument(GeneratedRoot[Iperf3Document | RefusedDocument | OtherDocument]):
    """A document in the text of a file."""


class ImportedAnswer(Generated):
    """The text was read."""

    model_config = ConfigDict(extra="forbid")
    answer: Literal["imported"] = "imported"
    documents: list[ImportedDocument]
    """The documents in it, in their order."""


class ImportRefusedAnswer(Generated):
    """The line could not be read as a request, or its text is too long."""

    model_config = ConfigDict(extra="forbid")
    answer: Literal["refused"] = "refused"
    message: str
    """Why."""


class ImportAnswer(GeneratedRoot[ImportedAnswer | ImportRefusedAnswer]):
    """A line from an engine that reads measurements of iperf3."""


class ImportRequest(Generated):
    """A line to an engine that reads measurements of iperf3. Answered by [`ImportAnswer`]."""

    model_config = ConfigDict(extra="forbid")
    text: str
    """The text of a file: a JSON document, an array of documents, or documents one after the other, as
    iperf3's server and `iperf3 --json-stream` print them. At most [`ImportRequest::MOST_BYTES`] bytes in
    UTF-8."""


class InterfaceAddress(GeneratedRoot[str]):
    """An address and its prefix length, such as "10.0.0.1/24" or "fd00::1/64"."""

    root: Annotated[str, Field(pattern="^[0-9a-fA-F:.]+/[0-9]+$")]


class Interface(Generated):
    """An interface of a node."""

    model_config = ConfigDict(extra="forbid")
    addresses: Annotated[list[InterfaceAddress] | None, Field(validate_default=True)] = []
    """The addresses of the interface; a switch has none."""
    interface: str
    """The interface's name in the node: 1 to 15 letters, digits, `-`, `_`; unique in the node."""
    mtu: Size
    """The MTU of the interface: the largest IP packet that it sends, in bytes, without Ethernet's header,
    and on a link with a tunnel without the tunnel's header. With `nat64` it is that of the packets before
    they are translated to IPv4."""
    node: str
    """The node's name."""


class RateTrace(Generated):
    """A rate that changes in steps, as a trace of a cellular or satellite link does. Its time begins when
    all flows are ready, with the traffic; until then, the highest rate applies."""

    model_config = ConfigDict(extra="forbid")
    from_ns: list[Annotated[int, Field(ge=0)]]
    """The times from which the rates apply, in nanoseconds; the first is 0, and each is later than the
    one before."""
    rates_bps: list[Annotated[int, Field(ge=0)]]
    """The rate from each of these times, in bits per second on the wire; 0 where nothing is sent."""
    repeats_after_ns: Annotated[int | None, Field(ge=0)] = None
    """The time after which the trace begins again, in nanoseconds. If it is absent, the last rate
    stays."""


class Reverse(Generated):
    """The settings of a cable in the direction from its second interface to its first one. Absent
    settings are those of the other direction."""

    model_config = ConfigDict(extra="forbid")
    delay: Duration | None = None
    """The propagation delay, which replaces a trace of the other direction, too."""
    delay_trace: DelayTrace | None = None
    """The changes of the delay over time; `delay` is then the smallest of them."""
    discipline: Discipline | None = None
    """The discipline of the transmit queue."""
    impairment: Impairment | None = None
    """Loss, duplication, reordering and jitter, which replace all those of the other direction."""
    queue: QueueLimit | None = None
    """The limit of the transmit queue."""
    rate: Rate | None = None
    """The line rate, which replaces a trace of the other direction, too."""
    rate_trace: RateTrace | None = None
    """The changes of the rate over time; `rate` is then their mean."""


class Tunnel(GeneratedRoot[Literal["6in4", "4in6", "nat64"]]):
    """The tunnel, or the translation, by which a link carries packets in the other version of IP: with a
    header more, or with the other header instead."""


class RateControl(GeneratedRoot[Literal["fixed", "minstrel_ht"]]):
    """The way in which stations choose the MCS and the streams of their frames."""


class WlanDiscipline(GeneratedRoot[Literal["drop_tail", "fq_codel"]]):
    """The discipline that serves the packets queued at an interface of a radio channel."""


class WlanMode(GeneratedRoot[Literal["infrastructure", "ad_hoc"]]):
    """The way in which the stations of a channel reach each other."""


class WlanStandard(GeneratedRoot[Literal["a", "g", "n", "ac", "ax"]]):
    """The amendment of IEEE 802.11 whose modulation a channel's stations use."""


class WlanStation(Generated):
    """The settings of one station of a radio channel, or of the access point, that differ from the
    channel's."""

    model_config = ConfigDict(extra="forbid")
    mcs: Annotated[int | None, Field(ge=0, le=11)] = None
    """The MCS of frames from and to the station; the channel's if absent."""
    snr_db: Annotated[float | None, Field(ge=-20, le=80)] = None
    """The ratio of signal to noise between the station and the access point, in both directions, in place
    of positions."""
    streams: Annotated[int | None, Field(ge=1, le=4)] = None
    """The spatial streams of that MCS; the channel's if absent."""
    tx_power_dbm: Annotated[float | None, Field(ge=-10, le=36)] = None
    """The transmit power; the channel's if absent."""
    x_m: Annotated[float | None, Field(ge=-100000, le=100000)] = None
    """The position, metres. Either all nodes of the channel have a position or none has."""
    y_m: Annotated[float | None, Field(ge=-100000, le=100000)] = None
    """The second coordinate of the position, metres."""


class Wlan(Generated):
    """A radio channel after IEEE 802.11: an access point and its stations. Every frame of a station goes
    to the access point, and packets for another station cross the air again. All stations hear each
    other, unless they have positions."""

    model_config = ConfigDict(extra="forbid")
    ampdu: Annotated[int | None, Field(ge=1, le=256)] = None
    """The most MPDUs in an A-MPDU; 1 means no aggregation. If absent, as many as one BlockAck can
    acknowledge: 64 with n and ac, 256 with ax, 1 with a and g."""
    amsdu: Size | None = None
    """The largest A-MSDU; if absent, each MPDU has one packet."""
    band: Annotated[Band | None, Field(validate_default=True)] = "5 GHz"
    """The frequency band."""
    basic_rate: Annotated[Rate | None, Field(validate_default=True)] = "24 Mbit/s"
    """The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s."""
    beacon_interval: Annotated[Duration | None, Field(validate_default=True)] = "102.4 ms"
    """The time between beacons, 102.4 ms being 100 time units; 0 for none."""
    capture_db: Annotated[float | None, Field(ge=0, le=60)] = 10.0
    """The capture threshold: the ratio to all other signals at which a receiver can read a frame whose
    start overlaps with other frames."""
    carrier_sense_dbm: Annotated[float | None, Field(ge=-110, le=-20)] = -82.0
    """The power above which a station senses that another sends."""
    cts_to_self: bool | None = False
    """Each PPDU that does not begin with RTS begins with a CTS of its own sender (CTS-to-self)."""
    discipline: Annotated[WlanDiscipline | None, Field(validate_default=True)] = "drop_tail"
    """The discipline of each interface's queues."""
    fragmentation_threshold: Size | None = None
    """The fragmentation threshold, 256 to 2346 B: a larger MPDU is sent in fragments of at most this
    size. Only without aggregation."""
    frame_errors: Annotated[FrameErrors | None, Field(validate_default=True)] = "awgn"
    """The frames that are lost to noise."""
    guard_interval: Annotated[Duration | None, Field(validate_default=True)] = "800 ns"
    """The guard interval between symbols: 800 ns, and 400 ns with n and ac, and 1.6 us and 3.2 us with
    ax."""
    mcs: Annotated[int | None, Field(ge=0, le=11)] = 7
    """The modulation and coding of each stream, from 0: to 7 (a, g, n), 9 (ac), 11 (ax). The MCS 8 to 31
    of 802.11n are 0 to 7 with more streams."""
    mode: Annotated[WlanMode | None, Field(validate_default=True)] = "infrastructure"
    """The way in which stations reach each other."""
    mpdu_loss: Annotated[float | None, Field(ge=0, le=1)] = 0.0
    """The probability that an MPDU is lost to noise."""
    noise_figure_db: Annotated[float | None, Field(ge=0, le=30)] = 7.0
    """The noise of a receiver above thermal noise."""
    path_loss_at_1_m_db: Annotated[float | None, Field(ge=0, le=150)] = None
    """The path loss at a distance of 1 m; if absent, that of free space: 46.7 dB at 5 GHz, 40.2 dB at 2.4
    GHz."""
    path_loss_exponent: Annotated[float | None, Field(ge=1, le=8)] = 3.0
    """The exponent of path loss: at ten times the distance, the path loss is larger by ten times this
    value, in dB."""
    queue: Annotated[QueueLimit | None, Field(validate_default=True)] = "1000 packets"
    """The common limit of each interface's queues, beyond which they drop packets."""
    rate_control: Annotated[RateControl | None, Field(validate_default=True)] = "fixed"
    """The way in which stations choose the MCS and the streams."""
    rts_threshold: Annotated[Size | None, Field(validate_default=True)] = "64 KiB"
    """The RTS threshold: a PPDU with a larger MPDU begins with RTS and CTS. No MPDU is larger than the
    default, which turns RTS off; one with an A-MSDU can be larger than 2347 B."""
    standard: Annotated[WlanStandard | None, Field(validate_default=True)] = "n"
    """The amendment that all stations use."""
    stations: dict[str, WlanStation] | None = None
    """The settings of single stations, and of the access point, by node."""
    streams: Annotated[int | None, Field(ge=1, le=4)] = 1
    """Spatial streams, 1 to 4; 1 with a and g."""
    tries: Annotated[int | None, Field(ge=1, le=255)] = 7
    """The number of times that an MPDU is sent before it is dropped."""
    tx_power_dbm: Annotated[float | None, Field(ge=-10, le=36)] = 16.0
    """The transmit power."""
    width_mhz: Annotated[int | None, Field(ge=20, le=160)] = 20
    """The channel's width in MHz: 20, and 40 with n, ac and ax, and 80 and 160 with ac and ax."""


class Link(Generated):
    """A link between interfaces."""

    model_config = ConfigDict(extra="forbid")
    delay: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """The propagation delay in one direction."""
    delay_trace: DelayTrace | None = None
    """The changes of the delay over time, the same in both directions. `delay` is then the smallest of
    them."""
    discipline: Discipline | None = None
    """The discipline of each interface's transmit queue, which decides on drops and marks before the
    queue is full."""
    ends: list[Interface]
    """The interfaces that the link joins. A cable joins two; a radio channel joins the access point's
    interface, which comes first, and one interface of each station."""
    impairment: Impairment | None = None
    """Loss, duplication, reordering and jitter of the link's frames."""
    medium: Medium | None = None
    """The link's medium."""
    queue: QueueLimit | None = None
    """The limit of each interface's transmit queue, beyond which it drops packets. May be absent only if
    the rate is."""
    rate: Rate | None = None
    """The line rate, in which preamble, frame check sequence and inter-frame gap count, as on Ethernet.
    If absent, the link is not shaped."""
    rate_trace: RateTrace | None = None
    """The changes of the rate over time, the same in both directions. `rate` is then their mean, which
    stands for the link where one rate is needed, as for its share that was used."""
    reverse: Reverse | None = None
    """The settings of the direction from a cable's second interface to its first one, where they
    differ."""
    tunnel: Tunnel | None = None
    """The tunnel between the two nodes of a cable, which carries all packets of the link, or the
    translation to the other version of IP; if absent, they travel as they are."""
    wlan: Wlan | None = None
    """The settings of a radio channel, which has no rate, delay, queue, discipline or impairment of its
    own."""


class MtuMeans(GeneratedRoot[Literal["interface", "segments"]]):
    """The means by which the packets of a measurement get the size of an MTU."""


class MeasuredMtu(Generated):
    """An MTU whose packets are measured."""

    model_config = ConfigDict(extra="forbid")
    by: MtuMeans
    """The means by which packets get this size."""
    size: Size
    """The size of the largest IP packets."""


class Measure(Generated):
    """A line to an engine that measures between this machine and another one. Answered by
    [`Event::Record`], [`Event::Failed`], or [`Event::Checked`] with the problems of the flow."""

    model_config = ConfigDict(extra="forbid")
    congestion_control: str | None = None
    """The congestion control of both hosts' connections, by its name in their kernels; if absent, each
    host's own."""
    flow: Flow
    """The traffic, from `client` (this machine) to `server` (the other one) or back."""
    interval: Duration
    """The interval at which the flow's transport state is read."""
    mtu: MeasuredMtu | None = None
    """The MTU whose packets are measured; if absent, that of the interfaces as they are."""
    streams: Annotated[int | None, Field(ge=0)] = 1
    """The number of streams that carry this traffic at the same time, 1 to 128. Each is a flow of its
    own; of more than one, each name ends with the stream's number: `NAME-1`, `NAME-2`, and so on."""
    trial: str
    """Repeated in the answer."""


class QueueDrops(GeneratedRoot[Literal["allowed", "unexpected"]]):
    """The meaning of a full queue in the trial: expected, or a disturbance."""


class Measurement(Generated):
    """The measurements made in addition to those of every flow."""

    model_config = ConfigDict(extra="forbid")
    cpu: Annotated[list[str] | None, Field(validate_default=True)] = []
    """The hosts whose CPU time is measured. Each then needs a CPU of its own."""
    interval: Duration
    """The interval at which a flow's transport state is read."""
    packet_sizes: bool | None = None
    """Count the packets that each interface sends, by size."""
    queue_drops: QueueDrops
    """The rule for drops in a link's queue: `allowed` only counts them, `unexpected` also warns of
    them."""
    queue_interval: Duration | None = None
    """The mean interval at which the length of each shaped queue is read; if absent, lengths are not
    read. If it is given, records also have the delays at the stations of radio channels over time, in
    steps of 100 ms."""
    queue_series: bool | None = None
    """Keep each reading of a queue's length, with the bytes that the interface sent since the previous
    one. For simulated links only."""
    recovered_share: Annotated[float | None, Field(ge=0, le=1)] = None
    """A flow has recovered from an event once its goodput is back at this share of its value before; 0.5
    by default."""


class NodeKind(GeneratedRoot[Literal["host", "router", "switch"]]):
    """The kind of a node."""


class Scheduler(GeneratedRoot[Literal["linux", "lowest_rtt", "round_robin"]]):
    """The scheduler of an MPTCP connection, which chooses the subflow for the next data."""


class Stack(Generated):
    """A host's TCP settings: a profile such as `linux-cubic`, resolved."""

    model_config = ConfigDict(extra="forbid")
    congestion_control: str
    """The congestion control's name in the kernel, the program or the simulator."""
    ecn: bool | None = None
    """Request ECN on connections, by which packets are marked instead of dropped (RFC 3168;
    net.ipv4.tcp_ecn 1)."""
    minimum_rto: Duration | None = None
    """The smallest retransmission timeout (net.ipv4.tcp_rto_min_us); Linux's 200 ms if absent."""
    mtu_probing: bool | None = None
    """Search for the path MTU with the host's own segments once a connection stalls (RFC 4821;
    net.ipv4.tcp_mtu_probing 1)."""
    name: str
    """The profile's name, for tables."""
    program: str | None = None
    """The program whose TCP/IP the host has instead of its kernel's, by its name, such as `gvisor`; if
    absent, the host has its kernel's."""
    receive_buffer: Buffer
    """The receive buffer."""
    sack: bool
    """Selective acknowledgments (RFC 2018)."""
    scheduler: Scheduler | None = None
    """The scheduler of MPTCP connections."""
    send_buffer: Buffer
    """The send buffer."""
    small_queues: bool | None = None
    """TCP small queues: a connection keeps about a millisecond of its own data in its interface's queue,
    and sends on when some has left (net.ipv4.tcp_limit_output_bytes; Linux since 3.6). Without them, the
    congestion window alone limits what is there, and the queue's limit drops the rest."""
    timestamps: bool
    """Timestamps (RFC 7323 section 3), which take 12 bytes of every segment."""
    window_scaling: bool
    """Window scaling (RFC 7323 section 2)."""


class Node(Generated):
    """A host, router or switch."""

    model_config = ConfigDict(extra="forbid")
    cost: HostCost | None = None
    """The cost of packets to the host's one CPU; if absent, packets cost nothing. For simulated hosts
    only."""
    filters_icmp: bool | None = None
    """Originate no ICMP, so that senders do not learn why the router drops a packet. Only a router may
    have this setting."""
    guest: GuestHardware | None = None
    """The hardware of the guest, where the node is one."""
    kind: NodeKind
    """The kind of the node: host, router or switch."""
    machine: str | None = None
    """The name in the inventory of the user's machine that stands for the node; if absent, the inventory
    assigns a machine by the node's name. With the user's own machines, and on the lab's links."""
    name: str
    """The node's name, which is unique in the scenario: letters, digits, `-` and `_`."""
    offloads: Annotated[Offloads | None, Field(validate_default=True)] = {
        "tso": False,
        "gso": False,
        "gro": False,
    }
    """The offloads that the node's interfaces use."""
    stack: Stack | None = None
    """The host's TCP/IP settings. A host must have one; a router and a switch must not."""
    sysctls: dict[str, str] | None = None
    """Sysctls of the host's network namespace by name, such as `net.ipv4.tcp_rmem`, each with its words
    separated by single spaces. They override what the stack sets. Only a host whose TCP/IP is its
    kernel's has them."""
    system: str | None = None
    """The operating system that the host or router runs as a guest, a virtual machine on this one, by its
    name in `nettrial systems list`; where absent, it has this machine's own kernel. In virtual time, the
    kernel of that name, which is that of all hosts."""


class Outage(Generated):
    """A link or node that fails while traffic goes, and may return."""

    model_config = ConfigDict(extra="forbid")
    at: Duration
    """The time of the failure, after all flows are ready."""
    fails: list[str]
    """The names of the two nodes between which every cable fails, or that of a router or switch, with
    which all of its cables fail."""
    returns: Duration | None = None
    """The time of its return, after all flows are ready; where absent it stays away."""


class ShortestPath(Generated):
    """Packets take the path with the fewest links; of equal paths, the one over the links named first."""

    model_config = ConfigDict(extra="forbid")
    policy: Literal["shortest_path"] = "shortest_path"


class Ecmp(Generated):
    """Each flow takes one of the paths with the fewest links (RFC 2992). Every node chooses the next hop
    by a hash of addresses, protocol and ports."""

    model_config = ConfigDict(extra="forbid")
    policy: Literal["ecmp"] = "ecmp"
    seed: Annotated[int | None, Field(ge=0)] = 0
    """The seed from which each node's hash follows."""


class KShortestPaths(Generated):
    """The i-th pair of addresses of two hosts that exchange a flow takes the i-th shortest path without a
    loop (Yen 1971) in both directions. If there are fewer paths, they are used again from the first
    on."""

    model_config = ConfigDict(extra="forbid")
    paths: Annotated[int, Field(ge=0)]
    """The largest number of paths that are used."""
    policy: Literal["k_shortest_paths"] = "k_shortest_paths"


class SpanningTree(Generated):
    """Packets follow a spanning tree of routers, which block the links that would close a loop as
    switches do (IEEE 802.1D). The tree consists of the shortest paths from the router named first; all
    links have the same cost."""

    model_config = ConfigDict(extra="forbid")
    policy: Literal["spanning_tree"] = "spanning_tree"


class RoutingPolicy(GeneratedRoot[ShortestPath | Ecmp | KShortestPaths | SpanningTree]):
    """The policy by which a path is chosen. With every policy, switches forward frames along one spanning
    tree (IEEE 802.1D)."""


class Scenario(Generated):
    """One trial, fully resolved."""

    model_config = ConfigDict(extra="forbid")
    controller: Controller | None = None
    """The OpenFlow controller of the switches. If absent, they are learning bridges that forward along a
    spanning tree."""
    events: list[Outage] | None = None
    """The links and nodes that fail while traffic goes."""
    format: Annotated[int, Field(ge=0)]
    """The document's version: [`FORMAT`]."""
    links: list[Link]
    """Links between nodes."""
    measurement: Measurement
    """The measurements made in addition to those of every flow."""
    nodes: list[Node]
    """Hosts, routers and switches, each with a unique name."""
    routing: RoutingPolicy
    """The policy by which one of several paths is chosen."""
    seed: Annotated[int | None, Field(ge=0)] = None
    """Seed of the random numbers of a trial, simulated or in virtual time, that have no seed of their
    own: the start of each flow within its first millisecond, and the ports of connections, or all that
    the kernel in virtual time draws. Real hosts choose these themselves."""
    workload: list[Flow]
    """The flows, all started relative to the same instant."""


class PreflightRequest(Generated):
    """Asks whether this machine can run trials at all. Answered by [`Event::Preflight`]."""

    model_config = ConfigDict(extra="forbid")
    request: Literal["preflight"] = "preflight"
    thorough: bool | None = False
    """Also try each congestion control that the engine brings, which takes the kernel a second. Otherwise
    each is tried when a scenario names it."""


class CheckRequest(Generated):
    """Asks whether this backend could run this scenario. Nothing is built. Answered by
    [`Event::Checked`]."""

    model_config = ConfigDict(extra="forbid")
    request: Literal["check"] = "check"
    scenario: Scenario
    """The scenario."""


class RunRequest(Generated):
    """Runs a trial. Answered by [`Event::Record`] or [`Event::Failed`]."""

    model_config = ConfigDict(extra="forbid")
    capture: Capture | None = None
    """The packets to capture and their directory; if absent, nothing is captured."""
    request: Literal["run"] = "run"
    scenario: Scenario
    """The scenario."""
    threads: Annotated[int | None, Field(ge=0)] = 1
    """The number of threads in which the simulator may run the trial. The record does not depend on
    it."""
    trial: str
    """Repeated in the answer."""


class Request(GeneratedRoot[PreflightRequest | CheckRequest | RunRequest]):
    """A line to the engine, which answers each by one event."""


class Protocol(Generated):
    """The roots of everything that crosses the engine's standard input and output."""

    event: Event
    import_answer: ImportAnswer
    import_request: ImportRequest
    measure: Measure
    request: Request
