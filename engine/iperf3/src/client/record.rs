//! Makes the record of a test.

use super::Tested;
use super::request::Request;
use crate::results::StreamResults;
use crate::stream::{Direction, Outcome};
use nettrial_scenario::{
    Absence, Distribution, Flow, FlowRecord, PacketCounts, Phases, Record, Span, Transport, Warning,
    nanoseconds,
};
use std::time::Duration;

/// The reason for the absence of figures that only the server knows, if its results lack a stream.
const UNTOLD: &str = "the iperf3 server's results lack the stream";

/// Returns the record of `flows`, one for each stream of the test.
pub fn record(flows: &[Flow], request: &Request, tested: &Tested, started: Duration) -> Record {
    let mut absent = Vec::new();
    let mut records = Vec::with_capacity(flows.len());
    for (flow, ours) in flows.iter().zip(&tested.ours) {
        records.push(flow_record(flow, request, ours, tested, &mut |metric, reason: &str| {
            let (metric, object) = (String::from(metric), flow.name.clone());
            absent.push(Absence { metric, object, reason: reason.to_owned() });
        }));
    }
    Record {
        started_unix_ns: nanoseconds(started),
        phases: Phases {
            network_ns: 0,
            checks_ns: nanoseconds(tested.begun),
            traffic_ns: nanoseconds(tested.traffic),
            tear_down_ns: nanoseconds(tested.took.saturating_sub(tested.begun + tested.traffic)),
        },
        flows: records,
        warnings: silence(tested),
        absent,
        ..Record::blank("iperf3")
    }
}

/// Returns a warning if the server's results lack one of the streams.
fn silence(tested: &Tested) -> Vec<Warning> {
    let warning = Warning::new(
        "no_server_results",
        "server",
        UNTOLD.into(),
        "what arrived there, or was sent from there, is not known",
    );
    let reported = |ours: &Outcome| tested.theirs.streams.iter().any(|theirs| theirs.id == ours.results.id);
    if tested.ours.iter().all(reported) { Vec::new() } else { vec![warning] }
}

fn flow_record(
    flow: &Flow,
    request: &Request,
    outcome: &Outcome,
    tested: &Tested,
    absent: &mut impl FnMut(&str, &str),
) -> FlowRecord {
    let nothing = StreamResults { retransmits: -1, ..StreamResults::default() };
    let ours = &outcome.results;
    let reported = tested.theirs.streams.iter().find(|theirs| theirs.id == ours.id);
    let wrong = reported.and_then(|theirs| impossible(request, ours, theirs, tested.took));
    let reported = reported.filter(|_| wrong.is_none());
    let untold = wrong.as_deref().unwrap_or(UNTOLD);
    let theirs = reported.unwrap_or(&nothing);
    // If the server receives, only the server knows what arrived.
    let arrived_known = request.direction == Direction::Receive || reported.is_some();
    let is_udp = flow.transport == Transport::Udp;
    let (sender, receiver) =
        if request.direction == Direction::Send { (ours, theirs) } else { (theirs, ours) };
    // Servers before 3.2 report no times; the time measured here is used instead.
    let their_seconds = receiver.end_time - receiver.start_time;
    let seconds = if their_seconds > 0.0 { their_seconds } else { ours.end_time };
    let began_ns = if their_seconds > 0.0 { instant_ns(receiver.start_time) } else { 0 };
    let active_ns = instant_ns(seconds);
    // Every stream's times count from the start of the test, which is that of all streams.
    let span =
        Span { began_ns, ended_ns: began_ns.saturating_add(active_ns), active_ns, bytes: receiver.bytes };
    let info = outcome.info.filter(|_| request.direction == Direction::Send);

    if !arrived_known {
        absent("goodput", untold);
        if is_udp {
            absent("jitter_rfc3550", untold);
            absent("loss", untold);
        }
    }
    if !is_udp {
        if sender.retransmits < 0 {
            let uncounted = "the iperf3 server's system does not count them";
            absent("retransmissions", wrong.as_deref().unwrap_or(uncounted));
        }
        for metric in ["srtt", "min_rtt"] {
            absent(metric, "iperf3's results have no samples of it");
        }
        absent("marks", "iperf3's results do not have them");
    }
    if is_udp {
        if request.direction == Direction::Send {
            for metric in ["reordering", "duplication"] {
                absent(metric, "an iperf3 server does not tell them; both lower the losses that it counts");
            }
        }
        for metric in ["loss_burst_mean", "loss_burst_longest"] {
            absent(metric, "iperf3's results have no runs of losses");
        }
        absent("retransmissions", "UDP sends nothing again");
    }
    FlowRecord {
        congestion_control: match request.direction {
            Direction::Send => outcome.congestion.clone(),
            Direction::Receive => tested.theirs.congestion_used.clone(),
        }
        .unwrap_or_default(),
        mss_bytes: info.map_or(0, |info| info.tcpi_snd_mss),
        connections: 1,
        bytes: receiver.bytes,
        active_ns,
        span: arrived_known.then_some(span),
        ended_ns: Some(span.ended_ns),
        goodput_bps: (arrived_known && seconds > 0.0)
            .then(|| receiver.bytes as f64 * 8.0 / seconds)
            .filter(|goodput| goodput.is_finite()),
        connect_us: if is_udp { Distribution::default() } else { once(tested.connect) },
        // -1: the sender's system does not count them.
        retransmissions_pkts: u64::try_from(sender.retransmits).ok().filter(|_| !is_udp),
        jitter_rfc3550_us: Some(receiver.jitter * 1e6).filter(|us| is_udp && arrived_known && us.is_finite()),
        packets: (is_udp && arrived_known).then(|| packets(sender, receiver, outcome, request)),
        ..FlowRecord::blank(flow)
    }
}

/// Returns the reason why what the server says of a stream cannot be right, if it cannot. The whole test took `took`.
fn impossible(
    request: &Request,
    ours: &StreamResults,
    theirs: &StreamResults,
    took: Duration,
) -> Option<String> {
    let wrong = |what: String| Some(format!("the iperf3 server's results can't be right: {what}"));
    if request.direction == Direction::Receive {
        // The kernel counts them in 32 bits (struct tcp_info, tcpi_total_retrans).
        let counted = theirs.retransmits <= u32::MAX.into();
        return if counted { None } else { wrong(format!("{} retransmissions", theirs.retransmits)) };
    }
    let (seconds, longest) = (theirs.end_time - theirs.start_time, took.as_secs_f64());
    // Servers before 3.2 report no times. The server's time begins and ends when this side's messages arrive.
    let has_times = theirs.start_time != 0.0 || theirs.end_time != 0.0;
    if has_times && !(ours.end_time / 2.0..=longest).contains(&seconds) {
        return wrong(format!("the stream took {seconds:e} s, and was sent for {:.3} s", ours.end_time));
    }
    // The network may duplicate datagrams.
    let most = if request.parameters.udp { ours.bytes.saturating_mul(2) } else { ours.bytes };
    if theirs.bytes > most {
        return wrong(format!("{} bytes arrived, and {} were sent", theirs.bytes, ours.bytes));
    }
    if !(0.0..=longest).contains(&theirs.jitter) {
        return wrong(format!("a jitter of {:e} s", theirs.jitter));
    }
    if request.parameters.udp && !(0..=theirs.packets).contains(&theirs.errors) {
        return wrong(format!("{} of {} datagrams were lost", theirs.errors, theirs.packets));
    }
    if request.parameters.udp && theirs.packets > ours.packets {
        return wrong(format!("{} datagrams were expected, and {} sent", theirs.packets, ours.packets));
    }
    None
}

/// Returns the datagrams received and lost, as the receiver counted them. Datagrams in flight at the end are
/// neither received nor lost.
fn packets(
    sender: &StreamResults,
    receiver: &StreamResults,
    outcome: &Outcome,
    request: &Request,
) -> PacketCounts {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let here = request.direction == Direction::Receive;
    PacketCounts {
        sent_pkts: count(sender.packets).max(count(receiver.packets)),
        received_pkts: count(receiver.packets.saturating_sub(receiver.errors)),
        lost_pkts: count(receiver.errors),
        reordered_pkts: here.then_some(outcome.late),
        duplicated_pkts: here.then_some(outcome.duplicates),
        ..PacketCounts::default()
    }
}

/// Returns the nanoseconds of a time that results give in seconds.
fn instant_ns(seconds: f64) -> u64 {
    nanoseconds(Duration::from_secs_f64(seconds.clamp(0.0, 1e6)))
}

/// A distribution of one value.
fn once(time: Duration) -> Distribution {
    let value = time.as_secs_f64() * 1e6;
    Distribution {
        count: 1,
        mean: value,
        minimum: value,
        p50: value,
        p90: value,
        p99: value,
        maximum: value,
        ..Distribution::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Results, stream_id};
    use nettrial_scenario::Measure;

    fn recorded(flow: &Flow, count: u32, streams: Vec<StreamResults>) -> Record {
        let measure = Measure {
            trial: "1".into(),
            flow: flow.clone(),
            streams: count,
            interval: nettrial_scenario::Duration(100_000_000),
            congestion_control: None,
            mtu: None,
        };
        let ours = |position| Outcome {
            results: StreamResults {
                id: stream_id(position),
                bytes: 1000,
                end_time: 1.0,
                ..StreamResults::default()
            },
            ..Outcome::default()
        };
        let ours = (0..count as usize).map(ours).collect();
        let theirs = Results { streams, ..Results::default() };
        let [connect, begun, traffic, took] = [1, 1, 1000, 1003].map(Duration::from_millis);
        let tested = Tested { ours, theirs, connect, begun, traffic, took };
        record(&measure.flows(), &Request::of(&measure), &tested, Duration::ZERO)
    }

    fn flow(transport: &str) -> Flow {
        let packets = r#"{"kind": "packets", "size": {"distribution": "constant", "value": "1000 B"},
            "rate": "1 Mbit/s", "duration": "1 s"}"#;
        let text = format!(
            r#"{{"name": "measured", "from": "client", "to": "server", "transport": "{transport}", "ip": 4,
                "traffic": {packets}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_a_server_does_not_tell_is_absent_and_warned_of() {
        for (transport, metrics) in
            [("tcp", &["goodput"][..]), ("udp", &["goodput", "jitter_rfc3550", "loss"])]
        {
            let found = recorded(&flow(transport), 1, Vec::new());
            assert_eq!(found.flows[0].goodput_bps, None);
            assert_eq!((found.flows[0].packets, found.flows[0].jitter_rfc3550_us), (None, None));
            assert_eq!(found.warnings[0].code, "no_server_results");
            for metric in metrics {
                assert!(found.absent.iter().any(|absence| absence.metric == *metric), "{metric}");
            }
        }
    }

    #[test]
    fn each_stream_has_its_own_results_in_whatever_order_the_server_tells_them() {
        let reported = |position, bytes| StreamResults {
            id: stream_id(position),
            bytes,
            end_time: 1.0,
            ..StreamResults::default()
        };
        let found = recorded(&flow("tcp"), 3, vec![reported(2, 300), reported(0, 100), reported(7, 900)]);
        let names: Vec<&str> = found.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(names, ["measured-1", "measured-2", "measured-3"]);
        let goodputs: Vec<Option<f64>> = found.flows.iter().map(|flow| flow.goodput_bps).collect();
        assert_eq!(goodputs, [Some(800.0), None, Some(2400.0)]);
        assert_eq!(found.warnings[0].code, "no_server_results");
        let lacking = found.absent.iter().find(|absence| absence.metric == "goodput").unwrap();
        assert_eq!(lacking.object, "measured-2");
    }

    #[test]
    fn impossible_figures_are_absent_with_the_reason() {
        let reported = |changed: StreamResults| StreamResults { id: 1, ..changed };
        let right = || reported(StreamResults { bytes: 1000, end_time: 1.0, ..StreamResults::default() });
        let lies = [
            (reported(StreamResults { end_time: f64::MIN_POSITIVE, ..right() }), "took 2.2"),
            (reported(StreamResults { start_time: 1.0, end_time: -1.0, ..right() }), "took -2e0 s"),
            (reported(StreamResults { end_time: 1e300, ..right() }), "took 1e300 s"),
            (
                reported(StreamResults { bytes: u64::MAX, ..right() }),
                "18446744073709551615 bytes arrived, and 1000 were sent",
            ),
            (reported(StreamResults { jitter: f64::MAX, ..right() }), "a jitter of 1.797"),
            (reported(StreamResults { jitter: -1.0, ..right() }), "a jitter of -1e0 s"),
            (reported(StreamResults { errors: 1, ..right() }), "1 of 0 datagrams were lost"),
            (reported(StreamResults { errors: -5, ..right() }), "-5 of 0 datagrams were lost"),
            (
                reported(StreamResults { packets: i64::MAX, ..right() }),
                "9223372036854775807 datagrams were expected",
            ),
        ];
        for (reported, reason) in lies {
            let found = recorded(&flow("udp"), 1, vec![reported]);
            assert_eq!(
                (found.flows[0].goodput_bps, found.flows[0].jitter_rfc3550_us),
                (None, None),
                "{reason}"
            );
            assert_eq!(found.flows[0].packets, None, "{reason}");
            for metric in ["goodput", "jitter_rfc3550", "loss"] {
                let absence = found.absent.iter().find(|absence| absence.metric == metric).unwrap();
                assert!(absence.reason.contains(reason), "{reason}: {absence:?}");
            }
        }
        assert_eq!(recorded(&flow("udp"), 1, vec![right()]).flows[0].goodput_bps, Some(8000.0));
    }
}
