//! The figures that a flow's sender gathers, and the flow's record that is made from them.

use crate::cookie::Purpose;
use crate::error::{Context, Result};
use crate::platform::{self, Copied};
use crate::protocol::Side;
use crate::sampler::{Sampler, Samples};
use crate::tcp;
use nettrial_flows::statistics::{Durations, Jitter};
use nettrial_flows::wire::Weight;
use nettrial_scenario::{
    Connecting, Flow, FlowRecord, MechanismsRecord, PacketCounts, SizeRecord, Span, SubflowRecord, Traffic,
    Transport, Warning, nanoseconds,
};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The figures that a flow's sender gathers.
#[derive(Default)]
pub struct Figures {
    /// The application bytes.
    pub bytes: u64,
    /// The time that the bytes took.
    pub active: Duration,
    /// The beginning of the flow's span, once it has one.
    pub began: Option<Instant>,
    /// The last confirmation of several transfers one after the other; otherwise the end follows from `active`.
    pub ended: Option<Instant>,
    /// The span of a flow with a duration, once that has ended; otherwise the span includes everything.
    pub cut: Option<Cut>,
    /// The time from connect to confirmation, of each sized transfer.
    pub completion: Durations,
    /// The times from request to response.
    pub rtt: Durations,
    /// The jitter of the requests' transit times.
    pub jitter: Option<Jitter>,
    /// The counts of datagrams sent, received and lost.
    pub packets: Option<PacketCounts>,
    /// The bytes of the datagrams, by layer. The sampler adds those of connections.
    pub weight: Weight,
    /// The times of the parts of requests' ways, if they are known.
    pub mechanisms: Option<MechanismsRecord>,
    /// The results of each size of a sweep.
    pub sizes: Vec<SizeRecord>,
    /// The blocks that should be sent without copying.
    pub zero_copy: Copied,
    connections: u32,
    connect: Durations,
    congestion_control: String,
}

/// The span of a flow whose duration has ended.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// The end of the duration.
    pub ended: Instant,
    /// The time until then in which a connection carried data.
    pub active: Duration,
    /// The bytes that the receiver had read by then.
    pub bytes: u64,
}

impl Figures {
    /// Opens a connection of the flow of `side`, which carries the flow from now on.
    pub fn connect(
        &mut self,
        side: &Side,
        destination: SocketAddr,
        sampler: &Sampler,
    ) -> Result<Arc<TcpStream>> {
        let (stream, connect_time) = tcp::connect(side, destination, Purpose::Traffic)?;
        let stream = Arc::new(stream);
        sampler.opened(Arc::clone(&stream))?;
        self.opened(&stream, connect_time)?;
        Ok(stream)
    }

    /// Counts a connection that was opened in `connect_time`.
    pub fn opened(&mut self, stream: &TcpStream, connect_time: Duration) -> Result<()> {
        if self.connections > 0 {
            return self.count(connect_time, "");
        }
        let congestion_control = platform::congestion_control(stream).context("reading TCP_CONGESTION")?;
        self.count(connect_time, &congestion_control)
    }

    /// Counts a connection that was opened in `connect_time`, of which the first has this congestion control.
    pub fn count(&mut self, connect_time: Duration, congestion_control: &str) -> Result<()> {
        self.connections += 1;
        self.connect.record(u64::try_from(connect_time.as_nanos())?);
        if self.connections == 1 {
            congestion_control.clone_into(&mut self.congestion_control);
        }
        Ok(())
    }

    /// Returns the span, whose times count from `origin`.
    fn span(&self, origin: Instant) -> Option<Span> {
        let began = self.began?;
        let whole =
            Cut { ended: self.ended.unwrap_or(began + self.active), active: self.active, bytes: self.bytes };
        let cut = self.cut.unwrap_or(whole);
        Some(Span {
            began_ns: nanoseconds(began.saturating_duration_since(origin)),
            ended_ns: nanoseconds(cut.ended.saturating_duration_since(origin)),
            active_ns: nanoseconds(cut.active),
            bytes: cut.bytes,
        })
    }

    /// Returns the record of `flow`, whose times count from `origin`, from these figures and `samples`.
    pub fn record(mut self, flow: &Flow, samples: Samples, origin: Instant) -> FlowRecord {
        self.weight += samples.weight;
        // A short MPTCP connection sends most of its closing segments after the kernel's counts are read.
        let is_counted = !(flow.transport == Transport::Mptcp && connects_each_time(flow));
        let known = |bytes: u64| (is_counted && bytes > 0).then_some(bytes);
        let subflow =
            |subflow| SubflowRecord { congestion_control: self.congestion_control.clone(), ..subflow };
        let is_transfer = matches!(flow.traffic, Traffic::Transfer(_) | Traffic::FileTransfer(_));
        let answers = matches!(flow.traffic, Traffic::RequestResponse(_));
        let some_if_any =
            |durations: &Durations| Some(durations.distribution_us()).filter(|summary| summary.count > 0);
        let seconds = self.active.as_secs_f64();
        let span = self.span(origin);
        let ended = self.ended.or(self.began.map(|began| began + self.active));
        FlowRecord {
            name: flow.name.clone(),
            transport: flow.transport,
            ip: flow.ip,
            congestion_control: self.congestion_control.clone(),
            mss_bytes: samples.mss_bytes,
            peer_window_bytes: samples.peer_window_bytes,
            connections: self.connections,
            bytes: self.bytes,
            active_ns: nanoseconds(self.active),
            ip_bytes: known(self.weight.ip_bytes),
            wire_bytes: known(self.weight.wire_bytes),
            span,
            ended_ns: ended.map(|ended| nanoseconds(ended.saturating_duration_since(origin))),
            goodput_bps: span.filter(|_| is_transfer).and_then(|span| span.goodput_bps()),
            connect_us: self.connect.distribution_us(),
            completion_us: some_if_any(&self.completion),
            retransmissions_pkts: Some(samples.retransmissions_pkts),
            marks_pkts: samples.marks_pkts,
            srtt_us: samples.srtt_us,
            min_rtt_us: samples.min_rtt_us,
            rtt_us: some_if_any(&self.rtt),
            rtt_histogram: self.rtt.histogram(),
            transactions_per_second: (answers && seconds > 0.0)
                .then(|| self.rtt.distribution_us().count as f64 / seconds),
            owd_us: None,
            owd_histogram: None,
            owd_error_us: None,
            delay_variation_us: None,
            jitter_rfc3550_us: self.jitter.as_ref().and_then(Jitter::rfc3550_us),
            delay_difference_mean_us: self.jitter.as_ref().and_then(Jitter::difference_mean_us),
            packets: self.packets,
            pacing: None,
            subflows: samples.subflows.into_iter().map(subflow).collect(),
            sizes: self.sizes,
            mechanisms: self.mechanisms,
            recovery_ns: None,
            tool: None,
            intervals: samples.intervals,
        }
    }

    /// Returns the warnings about the figures of `flow`.
    pub fn warnings(&self, flow: &Flow, samples: &Samples) -> Vec<Warning> {
        let object = format!("flow {}", flow.name);
        let mut warnings = Vec::new();
        let mut warn = |code: &str, message: String, consequence: &str| {
            let (code, consequence) = (code.to_owned(), consequence.to_owned());
            warnings.push(Warning { code, object: object.clone(), message, consequence });
        };
        if samples.fell_back > 0 {
            warn(
                "mptcp_fallback",
                format!("{} of {} connections fell back to TCP", samples.fell_back, self.connections),
                "the flow's figures are TCP's on one path, not MPTCP's",
            );
        }
        if samples.is_unreported {
            warn(
                "no_tcp_state",
                format!("{} does not report the state of connections", platform::system_name()),
                "retransmissions, round-trip times, windows, the segment size and the congestion control are not known, and intervals are absent",
            );
        }
        let Copied { blocks, copied } = self.zero_copy;
        if copied > 0 {
            warn(
                "zerocopy_copied",
                format!("the kernel copied {copied} of {blocks} blocks that were to be sent without copying"),
                "the flow cost what copying costs, and more: virtual links and loopback always copy",
            );
        }
        warnings
    }
}

fn connects_each_time(flow: &Flow) -> bool {
    matches!(&flow.traffic, Traffic::RequestResponse(settings) if settings.connecting == Connecting::EachRequest)
}
