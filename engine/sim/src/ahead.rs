//! Reads what is about to be needed, so that events need not wait for memory one after the other.
//!
//! The links, packets and connections of a large fabric do not fit the CPU's cache. Were each event to wait for
//! its own, that would be most of a hop's time. So what the events of the calendar's next bucket need is read before
//! the first of them, and the CPU waits for all of that at once. Nothing is changed, and no result depends on it.
//!
//! A type says by [`read_ahead!`] which of its fields to read. CPUs fetch lines of 64 bytes in pairs, so one field
//! in each 128 bytes is enough. That the fields named are no farther apart is checked when the tests are compiled, and
//! `#[repr(C)]` keeps them where they are.

use crate::network::Network;

/// Bytes that a CPU fetches at once: two lines of its cache.
#[cfg(test)]
const FETCHED_BYTES: usize = 128;
/// Bytes of links and endpoints that a CPU's second-level cache holds, as common CPUs have it: below that
/// there is nothing to wait for, and reading ahead costs up to a fifth of a run's time.
const CACHED_BYTES: usize = 1 << 20;

/// A value whose memory can be read ahead.
pub(crate) trait ReadAhead {
    /// Reads one field of each pair of cache lines.
    fn read_ahead(&self);
}

/// Implements [`ReadAhead`] for a type by the fields named, and checks that they cover all of it.
macro_rules! read_ahead {
    ($type:ty: $($($field:ident).+),+ $(,)?) => {
        impl $crate::ahead::ReadAhead for $type {
            fn read_ahead(&self) {
                $(std::hint::black_box(self.$($field).+);)+
            }
        }
        #[cfg(test)]
        const _: () = assert!(
            $crate::ahead::cover(size_of::<$type>(), &[$(std::mem::offset_of!($type, $($field).+)),+]),
            "a pair of cache lines has none of the fields that are read ahead"
        );
    };
}
pub(crate) use read_ahead;

/// Returns whether fields at these offsets, in order, leave no pair of lines of a value of `size` bytes out.
#[cfg(test)]
pub(crate) const fn cover(size: usize, offsets: &[usize]) -> bool {
    let (mut number, mut end) = (0, 0);
    while number < offsets.len() {
        if offsets[number] < end || offsets[number] - end > FETCHED_BYTES {
            return false;
        }
        end = offsets[number];
        number += 1;
    }
    size - end <= FETCHED_BYTES
}

/// Returns whether reading ahead is worth its time: whether a network's links and its endpoints, of `endpoints_bytes` in
/// all, are more than a cache holds.
pub(crate) fn pays(network: &Network, endpoints_bytes: usize) -> bool {
    size_of_val(network.links.as_slice()) + endpoints_bytes > CACHED_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cover_a_value_where_none_is_far_from_the_next() {
        assert!(cover(300, &[0, 120, 248]));
        assert!(cover(128, &[0]));
        assert!(!cover(300, &[0, 120]), "the end is left out");
        assert!(!cover(300, &[0, 140, 248]), "the middle is left out");
        assert!(!cover(400, &[200, 320]), "the beginning is left out");
        assert!(!cover(300, &[120, 0, 248]), "the fields are not in order");
    }
}
