//! Bulk transfers over TCP and MPTCP.

use super::{Application, Ground};
use crate::{Connection, Io, Notice, Time};
use nettrial_scenario::Transfer;

/// The bytes of the receiver's confirmation.
pub const CONFIRMATION_BYTES: u64 = 8;
/// A number of bytes that exceeds every send buffer.
const ALL_THERE_IS_ROOM_FOR: u64 = 1 << 40;

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
    first_write: Time,
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
            first_write: Time::ZERO,
            written: 0,
            is_writing: false,
        }
    }

    /// Opens the connection of the next transfer.
    fn open(&mut self, ground: &mut Ground<'_, '_>) {
        self.begin = ground.now();
        (self.written, self.is_writing) = (0, false);
        self.connection = ground.open();
        ground.unwatch(self.connection, 1);
    }

    /// Writes as much as the send buffer accepts, until the transfer's size or end.
    fn write(&mut self, ground: &mut Ground<'_, '_>) {
        while self.is_writing {
            let left = match self.settings.size {
                Some(size) => size.0 - self.written,
                None if ground.now() >= self.deadline => 0,
                None => ALL_THERE_IS_ROOM_FOR,
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

    /// Handles the receiver's confirmation: begins the next transfer or ends the flow.
    fn confirmed(&mut self, ground: &mut Ground<'_, '_>) {
        ground.figures.active_ns += ground.since_ns(self.first_write);
        ground.figures.bytes += self.written;
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
            if self.settings.size.is_none() {
                ground.wake(self.deadline);
            }
        }
        self.open(ground);
    }

    fn on_timer(&mut self, ground: &mut Ground<'_, '_>) {
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
                self.first_write = ground.now();
                self.is_writing = true;
                self.write(ground);
            }
            Notice::Writable { connection, side: 0 } if connection == self.connection => self.write(ground),
            Notice::Readable { connection, side: 0, total_bytes }
                if connection == self.connection && total_bytes == CONFIRMATION_BYTES =>
            {
                self.confirmed(ground);
            }
            Notice::Failed { connection, .. } if connection == self.connection => {
                ground.figures.bytes += ground.received(connection, 1);
                ground.fail(connection, "its connection could not be opened, or gave up");
            }
            _ => {}
        }
    }
}
