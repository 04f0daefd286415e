"""The scenario, the record, and the lines that carry them: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing import Annotated, Literal


class Absence(BaseModel):
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


class Check(BaseModel):
    """
    Something verified around the traffic.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    expected: str
    """
    What the scenario implies.
    """
    found: str
    """
    What was found.
    """
    name: str
    """
    What was checked: `path_mtu`, `mss`, `congestion_control`, `clock`.
    """
    object: str
    """
    On what: a flow, a host, a direction.
    """
    passed: bool
    """
    Whether they agree.
    """


class Distribution(BaseModel):
    """
    A set of values by its summary.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    count: Annotated[int, Field(ge=0)]
    """
    How many values; with none, all other fields are 0.
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


class Duration(RootModel[str]):
    root: Annotated[str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|min)$")]
    """
    A duration, such as "20 ms".
    """


class EndRecord(BaseModel):
    """
    A link end's queue over the trial.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
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
    wire_bytes: Annotated[int, Field(ge=0)]
    """
    Bytes sent as they occupy the wire: preamble, frame check sequence and gap counted.
    """


class Environment(BaseModel):
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
    privileges: str
    """
    `root`, or `user_namespace`.
    """
    processor: str
    """
    The processor's model.
    """
    processors: Annotated[int, Field(ge=0)]
    """
    Processors this process may use.
    """
    sysctls: dict[str, str]
    """
    Network settings of a fresh namespace that bear on the results, by sysctl name.
    """


class FailedEvent(BaseModel):
    """
    A trial that gave no record.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["failed"] = "failed"
    message: str
    """
    What was being done, and what went wrong.
    """
    trial: str
    """
    The request's.
    """


class RefusedEvent(BaseModel):
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


class HostRecord(BaseModel):
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
    Time that processor was not idle while traffic went, interrupts included, in percent.
    """
    name: str
    """
    The host's name.
    """
    processor: Annotated[int | None, Field(ge=0)] = None
    """
    The processor its work was kept on, if it was.
    """
    processor_shared_with: list[str]
    """
    Other nodes whose forwarding fell on the same processor.
    """
    service_demand_us_per_kb: float | None = None
    """
    Processor time per kilobyte (1000 bytes) of the payload that the host's transfers moved,
    microseconds (netperf's service demand).
    """


class InterfaceAddress(RootModel[str]):
    root: Annotated[str, Field(pattern="^[0-9a-fA-F:.]+/[0-9]+$")]
    """
    An address and its prefix length, such as "10.0.0.1/24" or "fd00::1/64".
    """


class Interval(BaseModel):
    """
    A flow's transport state at one moment.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    at_ns: Annotated[int, Field(ge=0)]
    """
    When, after the instant at which all flows were ready.
    """
    bytes: Annotated[int, Field(ge=0)]
    """
    Application bytes acknowledged since the interval before (TCP_INFO tcpi_bytes_acked).
    """
    cwnd_pkts: Annotated[int, Field(ge=0)]
    """
    Congestion window in segments; 0 while no connection is open.
    """
    min_rtt_us: Annotated[int, Field(ge=0)]
    """
    Smallest round-trip time of this connection; 0 while no connection is open.
    """
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """
    Segments sent again since the interval before.
    """
    srtt_us: Annotated[int, Field(ge=0)]
    """
    Smoothed round-trip time; 0 while no connection is open.
    """


class IpVersion(RootModel[Literal[4, 6]]):
    root: Literal[4, 6]
    """
    Which Internet Protocol: 4 or 6.
    """


class NodeKind(RootModel[Literal["host", "router", "switch"]]):
    root: Literal["host", "router", "switch"]
    """
    What a node does with packets.
    """


class Offloads(BaseModel):
    """
    Which work the interfaces do in larger pieces than a packet. All are off unless asked for, so
    that an MTU means what it says (a virtual link passes 64 KiB "packets" otherwise).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    gro: bool | None = False
    """
    Generic receive offload: received segments are joined before the stack sees them.
    """
    gso: bool | None = False
    """
    Generic segmentation offload: the kernel cuts them just before the interface.
    """
    tso: bool | None = False
    """
    TCP segmentation offload: the interface cuts segments.
    """


class Phases(BaseModel):
    """
    Where a trial's time went, by the monotonic clock.
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


class Problem(BaseModel):
    """
    One thing that is wrong with a scenario.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    hint: str
    """
    Why, and what to do.
    """
    legal: str
    """
    The legal values.
    """
    object: str
    """
    Of which object, in words: "link sender - router".
    """
    setting: str
    """
    Which setting: `mtu`, `rate`, `queue`, `stack`, `address`, `flow`, `node`, …
    """
    value: str
    """
    The bad value.
    """


class QueueDrops(RootModel[Literal["allowed", "unexpected"]]):
    root: Literal["allowed", "unexpected"]
    """
    Whether a full queue is part of the trial.
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


class PreflightRequest(BaseModel):
    """
    Can this machine run trials at all? Answered by [`Event::Preflight`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    request: Literal["preflight"] = "preflight"


class RoutingPolicy(RootModel[Literal["shortest_path"]]):
    root: Literal["shortest_path"] = "shortest_path"
    """
    How a path is chosen.
    """


class Shortfall(BaseModel):
    """
    Something the machine lacks.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    remedy: str
    """
    What would help.
    """
    what: str
    """
    What was tried.
    """
    why: str
    """
    What happened.
    """


class Size(RootModel[str]):
    root: Annotated[
        str, Field(pattern="^[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB)$")
    ]
    """
    A size, such as "9000 B".
    """


class TransferTraffic(BaseModel):
    """
    Bytes in one direction, as fast as the transport takes them.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    duration: Duration | None = None
    """
    How long to go on.
    """
    kind: Literal["transfer"] = "transfer"
    size: Size | None = None
    """
    Bytes of one transfer.
    """


class RequestResponseTraffic(BaseModel):
    """
    A small message and its answer, one in flight.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    duration: Duration
    """
    How long to go on.
    """
    interval: Duration | None = None
    """
    From one request to the next. Absent: the next follows the response at once. A response
    that comes later than the interval delays the next request; none are sent in a burst after.
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


class Traffic(RootModel[TransferTraffic | RequestResponseTraffic]):
    root: TransferTraffic | RequestResponseTraffic
    """
    What a flow sends.
    """


class Transport(RootModel[Literal["tcp", "udp", "mptcp"]]):
    root: Literal["tcp", "udp", "mptcp"]
    """
    The transport protocol of a flow.
    """


class Warning(BaseModel):
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
    What that does to the figures.
    """
    message: str
    """
    What was seen.
    """
    object: str
    """
    What it is about: a flow, a host, a link end.
    """


class Buffer(BaseModel):
    """
    A socket buffer's automatic sizing, as the kernel's `tcp_rmem` and `tcp_wmem`.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    initial: Size
    """
    What a socket starts with.
    """
    maximum: Size
    """
    What automatic sizing may reach.
    """
    minimum: Size
    """
    Kept for each socket even under memory pressure.
    """


class End(BaseModel):
    """
    One end of a link: an interface of a node.
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


class CheckedEvent(BaseModel):
    """
    Answers [`Request::Check`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["checked"] = "checked"
    problems: list[Problem]
    """
    Everything that is wrong with the scenario on this backend; empty if it can run.
    """


class Flow(BaseModel):
    """
    Traffic between two hosts.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    from_: Annotated[str, Field(alias="from")]
    """
    The host that opens the connection: it sends a transfer, and the requests.
    """
    ip: IpVersion
    """
    Which of the hosts' addresses are used.
    """
    name: str
    """
    Unique in the scenario.
    """
    start: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    When the flow starts, after the instant at which all are ready.
    """
    to: str
    """
    The host that accepts it.
    """
    traffic: Traffic
    """
    What is sent.
    """
    transport: Transport
    """
    The protocol.
    """


class FlowRecord(BaseModel):
    """
    A flow's figures. Rates count the application's bytes (goodput).
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    active_ns: Annotated[int, Field(ge=0)]
    """
    The time those bytes took: for a transfer the sum, over connections, from the first write to
    the receiver's confirmation that it has read all.
    """
    bytes: Annotated[int, Field(ge=0)]
    """
    Application bytes that the receiver confirmed (transfer), or sent in requests.
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
    Connections opened; for sized transfers also the number of transfers.
    """
    delay_difference_mean_us: float | None = None
    """
    The mean of |D| over the same transit times (what D-ITG calls average jitter).
    """
    goodput_bps: float | None = None
    """
    `bytes` over `active_ns`, bits per second. Transfers only.
    """
    intervals: list[Interval]
    """
    The transport's state over time.
    """
    ip: IpVersion
    """
    Its IP version.
    """
    jitter_rfc3550_us: float | None = None
    """
    RFC 3550 section 6.4.1 and appendix A.8 over the requests' transit times: J += (|D| − J)/16
    from J = 0, its last value. The two hosts' clocks need not agree, for D is a difference.
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
    retransmissions_pkts: Annotated[int, Field(ge=0)]
    """
    Segments sent again (TCP_INFO tcpi_total_retrans), all connections.
    """
    rtt_us: Distribution | None = None
    """
    From sending a request to reading its response. Request/response only.
    """
    srtt_us: Distribution
    """
    The kernel's smoothed round-trip time (RFC 6298), over the samples of all intervals.
    """
    transport: Transport
    """
    Its transport.
    """


class Link(BaseModel):
    """
    A full-duplex link between two interfaces. Rate, delay and queue hold in each direction.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    delay: Annotated[Duration | None, Field(validate_default=True)] = "0 ns"
    """
    Propagation delay, one way.
    """
    ends: Annotated[list[End], Field(max_length=2, min_length=2)]
    """
    The two interfaces it joins.
    """
    queue: QueueLimit | None = None
    """
    What each end's transmit queue holds before it drops. Absent only where the rate is.
    """
    rate: Rate | None = None
    """
    The line rate on the wire: preamble, frame check sequence and inter-frame gap count, as on
    Ethernet. Not shaped where absent.
    """


class Measurement(BaseModel):
    """
    Measurement settings.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    cpu: list[str] | None = []
    """
    The hosts whose processor time is measured. Each then needs a processor of its own.
    """
    interval: Duration
    """
    How often a flow's transport state is read.
    """
    queue_drops: QueueDrops
    """
    Whether drops in a link's queue are warned of.
    """


class Preflight(BaseModel):
    """
    What this machine can run.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    environment: Environment
    """
    The machine, for the run's record.
    """
    limits: list[Shortfall]
    """
    What trials can do without, and what is lost.
    """
    missing: list[Shortfall]
    """
    Everything that keeps trials from running; empty if they can.
    """


class Record(BaseModel):
    """
    What one trial measured, with the checks made around it and the warnings that follow.
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
    checks: list[Check]
    """
    What was verified before and after the traffic.
    """
    ends: list[EndRecord]
    """
    One per link end whose queue was counted.
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
    Where the trial's time went.
    """
    started_unix_ns: Annotated[int, Field(ge=0)]
    """
    When the trial began, nanoseconds since 1970-01-01 UTC.
    """
    warnings: list[Warning]
    """
    Why the trial's figures may not be what they seem.
    """


class Stack(BaseModel):
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


class PreflightEvent(BaseModel):
    """
    Answers [`Request::Preflight`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["preflight"] = "preflight"
    preflight: Preflight
    """
    What was found.
    """


class RecordEvent(BaseModel):
    """
    A trial's result.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    event: Literal["record"] = "record"
    record: Record
    """
    What was measured.
    """
    trial: str
    """
    The request's.
    """


class Event(
    RootModel[PreflightEvent | CheckedEvent | RecordEvent | FailedEvent | RefusedEvent]
):
    root: PreflightEvent | CheckedEvent | RecordEvent | FailedEvent | RefusedEvent
    """
    A line from the engine.
    """


class Node(BaseModel):
    """
    A host, router or switch.
    """

    model_config = ConfigDict(
        extra="forbid",
    )
    kind: NodeKind
    """
    Host, router or switch.
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
    Which offloads the node's interfaces use.
    """
    stack: Stack | None = None
    """
    The host's TCP/IP settings. A host must have one; a router and a switch must not.
    """


class Scenario(BaseModel):
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
    Point-to-point links between two nodes.
    """
    measurement: Measurement
    """
    What is measured beside what every flow gives.
    """
    nodes: list[Node]
    """
    Hosts, routers and switches, each with a name of its own.
    """
    routing: RoutingPolicy
    """
    How paths are chosen where there are several.
    """
    workload: list[Flow]
    """
    The flows, all started relative to the same instant.
    """


class CheckRequest(BaseModel):
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


class RunRequest(BaseModel):
    """
    Run a trial. Answered by [`Event::Record`] or [`Event::Failed`].
    """

    model_config = ConfigDict(
        extra="forbid",
    )
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


class Protocol(BaseModel):
    """
    The roots of everything that crosses the engine's standard input and output.
    """

    event: Event
    request: Request
