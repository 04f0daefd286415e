//! Flows of a host to itself, and what strangers and the other end may do to them.

use super::*;
use crate::listener;
use crate::loopback::{ADDRESS, Loopback, host};
use nettrial_scenario::PacketCounts;
use nettrial_traffic::Cookie;
use serde_json::{Value, json};

/// Returns a side of a flow over `transport`.
fn side(transport: &str, packets: Value) -> Side {
    let flow = json!({"name": "packets", "from": "a", "to": "b", "transport": transport, "ip": 4, "start": "0 ns",
        "traffic": packets});
    serde_json::from_value(
        json!({"flow": flow, "cookie": Cookie([7; 16]), "address": ADDRESS, "congestion_control": "none",
        "clock_offset": {"ahead_ns": 0, "error_ns": 0}, "round_trip": null}),
    )
    .unwrap()
}

/// Packets of 100 bytes, three of them.
fn three() -> Value {
    json!({"kind": "packets", "size": {"distribution": "constant", "value": "100 B"}, "count": 3})
}

/// Listens for the flow of `side` on a new host, and returns the host and the port.
fn listening(side: &Side) -> (Arc<Host<Loopback>>, SocketAddr) {
    let host = host();
    let port = listener::listen(&host, side.clone()).unwrap();
    (host, SocketAddr::new(ADDRESS, port))
}

#[test]
fn packets_have_the_drawn_sizes_and_are_counted_at_both_ends() {
    let packets = json!({"kind": "packets", "count": 300, "seed": 5,
        "size": {"distribution": "uniform", "minimum": "24 B", "maximum": "3 kB"},
        "gap": {"distribution": "exponential", "mean": "100 us"}});
    for transport in ["udp", "tcp"] {
        let side = side(transport, packets.clone());
        let nettrial_scenario::Traffic::Packets(settings) = &side.flow.traffic else { unreachable!() };
        let (host, destination) = listening(&side);
        let record = send(&host, &side, settings, destination, Instant::now(), 1_000_000).unwrap();
        let mut departures = Departures::new(settings).unwrap();
        let drawn: u64 = (0..300).map(|_| departures.take()).sum();
        assert_eq!((record.bytes, record.owd_us.unwrap().count), (drawn, 300), "{transport}");
        let counts =
            record.packets.map(|counts| (counts.sent_pkts, counts.received_pkts, counts.reordered_pkts));
        assert_eq!(counts, (transport == "udp").then_some((300, 300, Some(0))));
        assert_eq!(record.intervals.is_empty(), transport == "tcp");
        assert_eq!(record.pacing.unwrap().lateness_us.count, 300);
        assert!(record.goodput_bps.is_some() && record.delay_variation_us.is_some());
    }
}

#[test]
fn what_does_not_belong_to_a_flow_is_not_counted() {
    let side = side("udp", three());
    let (host, destination) = listening(&side);
    let (control, _) = Connection::shown(&host, &side, destination).unwrap();
    let mut port = [0; 2];
    control.read_exact(&mut port).unwrap();
    let target = SocketAddr::new(ADDRESS, u16::from_be_bytes(port));
    let stranger = Socket::bind(&host, ADDRESS).unwrap();
    for junk in [vec![], vec![0; 16], vec![7; 15], vec![6; 17], vec![1; 40_000]] {
        stranger.send_to(&junk, target).unwrap();
    }
    let sender = Socket::bind(&host, ADDRESS).unwrap();
    sender.send_to(&side.cookie.0, target).unwrap();
    control.read_exact(&mut [0]).unwrap();
    let mut batch = Batch::new(8, 100, tag(&side.cookie));
    (0..3).for_each(|_| batch.add(100));
    let packet = |number: usize| &batch.bytes()[number * 100..number * 100 + 100];
    let mut wild = packet(0).to_vec();
    wild[..8].copy_from_slice(&u64::MAX.to_be_bytes());
    // Too short, too long, without the secret, and with a number that nobody reaches.
    for junk in [&[][..], &packet(0)[..99], &batch.bytes()[..101], &[0xff; 100], &wild] {
        sender.send_to(junk, target).unwrap();
    }
    stranger.send_to(packet(1), target).unwrap();
    for number in [0, 2, 2] {
        sender.send_to(packet(number), target).unwrap();
    }
    control.write_all(&[3u64.to_be_bytes(), 0u64.to_be_bytes()].concat()).unwrap();
    let PacketCounts { received_pkts, lost_pkts, duplicated_pkts, .. } =
        read_received(&control).unwrap().packets;
    assert_eq!((received_pkts, lost_pkts, duplicated_pkts), (2, 1, Some(1)));
}

#[test]
fn a_sender_that_is_gone_or_talks_nonsense_ends_the_receiver() {
    for (transport, said) in [("udp", &[][..]), ("udp", &[0; 15]), ("tcp", &[0xff; 24])] {
        let side = side(transport, three());
        let (host, destination) = listening(&side);
        let (control, _) = Connection::shown(&host, &side, destination).unwrap();
        if transport == "udp" {
            let mut port = [0; 2];
            control.read_exact(&mut port).unwrap();
            let target = SocketAddr::new(ADDRESS, u16::from_be_bytes(port));
            Socket::bind(&host, ADDRESS).unwrap().send_to(&side.cookie.0, target).unwrap();
            control.read_exact(&mut [0]).unwrap();
        }
        control.write_all(said).unwrap();
        control.finish();
        assert_eq!(control.read(&mut [0]).unwrap(), 0, "{transport}");
    }
}
