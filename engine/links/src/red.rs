//! The table by which the kernel's RED lets an idle time reduce its average (red_calc_qavg_from_idle_time,
//! include/net/red.h), as tc(8) computes it.

/// The number of entries of the table (RED_STAB_SIZE, include/net/red.h).
const ENTRIES: usize = 256;
/// Its largest entry.
const MOST: f64 = 31.0;

/// The reductions of RED's average by the length of an idle time.
#[derive(Debug, Clone)]
pub struct IdleTable {
    /// The binary logarithm of a cell, the time between two entries, in microseconds.
    pub cell_log: u8,
    /// The number of times that each number of cells halves the average.
    pub halvings: [u8; ENTRIES],
}

impl IdleTable {
    /// Returns the table for a new length's weight in the average, and a full frame's transmission time in microseconds.
    pub fn new(weight: f64, frame_us: f64) -> Self {
        // What a full frame's time takes off the average, as a power of two.
        let per_us = -(1.0 - weight).max(f64::MIN_POSITIVE).ln() / frame_us;
        let cell_log = (0..31).find(|log| MOST / per_us / f64::from(1_u32 << log) < 512.0).unwrap_or(31);
        let cell_us = f64::from(1_u32 << cell_log);
        let mut halvings = [0; ENTRIES];
        for (number, halvings) in halvings.iter_mut().enumerate().skip(1) {
            *halvings = (number as f64 * cell_us * per_us).min(MOST) as u8;
        }
        halvings[ENTRIES - 1] = MOST as u8;
        Self { cell_log, halvings }
    }

    /// Returns an average after an idle time: halved, or in the first cell, and while the table has no halving, less the
    /// time's share of a cell, but not less than half of it.
    pub fn after_idle(&self, average: f64, idle_us: u64) -> f64 {
        let idle_us = idle_us.min((ENTRIES as u64 - 1) << self.cell_log);
        match self.halvings[(idle_us >> self.cell_log) as usize] {
            0 => average * (1.0 - idle_us as f64 / f64::from(1_u32 << self.cell_log)).max(0.5),
            halvings => average / f64::from(1_u32 << halvings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 50 Mbit/s, a frame takes 246 us. A table for a weight of 1/512 has cells of 8192 us, and its first halving after 16
    /// of them, because 16 × 8192 us × 7.95 per second are 1.04.
    #[test]
    fn an_idle_time_reduces_the_average_as_in_the_kernel() {
        let table = IdleTable::new(1.0 / 512.0, 246.08);
        assert_eq!(table.cell_log, 13);
        assert_eq!((table.halvings[15], table.halvings[16], table.halvings[255]), (0, 1, 31));
        let after = |idle_us| table.after_idle(8192.0, idle_us);
        assert_eq!([0, 1000, 4096, 100_000].map(after), [8192.0, 7192.0, 4096.0, 4096.0]);
        assert_eq!([16 * 8192, 32 * 8192].map(after), [4096.0, 2048.0]);
        assert!(after(u64::MAX) < 1e-5);
    }
}
