//! Tests of bursts for segmentation offload: their size, their departure, and when the sender waits for more
//! segments.

use super::*;

const DELAY: Time = Time::from_ms(10);

fn offloaded(stack: &Stack) -> ConnectionSettings<'_> {
    let own = Offloads { tso: true, gso: true, gro: false };
    ConnectionSettings { offloads: [own, Offloads::default()], ..settings(stack) }
}

/// Returns the number of segments sent at each instant between these times, in order of time.
fn trains(trial: &Trial, from: Time, to: Time) -> Vec<(Time, u32)> {
    let mut trains: Vec<(Time, u32)> = Vec::new();
    for (at, _) in trial.data().filter(|(at, _)| (from..to).contains(at)) {
        match trains.last_mut().filter(|(last, _)| last == at) {
            Some((_, count)) => *count += 1,
            None => trains.push((*at, 1)),
        }
    }
    trains
}

fn mean_of(trains: &[(Time, u32)]) -> f64 {
    trains.iter().map(|&(_, count)| f64::from(count)).sum::<f64>() / trains.len() as f64
}

/// Returns the mean train length in the fourth second of a stream over a bottleneck of 100 Mbit/s with a base
/// round trip of 20 ms.
fn mean_train(settings: &ConnectionSettings<'_>) -> f64 {
    let pipes = vec![bottleneck(100_000_000, DELAY, 250_000), pipe(1_000_000_000, DELAY)];
    let mut trial = Trial::new(settings, pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(4000));
    assert!(trial.connection.statistics(0).bytes_acked > 40_000_000);
    mean_of(&trains(&trial, Time::from_ms(3000), Time::from_ms(4000)))
}

#[test]
fn a_sender_waits_until_it_can_send_a_millisecond_of_its_rate_at_once() {
    let stack = stack("reno");
    // An acknowledgment of two segments allows two to be sent.
    let without = mean_train(&settings(&stack));
    assert!((1.9..2.3).contains(&without), "{without}");
    // In congestion avoidance the rate is 1.2 times the throughput of 94 Mbit/s: 13.8 kB in 1/1024 s, which is 9
    // segments. The burst is sent when the window has room for them, which is after the fifth acknowledgment of
    // two.
    let with = mean_train(&offloaded(&stack));
    assert!((8.0..11.0).contains(&with), "{with}");
}

#[test]
fn a_paced_burst_is_followed_by_the_pause_of_all_its_segments() {
    let stack = stack("bbr");
    let pipes = vec![bottleneck(100_000_000, DELAY, 1_000_000), pipe(1_000_000_000, DELAY)];
    let mut trial = Trial::new(&offloaded(&stack), pipes, pass());
    trial.to_write[0] = u64::MAX / 2;
    trial.run(Time::from_ms(4000));
    let trains = trains(&trial, Time::from_ms(3000), Time::from_ms(4000));
    // 94 Mbit/s are 11.5 kB in 1/1024 s; the gain varies from 0.75 to 1.25.
    assert!((6.0..9.0).contains(&mean_of(&trains)), "{}", mean_of(&trains));
    let gap_of = |pair: &[(Time, u32)]| (pair[1].0 - pair[0].0).0 / u64::from(pair[0].1) / 1_000_000;
    let even = trains.windows(2).filter(|pair| (90..180).contains(&gap_of(pair))).count();
    assert!(even * 100 > trains.len() * 95, "{even} of {}", trains.len());
    let goodput = trial.readable[1] as f64 * 8.0 / 4.0;
    assert!(goodput > 0.9 * 1e8 * 1448.0 / 1538.0, "{goodput}");
}

/// A message of three segments is sent with nothing in flight, and then with less than a third of the window in
/// flight.
#[test]
fn what_the_application_ends_with_does_not_wait() {
    let stack = stack("reno");
    let mut trial = Trial::new(&offloaded(&stack), both_directions(100_000_000, DELAY), pass());
    trial.run(Time::from_ms(100));
    for bytes in [4000, 3000, 100] {
        let before = trial.data().count();
        trial.to_write[0] = bytes;
        trial.write(0);
        assert_eq!(trial.data().count() - before, bytes.div_ceil(1448) as usize, "{bytes}");
        let now = trial.world.now;
        trial.run(now + Time::from_ms(1));
    }
    trial.run(Time::from_ms(300));
    assert_eq!(trial.readable[1], 7100);
}

/// TCP small queues (tcp_small_queue_check in net/ipv4/tcp_output.c): a sender continues until its interface has more
/// memory than its rate gives in a millisecond. On top of that comes one segment, or else a burst of 64 KB, which takes
/// 554 us on the link. A segment by itself takes 2344 bytes of memory (tcp_stream_alloc_skb in net/ipv4/tcp.c), and one of a
/// burst little more than its 1500 bytes, so that bursts have half as many segments more in the interface.
#[test]
fn the_own_interface_holds_memory_and_a_burst_more() {
    // The receiver's window is no limit from the beginning.
    let buffer = stack("reno").receive_buffer;
    let stack = Stack { receive_buffer: Buffer { initial: buffer.maximum, ..buffer }, ..stack("reno") };
    let most_queued_us = |settings: &ConnectionSettings<'_>| {
        let mut count = 0;
        let judge: Judge = Box::new(move |packet| {
            count += u32::from(packet.payload_bytes > 0);
            if count == 3000 { Fate::Drop } else { Fate::Pass }
        });
        let mut trial = Trial::new(settings, both_directions(1_000_000_000, Time::from_us(20)), judge);
        trial.to_write[0] = u64::MAX / 2;
        trial.run(Time::from_ms(200));
        let queued = (0..1000).map(|step| {
            trial.run(Time::from_us(200_000 + 50 * step));
            trial.world.pipes[0].free_at.since(trial.world.now).0 / 1_000_000
        });
        queued.max().unwrap()
    };
    let (single, bursts) = (most_queued_us(&settings(&stack)), most_queued_us(&offloaded(&stack)));
    let expected = (bursts - 554) * 1500 / 2344;
    assert!(single.abs_diff(expected) * 20 < expected, "{single}, not {expected}, beside {bursts}");
}

/// A window of 12 ms of the link, of which the path itself holds 40 us: the rest waits in the own interface, unless small
/// queues keep it to a few milliseconds in slow start, and less after it.
#[test]
fn without_small_queues_the_window_waits_in_the_own_interface() {
    let most_queued_us = |small_queues| {
        let stack = Stack { small_queues, ..stack("reno") };
        let mut trial =
            Trial::new(&settings(&stack), both_directions(100_000_000, Time::from_us(20)), pass());
        trial.to_write[0] = u64::MAX / 2;
        let queued = (1..100).map(|step| {
            trial.run(Time::from_ms(step));
            trial.world.pipes[0].free_at.since(trial.world.now).0 / 1_000_000
        });
        queued.max().unwrap()
    };
    let (small, large) = (most_queued_us(true), most_queued_us(false));
    assert!(small < 10_000 && large > 50_000, "{small}, {large}");
}
