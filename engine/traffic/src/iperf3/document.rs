//! The fields of a document of `iperf3 -J` that are read, whichever of the versions 3.1 to 3.21 wrote it.

use super::json::{Part, Reading, bad, list, text_at};
use nettrial_scenario::{IpVersion, Iperf3Refusal, Transport};
use serde_json::value::RawValue;
use std::net::IpAddr;

/// The largest count that is read; floating-point numbers represent all integers up to it.
const MOST: u64 = 1 << 53;
/// The longest test that is read, seconds.
const LONGEST_SECONDS: f64 = 1e6;
/// The shortest test that is read, seconds: iperf3 counts microseconds.
const SHORTEST_SECONDS: f64 = 1e-6;

/// The parts of a document, which is one JSON document or a row of events.
#[derive(Default)]
pub struct Pieces<'a> {
    /// The settings of the test, and its hosts.
    pub start: Option<&'a RawValue>,
    /// The list of intervals of a document.
    pub listed: Option<&'a RawValue>,
    /// The intervals of events.
    pub intervals: Vec<&'a RawValue>,
    /// The figures of the whole test.
    pub end: Option<&'a RawValue>,
    /// The error message of a test that failed.
    pub error: Option<&'a RawValue>,
}

/// A document, as far as it is read.
pub struct Document {
    /// The program and its version.
    pub version: String,
    /// The system of the host that wrote the document.
    pub system: String,
    /// The beginning of the test, seconds since 1970-01-01 UTC.
    pub started_s: Option<u64>,
    /// The version of IP; absent without an address.
    pub ip: Option<IpVersion>,
    /// True if a server wrote the document.
    pub server: bool,
    /// The segment size of TCP, bytes; 0 if it is unknown.
    pub mss_bytes: u32,
    /// The settings of the test.
    pub settings: Option<Settings>,
    /// The streams' figures in each interval, without those that were omitted.
    pub intervals: Vec<Vec<Stream>>,
    /// The figures of each stream.
    pub streams: Vec<EndStream>,
    /// The sums of the streams from the client, or of the only direction.
    pub forward: Sums,
    /// The sums of the streams from the server in a test in both directions.
    pub reverse: Sums,
    /// The error message of a test that failed.
    pub error: Option<String>,
    /// True if a server wrote the document when it was ended while it waited for a client.
    pub without_client: bool,
}

/// The settings of a test.
pub struct Settings {
    /// The transport.
    pub transport: Transport,
    /// The number of streams in each direction.
    pub streams: u32,
    /// The size of a write, over UDP of a packet's payload, bytes; 0 if it is unknown.
    pub block_bytes: u64,
    /// True if the server sends.
    pub reverse: bool,
    /// True if both hosts send.
    pub both: bool,
}

/// A stream's figures in an interval.
pub struct Stream {
    /// The end of the interval, seconds after the test's beginning.
    pub end_s: f64,
    /// The bytes of the interval.
    pub bytes: u64,
    /// The segments retransmitted in the interval.
    pub retransmits: Option<i64>,
    /// The congestion window, bytes; absent if it is 0.
    pub window_bytes: Option<u64>,
    /// The smoothed round-trip time; absent if it is 0, as before the first estimate.
    pub rtt_us: Option<u32>,
    /// True if the host that wrote the document sends the stream.
    pub sends: Option<bool>,
}

/// A stream's figures of the whole test.
pub struct EndStream {
    /// The smallest round-trip time; absent if it is 0.
    pub min_rtt_us: Option<u32>,
    /// The packets that arrived out of order.
    pub out_of_order: Option<i64>,
    /// True if the host that wrote the document sent the stream.
    pub sends: Option<bool>,
}

/// The sums over all streams of a direction.
#[derive(Default)]
pub struct Sums {
    /// The figures of both ends (UDP).
    pub total: Option<Sum>,
    /// The figures of the sender.
    pub sent: Option<Sum>,
    /// The figures of the receiver.
    pub received: Option<Sum>,
    /// The congestion control of the sender; empty if it is unknown.
    pub congestion_control: String,
}

impl Sums {
    /// Returns true if there is no sum.
    pub fn lack_all(&self) -> bool {
        self.total.is_none() && self.sent.is_none() && self.received.is_none()
    }
}

/// A sum over all streams.
pub struct Sum {
    /// The duration, seconds.
    pub seconds: f64,
    /// The bytes.
    pub bytes: u64,
    /// The rate.
    pub bits_per_second: f64,
    /// The segments retransmitted; negative if the sender's system does not count them.
    pub retransmits: Option<i64>,
    /// The jitter of RFC 3550, milliseconds.
    pub jitter_ms: Option<f64>,
    /// The packets that were lost; negative if more arrived twice.
    pub lost_packets: Option<i64>,
    /// The packets.
    pub packets: Option<u64>,
}

impl Document {
    /// Reads the parts of a document.
    ///
    /// # Errors
    /// Fails if a field has another value than iperf3 writes.
    pub fn read(pieces: &Pieces<'_>) -> Reading<Self> {
        let start = pieces.start.ok_or_else(|| bad("start", "missing", "fields with values"))?;
        let start = Part::of("start", start)?;
        let connected = start.parts("connected")?;
        let timestamp = start.part("timestamp")?;
        let started_s =
            timestamp.map(|at| at.required("timesecs", at.count("timesecs", 1 << 33)?)).transpose()?;
        let server = start.part("accepted_connection")?.is_some();
        let mss_bytes = start.count("tcp_mss_default", u64::from(u16::MAX))?.unwrap_or(0);
        let mut streams = Vec::new();
        let (mut forward, mut reverse) = (Sums::default(), Sums::default());
        if let Some(end) = pieces.end {
            let end = Part::of("end", end)?;
            streams = end.parts("streams")?.iter().map(end_stream).collect::<Reading<_>>()?;
            forward = sums(|name| end.forward(name))?;
            reverse = sums(|name| end.reverse(name))?;
        }
        let error = pieces.error.filter(|error| error.get() != "null");
        let error = error.map(|error| text_at("error", error, 1000)).transpose()?;
        let listed = pieces.listed.map(|all| list("intervals", all)).transpose()?;
        let all: Vec<_> =
            listed.unwrap_or_default().into_iter().chain(pieces.intervals.iter().copied()).collect();
        let without_client =
            error.is_some() && all.is_empty() && connected.is_empty() && !start.has("connecting_to");
        Ok(Self {
            version: start.text("version", 200)?.unwrap_or_else(|| "iperf3".into()),
            system: start.text("system_info", 500)?.unwrap_or_default(),
            started_s,
            ip: connected.first().map(ip_version).transpose()?.flatten(),
            server,
            mss_bytes: mss_bytes as u32,
            settings: start.part("test_start")?.as_ref().map(settings).transpose()?,
            intervals: intervals(&all)?,
            streams,
            forward,
            reverse,
            error,
            without_client,
        })
    }
}

/// Returns the version of IP of a connection. Addresses of IPv4 may be mapped to IPv6.
fn ip_version(connection: &Part<'_>) -> Reading<Option<IpVersion>> {
    let host = connection.required("local_host", connection.text("local_host", 100)?)?;
    let address = host.split('%').next().and_then(|address| address.parse::<IpAddr>().ok());
    Ok(address.map(|address| IpVersion::of(address.to_canonical())))
}

fn settings(test: &Part<'_>) -> Reading<Settings> {
    let transport = match test.required("protocol", test.text("protocol", 20)?)?.as_str() {
        "TCP" => Transport::Tcp,
        "UDP" => Transport::Udp,
        _ => return Err(test.wrong("protocol", "TCP or UDP")),
    };
    Ok(Settings {
        transport,
        streams: test.whole("num_streams", 1, 10_000)?.unwrap_or(1) as u32,
        block_bytes: test.count("blksize", MOST)?.unwrap_or(0),
        reverse: test.flag("reverse")?.unwrap_or(false),
        both: test.flag("bidir")?.unwrap_or(false),
    })
}

fn intervals(all: &[&RawValue]) -> Reading<Vec<Vec<Stream>>> {
    let mut kept = Vec::new();
    for (number, interval) in all.iter().enumerate() {
        let interval = Part::of(format!("intervals.{number}"), interval)?;
        let sum = interval.part("sum")?;
        let omitted = sum.map_or(Ok(None), |sum| sum.flag("omitted"))? == Some(true);
        let mut streams = Vec::new();
        for stream in interval.parts("streams")? {
            let read = read_stream(&stream)?;
            if !omitted && stream.flag("omitted")? != Some(true) {
                streams.push(read);
            }
        }
        kept.push(streams);
    }
    Ok(kept)
}

fn read_stream(stream: &Part<'_>) -> Reading<Stream> {
    Ok(Stream {
        end_s: stream.number("end", 0.0, LONGEST_SECONDS)?.unwrap_or(0.0),
        bytes: stream.count("bytes", MOST)?.unwrap_or(0),
        retransmits: stream.whole("retransmits", -(MOST as i64), MOST as i64)?,
        window_bytes: stream.count("snd_cwnd", 1 << 40)?.filter(|window| *window > 0),
        rtt_us: microseconds(stream, "rtt")?,
        sends: stream.flag("sender")?,
    })
}

/// Returns a round-trip time that is not 0.
fn microseconds(part: &Part<'_>, name: &str) -> Reading<Option<u32>> {
    let time = part.count(name, u64::from(u32::MAX))?;
    Ok(time.and_then(|time| u32::try_from(time).ok()).filter(|time| *time > 0))
}

fn end_stream(stream: &Part<'_>) -> Reading<EndStream> {
    let (sender, udp) = (stream.part("sender")?, stream.part("udp")?);
    let min_rtt_us = sender.as_ref().map_or(Ok(None), |sender| microseconds(sender, "min_rtt"))?;
    let count = |udp: &Part<'_>| udp.whole("out_of_order", -(MOST as i64), MOST as i64);
    let out_of_order = udp.as_ref().map_or(Ok(None), count)?;
    let sends = udp.or(sender).map_or(Ok(None), |part| part.flag("sender"))?;
    Ok(EndStream { min_rtt_us, out_of_order, sends })
}

fn sums<'a>(get: impl Fn(&str) -> Option<(String, &'a RawValue)>) -> Reading<Sums> {
    let read = |name| get(name).map(|(place, value)| sum(place, value)).transpose();
    let control =
        get("sender_tcp_congestion").map(|(place, value)| text_at(&place, value, 50)).transpose()?;
    Ok(Sums {
        total: read("sum")?,
        sent: read("sum_sent")?,
        received: read("sum_received")?,
        congestion_control: control.unwrap_or_default(),
    })
}

fn sum(place: String, value: &RawValue) -> Reading<Sum> {
    let sum = Part::of(place, value)?;
    let seconds = sum.required("seconds", sum.number("seconds", 0.0, LONGEST_SECONDS)?)?;
    if seconds > 0.0 && seconds < SHORTEST_SECONDS {
        let expected = format!("0, or {SHORTEST_SECONDS:e} or more: iperf3 counts microseconds");
        return Err(sum.wrong("seconds", &expected));
    }
    Ok(Sum {
        seconds,
        bytes: sum.required("bytes", sum.count("bytes", MOST)?)?,
        bits_per_second: sum.required("bits_per_second", sum.number("bits_per_second", 0.0, MOST as f64)?)?,
        retransmits: sum.whole("retransmits", -(MOST as i64), MOST as i64)?,
        jitter_ms: sum.number("jitter_ms", 0.0, MOST as f64)?,
        lost_packets: sum.whole("lost_packets", -(MOST as i64), MOST as i64)?,
        packets: sum.count("packets", MOST)?,
    })
}

/// Returns the reason why a test has no figures, if it failed.
pub fn failure(document: &Document) -> Option<Iperf3Refusal> {
    let error = document.error.clone()?;
    Some(if document.without_client {
        Iperf3Refusal::NoClient { error }
    } else {
        Iperf3Refusal::TestFailed { error }
    })
}
