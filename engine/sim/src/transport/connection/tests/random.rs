//! Tests that all data arrives once and in order, and that the connection ends, whatever the network does.

use super::*;
use proptest::prelude::*;

/// Returns random fates of packets with their own generator (xorshift); the arguments are percentages.
fn random(seed: u64, loss: u64, twice: u64, late: u64) -> Judge {
    let mut state = seed | 1;
    Box::new(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let roll = state % 100;
        if roll < loss {
            Fate::Drop
        } else if roll < loss + twice {
            Fate::Twice
        } else if roll < loss + twice + late {
            Fate::Late(Time::from_us(state >> 20 & 0x7fff))
        } else {
            Fate::Pass
        }
    })
}

fn with(settings: ConnectionSettings<'_>, tso: bool) -> ConnectionSettings<'_> {
    ConnectionSettings { offloads: [Offloads { tso, ..Offloads::default() }; 2], ..settings }
}

fn check(trial: &mut Trial, bytes: u64) {
    trial.run_to_end();
    assert_eq!(trial.readable, [0, bytes]);
    assert!(trial.told_at(|notice| matches!(notice, Notice::Closed { side: 1, .. })).is_some());
    assert_eq!(trial.connection.statistics(0).bytes_acked, bytes);
    let least = bytes / 1448;
    let sent = trial.world.sent.len() as u64;
    assert!(sent < 20 * least + 500, "{sent} packets for {least} segments");
    assert!(trial.world.wakes < 30 * least + 500, "{} wakes", trial.world.wakes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once(
        seed: u64, loss in 0_u64..15, twice in 0_u64..10, late in 0_u64..20,
        sack: bool, timestamps: bool, ecn: bool, tso: bool, bytes in 1_u64..300_000,
    ) {
        let stack = Stack { sack, timestamps, ecn, ..stack("reno") };
        let pipes = both_directions(20_000_000, Time::from_ms(5));
        let mut trial =
            Trial::new(&with(settings(&stack), tso), pipes, random(seed, loss, twice, late)).transfer(bytes);
        check(&mut trial, bytes);
    }

    #[test]
    fn everything_arrives_once_over_several_paths(
        seed: u64, loss in 0_u64..12, twice in 0_u64..10, late in 0_u64..20, bytes in 1_u64..300_000,
        subflows in 1_usize..5, scheduler in 0_usize..3, tso: bool,
    ) {
        let scheduler = [Scheduler::Linux, Scheduler::LowestRtt, Scheduler::RoundRobin][scheduler];
        let stack = Stack { scheduler, ..stack("reno") };
        let (settings, pipes) = mptcp::over(&stack, &vec![(10_000_000, Time::from_ms(5)); subflows]);
        let mut trial =
            Trial::new(&with(settings, tso), pipes, random(seed, loss, twice, late)).transfer(bytes);
        check(&mut trial, bytes);
    }
}

#[test]
fn the_same_happens_again() {
    let run = || {
        let stack = stack("reno");
        let judge = random(5, 3, 2, 5);
        let mut trial = Trial::new(&settings(&stack), both_directions(20_000_000, Time::from_ms(5)), judge)
            .transfer(500_000);
        trial.run_to_end();
        format!("{:?}", trial.world.sent)
    };
    assert_eq!(run(), run());
}
