//! Verifies the conditions of a trial before and after the traffic, and states the consequences for its figures.

mod congestion;
mod controller;
mod counters;
mod frame_time;
mod links;
mod machine;
mod path;
mod saturation;
mod timers;

pub use controller::looping;
use nettrial_session::Findings as Common;
use std::ops::{Deref, DerefMut};

/// The findings of a session on any machines, together with those of the lab.
#[derive(Default)]
pub struct Findings(Common);

impl Findings {
    /// Returns all findings together.
    pub fn into_common(self) -> Common {
        self.0
    }
}

impl Deref for Findings {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.0
    }
}

impl DerefMut for Findings {
    fn deref_mut(&mut self) -> &mut Common {
        &mut self.0
    }
}
