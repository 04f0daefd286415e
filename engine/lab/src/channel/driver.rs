//! A medium between timed frames, driven by the clock's times but independent of the clock.

use super::frames::{Frame, Frames};
use super::sniffing::Sniffing;
use crate::packet_socket::OFFLOAD_HEADER_BYTES;
use nettrial_scenario::random::Random;
use nettrial_scenario::{Wlan, WlanStation};
use nettrial_wlan::{Category, Medium, Outcome, Packet};

/// A frame that has arrived and has not been passed to the medium yet.
struct Arrival {
    at_ns: u64,
    stations: [usize; 2],
    packet: Packet,
}

/// Returns the access category of a frame, which follows an offload header, by the differentiated services
/// codepoint of its IP packet.
fn category(bytes: &[u8]) -> Category {
    match bytes.get(OFFLOAD_HEADER_BYTES + 12..OFFLOAD_HEADER_BYTES + 16) {
        // The codepoint is in the second byte of IPv4, and in the eight bits after the version of IPv6.
        Some([8, 0, _, service]) => Category::of_dscp(service >> 2),
        Some([0x86, 0xdd, first, second]) => Category::of_dscp((first << 4 | second >> 4) >> 2),
        _ => Category::BestEffort,
    }
}

/// Returns the offset of the byte with the ECN field in a frame, which follows an offload header and has an IP
/// packet, and the field's bits in that byte.
fn ecn_field(bytes: &[u8]) -> Option<(usize, u8)> {
    let place = OFFLOAD_HEADER_BYTES + 15;
    let bits = match bytes.get(OFFLOAD_HEADER_BYTES + 12..OFFLOAD_HEADER_BYTES + 14)? {
        [8, 0] => 0b11,
        [0x86, 0xdd] => 0b11_0000,
        _ => return None,
    };
    (bytes.len() > place).then_some((place, bits))
}

/// Returns true if the IP packet of a frame, which follows an offload header, can be marked.
fn can_be_marked(bytes: &[u8]) -> bool {
    ecn_field(bytes).is_some_and(|(place, bits)| bytes[place] & bits != 0)
}

/// Marks the IP packet of a frame, which follows an offload header, and updates the checksum of an IPv4 header
/// (RFC 1624, equation 3).
fn mark(bytes: &mut [u8]) {
    let Some((place, bits)) = ecn_field(bytes) else { return };
    let before = bytes[place];
    bytes[place] |= bits;
    let sum_place = place + 9;
    if bits == 0b11
        && let Some(&[high, low]) = bytes.get(sum_place..sum_place + 2)
    {
        let sum = u32::from(!u16::from_be_bytes([high, low]));
        // The mark changes only the lower byte of the first word.
        let sum = sum + u32::from(!u16::from(before)) + u32::from(bytes[place]);
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        bytes[sum_place..sum_place + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
}

/// Returns the number of the flow of a frame, which follows an offload header: the FNV-1a hash of its addresses,
/// protocol and ports.
fn flow(bytes: &[u8]) -> u32 {
    let frame = bytes.get(OFFLOAD_HEADER_BYTES..).unwrap_or_default();
    let part = |range: std::ops::Range<usize>| frame.get(range).unwrap_or_default();
    let parts = match part(12..14) {
        [8, 0] => {
            let ports = 14 + 4 * usize::from(frame.get(14).copied().unwrap_or(0) & 15);
            [part(23..24), part(26..34), part(ports..ports + 4)]
        }
        [0x86, 0xdd] => [part(20..21), part(22..54), part(54..58)],
        _ => [part(0..14), &[], &[]],
    };
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    parts.into_iter().flatten().fold(0x811c_9dc5, step)
}

/// Reads `bytes` as a frame that a station sends.
#[cfg(fuzzing)]
pub fn fuzz(bytes: &[u8]) {
    let mut marked = bytes.to_vec();
    mark(&mut marked);
    assert_eq!(category(&marked), category(bytes));
    let _ = flow(&marked);
    assert_eq!(can_be_marked(bytes), ecn_field(bytes).is_some_and(|(place, bits)| bytes[place] & bits != 0));
}

fn new_medium(wlan: &Wlan, stations: &[WlanStation], random: Random, keeps_delays: bool) -> Medium {
    let mut medium = Medium::new(wlan, stations, random);
    if keeps_delays {
        medium.keep_delays();
    }
    medium
}

/// A frame that the medium has delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The time of the monotonic clock at which the frame was due.
    pub due_ns: u64,
    tag: u32,
}

/// A medium with the frames in it.
pub struct Driver {
    wlan: Wlan,
    stations: Vec<WlanStation>,
    random: Random,
    /// True if the medium keeps its delays over time.
    keeps_delays: bool,
    medium: Medium,
    /// The time of the monotonic clock at which the medium's time is 0.
    began_ns: u64,
    /// The time up to which the medium's events have happened.
    now_ns: u64,
    frames: Frames,
    arrivals: Vec<Arrival>,
    outcomes: Vec<Outcome>,
    sniffing: Option<Sniffing>,
}

impl Driver {
    /// Creates a medium whose time begins at `now_ns` of the monotonic clock, between these stations, beginning
    /// with the access point; it keeps its delays over time or not.
    pub fn new(
        wlan: Wlan,
        stations: Vec<WlanStation>,
        random: Random,
        keeps_delays: bool,
        now_ns: u64,
    ) -> Self {
        Self {
            medium: new_medium(&wlan, &stations, random, keeps_delays),
            wlan,
            stations,
            random,
            keeps_delays,
            began_ns: now_ns,
            now_ns,
            frames: Frames::default(),
            arrivals: Vec::new(),
            outcomes: Vec::new(),
            sniffing: None,
        }
    }

    /// Returns the medium.
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Starts over with a new medium, if the old one is empty; returns true if it did.
    pub fn restart(&mut self) -> bool {
        let is_empty = self.frames.is_empty();
        if is_empty {
            self.medium = new_medium(&self.wlan, &self.stations, self.random, self.keeps_delays);
            self.began_ns = self.now_ns;
        }
        is_empty
    }

    /// Starts to capture the frames that stations send.
    pub fn sniff(&mut self, sniffing: Sniffing) {
        self.medium.keep_sent();
        self.sniffing = Some(sniffing);
    }

    /// Ends the capture, and returns it if there was one.
    pub fn end_sniffing(&mut self) -> Option<Sniffing> {
        self.sniffing.take()
    }

    /// Returns the time of the monotonic clock up to which the medium's events have happened.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the medium's time, in picoseconds, at `now_ns` of the clock.
    pub fn medium_ps(&self, now_ns: u64) -> u64 {
        (now_ns - self.began_ns) * 1000
    }

    /// Returns the time of the monotonic clock at which the medium's next event happens, if there is one.
    pub fn next_ns(&self) -> Option<u64> {
        let next_ps = self.medium.next();
        (next_ps != u64::MAX).then(|| self.began_ns + next_ps.div_ceil(1000))
    }

    /// Notes the arrival of a frame, which follows an offload header, at `at_ns`. It is from the first of
    /// `stations` for the second, and its IP packet has `bytes` bytes.
    pub fn arrived(&mut self, at_ns: u64, stations: [usize; 2], frame: &[u8], bytes: u32) {
        let tag = self.frames.put(frame, stations[1]);
        let can_be_marked = can_be_marked(frame);
        let packet = Packet { category: category(frame), flow: flow(frame), can_be_marked, tag, bytes };
        self.arrivals.push(Arrival { at_ns, stations, packet });
    }

    /// Processes all events up to `until_ns`, each arrival at its own time; adds the frames that the medium
    /// delivers to `due`.
    pub fn advance(&mut self, until_ns: u64, due: &mut Vec<Delivery>) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_by_key(|arrival| arrival.at_ns);
        for Arrival { at_ns, stations, packet } in arrivals.drain(..) {
            self.run(at_ns.max(self.now_ns), due);
            let now_ps = self.medium_ps(self.now_ns);
            if !self.medium.offer(now_ps, stations, packet) {
                self.frames.free(packet.tag);
            }
        }
        self.arrivals = arrivals;
        self.run(until_ns.max(self.now_ns), due);
    }

    fn run(&mut self, until_ns: u64, due: &mut Vec<Delivery>) {
        let until_ps = self.medium_ps(until_ns);
        while self.medium.next() <= until_ps {
            let at_ps = self.medium.next();
            self.medium.advance(at_ps, &mut self.outcomes);
            for outcome in &self.outcomes {
                if let Outcome::Marked(tag) = outcome {
                    mark(&mut self.frames.get_mut(*tag).bytes);
                }
            }
            if let Some(sniffing) = &mut self.sniffing {
                sniffing.take(self.began_ns, &self.medium.take_sent(), &self.frames);
            }
            for outcome in self.outcomes.drain(..) {
                match outcome {
                    Outcome::Delivered(tag) => {
                        due.push(Delivery { due_ns: self.began_ns + at_ps.div_ceil(1000), tag });
                    }
                    Outcome::Marked(_) => {}
                    Outcome::Dropped(tag) => self.frames.free(tag),
                }
            }
        }
        self.now_ns = until_ns;
    }

    /// Returns the frame of a delivery.
    pub fn frame(&self, delivery: Delivery) -> &Frame {
        self.frames.get(delivery.tag)
    }

    /// Removes the frame of a delivery.
    pub fn forget(&mut self, delivery: Delivery) {
        self.frames.free(delivery.tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the times at which 300 frames from two stations are due if the driver wakes every `step_ns`.
    fn due(step_ns: u64) -> (Vec<(u64, Vec<u8>)>, u64) {
        let wlan: Wlan = serde_json::from_str(r#"{"mpdu_loss": 0.05}"#).unwrap();
        let mut driver =
            Driver::new(wlan, vec![WlanStation::default(); 3], nettrial_wlan::random(1, 0), false, 5);
        let arrivals = (0..300_u64).map(|number| (number * 97_000 + 5, number));
        let mut due = Vec::new();
        let mut arrivals = arrivals.peekable();
        let mut now = 5;
        while now < 200 * MS {
            now += step_ns;
            let mut arrived = Vec::new();
            while let Some(arrival) = arrivals.next_if(|(at, _)| *at <= now) {
                arrived.push(arrival);
            }
            // The rings of several interfaces are read one after the other.
            arrived.sort_by_key(|(_, number)| number % 2);
            for (at, number) in arrived {
                let station = 1 + (number % 2) as usize;
                driver.arrived(at, [station, 0], &number.to_ne_bytes(), 1500);
            }
            driver.advance(now, &mut due);
        }
        let due =
            due.iter().map(|delivery| (delivery.due_ns, driver.frame(*delivery).bytes.clone())).collect();
        (due, driver.medium().counters(1).exchanges)
    }

    #[test]
    fn late_wake_ups_change_nothing_in_the_medium() {
        let punctual = due(1_000);
        assert_eq!(punctual.0.len(), 300);
        assert_eq!(due(3 * MS), punctual);
        assert_eq!(due(100 * MS), punctual);
    }

    #[test]
    fn a_medium_starts_over_only_when_nothing_is_in_it() {
        let wlan: Wlan = serde_json::from_str("{}").unwrap();
        let (mut driver, mut due) = (
            Driver::new(wlan, vec![WlanStation::default(); 2], nettrial_wlan::random(1, 0), false, 0),
            Vec::new(),
        );
        driver.arrived(0, [1, 0], &[1], 100);
        driver.advance(1, &mut due);
        assert!(!driver.restart());
        driver.advance(MS, &mut due);
        assert_eq!(due.len(), 1);
        assert!(!driver.restart(), "a frame is still to be handed over");
        driver.forget(due[0]);
        assert!(driver.restart());
        assert_eq!((driver.medium_ps(MS), driver.medium().counters(1).delivered_pkts), (0, 0));
    }

    #[test]
    fn frames_of_a_flow_have_its_number() {
        let frame = |kind: [u8; 2], port: u8, fill: u8| {
            let mut frame = vec![0; OFFLOAD_HEADER_BYTES + 60];
            frame[OFFLOAD_HEADER_BYTES + 12..][..2].copy_from_slice(&kind);
            frame[OFFLOAD_HEADER_BYTES + 14] = 0x45;
            frame[OFFLOAD_HEADER_BYTES + if kind[0] == 8 { 35 } else { 55 }] = port;
            frame[OFFLOAD_HEADER_BYTES + 59] = fill;
            frame
        };
        for kind in [[8, 0], [0x86, 0xdd]] {
            assert_eq!(flow(&frame(kind, 1, 0)), flow(&frame(kind, 1, 9)));
            assert_ne!(flow(&frame(kind, 1, 0)), flow(&frame(kind, 2, 0)));
        }
        assert_eq!(flow(&[]), flow(&[1]));
    }

    /// The sum of a right header's words is all ones (RFC 1071).
    #[test]
    fn a_mark_is_in_the_header_and_its_checksum_stays_right() {
        for (service, total) in [(0b01, 0x1234_u16), (0b10, 0xffff), (0b1011_1010, 0x00ff), (0b11, 1)] {
            let mut frame = vec![0; OFFLOAD_HEADER_BYTES + 60];
            frame[OFFLOAD_HEADER_BYTES + 12..][..4].copy_from_slice(&[8, 0, 0x45, service]);
            frame[OFFLOAD_HEADER_BYTES + 16..][..2].copy_from_slice(&total.to_be_bytes());
            let sum_of = |frame: &[u8]| {
                let header = &frame[OFFLOAD_HEADER_BYTES + 14..][..20];
                let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
                let sum = words.sum::<u32>();
                ((sum & 0xffff) + (sum >> 16)) as u16
            };
            let sum = !sum_of(&frame);
            frame[OFFLOAD_HEADER_BYTES + 24..][..2].copy_from_slice(&sum.to_be_bytes());
            assert!(can_be_marked(&frame));
            mark(&mut frame);
            assert_eq!((frame[OFFLOAD_HEADER_BYTES + 15], sum_of(&frame)), (service | 3, 0xffff));
        }
        let mut frame = [&[0; OFFLOAD_HEADER_BYTES + 12], &[0x86, 0xdd, 0x6b, 0xa1][..], &[0; 40]].concat();
        assert!(can_be_marked(&frame));
        mark(&mut frame);
        assert_eq!(frame[OFFLOAD_HEADER_BYTES + 14..][..2], [0x6b, 0xb1]);
        let [plain, arp] = [[8, 0, 0x45, 0xb8], [8, 6, 0, 3]]
            .map(|bytes| [&[0; OFFLOAD_HEADER_BYTES + 12], bytes.as_slice(), &[0; 40]].concat());
        assert!(!can_be_marked(&plain) && !can_be_marked(&arp) && !can_be_marked(&[]));
    }

    #[test]
    fn frames_have_the_category_of_their_packets() {
        let of = |bytes: [u8; 4]| {
            category(&[&[0; OFFLOAD_HEADER_BYTES + 12], bytes.as_slice(), &[0; 40]].concat())
        };
        // The frames are EF of IPv4 and IPv6, an empty one, and ARP.
        assert_eq!([of([8, 0, 0x45, 46 << 2]), of([0x86, 0xdd, 0x6b, 0x80])], [Category::Voice; 2]);
        assert_eq!([of([8, 0, 0x45, 0]), of([8, 6, 0, 184])], [Category::BestEffort; 2]);
    }
}
