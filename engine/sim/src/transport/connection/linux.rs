//! The scheduler of Linux's own MPTCP, and its retransmission of data on other subflows (net/mptcp/protocol.c, Linux
//! 6.12). Data is assigned to the send queue of a subflow, in bursts of about 64 KiB that end with a fragment of the
//! connection's own buffer, before it leaves. The subflow is the one that would be the first to have sent what it has
//! queued at its average pacing rate, and is assigned nothing while its send buffer is full
//! (mptcp_subflow_get_send). What is assigned stays there. Once nothing was acknowledged for the time of a timeout, the
//! oldest fragment is retransmitted on a subflow that has nothing to send (__mptcp_retrans), and after five such timeouts
//! without an acknowledgment on a subflow, everything is (mptcp_pm_nl_subflow_chk_stale).
//! The model differs from Linux as follows: there are no backup subflows; the connection's buffer counts the data of
//! fragments, not their heads; a subflow's own window, which is that of the connection or larger, is not checked again
//! when assigned data leaves.

use super::Side;
use crate::transport::tcp::{MINIMUM_RTO, Tcp};
use crate::{Io, Time};
use std::collections::VecDeque;

/// The most data that is assigned at once, unless a fragment is longer (MPTCP_SEND_BURST_SIZE).
const BURST_BYTES: i64 = (1 << 16) - 20 - 40 - 40 - 8;
/// The memory of which the application's data takes fragments (SKB_FRAG_PAGE_ORDER), the memory before the data of each
/// (mptcp_data_frag), and what has to be left for another (mptcp_page_frag_refill).
const PAGE_BYTES: u64 = 32_768;
const FRAGMENT_BYTES: u64 = 40;
const LEFT_BYTES: u64 = 72;
/// The timeouts without an acknowledgment after which a subflow is stale (net.mptcp.stale_loss_cnt), and those of another
/// one that can replace it.
const STALE: u32 = 4;
const REPLACES: u32 = 3;

/// The state of the scheduler.
#[derive(Debug, Default)]
pub(super) struct Linux {
    /// The ends of the fragments that are not acknowledged, and the rest of the page of the last one.
    fragments: VecDeque<u64>,
    page_left: u64,
    /// The next data to be assigned, which was assigned before if it has to be repeated, and the first that is not
    /// acknowledged.
    pending: u64,
    una: u64,
    /// The data that may still be assigned to the chosen subflow.
    burst: i64,
    /// The time of the retransmission timer when it is set next (timer_ival), the time at which it is due, and that of the
    /// wake-up.
    interval: Time,
    due: Option<Time>,
    waking: Option<Time>,
    /// The buffer without those of subflows; `None` if the application determines the size.
    least_buffer_bytes: Option<u64>,
}

impl Linux {
    /// Creates the state before anything is written.
    pub(super) fn new(least_buffer_bytes: Option<u64>) -> Self {
        Self { least_buffer_bytes, ..Self::default() }
    }

    /// Returns the end of the fragment with the next data to be assigned.
    fn fragment_end(&self) -> u64 {
        let index = self.fragments.partition_point(|&end| end <= self.pending);
        self.fragments.get(index).copied().unwrap_or(self.pending)
    }
}

impl Side {
    fn linux(&mut self) -> &mut Linux {
        self.linux.as_mut().expect("the side has this scheduler")
    }

    /// Copies what the application writes into fragments, as long as there is room (mptcp_sendmsg); returns the bytes
    /// for which there was.
    pub(super) fn write_fragments(&mut self, bytes: u64) -> u64 {
        let Some(linux) = &mut self.linux else { return 0 };
        let mut left = bytes;
        while left > 0 && self.stream.has_room() {
            let start = self.stream.written();
            let follows = linux.pending < start && linux.page_left > 0;
            if !follows {
                if linux.page_left < LEFT_BYTES {
                    linux.page_left = PAGE_BYTES;
                }
                linux.page_left = linux.page_left / 8 * 8 - FRAGMENT_BYTES;
                linux.fragments.push_back(start);
            }
            let taken = left.min(linux.page_left);
            linux.page_left -= taken;
            left -= taken;
            self.stream.append(taken);
            if let Some(last) = linux.fragments.back_mut() {
                *last = start + taken;
            }
        }
        self.stream.end_write(left > 0);
        bytes - left
    }

    /// Assigns data to subflows and sends on those that got any, after a write or a timeout of the connection
    /// (__mptcp_push_pending).
    pub(super) fn push_pending(&mut self, io: &mut dyn Io) {
        self.assign_all(None, io);
    }

    /// Assigns data to subflows and sends, after an acknowledgment on the subflow `origin`, which sends what its window
    /// allows, too (ack_update_msk, tcp_data_snd_check).
    pub(super) fn push_acknowledged(&mut self, origin: usize, was_established: bool, io: &mut dyn Io) {
        let is_joined = was_established || origin == 0 || self.subflows[origin].endpoint().side == 1;
        if let Some(queue) = &mut self.subflows[origin].queue {
            queue.is_joined |= is_joined;
        }
        self.subflows[origin].note_rate(io.now());
        let (next, window_end) = self.stream.next_and_window_end();
        if window_end > next {
            self.assign_all(Some(origin), io);
        } else {
            self.send_on(origin, false, io);
        }
        self.on_data_acked(io);
        let subflow = &self.subflows[origin];
        if self.stream.is_full() && subflow.is_established() && subflow.has_window() {
            self.expand_subflow_buffer(origin);
        }
    }

    fn assign_all(&mut self, origin: Option<usize>, io: &mut dyn Io) {
        let (mut current, mut is_origin, mut has_assigned) = (origin, true, false);
        while self.linux().pending < self.stream.written() {
            let Some(chosen) = self.choose_by_time(io.now()) else { break };
            if let Some(before) = current.filter(|&before| before != chosen) {
                self.end_burst_of(before, has_assigned, is_origin && origin.is_some(), io);
                (is_origin, has_assigned) = (false, false);
            }
            current = Some(chosen);
            if !self.assign_burst(chosen, io) {
                break;
            }
            has_assigned = true;
        }
        if let Some(last) = current {
            self.end_burst_of(last, has_assigned, is_origin && origin.is_some(), io);
        }
    }

    /// Sends on a subflow to which data was assigned, or on which an acknowledgment arrived.
    fn end_burst_of(&mut self, index: usize, has_assigned: bool, is_origin: bool, io: &mut dyn Io) {
        let mut waits = false;
        if has_assigned {
            let (subflow, mut scope) = self.part(index, io);
            waits = subflow.end_assignment(&mut scope) && !is_origin;
            if self.linux().due.is_none() {
                self.reset_timer(io);
            }
        }
        if !waits {
            self.send_on(index, false, io);
        }
    }

    /// Returns the subflow to which the next data is assigned, if its buffer has room (mptcp_subflow_get_send).
    fn choose_by_time(&mut self, now: Time) -> Option<usize> {
        let mut best: Option<(u64, usize)> = None;
        let mut interval = Time::ZERO;
        for index in 0..self.subflows.len() {
            if !self.is_active(index) {
                continue;
            }
            let subflow = &mut self.subflows[index];
            let memory = subflow.queued_memory();
            let until = subflow.time_to_retransmission(now).unwrap_or(Time::ZERO);
            let Some(queue) = &mut subflow.queue else { continue };
            if queue.stale_count == 0 {
                interval = interval.max(until);
            }
            if queue.average_rate == 0 {
                queue.average_rate = queue.pacing_rate;
            }
            let Some(time) = (memory << 32).checked_div(queue.average_rate) else { continue };
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, index));
            }
        }
        self.linux().interval = if interval > Time::ZERO { interval } else { MINIMUM_RTO };
        let index = best?.1;
        let (next, window_end) = self.stream.next_and_window_end();
        let memory = self.subflows[index].queued_memory();
        let queue = self.subflows[index].queue.as_mut()?;
        if memory >= queue.buffer_bytes {
            return None;
        }
        let burst = BURST_BYTES.min(window_end.saturating_sub(next) as i64);
        if burst > 0 {
            let sum = queue.average_rate * memory + queue.pacing_rate * burst as u64;
            queue.average_rate = sum / (memory + burst as u64);
            self.linux().burst = burst;
        }
        Some(index)
    }

    /// Assigns a burst to a subflow; returns whether it got any (__subflow_push_pending).
    fn assign_burst(&mut self, index: usize, io: &mut dyn Io) -> bool {
        let mut has_assigned = false;
        while self.linux().pending < self.stream.written() {
            let end = self.linux().fragment_end();
            while self.linux().pending < end {
                let pending = self.linux().pending;
                let most = (end - pending).min(self.stream.next_and_window_end().1.saturating_sub(pending));
                if most == 0 {
                    return has_assigned;
                }
                let (subflow, mut scope) = self.part(index, io);
                let bytes = u64::from(subflow.assign(pending, most, &mut scope));
                has_assigned = true;
                let linux = self.linux();
                linux.pending += bytes;
                linux.burst -= bytes as i64;
                self.stream.assign_until(pending + bytes);
            }
            let memory = self.subflows[index].queued_memory();
            let is_full =
                self.subflows[index].queue.as_ref().is_none_or(|queue| memory >= queue.buffer_bytes);
            if self.linux().burst <= 0 || is_full {
                break;
            }
        }
        has_assigned
    }

    /// Returns whether data may be assigned to a subflow (mptcp_subflow_active).
    fn is_active(&mut self, index: usize) -> bool {
        let subflow = &mut self.subflows[index];
        let Some(queue) = &mut subflow.queue else { return false };
        queue.is_stale &= queue.stale_since_ms == queue.acked_at_ms;
        !queue.is_stale && queue.is_joined && subflow.is_established() && !subflow.has_sent_fin()
    }

    /// Handles an acknowledgment of data (__mptcp_clean_una).
    fn on_data_acked(&mut self, io: &mut dyn Io) {
        let una = self.stream.una();
        let is_all = una == self.stream.written();
        let linux = self.linux();
        if una <= linux.una {
            return;
        }
        linux.una = una;
        linux.pending = linux.pending.max(una);
        while linux.fragments.front().is_some_and(|&end| end <= una) {
            linux.fragments.pop_front();
        }
        if is_all {
            linux.due = None;
            linux.interval = Time::ZERO;
        } else {
            self.reset_timer(io);
        }
    }

    /// Sets the retransmission timer (mptcp_reset_rtx_timer).
    fn reset_timer(&mut self, io: &mut dyn Io) {
        let at = io.wheel().fires_at(io.now(), io.now() + self.linux().interval);
        self.linux().due = Some(at);
        self.wake_at(at, io);
    }

    fn wake_at(&mut self, at: Time, io: &mut dyn Io) {
        if self.linux().waking.is_none_or(|waking| at < waking) {
            self.linux().waking = Some(at);
            io.wake(self.subflows[0].endpoint(), at);
        }
    }

    /// Handles a wake-up of a subflow, after which it may have failed, so that all data is assigned to others
    /// (__mptcp_close_ssk). That of the first one is also that of the connection's retransmission timer.
    pub(super) fn on_linux_timer(&mut self, index: usize, io: &mut dyn Io) {
        if self.subflows[index].has_failed() {
            self.subflows[index].queue = None;
            self.assign_again();
            self.push_pending(io);
        }
        if index > 0 {
            return;
        }
        let now = io.now();
        let linux = self.linux();
        linux.waking = linux.waking.filter(|&waking| waking > now);
        match linux.due {
            Some(due) if due <= now => {
                linux.due = None;
                self.retransmit(io);
            }
            Some(due) => self.wake_at(due, io),
            None => {}
        }
    }

    /// Sends the oldest fragment again on a subflow that has nothing to send, if there is one (__mptcp_retrans).
    fn retransmit(&mut self, io: &mut dyn Io) {
        let chosen = self.choose_idle(io);
        let una = self.stream.una();
        let Some(&end) = self.linux().fragments.front() else { return };
        if self.subflows.iter().all(Tcp::has_failed) {
            return;
        }
        let limit = end.min(self.linux().pending);
        if let Some(index) = chosen {
            let (subflow, mut scope) = self.part(index, io);
            let mut at = una;
            while at < limit {
                at += u64::from(subflow.assign(at, limit - at, &mut scope));
            }
            if at > una {
                self.end_burst_of(index, true, false, io);
            }
        }
        if self.linux().due.is_none() {
            self.reset_timer(io);
        }
        self.push_pending(io);
    }

    /// Returns a subflow that has nothing to send or to repeat (mptcp_subflow_get_retrans), and counts timeouts without an
    /// acknowledgment of others.
    fn choose_idle(&mut self, io: &mut dyn Io) -> Option<usize> {
        let mut chosen = None;
        for index in 0..self.subflows.len() {
            if !self.subflows[index].is_established() {
                continue;
            }
            if self.subflows[index].is_drained() {
                chosen = chosen.or(Some(index));
            } else {
                self.check_stale(index, io);
            }
        }
        chosen
    }

    /// Counts a timeout of the connection for a subflow with data in flight. After five of them without an
    /// acknowledgment, all data is assigned again, to others (mptcp_pm_subflow_chk_stale, mptcp_pm_nl_subflow_chk_stale).
    fn check_stale(&mut self, index: usize, io: &mut dyn Io) {
        let Some(queue) = &mut self.subflows[index].queue else { return };
        if queue.stale_count == 0 {
            queue.stale_since_ms = queue.acked_at_ms;
            queue.stale_count = 1;
            return;
        }
        if queue.stale_since_ms != queue.acked_at_ms {
            queue.stale_count = 0;
            queue.is_stale = false;
            return;
        }
        queue.stale_count += 1;
        if queue.is_stale || queue.stale_count <= STALE {
            return;
        }
        let replaces = |side: &mut Self, other: usize| {
            let count = side.subflows[other].queue.as_ref().map_or(u32::MAX, |queue| queue.stale_count);
            other != index && count < REPLACES && side.is_active(other)
        };
        if (0..self.subflows.len()).any(|other| replaces(self, other)) {
            if let Some(queue) = &mut self.subflows[index].queue {
                queue.is_stale = true;
            }
            self.assign_again();
            self.push_pending(io);
        }
    }

    /// Lets all data that is not acknowledged be assigned again (__mptcp_retransmit_pending_data).
    fn assign_again(&mut self) {
        let una = self.stream.una();
        let linux = self.linux();
        linux.pending = una;
        linux.burst = 0;
    }

    /// Makes room in the buffer of a subflow (tcp_sndbuf_expand), and with it in that of the connection
    /// (__mptcp_sync_sndbuf).
    pub(super) fn expand_subflow_buffer(&mut self, index: usize) {
        let Some(least) = self.linux().least_buffer_bytes else { return };
        let wanted = self.stream.buffer_for(self.subflows[index].buffered_segments());
        let Some(queue) = &mut self.subflows[index].queue else { return };
        queue.buffer_bytes = queue.buffer_bytes.max(wanted);
        let established = self.subflows.iter().filter(|subflow| subflow.is_established());
        let buffers = established.filter_map(|subflow| subflow.queue.as_ref());
        let bytes = buffers.map(|queue| queue.buffer_bytes).sum::<u64>();
        self.stream.set_buffer(least + bytes);
    }
}
