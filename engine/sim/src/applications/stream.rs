//! A connection whose two sides write more than its buffers may hold.

use super::Ground;

/// A connection of an application, with the bytes that each side has yet to write.
#[derive(Debug, Default)]
pub struct Stream {
    /// The connection's number.
    pub connection: u32,
    pending: [u64; 2],
    is_closing: [bool; 2],
}

impl Stream {
    /// Returns the connection of that number, to which nothing has been written.
    pub fn new(connection: u32) -> Self {
        Self { connection, ..Self::default() }
    }

    /// Returns whether the send buffer accepted all that a side wrote.
    pub fn is_free(&self, side: u8) -> bool {
        self.pending[usize::from(side)] == 0
    }

    /// Writes `bytes` further bytes from a side.
    pub fn write(&mut self, side: u8, bytes: u64, ground: &mut Ground<'_, '_>) {
        let waits = !self.is_free(side);
        self.pending[usize::from(side)] += bytes;
        // A full buffer reports when it has room again.
        if !waits {
            self.flush(side, ground);
        }
    }

    /// Ends a side's data.
    pub fn close(&mut self, side: u8, ground: &mut Ground<'_, '_>) {
        self.is_closing[usize::from(side)] = true;
        if self.is_free(side) {
            ground.close(self.connection, side);
        }
    }

    /// Continues writing after the send buffer reported room.
    pub fn flush(&mut self, side: u8, ground: &mut Ground<'_, '_>) {
        let pending = &mut self.pending[usize::from(side)];
        *pending -= ground.write(self.connection, side, *pending);
        if *pending == 0 && self.is_closing[usize::from(side)] {
            ground.close(self.connection, side);
        }
    }
}
