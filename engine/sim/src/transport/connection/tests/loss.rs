//! Tests of losses and their repair.

use super::*;

const DELAY: Time = Time::from_ms(10);

/// Drops the first transmissions of those data packets, counted from 0.
fn drops(numbers: &'static [u64]) -> Judge {
    let mut highest = 0;
    let mut count = 0;
    Box::new(move |packet| {
        if packet.payload_bytes == 0 || packet.sequence < highest {
            return Fate::Pass;
        }
        highest = packet.sequence + 1;
        count += 1;
        if numbers.contains(&(count - 1)) { Fate::Drop } else { Fate::Pass }
    })
}

#[test]
fn a_loss_is_repaired_within_a_round_trip_and_halves_the_window() {
    let stack = stack("reno");
    let mut trial =
        Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), drops(&[300])).transfer(3_000_000);
    trial.run_to_end();
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.retransmissions_pkts, statistics.timeouts), (1, 0));
    let first = trial.data().nth(300).unwrap();
    let again = trial.data().filter(|(_, packet)| packet.sequence == first.1.sequence).nth(1).unwrap();
    let after = again.0.since(first.0);
    assert!(after > Time::from_ms(20) && after < Time::from_ms(40), "{after:?}");
    assert!(statistics.ssthresh_pkts < 200, "{}", statistics.ssthresh_pkts);
}

#[test]
fn many_losses_in_a_window_are_repaired_without_a_timeout() {
    static SCATTERED: [u64; 30] = [
        300, 302, 304, 305, 306, 310, 311, 312, 313, 314, 320, 322, 323, 325, 327, 330, 331, 332, 333, 334,
        335, 336, 337, 340, 341, 342, 350, 351, 352, 360,
    ];
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), drops(&SCATTERED))
        .transfer(3_000_000);
    trial.run_to_end();
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.retransmissions_pkts, statistics.timeouts), (30, 0));
}

#[test]
fn the_window_is_reduced_in_proportion_to_what_arrives() {
    // RFC 6937: about one segment is sent for each two that arrive, so the flow never pauses.
    let stack = stack("reno");
    let mut trial =
        Trial::new(&settings(&stack), both_directions(50_000_000, Time::from_ms(20)), drops(&[400]));
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(1500));
    let first = trial.data().nth(400).unwrap().1.sequence;
    let start = trial.data().filter(|(_, packet)| packet.sequence == first).nth(1).unwrap().0;
    let times: Vec<Time> = trial.data().map(|(at, _)| *at).filter(|at| *at >= start).collect();
    let in_recovery: Vec<Time> = times.into_iter().filter(|at| *at < start + Time::from_ms(40)).collect();
    let widest = in_recovery.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(widest < Time::from_ms(4), "{widest:?}");
    assert!(in_recovery.len() > 50, "{}", in_recovery.len());
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), drops(&[69]));
    trial.to_write[0] = 70 * 1448;
    trial.run(Time::from_ms(2000));
    assert_eq!(trial.readable[1], 70 * 1448);
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.retransmissions_pkts, statistics.timeouts), (1, 0));
    let last = trial.data().last().unwrap().1.sequence;
    let times: Vec<Time> = trial.data().filter(|(_, packet)| packet.sequence == last).map(|x| x.0).collect();
    let after = times[1].since(times[0]);
    // The repair takes two round trips and the smallest timeout, because only one segment is in flight.
    assert!(after > Time::from_ms(60) && after < Time::from_ms(300), "{after:?}");
}

#[test]
fn timeouts_double() {
    let stack = stack("reno");
    let judge: Judge = Box::new(|packet| if packet.payload_bytes > 0 { Fate::Drop } else { Fate::Pass });
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), judge);
    trial.to_write[0] = 1000;
    trial.run(Time::from_ms(1_500_000));
    let times: Vec<u64> = trial.data().map(|(at, _)| at.0 / 1_000_000_000).collect();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A probe comes first; from the first timeout on (220 ms: the round trip and the smallest variation) they
    // double. Each fires at a tick of the kernel's wheel: up to an eighth and a tick later.
    for (number, &gap) in gaps.iter().enumerate().skip(1) {
        let timeout = (220 << (number - 1)).min(120_000);
        assert!(gap >= timeout && gap <= timeout * 9 / 8 + 2, "{gaps:?}");
    }
    let failed = trial.told_at(|notice| *notice == Notice::Failed { connection: 7, side: 0 }).unwrap();
    assert!(failed > Time::from_ms(800_000) && failed < Time::from_ms(1_100_000), "{failed:?}");
}

#[test]
fn the_least_timeout_is_the_stacks() {
    let mut times = Vec::new();
    for minimum in [None, Some(nettrial_scenario::Duration(5_000_000))] {
        let stack = Stack { minimum_rto: minimum, sack: false, ..stack("reno") };
        let mut trial =
            Trial::new(&settings(&stack), both_directions(100_000_000, Time::from_us(100)), drops(&[9]));
        trial.to_write[0] = 10 * 1448;
        trial.run(Time::from_ms(1000));
        assert_eq!(trial.connection.statistics(0).timeouts, 1);
        assert_eq!(trial.readable[1], 10 * 1448);
        times.push(trial.world.notices.last().unwrap().0);
    }
    assert!(times[0] > Time::from_ms(200) && times[1] < Time::from_ms(10), "{times:?}");
}

#[test]
fn without_sack_three_duplicates_repair_a_loss() {
    let stack = Stack { sack: false, ..stack("reno") };
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), drops(&[300, 310]))
        .transfer(3_000_000);
    trial.run_to_end();
    let statistics = trial.connection.statistics(0);
    assert_eq!((statistics.retransmissions_pkts, statistics.timeouts), (2, 0));
    assert!(trial.world.sent.iter().all(|(_, packet)| packet.sack.as_slice().is_empty()));
}

#[test]
fn reordering_within_the_window_of_rack_repeats_nothing_once_it_is_known() {
    // Every 50th packet arrives 2 ms late, a tenth of the round trip; RACK tolerates a quarter.
    let mut count = 0;
    let judge: Judge = Box::new(move |packet| {
        count += u64::from(packet.payload_bytes > 0);
        let is_late = packet.payload_bytes > 0 && count % 50 == 0;
        if is_late { Fate::Late(Time::from_ms(2)) } else { Fate::Pass }
    });
    let stack = stack("reno");
    let mut trial =
        Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), judge).transfer(10_000_000);
    trial.run_to_end();
    let statistics = trial.connection.statistics(0);
    assert!(statistics.retransmissions_pkts <= 3, "{}", statistics.retransmissions_pkts);
}

#[test]
fn a_spurious_recovery_is_undone() {
    // One packet arrives so late that it is retransmitted before it arrives.
    let mut count = 0;
    let judge: Judge = Box::new(move |packet| {
        count += u64::from(packet.payload_bytes > 0);
        let is_late = packet.payload_bytes > 0 && count == 1500;
        if is_late { Fate::Late(Time::from_ms(15)) } else { Fate::Pass }
    });
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), judge);
    trial.to_write[0] = 12_000_000;
    trial.run(Time::from_ms(3000));
    let statistics = trial.connection.statistics(0);
    assert_eq!(statistics.retransmissions_pkts, 1);
    assert_eq!(statistics.ssthresh_pkts, u32::MAX, "the threshold is what it was");
}

#[test]
fn a_local_drop_is_no_loss() {
    let stack = stack("reno");
    let mut pipes = both_directions(100_000_000, Time::from_ms(50));
    pipes[0].queue_bytes = 6_000;
    let mut trial = Trial::new(&settings(&stack), pipes, pass()).transfer(5_000_000);
    trial.run_to_end();
    assert_eq!(trial.readable[1], 5_000_000);
    assert!(trial.world.pipes[0].drops > 0);
    assert_eq!(trial.connection.statistics(0).retransmissions_pkts, 0);
}

#[test]
fn reno_makes_its_sawtooth_at_a_bottleneck() {
    // A queue of one bandwidth-delay product keeps the link busy.
    let stack = stack("reno");
    let pipes = vec![bottleneck(50_000_000, DELAY, 125_000), pipe(50_000_000, DELAY)];
    let mut trial = Trial::new(&settings(&stack), pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(3000));
    let before = trial.readable[1];
    trial.run(Time::from_ms(13_000));
    let goodput = (trial.readable[1] - before) as f64 * 8.0 / 10.0;
    assert!(goodput > 0.985 * 5e7 * 1448.0 / 1538.0, "{goodput}");
    let statistics = trial.connection.statistics(0);
    assert_eq!(statistics.timeouts, 0);
    assert!(statistics.ssthresh_pkts > 70 && statistics.ssthresh_pkts < 95, "{}", statistics.ssthresh_pkts);
}

/// Returns pipes of which the bottleneck is not in the sender's own interface, so that nothing but its window keeps
/// the sender from retransmitting.
fn over_bottleneck() -> Vec<Pipe> {
    vec![bottleneck(100_000_000, DELAY, 1_000_000), pipe(1_000_000_000, DELAY)]
}

/// An acknowledgment that covers one segment and reports the first hole says nothing about reordering: what it
/// covers lies below the hole, and was delivered before it (tcp_ack's prior_fack). One of two successive segments
/// arrives second of a pair, after which the receiver has acknowledged everything, and the other first.
#[test]
fn a_first_hole_is_no_reordering_whatever_its_acknowledgment_covers() {
    for lost in [&[310_u64], &[311]] {
        let stack = stack("reno");
        let mut trial = Trial::new(&settings(&stack), over_bottleneck(), drops(lost)).transfer(3_000_000);
        trial.run_to_end();
        let sequence = trial.data().nth(lost[0] as usize).unwrap().1.sequence;
        let again = trial.data().filter(|(_, packet)| packet.sequence == sequence).nth(1).unwrap().0;
        let reports = trial.world.arrived.iter().filter(|(_, packet)| {
            packet.to.side == 0 && packet.ack == sequence && !packet.sack.as_slice().is_empty()
        });
        assert_eq!(
            reports.map(|report| report.0).nth(2),
            Some(again),
            "at the third report of segment {lost:?}"
        );
    }
}

/// Acknowledgments that are lost let one acknowledgment report two new holes, the higher one first. All data below them was
/// acknowledged before: otherwise this acknowledgment would cover a segment, whose age would hide the hole until the next one
/// (tcp_rack_advance sets rtt_us by the last segment delivered, which is the covered one in tcp_clean_rtx_queue).
#[test]
fn two_holes_in_one_acknowledgment_are_no_reordering() {
    let stack = stack("reno");
    let mut reports = 0;
    let mut lost = drops(&[301, 304]);
    let judge: Judge = Box::new(move |packet| {
        reports += u64::from(packet.to.side == 0 && !packet.sack.as_slice().is_empty());
        if packet.to.side == 0 && (1..=3).contains(&reports) { Fate::Drop } else { lost(packet) }
    });
    let mut trial = Trial::new(&settings(&stack), over_bottleneck(), judge).transfer(3_000_000);
    trial.run_to_end();
    let first = trial.world.arrived.iter().find(|(_, packet)| packet.sack.as_slice().len() == 2).unwrap();
    let sequence = trial.data().nth(301).unwrap().1.sequence;
    let again = trial.data().filter(|(_, packet)| packet.sequence == sequence).nth(1).unwrap().0;
    assert_eq!(again, first.0, "three segments above the hole are reported at once");
}

/// Each duplicate acknowledgment is a delivery (tcp_add_reno_sack), in proportion to which the window shrinks to
/// the threshold (RFC 6937) while the recovery lasts.
#[test]
fn without_sack_duplicates_reduce_the_window_during_recovery() {
    let stack = Stack { sack: false, ..stack("reno") };
    let mut trial = Trial::new(&settings(&stack), over_bottleneck(), drops(&[40])).transfer(3_000_000);
    let mut in_recovery = Vec::new();
    let acked = |trial: &Trial| trial.connection.statistics(0).bytes_acked;
    while in_recovery.is_empty() || acked(&trial) == 40 * 1448 {
        let next = trial.world.events.first_key_value().unwrap().0.0;
        trial.run(next);
        let statistics = trial.connection.statistics(0);
        if statistics.retransmissions_pkts == 1 && acked(&trial) == 40 * 1448 {
            in_recovery.push(statistics);
        }
    }
    let last = in_recovery.last().unwrap();
    assert_eq!(last.cwnd_pkts, last.ssthresh_pkts, "after the last duplicate");
    assert!(in_recovery[0].cwnd_pkts > last.cwnd_pkts, "{in_recovery:?}");
}

/// Returns the times at which data packets of those numbers, counted from 0, arrived, and the acknowledgments with SACK.
fn reports(lost: &'static [u64], numbers: &[usize], stack: &Stack) -> (Vec<Time>, Vec<(Time, Packet)>) {
    let mut trial = Trial::new(&settings(stack), over_bottleneck(), drops(lost)).transfer(3_000_000);
    trial.run_to_end();
    let arrived = |number: &usize| {
        let sequence = trial.data().nth(*number).unwrap().1.sequence;
        let mut arrivals = trial.world.arrived.iter();
        arrivals.find(|(_, packet)| packet.to.side == 1 && packet.sequence == sequence).unwrap().0
    };
    let reports = trial.acks().filter(|(_, packet)| !packet.sack.as_slice().is_empty());
    (numbers.iter().map(arrived).collect(), reports.copied().collect())
}

/// With a round-trip time of more than 20 ms, they are held back for 1 ms and the slack of 0.1 ms (__tcp_ack_snd_check).
#[test]
fn acknowledgments_after_the_third_of_a_hole_are_held_back() {
    let stack = stack("reno");
    let (arrived, reports) = reports(&[300], &[301, 302, 303, 304], &stack);
    let times: Vec<Time> = reports.iter().take(4).map(|report| report.0).collect();
    assert_eq!(times[..3], arrived[..3]);
    assert_eq!(times[3], arrived[3] + Time::from_us(1100));
}

/// The list of blocks has two already when data above the third hole arrives: what is held back leaves before it
/// (tcp_sack_new_ofo_skb).
#[test]
fn what_is_held_back_leaves_before_a_third_block() {
    let stack = stack("reno");
    let (arrived, reports) = reports(&[300, 305, 310], &[311], &stack);
    let (at, packet) = reports[3];
    assert_eq!((at, packet.sack.as_slice().len()), (arrived[0], 2));
}
