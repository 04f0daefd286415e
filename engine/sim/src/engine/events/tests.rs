use super::*;
use proptest::prelude::*;
use std::cmp::Reverse;

/// An operation on the queue: an event that far ahead is added, or a number of events is taken.
#[derive(Debug, Clone)]
enum Step {
    Push(u64),
    Pop(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ahead = prop_oneof![Just(0), 0..1000u64, 0..10_000_000u64, 0..10_000_000_000_000u64];
    let step = prop_oneof![3 => ahead.prop_map(Step::Push), 2 => (0..4u8).prop_map(Step::Pop)];
    prop::collection::vec(step, 0..400)
}

/// Performs the operations and takes the remaining events, comparing each result with a heap.
fn compare(steps: &[Step]) {
    let mut queue = Events::default();
    let mut model = BinaryHeap::new();
    let mut number = 0u32;
    let pop = |queue: &mut Events<u32>, model: &mut BinaryHeap<Reverse<(Time, u32)>>| {
        let before = queue.now();
        let found = queue.pop(Time::NEVER);
        assert_eq!(found, model.pop().map(|Reverse(next)| next));
        assert!(queue.now() >= before);
        assert_eq!(queue.len(), model.len());
        found.is_some()
    };
    for step in steps {
        match *step {
            Step::Push(ahead) => {
                let at = queue.now() + Time(ahead);
                queue.push(at, number);
                model.push(Reverse((at, number)));
                number += 1;
            }
            Step::Pop(count) => (0..count).for_each(|_| {
                pop(&mut queue, &mut model);
            }),
        }
    }
    while pop(&mut queue, &mut model) {}
}

proptest! {
    #[test]
    fn events_come_in_order_of_time_and_then_of_insertion(steps in steps()) {
        compare(&steps);
    }
}

/// There are so many events in a short time, and then so few in a long one, that the width changes many times.
#[test]
fn the_order_holds_while_buckets_change_their_width() {
    let mut steps = Vec::new();
    for spread in [100, 1_000_000_000_000, 3_000_000] {
        for step in 0..60_000u64 {
            let ahead = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            steps.push(Step::Push(ahead % spread));
            steps.push(Step::Pop(u8::from(step > 2_000)));
        }
    }
    compare(&steps);
}

#[test]
fn an_event_after_the_end_stays_and_earlier_ones_may_still_be_added() {
    let mut queue = Events::default();
    queue.push(Time::from_ms(5), 1);
    assert_eq!(queue.pop(Time::from_ms(4)), None);
    queue.push(Time::from_ms(4), 2);
    assert_eq!(queue.pop(Time::from_ms(4)), Some((Time::from_ms(4), 2)));
    assert_eq!((queue.pop(Time::from_ms(4)), queue.len()), (None, 1));
}
