"""The scenario, the record, and the lines that carry them: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
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
    The host or flow it would be of.
    """
    reason: str
    """
    Why it is absent.
    """


class Airtime(Generated):
    """
    The time for which a station used a channel, by purpose, in picoseconds, without collisions.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    data_ps: Annotated[int, Field(ge=0)]
    """
    MPDUs that arrived: the part of the PPDUs that their bytes take.
    """
    errors_ps: Annotated[int, Field(ge=0)]
    """
    MPDUs that were lost to noise or interference.
    """
    overhead_ps: Annotated[int, Field(ge=0)]
    """
    Preambles, padding, inter-frame spaces within an exchange, acknowledgments, RTS, CTS and beacons. An exchange
    that is not over counts as overhead.
    """


class Answer(RootModel[Literal["acknowledgment", "echo"]]):
    root: Literal["acknowledgment", "echo"]
    """
    The answer that the receiver sends back.
    """


class Band(RootModel[Literal["2.4 GHz", "5 GHz"]]):
    root: Literal["2.4 GHz", "5 GHz"]
    """
    The frequency band of a channel.
    """


class Callbacks(Generated):
    """
    The number of calls by the kernel to each function of a congestion control (struct tcp_congestion_ops,
    include/net/tcp.h).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    cong_avoid: Annotated[int, Field(ge=0)]
    """
    For the window's growth by what was acknowledged.
    """
    coupled: Annotated[int, Field(ge=0)]
    """
    Calls, of those above, that saw two or more subflows of their connection.
    """
    init: Annotated[int, Field(ge=0)]
    """
    For a new connection or subflow.
    """
    pkts_acked: Annotated[int, Field(ge=0)]
    """
    With the round-trip time of an acknowledgment.
    """
    release: Annotated[int, Field(ge=0)]
    """
    For one that ends; most end after the traffic, and are not counted.
    """
    repaired: Annotated[int, Field(ge=0)]
    """
    Calls that the kernel left out, taking for the answer what was none, and whose windows were put right.
    """
    ssthresh: Annotated[int, Field(ge=0)]
    """
    For the window after a loss.
    """
    undo_cwnd: Annotated[int, Field(ge=0)]
    """
    To take back a reduction that was for no loss.
    """


class Capture(Generated):
    """
    The packets of a trial that are captured, and their directory. Capturing is no part of the scenario: what is
    measured means the same with it and without it, but for what it costs.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    directory: str
    """
    The directory of the files, which must exist.
    """
    interfaces: list[str] | None = None
    """
    The interfaces, each a node's name (all its interfaces) or `NODE:INTERFACE`; every interface where it is empty. A radio
    channel is an interface of its access point, `INTERFACE-air`.
    """
    name: str
    """
    The trial as it stands in the files' names, one an interface: `NAME-NODE-INTERFACE.pcapng`.
    """
    snap_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes kept of each frame, Ethernet's header counted.
    """


class Check(Generated):
    """
    Something verified around the traffic.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    expected: str
    """
    The value that the scenario implies.
    """
    found: str
    """
    The value that was found.
    """
    name: str
    """
    The name of the check: `path_mtu`, `mss`, `congestion_control`, `congestion_control_ran`, `clock`.
    """
    object: str
    """
    On what: a flow, a host, a direction.
    """
    passed: bool
    """
    True if they agree.
    """


class CongestionRecord(Generated):
    """
    A congestion control of nettrial's own in the kernel, over the traffic's time.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    callbacks: Callbacks
    """
    The number of calls by the kernel, on all hosts together.
    """
    name: str
    """
    Its name in the scenario.
    """


class Connecting(RootModel[Literal["once", "each_request"]]):
    root: Literal["once", "each_request"]
    """
    The occasions on which a connection is opened.
    """


class DelaySample(Generated):
    """
    The delays at a station of a radio channel in 100 ms. One is absent where nothing was sent.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_ns: Annotated[int, Field(ge=0)]
    """
    The beginning of these 100 ms, after the trial's beginning.
    """
    contention_delay_ns: Annotated[int | None, Field(ge=0)] = None
    """
    From the moment at which the station might contend until it sent, the mean over its attempts.
    """
    queue_delay_ns: Annotated[int | None, Field(ge=0)] = None
    """
    From the arrival of the IP packets that were sent for the first time until then, the mean.
    """


class DropTail(Generated):
    """
    The limit alone drops.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    discipline: Literal["drop_tail"] = "drop_tail"


class Distribution(Generated):
    """
    A set of values by its summary.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    count: Annotated[int, Field(ge=0)]
    """
    The number of values; with none, all other fields are 0.
    """
    deviation: float
    """
    Standard deviation of the values.
    """
    maximum: float
    """
    Largest.
    """
    mean: float
    """
    Arithmetic mean.
    """
    minimum: float
    """
    Smallest.
    """
    p50: float
    """
    Median.
    """
    p90: float
    """
    90th percentile.
    """
    p99: float
    """
    99th percentile.
    """
    p99_9: float | None = None
    """
    Percentile 99.9; absent with fewer than 1000 values, for it would be the largest.
    """
    p99_99: float | None = None
    """
    Percentile 99.99; absent with fewer than 10 000 values.
    """
    p99_999: float | None = None
    """
    Percentile 99.999; absent with fewer than 100 000 values.
    """


class Duration(RootModel[str]):
    root: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|min)$")]
    """
    A duration, such as "20 ms".
    """


class DurationShare(Generated):
    """
    A value of a mix.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    share: float
    """
    The relative frequency of the value, in proportion to the others' shares.
    """
    value: Duration
    """
    The value.
    """


class DurationTruncation(Generated):
    """
    The bounds at which a distribution is cut off, bounds included; what is cut off is drawn again.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    maximum: Duration | None = None
    """
    The largest value kept.
    """
    minimum: Duration | None = None
    """
    The smallest value kept.
    """


class Constant(Generated):
    """
    Always the same.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["constant"] = "constant"
    value: Duration
    """
    The value.
    """


class Uniform(Generated):
    """
    Each value between two bounds as likely as another.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["uniform"] = "uniform"
    maximum: Duration
    """
    The largest.
    """
    minimum: Duration
    """
    The smallest.
    """


class Exponential(Generated):
    """
    Gaps of a Poisson process: density exp(−x/mean)/mean.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["exponential"] = "exponential"
    mean: Duration
    """
    The mean, before truncation.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Normal(Generated):
    """
    The bell curve. It needs a minimum of zero or more.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    deviation: Duration
    """
    The standard deviation, before truncation.
    """
    distribution: Literal["normal"] = "normal"
    mean: Duration
    """
    The mean, before truncation.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Pareto(Generated):
    """
    P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape above 1.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["pareto"] = "pareto"
    scale: Duration
    """
    The smallest value.
    """
    shape: float
    """
    The tail's exponent.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Cauchy(Generated):
    """
    Density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless cut off on both sides.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["cauchy"] = "cauchy"
    location: Duration
    """
    The median, before truncation.
    """
    scale: Duration
    """
    Half the width at half the height.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Gamma(Generated):
    """
    Density ∝ x^(shape − 1) exp(−x/scale).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["gamma"] = "gamma"
    scale: Duration
    """
    The scale; the mean is shape × scale.
    """
    shape: float
    """
    The shape.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Weibull(Generated):
    """
    P(X > x) = exp(−(x/scale)^shape).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["weibull"] = "weibull"
    scale: Duration
    """
    The scale.
    """
    shape: float
    """
    The shape.
    """
    truncation: DurationTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Mix(Generated):
    """
    A few values, each with its share, such as an Internet mix (IMIX, RFC 6985).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["mix"] = "mix"
    shares: list[DurationShare]
    """
    The values.
    """


class Listed(Generated):
    """
    These values in this order, again from the first after the last.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["listed"] = "listed"
    values: list[Duration]
    """
    The values.
    """


class DurationVariate(
    RootModel[
        Constant
        | Uniform
        | Exponential
        | Normal
        | Pareto
        | Cauchy
        | Gamma
        | Weibull
        | Mix
        | Listed
    ]
):
    root: (
        Constant
        | Uniform
        | Exponential
        | Normal
        | Pareto
        | Cauchy
        | Gamma
        | Weibull
        | Mix
        | Listed
    )
    """
    A constant or random quantity: a distribution, its parameters, and where it is cut off. What is cut
    off is drawn again, so the rest keeps its shape (a truncated distribution). Without a truncation,
    draws below zero and means that do not exist are errors, not surprises.
    """


class Estimate(Generated):
    """
    The work of simulating a scenario.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    packet_hops: Annotated[int, Field(ge=0)]
    """
    The number of times that packets would pass a link, were there no losses.
    """
    seconds: float
    """
    The time that this takes one CPU, seconds.
    """


class FailedEvent(Generated):
    """
    A trial that gave no record.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["failed"] = "failed"
    message: str
    """
    The action that failed, and the error.
    """
    trial: str
    """
    The request's.
    """


class RefusedEvent(Generated):
    """
    The line could not be read as a request.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["refused"] = "refused"
    message: str
    """
    Why.
    """


class Figure(RootModel[Literal["channels", "cpu", "interfaces", "owd_error"]]):
    root: Literal["channels", "cpu", "interfaces", "owd_error"]
    """
    A part of the record that a backend may not be able to measure, whatever the scenario asks for.
    """


class FrameErrors(RootModel[Literal["none", "awgn"]]):
    root: Literal["none", "awgn"]
    """
    The frames that noise takes.
    """


class Histogram(RootModel[str]):
    root: str
    """
    All values of a figure: an HDR histogram with three significant digits, in nanoseconds, in the
    library's V2 encoding, deflated, in base 64 (RFC 4648), as every HdrHistogram implementation reads it.
    """


class HostCost(Generated):
    """
    The cost of packets to a simulated host, which has one CPU: work that finds it busy waits.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    coalescing: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    The time from the first packet until the interface interrupts, so that more packets share the interrupt.
    """
    per_interrupt: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    CPU time of an interrupt, which begins the work of all packets that have arrived since the one
    before.
    """
    per_kilobyte: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    CPU time of 1000 bytes sent or received, IP headers included.
    """
    per_packet: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    CPU time of a packet sent or received.
    """


class HostRecord(Generated):
    """
    A host's figures.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    cpu_busy_ns: Annotated[int | None, Field(ge=0)] = None
    """
    The same, in nanoseconds.
    """
    cpu_percent: float | None = None
    """
    Time that CPU was not idle while traffic went, interrupts included, in percent.
    """
    name: str
    """
    The host's name.
    """
    processor: Annotated[int | None, Field(ge=0)] = None
    """
    The CPU its work was kept on, if it was.
    """
    processor_shared_with: list[str]
    """
    Other nodes whose forwarding fell on the same CPU, and the engine's own work there (`delay
    line`, `packet counter`, `queue sampler`).
    """
    service_demand_us_per_kb: float | None = None
    """
    CPU time per kilobyte (1000 bytes) of the payload that the host's transfers moved,
    microseconds (netperf's service demand).
    """


class InterfaceAddress(RootModel[str]):
    root: Annotated[str, Field(pattern="^[0-9a-fA-F:.]+/[0-9]+$")]
    """
    An address and its prefix length, such as "10.0.0.1/24" or "fd00::1/64".
    """


class InterfaceSample(Generated):
    """
    An interface at one moment.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_ns: Annotated[int, Field(ge=0)]
    """
    The time after the trial's beginning.
    """
    queue_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes in its queue as they will occupy the wire.
    """
    queue_pkts: Annotated[int, Field(ge=0)]
    """
    Packets in its queue.
    """
    utilisation_percent: float
    """
    The same as a share of what the link's rate allows, in percent.
    """
    wire_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes sent since the sample before, as they occupy the wire.
    """


class SubflowByte(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class SubflowCwndPkt(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class Interval(Generated):
    """
    A flow's transport state at one moment.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_ns: Annotated[int, Field(ge=0)]
    """
    The time after the instant at which all flows were ready.
    """
    bytes: Annotated[int, Field(ge=0)]
    """
    Application bytes since the interval before: acknowledged (TCP_INFO tcpi_bytes_acked), or over
    UDP sent.
    """
    cwnd_pkts: Annotated[int, Field(ge=0)]
    """
    Congestion window in segments, of MPTCP the sum of the subflows'; 0 while no connection is open.
    """
    delivery_rate_bps: Annotated[int | None, Field(ge=0)] = None
    """
    The kernel's estimate of the rate at which data arrives (TCP_INFO tcpi_delivery_rate).
    """
    min_rtt_us: Annotated[int, Field(ge=0)]
    """
    Smallest round-trip time of this connection; 0 while no connection is open.
    """
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """
    Segments retransmitted since the interval before.
    """
    srtt_us: Annotated[int, Field(ge=0)]
    """
    Smoothed round-trip time, of MPTCP the mean of the subflows'; 0 while no connection is open.
    """
    subflow_bytes: list[SubflowByte] | None = None
    """
    Application bytes of each subflow since the interval before, in the record's order. MPTCP only.
    """
    subflow_cwnd_pkts: list[SubflowCwndPkt] | None = None
    """
    Congestion window in segments of each subflow, in the same order; 0 while it is not open. MPTCP only.
    """


class IpVersion(RootModel[Literal[4, 6]]):
    root: Literal[4, 6]
    """
    Which Internet Protocol: 4 or 6.
    """


class LossBursts(Generated):
    """
    Losses in bursts: a good state, in which `loss` of the impairment holds, and a bad one (Gilbert 1960, Elliott
    1963). The state may change before each frame; the first is good.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    enter: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.0
    """
    The probability that the bad state begins; with 0 there are no bursts.
    """
    leave: Annotated[float | None, Field(ge=0.0, le=1.0)] = 1.0
    """
    The probability that it ends.
    """
    loss: Annotated[float | None, Field(ge=0.0, le=1.0)] = 1.0
    """
    The probability that a frame is lost in it.
    """


class MachineReach(Generated):
    """
    The size in which packets reach another machine.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    ip: IpVersion
    """
    The IP version of the machines' addresses that were used.
    """
    passed_bytes: Annotated[int, Field(ge=0)]
    """
    The largest that passed without being fragmented, bytes; 0 where none did.
    """
    to: str
    """
    The other machine's name.
    """
    tried_bytes: Annotated[int, Field(ge=0)]
    """
    The largest IP packet that was tried: what both interfaces admit, bytes.
    """


class Medium(RootModel[Literal["cable", "wlan"]]):
    root: Literal["cable", "wlan"]
    """
    The medium that carries a link's frames between its interfaces.
    """


class NodeKind(RootModel[Literal["host", "router", "switch"]]):
    root: Literal["host", "router", "switch"]
    """
    The kind of a node, which decides what it does with packets.
    """


class Offloads(Generated):
    """
    The work that interfaces do in larger pieces than a packet. All are off unless asked for, so
    that an MTU means what it says (a virtual link passes 64 KiB "packets" otherwise).
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
    Generic segmentation offload: the kernel cuts them just before the interface.
    """
    tso: bool | None = False
    """
    TCP segmentation offload: the interface cuts segments.
    """


class OnOff(Generated):
    """
    Times of sending and of silence in turn, the first one of sending.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    off: DurationVariate
    """
    The time for which none are sent.
    """
    on: DurationVariate
    """
    The time for which packets are sent.
    """


class Pacing(Generated):
    """
    A sender's accuracy in keeping to its departures.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    asked_bps: float
    """
    The payload rate that the departures asked for imply, bits per second.
    """
    cpu_percent: float | None = None
    """
    CPU time of the sending thread in percent of the flow's time, where the system tells it.
    """
    lateness_us: Distribution
    """
    The time after its departure at which each packet was handed to the kernel.
    """
    sent_bps: float
    """
    The payload rate sent, bits per second.
    """


class PacketCounts(Generated):
    """
    The packets of a flow received, lost, reordered and duplicated, from their sequence numbers: loss, reordering
    and duplication are three figures, and none hides another.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    duplicated_pkts: Annotated[int | None, Field(ge=0)] = None
    """
    Arrived again (RFC 5560); absent where a tool does not say.
    """
    longest_loss_burst_pkts: Annotated[int | None, Field(ge=0)] = None
    """
    The longest run; absent where a tool does not say.
    """
    loss_bursts: Annotated[int | None, Field(ge=0)] = None
    """
    Runs of losses without an arrival between them (RFC 3357); absent where a tool does not say.
    """
    lost_pkts: Annotated[int, Field(ge=0)]
    """
    Sent and never arrived (RFC 7680).
    """
    received_pkts: Annotated[int, Field(ge=0)]
    """
    Different packets that arrived.
    """
    reordered_pkts: Annotated[int | None, Field(ge=0)] = None
    """
    Arrived after one that was sent later (RFC 4737 section 3.3); absent where a tool does not say.
    """
    send_errors_pkts: Annotated[int, Field(ge=0)]
    """
    Refused by the sender's kernel, and not counted as sent.
    """
    sent_pkts: Annotated[int, Field(ge=0)]
    """
    Handed to the kernel by the sender.
    """


class PacketSize(Generated):
    """
    The number of packets of one size that an interface sent.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    packets: Annotated[int, Field(ge=0)]
    """
    The number of packets.
    """
    size_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes of the IP packet; a GSO packet that the link's far end will not see cut (TSO, GSO)
    counts as what it is.
    """


class Phases(Generated):
    """
    The time that each phase of a trial took, by the monotonic clock; of the simulator `traffic_ns` alone, in
    simulated time.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    checks_ns: Annotated[int, Field(ge=0)]
    """
    Starting the agents and checking the path.
    """
    network_ns: Annotated[int, Field(ge=0)]
    """
    Namespaces, links, addresses, routes, queues.
    """
    tear_down_ns: Annotated[int, Field(ge=0)]
    """
    Collecting results and taking the network down.
    """
    traffic_ns: Annotated[int, Field(ge=0)]
    """
    From the start of the first flow to the end of the last.
    """


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
    Why, and what to do.
    """
    object: str
    """
    The object that has the setting, in words: "link sender - router".
    """
    of_machine: bool | None = None
    """
    True where nothing is wrong with the document, and a machine lacks what it needs.
    """
    pointer: str
    """
    The bad value's place in the document: a JSON pointer (RFC 6901). Of a setting that is absent, the place
    where it would be.
    """
    setting: str
    """
    The setting's name: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …
    """
    value: str
    """
    The bad value.
    """


class ProcessorRecord(Generated):
    """
    A CPU while traffic went.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    busy_percent: float
    """
    Time it was neither idle nor taken by the hypervisor, in percent.
    """
    frequency_mhz: float | None = None
    """
    Its clock as the traffic ended; absent where the kernel does not say (cpufreq; virtual machines seldom
    have it).
    """
    number: Annotated[int, Field(ge=0)]
    """
    Its number.
    """
    stolen_percent: float
    """
    Time the hypervisor took, in percent.
    """


class QueueDrops(RootModel[Literal["allowed", "unexpected"]]):
    root: Literal["allowed", "unexpected"]
    """
    The role of a full queue in the trial: expected, or a disturbance.
    """


class QueueLimit(RootModel[str]):
    root: Annotated[
        str,
        Field(
            pattern="^([0-9]+ ?packets|[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB))$"
        ),
    ]
    """
    What a queue holds at most: "1000 packets", or a size such as "64 KiB".
    """


class Rate(RootModel[str]):
    root: Annotated[
        str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(bit/s|kbit/s|Mbit/s|Gbit/s|Tbit/s)$")
    ]
    """
    A rate, such as "1 Gbit/s".
    """


class RateControl(RootModel[Literal["fixed", "minstrel_ht"]]):
    root: Literal["fixed", "minstrel_ht"]
    """
    The way in which stations choose the MCS and the streams by which they send.
    """


class RateSample(Generated):
    """
    The mean rate of the PPDUs that a station of a radio channel sent in 100 ms.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_ns: Annotated[int, Field(ge=0)]
    """
    The beginning of these 100 ms, after the trial's beginning.
    """
    rate_bps: Annotated[int, Field(ge=0)]
    """
    The mean of the PPDUs' rates.
    """


class RateUse(Generated):
    """
    The use of a rate by a station of a radio channel.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    mcs: Annotated[int, Field(ge=0)]
    """
    The MCS of each.
    """
    ppdus: Annotated[int, Field(ge=0)]
    """
    PPDUs sent by it, those that collided counted.
    """
    streams: Annotated[int, Field(ge=0)]
    """
    Spatial streams.
    """


class PreflightRequest(Generated):
    """
    Can this machine run trials at all? Answered by [`Event::Preflight`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    request: Literal["preflight"] = "preflight"
    thorough: bool | None = False
    """
    Try each congestion control that the engine brings, too: the kernel takes a second for them.
    Without it they are tried when a scenario names them.
    """


class ShortestPath(Generated):
    """
    The path of the fewest links; among equals, the one over the links named first.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    policy: Literal["shortest_path"] = "shortest_path"


class Ecmp(Generated):
    """
    Each flow takes one of the paths with the fewest links (RFC 2992): every node chooses the next hop by
    a hash of addresses, protocol and ports.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    policy: Literal["ecmp"] = "ecmp"
    seed: Annotated[int | None, Field(ge=0)] = 0
    """
    Seed that makes the hash of each node another.
    """


class KShortestPaths(Generated):
    """
    The i-th pair of addresses of two hosts that exchange a flow takes the i-th shortest path without a
    loop (Yen 1971), there and back; where there are fewer paths, it starts over.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    paths: Annotated[int, Field(ge=0)]
    """
    The largest number of paths that are used.
    """
    policy: Literal["k_shortest_paths"] = "k_shortest_paths"


class SpanningTree(Generated):
    """
    The one path that is left where every router blocks what would close a loop, as switches do (IEEE
    802.1D): a tree of the shortest paths from the router named first, each link at the same cost.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    policy: Literal["spanning_tree"] = "spanning_tree"


class RoutingPolicy(RootModel[ShortestPath | Ecmp | KShortestPaths | SpanningTree]):
    root: ShortestPath | Ecmp | KShortestPaths | SpanningTree
    """
    The policy by which a path is chosen. Switches forward frames along one spanning tree whatever the policy (IEEE
    802.1D).
    """


class Scheduler(RootModel[Literal["lowest_rtt", "round_robin"]]):
    root: Literal["lowest_rtt", "round_robin"]
    """
    The rule by which a subflow of an MPTCP connection takes the next data, of those whose congestion window has
    room.
    """


class Setting(
    RootModel[
        Literal[
            "block",
            "bursts",
            "cost",
            "ecn",
            "filters_icmp",
            "impairment",
            "machine",
            "minimum_rto",
            "mtu_probing",
            "packet_sizes",
            "pair",
            "queue_interval",
            "queue_series",
            "routing",
            "scheduler",
            "udp_gro",
            "udp_gso",
            "window",
            "zerocopy",
        ]
    ]
):
    root: Literal[
        "block",
        "bursts",
        "cost",
        "ecn",
        "filters_icmp",
        "impairment",
        "machine",
        "minimum_rto",
        "mtu_probing",
        "packet_sizes",
        "pair",
        "queue_interval",
        "queue_series",
        "routing",
        "scheduler",
        "udp_gro",
        "udp_gso",
        "window",
        "zerocopy",
    ]
    """
    A setting that not every backend follows. Its default is followed everywhere.
    """


class Shortfall(Generated):
    """
    Something the machine lacks.
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


class SizeRecord(Generated):
    """
    The results of one size of a sweep; each list has one entry a repeat, in the order they were measured.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    resent_pkts: Annotated[int, Field(ge=0)]
    """
    Requests that had to be retransmitted (UDP), all repeats.
    """
    rtt_minimum_us: list[float]
    """
    The smallest time of the same requests, microseconds.
    """
    rtt_us: list[float]
    """
    The mean time from sending a request to reading its answer, microseconds: of requests of the full
    size that were sent once, or, where there is none, of all.
    """
    size_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes of a request.
    """
    total_us: list[float]
    """
    The time that all bytes took, microseconds.
    """


class SizeShare(Generated):
    """
    A value of a mix.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    share: float
    """
    The relative frequency of the value, in proportion to the others' shares.
    """
    value: Size
    """
    The value.
    """


class SizeTruncation(Generated):
    """
    The bounds at which a distribution is cut off, bounds included; what is cut off is drawn again.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    maximum: Size | None = None
    """
    The largest value kept.
    """
    minimum: Size | None = None
    """
    The smallest value kept.
    """


class Constant1(Generated):
    """
    Always the same.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["constant"] = "constant"
    value: Size
    """
    The value.
    """


class Uniform1(Generated):
    """
    Each value between two bounds as likely as another.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["uniform"] = "uniform"
    maximum: Size
    """
    The largest.
    """
    minimum: Size
    """
    The smallest.
    """


class Exponential1(Generated):
    """
    Gaps of a Poisson process: density exp(−x/mean)/mean.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["exponential"] = "exponential"
    mean: Size
    """
    The mean, before truncation.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Normal1(Generated):
    """
    The bell curve. It needs a minimum of zero or more.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    deviation: Size
    """
    The standard deviation, before truncation.
    """
    distribution: Literal["normal"] = "normal"
    mean: Size
    """
    The mean, before truncation.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Pareto1(Generated):
    """
    P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape above 1.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["pareto"] = "pareto"
    scale: Size
    """
    The smallest value.
    """
    shape: float
    """
    The tail's exponent.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Cauchy1(Generated):
    """
    Density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless cut off on both sides.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["cauchy"] = "cauchy"
    location: Size
    """
    The median, before truncation.
    """
    scale: Size
    """
    Half the width at half the height.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Gamma1(Generated):
    """
    Density ∝ x^(shape − 1) exp(−x/scale).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["gamma"] = "gamma"
    scale: Size
    """
    The scale; the mean is shape × scale.
    """
    shape: float
    """
    The shape.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Weibull1(Generated):
    """
    P(X > x) = exp(−(x/scale)^shape).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["weibull"] = "weibull"
    scale: Size
    """
    The scale.
    """
    shape: float
    """
    The shape.
    """
    truncation: SizeTruncation | None = None
    """
    The bounds at which it is cut off.
    """


class Mix1(Generated):
    """
    A few values, each with its share, such as an Internet mix (IMIX, RFC 6985).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["mix"] = "mix"
    shares: list[SizeShare]
    """
    The values.
    """


class Listed1(Generated):
    """
    These values in this order, again from the first after the last.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    distribution: Literal["listed"] = "listed"
    values: list[Size]
    """
    The values.
    """


class SizeVariate(
    RootModel[
        Constant1
        | Uniform1
        | Exponential1
        | Normal1
        | Pareto1
        | Cauchy1
        | Gamma1
        | Weibull1
        | Mix1
        | Listed1
    ]
):
    root: (
        Constant1
        | Uniform1
        | Exponential1
        | Normal1
        | Pareto1
        | Cauchy1
        | Gamma1
        | Weibull1
        | Mix1
        | Listed1
    )
    """
    A constant or random quantity: a distribution, its parameters, and where it is cut off. What is cut
    off is drawn again, so the rest keeps its shape (a truncated distribution). Without a truncation,
    draws below zero and means that do not exist are errors, not surprises.
    """


class SocketOptions(Generated):
    """
    Options of a flow's sockets, at both hosts; what is left out is as the kernel has it. Each option changes what
    the flow costs or what is on the wire, and so can be a factor.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    block: Size | None = None
    """
    Bytes handed to the kernel at a time by a transfer; 128 KiB where absent.
    """
    busy_poll: Duration | None = None
    """
    The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual link
    has nothing to poll, so in the lab the reader itself tries again for that long.
    """
    dscp: Annotated[int | None, Field(ge=0, le=63)] = None
    """
    The differentiated services codepoint of what is sent, 0 to 63 (RFC 2474; IP_TOS, ip(7), and IPV6_TCLASS,
    ipv6(7)): a radio channel has an access category for each.
    """
    mss: Size | None = None
    """
    The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7);
    RFC 6691): with timestamps 12 bytes less of payload.
    """
    udp_buffer: Size | None = None
    """
    The send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF, socket(7)). Linux doubles it for
    its own bookkeeping of packets. The simulator has the send buffer alone, for its readers take no time. Where
    absent, packets are sent from the kernel's default of 104 KiB, and all else has room enough not to matter.
    """
    udp_gro: bool | None = None
    """
    UDP packets arrive in packets that the kernel coalesced (UDP_GRO, udp(7)).
    """
    udp_gso: bool | None = None
    """
    UDP packets of one size leave in GSO packets that the kernel segments (UDP_SEGMENT, udp(7)).
    """
    window: Size | None = None
    """
    The TCP window, bytes: the most that either host announces as its receive window (TCP_WINDOW_CLAMP, tcp(7), where the
    system has it), and the size that both its socket buffers keep (SO_RCVBUF and SO_SNDBUF, socket(7)). Without it the
    system sizes both as the connection goes.
    """
    zerocopy: bool | None = None
    """
    Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst).
    """


class Aggregate(RootModel[int]):
    root: Annotated[int, Field(ge=0)]


class StationRecord(Generated):
    """
    A station of a radio channel as a sender.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    aggregates: list[Aggregate]
    """
    PPDUs that did not collide, by their MPDUs: how many had one, how many had two, and so on.
    """
    airtime: Airtime
    """
    The time for which it used the channel, by purpose.
    """
    beacons: Annotated[int, Field(ge=0)]
    """
    Beacons it sent.
    """
    codel_drops_pkts: Annotated[int | None, Field(ge=0)] = None
    """
    IP packets dropped because CoDel found that they had waited for too long.
    """
    collided_ps: Annotated[int, Field(ge=0)]
    """
    The time of its own frames that collided, those of others not counted, picoseconds.
    """
    collisions: Annotated[int, Field(ge=0)]
    """
    Its attempts that collided with another station's.
    """
    contention_delay_max_ns: Annotated[int, Field(ge=0)]
    """
    The longest of these times.
    """
    contention_delay_mean_ns: Annotated[int, Field(ge=0)]
    """
    From the moment at which the station has something to send and may contend for it until it sends, the mean over
    its attempts, nanoseconds.
    """
    delay_series: list[DelaySample] | None = None
    """
    These delays over time, where the measurement has a `queue_interval`.
    """
    delivered_pkts: Annotated[int, Field(ge=0)]
    """
    IP packets that the receiver of the air has, those counted that an access point passes on.
    """
    exchanges: Annotated[int, Field(ge=0)]
    """
    Exchanges it began, collided ones and beacons not counted, each one of a TXOP.
    """
    interface: str
    """
    Its interface.
    """
    lost_mpdus_pkts: Annotated[int, Field(ge=0)]
    """
    MPDUs, of those, that were lost to noise, or to interference after the beginning of their PPDU.
    """
    mpdus_pkts: Annotated[int, Field(ge=0)]
    """
    MPDUs sent, each as often as it was.
    """
    node: str
    """
    The node.
    """
    queue_delay_max_ns: Annotated[int, Field(ge=0)]
    """
    The longest of these times.
    """
    queue_delay_mean_ns: Annotated[int, Field(ge=0)]
    """
    From the arrival of each IP packet at the interface until it is sent for the first time, the mean, nanoseconds.
    """
    queue_drops_pkts: Annotated[int, Field(ge=0)]
    """
    IP packets dropped because the queue was full.
    """
    queued_pkts: Annotated[int, Field(ge=0)]
    """
    IP packets still there when the trial ended.
    """
    rate_series: list[RateSample] | None = None
    """
    The mean rate of its PPDUs over time, where rate control chose it.
    """
    rates: list[RateUse] | None = None
    """
    PPDUs by their rate, where rate control chose it.
    """
    retries_pkts: Annotated[int, Field(ge=0)]
    """
    MPDUs, of those, that had been sent before.
    """
    retry_drops_pkts: Annotated[int, Field(ge=0)]
    """
    IP packets dropped because they were sent as often as the settings let.
    """


class SubflowRecord(Generated):
    """
    A subflow's state at its connection's end. Of several connections: those between the same addresses
    as one, their bytes and retransmissions added up, and the state of the last.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    bytes: Annotated[int, Field(ge=0)]
    """
    Bytes acknowledged (TCP_INFO tcpi_bytes_acked).
    """
    congestion_control: str
    """
    Its congestion control in force.
    """
    cwnd_pkts: Annotated[int, Field(ge=0)]
    """
    Congestion window in segments.
    """
    local: str
    """
    Address and port of the flow's first host.
    """
    min_rtt_us: Annotated[int, Field(ge=0)]
    """
    Smallest round-trip time.
    """
    remote: str
    """
    Address and port of its second.
    """
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """
    Segments retransmitted.
    """
    srtt_us: Annotated[int, Field(ge=0)]
    """
    Smoothed round-trip time.
    """


class TimerLateness(Generated):
    """
    The lateness of sleeps of 200 us, on all CPUs that the engine may use.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    median_ns: Annotated[int, Field(ge=0)]
    """
    Median, nanoseconds.
    """
    p99_9_ns: Annotated[int, Field(ge=0)]
    """
    Percentile 99.9, nanoseconds.
    """
    p99_ns: Annotated[int, Field(ge=0)]
    """
    99th percentile, nanoseconds.
    """


class ToolName(
    RootModel[Literal["iperf3", "ping", "netperf", "ditg", "sockperf", "exec"]]
):
    root: Literal["iperf3", "ping", "netperf", "ditg", "sockperf", "exec"]
    """
    A program that nettrial starts on the scenario's hosts, and whose output it reads.
    """


class ToolRecord(Generated):
    """
    A program that made a flow's traffic.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    command: list[str]
    """
    The command that was run on the first host.
    """
    output: str
    """
    The output that it printed, cut after 64 KiB.
    """
    version: str
    """
    The version that the tool prints.
    """


class TransferTraffic(Generated):
    """
    A bulk transfer: so many bytes, for so long, or with both one such transfer after the other.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    duration: Duration | None = None
    """
    The duration of the flow.
    """
    kind: Literal["transfer"] = "transfer"
    size: Size | None = None
    """
    Bytes of one transfer.
    """


class FileTransferTraffic(Generated):
    """
    A file, once, from the sender's disk to the receiver's, where it has no name and is gone with the trial.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    file: str
    """
    The file's path on the sender.
    """
    kind: Literal["file_transfer"] = "file_transfer"


class RequestResponseTraffic(Generated):
    """
    A message and its answer, one or several in flight, for so long, so many times, or whichever of both comes
    first.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    connecting: Annotated[Connecting | None, Field(validate_default=True)] = "once"
    """
    The occasions on which a connection is opened; with `each_request` the round-trip time starts with the call
    to connect.
    """
    count: Annotated[int | None, Field(ge=1, le=1000000000)] = None
    """
    The number of requests.
    """
    duration: Duration | None = None
    """
    The duration of the flow.
    """
    in_flight: Annotated[int | None, Field(ge=1, le=10000)] = 1
    """
    Requests that may wait for their responses at a time.
    """
    interval: Duration | None = None
    """
    From one request to the next. Absent: the next follows a response at once. A response that
    comes later than the interval delays the next request; none are sent in a burst after.
    """
    kind: Literal["request_response"] = "request_response"
    request: Size
    """
    Bytes of a request, at least 24 (it carries a number and two times).
    """
    response: Size
    """
    Bytes of a response, at least 24.
    """


class PacketsTraffic(Generated):
    """
    Packets in one direction, for so long, so many of them, or whichever of both comes first. With a gap: one
    packet, then the gap. With a rate: as much payload a second, evenly. With neither: as fast as the transport
    takes them.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    count: Annotated[int | None, Field(ge=1, le=1000000000)] = None
    """
    The number of packets.
    """
    duration: Duration | None = None
    """
    The duration of the flow.
    """
    gap: DurationVariate | None = None
    """
    From one departure to the next.
    """
    kind: Literal["packets"] = "packets"
    on_off: OnOff | None = None
    """
    Times of sending and of silence in turn.
    """
    rate: Rate | None = None
    """
    Payload bits per second.
    """
    seed: Annotated[int | None, Field(ge=0)] = 0
    """
    Seed of the random numbers: sizes, gaps and ON/OFF times are three independent sequences
    drawn from it.
    """
    size: SizeVariate
    """
    Bytes of a packet's payload, at least 24 (it carries a number and two times).
    """


class SweepTraffic(Generated):
    """
    Requests of many sizes in a random order on one connection: for each size a number of bytes, request by
    request, each answered before the next.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    answer: Answer
    """
    The answer that the receiver sends back: 24 bytes, or as many as came.
    """
    bytes: Size
    """
    Bytes sent for one measurement of a size: one request or more, the last one shorter, but no shorter
    than 24 B.
    """
    first: Size
    """
    The smallest request, at least 24 B.
    """
    kind: Literal["sweep"] = "sweep"
    last: Size
    """
    The largest; over UDP at most 65507 B (IPv4) or 65527 B (IPv6).
    """
    repeats: Annotated[int | None, Field(ge=1)] = 1
    """
    The number of times that each size is measured in one trial.
    """
    seed: Annotated[int | None, Field(ge=0)] = 0
    """
    Seed of the order's random numbers.
    """
    step: Size
    """
    From one size to the next.
    """


class ToolTraffic(Generated):
    """
    Another program's traffic, measured by that program.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    arguments: list[str] | None = None
    """
    Further options of the sending program, as it takes them. For `exec`: the command and its
    arguments, in which `{destination}`, `{source}` and `{port}` stand for the flow's.
    """
    duration: Duration | None = None
    """
    The time for which it sends; only `exec` may leave it out.
    """
    kind: Literal["tool"] = "tool"
    rate: Rate | None = None
    """
    Payload bits per second; as fast as it can where absent.
    """
    request_response: bool | None = None
    """
    Requests and responses instead of a stream; netperf only.
    """
    server_arguments: list[str] | None = None
    """
    Further options of the receiving program. For `exec`: a command for the receiving host, or none.
    """
    size: Size | None = None
    """
    Payload bytes of a packet, a write or a request.
    """
    tool: ToolName
    """
    The program; `ditg` is D-ITG, `exec` any command.
    """


class Traffic(
    RootModel[
        TransferTraffic
        | FileTransferTraffic
        | RequestResponseTraffic
        | PacketsTraffic
        | SweepTraffic
        | ToolTraffic
    ]
):
    root: (
        TransferTraffic
        | FileTransferTraffic
        | RequestResponseTraffic
        | PacketsTraffic
        | SweepTraffic
        | ToolTraffic
    )
    """
    The traffic that a flow sends.
    """


class Transport(RootModel[Literal["tcp", "udp", "mptcp", "icmp"]]):
    root: Literal["tcp", "udp", "mptcp", "icmp"]
    """
    The transport protocol of a flow.
    """


class Warning(Generated):
    """
    Why a trial's figures may not be what they seem.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    code: str
    """
    A stable word for its kind, such as `path_mtu` or `processor_saturated`.
    """
    consequence: str
    """
    The consequence for the figures.
    """
    message: str
    """
    The observation.
    """
    object: str
    """
    The object of the warning: a flow, a host, an interface.
    """


class Wireless(Generated):
    """
    The radio of a Wi-Fi interface at one moment, as its driver says (nl80211): what it does not say is absent.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    access_point: str | None = None
    """
    The hardware address of the access point.
    """
    frequency_mhz: Annotated[int | None, Field(ge=0)] = None
    """
    The middle of the primary channel, MHz.
    """
    received_bps: Annotated[int | None, Field(ge=0)] = None
    """
    The rate at which packets come from it, bits per second.
    """
    sent_bps: Annotated[int | None, Field(ge=0)] = None
    """
    The rate at which packets are sent to it, bits per second.
    """
    signal_dbm: Annotated[int | None, Field(ge=-128, le=127)] = None
    """
    The strength with which that one is heard, dBm.
    """
    width_mhz: Annotated[int | None, Field(ge=0)] = None
    """
    The width of the channel, MHz.
    """


class WlanDiscipline(RootModel[Literal["drop_tail", "fq_codel"]]):
    root: Literal["drop_tail", "fq_codel"]
    """
    The way in which the packets that wait at an interface of a radio channel are served.
    """


class WlanMode(RootModel[Literal["infrastructure", "ad_hoc"]]):
    root: Literal["infrastructure", "ad_hoc"]
    """
    The way in which the stations of a channel reach each other.
    """


class WlanStandard(RootModel[Literal["a", "g", "n", "ac", "ax"]]):
    root: Literal["a", "g", "n", "ac", "ax"]
    """
    An amendment of IEEE 802.11 by whose modulation a channel's stations send.
    """


class WlanStation(Generated):
    """
    The settings of one station of a radio channel, or of the access point, that differ from the channel's.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    mcs: Annotated[int | None, Field(ge=0, le=11)] = None
    """
    The MCS by which the station sends and is sent to; the channel's where absent.
    """
    snr_db: Annotated[float | None, Field(ge=-20.0, le=80.0)] = None
    """
    The ratio of signal to noise between the station and the access point, in both directions, in place of positions.
    """
    streams: Annotated[int | None, Field(ge=1, le=4)] = None
    """
    The spatial streams of that MCS; the channel's where absent.
    """
    tx_power_dbm: Annotated[float | None, Field(ge=-10.0, le=36.0)] = None
    """
    The transmit power; the channel's where absent.
    """
    x_m: Annotated[float | None, Field(ge=-100000.0, le=100000.0)] = None
    """
    The position, metres. Either all nodes of the channel have one or none.
    """
    y_m: Annotated[float | None, Field(ge=-100000.0, le=100000.0)] = None
    """
    The position's other coordinate, metres.
    """


class Buffer(Generated):
    """
    A socket buffer's automatic sizing, as the kernel's `tcp_rmem` and `tcp_wmem`.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    initial: Size
    """
    The size with which a socket starts.
    """
    maximum: Size
    """
    The largest size that automatic sizing may reach.
    """
    minimum: Size
    """
    Kept for each socket even under memory pressure.
    """


class Capabilities(Generated):
    """
    A backend's statement of what it can do on a machine that lacks nothing. Each preflight has it, a scenario is
    held to it, and whoever plans trials asks it instead of the backend's name.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    captures: bool
    """
    The packets of interfaces can be captured.
    """
    congestion_controls: list[str]
    """
    The congestion controls that the backend brings.
    """
    deterministic: bool
    """
    A trial depends on its scenario alone: the same scenario gives the same record.
    """
    disciplines: list[str]
    """
    The disciplines that transmit queues can have.
    """
    estimates: bool
    """
    A check gives an estimate of the work.
    """
    figures: list[Figure]
    """
    The figures that its records can have, of those that not every record has.
    """
    kernel_congestion_controls: bool
    """
    Hosts can have every congestion control of the machine's kernel.
    """
    makes_links: bool
    """
    Links are made as the scenario says. Where they are not, their rates and delays are expectations, and a trial
    that contradicts them carries a warning.
    """
    media: list[Medium]
    """
    The media that links can have.
    """
    modelled_hosts: bool
    """
    Hosts are models: a packet costs them what the scenario says, and they need nothing of the kernel.
    """
    parallel: bool
    """
    Several trials may run at the same time on one machine without touching each other.
    """
    settings: list[Setting]
    """
    The settings that it follows, of those that some backend does not.
    """
    shared_kernel: bool
    """
    All hosts share the kernel of one machine.
    """
    simulated_time: bool
    """
    Trials run in simulated time, which says nothing of how long they take.
    """
    traffic: list[str]
    """
    The kinds of traffic that flows can have.
    """
    transports: list[Transport]
    """
    The transport protocols that flows can have.
    """
    warm_up: bool
    """
    The first trials of a session differ from later ones, so that they are better not counted.
    """


class ChannelRecord(Generated):
    """
    A radio channel over the trial. What it was used for adds up to `elapsed_ps` exactly: `idle_ps`, `collisions_ps` and
    the airtime of all stations.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    access_point: str
    """
    The access point's node, which the channel is named after.
    """
    collisions_ps: Annotated[int, Field(ge=0)]
    """
    The part in which frames of several stations overlapped: they collided, or were out of each other's reach.
    """
    elapsed_ps: Annotated[int, Field(ge=0)]
    """
    The time from the trial's beginning to the end of its last flow, picoseconds.
    """
    idle_ps: Annotated[int, Field(ge=0)]
    """
    The part in which nobody had the channel: inter-frame spaces and backoff count.
    """
    stations: list[StationRecord]
    """
    The access point first, then the stations in the order of the link's interfaces.
    """


class Mark(Generated):
    """
    Packets that arrive at a queue longer than the threshold are marked (RFC 8257 section 3.1); those that
    can't bear a mark pass.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    discipline: Literal["mark"] = "mark"
    threshold: QueueLimit
    """
    The queue above which packets are marked.
    """


class Red(Generated):
    """
    Random early detection (Floyd and Jacobson 1993), gentle: the probability of a drop rises with the
    average queue.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    discipline: Literal["red"] = "red"
    ecn: bool | None = False
    """
    Mark packets that can bear a mark instead of dropping them.
    """
    maximum: Size
    """
    The average queue at which the probability is `probability`; from there to twice as much it rises
    to 1.
    """
    minimum: Size
    """
    The average queue above which packets are dropped at random.
    """
    probability: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.1
    """
    The probability at `maximum`.
    """
    weight: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.002
    """
    The weight of a new queue length in the average.
    """


class CoDel(Generated):
    """
    Controlled delay (RFC 8289): packets are dropped at the queue's head while their delay stays above the
    target.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    discipline: Literal["co_del"] = "co_del"
    ecn: bool | None = False
    """
    Mark packets that can bear a mark instead of dropping them.
    """
    interval: Annotated[Duration | None, Field(validate_default=True)] = "100 ms"
    """
    The time for which the delay may stay above the target.
    """
    target: Annotated[Duration | None, Field(validate_default=True)] = "5 ms"
    """
    The delay that may persist.
    """


class Discipline(RootModel[DropTail | Mark | Red | CoDel]):
    root: DropTail | Mark | Red | CoDel
    """
    The packets that a queue drops, or marks where its packets bear marks (ECN, RFC 3168), before its limit drops
    them.
    """


class CheckedEvent(Generated):
    """
    Answers [`Request::Check`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    estimate: Estimate | None = None
    """
    The work of running it, where the backend knows that before: the simulator.
    """
    event: Literal["checked"] = "checked"
    problems: list[Problem]
    """
    Everything that is wrong with the scenario on this backend; empty if it can run.
    """


class Flow(Generated):
    """
    Traffic between two hosts.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    from_: Annotated[str, Field(alias="from")]
    """
    The host that opens the connection: it sends a transfer, the packets, and the requests.
    """
    ip: IpVersion
    """
    The IP version of the hosts' addresses that are used.
    """
    name: str
    """
    Unique in the scenario.
    """
    pair: Annotated[int | None, Field(ge=0)] = None
    """
    The pair of its hosts' addresses that the flow begins with, counted from 0 and starting over after the
    last; further subflows take those that follow.
    """
    socket: SocketOptions | None = None
    """
    The options of the flow's sockets.
    """
    start: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    The start of the flow, after the instant at which all are ready.
    """
    to: str
    """
    The host that accepts it.
    """
    traffic: Traffic
    """
    The traffic that is sent.
    """
    transport: Transport
    """
    The protocol.
    """


class FlowRecord(Generated):
    """
    A flow's figures. Rates count the application's bytes (goodput).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    active_ns: Annotated[int, Field(ge=0)]
    """
    The time those bytes took: for a transfer the sum, over connections, from the first write to
    the receiver's confirmation that it has read all; for packets from the first departure to the
    last arrival; for requests from the first of them to the last response.
    """
    bytes: Annotated[int, Field(ge=0)]
    """
    Application bytes that the receiver confirmed (transfer, packets), or sent in requests.
    """
    completion_us: Distribution | None = None
    """
    From the call to connect until the receiver's confirmation, each sized transfer.
    """
    congestion_control: str
    """
    The sender's congestion control, as the kernel or simulator names the one in force.
    """
    connect_us: Distribution
    """
    From the call to connect until it returns, each connection.
    """
    connections: Annotated[int, Field(ge=0)]
    """
    Connections opened; for sized transfers also the number of transfers. 0 where there are none, or
    where a tool says nothing of its connections: then it says nothing of retransmissions either.
    """
    delay_difference_mean_us: float | None = None
    """
    The mean of |D| over the same transit times (what D-ITG calls average jitter).
    """
    delay_variation_us: Distribution | None = None
    """
    One-way delay above the smallest one of the flow (RFC 5481, packet delay variation). The two
    hosts' clocks need not agree.
    """
    goodput_bps: float | None = None
    """
    `bytes` over `active_ns`, bits per second. Transfers and packets only.
    """
    intervals: list[Interval]
    """
    The transport's state over time.
    """
    ip: IpVersion
    """
    Its IP version.
    """
    ip_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    Bytes of the IP packets that the flow's first host sent: headers and retransmissions count. Of TCP
    and MPTCP from the kernel's counts of bytes and segments and the headers that the options in force
    make (selective acknowledgments aside); absent for MPTCP with a connection for each request.
    """
    jitter_rfc3550_us: float | None = None
    """
    RFC 3550 section 6.4.1 and appendix A.8 over the transit times of requests or packets:
    J += (|D| − J)/16 from J = 0, its last value. The two hosts' clocks need not agree, for D is a
    difference.
    """
    min_rtt_us: Annotated[int, Field(ge=0)]
    """
    The smallest round-trip time the kernel saw.
    """
    mss_bytes: Annotated[int, Field(ge=0)]
    """
    The sender's maximum segment size in force at the end, bytes of payload.
    """
    name: str
    """
    The flow's name.
    """
    owd_error_us: float | None = None
    """
    The largest error of `owd_us`, because the offset between the clocks was estimated; absent
    where they are one clock.
    """
    owd_histogram: Histogram | None = None
    """
    The same in full, nanoseconds.
    """
    owd_us: Distribution | None = None
    """
    From a packet's departure to its arrival. Absent where the hosts' clocks do not agree.
    """
    pacing: Pacing | None = None
    """
    The sender's accuracy in keeping to the departures it was asked for. Packets only.
    """
    packets: PacketCounts | None = None
    """
    The packets received, lost, reordered and duplicated. Over UDP only: TCP hides it.
    """
    peer_window_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The largest receive window that the receiver announced, bytes, as the sender's system read it with each sample; absent
    where that does not tell it.
    """
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """
    Segments retransmitted (TCP_INFO tcpi_total_retrans), all connections.
    """
    rtt_histogram: Histogram | None = None
    """
    The same in full, nanoseconds.
    """
    rtt_us: Distribution | None = None
    """
    From sending a request to reading its response. Request/response only.
    """
    sizes: list[SizeRecord] | None = None
    """
    The results of each size, by size. Sweeps only.
    """
    srtt_us: Distribution
    """
    The kernel's smoothed round-trip time (RFC 6298), over the samples of all intervals.
    """
    subflows: list[SubflowRecord] | None = None
    """
    The connection's subflows. MPTCP only.
    """
    tool: ToolRecord | None = None
    """
    The program that made the traffic. Tools only.
    """
    transactions_per_second: float | None = None
    """
    Requests answered per second, from the first request to the last response. Request/response only.
    """
    transport: Transport
    """
    Its transport.
    """
    wire_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The same as frames on Ethernet: header, preamble, frame check sequence and gap count.
    """


class Impairment(Generated):
    """
    The changes that a link makes to frames beside carrying them: in each direction, each frame by itself, after the
    queue.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    bursts: LossBursts | None = None
    """
    Losses in bursts beside those of `loss`.
    """
    duplication: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.0
    """
    The probability that a frame arrives twice.
    """
    jitter: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    Each frame's delay is drawn evenly from the link's delay to this much more; the order is kept.
    """
    loss: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.0
    """
    The probability that a frame is lost.
    """
    reordering: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.0
    """
    The probability that a frame is held back by `reordering_delay`, so that later ones overtake it.
    """
    reordering_delay: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    The time for which such a frame is held back.
    """
    seed: Annotated[int | None, Field(ge=0)] = 0
    """
    Seed of the random numbers.
    """


class Interface(Generated):
    """
    An interface of a node, at one end of a link.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    addresses: Annotated[
        list[InterfaceAddress] | None, Field(validate_default=True)
    ] = []
    """
    Addresses of the interface; none on a switch.
    """
    interface: str
    """
    The interface's name in the node: 1 to 15 letters, digits, `-`, `_`; unique in the node.
    """
    mtu: Size
    """
    The largest IP packet the interface sends, in bytes; Ethernet's header is not in it.
    """
    node: str
    """
    The node's name.
    """


class InterfaceRecord(Generated):
    """
    An interface over the trial.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    burst_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    Bytes that the shaper holds as credit: what the interface may send beyond the link's rate after an idle
    time, or after a late timer. Absent where nothing is shaped, and on the simulator.
    """
    drops_pkts: Annotated[int, Field(ge=0)]
    """
    Frames dropped by the queue.
    """
    frames_pkts: Annotated[int, Field(ge=0)]
    """
    Frames sent.
    """
    interface: str
    """
    Its interface.
    """
    node: str
    """
    The node that sends.
    """
    packet_sizes: list[PacketSize] | None = None
    """
    IP packets sent, by size. Where the measurement asks for it.
    """
    queue_bytes: Distribution | None = None
    """
    Bytes in the queue as they will occupy the wire, sampled at the same moments.
    """
    queue_pkts: Distribution | None = None
    """
    Packets in the queue, sampled; a GSO packet that is cut into frames after it is one. Where
    the measurement asks for it and the link has a rate.
    """
    series: list[InterfaceSample] | None = None
    """
    The same over time. Where the measurement asks for it.
    """
    wire_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes sent as they occupy the wire: preamble, frame check sequence and gap counted.
    """


class MachineInterface(Generated):
    """
    An interface of a machine.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    addresses: list[str]
    """
    Its addresses, also those that the inventory does not give to traffic.
    """
    bus: str | None = None
    """
    Its bus, that one's width and speed, such as "PCI 0000:03:00.0, 4 lanes of 8.0 GT/s PCIe"; absent for an
    interface without one, such as a virtual one.
    """
    driver: str | None = None
    """
    Its driver; absent where the kernel does not say.
    """
    is_up: bool
    """
    True where it carries packets.
    """
    largest_mtu_bytes: Annotated[int | None, Field(ge=0)] = None
    """
    The largest MTU that it can be given, bytes; absent where the driver does not say.
    """
    mtu_bytes: Annotated[int, Field(ge=0)]
    """
    The largest IP packet that it sends, bytes.
    """
    name: str
    """
    Its name there.
    """
    offloads: Offloads | None = None
    """
    The offloads in force; absent where the system does not say.
    """
    speed: Rate | None = None
    """
    The speed of its link; absent where the driver does not say.
    """
    wireless: Wireless | None = None
    """
    Its radio; absent for an interface that is not Wi-Fi.
    """


class Measure(Generated):
    """
    A line to an engine that measures between this machine and another one. Answered by
    [`Event::Record`], [`Event::Failed`], or [`Event::Checked`] with what is wrong with the flow.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    flow: Flow
    """
    The traffic, from `client` (this machine) to `server` (the other one) or back.
    """
    interval: Duration
    """
    The interval at which the flow's transport state is read.
    """
    streams: Annotated[int | None, Field(ge=0)] = 1
    """
    The number of streams that carry this traffic at the same time, 1 to 128. Each is a flow of its own; of more
    than one, each name ends with the stream's number: `NAME-1`, `NAME-2`, and so on.
    """
    trial: str
    """
    Repeated in the answer.
    """


class Measurement(Generated):
    """
    The measurements made beside what every flow gives.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    cpu: list[str] | None = []
    """
    The hosts whose CPU time is measured. Each then needs a CPU of its own.
    """
    interval: Duration
    """
    The interval at which a flow's transport state is read.
    """
    packet_sizes: bool | None = None
    """
    Count the packets that each interface sends by size.
    """
    queue_drops: QueueDrops
    """
    The response to drops in a link's queue: `allowed` counts them, `unexpected` warns of them, too.
    """
    queue_interval: Duration | None = None
    """
    The mean interval at which the length of each shaped queue is read; lengths are not read where absent. Where it is there,
    records have the delays at the stations of radio channels over time, too, by 100 ms.
    """
    queue_series: bool | None = None
    """
    Keep each of these readings, with what the interface sent since the one before. Of simulated
    links only.
    """


class Record(Generated):
    """
    The record of a trial: what was measured, the checks made around it, and the warnings that follow.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    absent: list[Absence]
    """
    Metrics that could not be measured, and why.
    """
    backend: str
    """
    The backend that ran the trial.
    """
    channels: list[ChannelRecord] | None = None
    """
    One per radio channel, in the scenario's order.
    """
    checks: list[Check]
    """
    The checks made before and after the traffic.
    """
    congestion: list[CongestionRecord] | None = None
    """
    The calls to each congestion control of nettrial's own that the scenario has. Absent where it
    has none.
    """
    ends: list[InterfaceRecord]
    """
    One per interface whose queue or packets were counted.
    """
    engine_version: str
    """
    The engine's version.
    """
    flows: list[FlowRecord]
    """
    One per flow, in the scenario's order.
    """
    format: Annotated[int, Field(ge=0)]
    """
    The document's version: [`crate::FORMAT`].
    """
    hosts: list[HostRecord]
    """
    One per host, in the scenario's order.
    """
    phases: Phases
    """
    The time that each phase of the trial took.
    """
    processors: list[ProcessorRecord] | None = None
    """
    One per CPU that the trial could use. None where hosts are simulated.
    """
    started_unix_ns: Annotated[int, Field(ge=0)]
    """
    The beginning of the trial, nanoseconds since 1970-01-01 UTC; 0 on the simulator, whose records depend on
    nothing but the scenario.
    """
    warnings: list[Warning]
    """
    Why the trial's figures may not be what they seem.
    """


class Stack(Generated):
    """
    A host's TCP settings: a profile such as `linux-cubic`, resolved.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    congestion_control: str
    """
    The congestion control's name in the kernel or the simulator.
    """
    ecn: bool | None = None
    """
    Ask for marks instead of drops on connections (RFC 3168; net.ipv4.tcp_ecn 1).
    """
    minimum_rto: Duration | None = None
    """
    The smallest retransmission timeout; Linux's 200 ms where absent (net.ipv4.tcp_rto_min_us).
    """
    mtu_probing: bool | None = None
    """
    Search for the path MTU with the host's own segments once a connection stalls (RFC 4821;
    net.ipv4.tcp_mtu_probing 1).
    """
    name: str
    """
    The profile's name, for tables.
    """
    receive_buffer: Buffer
    """
    The receive buffer.
    """
    sack: bool
    """
    RFC 2018.
    """
    scheduler: Scheduler | None = None
    """
    The rule by which a subflow of an MPTCP connection takes the next data.
    """
    send_buffer: Buffer
    """
    The send buffer.
    """
    timestamps: bool
    """
    RFC 7323 section 3. They take 12 bytes of every segment.
    """
    window_scaling: bool
    """
    RFC 7323 section 2.
    """


class Wlan(Generated):
    """
    A radio channel after IEEE 802.11: an access point and its stations. Every frame of a station goes to the access point,
    and what is for another station crosses the air again. All hear each other, unless they have positions.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    ampdu: Annotated[int | None, Field(ge=1, le=256)] = None
    """
    MPDUs in an A-MPDU at the most; 1 is no aggregation. Where absent, as many as one BlockAck can acknowledge: 64 with
    n and ac, 256 with ax, 1 with a and g.
    """
    amsdu: Size | None = None
    """
    The largest A-MSDU; each MPDU has one packet where absent.
    """
    band: Annotated[Band | None, Field(validate_default=True)] = "5 GHz"
    """
    The frequency band.
    """
    basic_rate: Annotated[Rate | None, Field(validate_default=True)] = "24 Mbit/s"
    """
    The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s.
    """
    beacon_interval: Annotated[Duration | None, Field(validate_default=True)] = (
        "102.4 ms"
    )
    """
    The time between beacons, 102.4 ms being 100 time units; 0 for none.
    """
    capture_db: Annotated[float | None, Field(ge=0.0, le=60.0)] = 10.0
    """
    The ratio to all else at which a receiver can read a frame whose beginning is not alone in the air.
    """
    carrier_sense_dbm: Annotated[float | None, Field(ge=-110.0, le=-20.0)] = -82.0
    """
    The power above which a station senses that another sends.
    """
    cts_to_self: bool | None = False
    """
    Each PPDU that does not begin with RTS begins with a CTS of its own sender (CTS-to-self).
    """
    discipline: Annotated[WlanDiscipline | None, Field(validate_default=True)] = (
        "drop_tail"
    )
    """
    The order in which each interface sends its packets, and those that it drops.
    """
    fragmentation_threshold: Size | None = None
    """
    An MPDU larger than this is sent in fragments of at most this size, 256 to 2346 B; only without aggregation.
    """
    frame_errors: Annotated[FrameErrors | None, Field(validate_default=True)] = "awgn"
    """
    The frames that noise takes.
    """
    guard_interval: Annotated[Duration | None, Field(validate_default=True)] = "800 ns"
    """
    The guard interval between symbols: 800 ns, and 400 ns with n and ac, and 1.6 us and 3.2 us with ax.
    """
    mcs: Annotated[int | None, Field(ge=0, le=11)] = 7
    """
    The modulation and coding of each stream, from 0: to 7 (a, g, n), 9 (ac), 11 (ax). The MCS 8 to 31 of 802.11n are
    0 to 7 with more streams.
    """
    mode: Annotated[WlanMode | None, Field(validate_default=True)] = "infrastructure"
    """
    The way in which stations reach each other.
    """
    mpdu_loss: Annotated[float | None, Field(ge=0.0, le=1.0)] = 0.0
    """
    The probability that an MPDU is lost to noise.
    """
    noise_figure_db: Annotated[float | None, Field(ge=0.0, le=30.0)] = 7.0
    """
    The noise of a receiver above thermal noise.
    """
    path_loss_at_1_m_db: Annotated[float | None, Field(ge=0.0, le=150.0)] = None
    """
    The path loss at a distance of 1 m; where absent, that of free space: 46.7 dB at 5 GHz, 40.2 dB at 2.4 GHz.
    """
    path_loss_exponent: Annotated[float | None, Field(ge=1.0, le=8.0)] = 3.0
    """
    The exponent of path loss: at ten times the distance it is ten times this more, in dB.
    """
    queue: Annotated[QueueLimit | None, Field(validate_default=True)] = "1000 packets"
    """
    The limit of each interface's queues together, beyond which they drop.
    """
    rate_control: Annotated[RateControl | None, Field(validate_default=True)] = "fixed"
    """
    The way in which stations choose the MCS and the streams.
    """
    rts_threshold: Annotated[Size | None, Field(validate_default=True)] = "2347 B"
    """
    A PPDU with an MPDU larger than this begins with RTS and CTS.
    """
    standard: Annotated[WlanStandard | None, Field(validate_default=True)] = "n"
    """
    The amendment by which all stations send.
    """
    stations: dict[str, WlanStation] | None = None
    """
    The settings of single stations, and of the access point, by node.
    """
    streams: Annotated[int | None, Field(ge=1, le=4)] = 1
    """
    Spatial streams, 1 to 4; 1 with a and g.
    """
    tries: Annotated[int | None, Field(ge=1, le=255)] = 7
    """
    The number of times that an MPDU is sent before it is dropped.
    """
    tx_power_dbm: Annotated[float | None, Field(ge=-10.0, le=36.0)] = 16.0
    """
    The transmit power.
    """
    width_mhz: Annotated[int | None, Field(ge=20, le=160)] = 20
    """
    The channel's width in MHz: 20, and 40 with n, ac and ax, and 80 and 160 with ac and ax.
    """


class RecordEvent(Generated):
    """
    A trial's result.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["record"] = "record"
    record: Record
    """
    The record of the trial.
    """
    trial: str
    """
    The request's.
    """


class Link(Generated):
    """
    A link between interfaces.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    delay: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    Propagation delay, one way.
    """
    discipline: Discipline | None = None
    """
    Discipline of each interface's transmit queue: what it does before it is full.
    """
    ends: list[Interface]
    """
    The interfaces that the link joins; a cable joins two, a radio channel the access point's, which is the first, and
    one of each station.
    """
    impairment: Impairment | None = None
    """
    The changes that the link makes to frames beside carrying them.
    """
    medium: Medium | None = None
    """
    The link's medium.
    """
    queue: QueueLimit | None = None
    """
    Limit of each interface's transmit queue, beyond which it drops. Absent only where the rate is.
    """
    rate: Rate | None = None
    """
    The line rate on the wire: preamble, frame check sequence and inter-frame gap count, as on
    Ethernet. Not shaped where absent.
    """
    wlan: Wlan | None = None
    """
    The settings of a radio channel, which has neither rate nor delay, queue, discipline and impairment of its own.
    """


class Machine(Generated):
    """
    A machine of the user's, as it was found when the session began.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    architecture: str
    """
    The instruction set, such as "x86_64".
    """
    boot: str
    """
    The identifier of the running kernel: machines that share it are one machine (random/boot_id, random(4); the host's
    name where the system has no such thing).
    """
    clock_ahead_ns: int
    """
    The lead of its wall clock over this machine's, nanoseconds.
    """
    clock_error_ns: Annotated[int, Field(ge=0)]
    """
    The largest possible error of that lead, nanoseconds.
    """
    clock_source: str | None = None
    """
    The kernel's clock source; absent where the kernel does not say.
    """
    congestion_controls: list[str]
    """
    Congestion controls that the kernel has loaded.
    """
    free_ports: Annotated[int | None, Field(ge=0)] = None
    """
    Ports that the kernel can give to a program that asks for any (ip_local_port_range, ip(7)) and that nobody has;
    absent where the system does not say.
    """
    governor: str | None = None
    """
    The setting of the pace of its CPUs, such as "performance" (Documentation/admin-guide/pm/cpufreq.rst, scaling
    governors); absent where the kernel does not.
    """
    interfaces: list[MachineInterface]
    """
    The interfaces of the inventory, in its order.
    """
    is_root: bool
    """
    True where the user there is root, and so may change settings; false on other systems than Linux, where nettrial
    changes none.
    """
    kernel: str
    """
    The kernel's name, release and version.
    """
    name: str
    """
    Its name in the inventory.
    """
    processor: str
    """
    The CPU's model.
    """
    processors: Annotated[int, Field(ge=0)]
    """
    CPUs that a process may use.
    """
    reaches: list[MachineReach] | None = None
    """
    The sizes in which packets reach the other machines, where that was examined.
    """
    sysctls: dict[str, str]
    """
    Settings that a study may change, by sysctl name.
    """
    system: str
    """
    The operating system and its version as it names itself, such as "Debian GNU/Linux 12 (bookworm)".
    """


class Node(Generated):
    """
    A host, router or switch.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    cost: HostCost | None = None
    """
    The cost of packets to the host's one CPU; nothing where absent. Of simulated hosts only: real ones
    cost what they cost.
    """
    filters_icmp: bool | None = None
    """
    Originate no ICMP, so that nobody learns why the router drops a packet. Only a router may.
    """
    kind: NodeKind
    """
    Host, router or switch.
    """
    machine: str | None = None
    """
    The machine of the user's that stands for the node, by its name in the inventory; where absent, the one that
    the inventory gives to a node of this name. On the user's own machines only.
    """
    name: str
    """
    Unique in the scenario: letters, digits, `-` and `_`.
    """
    offloads: Annotated[Offloads | None, Field(validate_default=True)] = {
        "gro": False,
        "gso": False,
        "tso": False,
    }
    """
    The offloads that the node's interfaces use.
    """
    stack: Stack | None = None
    """
    The host's TCP/IP settings. A host must have one; a router and a switch must not.
    """


class Scenario(Generated):
    """
    One trial, fully resolved.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    format: Annotated[int, Field(ge=0)]
    """
    The document's version: [`FORMAT`].
    """
    links: list[Link]
    """
    Links between nodes.
    """
    measurement: Measurement
    """
    The measurements made beside what every flow gives.
    """
    nodes: list[Node]
    """
    Hosts, routers and switches, each with a name of its own.
    """
    routing: RoutingPolicy
    """
    The policy by which paths are chosen where there are several.
    """
    seed: Annotated[int | None, Field(ge=0)] = None
    """
    Seed of the random numbers of a simulated trial that nothing else seeds: the ports of connections,
    and when within its first millisecond a flow starts. Real hosts choose both themselves.
    """
    workload: list[Flow]
    """
    The flows, all started relative to the same instant.
    """


class Environment(Generated):
    """
    The machine a run was made on.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    congestion_controls: list[str]
    """
    Congestion controls the kernel has.
    """
    engine_version: str
    """
    The engine's version.
    """
    kernel: str
    """
    The kernel's name, release and version.
    """
    machines: list[Machine] | None = None
    """
    The user's machines that trials ran on, by name. Where they ran on such.
    """
    privileges: str
    """
    `root`, or `user_namespace`.
    """
    processor: str
    """
    The CPU's model.
    """
    processors: Annotated[int, Field(ge=0)]
    """
    CPUs this process may use.
    """
    sysctls: dict[str, str]
    """
    Network settings of a fresh namespace that bear on the results, by sysctl name.
    """
    timer_lateness: TimerLateness | None = None
    """
    The lateness of timers, measured as the engine started. Absent on the simulator, which has none.
    """


class Preflight(Generated):
    """
    The findings about what this machine can run.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    capabilities: Capabilities | None = None
    """
    The backend's statement of what it can do where nothing is missing; absent where it does not run on this
    system at all.
    """
    environment: Environment
    """
    The machine, for the run's record.
    """
    limits: list[Shortfall]
    """
    The features that are missing and that trials can do without, each with what is lost.
    """
    missing: list[Shortfall]
    """
    Everything that keeps trials from running; empty if they can.
    """


class CheckRequest(Generated):
    """
    Could this backend run this scenario? Nothing is built. Answered by [`Event::Checked`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    request: Literal["check"] = "check"
    scenario: Scenario
    """
    The scenario.
    """


class RunRequest(Generated):
    """
    Run a trial. Answered by [`Event::Record`] or [`Event::Failed`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    capture: Capture | None = None
    """
    The captured packets and their directory; nothing is captured where absent.
    """
    request: Literal["run"] = "run"
    scenario: Scenario
    """
    The scenario.
    """
    trial: str
    """
    Repeated in the answer.
    """


class Request(RootModel[PreflightRequest | CheckRequest | RunRequest]):
    root: PreflightRequest | CheckRequest | RunRequest
    """
    A line to the engine. Each is answered by one event.
    """


class PreflightEvent(Generated):
    """
    Answers [`Request::Preflight`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["preflight"] = "preflight"
    preflight: Preflight
    """
    The findings.
    """


class Event(
    RootModel[PreflightEvent | CheckedEvent | RecordEvent | FailedEvent | RefusedEvent]
):
    root: PreflightEvent | CheckedEvent | RecordEvent | FailedEvent | RefusedEvent
    """
    A line from the engine.
    """


class Protocol(Generated):
    """
    The roots of everything that crosses the engine's standard input and output.
    """

    event: Event
    measure: Measure
    request: Request
