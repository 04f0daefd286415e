//! Tests of the search for the path MTU. The expected sizes and times follow from Linux's source by hand.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

const DELAY: Time = Time::from_ms(1);
/// The headers of IPv4 and TCP with timestamps.
const HEADERS: u32 = 52;

/// Drops packets that are larger than the path MTU, which may change.
fn black_hole(mtu: &Rc<Cell<u32>>) -> Judge {
    let mtu = Rc::clone(mtu);
    Box::new(move |packet| if packet.ip_bytes > mtu.get() { Fate::Drop } else { Fate::Pass })
}

/// Returns the trial of a sender that takes the path MTU for 9000 bytes.
fn trial(stack: &Stack, rate_bps: u64, judge: Judge) -> Trial {
    let mut settings = settings(stack);
    settings.subflows[0].path_mtu_bytes = [9000; 2];
    Trial::new(&settings, both_directions(rate_bps, DELAY), judge)
}

fn probing_stack() -> Stack {
    Stack { mtu_probing: true, ..stack("reno") }
}

/// Returns the sizes of the probes: new segments that are larger than the one before and the one after.
fn probes(trial: &Trial) -> Vec<u32> {
    let mut end = 0;
    let mut sizes = Vec::new();
    for (_, packet) in trial.data() {
        if packet.sequence >= end {
            end = packet.sequence + u64::from(packet.payload_bytes);
            sizes.push(packet.payload_bytes);
        }
    }
    let is_probe = |three: &&[u32]| three[0] < three[1] && three[1] > three[2];
    sizes.windows(3).filter(is_probe).map(|three| three[1]).collect()
}

/// The search starts between packets of 1024 + 52 and of 9000 bytes: (9000 + 1076) / 2 = 5038 and 4986 of payload, which
/// does not arrive; (5037 + 1076) / 2 = 3056, 2065 and 1570 do not either; (1569 + 1076) / 2 = 1322 does, and so on, until
/// 1498 is known to arrive, 1502 is known to be lost, and less than 8 bytes are between 1498 and 1501.
#[test]
fn the_search_halves_the_sizes_between_those_that_arrive_and_those_that_do_not() {
    let stack = probing_stack();
    let mut trial = trial(&stack, 1_000_000_000, black_hole(&Rc::new(Cell::new(1500)))).transfer(20_000_000);
    trial.run_to_end();
    assert_eq!(trial.readable[1], 20_000_000);
    let packets = [5038, 3056, 2065, 1570, 1322, 1445, 1507, 1475, 1490, 1498, 1502];
    assert_eq!(probes(&trial), packets.map(|bytes| bytes - HEADERS));
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.mss_bytes, statistics.timeouts), (1498 - HEADERS, 5));
}

/// The kernel compares the time since the first retransmission with (2 << 3) - 1 times 200 ms at each timeout.
#[test]
fn a_black_hole_is_suspected_at_the_first_timeout_three_seconds_after_the_first_retransmission() {
    let stack = probing_stack();
    let mut trial = trial(&stack, 1_000_000_000, black_hole(&Rc::new(Cell::new(1500)))).transfer(1_000_000);
    trial.run_to_end();
    let first: Vec<_> = trial.data().filter(|(_, packet)| packet.sequence == 1).collect();
    let sizes: Vec<u32> = first.iter().map(|(_, packet)| packet.payload_bytes).collect();
    assert_eq!(sizes, [8948, 8948, 8948, 8948, 8948, 1024]);
    let since = |number: usize| first[number].0.since(first[1].0);
    assert!(since(4) < Time::from_ms(3000) && since(5) >= Time::from_ms(3000), "{:?}", [since(4), since(5)]);
}

#[test]
fn without_probing_no_full_segment_ever_arrives() {
    let stack = stack("reno");
    let mut trial = trial(&stack, 1_000_000_000, black_hole(&Rc::new(Cell::new(1500)))).transfer(1_000_000);
    trial.run(Time::from_ms(60_000));
    assert_eq!(trial.readable[1], 0);
    assert!(trial.data().all(|(_, packet)| packet.payload_bytes == 8948));
}

/// Each further timeout halves the size down to the floor of 48 bytes.
#[test]
fn segments_become_smaller_until_they_arrive() {
    let stack = probing_stack();
    for (mtu, sizes) in [(600, &[1024, 512][..]), (90, &[1024, 512, 256, 128, 64, 48, 48])] {
        let mut trial = trial(&stack, 1_000_000_000, black_hole(&Rc::new(Cell::new(mtu))));
        trial.to_write[0] = 100_000;
        trial.run(Time::from_ms(500_000));
        let first = trial.data().filter(|(_, packet)| packet.sequence == 1);
        let small: Vec<u32> =
            first.map(|(_, packet)| packet.payload_bytes).filter(|&bytes| bytes < 8948).collect();
        assert_eq!(&small[..sizes.len()], sizes, "{mtu}");
        assert_eq!(trial.readable[1] > 0, mtu == 600, "{mtu}");
    }
}

/// Runs a search and hands the figures before and after each event to `look`.
fn follow(mut look: impl FnMut(crate::Statistics, crate::Statistics)) {
    let stack = probing_stack();
    let mut trial = trial(&stack, 1_000_000_000, black_hole(&Rc::new(Cell::new(1500)))).transfer(20_000_000);
    while !trial.connection.is_over() {
        let before = trial.connection.statistics(0);
        let next = trial.world.events.first_key_value().unwrap().0.0;
        trial.run(next);
        look(before, trial.connection.statistics(0));
    }
}

/// An acknowledged probe changes the unit of the window, whose bytes stay the same: W × old packet / new packet, and what
/// the acknowledgment adds. The threshold is at least three quarters of it (tcp_current_ssthresh).
#[test]
fn a_probe_that_arrives_makes_segments_larger_and_the_window_as_many_fewer() {
    let mut sizes = Vec::new();
    follow(|before, after| {
        if after.mss_bytes > before.mss_bytes {
            let scaled = before.cwnd_pkts * (before.mss_bytes + HEADERS) / (after.mss_bytes + HEADERS);
            assert!((scaled..=scaled + 1).contains(&after.cwnd_pkts), "{before:?} {after:?}");
            assert!(after.ssthresh_pkts >= scaled * 3 / 4);
            sizes.push(after.mss_bytes + HEADERS);
        }
    });
    assert_eq!(sizes, [1322, 1445, 1475, 1490, 1498]);
}

#[test]
fn a_lost_probe_is_no_sign_of_congestion() {
    let mut repairs = 0;
    follow(|before, after| {
        // The seven segments of the first flight are repaired before the search.
        if before.bytes_acked >= 7 * 8948 && after.retransmissions_pkts > before.retransmissions_pkts {
            assert_eq!(after.timeouts, 5);
            assert!(after.cwnd_pkts >= before.cwnd_pkts, "{before:?} {after:?}");
            assert!(after.ssthresh_pkts >= before.cwnd_pkts * 3 / 4, "{before:?} {after:?}");
            repairs += 1;
        }
    });
    assert!(repairs >= 6, "six probes are lost, and there were {repairs} repairs");
}

/// A retransmission makes the result of a probe doubtful (__tcp_retransmit_skb): the next one has the same size.
#[test]
fn a_probe_that_is_lost_with_all_others_is_repeated() {
    let stack = probing_stack();
    let gone = Rc::new(Cell::new(Time::NEVER));
    let mut silent = Some(Rc::clone(&gone));
    let judge: Judge = Box::new(move |packet| {
        // The first probe and all that follows for a second.
        if packet.payload_bytes == 4986 && silent.take().is_some() {
            gone.set(packet.timestamp);
        }
        let is_gone =
            gone.get() <= packet.timestamp && packet.timestamp.since(gone.get()) < Time::from_ms(1000);
        let is_lost = is_gone && packet.to.side == 1;
        if packet.ip_bytes > 5100 || is_lost { Fate::Drop } else { Fate::Pass }
    });
    let mut trial = trial(&stack, 1_000_000_000, judge).transfer(20_000_000);
    trial.run_to_end();
    let found = probes(&trial);
    assert_eq!(found[..2], [4986, 4986], "{found:?}");
    // The second one arrives, and 5038 bytes are less than the path's 5100.
    assert!((5038..=5100).contains(&(trial.connection.statistics(0).mss_bytes + HEADERS)));
}

/// The search begins again ten minutes after it began (net.ipv4.tcp_probe_interval).
#[test]
fn a_path_that_has_become_larger_is_found_after_ten_minutes() {
    let stack = probing_stack();
    let mtu = Rc::new(Cell::new(1500));
    let mut trial = trial(&stack, 1_000_000_000, black_hole(&mtu));
    for (until, packets) in [(100_000, 1498..=1498), (550_000, 1498..=1498), (700_000, 8990..=9000)] {
        trial.to_write[0] = 10_000_000;
        trial.write(0);
        trial.run(Time::from_ms(until));
        assert!(packets.contains(&(trial.connection.statistics(0).mss_bytes + HEADERS)), "{until}");
        mtu.set(9000);
        // The next write is the end of the pause.
        trial.run(Time::from_ms(until + 60_000));
    }
}
