//! The access categories (clause 10.2.3.2).

use crate::phy::US;

/// An access category, in the order from the least to the most urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Category {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Category {
    /// All categories in their order.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// Returns the category of packets with a differentiated services codepoint, 0 to 63. User priorities follow
    /// RFC 8325 (section 4), as implemented in Linux since 6.8 (`cfg80211_classify8021d`, net/wireless/util.c),
    /// then table 10-1. If a codepoint is in neither, its three highest bits are the user priority.
    pub fn of_dscp(dscp: u8) -> Self {
        let priority = match dscp {
            // AF1x, and CS2, which the highest bits would make background.
            10 | 12 | 14 | 16 => 0,
            // AF2x.
            18 | 20 | 22 => 3,
            // CS3 and AF3x.
            24 | 26 | 28 | 30 => 4,
            // VOICE-ADMIT and EF.
            44 | 46 => 6,
            // CS6.
            48 => 7,
            other => other >> 3,
        };
        match priority {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// Returns the number of slots after SIFS (table 9-155; for an access point the values of shipped devices).
    pub(crate) fn aifsn(self, is_access_point: bool) -> u64 {
        match self {
            Self::Background => 7,
            Self::BestEffort => 3,
            Self::Video | Self::Voice => 2 - u64::from(is_access_point),
        }
    }

    /// Returns the smallest and the largest contention window (the same table with an aCWmin of 15).
    pub(crate) fn windows(self) -> (u64, u64) {
        match self {
            Self::Background | Self::BestEffort => (15, 1023),
            Self::Video => (7, 15),
            Self::Voice => (3, 7),
        }
    }

    /// Returns the TXOP limit in picoseconds; 0 allows one exchange of any length.
    pub(crate) fn txop_limit_ps(self) -> u64 {
        match self {
            Self::Background | Self::BestEffort => 0,
            Self::Video => 4096 * US,
            Self::Voice => 2080 * US,
        }
    }
}
