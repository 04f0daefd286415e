//! The fates of the frames that a delay line takes from an interface.

use nettrial_links::{Fate, Fates};
use nettrial_scenario::Link;

/// The bit that distinguishes the streams of frames without UDP, where these have one of their own, from the others,
/// which are the numbers of the interfaces, as in the simulator.
const WITHOUT_UDP: u64 = 1 << 32;

/// The fates of the frames that a line takes from an interface.
pub struct LineFates {
    fates: Fates,
    /// The fates of frames with UDP, if they are not among the others.
    of_udp: Option<Fates>,
}

impl LineFates {
    /// Creates the fates of the frames that `link` takes from the interface with this number in the scenario.
    pub fn new(link: &Link, number: usize, separates_udp: bool) -> Self {
        let fates = |stream: u64| Fates::new(link.impairment, stream | number as u64);
        match separates_udp {
            true => Self { fates: fates(WITHOUT_UDP), of_udp: Some(fates(0)) },
            false => Self { fates: fates(0), of_udp: None },
        }
    }

    /// Returns the fate of the next frame.
    pub fn next(&mut self, has_udp: bool) -> Fate {
        self.of_udp.as_mut().filter(|_| has_udp).unwrap_or(&mut self.fates).next()
    }
}
