//! Bulk transfers over TCP and MPTCP.

use super::{Application, Ground};
use crate::{Connection, Io, Notice, Time};
use nettrial_scenario::{Span, Transfer};

/// The bytes of the receiver's confirmation.
pub const CONFIRMATION_BYTES: u64 = 8;
/// The bytes of the lab's agents before a transfer's own: the opening of a connection, which leaves at once, and the end of
/// the flow's duration, which leaves with the first data (`connect` and `told_end` of `engine/traffic`). They do not count
/// for rates, but the opening is a segment of the first window, and short transfers show it.
const OPENING_BYTES: u64 = 17;
const END_BYTES: u64 = 16;
/// The bytes of a write of the lab's agents (`engine/traffic`).
const BLOCK_BYTES: u64 = 128 << 10;

/// Confirms at the receiver of a connection that all data has arrived.
pub fn confirm(connection: &mut Connection, io: &mut dyn Io) {
    connection.write(1, CONFIRMATION_BYTES, io);
    connection.close(1, io);
}

/// The transfers of a flow, one after the other.
pub struct Bulk<'a> {
    settings: &'a Transfer,
    /// The time until which the last transfer may begin, or, without a size, the time at which it ends.
    deadline: Time,
    connection: u32,
    begin: Time,
    /// The first write to the open connection, once there is one.
    first_write: Option<Time>,
    /// The first write of the flow.
    began: Option<Time>,
    /// The bytes written after the opening.
    written: u64,
    is_writing: bool,
}

impl<'a> Bulk<'a> {
    /// Returns the application before it sends anything.
    pub fn new(settings: &'a Transfer) -> Self {
        Self {
            settings,
            deadline: Time::NEVER,
            connection: 0,
            begin: Time::ZERO,
            first_write: None,
            began: None,
            written: 0,
            is_writing: false,
        }
    }

    /// Opens the connection of the next transfer.
    fn open(&mut self, ground: &mut Ground<'_, '_>) {
        self.begin = ground.now();
        (self.written, self.is_writing, self.first_write) = (0, false, None);
        self.connection = ground.open();
        if self.settings.duration.is_some() {
            ground.count_until(self.connection, self.deadline, OPENING_BYTES + END_BYTES);
        }
        ground.unwatch(self.connection, 1);
    }

    /// Writes as much as the send buffer accepts, until the transfer's size or end.
    fn write(&mut self, ground: &mut Ground<'_, '_>) {
        while self.is_writing {
            let block = match self.written.checked_sub(END_BYTES) {
                Some(written) => BLOCK_BYTES - written % BLOCK_BYTES,
                None => END_BYTES + BLOCK_BYTES - self.written,
            };
            let is_between = self.written == 0 || block == BLOCK_BYTES;
            let left = match self.settings.size {
                Some(size) => (END_BYTES + size.0 - self.written).min(block),
                // A write that has begun goes on beyond the deadline.
                None if is_between && ground.now() >= self.deadline => 0,
                None => block,
            };
            if left == 0 {
                self.is_writing = false;
                return ground.close(self.connection, 0);
            }
            let taken = ground.write(self.connection, 0, left);
            self.written += taken;
            if taken < left {
                return;
            }
        }
    }

    /// Ends the span of a flow whose duration is over. What arrives later does not count for its rates.
    fn cut(&self, ground: &mut Ground<'_, '_>) {
        let is_due = self.settings.duration.is_some() && ground.now() >= self.deadline;
        if !is_due || ground.figures.over.is_some() || ground.figures.span.is_some() {
            return;
        }
        // If no connection opened in time, nothing arrived in all of the duration.
        let is_late = |time: &Time| *time >= self.deadline;
        let began = self.began.filter(|time| !is_late(time));
        let open_from = if began.is_some() { self.first_write } else { Some(self.begin) };
        let open_ns =
            open_from.filter(|time| !is_late(time)).map_or(0, |from| self.deadline.since(from).as_ns());
        ground.figures.span = Some(Span {
            began_ns: began.unwrap_or(self.begin).as_ns(),
            ended_ns: self.deadline.as_ns(),
            active_ns: ground.figures.active_ns + open_ns,
            bytes: 0,
        });
    }

    /// Handles the receiver's confirmation: begins the next transfer or ends the flow.
    fn confirmed(&mut self, ground: &mut Ground<'_, '_>) {
        self.cut(ground);
        let (first_write, now) = (self.first_write.unwrap_or(self.begin), ground.now());
        ground.figures.active_ns += now.since(first_write).as_ns();
        ground.figures.bytes += self.written.saturating_sub(END_BYTES);
        if self.settings.duration.is_none() {
            let active_ns = ground.figures.active_ns;
            ground.set_span(self.began.unwrap_or(self.begin), now, active_ns);
        }
        ground.release(self.connection);
        if self.settings.size.is_some() {
            ground.figures.completion.record(ground.since_ns(self.begin));
        }
        let is_repeated = self.settings.size.is_some() && self.settings.duration.is_some();
        if is_repeated && ground.now() < self.deadline {
            self.open(ground);
        } else {
            ground.finish();
        }
    }
}

impl Application for Bulk<'_> {
    fn start(&mut self, ground: &mut Ground<'_, '_>) {
        if let Some(duration) = self.settings.duration {
            self.deadline = ground.now() + Time::from_ns(duration.0);
            ground.wake(self.deadline);
        }
        self.open(ground);
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
        self.cut(ground);
        self.write(ground);
    }

    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>) {
        match notice {
            Notice::Closed { connection, side: 1 } => {
                if let Some(connection) = ground.connections.get_mut(connection) {
                    confirm(connection, ground.io);
                }
            }
            Notice::Connected { connection, side: 0 } if connection == self.connection => {
                ground.figures.connect.record(ground.since_ns(self.begin));
                self.first_write = Some(ground.now());
                self.began.get_or_insert(ground.now());
                self.is_writing = true;
                ground.write(self.connection, 0, OPENING_BYTES);
                self.write(ground);
            }
            Notice::Writable { connection, side: 0 } if connection == self.connection => self.write(ground),
            Notice::Readable { connection, side: 0, total_bytes }
                if connection == self.connection && total_bytes == CONFIRMATION_BYTES =>
            {
                self.confirmed(ground);
            }
            Notice::Failed { connection, .. } if connection == self.connection => {
                let received = ground.received(connection, 1);
                ground.figures.bytes += received.saturating_sub(OPENING_BYTES + END_BYTES);
                ground.figures.active_ns += self.first_write.map_or(0, |first| ground.since_ns(first));
                ground.fail(connection, "its connection could not be opened, or gave up");
            }
            _ => {}
        }
    }
}
