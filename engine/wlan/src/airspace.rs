//! The frames in the air, and the medium as each station finds it: physical carrier sense, and the NAV (clause
//! 10.3.2.1).
//!
//! A station that hears overlapping frames, or a frame that its receiver could not read, considers them lost and
//! defers for EIFS. A station that hears a single frame which its receiver could read also reads the frame's
//! duration; the model does not check whether noise at that station would have prevented it. Carrier sense depends
//! on the strongest frame, not on the sum of all, and detects a frame immediately.

use crate::propagation::Propagation;

/// A frame in the air.
#[derive(Debug)]
pub struct Frame {
    /// The station that sends it.
    pub from: usize,
    /// Its receiver; `None` for a beacon.
    pub to: Option<usize>,
    /// The time at which it began, in picoseconds.
    pub began_ps: u64,
    /// The duration of its preamble, in picoseconds.
    preamble_ps: u64,
    /// The interference at its receiver since each of these times, in milliwatts; infinite while the receiver
    /// sends.
    interference: Vec<(u64, f64)>,
    /// True if its preamble could not be received.
    pub is_lost: bool,
    number: u64,
}

impl Frame {
    /// Returns the highest interference during a part of the frame, in milliwatts.
    pub fn worst_mw(&self, from_ps: u64, until_ps: u64) -> f64 {
        let mut worst = 0.0;
        for (place, (since_ps, power_mw)) in self.interference.iter().enumerate() {
            let ends_ps = self.interference.get(place + 1).map_or(u64::MAX, |(next_ps, _)| *next_ps);
            if *since_ps < until_ps && ends_ps > from_ps {
                worst = f64::max(worst, *power_mw);
            }
        }
        worst
    }

    /// Returns whether its receiver ever heard anything else during the frame.
    pub fn is_interfered(&self) -> bool {
        !self.interference.is_empty()
    }
}

/// The medium from the point of view of a station.
#[derive(Debug, Clone, Copy, Default)]
struct View {
    /// The number of frames that it senses now, including its own.
    heard: u32,
    /// The time until which others have reserved the medium (NAV).
    nav_ps: u64,
    /// The time since which it has sensed nothing.
    idle_ps: u64,
    /// The time by which it defers longer than AIFS.
    defers_ps: u64,
    /// True if the frames that it senses, or sensed last, overlap.
    has_clash: bool,
}

/// All frames in the air, and the view of each station.
#[derive(Debug)]
pub struct Airspace {
    /// The power with which stations hear each other.
    pub propagation: Propagation,
    views: Vec<View>,
    frames: Vec<Frame>,
    /// EIFS without DIFS, in picoseconds.
    eifs_ps: u64,
    numbers: u64,
}

impl Airspace {
    /// Returns the empty air between that number of stations.
    pub fn new(propagation: Propagation, stations: usize, eifs_ps: u64) -> Self {
        Self { propagation, views: vec![View::default(); stations], frames: Vec::new(), eifs_ps, numbers: 0 }
    }

    /// Returns whether a station may not count slots, because it senses a frame or others have reserved the
    /// medium.
    pub fn is_busy(&self, station: usize, now_ps: u64) -> bool {
        self.senses_any(station) || self.is_reserved(station, now_ps)
    }

    /// Returns whether a station senses a frame.
    pub fn senses_any(&self, station: usize) -> bool {
        self.views[station].heard > 0
    }

    /// Returns whether others have reserved the medium beyond `now_ps`.
    pub fn is_reserved(&self, station: usize, now_ps: u64) -> bool {
        self.views[station].nav_ps > now_ps
    }

    /// Returns whether the frames that a station senses, or sensed last, overlap.
    pub fn has_clash(&self, station: usize) -> bool {
        self.views[station].has_clash
    }

    /// Returns the time from which a station may count AIFS, which may be in the future, and the time by which it
    /// defers longer; `None` while it senses a frame.
    pub fn idle(&self, station: usize) -> Option<(u64, u64)> {
        let view = &self.views[station];
        (view.heard == 0).then(|| (view.idle_ps.max(view.nav_ps), view.defers_ps))
    }

    /// Begins a frame and returns its number. [`Airspace::interfere`] must be called after all other changes at
    /// this time.
    pub fn begin(&mut self, now_ps: u64, from: usize, to: Option<usize>, preamble_ps: u64) -> u64 {
        for station in 0..self.views.len() {
            if self.propagation.senses(from, station) {
                let view = &mut self.views[station];
                view.has_clash = view.heard > 0;
                view.heard += 1;
            }
        }
        self.numbers += 1;
        let number = self.numbers;
        self.frames.push(Frame {
            from,
            to,
            began_ps: now_ps,
            preamble_ps,
            interference: Vec::new(),
            is_lost: false,
            number,
        });
        number
    }

    /// Ends a frame and returns it. [`Airspace::interfere`] must be called after all other changes at this time.
    pub fn end(&mut self, now_ps: u64, number: u64) -> Option<Frame> {
        let place = self.frames.iter().position(|frame| frame.number == number)?;
        let frame = self.frames.swap_remove(place);
        for station in 0..self.views.len() {
            if self.propagation.senses(frame.from, station) {
                let view = &mut self.views[station];
                view.heard -= 1;
                if view.heard == 0 {
                    view.idle_ps = now_ps;
                    view.defers_ps = if view.has_clash { self.eifs_ps } else { 0 };
                }
            }
        }
        Some(frame)
    }

    /// Computes the interference at the receiver of each frame.
    pub fn interfere(&mut self, now_ps: u64) {
        if self.frames.len() < 2 && !self.frames.iter().any(Frame::is_interfered) {
            return;
        }
        for place in 0..self.frames.len() {
            let Frame { from, to, .. } = self.frames[place];
            let Some(to) = to else { continue };
            let others = self.frames.iter().filter(|other| other.from != from);
            let power_mw =
                others
                    .map(|other| {
                        if other.from == to {
                            f64::INFINITY
                        } else {
                            self.propagation.power_mw(other.from, to)
                        }
                    })
                    .sum();
            let captures = self.propagation.captures(from, to, power_mw);
            let frame = &mut self.frames[place];
            if frame.interference.last().map_or(0.0, |(_, last)| *last) != power_mw {
                frame.interference.push((now_ps, power_mw));
            }
            frame.is_lost |= !captures && now_ps < frame.began_ps + frame.preamble_ps;
        }
    }

    /// Returns whether the preamble of a frame could not be received.
    pub fn is_lost(&self, number: u64) -> bool {
        self.frames.iter().any(|frame| frame.number == number && frame.is_lost)
    }

    /// Reserves the medium until `until_ps`, after a frame of `from`, for all stations that could read it except
    /// those in `between`, which continue their exchange.
    pub fn reserve(&mut self, from: usize, between: [usize; 2], until_ps: u64) {
        for station in 0..self.views.len() {
            let view = &mut self.views[station];
            let has_read = self.propagation.senses(from, station) && view.heard == 0 && !view.has_clash;
            if has_read || between.contains(&station) {
                view.nav_ps = view.nav_ps.max(until_ps);
            }
        }
    }

    /// Releases the medium after a frame of `from` that was not received: stations that heard it drop the
    /// reservation until `until_ps` that this frame or the one before made (clause 10.3.2.4), and all of them
    /// defer for EIFS.
    pub fn release(&mut self, now_ps: u64, from: usize, until_ps: u64) {
        for station in 0..self.views.len() {
            if self.propagation.senses(from, station) {
                let view = &mut self.views[station];
                if view.nav_ps == until_ps {
                    view.nav_ps = now_ps;
                }
                if view.heard == 0 {
                    view.defers_ps = self.eifs_ps;
                }
            }
        }
    }
}
