//! A connection whose two ends write more than there may be room for.

use super::Ground;

/// A connection of an application, with what each side has yet to write.
#[derive(Debug, Default)]
pub struct Stream {
    /// The connection's number.
    pub connection: u32,
    pending: [u64; 2],
    is_closing: [bool; 2],
}

impl Stream {
    /// The connection of that number, to which nothing has been written.
    pub fn new(connection: u32) -> Self {
        Self { connection, ..Self::default() }
    }

    /// Returns whether all that side wrote was taken.
    pub fn is_free(&self, side: u8) -> bool {
        self.pending[usize::from(side)] == 0
    }

    /// Notes that a side writes so many bytes more.
    pub fn write(&mut self, side: u8, bytes: u64, ground: &mut Ground<'_, '_>) {
        let waits = !self.is_free(side);
        self.pending[usize::from(side)] += bytes;
        // A buffer that was full tells when it has room.
        if !waits {
            self.flush(side, ground);
        }
    }

    /// Notes that a side has written all.
    pub fn close(&mut self, side: u8, ground: &mut Ground<'_, '_>) {
        self.is_closing[usize::from(side)] = true;
        if self.is_free(side) {
            ground.close(self.connection, side);
        }
    }

    /// There is room again for what that side has yet to write.
    pub fn flush(&mut self, side: u8, ground: &mut Ground<'_, '_>) {
        let pending = &mut self.pending[usize::from(side)];
        *pending -= ground.write(self.connection, side, *pending);
        if *pending == 0 && self.is_closing[usize::from(side)] {
            ground.close(self.connection, side);
        }
    }
}
