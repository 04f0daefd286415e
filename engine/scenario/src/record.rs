//! The record of a trial.

use crate::{Flow, IpVersion, QueueDrops, Scenario, Transport, Wireless, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The record of a trial: its measurements, the checks made around it, and the warnings that follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The document's version: [`crate::FORMAT`].
    pub format: u32,
    /// The backend that ran the trial.
    pub backend: String,
    /// The set of the user's machines that ran the trial, by its name in the inventory; absent if that has no sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The engine's version.
    pub engine_version: String,
    /// The start of the trial, nanoseconds since 1970-01-01 UTC; 0 on the simulator, whose records depend only on
    /// the scenario.
    pub started_unix_ns: u64,
    /// The time that each phase of the trial took.
    pub phases: Phases,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowRecord>,
    /// The hosts, in the scenario's order.
    pub hosts: Vec<HostRecord>,
    /// The CPUs that the trial could use; none if hosts are simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorRecord>,
    /// The disturbances of each machine that took part, during the traffic. None in simulated and virtual time, which
    /// other work on a machine does not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<DisturbanceRecord>,
    /// The interfaces whose queue or packets were counted.
    #[serde(rename = "ends")]
    pub interfaces: Vec<InterfaceRecord>,
    /// The radio channels, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelRecord>,
    /// The events of the scenario that happened, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<OutageRecord>,
    /// The work of the switches' OpenFlow controller, if they have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerRecord>,
    /// The calls to each of nettrial's own congestion controls that the scenario uses. Absent if it uses none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRecord>,
    /// The checks made before and after the traffic.
    pub checks: Vec<Check>,
    /// The reasons for which the trial's figures may be misleading.
    pub warnings: Vec<Warning>,
    /// The metrics that could not be measured, with the reasons.
    pub absent: Vec<Absence>,
}

impl Record {
    /// Returns the record of a trial of `backend` in which nothing was measured: every figure is absent, zero or empty.
    /// A backend fills in what it measures.
    pub fn blank(backend: &str) -> Self {
        Self {
            format: crate::FORMAT,
            backend: backend.into(),
            set: None,
            engine_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ns: 0,
            phases: Phases::default(),
            flows: Vec::new(),
            hosts: Vec::new(),
            processors: Vec::new(),
            disturbances: Vec::new(),
            interfaces: Vec::new(),
            channels: Vec::new(),
            events: Vec::new(),
            controller: None,
            congestion: Vec::new(),
            checks: Vec::new(),
            warnings: Vec::new(),
            absent: Vec::new(),
        }
    }
}

/// The time that each phase of a trial took, by the monotonic clock. The simulator has `traffic_ns` alone, in
/// simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Building namespaces, links, addresses, routes and queues.
    pub network_ns: u64,
    /// Starting the agents and checking the path.
    pub checks_ns: u64,
    /// The traffic, from the start of the first flow to the end of the last.
    pub traffic_ns: u64,
    /// Collecting results and taking the network down.
    pub tear_down_ns: u64,
}

/// A flow's figures. Rates count the application's bytes (goodput).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRecord {
    /// The flow's name.
    pub name: String,
    /// The flow's transport.
    pub transport: Transport,
    /// The flow's IP version.
    pub ip: IpVersion,
    /// The congestion control in force at the sender, as the kernel or simulator names it.
    pub congestion_control: String,
    /// The sender's maximum segment size at the end, bytes of payload.
    pub mss_bytes: u32,
    /// The largest receive window that the receiver announced, bytes, as the sender's system reported it with each
    /// sample; absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_window_bytes: Option<u64>,
    /// The number of connections opened, which for sized transfers is also the number of transfers. 0 if there are
    /// none, or if a tool does not report its connections; such a tool does not report retransmissions either.
    pub connections: u32,
    /// The application bytes that the receiver confirmed (transfer, packets), or that were sent in requests, whenever
    /// they arrived.
    pub bytes: u64,
    /// The time that all of those bytes took, which may exceed the flow's duration. For a transfer, this is the sum
    /// over connections of the time from the first write to the receiver's confirmation that it has read all. For
    /// packets, it is the time from the first departure to the last departure or arrival, whichever is later, and for
    /// requests from the first request to the last response.
    pub active_ns: u64,
    /// The bytes of the IP packets that the flow's first host sent, headers and retransmissions included. For TCP
    /// and MPTCP they are computed from the kernel's counts of bytes and segments and the size of the headers with
    /// the options in force (without selective acknowledgments). Absent for MPTCP with a connection for each
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_bytes: Option<u64>,
    /// The bytes of the same packets as Ethernet frames: header, preamble, frame check sequence and gap count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_bytes: Option<u64>,
    /// The time over which the flow's goodput is computed, and the bytes that arrived in it. Absent if a tool does not
    /// report it, and from records made before this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The time at which all of `bytes` had been confirmed, after the instant at which all flows were ready. A flow
    /// with a duration may end later than its span, because its buffers and queues drain. Absent like `span`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
    /// The goodput, bits per second: the bytes of `span` over its `active_ns`, or a tool's figure. Transfers and
    /// packets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// The time from the call to connect until it returns, of each connection.
    pub connect_us: Distribution,
    /// The time from the call to connect until the receiver's confirmation, of each sized transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_us: Option<Distribution>,
    /// The segments retransmitted (TCP_INFO tcpi_total_retrans) on all connections; absent from records of a backend
    /// without this figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions_pkts: Option<u64>,
    /// The packets delivered whose acknowledgments had the flag ECE (TCP_INFO tcpi_delivered_ce) on all connections, which
    /// is 0 without ECN. With DCTCP they are the packets that were marked. With classic ECN (RFC 3168) they are more, because
    /// the receiver sets the flag until the sender has confirmed it. Absent if the sender's system does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_pkts: Option<u64>,
    /// The kernel's smoothed round-trip time (RFC 6298), over the samples of all intervals.
    pub srtt_us: Distribution,
    /// The smallest round-trip time that the kernel measured; absent if it measured none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// The time from sending a request to reading its response. Request/response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<Distribution>,
    /// All values of `rtt_us` as a histogram, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_histogram: Option<Histogram>,
    /// The requests answered per second, from the first request to the last response. Request/response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_second: Option<f64>,
    /// The time from a packet's departure to its arrival. Absent if the hosts' clocks do not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_us: Option<Distribution>,
    /// All values of `owd_us` as a histogram, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_histogram: Option<Histogram>,
    /// The largest error of `owd_us`, which follows from the estimate of the offset between the clocks; absent if
    /// both hosts have one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_error_us: Option<f64>,
    /// The one-way delay above the smallest one of the flow (RFC 5481, packet delay variation). The two hosts'
    /// clocks need not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation_us: Option<Distribution>,
    /// The jitter of RFC 3550 section 6.4.1 and appendix A.8 over the transit times of requests or packets: the
    /// last value of J += (|D| − J)/16 from J = 0. The two hosts' clocks need not agree, because D is a
    /// difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_rfc3550_us: Option<f64>,
    /// The mean of |D| over the same transit times (what D-ITG calls average jitter).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_difference_mean_us: Option<f64>,
    /// The packets received, lost, reordered and duplicated. Over UDP only, because TCP hides them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCounts>,
    /// The accuracy with which the sender kept to the departures requested. Packets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The connection's subflows. MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<SubflowRecord>,
    /// The results of each size, by size. Sweeps only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeRecord>,
    /// The times of the parts of a request's way. Requests with `mechanisms` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mechanisms: Option<MechanismsRecord>,
    /// The time after an event for which goodput was below `recovered_share` of what it was before, the longest of all
    /// events. Absent where it can't be told; `absent` then says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_ns: Option<u64>,
    /// The program that made the traffic. Tools only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRecord>,
    /// The transport's state over time.
    pub intervals: Vec<Interval>,
}

/// The times of the parts of a request's way to its answer, each part in both directions together. For each request they sum
/// to its round-trip time, by the wall clock or in simulated time. Of a kernel's times, requests that it did not state some of,
/// and the last one, are not included. Parts that the simulator's model does not have are absent; `absent` then says why.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MechanismsRecord {
    /// From the call to send until the kernel puts the message into the interface's queue: system call, protocol, segmentation
    /// (SCM_TSTAMP_SCHED). In the simulator, the `cost` of the hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending_us: Option<Distribution>,
    /// From there until the interface has taken it: the queue and its shaper (SCM_TSTAMP_SND).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_us: Option<Distribution>,
    /// From there until the other host's kernel takes it in: links, the nodes between them, the interrupt.
    pub wire_us: Distribution,
    /// From there until the program has it: protocol, the socket's queue, wake-up, reading. In the simulator, the `cost` of the
    /// hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading_us: Option<Distribution>,
    /// From reading the request to the call to send the response, in the responder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answering_us: Option<Distribution>,
}

impl FlowRecord {
    /// Returns a record of `flow` with every figure absent, zero or empty.
    pub fn blank(flow: &Flow) -> Self {
        Self::named(flow.name.clone(), flow.transport, flow.ip)
    }

    /// Returns a record of a flow that no scenario has, with every figure absent, zero or empty.
    pub fn named(name: String, transport: Transport, ip: IpVersion) -> Self {
        Self {
            name,
            transport,
            ip,
            congestion_control: String::new(),
            mss_bytes: 0,
            peer_window_bytes: None,
            connections: 0,
            bytes: 0,
            active_ns: 0,
            ip_bytes: None,
            wire_bytes: None,
            span: None,
            ended_ns: None,
            goodput_bps: None,
            connect_us: Distribution::default(),
            completion_us: None,
            retransmissions_pkts: None,
            marks_pkts: None,
            srtt_us: Distribution::default(),
            min_rtt_us: None,
            rtt_us: None,
            rtt_histogram: None,
            transactions_per_second: None,
            owd_us: None,
            owd_histogram: None,
            owd_error_us: None,
            delay_variation_us: None,
            jitter_rfc3550_us: None,
            delay_difference_mean_us: None,
            packets: None,
            pacing: None,
            subflows: Vec::new(),
            sizes: Vec::new(),
            mechanisms: None,
            recovery_ns: None,
            tool: None,
            intervals: Vec::new(),
        }
    }
}

/// The time over which a flow's goodput is computed, and the bytes that arrived in it. The goodput of several flows is
/// their bytes over the union of their spans.
///
/// The span of a transfer begins with its first write, or with the call to connect if no connection opened in the
/// flow's duration. If the flow has a duration, the span ends with it, and bytes that arrive later, from buffers and
/// queues, are outside; the receiver counts by its own clock, so the offset between the hosts' clocks is taken off,
/// or, where that is not known, the receiver's span begins and ends later by the delay of the path. Without a duration
/// the span ends with the receiver's confirmation that it has read all. That of packets begins with the first departure
/// and ends with the last departure or arrival, whichever is later; that of requests begins when the first may be sent
/// and ends with the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Its beginning, after the instant at which all flows were ready.
    pub began_ns: u64,
    /// Its end, after the same instant.
    pub ended_ns: u64,
    /// The part of this time in which a connection carried data: for transfers one after the other, the time between
    /// one's confirmation and the next one's first write is left out.
    pub active_ns: u64,
    /// The application bytes that the receiver had read by its end, or for requests those sent.
    pub bytes: u64,
}

impl Span {
    /// Returns the goodput in bits per second; `None` if the span has no length.
    pub fn goodput_bps(&self) -> Option<f64> {
        (self.active_ns > 0).then(|| self.bytes as f64 * 8e9 / self.active_ns as f64)
    }
}

/// All values of a figure: an HDR histogram with three significant digits, in nanoseconds, in the library's V2
/// encoding, deflated, in base 64 (RFC 4648), which every HdrHistogram implementation reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram(
    /// The encoded text.
    pub String,
);

/// A link or node that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageRecord {
    /// The names of the nodes, as the scenario has them.
    pub fails: Vec<String>,
    /// The time of the failure, after the instant at which all flows were ready.
    pub at_ns: u64,
    /// The time of its return; absent where it did not return before the traffic's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_ns: Option<u64>,
}

/// The work of an OpenFlow controller and of its switches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControllerRecord {
    /// The version of OpenFlow that switches and controller agreed on, `1.0` or `1.3`; the lowest if they differ.
    pub openflow: String,
    /// The time from configuring the controller's address in the switches until the last of them had connected.
    pub connect_ns: u64,
    /// The time from the first switch's connection until the controller knew every link between switches, which it finds
    /// by LLDP (IEEE 802.1AB); absent for a controller that is not nettrial's, which does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_ns: Option<u64>,
    /// The time from configuring the controller's address in the switches until it was ready for traffic: all links known, and
    /// all rules in place that it installs beforehand. Absent for a controller that is not nettrial's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_ns: Option<u64>,
    /// The packets that switches sent to the controller while traffic went (OFPT_PACKET_IN). LLDP frames do not count.
    pub packet_ins: u64,
    /// The packets that the controller had switches send while traffic went (OFPT_PACKET_OUT), LLDP frames not counted.
    pub packet_outs: u64,
    /// The changes of rules and groups that the controller asked for while traffic went (OFPT_FLOW_MOD, OFPT_GROUP_MOD).
    pub changes: u64,
    /// The time from when the controller had the first packet of a flow until it had sent the flow's rules, of each flow
    /// whose first packet came to it while traffic went. Reactive rules of nettrial's applications only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_us: Option<Distribution>,
    /// The CPU time that the controller used while traffic went; absent if nettrial did not start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// The CPU time that all switches used while traffic went, frames that the controller sent and got among them. What
    /// the kernel does for their interfaces is not in it.
    pub switches_cpu_ns: u64,
    /// The frames that the switches were too slow to read while traffic went; absent where the system does not let them be
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_pkts: Option<u64>,
    /// The rules in the tables of a switch after the traffic, over all switches.
    pub rules: Distribution,
}

/// The packets of a flow that were received, lost, reordered and duplicated, by their sequence numbers. Loss,
/// reordering and duplication are counted separately, so that none hides another.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketCounts {
    /// The packets that the sender handed to the kernel.
    pub sent_pkts: u64,
    /// The different packets that arrived.
    pub received_pkts: u64,
    /// The packets that were sent and never arrived (RFC 7680).
    pub lost_pkts: u64,
    /// The packets that arrived after one that was sent later (RFC 4737 section 3.3); absent if a tool does not
    /// report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered_pkts: Option<u64>,
    /// The arrivals beyond the first of a packet (RFC 5560); absent if a tool does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicated_pkts: Option<u64>,
    /// The runs of losses without an arrival between them (RFC 3357); absent if a tool does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bursts: Option<u64>,
    /// The longest run of losses; absent if a tool does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_loss_burst_pkts: Option<u64>,
    /// The packets that the sender's kernel refused, which do not count as sent.
    pub send_errors_pkts: u64,
}

/// The accuracy with which a sender kept to its departures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The payload rate that follows from the departures requested, bits per second.
    pub asked_bps: f64,
    /// The payload rate sent, bits per second.
    pub sent_bps: f64,
    /// The time after its departure at which each packet was handed to the kernel.
    pub lateness_us: Distribution,
    /// The CPU time of the sending thread in percent of the flow's time; absent if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
}

/// A subflow's state at the end of its connection. Subflows of several connections between the same addresses are
/// one entry, with the sum of their bytes, retransmissions and marks, and the state of the last. Figures that a backend does not
/// have are absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubflowRecord {
    /// Address and port of the flow's first host.
    pub local: String,
    /// Address and port of the flow's second host.
    pub remote: String,
    /// Bytes acknowledged (TCP_INFO tcpi_bytes_acked).
    pub bytes: u64,
    /// Smoothed round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_us: Option<u32>,
    /// Smallest round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// Congestion window in segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_pkts: Option<u32>,
    /// Segments retransmitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions_pkts: Option<u64>,
    /// Packets delivered whose acknowledgments had the flag ECE (see the flow's `marks_pkts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_pkts: Option<u64>,
    /// The subflow's congestion control in force.
    pub congestion_control: String,
}

/// The results of one size of a sweep. Each list has one entry for each repeat, in the order of measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeRecord {
    /// Bytes of a request.
    pub size_bytes: u64,
    /// The mean time from sending a request to reading its answer, microseconds, of the requests of the full size
    /// that were sent once, or of all requests if there are none of these.
    pub rtt_us: Vec<f64>,
    /// The smallest of these times, microseconds.
    pub rtt_minimum_us: Vec<f64>,
    /// The time that all bytes took, microseconds.
    pub total_us: Vec<f64>,
    /// The requests that had to be retransmitted (UDP) in all repeats.
    pub resent_pkts: u64,
}

/// A program that made a flow's traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRecord {
    /// The version that the tool prints.
    pub version: String,
    /// The command that was run on the first host.
    pub command: Vec<String>,
    /// The output that it printed, cut after 64 KiB.
    pub output: String,
}

/// The summary of a set of values.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The number of values; if it is 0, all other fields are 0.
    pub count: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of the values.
    pub deviation: f64,
    /// The smallest value.
    pub minimum: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The percentile 99.9; absent with fewer than 1000 values, because it would be the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<f64>,
    /// The percentile 99.99; absent with fewer than 10 000 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_99: Option<f64>,
    /// The percentile 99.999; absent with fewer than 100 000 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_999: Option<f64>,
    /// The largest value.
    pub maximum: f64,
}

/// A flow's transport state at one moment.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The time after the instant at which all flows were ready.
    pub at_ns: u64,
    /// The application bytes since the previous interval: those acknowledged (TCP_INFO tcpi_bytes_acked), or over
    /// UDP those sent.
    pub bytes: u64,
    /// The smoothed round-trip time, for MPTCP the mean over the subflows that have one; absent while no connection
    /// is open, and before its first estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srtt_us: Option<u32>,
    /// The smallest round-trip time of this connection; absent while no connection is open, and before its first
    /// estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// The congestion window in segments, for MPTCP the sum over the subflows; 0 while no connection is open.
    pub cwnd_pkts: u32,
    /// The segments retransmitted since the previous interval.
    pub retransmissions_pkts: u64,
    /// The kernel's estimate of the rate at which data arrives (TCP_INFO tcpi_delivery_rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_rate_bps: Option<u64>,
    /// The application bytes of each subflow since the previous interval, in the record's order. MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflow_bytes: Vec<u64>,
    /// The congestion window in segments of each subflow, in the same order; 0 while the subflow is not open.
    /// MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflow_cwnd_pkts: Vec<u32>,
}

/// A host's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// The host's name.
    pub name: String,
    /// The CPU to which the host's work was bound; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<u32>,
    /// The other nodes whose forwarding used the same CPU, and the engine's own work on it (`delay line`, `packet
    /// counter`, `queue sampler`).
    pub processor_shared_with: Vec<String>,
    /// The share of the traffic's time in which the CPU was not idle, interrupts included, in percent, without
    /// `shaper_percent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// The time in which the CPU was not idle, nanoseconds, without the shapers' time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_busy_ns: Option<u64>,
    /// The share of the traffic's time in which the lab's shapers used the CPU, in percent; absent if it was not
    /// measured, and is therefore part of the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper_percent: Option<f64>,
    /// The CPU time per kilobyte (1000 bytes) of payload that the host's transfers moved, microseconds (netperf's
    /// service demand).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_demand_us_per_kb: Option<f64>,
    /// The guest that the host was, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestRecord>,
    /// The user's machine that the host was on the lab's links, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRecord>,
    /// The program whose TCP/IP the host had; absent if it had its kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackRecord>,
    /// The operating system of the user's machine that was the host, with its version, as it names itself; absent
    /// elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The radio of the host's Wi-Fi interface, if its driver reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioRecord>,
}

impl HostRecord {
    /// Returns a record of the host `name` with every figure absent.
    pub fn blank(name: &str) -> Self {
        Self {
            name: name.into(),
            processor: None,
            processor_shared_with: Vec::new(),
            cpu_percent: None,
            cpu_busy_ns: None,
            shaper_percent: None,
            service_demand_us_per_kb: None,
            guest: None,
            machine: None,
            stack: None,
            system: None,
            radio: None,
        }
    }

    /// Returns the record with the host's CPU time: `busy_ns`, which is `percent` of the traffic's time, for
    /// `payload_bytes` that its transfers moved (see [`crate::Scenario::payload_bytes`]).
    #[must_use]
    pub fn with_cpu_time(self, busy_ns: u64, percent: f64, payload_bytes: u64) -> Self {
        let kilobytes = payload_bytes as f64 / 1000.0;
        Self {
            cpu_percent: Some(percent),
            cpu_busy_ns: Some(busy_ns),
            service_demand_us_per_kb: (payload_bytes > 0).then(|| busy_ns as f64 / 1000.0 / kilobytes),
            ..self
        }
    }
}

/// A guest that was a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestRecord {
    /// The system's name in studies.
    pub system: String,
    /// The release of the kernel that was found inside (uname(2)).
    pub kernel: String,
    /// Its virtual CPUs.
    pub processors: u32,
    /// Its memory, bytes.
    pub memory_bytes: u64,
    /// True if its instructions were carried out by software, and not by the machine's CPUs (KVM).
    pub emulated: bool,
}

/// A host's radio just before the traffic and just after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadioRecord {
    /// The name of the host's interface on its machine.
    pub interface: String,
    /// The driver's report before the traffic.
    pub before: Wireless,
    /// The driver's report after the traffic.
    pub after: Wireless,
}

/// A machine of the user's that was a host on the lab's links, as its agent describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineRecord {
    /// The machine's name in the inventory.
    pub name: String,
    /// The kernel's name, release and version.
    pub kernel: String,
}

/// A program whose TCP/IP a host had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackRecord {
    /// The program's name in studies.
    pub name: String,
    /// The version of the stack, as the program prints it.
    pub version: String,
}

/// A CPU during the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorRecord {
    /// The CPU's number.
    pub number: u32,
    /// The share of time in which the CPU was neither idle nor taken by the hypervisor, in percent.
    pub busy_percent: f64,
    /// The share of time that the hypervisor took, in percent.
    pub stolen_percent: f64,
    /// The CPU's clock rate at the end of the traffic; absent if the kernel does not report it (cpufreq; virtual
    /// machines seldom have it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
    /// The lateness of timers on the CPU during the traffic, as sleeps of 10 ms on average measured it, in
    /// microseconds; absent where it is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_lateness_us: Option<Distribution>,
}

/// The disturbances of a machine during the traffic: what was not the trial's own work. Figures that its system does
/// not report are absent, and `absent` of the record says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisturbanceRecord {
    /// The machine: its name in the inventory, `client` or `server` of a measurement, or `this machine` in the lab.
    pub machine: String,
    /// The CPU time of processes that are not the trial's, in percent of the time of one CPU. Kernel threads do not
    /// count, because some do the trial's own work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-limit" = DisturbanceRecord::MOST_OTHER_WORK_PERCENT))]
    pub other_work_percent: Option<f64>,
    /// The largest share of a CPU's time that the hypervisor took, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-limit" = DisturbanceRecord::MOST_STOLEN_PERCENT))]
    pub stolen_percent: Option<f64>,
    /// The largest lateness of a thread that sleeps for 5 to 20 ms at a time, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_lateness_us: Option<f64>,
    /// The change of the wall clock against the monotonic clock, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-limit" = DisturbanceRecord::MOST_CLOCK_STEP_NS))]
    pub clock_step_ns: Option<i64>,
}

impl DisturbanceRecord {
    /// The CPU time of other processes, in percent of the time of one CPU, above which a trial is disturbed.
    pub const MOST_OTHER_WORK_PERCENT: f64 = 5.0;
    /// The share of a CPU's time that the hypervisor took, in percent, above which a trial is disturbed: its results depend
    /// on other virtual machines.
    pub const MOST_STOLEN_PERCENT: f64 = 2.0;
    /// The change of the wall clock against the monotonic clock, in nanoseconds, above which a trial is disturbed.
    pub const MOST_CLOCK_STEP_NS: i64 = 1_000_000;
}

/// An interface's figures over the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceRecord {
    /// The node that sends.
    pub node: String,
    /// Its interface.
    pub interface: String,
    /// The bytes sent as they occupy the wire, with preamble, frame check sequence and gap.
    pub wire_bytes: u64,
    /// Frames sent.
    pub frames_pkts: u64,
    /// Frames dropped by the queue.
    pub drops_pkts: u64,
    /// The bytes that the shaper holds as credit, which the interface may send beyond the link's rate after an
    /// idle time or a late timer. Absent if the link is not shaped, and on the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// The packets in the queue, sampled; a GSO packet that is segmented after the queue counts once. Present if
    /// the measurement asks for it and the link has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_pkts: Option<Distribution>,
    /// The bytes in the queue as they will occupy the wire, sampled at the same moments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<Distribution>,
    /// The queue over time. Present if the measurement asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<InterfaceSample>,
    /// The IP packets sent, by size. Present if the measurement asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_sizes: Option<Vec<PacketSize>>,
}

/// An interface's state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSample {
    /// The time since the start of the trial.
    pub at_ns: u64,
    /// The packets in the interface's queue.
    pub queue_pkts: u32,
    /// The bytes in the interface's queue as they will occupy the wire.
    pub queue_bytes: u32,
    /// The bytes sent since the previous sample, as they occupy the wire.
    pub wire_bytes: u64,
    /// The bytes sent as a share of what the link's rate allows, in percent.
    pub utilisation_percent: f64,
}

/// A radio channel's figures over the trial. `idle_ps`, `collisions_ps` and the airtime of all stations add up to
/// exactly `elapsed_ps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRecord {
    /// The access point's node, after which the channel is named.
    pub access_point: String,
    /// The time from the start of the trial to the end of its last flow, picoseconds.
    pub elapsed_ps: u64,
    /// The time in which no station sent, inter-frame spaces and backoff included.
    pub idle_ps: u64,
    /// The time in which frames of several stations overlapped, because they collided or because the stations did
    /// not hear each other.
    pub collisions_ps: u64,
    /// The access point first, then the stations in the order of the link's interfaces.
    pub stations: Vec<StationRecord>,
}

/// The time for which a station used a channel, by purpose, in picoseconds, without collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Airtime {
    /// The time of the bytes of MPDUs that arrived.
    pub data_ps: u64,
    /// The time of the bytes of MPDUs that were lost to noise or interference.
    pub errors_ps: u64,
    /// The time of preambles, padding, inter-frame spaces within an exchange, acknowledgments, RTS, CTS and
    /// beacons. An unfinished exchange counts as overhead.
    pub overhead_ps: u64,
}

/// A station of a radio channel as a sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationRecord {
    /// The node.
    pub node: String,
    /// Its interface.
    pub interface: String,
    /// The time for which the station used the channel, by purpose.
    pub airtime: Airtime,
    /// The time of the station's own frames that collided, picoseconds.
    pub collided_ps: u64,
    /// The exchanges that the station began, without collided ones and beacons. Each exchange of a TXOP counts.
    pub exchanges: u64,
    /// The beacons that the station sent.
    pub beacons: u64,
    /// The station's attempts that collided with another station's.
    pub collisions: u64,
    /// The MPDUs sent, retransmissions included.
    pub mpdus_pkts: u64,
    /// The MPDUs of these that had been sent before.
    pub retries_pkts: u64,
    /// The MPDUs of these that were lost to noise, or to interference after the start of their PPDU.
    pub lost_mpdus_pkts: u64,
    /// The IP packets that the receiving station has received, including those that an access point forwards.
    pub delivered_pkts: u64,
    /// The IP packets dropped because the queue was full.
    pub queue_drops_pkts: u64,
    /// The IP packets that CoDel dropped because they had waited for too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub codel_drops_pkts: u64,
    /// The IP packets that CoDel marked instead of dropping them, because their transport understands marks (ECN).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub codel_marks_pkts: u64,
    /// The IP packets dropped because they had been sent as often as the settings allow.
    pub retry_drops_pkts: u64,
    /// The IP packets still queued at the end of the trial.
    pub queued_pkts: u64,
    /// The number of PPDUs without a collision that had one MPDU, two MPDUs, and so on.
    pub aggregates: Vec<u64>,
    /// The PPDUs by their rate, if rate control chose it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateUse>,
    /// The mean rate of the station's PPDUs over time, if rate control chose it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_series: Vec<RateSample>,
    /// The mean time from the arrival of an IP packet at the interface until it is sent for the first time,
    /// nanoseconds.
    pub queue_delay_mean_ns: u64,
    /// The longest of these times.
    pub queue_delay_max_ns: u64,
    /// The mean time from the moment at which the station has something to send and may contend until it sends,
    /// over its attempts, nanoseconds.
    pub contention_delay_mean_ns: u64,
    /// The longest of these times.
    pub contention_delay_max_ns: u64,
    /// These delays over time, where the measurement has a `queue_interval`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_series: Vec<DelaySample>,
}

/// The delays at a station of a radio channel in 100 ms. A delay is absent if nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelaySample {
    /// The beginning of these 100 ms, after the trial's beginning.
    pub at_ns: u64,
    /// The mean time from the arrival of IP packets until they were sent for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_delay_ns: Option<u64>,
    /// The mean time from the moment at which the station might contend until it sent, over its attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention_delay_ns: Option<u64>,
}

/// The number of times that a station of a radio channel used a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateUse {
    /// Spatial streams.
    pub streams: u32,
    /// The MCS of each stream.
    pub mcs: u32,
    /// The PPDUs sent at this rate, including those that collided.
    pub ppdus: u64,
}

/// The mean rate of the PPDUs that a station of a radio channel sent in 100 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSample {
    /// The beginning of these 100 ms, after the trial's beginning.
    pub at_ns: u64,
    /// The mean of the PPDUs' rates.
    pub rate_bps: u64,
}

/// The number of packets of one size that an interface sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketSize {
    /// The bytes of the IP packet. A GSO packet that crosses the link unsegmented (TSO, GSO) counts with its own
    /// size.
    pub size_bytes: u32,
    /// The number of packets.
    pub packets: u64,
}

/// The use of one of nettrial's own congestion controls in the kernel during the traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionRecord {
    /// The congestion control's name in the scenario.
    pub name: String,
    /// The number of calls by the kernel, on all hosts together.
    pub callbacks: Callbacks,
}

/// The number of calls by the kernel to each function of a congestion control (struct tcp_congestion_ops,
/// include/net/tcp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Callbacks {
    /// Calls for the window after a loss.
    pub ssthresh: u64,
    /// Calls for the growth of the window after an acknowledgment.
    pub cong_avoid: u64,
    /// Calls with the round-trip time of an acknowledgment.
    pub pkts_acked: u64,
    /// Calls to undo a reduction after a loss that was none.
    pub undo_cwnd: u64,
    /// Calls for a new connection or subflow.
    pub init: u64,
    /// Calls for a connection or subflow that ends. Most end after the traffic and are not counted.
    pub release: u64,
    /// The calls of those above that saw two or more subflows of their connection.
    pub coupled: u64,
    /// The calls that the kernel skipped, using an undefined value instead of an answer, and after which the
    /// program repaired the windows.
    pub repaired: u64,
}

impl Callbacks {
    /// Returns the calls since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ssthresh: self.ssthresh - earlier.ssthresh,
            cong_avoid: self.cong_avoid - earlier.cong_avoid,
            pkts_acked: self.pkts_acked - earlier.pkts_acked,
            undo_cwnd: self.undo_cwnd - earlier.undo_cwnd,
            init: self.init - earlier.init,
            release: self.release - earlier.release,
            coupled: self.coupled - earlier.coupled,
            repaired: self.repaired - earlier.repaired,
        }
    }
}

/// A check made before or after the traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The name of the check: `path_mtu`, `mss`, `congestion_control`, `congestion_control_ran`, `clock`.
    pub name: String,
    /// The object of the check: a flow, a host, a direction.
    pub object: String,
    /// The value that the scenario implies.
    pub expected: String,
    /// The value that was found.
    pub found: String,
    /// True if the two agree.
    pub passed: bool,
}

impl Check {
    /// Creates the check that `name` of `object`, which is `actual`, should be `expected`.
    pub fn of(name: &str, object: &str, expected: String, actual: String) -> Self {
        let passed = expected == actual;
        Self { name: name.into(), object: object.into(), expected, found: actual, passed }
    }

    /// Returns the warning, with this consequence, if the check did not pass.
    pub fn warning(&self, consequence: &str) -> Option<Warning> {
        let message = || format!("{} should be {} and is {}", self.name, self.expected, self.found);
        (!self.passed).then(|| Warning::new(&self.name, &self.object, message(), consequence))
    }
}

/// A reason for which a trial's figures may be misleading.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// A stable word for the kind of warning, such as `path_mtu` or `processor_saturated`.
    pub code: String,
    /// The object of the warning: a flow, a host, an interface.
    pub object: String,
    /// The observation.
    pub message: String,
    /// The consequence for the figures.
    pub consequence: String,
}

impl Warning {
    /// Creates a warning of the kind `code` about `object`.
    pub fn new(code: &str, object: &str, message: String, consequence: &str) -> Self {
        Self { code: code.into(), object: object.into(), message, consequence: consequence.into() }
    }

    /// Returns warnings of drops in queues of `scenario` that should not overflow.
    pub fn of_drops(scenario: &Scenario, records: &[InterfaceRecord]) -> Vec<Self> {
        if scenario.measurement.queue_drops == QueueDrops::Allowed {
            return Vec::new();
        }
        let warning = |record: &InterfaceRecord| {
            Self::new(
                "queue_drops",
                &format!("{} of {}", record.interface, record.node),
                format!("its queue dropped {} frames", record.drops_pkts),
                "the flow was slowed by loss that the study does not mean to have",
            )
        };
        records.iter().filter(|record| record.drops_pkts > 0).map(warning).collect()
    }
}

/// A metric that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// The metric's name.
    pub metric: String,
    /// The host or flow that lacks the metric.
    pub object: String,
    /// The reason for the absence.
    pub reason: String,
}

impl Absence {
    /// Returns the absences of the figures that are CPU time, for a host without them.
    pub fn of_cpu_time(host: &str, reason: &str) -> [Self; 2] {
        ["cpu", "service_demand"].map(|metric| Self {
            metric: metric.into(),
            object: host.into(),
            reason: reason.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_moved_nothing_has_cpu_time_and_no_service_demand() {
        let host = HostRecord::blank("sender");
        assert_eq!((host.cpu_busy_ns, host.cpu_percent, host.service_demand_us_per_kb), (None, None, None));
        let busy = host.clone().with_cpu_time(3_000_000, 1.5, 2_000_000);
        assert_eq!((busy.cpu_busy_ns, busy.cpu_percent), (Some(3_000_000), Some(1.5)));
        // 3000 us for 2000 kB.
        assert_eq!(busy.service_demand_us_per_kb, Some(1.5));
        assert_eq!(host.with_cpu_time(3_000_000, 1.5, 0).service_demand_us_per_kb, None);
    }

    #[test]
    fn a_blank_record_reads_back_from_its_json() {
        let record = Record::blank("sim");
        let document = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&document).unwrap(), record);
    }
}
