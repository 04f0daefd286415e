//! Flows over loopback, through the listener as in a trial, and what strangers may do to them.

use super::*;
use crate::cookie::Purpose;
use crate::platform::Datagrams;
use crate::tcp;
use crate::tests::PORTABLE;
use crate::{Cookie, flow, listener};
use nettrial_scenario::{Flow, Rate, Share, Size, SocketOptions, Traffic, Variate};
use std::io::{Read, Write};
use std::net::{IpAddr, UdpSocket};

const COUNT: u64 = 20_000;

fn constant(bytes: u64) -> Variate<Size> {
    Variate::Constant { value: Size(bytes) }
}

fn packets(size: Variate<Size>) -> Packets {
    Packets { size, gap: None, rate: None, on_off: None, duration: None, count: Some(COUNT), seed: 5 }
}

fn side(transport: Transport, address: &str, packets: Packets) -> Side {
    let address: IpAddr = address.parse().unwrap();
    Side {
        flow: Flow {
            name: "packets".into(),
            from: "one".into(),
            to: "other".into(),
            transport,
            ip: nettrial_scenario::IpVersion::of(address),
            pair: 0,
            start: nettrial_scenario::Duration(0),
            socket: SocketOptions::default(),
            traffic: Traffic::Packets(packets),
        },
        cookie: Cookie([7; 16]),
        address: address.into(),
        congestion_control: if PORTABLE { "" } else { "reno" }.into(),
        clock_offset: Some(crate::ClockOffset::ONE_CLOCK),
        round_trip: None,
        virtual_time: false,
    }
}

fn run(side: &Side) -> FlowRecord {
    let port = listener::listen(side.clone()).unwrap();
    let destination = side.address.socket(port);
    flow::run(side, destination, Duration::from_millis(10)).unwrap().0
}

/// A paced flow, so that a busy machine loses nothing.
fn paced(size: Variate<Size>) -> Packets {
    Packets { rate: Some(Rate(400_000_000)), count: Some(2000), ..packets(size) }
}

/// A figure that follows from the path MTU, which only Linux tells.
fn known(bytes: u64) -> Option<u64> {
    (!PORTABLE).then_some(bytes)
}

#[test]
fn datagrams_are_counted_at_both_ends() {
    for address in ["127.0.0.1", "::1"] {
        for (udp_gso, udp_gro) in [(false, false), (true, false), (false, true), (true, true)] {
            // Cutting takes the path MTU.
            if PORTABLE && udp_gso {
                continue;
            }
            let mut side = side(Transport::Udp, address, packets(constant(200)));
            side.flow.socket = SocketOptions { udp_gso, udp_gro, ..side.flow.socket };
            let record = run(&side);
            let counts = record.packets.unwrap();
            assert_eq!(counts.sent_pkts, COUNT);
            assert_eq!(counts.received_pkts + counts.lost_pkts, COUNT);
            assert!(counts.received_pkts > COUNT / 2, "{counts:?}");
            assert_eq!((counts.duplicated_pkts, counts.reordered_pkts), (Some(0), Some(0)), "{counts:?}");
            assert_eq!(record.bytes, counts.received_pkts * 200);
            assert_eq!(record.owd_us.unwrap().count, counts.received_pkts);
            let headers = side.flow.ip.header_bytes() + 8;
            assert_eq!(record.ip_bytes, known(COUNT * (200 + headers)));
            assert_eq!(record.wire_bytes, known(COUNT * (200 + headers + 38)));
            assert!(record.goodput_bps.unwrap() > 1e6 && record.pacing.is_none());
        }
    }
}

#[test]
fn a_small_receive_buffer_loses_what_a_large_one_holds() {
    let mut side = side(Transport::Udp, "127.0.0.1", packets(constant(200)));
    side.flow.socket.udp_buffer = Some(Size(4096));
    let counts = run(&side).packets.unwrap();
    assert_eq!(counts.sent_pkts, COUNT);
    assert!(counts.lost_pkts > 0, "{counts:?}");
}

#[test]
fn a_paced_flow_loses_nothing_and_tells_its_pace() {
    let mix = Variate::Mix {
        shares: vec![Share { value: Size(40), share: 7.0 }, Share { value: Size(1400), share: 1.0 }],
    };
    let record = run(&side(Transport::Udp, "127.0.0.1", paced(mix)));
    let counts = record.packets.unwrap();
    assert_eq!((counts.sent_pkts, counts.lost_pkts), (2000, 0));
    let pacing = record.pacing.unwrap();
    // The last packet's share of the time is rounded to a nanosecond.
    assert!((pacing.asked_bps / 400e6 - 1.0).abs() < 1e-3, "{pacing:?}");
    assert_eq!(pacing.lateness_us.count, 2000);
    assert_eq!(pacing.cpu_percent.is_some_and(|percent| percent > 0.0), !PORTABLE);
    let variation = record.delay_variation_us.unwrap();
    let delay = record.owd_us.unwrap();
    assert!((variation.maximum - (delay.maximum - delay.minimum)).abs() < 1e-6);
    assert!((variation.mean - (delay.mean - delay.minimum)).abs() < 1e-3);
    assert!(record.owd_histogram.is_some() && record.jitter_rfc3550_us.is_some());
}

#[test]
fn the_largest_datagram_is_carried() {
    let packets = Packets { count: Some(50), rate: Some(Rate(1_000_000_000)), ..packets(constant(65_507)) };
    let record = run(&side(Transport::Udp, "127.0.0.1", packets));
    assert_eq!(record.packets.unwrap().received_pkts, 50);
    assert_eq!(record.ip_bytes, known(50 * 65_535));
}

#[test]
fn messages_over_tcp_all_arrive() {
    let sizes = Variate::Uniform { minimum: Size(24), maximum: Size(300_000) };
    for packets in [Packets { count: Some(300), ..packets(sizes) }, paced(constant(24))] {
        let count = packets.count.unwrap();
        let paced = packets.rate.is_some();
        let record = run(&side(Transport::Tcp, "127.0.0.1", packets));
        assert_eq!(record.owd_us.unwrap().count, count);
        assert_eq!((record.packets, record.connections), (None, 1));
        assert_eq!(record.ip_bytes.is_some_and(|bytes| bytes > record.bytes), !PORTABLE);
        assert_eq!(record.pacing.is_some(), paced);
        assert!(record.bytes >= count * 24 && record.goodput_bps.unwrap() > 0.0);
    }
}

#[test]
fn where_clocks_differ_there_is_no_one_way_delay() {
    let mut side = side(Transport::Udp, "127.0.0.1", paced(constant(100)));
    side.clock_offset = None;
    let record = run(&side);
    assert_eq!((record.owd_us, record.owd_histogram), (None, None));
    assert!(record.delay_variation_us.is_some() && record.goodput_bps.is_some());
}

/// The receiver's UDP port, from a control connection that shows `cookie`.
fn control(side: &Side, port: u16) -> (TcpStream, SocketAddr) {
    let destination = side.address.socket(port);
    let (mut control, _) = tcp::connect(side, destination, Purpose::Traffic).unwrap();
    let mut port = [0; 2];
    control.read_exact(&mut port).unwrap();
    (control, side.address.socket(u16::from_be_bytes(port)))
}

#[test]
fn strangers_neither_get_in_nor_in_the_way() {
    let side = side(Transport::Udp, "127.0.0.1", packets(constant(100)));
    let port = listener::listen(side.clone()).unwrap();
    let (mut control, target) = control(&side, port);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for junk in [vec![], vec![0; 16], vec![7; 15], vec![6; 17], vec![1; 40_000]] {
        stranger.send_to(&junk, target).unwrap();
    }
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(target).unwrap();
    sender.send(&side.cookie.0).unwrap();
    control.read_exact(&mut [0]).unwrap();
    let mut batch = Batch::new(8, 100, header::tag(&side.cookie));
    for _ in 0..3 {
        batch.add(100);
    }
    let packet = |index: usize| &batch.bytes()[index * 100..index * 100 + 100];
    // What the admitted sender's address sends beside packets: too short, too long, without the tag, and
    // numbered beyond reason.
    for junk in [&[][..], &packet(0)[..99], &batch.bytes()[..101], &[0xff; 100], &[0; 1]] {
        sender.send(junk).unwrap();
    }
    let mut wild = packet(0).to_vec();
    wild[..8].copy_from_slice(&u64::MAX.to_be_bytes());
    sender.send(&wild).unwrap();
    let _ = stranger.send_to(packet(1), target);
    for index in [0, 2, 2] {
        sender.send(packet(index)).unwrap();
    }
    control.write_all(&[3u64.to_be_bytes(), 0u64.to_be_bytes()].concat()).unwrap();
    let mut line = String::new();
    control.read_to_string(&mut line).unwrap();
    let received: Received = serde_json::from_str(&line).unwrap();
    let counts = received.packets;
    assert_eq!((counts.received_pkts, counts.lost_pkts, counts.duplicated_pkts), (2, 1, Some(1)));
}

#[test]
fn a_sender_that_is_gone_ends_the_receiver() {
    let side = side(Transport::Udp, "127.0.0.1", packets(constant(100)));
    let port = listener::listen(side.clone()).unwrap();
    let (mut control, target) = control(&side, port);
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.send_to(&side.cookie.0, target).unwrap();
    control.read_exact(&mut [0]).unwrap();
    control.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    control.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}
