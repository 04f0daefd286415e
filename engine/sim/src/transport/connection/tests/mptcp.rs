//! Tests of connections over several paths.

use super::*;

/// Returns a connection over disjoint paths with those rates and delays.
pub(super) fn over<'a>(stack: &'a Stack, paths: &[(u64, Time)]) -> (ConnectionSettings<'a>, Vec<Pipe>) {
    let mut settings = settings(stack);
    settings.is_mptcp = true;
    settings.subflows = (0..paths.len() as u32)
        .map(|n| SubflowSettings { paths: [PathId(2 * n), PathId(2 * n + 1)], path_mtu_bytes: [1500; 2] })
        .collect();
    let pipes = paths
        .iter()
        .flat_map(|&(rate, delay)| {
            let queue = rate / 8 / 50;
            [bottleneck(rate, delay, queue), bottleneck(rate, delay, queue)]
        })
        .collect();
    (settings, pipes)
}

#[test]
fn segments_leave_room_for_the_data_sequence_signal() {
    for (scheduler, mss) in [(Scheduler::Linux, 1424), (Scheduler::LowestRtt, 1428)] {
        let stack = Stack { scheduler, ..stack("reno") };
        let (settings, pipes) = over(&stack, &[(10_000_000, Time::from_ms(5)); 2]);
        let mut trial = Trial::new(&settings, pipes, pass()).transfer(100_000);
        trial.run_to_end();
        assert_eq!(trial.connection.statistics(0).mss_bytes, mss);
        assert_eq!(trial.data().map(|(_, packet)| packet.ip_bytes).max(), Some(1500));
        assert!(trial.world.sent.iter().all(|(_, packet)| packet.data_ack != u64::MAX));
    }
}

/// The first round trip of a transfer in a capture of Linux 6.12: 17 bytes are written alone, then the rest of a page of
/// 32,768, but for the heads of two fragments, goes to the first subflow, and another fragment, up to the end of the other
/// side's window, to the second one once the handshake's fourth packet has arrived.
#[test]
fn linux_assigns_fragments_before_they_leave() {
    let stack = Stack { scheduler: Scheduler::Linux, ..stack("reno") };
    let (settings, pipes) = over(&stack, &[(200_000_000, Time::from_us(10)); 2]);
    let mut trial = Trial::new(&settings, pipes, pass());
    trial.to_write[0] = 17;
    trial.run(Time::from_us(30));
    assert_eq!(trial.connection.write(0, 131_072, &mut trial.world), 32_664 + 32_728);
    trial.run(Time::from_us(700));
    let sent = |path: u32| -> Vec<(u64, u32)> {
        let packets = trial.data().filter(|(_, packet)| packet.path == PathId(path));
        packets.map(|(_, packet)| (packet.data_sequence, packet.payload_bytes)).collect()
    };
    let segments = |start: u64, count: u64| -> Vec<(u64, u32)> {
        (0..count).map(|number| (start + 1424 * number, 1424)).collect()
    };
    assert_eq!(sent(0)[..10], [&[(0, 17)][..], &segments(17, 9)].concat());
    assert_eq!(sent(2)[..10], segments(17 + 32_664, 10));
    let (fourth, _) = *trial.acks().find(|(_, packet)| packet.path == PathId(3)).unwrap();
    let (joined, _) = *trial.data().find(|(_, packet)| packet.path == PathId(2)).unwrap();
    assert!(joined > fourth, "{joined:?} {fourth:?}");
}

/// Linux has the data of a subflow that dies repeated by another one that has nothing to send, a fragment after each of its
/// own timeouts, and all of it after five.
#[test]
fn linux_waits_with_the_data_of_a_dead_subflow() {
    let stack = Stack { scheduler: Scheduler::Linux, ..stack("reno") };
    let (settings, mut pipes) = over(&stack, &[(20_000_000, Time::from_ms(10)); 2]);
    pipes[2].stops = Some((Time::from_ms(1000), Time::from_ms(100_000)));
    let mut trial = Trial::new(&settings, pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(4000));
    let is_readable = |notice: &Notice| matches!(notice, Notice::Readable { side: 1, .. });
    let times: Vec<Time> =
        trial.world.notices.iter().filter(|(_, notice)| is_readable(notice)).map(|(at, _)| *at).collect();
    let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
    assert!(longest.is_some_and(|time| time > Time::from_ms(150)), "{longest:?}");
    let before = trial.readable[1];
    trial.run(Time::from_ms(5000));
    let goodput = (trial.readable[1] - before) as f64 * 8.0;
    assert!(goodput > 0.95 * 2e7 * 1424.0 / 1538.0, "{goodput}");
}

#[test]
fn two_disjoint_paths_add_up() {
    for (scheduler, delays, control) in [
        (Scheduler::LowestRtt, [10, 10], "reno"),
        (Scheduler::LowestRtt, [5, 20], "reno"),
        (Scheduler::RoundRobin, [10, 10], "reno"),
        (Scheduler::Linux, [10, 10], "reno"),
        (Scheduler::Linux, [5, 20], "reno"),
        (Scheduler::Linux, [5, 20], "lia"),
        (Scheduler::LowestRtt, [10, 10], "lia"),
        (Scheduler::LowestRtt, [5, 20], "lia"),
    ] {
        let stack = Stack { scheduler, ..stack(control) };
        let paths = delays.map(|delay| (20_000_000, Time::from_ms(delay)));
        let (settings, pipes) = over(&stack, &paths);
        let mut trial = Trial::new(&settings, pipes, pass());
        trial.to_write[0] = u64::MAX / 2;
        trial.run(Time::from_ms(2000));
        let before = trial.readable[1];
        trial.run(Time::from_ms(6000));
        let goodput = (trial.readable[1] - before) as f64 * 8.0 / 4.0;
        let sum = 4e7 * 1428.0 / 1538.0;
        assert!(goodput > 0.9 * sum, "{scheduler:?} {delays:?}: {goodput} of {sum}");
    }
}

#[test]
fn a_subflow_that_dies_costs_no_data() {
    let stack = stack("reno");
    let (settings, pipes) = over(&stack, &[(20_000_000, Time::from_ms(10)); 2]);
    let mut count = 0;
    let judge: Judge = Box::new(move |packet| {
        count += 1;
        if packet.path.0 >= 2 && count > 800 { Fate::Drop } else { Fate::Pass }
    });
    let mut trial = Trial::new(&settings, pipes, judge);
    trial.to_write[0] = 8_000_000;
    trial.run(Time::from_ms(12_000));
    assert_eq!(trial.readable[1], 8_000_000);
    let [one, other] = [0, 1].map(|index| trial.connection.subflow_statistics(0, index));
    assert!(other.timeouts > 0 && one.timeouts == 0);
    assert!(one.bytes_acked > 7_000_000, "{}", one.bytes_acked);
}

#[test]
fn the_window_is_shared_and_repeats_what_blocks_it() {
    // A slow path is beside a fast one, and the slow path's delay fills the window.
    let mut stack = stack("reno");
    stack.receive_buffer = Buffer { minimum: Size(4096), initial: Size(131_072), maximum: Size(131_072) };
    let (settings, pipes) = over(&stack, &[(50_000_000, Time::from_ms(5)), (2_000_000, Time::from_ms(100))]);
    let mut trial = Trial::new(&settings, pipes, pass()).transfer(10_000_000);
    trial.run_to_end();
    assert_eq!(trial.readable[1], 10_000_000);
    let most = trial.acks().map(|(_, packet)| packet.window_bytes).max().unwrap();
    assert!(most <= 131_072 * 1428 / 2260 + 128, "{most}");
    // 65 kB in each 10 ms of the fast path would be 52 Mbit/s.
    assert!(trial.world.now < Time::from_ms(6000), "{:?}", trial.world.now);
}
