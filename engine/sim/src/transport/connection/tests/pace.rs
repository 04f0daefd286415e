//! Tests of pacing, exact echoes of marks, spurious timeouts, and the memory of a connection.

use super::*;

const DELAY: Time = Time::from_ms(10);

#[test]
fn a_control_with_a_rate_sends_at_it() {
    let stack = stack("bbr");
    let pipes = vec![bottleneck(100_000_000, DELAY, 1_000_000), pipe(1_000_000_000, DELAY)];
    let mut trial = Trial::new(&settings(&stack), pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(3000));
    let from = trial.data().count();
    trial.run(Time::from_ms(4000));
    let times: Vec<Time> = trial.data().skip(from).map(|(at, _)| *at).collect();
    let gaps: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).0 / 1_000_000).collect();
    // 1538 bytes at 100 Mbit/s take 123 us; the gain varies from 0.75 to 1.25 of the rate.
    let even = gaps.iter().filter(|&&gap| (90..180).contains(&gap)).count();
    assert!(even * 100 > gaps.len() * 95, "{even} of {}", gaps.len());
    let goodput = trial.readable[1] as f64 * 8.0 / 4.0;
    assert!(goodput > 0.9 * 1e8 * 1448.0 / 1538.0, "{goodput}");
    // The queue stays short.
    assert!(trial.connection.statistics(0).srtt_ns.unwrap() < 30_000_000);
}

#[test]
fn dctcp_echoes_each_mark_and_reduces_by_their_share() {
    let stack = stack("dctcp");
    let mut count = 0;
    let judge: Judge = Box::new(move |packet| {
        count += u32::from(packet.payload_bytes > 0);
        if packet.payload_bytes > 0 && count % 20 == 0 { Fate::Mark } else { Fate::Pass }
    });
    let mut trial =
        Trial::new(&settings(&stack), both_directions(1_000_000_000, DELAY), judge).transfer(20_000_000);
    trial.run_to_end();
    let echoed: u64 = trial
        .world
        .sent
        .iter()
        .filter(|(_, packet)| packet.to.side == 0 && packet.payload_bytes == 0)
        .scan(1, |acked, (_, packet)| {
            let bytes = packet.ack.saturating_sub(*acked);
            *acked = packet.ack.max(*acked);
            Some(if packet.flags.has(Flags::ECE) { bytes } else { 0 })
        })
        .sum();
    let share = echoed as f64 / 20e6;
    assert!((0.045..0.055).contains(&share), "{share} of the data is told to be marked");
    assert_eq!(trial.connection.statistics(0).marks_pkts, echoed.div_ceil(1448));
    assert_eq!(trial.connection.statistics(0).retransmissions_pkts, 0);
    assert!(trial.connection.statistics(0).ssthresh_pkts < u32::MAX);
}

#[test]
fn a_timeout_that_was_none_is_undone() {
    // The path stops for 1.2 s and then delivers everything.
    for timestamps in [true, false] {
        let stack = Stack { timestamps, ..stack("reno") };
        let mut there = bottleneck(100_000_000, DELAY, 100_000_000);
        there.stops = Some((Time::from_ms(300), Time::from_ms(1500)));
        let mut trial = Trial::new(&settings(&stack), vec![there, pipe(100_000_000, DELAY)], pass());
        trial.to_write[0] = 12_000_000;
        trial.run(Time::from_ms(5000));
        let statistics = trial.connection.statistics(0);
        assert!(statistics.timeouts > 0);
        assert!(statistics.retransmissions_pkts <= 3, "{}", statistics.retransmissions_pkts);
        assert_eq!(statistics.ssthresh_pkts, u32::MAX, "timestamps {timestamps}");
        assert_eq!(trial.readable[1], 12_000_000);
    }
}

#[test]
fn an_idle_connection_takes_less_than_eight_kilobytes() {
    use crate::transport::connection::{Connection, Side};
    use crate::transport::tcp::Tcp;
    let control = 300;
    let flow = size_of::<Connection>() + 2 * (size_of::<Tcp>() + control);
    assert!(flow < 8000, "{flow}");
    let subflow = 2 * (size_of::<Tcp>() + control);
    assert!(subflow < 8000 && size_of::<Side>() < 2000, "{subflow}");
}
