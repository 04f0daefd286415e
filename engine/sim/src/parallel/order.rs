//! The order in which one thread would have created the events of all parts.
//! Events at the same time are handled in the order of their creation. Within a part that order is known. Between
//! parts, an event was created earlier if its creator was handled earlier: at an earlier time or, at the same time,
//! if it was itself created earlier. So whenever several events were handled at the same time, in the same part or
//! in different ones, they are ranked, from the oldest such time of a window to the latest.

use crate::Time;

/// The bit of [`Origin::place`] that marks a creator which was handled in the present window: its index among the
/// events that its part handled takes the place of its rank.
const IS_INDEX: u64 = 1 << 63;
/// The number of bits of the number of an event among those of its creator.
const CHILD_BITS: u32 = 32;

/// The origin of an event. The origins of all events are in the order of their creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The time at which the event's creator was handled.
    at: Time,
    /// The rank of the creator among all events that were handled at that time, and the event's number among those
    /// of its creator.
    place: u64,
}

impl Origin {
    /// Returns the origin of the event with that number among all that existed before the parts did.
    pub fn initial(number: u32) -> Self {
        Self { at: Time::ZERO, place: number.into() }
    }

    /// Returns the origin of event `child` of a creator that was handled at that time and has that rank.
    pub fn of((at, rank): (Time, u32), child: u32) -> Self {
        Self { at, place: u64::from(rank) << CHILD_BITS | u64::from(child) }
    }

    /// Returns the origin of event `child` of a creator that is being handled, the part's event `index` in this
    /// window.
    pub fn present(at: Time, index: u32, child: u32) -> Self {
        Self { at, place: IS_INDEX | u64::from(index) << CHILD_BITS | u64::from(child) }
    }

    /// Returns the same origin with the rank of its creator in place of its index.
    fn resolved(self, ranks: &Ranks) -> Self {
        if self.place & IS_INDEX == 0 {
            return self;
        }
        let index = ((self.place & !IS_INDEX) >> CHILD_BITS) as u32;
        let child = self.place & ((1 << CHILD_BITS) - 1);
        Self { place: u64::from(ranks.of(index)) << CHILD_BITS | child, ..self }
    }
}

/// The events that a part handled in the present window, in order. Other parts read all times, but few origins.
#[derive(Debug, Default)]
pub struct Handled {
    /// The time of each event.
    times: Vec<Time>,
    /// The origin of each event.
    origins: Vec<Origin>,
}

impl Handled {
    /// Adds an event.
    pub fn push(&mut self, at: Time, origin: Origin) {
        self.times.push(at);
        self.origins.push(origin);
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.times.clear();
        self.origins.clear();
    }
}

/// The ranks of a part's events in the present window that share their time with other events. All others have
/// rank 0.
#[derive(Debug, Default)]
pub struct Ranks {
    /// The index of each such event, in order, and its rank.
    ranked: Vec<(u32, u32)>,
}

impl Ranks {
    /// Returns the rank of the part's event `index` in this window.
    pub fn of(&self, index: u32) -> u32 {
        let place = self.ranked.binary_search_by_key(&index, |&(index, _)| index);
        place.map_or(0, |place| self.ranked[place].1)
    }

    /// Returns a reader of the ranks of events in order.
    pub fn reader(&self) -> Reader<'_> {
        Reader(&self.ranked)
    }
}

/// A reader of the ranks of events whose indices do not decrease.
#[derive(Debug)]
pub struct Reader<'a>(&'a [(u32, u32)]);

impl Reader<'_> {
    /// Returns the rank of the part's event `index` in this window.
    pub fn next(&mut self, index: u32) -> u32 {
        while let [(first, rank), rest @ ..] = self.0
            && *first <= index
        {
            if *first == index {
                return *rank;
            }
            self.0 = rest;
        }
        0
    }
}

/// Ranks the events of each part that were handled at the same time.
pub fn rank(handled: &[&Handled], ranks: &mut Vec<Ranks>) {
    ranks.resize_with(handled.len(), Ranks::default);
    ranks.iter_mut().for_each(|ranks| ranks.ranked.clear());
    for at in shared(handled) {
        let mut places: Vec<usize> =
            handled.iter().map(|list| list.times.partition_point(|&time| time < at)).collect();
        let mut rank = 0;
        while let Some(part) = earliest(handled, &places, at, ranks) {
            ranks[part].ranked.push((places[part] as u32, rank));
            places[part] += 1;
            rank += 1;
        }
    }
}

/// Returns the times at which several events were handled, in order.
fn shared(handled: &[&Handled]) -> Vec<Time> {
    let mut shared = Vec::new();
    for (number, Handled { times: one, .. }) in handled.iter().enumerate() {
        shared.extend(one.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]));
        for Handled { times: other, .. } in &handled[number + 1..] {
            let (mut left, mut right) = (0, 0);
            while let (Some(of_one), Some(of_other)) = (one.get(left), other.get(right)) {
                if of_one == of_other {
                    shared.push(*of_one);
                }
                left += usize::from(of_one <= of_other);
                right += usize::from(of_other <= of_one);
            }
        }
    }
    shared.sort_unstable();
    shared.dedup();
    shared
}

/// Returns the part whose next event at that time was created first; `None` if no part has another one.
fn earliest(handled: &[&Handled], places: &[usize], at: Time, ranks: &[Ranks]) -> Option<usize> {
    let next = |part: usize| {
        let (list, place) = (handled[part], places[part]);
        (list.times.get(place) == Some(&at)).then(|| list.origins[place].resolved(&ranks[part]))
    };
    (0..handled.len()).filter_map(|part| Some((next(part)?, part))).min().map(|(_, part)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Event = (Time, Origin);

    fn handled(at: u64, origin: Origin) -> Event {
        (Time(at), origin)
    }

    /// Returns the ranks of each part's events.
    fn ranked(parts: &[&[Event]]) -> Vec<Vec<u32>> {
        let list = |events: &&[Event]| Handled {
            times: events.iter().map(|event| event.0).collect(),
            origins: events.iter().map(|event| event.1).collect(),
        };
        let (lists, mut ranks): (Vec<Handled>, _) = (parts.iter().map(list).collect(), Vec::new());
        rank(&lists.iter().collect::<Vec<_>>(), &mut ranks);
        let of_part =
            |(part, ranks): (&&[Event], &Ranks)| (0..part.len()).map(|at| ranks.of(at as u32)).collect();
        parts.iter().zip(&ranks).map(of_part).collect()
    }

    #[test]
    fn events_at_different_times_need_no_rank() {
        let one = [handled(1, Origin::initial(0)), handled(3, Origin::initial(1))];
        let other = [handled(2, Origin::initial(2))];
        assert_eq!(ranked(&[&one, &other]), [vec![0, 0], vec![0]]);
    }

    #[test]
    fn events_of_one_part_at_the_same_time_are_ranked_because_their_events_may_go_to_different_parts() {
        let one = [handled(1, Origin::initial(0)), handled(1, Origin::initial(1))];
        assert_eq!(ranked(&[&one, &[]]), [vec![0, 1], vec![]]);
    }

    #[test]
    fn events_at_the_same_time_are_ranked_by_the_times_of_their_creators() {
        let of = |at, place| Origin { at: Time(at), place };
        let one = [handled(7, of(3, 0)), handled(7, of(5, 1)), handled(9, of(1, 0))];
        let other = [handled(7, of(4, 0)), handled(7, of(5, 0)), handled(8, of(0, 0))];
        assert_eq!(ranked(&[&one, &other]), [vec![0, 3, 0], vec![1, 2, 0]]);
    }

    #[test]
    fn creators_of_the_same_window_are_compared_by_their_own_ranks() {
        // At 7 the second part's event is older, so its event at 8 is older, too, and the same once more at 8.
        let one = [
            handled(7, Origin::initial(1)),
            handled(8, Origin::present(Time(7), 0, 0)),
            handled(8, Origin::present(Time(8), 1, 0)),
        ];
        let other = [
            handled(7, Origin::initial(0)),
            handled(8, Origin::present(Time(7), 0, 0)),
            handled(8, Origin::present(Time(8), 1, 0)),
        ];
        assert_eq!(ranked(&[&one, &other]), [vec![1, 1, 3], vec![0, 0, 2]]);
    }

    #[test]
    fn three_parts_are_ranked_together() {
        let parts = [2, 0, 1].map(|number| [handled(5, Origin::initial(number))]);
        let lists: Vec<&[Event]> = parts.iter().map(<[Event; 1]>::as_slice).collect();
        assert_eq!(ranked(&lists), [[2], [0], [1]]);
    }
}
