//! The frames in the air, and how each station finds the medium: physical carrier sense, and the NAV (clause 10.3.2.1).
//!
//! A station that hears frames which overlap, or one that its receiver could not read, takes them for lost and defers for
//! EIFS; one that hears a single frame which its receiver could read reads its duration, too. So the model does not ask
//! of a bystander whether noise would have kept it from reading a frame. Carrier sense goes by the strongest of frames,
//! not by their sum, and finds a frame at once.

use crate::propagation::Propagation;

/// A frame in the air.
#[derive(Debug)]
pub struct Frame {
    pub from: usize,
    /// Its receiver; a beacon has none.
    pub to: Option<usize>,
    pub began_ps: u64,
    /// The time of its preamble.
    preamble_ps: u64,
    /// The interference at its receiver since each of these times, milliwatts; infinite while the receiver sends.
    interference: Vec<(u64, f64)>,
    /// True if its preamble could not be received.
    pub is_lost: bool,
    number: u64,
}

impl Frame {
    /// Returns the worst interference of a part of it, milliwatts.
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

    /// Returns whether anything else was ever heard at its receiver.
    pub fn is_interfered(&self) -> bool {
        !self.interference.is_empty()
    }
}

/// The medium as a station finds it.
#[derive(Debug, Clone, Copy, Default)]
struct View {
    /// Frames that it senses now, its own counted.
    heard: u32,
    /// The time until which others have reserved the medium.
    nav_ps: u64,
    /// The time since when it senses nothing.
    idle_ps: u64,
    /// The time by which it defers longer than AIFS.
    defers_ps: u64,
    /// True if frames that it senses, or sensed last, overlap.
    has_clash: bool,
}

/// All frames, and all views.
#[derive(Debug)]
pub struct Airspace {
    pub propagation: Propagation,
    views: Vec<View>,
    frames: Vec<Frame>,
    /// EIFS without DIFS.
    eifs_ps: u64,
    numbers: u64,
}

impl Airspace {
    pub fn new(propagation: Propagation, stations: usize, eifs_ps: u64) -> Self {
        Self { propagation, views: vec![View::default(); stations], frames: Vec::new(), eifs_ps, numbers: 0 }
    }

    /// Returns whether a station may not count slots: it senses a frame, or others have reserved the medium.
    pub fn is_busy(&self, station: usize, now_ps: u64) -> bool {
        self.senses_any(station) || self.is_reserved(station, now_ps)
    }

    /// Returns whether a station senses a frame.
    pub fn senses_any(&self, station: usize) -> bool {
        self.views[station].heard > 0
    }

    /// Returns whether others have reserved the medium for longer than until now.
    pub fn is_reserved(&self, station: usize, now_ps: u64) -> bool {
        self.views[station].nav_ps > now_ps
    }

    /// Returns whether frames overlapped that a station senses, or sensed last.
    pub fn has_clash(&self, station: usize) -> bool {
        self.views[station].has_clash
    }

    /// The time from which a station may count AIFS, which may be still to come, and by how much it defers longer; `None`
    /// while it senses a frame.
    pub fn idle(&self, station: usize) -> Option<(u64, u64)> {
        let view = &self.views[station];
        (view.heard == 0).then(|| (view.idle_ps.max(view.nav_ps), view.defers_ps))
    }

    /// A frame begins; gives its number. [`Airspace::interfere`] is due after all that happens at this time.
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

    /// A frame ends. [`Airspace::interfere`] is due after all that happens at this time.
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

    /// Works out anew what each frame's receiver hears beside it.
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

    /// Returns whether a frame's preamble could not be received.
    pub fn is_lost(&self, number: u64) -> bool {
        self.frames.iter().any(|frame| frame.number == number && frame.is_lost)
    }

    /// A frame of `from` that is over has reserved the medium until then for all that could read it, and for `between`,
    /// who go on.
    pub fn reserve(&mut self, from: usize, between: [usize; 2], until_ps: u64) {
        for station in 0..self.views.len() {
            let view = &mut self.views[station];
            let has_read = self.propagation.senses(from, station) && view.heard == 0 && !view.has_clash;
            if has_read || between.contains(&station) {
                view.nav_ps = view.nav_ps.max(until_ps);
            }
        }
    }

    /// A frame of `from` that is over was not received: nobody who heard it keeps what it or the one before it has
    /// reserved until then (clause 10.3.2.4), and all defer for EIFS.
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
