//! Prefetches the memory of upcoming events, so that events need not wait for memory one after the other.
//! The links, packets and connections of a large fabric do not fit into the CPU's cache. If each event waited for
//! its own data, that would take most of a hop's time. So the data of all events in the calendar's next bucket is
//! read before the first of them, and the CPU waits for all of it at once. Prefetching changes nothing, and no
//! result depends on it.
//! A type lists the fields to read in [`read_ahead!`], one in each cache line. Compiling the tests checks that the
//! listed fields are no farther apart, and `#[repr(C)]` keeps them in place. Some CPUs fetch lines in pairs, others
//! don't: there, one field in each 128 bytes left every other line to be waited for.

/// The number of bytes that a CPU fetches at once: a cache line.
#[cfg(test)]
const FETCHED_BYTES: usize = 64;

/// A value whose memory can be prefetched.
pub(crate) trait ReadAhead {
    /// Reads one field of each cache line.
    fn read_ahead(&self);
}

/// Implements [`ReadAhead`] for a type by reading the named fields, and checks that they cover the whole type.
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
            "a cache line has none of the fields that are read ahead"
        );
    };
}
pub(crate) use read_ahead;

/// Returns whether fields at these offsets, in order, touch every cache line of a value of `size` bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cover_a_value_where_none_is_far_from_the_next() {
        assert!(cover(150, &[0, 60, 124]));
        assert!(cover(64, &[0]));
        assert!(!cover(150, &[0, 60]), "the end is left out");
        assert!(!cover(150, &[0, 70, 124]), "the middle is left out");
        assert!(!cover(200, &[100, 160]), "the beginning is left out");
        assert!(!cover(150, &[60, 0, 124]), "the fields are not in order");
    }
}
