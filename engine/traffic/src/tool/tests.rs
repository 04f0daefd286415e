//! Recorded outputs of the programs, and outputs that nobody meant them to print.

use super::process::Finished;
use super::*;
use nettrial_scenario::{IpVersion, Transport, chain};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

macro_rules! output {
    ($name:literal) => {
        include_str!(concat!("../../tests/outputs/", $name))
    };
}

fn flow(transport: Transport, tool: &Tool) -> Flow {
    Flow {
        name: "tool".into(),
        from: "sender".into(),
        to: "receiver".into(),
        transport,
        ip: IpVersion::V4,
        pair: 0,
        start: nettrial_scenario::Duration(0),
        socket: Default::default(),
        traffic: Traffic::Tool(tool.clone()),
    }
}

fn tool(name: ToolName) -> Tool {
    Tool { duration: Some(nettrial_scenario::Duration(1_000_000_000)), ..name.into() }
}

fn finished(printed: &str, logged: &str) -> Finished {
    // Both outputs are the same: a program's figures are in one of them, and some are in both.
    let (printed, complained, logged) = (printed.to_owned(), printed.to_owned(), logged.to_owned());
    Finished { succeeded: true, printed, complained, logged, ..Finished::default() }
}

fn read(transport: Transport, tool: &Tool, printed: &str) -> Result<FlowRecord> {
    program(tool.tool).record(
        &flow(transport, tool),
        tool,
        &finished(printed, output!("ditg-udp-packets.txt")),
    )
}

#[test]
fn iperf3_over_tcp() {
    let record = read(Transport::Tcp, &tool(ToolName::Iperf3), output!("iperf3-tcp.json")).unwrap();
    assert_eq!((record.bytes, record.active_ns), (12_163_256, 1_010_811_000));
    assert_eq!(record.goodput_bps.unwrap().round(), 96_265_324.0);
    assert_eq!((record.congestion_control.as_str(), record.connections), ("cubic", 1));
    assert!(record.mss_bytes > 1000 && record.min_rtt_us.is_some(), "{record:?}");
    // One sample an interval of half a second, and iperf3's mean of them.
    assert_eq!((record.intervals.len(), record.srtt_us.count), (2, 2));
    let document: serde_json::Value = serde_json::from_str(output!("iperf3-tcp.json")).unwrap();
    let mean = document.pointer("/end/streams/0/sender/mean_rtt").unwrap().as_f64().unwrap();
    assert!((record.srtt_us.mean - mean).abs() <= 1.0, "{} {mean}", record.srtt_us.mean);
    assert!(record.intervals.iter().all(|interval| interval.cwnd_pkts > 0 && interval.bytes > 0));
    assert_eq!(record.packets, None);
    assert_eq!(record.retransmissions_pkts, Some(0));
    assert_eq!(document.pointer("/end/sum_sent/retransmits").unwrap(), 0);
}

#[test]
fn what_iperf3_and_netperf_do_not_count_is_absent() {
    let document: serde_json::Value = serde_json::from_str(output!("iperf3-tcp.json")).unwrap();
    for unknown in [serde_json::json!(-1), serde_json::json!(null)] {
        let mut changed = document.clone();
        *changed.pointer_mut("/end/sum_sent/retransmits").unwrap() = unknown;
        let record = read(Transport::Tcp, &tool(ToolName::Iperf3), &changed.to_string()).unwrap();
        assert_eq!(record.retransmissions_pkts, None);
    }
    let printed = output!("netperf-tcp-stream.txt")
        .replace("LOCAL_TRANSPORT_RETRANS=", "LOCAL_TRANSPORT_RETRANS=-1\nX=");
    let record = read(Transport::Tcp, &tool(ToolName::Netperf), &printed).unwrap();
    assert_eq!((record.connections, record.retransmissions_pkts), (1, None));
    let record = read(Transport::Udp, &tool(ToolName::Iperf3), output!("iperf3-udp.json")).unwrap();
    assert_eq!(record.retransmissions_pkts, None);
}

#[test]
fn intervals_that_iperf3_omits_do_not_count() {
    let expected = read(Transport::Tcp, &tool(ToolName::Iperf3), output!("iperf3-tcp.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(output!("iperf3-tcp.json")).unwrap();
    let intervals = document.pointer_mut("/intervals").unwrap().as_array_mut().unwrap();
    let mut omitted = intervals[0].clone();
    *omitted.pointer_mut("/sum/omitted").unwrap() = true.into();
    *omitted.pointer_mut("/streams/0/rtt").unwrap() = 1_000_000.into();
    intervals.insert(0, omitted);
    let record = read(Transport::Tcp, &tool(ToolName::Iperf3), &document.to_string()).unwrap();
    assert_eq!((record.intervals, record.srtt_us), (expected.intervals, expected.srtt_us));
}

#[test]
fn iperf3_over_udp() {
    let printed = output!("iperf3-udp.json");
    let record = read(Transport::Udp, &tool(ToolName::Iperf3), printed).unwrap();
    assert_eq!((record.bytes, record.connections), (12_227_600, 0));
    assert!((record.jitter_rfc3550_us.unwrap() - 57.706_089).abs() < 1e-3);
    let packets = record.packets.unwrap();
    // Of 8744 packets sent, the last 10 were on their way when the test ended.
    assert_eq!((packets.sent_pkts, packets.received_pkts, packets.lost_pkts), (8734, 12_227_600 / 1400, 0));
    assert_eq!((packets.reordered_pkts, packets.duplicated_pkts, packets.loss_bursts), (Some(0), None, None));
    let lossy = printed.replace("\"lost_packets\":\t0", "\"lost_packets\":\t7");
    let packets = read(Transport::Udp, &tool(ToolName::Iperf3), &lossy).unwrap().packets.unwrap();
    assert_eq!((packets.lost_pkts, packets.received_pkts), (7, 8727));
}

#[test]
fn iperf3_over_udp_before_3_11_has_one_sum() {
    let mut document: serde_json::Value = serde_json::from_str(output!("iperf3-udp.json")).unwrap();
    let end = document["end"].as_object_mut().unwrap();
    end.remove("sum_received").unwrap();
    end.remove("sum_sent").unwrap();
    end["sum"]["lost_packets"] = 44.into();
    let record = read(Transport::Udp, &tool(ToolName::Iperf3), &document.to_string()).unwrap();
    // Packets have 1400 bytes, and the test took 1.006701 s.
    assert_eq!(record.bytes, (8744 - 44) * 1400);
    assert_eq!(record.goodput_bps.unwrap().round(), (8700.0_f64 * 1400.0 * 8.0 / 1.006_701).round());
    assert_eq!(record.packets.unwrap().received_pkts, 8700);
    document["end"]["sum"]["lost_packets"] = 0.into();
    document["end"]["sum"]["jitter_ms"] = 0.into();
    let error = read(Transport::Udp, &tool(ToolName::Iperf3), &document.to_string()).unwrap_err();
    assert_eq!(error.to_string(), "iperf3 does not say what the receiver got");
}

#[test]
fn the_documents_of_every_version_of_iperf3_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/iperf3");
    for minor in 1..=21 {
        let documents = fs::read_to_string(folder.join(format!("3.{minor}.json"))).unwrap();
        let mut lines = documents.lines();
        for (transport, expected_bps) in [(Transport::Tcp, 8e6), (Transport::Udp, 2e6)] {
            let record = read(transport, &tool(ToolName::Iperf3), lines.next().unwrap()).unwrap();
            let goodput_bps = record.goodput_bps.unwrap();
            assert!((goodput_bps / expected_bps - 1.0).abs() < 0.1, "3.{minor}: {goodput_bps}");
            assert_eq!(
                record.packets.map(|packets| packets.lost_pkts),
                (transport == Transport::Udp).then_some(0)
            );
        }
    }
}

#[test]
fn what_iperf3_could_not_do_is_its_own_words() {
    let error = read(Transport::Tcp, &tool(ToolName::Iperf3), output!("iperf3-refused.json")).unwrap_err();
    assert_eq!(error.to_string(), "iperf3: unable to connect to server: Connection refused");
    let error = read(Transport::Tcp, &tool(ToolName::Iperf3), "iperf3: parameter error").unwrap_err();
    assert!(error.to_string().contains("parameter error"), "{error}");
}

#[test]
fn ping_gives_every_round_trip_time() {
    let record = read(Transport::Icmp, &tool(ToolName::Ping), output!("ping-ipv4.txt")).unwrap();
    let rtt = record.rtt_us.unwrap();
    assert_eq!((rtt.count, rtt.minimum, rtt.maximum), (5, 40.0, 68.0));
    assert!((rtt.mean - 58.0).abs() < 1e-9);
    let packets = record.packets.unwrap();
    assert_eq!((packets.sent_pkts, packets.received_pkts, packets.lost_pkts), (5, 5, 0));
}

#[test]
fn ping_with_loss_reordering_and_duplicates() {
    let reply = |sequence, more| {
        format!("[1.0] 64 bytes from 10.0.1.1: icmp_seq={sequence} ttl=64 time=0.05 ms{more}\n")
    };
    let printed = [reply(1, ""), reply(4, ""), reply(2, ""), reply(2, " (DUP!)"), reply(8, "")].concat()
        + "8 packets transmitted, 4 received, +1 duplicates, 50% packet loss, time 7ms\n";
    let record = read(Transport::Icmp, &tool(ToolName::Ping), &printed).unwrap();
    let packets = record.packets.unwrap();
    assert_eq!((packets.sent_pkts, packets.received_pkts, packets.lost_pkts), (8, 4, 4));
    assert_eq!((packets.reordered_pkts, packets.duplicated_pkts), (Some(1), Some(1)));
    assert_eq!((packets.loss_bursts, packets.longest_loss_burst_pkts), (Some(2), Some(3)));
    let lost = "3 packets transmitted, 0 received, 100% packet loss, time 204ms\n";
    let record = read(Transport::Icmp, &tool(ToolName::Ping), lost).unwrap();
    assert_eq!((record.rtt_us, record.packets.unwrap().lost_pkts), (None, 3));
}

#[test]
fn netperf_streams() {
    let record = read(Transport::Tcp, &tool(ToolName::Netperf), output!("netperf-tcp-stream.txt")).unwrap();
    let goodput = record.goodput_bps.unwrap();
    assert!((90e6..110e6).contains(&goodput), "{goodput}");
    assert_eq!((record.congestion_control.as_str(), record.connections), ("cubic", 1));
    assert_eq!(record.rtt_us, None);
    let record = read(Transport::Udp, &tool(ToolName::Netperf), output!("netperf-udp-stream.txt")).unwrap();
    assert_eq!((record.goodput_bps, record.bytes), (Some(98_413_890.0), 12_303_200));
    let packets = record.packets.unwrap();
    assert_eq!((packets.sent_pkts, packets.lost_pkts, packets.reordered_pkts), (8788, 0, None));
}

#[test]
fn netperf_requests() {
    let asked = Tool { request_response: true, ..tool(ToolName::Netperf) };
    let record = read(Transport::Tcp, &asked, output!("netperf-tcp-rr.txt")).unwrap();
    let rtt = record.rtt_us.unwrap();
    assert_eq!((rtt.count, rtt.mean, rtt.p50, rtt.p99), (48_302, 20.69, 6.0, 63.0));
    assert_eq!((rtt.minimum, rtt.maximum, rtt.p99_9), (5.0, 11_123.0, None));
    assert_eq!((record.transactions_per_second, record.goodput_bps), (Some(48_229.224), None));
}

#[test]
fn sockperf_gives_round_trip_times() {
    let asked = Tool { size: Some(nettrial_scenario::Size(64)), ..tool(ToolName::Sockperf) };
    let record = read(Transport::Udp, &asked, output!("sockperf-udp.txt")).unwrap();
    let rtt = record.rtt_us.unwrap();
    assert!(rtt.count > 1000 && rtt.minimum <= rtt.p50 && rtt.p50 <= rtt.p99 && rtt.p99 <= rtt.maximum);
    assert!(rtt.deviation > 0.0 && rtt.mean > 0.0 && rtt.p99_9.is_some());
    let packets = record.packets.unwrap();
    assert_eq!((packets.lost_pkts, packets.reordered_pkts, packets.duplicated_pkts), (0, Some(0), Some(0)));
    assert_eq!((packets.sent_pkts, record.bytes), (rtt.count, rtt.count * 64));
}

#[test]
fn ditg_gives_delays() {
    let record = read(Transport::Udp, &tool(ToolName::Ditg), output!("ditg-udp-summary.txt")).unwrap();
    assert_eq!((record.bytes, record.active_ns), (95_000, 199_950_000));
    assert_eq!(record.goodput_bps.unwrap().round(), 3_800_950.0);
    assert_eq!(record.delay_difference_mean_us, Some(11.0));
    // Out of the list of packets, and as ITGDec's summary has it.
    let owd = record.owd_us.unwrap();
    assert_eq!((owd.count, owd.minimum, owd.maximum), (95, 12.0, 63.0));
    assert!((owd.mean - 28.0).abs() < 0.5 && (owd.deviation - 8.0).abs() < 0.5, "{owd:?}");
    let packets = record.packets.unwrap();
    assert_eq!((packets.sent_pkts, packets.received_pkts, packets.reordered_pkts), (95, 95, Some(0)));
    let round_trips = Tool { arguments: vec!["-m".into(), "rttm".into()], ..tool(ToolName::Ditg) };
    let record = read(Transport::Udp, &round_trips, output!("ditg-udp-summary.txt")).unwrap();
    assert_eq!((record.rtt_us.unwrap().count, record.owd_us), (95, None));
    let none = "TOTAL RESULTS\nTotal time = -90000.0 s\nTotal packets = 0\nAverage delay = -nan s\n";
    let error = read(Transport::Udp, &tool(ToolName::Ditg), none).unwrap_err();
    assert_eq!(error.to_string(), "no packet arrived");
}

#[test]
fn a_command_prints_its_figures_in_its_last_line() {
    let asked = tool(ToolName::Exec);
    let record = read(
        Transport::Tcp,
        &asked,
        "some words\n{\"goodput_bps\": 5e6, \"rtt_us\": [10, 30], \"sent_pkts\": 9, \"lost_pkts\": 2}\n\n",
    )
    .unwrap();
    assert_eq!((record.goodput_bps, record.rtt_us.unwrap().mean), (Some(5e6), 20.0));
    assert_eq!(record.packets.unwrap().received_pkts, 7);
    let record = read(Transport::Tcp, &asked, "no figures\n").unwrap();
    assert_eq!((record.goodput_bps, record.rtt_us, record.packets), (None, None, None));
    let error = chain(&read(Transport::Tcp, &asked, "{\"goodput\": 5}").unwrap_err());
    assert!(error.contains("unknown field `goodput`") && error.contains("goodput_bps"), "{error}");
}

const DOWNLOADS: [ToolName; 5] =
    [ToolName::Ftp, ToolName::Tftp, ToolName::Http1, ToolName::Http2, ToolName::Http3];

fn download(name: ToolName, bytes: u64) -> Tool {
    Tool { size: Some(nettrial_scenario::Size(bytes)), ..tool(name) }
}

#[test]
fn a_download_has_its_time_after_the_connection_and_its_whole_time() {
    let figures = |transport, name, bytes, printed| {
        let record = read(transport, &download(name, bytes), printed).unwrap();
        let connected = Some(record.connect_us).filter(|times| times.count > 0).map(|times| times.mean);
        assert_eq!((record.bytes, record.connections), (bytes, 0), "{name:?}");
        let goodput = bytes as f64 * 8e9 / record.active_ns as f64;
        assert!((record.goodput_bps.unwrap() / goodput - 1.0).abs() < 1e-9, "{name:?}");
        (connected, record.active_ns / 1000, record.completion_us.unwrap().mean)
    };
    let ftp = figures(Transport::Tcp, ToolName::Ftp, 100_000, output!("curl-ftp.txt"));
    assert_eq!(ftp, (None, 249_664 - 183_757, 249_664.0));
    let http1 = figures(Transport::Tcp, ToolName::Http1, 100_000, output!("curl-http1.txt"));
    assert_eq!(http1, (Some(20_616.0), 87_006 - 20_672, 87_006.0));
    let http2 = figures(Transport::Tcp, ToolName::Http2, 100_000, output!("curl-http2.txt"));
    assert_eq!(http2, (Some(20_527.0), 128_073 - 44_335, 128_073.0));
    let tftp = figures(Transport::Udp, ToolName::Tftp, 100_000, output!("atftp.txt"));
    assert_eq!(tftp, (None, 213_000, 213_000.0));
    let http3 = figures(Transport::Udp, ToolName::Http3, 5000, output!("gtlsclient.txt"));
    assert_eq!(http3, (Some(23_000.0), 5_000, 28_000.0));
}

#[test]
fn a_download_that_is_not_what_was_asked_for_fails() {
    let refused = |name, bytes, printed: &str| {
        chain(&read(Transport::Udp, &download(name, bytes), printed).unwrap_err())
    };
    let part = refused(ToolName::Http1, 100_001, output!("curl-http1.txt"));
    assert_eq!(part, "the client has 100000 B of the file's 100001 B");
    let older = refused(ToolName::Http2, 100_000, output!("curl-http1.txt"));
    assert_eq!(older, "curl and the server spoke HTTP/1.1 and not HTTP/2");
    let aborted =
        refused(ToolName::Tftp, 7, "tftp: error received from server <File not found>\ntftp: aborting\n");
    assert!(aborted.contains("File not found"), "{aborted}");
    let unsaid = output!("atftp.txt").replace("bytes that arrived: 100000", "");
    assert!(refused(ToolName::Tftp, 100_000, &unsaid).contains("an unknown part of the file's 100000 B"));
    let log = output!("gtlsclient.txt");
    let unanswered = &log[..log.find(" frm rx 2 1RTT STREAM(0x0a) id=0x0").unwrap()];
    assert!(refused(ToolName::Http3, 5000, unanswered).ends_with("no answer came"));
    assert!(refused(ToolName::Http3, 5000, "").ends_with("no request left"));
}

#[test]
fn downloads_are_served_from_where_they_are_sent() {
    let [ftp, tftp, http1, http2, http3] = DOWNLOADS.map(|name| {
        let asked = Tool { server_arguments: words(&["-x"]), ..download(name, 1000) };
        let command =
            program(name).receiver(&flow(Transport::Tcp, &asked), &asked, "[fd00::1]:20001".parse().unwrap());
        assert_eq!(program(name).shelter_bytes(&asked), Some(1000 + (16 << 20)));
        let command = command.unwrap();
        assert_eq!(
            (&command[..2], &command[4], command.last().unwrap()),
            (&words(&["sh", "-c"])[..], &"1000".into(), &"-x".into())
        );
        command.join(" ")
    });
    assert!(
        ftp.contains("listen_address6=fd00::1\nlisten_port=20001") && ftp.contains("pasv_min_port=20002")
    );
    assert!(tftp.contains("exec atftpd") && tftp.contains(" fd00::1 20001 "));
    assert!(http1.contains("listen [fd00::1]:20001;") && !http1.contains("openssl"));
    assert!(http2.contains("listen [fd00::1]:20001 ssl http2;") && http2.contains("openssl req"));
    assert!(
        http3.contains("exec gtlsserver")
            && http3.contains("openssl req")
            && http3.contains(" fd00::1 20001 ")
    );
    let six = Flow { ip: IpVersion::V6, ..flow(Transport::Udp, &tool(ToolName::Tftp)) };
    let (setting, value, expected, why) =
        program(ToolName::Tftp).problems(&six, &tool(ToolName::Tftp)).remove(0);
    assert_eq!((setting, value.as_str(), expected.as_str()), ("ip", "6", "4"));
    assert_eq!(why, "atftpd serves nothing over IPv6");
    let of = |name| is_download(&flow(Transport::Tcp, &tool(name)));
    assert!(DOWNLOADS.into_iter().all(of) && !of(ToolName::Iperf3) && !of(ToolName::Exec));
    // Over UDP there is none of TCP's congestion controls.
    let leaves = |transport, name| leaves_congestion_control(&flow(transport, &tool(name)));
    assert!(leaves(Transport::Tcp, ToolName::Ftp) && !leaves(Transport::Udp, ToolName::Http3));
}

#[test]
fn a_failed_program_says_why() {
    let others = [ToolName::Netperf, ToolName::Sockperf, ToolName::Exec];
    for name in others.into_iter().chain(DOWNLOADS) {
        let failed = Finished {
            status: "exit status: 255".into(),
            complained: "no route\n".into(),
            ..Finished::default()
        };
        let tool = tool(name);
        let error = program(name).record(&flow(Transport::Tcp, &tool), &tool, &failed).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 255: no route");
    }
}

#[test]
fn commands_carry_the_flow_s_settings() {
    let command = |transport, asked: &Tool| {
        let flow = flow(transport, asked);
        let job = Job {
            flow: &flow,
            tool: asked,
            source: "10.0.0.1".parse().unwrap(),
            destination: "10.0.1.1:20001".parse().unwrap(),
            congestion_control: "cubic",
            sample_period: Duration::from_millis(10),
        };
        program(asked.tool).sender(&job).join(" ")
    };
    let rate = Some(nettrial_scenario::Rate(8_000_000));
    let size = Some(nettrial_scenario::Size(1000));
    let asked = Tool { rate, size, ..tool(ToolName::Iperf3) };
    let expected = "iperf3 -c 10.0.1.1 -p 20001 -B 10.0.0.1 -J -t 1 -i 0.1 -u -b 8000000 -l 1000";
    assert_eq!(command(Transport::Udp, &asked), expected);
    assert!(command(Transport::Tcp, &tool(ToolName::Iperf3)).ends_with("-C cubic"));
    assert!(command(Transport::Udp, &tool(ToolName::Iperf3)).ends_with("-u -b 0"));
    let asked = Tool { rate, size, ..tool(ToolName::Ditg) };
    assert!(command(Transport::Udp, &asked).contains("-T UDP -t 1000 -c 1000 -C 1000"));
    let poisson = Tool { arguments: words(&["-O", "100"]), ..asked };
    assert!(!command(Transport::Udp, &poisson).contains("-C"));
    let asked = Tool { rate, size, ..tool(ToolName::Sockperf) };
    assert!(command(Transport::Tcp, &asked).ends_with("--tcp -m 1000 --mps 1000"));
    for (arguments, requests) in [(&[][..], 1), (&["-i", "0.01"][..], 100), (&["-i0.5"][..], 2)] {
        let asked = Tool { arguments: words(arguments), ..tool(ToolName::Ping) };
        assert!(command(Transport::Icmp, &asked).contains(&format!("-c {requests} ")));
    }
    let blocks = Tool { block_size: size, window_size: Some(4), ..download(ToolName::Tftp, 5000) };
    let options = "option blksize 1000\noption windowsize 4\nget file\nstatus\nquit\n 10.0.1.1 20001";
    assert!(command(Transport::Udp, &blocks).ends_with(options));
    assert!(command(Transport::Udp, &download(ToolName::Tftp, 5000)).contains(" sh get file\nstatus\n"));
    let urls = DOWNLOADS.map(|name| command(Transport::Tcp, &download(name, 5000)));
    assert!(urls[0].contains(" --interface 10.0.0.1 ftp://10.0.1.1:20001/file"));
    assert!(urls[2].contains(" --interface 10.0.0.1 --http1.1 http://10.0.1.1:20001/file"));
    assert!(urls[3].contains(" --http2 --insecure https://10.0.1.1:20001/file"));
    assert!(urls[4].ends_with(" 10.0.1.1 20001 https://10.0.1.1:20001/file"));
    let asked = Tool { arguments: words(&["x", "{source}>{destination}:{port}"]), ..tool(ToolName::Exec) };
    assert_eq!(command(Transport::Tcp, &asked), "x 10.0.0.1>10.0.1.1:20001");
}

#[test]
fn what_cannot_be_run_is_refused_before_the_traffic() {
    let missing = Tool { arguments: words(&["no-such-program-here"]), ..tool(ToolName::Exec) };
    let flow = flow(Transport::Tcp, &missing);
    let problems = problems(&flow, &missing, &nettrial_scenario::Place::flow(0, &flow));
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].setting.as_str(), problems[0].object.as_str()), ("tool", "flow \"tool\""));
    assert_eq!(problems[0].value, "no-such-program-here is not installed");
    assert!(problems[0].of_machine, "the study is right, and the command ends with status 3");
    let half = Tool { duration: Some(nettrial_scenario::Duration(500_000_000)), ..tool(ToolName::Ping) };
    assert_eq!(whole_seconds(&half).len(), 1);
    assert_eq!(whole_seconds(&tool(ToolName::Ping)).len(), 0);
}

/// Every program with an output it really printed.
fn samples() -> Vec<(Transport, Tool, &'static str)> {
    let requests = Tool { request_response: true, ..tool(ToolName::Netperf) };
    vec![
        (Transport::Tcp, tool(ToolName::Iperf3), output!("iperf3-tcp.json")),
        (Transport::Udp, tool(ToolName::Iperf3), output!("iperf3-udp.json")),
        (Transport::Icmp, tool(ToolName::Ping), output!("ping-ipv4.txt")),
        (Transport::Udp, tool(ToolName::Netperf), output!("netperf-udp-stream.txt")),
        (Transport::Tcp, requests, output!("netperf-tcp-rr.txt")),
        (Transport::Udp, tool(ToolName::Sockperf), output!("sockperf-udp.txt")),
        (Transport::Udp, tool(ToolName::Ditg), output!("ditg-udp-summary.txt")),
        (Transport::Tcp, tool(ToolName::Exec), "{\"rtt_us\": [1, 2], \"bytes\": 7}"),
        (Transport::Tcp, download(ToolName::Ftp, 100_000), output!("curl-ftp.txt")),
        (Transport::Tcp, download(ToolName::Http1, 100_000), output!("curl-http1.txt")),
        (Transport::Tcp, download(ToolName::Http2, 100_000), output!("curl-http2.txt")),
        (Transport::Udp, download(ToolName::Tftp, 100_000), output!("atftp.txt")),
        (Transport::Udp, download(ToolName::Http3, 5000), output!("gtlsclient.txt")),
    ]
}

/// A number that a program should not print.
const ODD_NUMBERS: [&str; 8] = ["-1", "1e308", "-1e308", "nan", "inf", "18446744073709551616", "0", ""];

proptest! {
    #[test]
    fn no_text_is_too_odd(which in 0..13usize, text: String, logged: String) {
        let (transport, tool, _) = &samples()[which];
        let _ = program(tool.tool).record(&flow(*transport, tool), tool, &finished(&text, &logged));
    }

    #[test]
    fn no_change_of_an_output_is_too_odd(
        which in 0..13usize,
        at in any::<prop::sample::Index>(),
        odd in prop::sample::select(&ODD_NUMBERS[..]),
        cut in any::<prop::sample::Index>(),
    ) {
        let (transport, tool, printed) = &samples()[which];
        // One of its numbers is another, and its end is missing.
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let starts: Vec<usize> = printed.match_indices(is_number).map(|(start, _)| start).collect();
        let start = starts[at.index(starts.len())];
        let length = printed[start..].find(|letter| !is_number(letter)).unwrap_or(printed.len() - start);
        let changed = format!("{}{odd}{}", &printed[..start], &printed[start + length..]);
        let end = cut.index(2 * changed.len()).min(changed.len());
        for text in [&changed[..], changed.get(..end).unwrap_or("")] {
            let logged = finished(text, output!("ditg-udp-packets.txt"));
            let _ = program(tool.tool).record(&flow(*transport, tool), tool, &logged);
            let _ = program(tool.tool).record(&flow(*transport, tool), tool, &finished(printed, text));
        }
    }
}
