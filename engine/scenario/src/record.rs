//! The record of a trial.

use crate::{Flow, IpVersion, QueueDrops, Scenario, Transport, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The record of a trial: what was measured, the checks made around it, and the warnings that follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The document's version: [`crate::FORMAT`].
    pub format: u32,
    /// The backend that ran the trial.
    pub backend: String,
    /// The engine's version.
    pub engine_version: String,
    /// The beginning of the trial, nanoseconds since 1970-01-01 UTC; 0 on the simulator, whose records depend on
    /// nothing but the scenario.
    pub started_unix_ns: u64,
    /// The time that each phase of the trial took.
    pub phases: Phases,
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowRecord>,
    /// One per host, in the scenario's order.
    pub hosts: Vec<HostRecord>,
    /// One per CPU that the trial could use. None where hosts are simulated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorRecord>,
    /// One per interface whose queue or packets were counted.
    #[serde(rename = "ends")]
    pub interfaces: Vec<InterfaceRecord>,
    /// One per radio channel, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelRecord>,
    /// The calls to each congestion control of nettrial's own that the scenario has. Absent where it
    /// has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRecord>,
    /// The checks made before and after the traffic.
    pub checks: Vec<Check>,
    /// Why the trial's figures may not be what they seem.
    pub warnings: Vec<Warning>,
    /// Metrics that could not be measured, and why.
    pub absent: Vec<Absence>,
}

/// The time that each phase of a trial took, by the monotonic clock; of the simulator `traffic_ns` alone, in
/// simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Namespaces, links, addresses, routes, queues.
    pub network_ns: u64,
    /// Starting the agents and checking the path.
    pub checks_ns: u64,
    /// From the start of the first flow to the end of the last.
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
    /// Its transport.
    pub transport: Transport,
    /// Its IP version.
    pub ip: IpVersion,
    /// The sender's congestion control, as the kernel or simulator names the one in force.
    pub congestion_control: String,
    /// The sender's maximum segment size in force at the end, bytes of payload.
    pub mss_bytes: u32,
    /// The largest receive window that the receiver announced, bytes, as the sender's system read it with each sample; absent
    /// where that does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_window_bytes: Option<u64>,
    /// Connections opened; for sized transfers also the number of transfers. 0 where there are none, or
    /// where a tool says nothing of its connections: then it says nothing of retransmissions either.
    pub connections: u32,
    /// Application bytes that the receiver confirmed (transfer, packets), or sent in requests.
    pub bytes: u64,
    /// The time those bytes took: for a transfer the sum, over connections, from the first write to
    /// the receiver's confirmation that it has read all; for packets from the first departure to the
    /// last arrival; for requests from the first of them to the last response.
    pub active_ns: u64,
    /// Bytes of the IP packets that the flow's first host sent: headers and retransmissions count. Of TCP
    /// and MPTCP from the kernel's counts of bytes and segments and the headers that the options in force
    /// make (selective acknowledgments aside); absent for MPTCP with a connection for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_bytes: Option<u64>,
    /// The same as frames on Ethernet: header, preamble, frame check sequence and gap count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_bytes: Option<u64>,
    /// `bytes` over `active_ns`, bits per second. Transfers and packets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// From the call to connect until it returns, each connection.
    pub connect_us: Distribution,
    /// From the call to connect until the receiver's confirmation, each sized transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_us: Option<Distribution>,
    /// Segments retransmitted (TCP_INFO tcpi_total_retrans), all connections.
    pub retransmissions_pkts: u64,
    /// The kernel's smoothed round-trip time (RFC 6298), over the samples of all intervals.
    pub srtt_us: Distribution,
    /// The smallest round-trip time the kernel saw.
    pub min_rtt_us: u32,
    /// From sending a request to reading its response. Request/response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<Distribution>,
    /// The same in full, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_histogram: Option<Histogram>,
    /// Requests answered per second, from the first request to the last response. Request/response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_second: Option<f64>,
    /// From a packet's departure to its arrival. Absent where the hosts' clocks do not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_us: Option<Distribution>,
    /// The same in full, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_histogram: Option<Histogram>,
    /// The largest error of `owd_us`, because the offset between the clocks was estimated; absent
    /// where they are one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owd_error_us: Option<f64>,
    /// One-way delay above the smallest one of the flow (RFC 5481, packet delay variation). The two
    /// hosts' clocks need not agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_variation_us: Option<Distribution>,
    /// RFC 3550 section 6.4.1 and appendix A.8 over the transit times of requests or packets:
    /// J += (|D| − J)/16 from J = 0, its last value. The two hosts' clocks need not agree, for D is a
    /// difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_rfc3550_us: Option<f64>,
    /// The mean of |D| over the same transit times (what D-ITG calls average jitter).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_difference_mean_us: Option<f64>,
    /// The packets received, lost, reordered and duplicated. Over UDP only: TCP hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCounts>,
    /// The sender's accuracy in keeping to the departures it was asked for. Packets only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The connection's subflows. MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<SubflowRecord>,
    /// The results of each size, by size. Sweeps only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeRecord>,
    /// The program that made the traffic. Tools only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRecord>,
    /// The transport's state over time.
    pub intervals: Vec<Interval>,
}

impl FlowRecord {
    /// A record of `flow` with every figure absent, zero or empty.
    pub fn blank(flow: &Flow) -> Self {
        Self {
            name: flow.name.clone(),
            transport: flow.transport,
            ip: flow.ip,
            congestion_control: String::new(),
            mss_bytes: 0,
            peer_window_bytes: None,
            connections: 0,
            bytes: 0,
            active_ns: 0,
            ip_bytes: None,
            wire_bytes: None,
            goodput_bps: None,
            connect_us: Distribution::default(),
            completion_us: None,
            retransmissions_pkts: 0,
            srtt_us: Distribution::default(),
            min_rtt_us: 0,
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
            tool: None,
            intervals: Vec::new(),
        }
    }
}

/// All values of a figure: an HDR histogram with three significant digits, in nanoseconds, in the
/// library's V2 encoding, deflated, in base 64 (RFC 4648), as every HdrHistogram implementation reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Histogram(
    /// The encoded text.
    pub String,
);

/// The packets of a flow received, lost, reordered and duplicated, from their sequence numbers: loss, reordering
/// and duplication are three figures, and none hides another.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketCounts {
    /// Handed to the kernel by the sender.
    pub sent_pkts: u64,
    /// Different packets that arrived.
    pub received_pkts: u64,
    /// Sent and never arrived (RFC 7680).
    pub lost_pkts: u64,
    /// Arrived after one that was sent later (RFC 4737 section 3.3); absent where a tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered_pkts: Option<u64>,
    /// Arrived again (RFC 5560); absent where a tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicated_pkts: Option<u64>,
    /// Runs of losses without an arrival between them (RFC 3357); absent where a tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_bursts: Option<u64>,
    /// The longest run; absent where a tool does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_loss_burst_pkts: Option<u64>,
    /// Refused by the sender's kernel, and not counted as sent.
    pub send_errors_pkts: u64,
}

/// A sender's accuracy in keeping to its departures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// The payload rate that the departures asked for imply, bits per second.
    pub asked_bps: f64,
    /// The payload rate sent, bits per second.
    pub sent_bps: f64,
    /// The time after its departure at which each packet was handed to the kernel.
    pub lateness_us: Distribution,
    /// CPU time of the sending thread in percent of the flow's time, where the system tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
}

/// A subflow's state at its connection's end. Of several connections: those between the same addresses
/// as one, their bytes and retransmissions added up, and the state of the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubflowRecord {
    /// Address and port of the flow's first host.
    pub local: String,
    /// Address and port of its second.
    pub remote: String,
    /// Bytes acknowledged (TCP_INFO tcpi_bytes_acked).
    pub bytes: u64,
    /// Smoothed round-trip time.
    pub srtt_us: u32,
    /// Smallest round-trip time.
    pub min_rtt_us: u32,
    /// Congestion window in segments.
    pub cwnd_pkts: u32,
    /// Segments retransmitted.
    pub retransmissions_pkts: u64,
    /// Its congestion control in force.
    pub congestion_control: String,
}

/// The results of one size of a sweep; each list has one entry a repeat, in the order they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeRecord {
    /// Bytes of a request.
    pub size_bytes: u64,
    /// The mean time from sending a request to reading its answer, microseconds: of requests of the full
    /// size that were sent once, or, where there is none, of all.
    pub rtt_us: Vec<f64>,
    /// The smallest time of the same requests, microseconds.
    pub rtt_minimum_us: Vec<f64>,
    /// The time that all bytes took, microseconds.
    pub total_us: Vec<f64>,
    /// Requests that had to be retransmitted (UDP), all repeats.
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

/// A set of values by its summary.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// The number of values; with none, all other fields are 0.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the values.
    pub deviation: f64,
    /// Smallest.
    pub minimum: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Percentile 99.9; absent with fewer than 1000 values, for it would be the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<f64>,
    /// Percentile 99.99; absent with fewer than 10 000 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_99: Option<f64>,
    /// Percentile 99.999; absent with fewer than 100 000 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_999: Option<f64>,
    /// Largest.
    pub maximum: f64,
}

/// A flow's transport state at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The time after the instant at which all flows were ready.
    pub at_ns: u64,
    /// Application bytes since the interval before: acknowledged (TCP_INFO tcpi_bytes_acked), or over
    /// UDP sent.
    pub bytes: u64,
    /// Smoothed round-trip time, of MPTCP the mean of the subflows'; 0 while no connection is open.
    pub srtt_us: u32,
    /// Smallest round-trip time of this connection; 0 while no connection is open.
    pub min_rtt_us: u32,
    /// Congestion window in segments, of MPTCP the sum of the subflows'; 0 while no connection is open.
    pub cwnd_pkts: u32,
    /// Segments retransmitted since the interval before.
    pub retransmissions_pkts: u64,
    /// The kernel's estimate of the rate at which data arrives (TCP_INFO tcpi_delivery_rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_rate_bps: Option<u64>,
    /// Application bytes of each subflow since the interval before, in the record's order. MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflow_bytes: Vec<u64>,
    /// Congestion window in segments of each subflow, in the same order; 0 while it is not open. MPTCP only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflow_cwnd_pkts: Vec<u32>,
}

/// A host's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// The host's name.
    pub name: String,
    /// The CPU its work was kept on, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<u32>,
    /// Other nodes whose forwarding fell on the same CPU, and the engine's own work there (`delay
    /// line`, `packet counter`, `queue sampler`).
    pub processor_shared_with: Vec<String>,
    /// Time that CPU was not idle while traffic went, interrupts included, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// The same, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_busy_ns: Option<u64>,
    /// CPU time per kilobyte (1000 bytes) of the payload that the host's transfers moved,
    /// microseconds (netperf's service demand).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_demand_us_per_kb: Option<f64>,
}

/// A CPU while traffic went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorRecord {
    /// Its number.
    pub number: u32,
    /// Time it was neither idle nor taken by the hypervisor, in percent.
    pub busy_percent: f64,
    /// Time the hypervisor took, in percent.
    pub stolen_percent: f64,
    /// Its clock as the traffic ended; absent where the kernel does not say (cpufreq; virtual machines seldom
    /// have it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_mhz: Option<f64>,
}

/// An interface over the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceRecord {
    /// The node that sends.
    pub node: String,
    /// Its interface.
    pub interface: String,
    /// Bytes sent as they occupy the wire: preamble, frame check sequence and gap counted.
    pub wire_bytes: u64,
    /// Frames sent.
    pub frames_pkts: u64,
    /// Frames dropped by the queue.
    pub drops_pkts: u64,
    /// Bytes that the shaper holds as credit: what the interface may send beyond the link's rate after an idle
    /// time, or after a late timer. Absent where nothing is shaped, and on the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// Packets in the queue, sampled; a GSO packet that is cut into frames after it is one. Where
    /// the measurement asks for it and the link has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_pkts: Option<Distribution>,
    /// Bytes in the queue as they will occupy the wire, sampled at the same moments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<Distribution>,
    /// The same over time. Where the measurement asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<InterfaceSample>,
    /// IP packets sent, by size. Where the measurement asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_sizes: Option<Vec<PacketSize>>,
}

/// An interface at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfaceSample {
    /// The time after the trial's beginning.
    pub at_ns: u64,
    /// Packets in its queue.
    pub queue_pkts: u32,
    /// Bytes in its queue as they will occupy the wire.
    pub queue_bytes: u32,
    /// Bytes sent since the sample before, as they occupy the wire.
    pub wire_bytes: u64,
    /// The same as a share of what the link's rate allows, in percent.
    pub utilisation_percent: f64,
}

/// A radio channel over the trial. What it was used for adds up to `elapsed_ps` exactly: `idle_ps`, `collisions_ps` and
/// the airtime of all stations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRecord {
    /// The access point's node, which the channel is named after.
    pub access_point: String,
    /// The time from the trial's beginning to the end of its last flow, picoseconds.
    pub elapsed_ps: u64,
    /// The part in which nobody had the channel: inter-frame spaces and backoff count.
    pub idle_ps: u64,
    /// The part in which frames of several stations overlapped: they collided, or were out of each other's reach.
    pub collisions_ps: u64,
    /// The access point first, then the stations in the order of the link's interfaces.
    pub stations: Vec<StationRecord>,
}

/// The time for which a station used a channel, by purpose, in picoseconds, without collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Airtime {
    /// MPDUs that arrived: the part of the PPDUs that their bytes take.
    pub data_ps: u64,
    /// MPDUs that were lost to noise or interference.
    pub errors_ps: u64,
    /// Preambles, padding, inter-frame spaces within an exchange, acknowledgments, RTS, CTS and beacons. An exchange
    /// that is not over counts as overhead.
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
    /// The time for which it used the channel, by purpose.
    pub airtime: Airtime,
    /// The time of its own frames that collided, those of others not counted, picoseconds.
    pub collided_ps: u64,
    /// Exchanges it began, collided ones and beacons not counted, each one of a TXOP.
    pub exchanges: u64,
    /// Beacons it sent.
    pub beacons: u64,
    /// Its attempts that collided with another station's.
    pub collisions: u64,
    /// MPDUs sent, each as often as it was.
    pub mpdus_pkts: u64,
    /// MPDUs, of those, that had been sent before.
    pub retries_pkts: u64,
    /// MPDUs, of those, that were lost to noise, or to interference after the beginning of their PPDU.
    pub lost_mpdus_pkts: u64,
    /// IP packets that the receiver of the air has, those counted that an access point passes on.
    pub delivered_pkts: u64,
    /// IP packets dropped because the queue was full.
    pub queue_drops_pkts: u64,
    /// IP packets dropped because CoDel found that they had waited for too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub codel_drops_pkts: u64,
    /// IP packets dropped because they were sent as often as the settings let.
    pub retry_drops_pkts: u64,
    /// IP packets still there when the trial ended.
    pub queued_pkts: u64,
    /// PPDUs that did not collide, by their MPDUs: how many had one, how many had two, and so on.
    pub aggregates: Vec<u64>,
    /// PPDUs by their rate, where rate control chose it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateUse>,
    /// The mean rate of its PPDUs over time, where rate control chose it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_series: Vec<RateSample>,
    /// From the arrival of each IP packet at the interface until it is sent for the first time, the mean, nanoseconds.
    pub queue_delay_mean_ns: u64,
    /// The longest of these times.
    pub queue_delay_max_ns: u64,
    /// From the moment at which the station has something to send and may contend for it until it sends, the mean over
    /// its attempts, nanoseconds.
    pub contention_delay_mean_ns: u64,
    /// The longest of these times.
    pub contention_delay_max_ns: u64,
    /// These delays over time, where the measurement has a `queue_interval`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_series: Vec<DelaySample>,
}

/// The delays at a station of a radio channel in 100 ms. One is absent where nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelaySample {
    /// The beginning of these 100 ms, after the trial's beginning.
    pub at_ns: u64,
    /// From the arrival of the IP packets that were sent for the first time until then, the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_delay_ns: Option<u64>,
    /// From the moment at which the station might contend until it sent, the mean over its attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention_delay_ns: Option<u64>,
}

/// The use of a rate by a station of a radio channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateUse {
    /// Spatial streams.
    pub streams: u32,
    /// The MCS of each.
    pub mcs: u32,
    /// PPDUs sent by it, those that collided counted.
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
    /// Bytes of the IP packet; a GSO packet that the link's far end will not see cut (TSO, GSO)
    /// counts as what it is.
    pub size_bytes: u32,
    /// The number of packets.
    pub packets: u64,
}

/// A congestion control of nettrial's own in the kernel, over the traffic's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CongestionRecord {
    /// Its name in the scenario.
    pub name: String,
    /// The number of calls by the kernel, on all hosts together.
    pub callbacks: Callbacks,
}

/// The number of calls by the kernel to each function of a congestion control (struct tcp_congestion_ops,
/// include/net/tcp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Callbacks {
    /// For the window after a loss.
    pub ssthresh: u64,
    /// For the window's growth by what was acknowledged.
    pub cong_avoid: u64,
    /// With the round-trip time of an acknowledgment.
    pub pkts_acked: u64,
    /// To take back a reduction that was for no loss.
    pub undo_cwnd: u64,
    /// For a new connection or subflow.
    pub init: u64,
    /// For one that ends; most end after the traffic, and are not counted.
    pub release: u64,
    /// Calls, of those above, that saw two or more subflows of their connection.
    pub coupled: u64,
    /// Calls that the kernel left out, taking for the answer what was none, and whose windows were put right.
    pub repaired: u64,
}

impl Callbacks {
    /// The calls since `earlier`.
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

/// Something verified around the traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The name of the check: `path_mtu`, `mss`, `congestion_control`, `congestion_control_ran`, `clock`.
    pub name: String,
    /// On what: a flow, a host, a direction.
    pub object: String,
    /// The value that the scenario implies.
    pub expected: String,
    /// The value that was found.
    pub found: String,
    /// True if they agree.
    pub passed: bool,
}

impl Check {
    /// Checks that `name` of `object` should be `expected` and is `found`.
    pub fn of(name: &str, object: &str, expected: String, found: String) -> Self {
        let passed = expected == found;
        Self { name: name.into(), object: object.into(), expected, found, passed }
    }

    /// Returns the warning, with this consequence, if the check did not pass.
    pub fn warning(&self, consequence: &str) -> Option<Warning> {
        let message = || format!("{} should be {} and is {}", self.name, self.expected, self.found);
        (!self.passed).then(|| Warning::new(&self.name, &self.object, message(), consequence))
    }
}

/// Why a trial's figures may not be what they seem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// A stable word for its kind, such as `path_mtu` or `processor_saturated`.
    pub code: String,
    /// The object of the warning: a flow, a host, an interface.
    pub object: String,
    /// The observation.
    pub message: String,
    /// The consequence for the figures.
    pub consequence: String,
}

impl Warning {
    /// A warning of the kind `code` about `object`.
    pub fn new(code: &str, object: &str, message: String, consequence: &str) -> Self {
        Self { code: code.into(), object: object.into(), message, consequence: consequence.into() }
    }

    /// Returns the warnings of drops in queues of `scenario` that were not meant to overflow.
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
    /// The host or flow it would be of.
    pub object: String,
    /// Why it is absent.
    pub reason: String,
}
