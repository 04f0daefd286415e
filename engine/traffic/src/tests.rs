//! Flows over loopback, both sides in this process: every kind of traffic on every transport, and what
//! hostile bytes do to them.

use crate::{Cookie, Side, flow, listener};
use nettrial_scenario::{
    Answer, Connecting, Duration, FileTransfer, Flow, FlowRecord, IpVersion, RequestResponse, Size,
    SocketOptions, Sweep, Traffic, Transfer, Transport, Warning, chain,
};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

const COOKIE: Cookie = Cookie(*b"the trial's own.");
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(20);

/// True where the agent is that of other systems than Linux.
pub const PORTABLE: bool = cfg!(any(not(target_os = "linux"), feature = "portable"));

/// Transports and IP versions that this machine has.
fn paths(transports: &[Transport]) -> Vec<(Transport, IpVersion)> {
    let has_ipv6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let has_mptcp = !PORTABLE
        && std::fs::read_to_string("/proc/sys/net/mptcp/enabled").is_ok_and(|text| text.trim() == "1");
    let transports = transports.iter().filter(|transport| has_mptcp || **transport != Transport::Mptcp);
    let versions = if has_ipv6 { vec![IpVersion::V4, IpVersion::V6] } else { vec![IpVersion::V4] };
    transports.flat_map(|&transport| versions.iter().map(move |&version| (transport, version))).collect()
}

const STREAMS: &[Transport] = &[Transport::Tcp, Transport::Mptcp];
const ALL: &[Transport] = &[Transport::Tcp, Transport::Mptcp, Transport::Udp];

fn side(transport: Transport, ip: IpVersion, traffic: Traffic, socket: SocketOptions) -> Side {
    let address = match ip {
        IpVersion::V4 => IpAddr::from(Ipv4Addr::LOCALHOST),
        IpVersion::V6 => IpAddr::from(Ipv6Addr::LOCALHOST),
    };
    let (from, to, start) = ("one".to_owned(), "other".to_owned(), Duration(0));
    let flow = Flow { name: "flow".into(), from, to, transport, ip, pair: 0, start, socket, traffic };
    Side {
        flow,
        cookie: COOKIE,
        address: address.into(),
        congestion_control: if PORTABLE { "" } else { "reno" }.into(),
        clock_offset: Some(crate::ClockOffset::ONE_CLOCK),
        round_trip: None,
        virtual_time: false,
    }
}

fn listen(side: &Side) -> SocketAddr {
    side.address.socket(listener::listen(side.clone()).unwrap())
}

fn run_with(
    (transport, ip): (Transport, IpVersion),
    traffic: Traffic,
    socket: SocketOptions,
) -> (FlowRecord, Vec<Warning>) {
    let side = side(transport, ip, traffic, socket);
    flow::run(&side, listen(&side), INTERVAL)
        .unwrap_or_else(|error| panic!("{transport:?} {ip:?}: {}", chain(&error)))
}

fn run(path: (Transport, IpVersion), traffic: Traffic) -> FlowRecord {
    let (record, warnings) = run_with(path, traffic, SocketOptions::default());
    let codes: Vec<&str> = warnings.iter().map(|warning| warning.code.as_str()).collect();
    let knows_state = !PORTABLE || path.0 == Transport::Udp;
    assert_eq!(codes, if knows_state { &[][..] } else { &["no_tcp_state"] }, "{path:?}");
    record
}

fn transfer(size: Option<u64>, milliseconds: Option<u64>) -> Traffic {
    let duration = milliseconds.map(|count| Duration(count * 1_000_000));
    Traffic::Transfer(Transfer { size: size.map(Size), duration })
}

#[test]
fn a_transfer_counts_what_its_receiver_had_when_the_duration_ended() {
    for path in paths(STREAMS) {
        for clock_offset in [Some(crate::ClockOffset::ONE_CLOCK), None] {
            let side = side(path.0, path.1, transfer(None, Some(60)), SocketOptions::default());
            let side = Side { clock_offset, ..side };
            let (record, _) = flow::run(&side, listen(&side), INTERVAL).unwrap();
            let span = record.span.unwrap();
            assert!(span.bytes > 0 && span.bytes <= record.bytes, "{path:?}");
            assert!((40_000_000..=60_000_000).contains(&span.active_ns), "{path:?}: {} ns", span.active_ns);
            assert_eq!(span.active_ns, span.ended_ns - span.began_ns);
            assert!(record.ended_ns.unwrap() >= span.ended_ns && record.active_ns >= span.active_ns);
            assert_eq!(record.goodput_bps, span.goodput_bps());
        }
        let record = run(path, transfer(Some(1_000_000), None));
        let span = record.span.unwrap();
        assert_eq!((span.bytes, span.active_ns), (record.bytes, record.active_ns), "{path:?}");
        assert_eq!(record.ended_ns, Some(span.ended_ns));
    }
}

#[test]
fn what_arrives_after_a_duration_is_confirmed_apart() {
    // The duration is over when the transfer begins: everything arrives too late.
    let side = side(Transport::Tcp, IpVersion::V4, transfer(None, Some(1)), SocketOptions::default());
    let mut stream = TcpStream::connect(listen(&side)).unwrap();
    stream.write_all(&COOKIE.opening(crate::cookie::Purpose::Traffic)).unwrap();
    stream.write_all(&[[0; 8], [0; 8]].concat()).unwrap();
    stream.write_all(&[7; 1000]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut counts = [0; 16];
    stream.read_exact(&mut counts).unwrap();
    assert_eq!(counts, <[u8; 16]>::try_from([1000u64.to_be_bytes(), [0; 8]].concat()).unwrap());
}

fn exchange(request: u64, response: u64, count: u64) -> RequestResponse {
    RequestResponse {
        request: Size(request),
        response: Size(response),
        duration: None,
        count: Some(count),
        interval: None,
        in_flight: 1,
        connecting: Connecting::Once,
        mechanisms: false,
    }
}

fn sweep(answer: Answer) -> Sweep {
    Sweep {
        first: Size(24),
        last: Size(65_000),
        step: Size(16_244),
        repeats: 3,
        bytes: Size(130_000),
        answer,
        seed: 7,
    }
}

#[test]
fn transfers_arrive_whole() {
    for path in paths(STREAMS) {
        let record = run(path, transfer(Some(3_000_001), None));
        assert_eq!((record.bytes, record.connections), (3_000_001, 1), "{path:?}");
        assert_eq!(record.completion_us.unwrap().count, 1);
        let weight = record.ip_bytes.zip(record.wire_bytes);
        assert_eq!(weight.is_none(), PORTABLE);
        if let Some((ip, wire)) = weight {
            assert!(record.bytes < ip && ip < wire, "{path:?}: {ip} {wire}");
        }
        let repeated = run(path, transfer(Some(1000), Some(50)));
        assert!(repeated.connections > 1);
        assert_eq!(repeated.bytes, 1000 * u64::from(repeated.connections), "{path:?}");
    }
}

#[cfg(not(feature = "portable"))]
#[test]
fn intervals_add_up_to_what_was_sent() {
    for path in paths(STREAMS) {
        let record = run(path, transfer(None, Some(150)));
        let seen: u64 = record.intervals.iter().map(|interval| interval.bytes).sum();
        // The opening and the told end count, too, and the kernel counts SYN and FIN as a byte each; data sent
        // after the last sample does not count. MPTCP may retransmit data that a subflow acknowledges late,
        // which a subflow counts twice.
        let uncounted = (crate::cookie::OPENING_BYTES + crate::transfer::END_BYTES + 2) as u64;
        let is_within = seen <= record.bytes + uncounted || path.0 == Transport::Mptcp;
        assert!(seen > 0 && is_within, "{path:?}: {seen} of {}", record.bytes);
        assert!(
            record.intervals.iter().any(|interval| interval.delivery_rate_bps.is_some_and(|rate| rate > 0))
        );
        if path.0 == Transport::Mptcp {
            assert_eq!(record.subflows.len(), 1);
            assert_eq!(record.subflows[0].congestion_control, "reno");
            assert!(record.subflows[0].bytes >= record.bytes);
            for interval in &record.intervals {
                assert_eq!(interval.subflow_bytes, [interval.bytes]);
                assert_eq!(interval.subflow_cwnd_pkts, [interval.cwnd_pkts]);
            }
        }
    }
}

#[test]
fn requests_are_answered_one_by_one_several_at_a_time_and_by_connections() {
    for path in paths(ALL) {
        for (in_flight, connecting) in
            [(1, Connecting::Once), (9, Connecting::Once), (1, Connecting::EachRequest)]
        {
            if path.0 == Transport::Udp && connecting == Connecting::EachRequest {
                continue;
            }
            for (request, response) in [(24, 24), (64, 3000), (20_000, 60_000)] {
                let settings = RequestResponse { in_flight, connecting, ..exchange(request, response, 50) };
                let record = run(path, Traffic::RequestResponse(settings));
                let what = format!("{path:?} {in_flight} {connecting:?} {request} {response}");
                assert_eq!(record.rtt_us.unwrap().count, 50, "{what}");
                assert_eq!(record.bytes, 50 * request, "{what}");
                let rate = record.transactions_per_second.unwrap();
                assert!((rate * record.active_ns as f64 / 1e9 - 50.0).abs() < 1e-6, "{what}");
                assert!(record.rtt_histogram.is_some() && record.jitter_rfc3550_us.is_some(), "{what}");
                if path.0 == Transport::Udp {
                    let counts = record.packets.unwrap();
                    assert_eq!(
                        (counts.sent_pkts, counts.received_pkts, counts.lost_pkts),
                        (50, 50, 0),
                        "{what}"
                    );
                    assert_eq!(record.connections, 0);
                } else {
                    let connections = if connecting == Connecting::EachRequest { 50 } else { 1 };
                    assert_eq!((record.connections, record.packets), (connections, None), "{what}");
                }
            }
        }
    }
}

#[test]
fn an_interval_is_kept_with_several_in_flight() {
    for path in paths(ALL) {
        let settings =
            RequestResponse { interval: Some(Duration(4_000_000)), in_flight: 3, ..exchange(64, 64, 6) };
        let record = run(path, Traffic::RequestResponse(settings));
        assert_eq!(record.rtt_us.unwrap().count, 6);
        assert!(record.active_ns >= 5 * 4_000_000, "{path:?}: {} ns", record.active_ns);
    }
}

#[test]
fn a_sweep_measures_every_size_as_often_as_asked() {
    for path in paths(ALL) {
        for answer in [Answer::Acknowledgment, Answer::Echo] {
            let record = run(path, Traffic::Sweep(sweep(answer)));
            let sizes: Vec<u64> = record.sizes.iter().map(|size| size.size_bytes).collect();
            assert_eq!(sizes, [24, 16_268, 32_512, 48_756, 65_000], "{path:?} {answer:?}");
            for size in &record.sizes {
                assert_eq!((size.rtt_us.len(), size.total_us.len(), size.rtt_minimum_us.len()), (3, 3, 3));
                assert!(size.rtt_minimum_us.iter().all(|&rtt| rtt > 0.0));
            }
            // 130 000 B are 5416 requests of 24 B and one of 16, which is sent as 24.
            assert_eq!(record.bytes, 3 * (5 * 130_000 + 8), "{path:?} {answer:?}");
        }
    }
}

#[test]
fn a_file_arrives_and_a_missing_one_is_named_before_anything_is_sent() {
    let path = std::env::temp_dir().join(format!("nettrial-test-{:032x}", rand::random::<u128>()));
    let contents: Vec<u8> =
        (0..1_500_007u32).map(|byte| byte.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    std::fs::write(&path, &contents).unwrap();
    let settings = FileTransfer { file: path.to_str().unwrap().to_owned() };
    for path in paths(STREAMS) {
        let record = run(path, Traffic::FileTransfer(settings.clone()));
        assert_eq!(record.bytes, 1_500_007);
        assert!(record.goodput_bps.unwrap() > 0.0 && record.completion_us.unwrap().count == 1);
    }
    std::fs::write(&path, []).unwrap();
    assert_eq!(run((Transport::Tcp, IpVersion::V4), Traffic::FileTransfer(settings.clone())).bytes, 0);
    std::fs::remove_file(&path).unwrap();

    let side = side(
        Transport::Tcp,
        IpVersion::V4,
        Traffic::FileTransfer(settings.clone()),
        SocketOptions::default(),
    );
    let error = listener::inspect(&side, listen(&side)).unwrap_err();
    assert!(chain(&error).contains(&settings.file), "{error:?}");
    let problems = crate::problems(&side.flow, &nettrial_scenario::Place::flow(0, &side.flow));
    assert_eq!((problems.len(), problems[0].setting.as_str()), (1, "file"));
    assert!(problems[0].hint.contains("No such file"), "{}", problems[0].hint);
}

#[cfg(not(feature = "portable"))]
#[test]
fn socket_options_are_in_force() {
    let path = (Transport::Tcp, IpVersion::V4);
    let options = SocketOptions { mss: Some(Size(700)), block: Some(Size(4096)), ..Default::default() };
    let (record, _) = run_with(path, transfer(Some(100_000), None), options);
    assert!((688..=700).contains(&record.mss_bytes), "{}", record.mss_bytes);
    for path in paths(ALL) {
        let options = SocketOptions { busy_poll: Some(Duration(50_000)), ..Default::default() };
        let settings = RequestResponse { in_flight: 2, ..exchange(64, 64, 200) };
        let (record, _) = run_with(path, Traffic::RequestResponse(settings), options);
        assert_eq!(record.rtt_us.unwrap().count, 200);
    }
}

#[cfg(not(feature = "portable"))]
#[test]
fn loopback_copies_what_was_to_be_sent_without_copying_and_that_is_told() {
    let options = SocketOptions { zerocopy: true, ..Default::default() };
    let (record, warnings) =
        run_with((Transport::Tcp, IpVersion::V4), transfer(Some(30_000_000), None), options);
    assert_eq!(record.bytes, 30_000_000);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].code, "zerocopy_copied");
}

#[cfg(feature = "portable")]
#[test]
fn what_only_linux_carries_is_refused_before_anything_is_sent() {
    let options = SocketOptions { zerocopy: true, mss: Some(Size(700)), ..Default::default() };
    let flow = side(Transport::Mptcp, IpVersion::V4, transfer(Some(1), None), options).flow;
    let problems = crate::problems(&flow, &nettrial_scenario::Place::flow(0, &flow));
    let settings: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(settings, ["transport", "mss", "zerocopy"]);
    assert!(problems[0].hint.starts_with("it needs Linux, and this system is"), "{}", problems[0].hint);
}

#[test]
fn a_fallback_to_tcp_is_told() {
    let Some(&path) = paths(&[Transport::Mptcp]).first() else { return };
    // The receiver knows TCP only.
    let plain = side(Transport::Tcp, path.1, transfer(Some(100_000), None), SocketOptions::default());
    let asked = side(Transport::Mptcp, path.1, transfer(Some(100_000), None), SocketOptions::default());
    let (record, warnings) = flow::run(&asked, listen(&plain), INTERVAL).unwrap();
    assert_eq!(record.bytes, 100_000);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].code, "mptcp_fallback");
}

fn all_kinds() -> [Traffic; 4] {
    [
        transfer(Some(10_000), None),
        Traffic::FileTransfer(FileTransfer { file: "/proc/self/exe".into() }),
        Traffic::RequestResponse(exchange(64, 64, 5)),
        Traffic::Sweep(Sweep { bytes: Size(70_000), ..sweep(Answer::Echo) }),
    ]
}

/// A client that shows the cookie or not, says something, and leaves or stays.
fn intrude(destination: SocketAddr, knows_cookie: bool, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(destination).unwrap();
    if knows_cookie {
        // An error is the other side's refusal, which is what is tried.
        let _ = stream.write_all(&COOKIE.opening(crate::cookie::Purpose::Traffic));
    }
    let _ = stream.write_all(bytes);
    stream
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn hostile_connections_neither_end_nor_stall_the_port(
        kind in 0usize..4, knows_cookie: bool, bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let side = side(Transport::Tcp, IpVersion::V4, all_kinds()[kind].clone(), SocketOptions::default());
        let destination = listen(&side);
        let open: Vec<TcpStream> = (0..5).map(|_| intrude(destination, knows_cookie, &bytes)).collect();
        let (record, _) = flow::run(&side, destination, INTERVAL).unwrap();
        prop_assert!(record.bytes > 0);
        if !knows_cookie && bytes.len() >= 17 && bytes[..16] != COOKIE.0 {
            for mut stream in open {
                // Refused: closed without a byte.
                stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
                prop_assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)));
            }
        }
    }

    #[test]
    fn hostile_datagrams_neither_end_nor_stall_the_port(
        is_sweep: bool, knows_cookie: bool, bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let side = side(Transport::Udp, IpVersion::V4, all_kinds()[2 + usize::from(is_sweep)].clone(), SocketOptions::default());
        let destination = listen(&side);
        let intruder = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        intruder.send_to(&bytes, destination).unwrap();
        if knows_cookie {
            let opening = COOKIE.opening(crate::cookie::Purpose::Traffic);
            intruder.send_to(&opening, destination).unwrap();
            let mut answer = [0; 64];
            prop_assert_eq!(intruder.recv(&mut answer).unwrap(), 18);
            let port = u16::from_be_bytes([answer[16], answer[17]]);
            intruder.send_to(&bytes, (Ipv4Addr::LOCALHOST, port)).unwrap();
        }
        let (record, _) = flow::run(&side, destination, INTERVAL).unwrap();
        prop_assert!(record.bytes > 0);
        if !knows_cookie {
            intruder.set_nonblocking(true).unwrap();
            prop_assert!(intruder.recv(&mut [0; 64]).is_err(), "an answer without the cookie");
        }
    }
}

#[test]
fn silent_strangers_do_not_fill_a_data_port() {
    let side = side(Transport::Tcp, IpVersion::V4, transfer(Some(100_000), None), SocketOptions::default());
    let port = listen(&side);
    let mut strangers: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(port).unwrap()).collect();
    // Of the first hundred all are closed: more than a hundred came after each, and 64 may be silent.
    for stranger in &mut strangers[..100] {
        stranger.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        assert_eq!(stranger.read(&mut [0]).unwrap(), 0);
    }
    let (record, _) = flow::run(&side, port, INTERVAL).unwrap();
    assert_eq!(record.bytes, 100_000);
}
