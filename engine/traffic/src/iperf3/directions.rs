//! The figures of each direction of a test.
//!
//! Goodput is that of the receiver; over TCP, the sender's TCP_INFO is read, and over UDP loss, reordering and jitter. A
//! server knows nothing of the client's end of a stream, so its document lacks those figures, and its zeros in their
//! place are not values.

use super::document::{Document, EndStream, Settings, Stream, Sum, Sums};
use super::json::Reading;
use nettrial_flows::statistics::distribution;
use nettrial_scenario::{
    FlowRecord, Interval, Iperf3Direction, Iperf3Gap, Iperf3Refusal, PacketCounts, Transport,
};

/// The largest difference between two counts of packets that is no contradiction, as a share of those sent: the hosts
/// end a test at different times.
const LARGEST_CONTRADICTION: f64 = 0.005;
/// The largest difference between two counts of packets that is no contradiction in any test.
const SMALLEST_CONTRADICTION_PKTS: f64 = 2.0;
/// The ratio of a stated rate to that of the bytes and the time, or its inverse, above which the rate is not that of the
/// test. iperf3 computes the one from the others.
const OTHER_RATE: f64 = 2.0;

/// The streams of one direction, and what the document knows about them.
struct Way<'a> {
    reverse: bool,
    /// True if the host that wrote the document sent.
    ours: bool,
    /// True if the document has the figures of the other host; a server's has not.
    peer_known: bool,
    sums: &'a Sums,
    congestion_control: &'a str,
    streams: Vec<&'a EndStream>,
    intervals: Vec<Vec<&'a Stream>>,
}

impl Way<'_> {
    fn sender_known(&self) -> bool {
        self.ours || self.peer_known
    }

    fn receiver_known(&self) -> bool {
        !self.ours || self.peer_known
    }

    /// The duration of the test: the first one that is not 0.
    fn seconds(&self) -> f64 {
        let sums = [&self.sums.received, &self.sums.total, &self.sums.sent];
        sums.into_iter().flatten().map(|sum| sum.seconds).find(|seconds| *seconds > 0.0).unwrap_or(0.0)
    }
}

/// Returns the figures of each direction.
pub fn directions(document: &Document, settings: &Settings) -> Reading<Vec<Iperf3Direction>> {
    let ways = ways(document, settings);
    if ways.iter().all(|way| way.sums.lack_all()) {
        return Err(Iperf3Refusal::NoSums {});
    }
    let ip = document.ip.ok_or(Iperf3Refusal::NoAddress {})?;
    let names: &[&str] = if ways.len() > 1 { &["forward", "reverse"] } else { &["measured"] };
    let blank = |name: &str| FlowRecord::named(name.to_owned(), settings.transport, ip);
    let read = ways.iter().zip(names).map(|(way, name)| direction(document, settings, way, blank(name)));
    let directions = read.collect::<Reading<Vec<_>>>()?;
    if directions.iter().all(|direction| has_no_figure(&direction.record)) {
        let gaps = directions.into_iter().flat_map(|direction| direction.gaps).collect();
        return Err(Iperf3Refusal::NoFigure { gaps });
    }
    Ok(directions)
}

fn has_no_figure(record: &FlowRecord) -> bool {
    record.goodput_bps.is_none()
        && record.retransmissions_pkts.is_none()
        && record.srtt_us.count == 0
        && record.min_rtt_us.is_none()
        && record.packets.is_none()
        && record.jitter_rfc3550_us.is_none()
}

/// Returns the directions of a test. Before 3.7 and over UDP, documents do not say that a test has both.
fn ways<'a>(document: &'a Document, settings: &Settings) -> Vec<Way<'a>> {
    let mut flags = document.streams.iter().filter_map(|stream| stream.sends);
    let first = flags.next();
    let both = settings.both || flags.any(|flag| Some(flag) != first) || !document.reverse.lack_all();
    let (server, peer_known) = (document.server, !document.server);
    if !both {
        return vec![Way {
            reverse: settings.reverse,
            ours: settings.reverse == server,
            peer_known,
            sums: &document.forward,
            congestion_control: &document.forward.congestion_control,
            streams: document.streams.iter().collect(),
            intervals: non_empty(document.intervals.iter().map(|streams| streams.iter().collect())),
        }];
    }
    let (forward, reverse) = (&document.forward, &document.reverse);
    // A server knows its own congestion control alone, and does not say which direction has it.
    let controls_known = !forward.congestion_control.is_empty() && !reverse.congestion_control.is_empty();
    let way = |is_reverse: bool, sums: &'a Sums| {
        let ours = is_reverse == server;
        let of_interval =
            |streams: &'a Vec<Stream>| streams.iter().filter(|stream| stream.sends == Some(ours)).collect();
        Way {
            reverse: is_reverse,
            ours,
            peer_known,
            sums,
            congestion_control: if controls_known { &sums.congestion_control } else { "" },
            streams: document.streams.iter().filter(|stream| stream.sends == Some(ours)).collect(),
            intervals: non_empty(document.intervals.iter().map(of_interval)),
        }
    };
    vec![way(false, forward), way(true, reverse)]
}

fn non_empty<'a>(intervals: impl Iterator<Item = Vec<&'a Stream>>) -> Vec<Vec<&'a Stream>> {
    intervals.filter(|streams| !streams.is_empty()).collect()
}

fn direction(
    document: &Document,
    settings: &Settings,
    way: &Way<'_>,
    mut record: FlowRecord,
) -> Reading<Iperf3Direction> {
    let mut gaps = Vec::new();
    record.active_ns = nanoseconds(way.seconds());
    if settings.transport == Transport::Udp {
        over_udp(&mut record, &mut gaps, way, settings.block_bytes)?;
    } else {
        record.connections = settings.streams;
        over_tcp(&mut record, &mut gaps, way, document.mss_bytes)?;
    }
    if !way.receiver_known() {
        gaps.push(Iperf3Gap::ReceiverUnknown {});
    }
    Ok(Iperf3Direction { reverse: way.reverse, record, gaps })
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Fills in what the receiver counted.
///
/// # Errors
/// Fails if its rate contradicts its bytes and its time.
fn counted(record: &mut FlowRecord, received: &Sum) -> Reading<()> {
    let (rate, bytes, seconds) = (received.bits_per_second, received.bytes, received.seconds);
    if seconds > 0.0 {
        let expected = bytes as f64 * 8.0 / seconds;
        if rate.max(expected) > OTHER_RATE * rate.min(expected) {
            return Err(Iperf3Refusal::OtherRate { bits_per_second: rate, bytes, seconds });
        }
    }
    record.bytes = bytes;
    record.goodput_bps = Some(rate);
    Ok(())
}

fn over_tcp(
    record: &mut FlowRecord,
    gaps: &mut Vec<Iperf3Gap>,
    way: &Way<'_>,
    mss_bytes: u32,
) -> Reading<()> {
    if let (true, Some(received)) = (way.receiver_known(), &way.sums.received) {
        counted(record, received)?;
    }
    way.congestion_control.clone_into(&mut record.congestion_control);
    record.mss_bytes = mss_bytes;
    if !way.sender_known() {
        return Ok(());
    }
    let resent = way.sums.sent.as_ref().and_then(|sent| sent.retransmits);
    record.retransmissions_pkts = resent.and_then(|resent| resent.try_into().ok());
    if way.ours {
        // Hosts do not tell each other.
        record.min_rtt_us = way.streams.iter().filter_map(|stream| stream.min_rtt_us).min();
    }
    record.srtt_us =
        distribution(way.intervals.iter().flatten().filter_map(|stream| stream.rtt_us).collect());
    let lines: Vec<_> =
        way.intervals.iter().filter(|streams| streams.len() == 1).map(|streams| streams[0]).collect();
    // Several streams have no common window.
    if mss_bytes == 0 || lines.len() < way.intervals.len() {
        return Ok(());
    }
    if lines.windows(2).all(|pair| pair[0].end_s < pair[1].end_s) {
        let intervals: Option<Vec<_>> = lines.iter().map(|line| interval(line, mss_bytes)).collect();
        record.intervals = intervals.unwrap_or_default();
    } else {
        gaps.push(Iperf3Gap::IntervalsOutOfOrder {});
    }
    Ok(())
}

/// Returns the sender's state at the end of an interval; `None` if the document lacks a part of it. iperf3 reports the
/// smallest round-trip time for the whole test alone.
fn interval(stream: &Stream, mss_bytes: u32) -> Option<Interval> {
    Some(Interval {
        at_ns: nanoseconds(stream.end_s),
        bytes: stream.bytes,
        cwnd_pkts: u32::try_from(stream.window_bytes? / u64::from(mss_bytes)).ok()?,
        srtt_us: Some(stream.rtt_us?),
        retransmissions_pkts: stream.retransmits?.try_into().unwrap_or(0),
        ..Interval::default()
    })
}

/// Fills in what the receiver counted of packets, if the document has it.
fn over_udp(
    record: &mut FlowRecord,
    gaps: &mut Vec<Iperf3Gap>,
    way: &Way<'_>,
    block_bytes: u64,
) -> Reading<()> {
    if !way.receiver_known() {
        return Ok(());
    }
    if let Some(received) = &way.sums.received {
        counted(record, received)?;
    }
    let Some(total) = &way.sums.total else { return Ok(()) };
    let (Some(packets), Some(lost)) = (total.packets, total.lost_packets) else { return Ok(()) };
    if way.sums.received.is_none() {
        if lost <= 0 && total.jitter_ms.is_none_or(|jitter| jitter == 0.0) {
            gaps.push(Iperf3Gap::ArrivalsUnknown {});
            return Ok(());
        }
        from_packets(record, total, packets, lost, way.seconds(), block_bytes);
    }
    if record.bytes == 0 {
        gaps.push(Iperf3Gap::NothingArrived {});
    } else {
        record.jitter_rfc3550_us = total.jitter_ms.map(|jitter| jitter * 1e3);
    }
    if record.goodput_bps.is_some() {
        match counts(way, total, packets, lost, block_bytes) {
            Ok(packets) => record.packets = Some(packets),
            Err(gap) => gaps.push(gap),
        }
    }
    Ok(())
}

/// Fills in goodput from the packets that arrived. Before 3.11, the only sum over UDP has the bytes of the sender, and the
/// packets of the receiver or those of the sender less those lost.
fn from_packets(
    record: &mut FlowRecord,
    total: &Sum,
    packets: u64,
    lost: i64,
    seconds: f64,
    block_bytes: u64,
) {
    let size = packet_bytes(total.bytes, packets, block_bytes);
    if size > 0.0 && seconds > 0.0 {
        record.bytes =
            (size * packets.saturating_sub(lost.max(0).unsigned_abs()) as f64).round_ties_even() as u64;
        record.goodput_bps = Some(record.bytes as f64 * 8.0 / seconds);
    }
}

/// Returns the payload of a packet, 0 if it is unknown.
fn packet_bytes(bytes: u64, packets: u64, block_bytes: u64) -> f64 {
    if bytes > 0 && packets > 0 { bytes as f64 / packets as f64 } else { block_bytes as f64 }
}

/// Returns the numbers of packets, unless they contradict the bytes that arrived.
///
/// iperf3 counts as lost the gaps before the last packet that arrived. Those sent after it may have been on their way when
/// the test ended, so a few do not count; more of them count as lost, as all packets do if none arrived. A packet that
/// arrived twice is taken for a lost one that arrived late, so the number of losses may be negative.
fn counts(
    way: &Way<'_>,
    total: &Sum,
    packets: u64,
    lost: i64,
    block_bytes: u64,
) -> Result<PacketCounts, Iperf3Gap> {
    let own = way.sums.sent.as_ref().filter(|_| way.sender_known());
    let mut sent = packets.max(own.and_then(|own| own.packets).unwrap_or(0));
    let received = way.sums.received.as_ref();
    let seen = received.and_then(|received| received.packets).unwrap_or(sent);
    if sent.abs_diff(seen) as f64 <= LARGEST_CONTRADICTION * sent as f64 {
        sent = seen;
    }
    sent = sent.max(seen);
    let arrived = seen.saturating_sub(lost.max(0).unsigned_abs());
    let of_sender = own.filter(|own| own.packets.is_some_and(|packets| packets > 0)).unwrap_or(total);
    let size = packet_bytes(of_sender.bytes, of_sender.packets.unwrap_or(0), block_bytes);
    if let Some(received) = received.filter(|_| size > 0.0) {
        let by_bytes = received.bytes as f64 / size;
        let most = SMALLEST_CONTRADICTION_PKTS.max(LARGEST_CONTRADICTION * sent as f64);
        if (by_bytes - arrived as f64).abs() > most {
            let arrived_by_bytes_pkts = by_bytes.round_ties_even() as u64;
            return Err(Iperf3Gap::ContradictoryCounts { arrived_pkts: arrived, arrived_by_bytes_pkts });
        }
    }
    let orders: Option<Vec<i64>> = way.streams.iter().map(|stream| stream.out_of_order).collect();
    let orders = orders.filter(|orders| !orders.is_empty());
    let reordered =
        orders.map(|orders| orders.into_iter().fold(0, i64::saturating_add).max(0).unsigned_abs());
    Ok(PacketCounts {
        sent_pkts: sent,
        received_pkts: arrived,
        lost_pkts: sent - arrived,
        reordered_pkts: reordered,
        ..PacketCounts::default()
    })
}
