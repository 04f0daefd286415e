//! The assignment of data to subflows: the scheduler, reinjection after a timeout, and opportunistic
//! retransmission when the shared window is full (Raiciu et al., "How Hard Can It Be?", NSDI 2012, section 4.2).
//! Both schedulers are those of the out-of-tree Linux MPTCP (net/mptcp/mptcp_sched.c, mptcp_rr.c) without the
//! halving of the slow subflow's window; that of Linux's own MPTCP is in [`super::linux`].

use super::Side;
use crate::Io;
use crate::transport::stream::Chunk;
use crate::transport::tcp::{Attempt, Readiness, Scope, Tcp};
use nettrial_scenario::Scheduler;
use std::collections::VecDeque;

/// The scheduling state of a side.
#[derive(Debug, Default)]
pub(super) struct Scheduling {
    scheduler: Scheduler,
    /// The subflow that sent last.
    last: usize,
    /// Data to be retransmitted, with the subflow that sent it before.
    again: VecDeque<(u64, u64, usize)>,
    /// The data that was retransmitted because the window was full, which happens only once.
    repeated: Option<u64>,
    /// True if a subflow could have sent more data than there was. Otherwise, each subflow waits for its own
    /// events, and other events need not consider it.
    is_starved: bool,
}

impl Scheduling {
    /// Creates the state of that scheduler.
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, last: 0, again: VecDeque::new(), repeated: None, is_starved: true }
    }
}

/// A piece of data to send.
struct Work {
    chunk: Chunk,
    is_new: bool,
}

impl Work {
    /// Returns data that was sent before.
    fn again(data_sequence: u64, bytes: u32) -> Self {
        Self { chunk: Chunk { data_sequence, bytes, is_last: false, is_pushed: false }, is_new: false }
    }
}

impl Side {
    /// Sends as much data as subflows and windows allow, after an event of the subflow `origin` or of the
    /// application.
    pub(super) fn push(&mut self, origin: Option<usize>, io: &mut dyn Io) {
        if self.linux.is_some() {
            self.push_pending(io);
        } else if self.subflows.len() == 1 {
            self.send_on(0, false, io);
        } else {
            self.push_all(origin, io);
        }
        self.push_fins(io);
    }

    /// Sends as [`Self::push`] does, after a write of the application.
    pub(super) fn push_written(&mut self, io: &mut dyn Io) {
        if self.subflows.len() == 1 {
            self.send_on(0, true, io);
        } else {
            self.push_all(None, io);
        }
        self.push_fins(io);
    }

    /// Sends on a subflow the data of its own queue or, if it is the only one, of the connection.
    pub(super) fn send_on(&mut self, index: usize, is_write: bool, io: &mut dyn Io) {
        let (subflow, mut scope) = self.part(index, io);
        let mut sent = match subflow.probe_path_mtu(&mut scope) {
            Attempt::NotDue => 0,
            Attempt::Sent => 1,
            Attempt::Waits => return,
        };
        let mut is_full = false;
        while subflow.has_unsent(&scope) && !(is_write && subflow.corks(&mut scope)) {
            match subflow.readiness(&mut scope) {
                Readiness::Now => {}
                Readiness::Window => {
                    is_full = true;
                    break;
                }
                Readiness::Later => break,
                Readiness::No => return,
            }
            let (pkts, could_go_on) = send_burst(subflow, &mut scope);
            sent += pkts;
            if !could_go_on {
                subflow.wait_for_room(&mut scope);
                break;
            }
        }
        if sent > 0 || is_full {
            subflow.validate_window(sent, is_full, &mut scope);
        }
    }

    /// Sends on an MPTCP connection: each segment goes to the subflow that the scheduler chooses.
    fn push_all(&mut self, origin: Option<usize>, io: &mut dyn Io) {
        let mut sent = [0; 8];
        let mut is_full = [false; 8];
        let mut asked = [false; 8];
        let was_starved = std::mem::take(&mut self.scheduling.is_starved);
        if let Some(origin) = origin.filter(|_| !was_starved) {
            asked = [true; 8];
            asked[origin] = false;
        }
        loop {
            if !self.has_work() {
                self.scheduling.is_starved = true;
                break;
            }
            let Some(index) = self.choose(&mut asked, &mut is_full, io) else { break };
            let (pkts, could_go_on) = self.push_burst(index, io);
            sent[index] += pkts;
            asked[index] |= !could_go_on;
        }
        for index in 0..self.subflows.len() {
            if sent[index] > 0 || is_full[index] {
                let (subflow, mut scope) = self.part(index, io);
                subflow.validate_window(sent[index], is_full[index], &mut scope);
            }
        }
    }

    /// Makes a subflow send a burst; returns its number of segments, and whether the subflow could continue.
    fn push_burst(&mut self, index: usize, io: &mut dyn Io) -> (u32, bool) {
        let most = self.subflows[index].begin_burst();
        let mut sent = 0;
        while sent < most {
            let Some(work) = self.work_for(index) else {
                self.scheduling.is_starved = true;
                break;
            };
            let (subflow, mut scope) = self.part(index, io);
            if !subflow.send_new(work.chunk, &mut scope) {
                subflow.wait_for_room(&mut scope);
                break;
            }
            sent += 1;
            self.scheduling.last = index;
            self.on_work_sent(&work);
        }
        self.subflows[index].end_burst(io.now());
        (sent, sent == most)
    }

    fn has_work(&mut self) -> bool {
        let una = self.stream.una();
        while self.scheduling.again.front().is_some_and(|&(_, end, _)| end <= una) {
            self.scheduling.again.pop_front();
        }
        !self.scheduling.again.is_empty() || self.stream.has_unsent()
    }

    /// Returns the subflow to send next, among those that can and were not `asked` in vain.
    fn choose(&mut self, asked: &mut [bool; 8], is_full: &mut [bool; 8], io: &mut dyn Io) -> Option<usize> {
        let count = self.subflows.len();
        let mut best: Option<(u64, usize)> = None;
        for offset in 1..=count {
            let index = (self.scheduling.last + offset) % count;
            if asked[index] {
                continue;
            }
            let (subflow, mut scope) = self.part(index, io);
            let readiness = subflow.readiness(&mut scope);
            is_full[index] |= readiness == Readiness::Window;
            if readiness != Readiness::Now {
                asked[index] = true;
                continue;
            }
            let cost = match self.scheduling.scheduler {
                Scheduler::Linux | Scheduler::LowestRtt => self.subflows[index].smoothed_rtt().0,
                Scheduler::RoundRobin => offset as u64,
            };
            let key = (cost, index);
            best = Some(best.map_or(key, |other| other.min(key)));
        }
        best.map(|(_, index)| index)
    }

    /// Returns the next data for a subflow: data of a subflow that timed out, new data or, if the shared window is
    /// full, the oldest data if another subflow has it in flight.
    fn work_for(&mut self, index: usize) -> Option<Work> {
        let una = self.stream.una();
        let most = self.subflows[index].segment_bytes();
        let is_foreign = |&&(_, end, from): &&(u64, u64, usize)| from != index && end > una;
        if let Some(&(start, end, _)) = self.scheduling.again.iter().find(is_foreign) {
            let start = start.max(una);
            let bytes = (end - start).min(u64::from(most)) as u32;
            return Some(Work::again(start, bytes));
        }
        if let Some(chunk) = self.stream.peek(most) {
            return Some(Work { chunk, is_new: true });
        }
        let is_blocked = self.stream.has_unsent() && self.scheduling.repeated != Some(una);
        let (data_sequence, bytes) = self.oldest_elsewhere(index, una).filter(|_| is_blocked)?;
        Some(Work::again(data_sequence, bytes.min(most)))
    }

    /// Returns the data at `una` if a slower subflow than `index` has it in flight.
    fn oldest_elsewhere(&self, index: usize, una: u64) -> Option<(u64, u32)> {
        let own = self.subflows[index].smoothed_rtt();
        self.subflows
            .iter()
            .enumerate()
            .filter(|(other, subflow)| *other != index && subflow.smoothed_rtt() > own)
            .filter_map(|(_, subflow)| subflow.oldest_data())
            .find(|&(start, bytes)| start <= una && una < start + u64::from(bytes))
    }

    fn on_work_sent(&mut self, work: &Work) {
        let Chunk { data_sequence, bytes, .. } = work.chunk;
        if work.is_new {
            self.stream.take(bytes);
            return;
        }
        let end = data_sequence + u64::from(bytes);
        let una = self.stream.una();
        let again = &mut self.scheduling.again;
        let position = again.iter().position(|range| range.0.max(una) == data_sequence);
        match position {
            Some(position) if again[position].1 <= end => {
                again.remove(position);
            }
            Some(position) => again[position].0 = end,
            None => self.scheduling.repeated = Some(una),
        }
    }

    /// Makes the other subflows resend the data that a subflow had in flight when it timed out (MPTCP's
    /// reinjection).
    pub(super) fn reinject(&mut self, index: usize) {
        if self.subflows.len() == 1 {
            return;
        }
        self.scheduling.is_starved = true;
        let una = self.stream.una();
        for (start, end) in self.subflows[index].outstanding_data() {
            if end <= una || start == end {
                continue;
            }
            match self.scheduling.again.back_mut() {
                Some(last) if last.1 == start && last.2 == index => last.1 = end,
                _ => self.scheduling.again.push_back((start, end, index)),
            }
        }
    }

    pub(super) fn push_fins(&mut self, io: &mut dyn Io) {
        if !self.stream.is_fin_due() {
            return;
        }
        for index in 0..self.subflows.len() {
            let (subflow, mut scope) = self.part(index, io);
            if subflow.is_established() && !subflow.has_sent_fin() {
                let at = scope.stream.una();
                let fin = Chunk { data_sequence: at, bytes: 0, is_last: true, is_pushed: false };
                if !subflow.send_new(fin, &mut scope) {
                    subflow.wait_for_room(&mut scope);
                }
            }
        }
    }
}

/// Sends the next burst of a stream; returns its number of segments, and whether the window and the own interface
/// accepted all.
fn send_burst(subflow: &mut Tcp, scope: &mut Scope<'_>) -> (u32, bool) {
    let most = subflow.begin_burst();
    let mut sent = 0;
    let mut is_taken = true;
    while is_taken && sent < most && subflow.has_unsent(scope) {
        is_taken = send_next(subflow, scope);
        sent += u32::from(is_taken);
    }
    subflow.end_burst(scope.now);
    (sent, is_taken)
}

/// Sends the next data of a stream; returns `false` if the window or the own interface accepted none.
fn send_next(subflow: &mut Tcp, scope: &mut Scope<'_>) -> bool {
    let is_idle = subflow.oldest_data().is_none();
    let chunk = subflow.peek_new(scope).or_else(|| scope.stream.peek_probe().filter(|_| is_idle));
    let Some(chunk) = chunk else { return false };
    if !subflow.send_new(chunk, scope) {
        return false;
    }
    subflow.take_new(chunk.bytes, scope);
    true
}
