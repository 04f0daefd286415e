//! Tests of the handshake, options, transfers, buffers, and the close.

use super::*;

const DELAY: Time = Time::from_ms(10);

#[test]
fn a_connection_opens_in_one_and_a_half_round_trips() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(1_000_000_000, DELAY), pass());
    trial.run(Time::from_ms(100));
    let sent: Vec<_> = trial.world.sent.iter().map(|(_, packet)| (packet.flags, packet.ip_bytes)).collect();
    assert_eq!(sent, [(Flags::SYN, 60), (Flags::SYN.with(Flags::ACK), 60), (Flags::ACK, 52)]);
    let connected =
        |side| trial.told_at(|notice| *notice == Notice::Connected { connection: 7, side }).unwrap();
    assert!(connected(0) > Time::from_ms(20) && connected(0) < Time::from_us(20_010));
    assert!(connected(1) > Time::from_ms(30) && connected(1) < Time::from_us(30_010));
    assert_eq!(trial.connection.statistics(0).srtt_ns.unwrap() / 1000, 20_001);
}

#[test]
fn segments_have_what_mtu_and_options_leave() {
    for (timestamps, mtu, ip, announced, mss) in [
        (true, 1500, IpVersion::V4, None, 1448),
        (false, 1500, IpVersion::V4, None, 1460),
        (true, 1500, IpVersion::V6, None, 1428),
        (true, 9000, IpVersion::V4, None, 8948),
        (true, 1500, IpVersion::V4, Some(Size(1000)), 988),
    ] {
        let stack = Stack { timestamps, ..stack("reno") };
        let mut settings = settings(&stack);
        settings.ip = ip;
        settings.socket.mss = announced;
        settings.subflows[0].path_mtu_bytes = [mtu, 9000];
        let mut trial =
            Trial::new(&settings, both_directions(1_000_000_000, DELAY), pass()).transfer(100_000);
        trial.run_to_end();
        assert_eq!(trial.connection.statistics(0).mss_bytes, mss);
        let largest = trial.data().map(|(_, packet)| packet).max_by_key(|packet| packet.ip_bytes).unwrap();
        assert_eq!(largest.payload_bytes, mss);
        assert!(u64::from(largest.ip_bytes) <= mtu);
    }
}

#[test]
fn a_transfer_arrives_whole_and_both_sides_close() {
    let stack = stack("reno");
    let mut trial =
        Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), pass()).transfer(3_000_000);
    trial.run_to_end();
    assert_eq!(trial.readable, [0, 3_000_000]);
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.bytes_acked, statistics.retransmissions_pkts), (3_000_000, 0));
    for side in [0, 1] {
        assert!(trial.told_at(|notice| *notice == Notice::Closed { connection: 7, side }).is_some());
    }
    let segments = 3_000_000_u64.div_ceil(1448);
    // Some writes end within a segment, because the buffer was full.
    assert!((segments..segments + 200).contains(&(trial.data().count() as u64)));
}

#[test]
fn the_first_flight_is_ten_segments_and_the_window_doubles() {
    let stack = Stack {
        send_buffer: Buffer { initial: Size(1 << 20), ..stack("reno").send_buffer },
        ..stack("reno")
    };
    let mut trial =
        Trial::new(&settings(&stack), both_directions(10_000_000_000, DELAY), pass()).transfer(2_000_000);
    trial.run(Time::from_ms(79));
    let within =
        |from, to| trial.data().filter(|(at, _)| (from..to).contains(&(at.0 / 1_000_000_000))).count();
    // The last of the 30 segments of two flights is acknowledged later, when no further one arrives.
    assert_eq!((within(20, 40), within(40, 60), within(60, 80)), (10, 20, 38));
}

#[test]
fn one_flow_fills_a_link_at_mtu_efficiency() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, Time::from_ms(5)), pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(1000));
    let before = trial.readable[1];
    trial.run(Time::from_ms(2000));
    let goodput = (trial.readable[1] - before) as f64 * 8.0;
    let expected = 1e8 * 1448.0 / 1538.0;
    assert!((goodput / expected - 1.0).abs() < 0.005, "{goodput} {expected}");
}

#[test]
fn the_receive_window_grows_to_the_bandwidth_delay_product() {
    // 1 Gbit/s and 20 ms: 2.4 MB of payload are in flight, with a buffer that begins with room for 64 kB.
    // The send buffer has room for it, too: each segment counts 2344 bytes there.
    let send_buffer = Buffer { maximum: Size(16 << 20), ..stack("reno").send_buffer };
    let stack = Stack { send_buffer, ..stack("reno") };
    let mut trial = Trial::new(&settings(&stack), both_directions(1_000_000_000, DELAY), pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(600));
    let before = trial.readable[1];
    trial.run(Time::from_ms(900));
    let goodput = (trial.readable[1] - before) as f64 * 8.0 / 0.3;
    assert!(goodput > 0.99 * 1e9 * 1448.0 / 1538.0, "{goodput}");
    let largest = trial.acks().map(|(_, packet)| packet.window_bytes).max().unwrap();
    // 1448 bytes of payload occupy 2344 of the 6 MiB: 158 of 256 parts.
    assert!(largest <= (6 << 20) * 158 / 256 + 128, "{largest}");
}

#[test]
fn the_receive_window_grows_with_large_segments_too() {
    // Seven segments fit into the first window.
    let stack = stack("reno");
    let mut settings = settings(&stack);
    settings.subflows[0].path_mtu_bytes = [9000; 2];
    let pipes =
        vec![bottleneck(50_000_000, Time::from_ms(4), 540_000), pipe(1_000_000_000, Time::from_ms(4))];
    let mut trial = Trial::new(&settings, pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(2000));
    let goodput = trial.readable[1] as f64 * 8.0 / 2.0;
    assert!(goodput > 0.98 * 5e7 * 8948.0 / 9038.0, "{goodput}");
}

#[test]
fn without_window_scaling_a_window_a_round_trip_is_sent() {
    let stack = Stack { window_scaling: false, ..stack("reno") };
    let mut trial = Trial::new(&settings(&stack), both_directions(1_000_000_000, DELAY), pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(500));
    let before = trial.readable[1];
    trial.run(Time::from_ms(1500));
    let windows = (trial.readable[1] - before) as f64 / 65_535.0;
    assert!((44.0..51.0).contains(&windows), "{windows}");
    assert!(trial.world.sent.iter().all(|(_, packet)| packet.window_bytes <= 65_535));
}

#[test]
fn a_small_receive_buffer_bounds_what_is_in_flight() {
    let mut stack = stack("reno");
    stack.receive_buffer = Buffer { minimum: Size(4096), initial: Size(65_536), maximum: Size(65_536) };
    let mut trial =
        Trial::new(&settings(&stack), both_directions(1_000_000_000, DELAY), pass()).transfer(1_000_000);
    trial.run_to_end();
    let took = trial.world.now.0 as f64 / 20e9;
    // 1 MB in windows of 39 kB: 1448 bytes of payload occupy 2408 of the 64 KiB.
    assert!((25.0..31.0).contains(&took), "{took} round trips");
}

#[test]
fn a_window_of_the_socket_bounds_what_is_announced_and_in_flight() {
    const WINDOW: u64 = 40_000;
    let stack = stack("reno");
    let mut settings = settings(&stack);
    settings.socket.window = Some(Size(WINDOW));
    let mut trial = Trial::new(&settings, both_directions(1_000_000_000, DELAY), pass()).transfer(1_000_000);
    trial.run_to_end();
    assert!(trial.world.sent.iter().all(|(_, packet)| packet.window_bytes <= WINDOW));
    let took = trial.world.now.0 as f64 / 20e9;
    // 1 MB in windows of 27 segments of 1448 bytes, and the first rounds of slow start.
    assert!((25.0..31.0).contains(&took), "{took} round trips");
}

#[test]
fn a_socket_has_little_in_its_own_interface() {
    // The limit is a millisecond at the rate that Linux assumes, which is up to four times that of the link: twice
    // the rate of the window, which grows to twice the data in flight.
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(2000));
    let queued = trial.world.pipes[0].free_at.since(trial.world.now);
    assert!(queued < Time::from_ms(4), "{queued:?}");
    assert!(trial.connection.statistics(0).srtt_ns.unwrap() < 25_000_000);
}

#[test]
fn idling_restarts_slow_start() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), pass());
    trial.to_write[0] = 1_000_000;
    trial.run(Time::from_ms(1000));
    let before = trial.connection.statistics(0).cwnd_pkts;
    assert!(before > 40);
    trial.run(Time::from_ms(20_000));
    trial.to_write[0] = 1_000_000;
    trial.write(0);
    assert_eq!(trial.connection.statistics(0).cwnd_pkts, 10);
    assert!(trial.connection.statistics(0).ssthresh_pkts >= before / 4 * 3);
}

#[test]
fn a_syn_that_is_lost_is_sent_again_after_one_two_four_seconds() {
    let stack = stack("reno");
    let judge: Judge = Box::new(|packet| if packet.to.side == 1 { Fate::Drop } else { Fate::Pass });
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), judge);
    trial.run(Time::from_ms(200_000));
    let times: Vec<u64> = trial.world.sent.iter().map(|(at, _)| at.0 / 1_000_000_000_000).collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63]);
    assert!(trial.told_at(|notice| *notice == Notice::Failed { connection: 7, side: 0 }).is_some());
}
