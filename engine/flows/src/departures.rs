//! The times at which packets are due to depart, and their sizes.

use crate::error::Result;
use crate::variate::{Draws, Sequence};
use nettrial_scenario::{OnOff, Packets};

/// A sender that is behind its departures continues for one GRACE-th of the duration after the end, and then gives
/// up.
const GRACE: u64 = 10;

/// The departures of a flow. Times are nanoseconds since the start of the flow.
pub struct Departures {
    sizes: Draws,
    pace: Pace,
    windows: Option<Windows>,
    duration_ns: u64,
    left: u64,
    /// The time at which the next packet is due, and that time without the times of silence before it.
    due_ns: u64,
    sending_ns: u64,
    bytes: u64,
}

/// The rule for the time between departures.
enum Pace {
    AtOnce,
    Gap(Box<Draws>),
    RateBps(u64),
}

impl Departures {
    /// Creates the departures that `packets` describes.
    ///
    /// # Errors
    /// Fails if one of its random quantities cannot be drawn.
    pub fn new(packets: &Packets) -> Result<Self> {
        let pace = match (&packets.gap, packets.rate) {
            (Some(gap), _) => Pace::Gap(Box::new(Draws::new(gap, packets.seed, Sequence::Gap)?)),
            (None, Some(rate)) => Pace::RateBps(rate.0),
            (None, None) => Pace::AtOnce,
        };
        let windows = packets.on_off.as_ref().map(|on_off| Windows::new(on_off, packets.seed));
        Ok(Self {
            sizes: Draws::new(&packets.size, packets.seed, Sequence::Size)?,
            pace,
            windows: windows.transpose()?,
            duration_ns: packets.duration.map_or(u64::MAX, |duration| duration.0),
            left: packets.count.unwrap_or(u64::MAX),
            due_ns: 0,
            sending_ns: 0,
            bytes: 0,
        })
    }

    /// Returns true if packets have departure times. Otherwise they are sent as fast as the transport accepts
    /// them.
    pub fn is_paced(&self) -> bool {
        !matches!(self.pace, Pace::AtOnce)
    }

    /// Returns the time at which the next packet is due, given the present time `now_ns`; `None` if the flow is
    /// over.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        let give_up_ns = self.duration_ns.saturating_add(self.duration_ns / GRACE);
        let (due_ns, last_ns) = match (&self.pace, &mut self.windows) {
            (Pace::AtOnce, None) => (now_ns, self.duration_ns),
            (Pace::AtOnce, Some(windows)) => (windows.open_at(now_ns), self.duration_ns),
            (Pace::Gap(_) | Pace::RateBps(_), _) => (self.due_ns, give_up_ns),
        };
        let over = self.left == 0 || due_ns >= self.duration_ns || now_ns >= last_ns;
        (!over).then_some(due_ns)
    }

    /// Takes the packet that is due, and returns its size.
    pub fn take(&mut self) -> u64 {
        let size = self.sizes.draw();
        self.left -= 1;
        self.bytes += size;
        match &mut self.pace {
            Pace::AtOnce => return size,
            Pace::Gap(gaps) => self.sending_ns = self.sending_ns.saturating_add(gaps.draw()),
            Pace::RateBps(rate) => {
                let sending_ns = u128::from(self.bytes) * 8_000_000_000 / u128::from(*rate);
                self.sending_ns = u64::try_from(sending_ns).unwrap_or(u64::MAX);
            }
        }
        self.due_ns = match &mut self.windows {
            Some(windows) => windows.at(self.sending_ns),
            None => self.sending_ns,
        };
        size
    }

    /// Returns the time that the packets taken so far should have taken: until the next packet is due, or until
    /// the end.
    pub fn asked_ns(&self) -> u64 {
        self.due_ns.min(self.duration_ns)
    }

    /// Returns the bytes of the packets taken so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Alternating times of sending and of silence. The clock of gaps and rates stands still in silence.
struct Windows {
    on: Draws,
    off: Draws,
    /// The current time of sending: its start, its start without the silence before it, and its length.
    begin_ns: u64,
    sending_ns: u64,
    length_ns: u64,
}

impl Windows {
    fn new(on_off: &OnOff, seed: u64) -> Result<Self> {
        let mut on = Draws::new(&on_off.on, seed, Sequence::On)?;
        let off = Draws::new(&on_off.off, seed, Sequence::Off)?;
        let length_ns = on.draw();
        Ok(Self { on, off, begin_ns: 0, sending_ns: 0, length_ns })
    }

    fn advance(&mut self) {
        self.sending_ns = self.sending_ns.saturating_add(self.length_ns);
        self.begin_ns = self.begin_ns.saturating_add(self.length_ns).saturating_add(self.off.draw());
        self.length_ns = self.on.draw().max(1);
    }

    /// Returns the moment at which `sending_ns` of sending have passed.
    fn at(&mut self, sending_ns: u64) -> u64 {
        while sending_ns - self.sending_ns >= self.length_ns {
            self.advance();
        }
        self.begin_ns.saturating_add(sending_ns - self.sending_ns)
    }

    /// Returns the first moment from `now_ns` on at which packets may be sent.
    fn open_at(&mut self, now_ns: u64) -> u64 {
        while now_ns >= self.begin_ns.saturating_add(self.length_ns) {
            self.advance();
        }
        self.begin_ns.max(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{Duration, Rate, Size, Truncation, Variate};
    use serde::{Deserialize, Serialize};

    const MILLISECOND: u64 = 1_000_000;

    fn packets() -> Packets {
        Packets {
            size: Variate::Constant { value: Size(1250) },
            gap: None,
            rate: None,
            on_off: None,
            duration: Some(Duration(20 * MILLISECOND)),
            count: None,
            seed: 3,
        }
    }

    fn constant(milliseconds: u64) -> Variate<Duration> {
        Variate::Constant { value: Duration(milliseconds * MILLISECOND) }
    }

    /// All departures, by a sender that is always on time.
    fn departures(packets: &Packets) -> Vec<u64> {
        let mut schedule = Departures::new(packets).unwrap();
        let mut all = Vec::new();
        while let Some(due) = schedule.due(all.last().copied().unwrap_or(0)) {
            schedule.take();
            all.push(due);
        }
        all
    }

    #[test]
    fn a_rate_is_kept_evenly_and_to_the_packet() {
        // 1250 bytes at 10 Mbit/s: a millisecond each.
        let rate = Packets { rate: Some(Rate(10_000_000)), ..packets() };
        let expected: Vec<u64> = (0..20).map(|index| index * MILLISECOND).collect();
        assert_eq!(departures(&rate), expected);
        let mut schedule = Departures::new(&rate).unwrap();
        while schedule.due(0).is_some() {
            schedule.take();
        }
        assert_eq!((schedule.asked_ns(), schedule.bytes()), (20 * MILLISECOND, 25_000));
        // A rate that a whole number of nanoseconds does not divide loses nothing over time.
        let odd = Packets { rate: Some(Rate(3)), duration: None, count: Some(4), ..packets() };
        assert_eq!(departures(&odd).last(), Some(&10_000_000_000_000));
    }

    #[test]
    fn gaps_add_up_and_a_count_ends_them() {
        let gap = Variate::Listed { values: vec![Duration(5), Duration(7)] };
        let gaps = Packets { gap: Some(gap), count: Some(4), ..packets() };
        assert_eq!(departures(&gaps), [0, 5, 12, 17]);
    }

    #[test]
    fn gaps_stand_still_while_nothing_is_sent() {
        let on_off = Some(OnOff { on: constant(3), off: constant(5) });
        let bursts = Packets { gap: Some(constant(2)), on_off, ..packets() };
        // Sending: 0 to 3, 8 to 11, 16 to 19. Departures at 0, 2, 4, 6, 8 of these.
        assert_eq!(departures(&bursts), [0, 2, 9, 16, 18].map(|time| time * MILLISECOND));
    }

    #[test]
    fn without_gaps_packets_are_due_at_once_but_in_silence() {
        let on_off = Some(OnOff { on: constant(3), off: constant(5) });
        let mut schedule = Departures::new(&Packets { on_off, ..packets() }).unwrap();
        for (now, due) in [(0, Some(0)), (2, Some(2)), (3, Some(8)), (9, Some(9)), (19, None), (20, None)] {
            assert_eq!(schedule.due(now * MILLISECOND), due.map(|due| due * MILLISECOND), "{now}");
        }
        assert!(!schedule.is_paced());
    }

    #[test]
    fn a_sender_far_behind_gives_up() {
        let mut schedule = Departures::new(&Packets { gap: Some(constant(1)), ..packets() }).unwrap();
        assert_eq!(schedule.due(21 * MILLISECOND), Some(0));
        assert_eq!(schedule.due(22 * MILLISECOND), None);
    }

    /// Departures, and what they are.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Agreed {
        packets: Packets,
        /// The time and the size of the first departures.
        #[serde(default)]
        first: Vec<(u64, u64)>,
        /// The number of departures in the sums, which wrap around.
        #[serde(default)]
        count: usize,
        #[serde(default)]
        due_sum: u64,
        #[serde(default)]
        sizes_sum: u64,
    }

    impl Agreed {
        fn of(packets: &Packets) -> Self {
            let mut schedule = Departures::new(packets).unwrap();
            let all: Vec<(u64, u64)> = (0..20_000).map(|_| (schedule.due_ns, schedule.take())).collect();
            Self {
                packets: packets.clone(),
                first: all[..4].to_vec(),
                count: all.len(),
                due_sum: all.iter().fold(0, |sum, (due, _)| sum.wrapping_add(*due)),
                sizes_sum: all.iter().map(|(_, size)| size).sum(),
            }
        }
    }

    /// The stack in Go draws by itself. Its tests compare the same file (`stacks/gvisor/packets_test.go`).
    #[test]
    fn departures_are_those_that_are_agreed_with_others() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../stacks/gvisor/testdata/departures.json");
        let agreed: Vec<Agreed> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let found: Vec<Agreed> = agreed.iter().map(|one| Agreed::of(&one.packets)).collect();
        if std::env::var_os("NETTRIAL_UPDATE_GOLDEN").is_some() {
            std::fs::write(path, serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
        }
        assert_eq!(agreed, found);
    }

    #[test]
    fn sizes_do_not_depend_on_the_law_of_gaps() {
        let size = Variate::Uniform { minimum: Size(64), maximum: Size(1400) };
        let sizes = |gap| {
            let packets = Packets { size: size.clone(), gap, ..packets() };
            let mut schedule = Departures::new(&packets).unwrap();
            (0..100).map(|_| schedule.take()).collect::<Vec<u64>>()
        };
        let random = Variate::Exponential { mean: Duration(900), truncation: Truncation::default() };
        assert_eq!(sizes(Some(constant(1))), sizes(Some(random)));
    }
}
