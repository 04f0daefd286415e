//! Tests of the times at which acknowledgments are sent.

use super::*;

const DELAY: Time = Time::from_ms(10);

#[test]
fn first_each_segment_then_every_second_is_acknowledged() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(10_000_000, DELAY), pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(3000));
    let acks: Vec<u64> = trial.acks().map(|(_, packet)| packet.ack).collect();
    let steps: Vec<u64> = acks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps[..14].iter().all(|&step| step <= 1448), "{steps:?}");
    let late = &steps[steps.len() / 2..];
    let pairs = late.iter().filter(|&&step| step == 2896).count();
    assert!(pairs * 10 > late.len() * 9, "{pairs} of {}", late.len());
}

#[test]
fn a_full_segment_that_ends_a_write_is_acknowledged_when_it_is_read() {
    // A window that can't grow: while it does, each segment is acknowledged at once.
    let stack = stack("reno");
    let mut settings = settings(&stack);
    settings.socket.window = Some(Size(32_768));
    let mut trial = Trial::new(&settings, both_directions(100_000_000, DELAY), pass());
    trial.to_write[0] = 200_000;
    trial.run(Time::from_ms(900));
    let count = trial.acks().count();
    trial.to_write[0] = 1448;
    trial.write(0);
    trial.run(Time::from_ms(1200));
    let arrived = trial.world.arrived.iter().rev().find(|(_, packet)| packet.payload_bytes > 0).unwrap().0;
    // The first acknowledgments after such a pause are quick again.
    let (left, _) = trial.acks().nth(count).unwrap();
    assert_eq!(*left, arrived);
    for _ in 0..20 {
        let now = trial.world.now;
        trial.to_write[0] = 1448;
        trial.write(0);
        trial.run(now + Time::from_ms(70));
    }
    let arrived = trial.world.arrived.iter().rev().find(|(_, packet)| packet.payload_bytes > 0).unwrap().0;
    let (left, _) = *trial.acks().last().unwrap();
    // Its PSH tells that no more may follow soon (tcp_measure_rcv_mss, Linux 6.7 and later).
    assert_eq!(left, arrived);
}

#[test]
fn a_small_segment_is_acknowledged_when_it_is_read() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), pass());
    trial.to_write[0] = 300_000;
    trial.run(Time::from_ms(500));
    trial.to_write[0] = 100;
    trial.write(0);
    trial.run(Time::from_ms(1000));
    let arrived = trial.world.arrived.iter().rev().find(|(_, packet)| packet.payload_bytes > 0).unwrap().0;
    assert_eq!(trial.acks().last().unwrap().0, arrived);
}

#[test]
fn an_answer_carries_the_acknowledgment() {
    let stack = stack("reno");
    let mut trial = Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), pass());
    trial.run(Time::from_ms(100));
    for _ in 0..30 {
        trial.connection.write(0, 100, &mut trial.world);
        let now = trial.world.now;
        trial.run(now + Time::from_ms(12));
        trial.connection.write(1, 100, &mut trial.world);
        trial.run(now + Time::from_ms(24));
    }
    let bare = trial.acks().count();
    assert!(bare <= 3, "{bare} acknowledgments without data for 30 answers");
}

#[test]
fn marks_are_echoed_until_the_sender_has_reduced_its_window() {
    let stack = Stack { ecn: true, ..stack("reno") };
    let mut marked = 0;
    let judge: Judge = Box::new(move |packet| {
        marked += u32::from(packet.payload_bytes > 0);
        if packet.payload_bytes > 0 && marked == 500 { Fate::Mark } else { Fate::Pass }
    });
    let mut trial =
        Trial::new(&settings(&stack), both_directions(100_000_000, DELAY), judge).transfer(2_000_000);
    trial.run_to_end();
    let syn = trial.world.sent[0].1.flags;
    assert!(syn.has(Flags::ECE.with(Flags::CWR)));
    let echoes = trial.acks().filter(|(_, packet)| packet.flags.has(Flags::ECE)).count();
    assert!(echoes > 10, "for a round trip: {echoes}");
    let told = trial.data().filter(|(_, packet)| packet.flags.has(Flags::CWR)).count();
    assert_eq!(told, 1);
    let statistics = trial.connection.statistics(0);
    assert_eq!(statistics.retransmissions_pkts, 0);
    assert!(statistics.marks_pkts > echoes as u64, "an acknowledgment stands for one packet or two");
    assert!(statistics.ssthresh_pkts < u32::MAX);
}

/// Each segment that lets the window grow is acknowledged at once (tcp_grow_window sets icsk_ack.quick).
#[test]
fn while_the_window_grows_each_segment_is_acknowledged() {
    let acks = |window: Option<u64>| {
        let stack = stack("reno");
        let mut settings = settings(&stack);
        settings.socket.window = window.map(Size);
        let mut trial =
            Trial::new(&settings, both_directions(10_000_000, DELAY), pass()).transfer(1448 * 200);
        trial.run_to_end();
        trial.acks().count()
    };
    // 16 at the beginning, and then every second of 184 segments.
    let fixed = acks(Some(65_536));
    assert!((106..=116).contains(&fixed), "{fixed}");
    let growing = acks(None);
    assert!(growing > fixed + 15, "{growing}, {fixed} with a fixed window");
}
