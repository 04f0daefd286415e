//! Bounds the number of callers at a time, in all and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded number of places.
#[derive(Clone)]
pub struct Seats {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    all: usize,
    each: usize,
}

/// Places taken; dropping it frees them.
pub struct Seat {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    holder: IpAddr,
    count: usize,
}

impl Seats {
    /// Creates `all` places, of which one address may take `each`.
    pub fn new(all: usize, each: usize) -> Self {
        Self { taken: Arc::default(), all, each }
    }

    /// Takes a place for `peer`, if one is free. The addresses of one IPv6 network (/64) count as one, because a
    /// host can use all of them.
    pub fn take(&self, peer: IpAddr) -> Option<Seat> {
        self.take_several(peer, 1)
    }

    /// Takes `count` places for `peer` at once, if enough are free.
    pub fn take_several(&self, peer: IpAddr, count: usize) -> Option<Seat> {
        let holder = network(peer);
        let mut taken = lock(&self.taken);
        let has = taken.get(&holder).copied().unwrap_or(0);
        if has + count > self.each || taken.values().sum::<usize>() + count > self.all {
            return None;
        }
        taken.insert(holder, has + count);
        Some(Seat { taken: Arc::clone(&self.taken), holder, count })
    }

    /// Returns true if `peer` has as many places as one address may have.
    pub fn has_its_share(&self, peer: IpAddr) -> bool {
        lock(&self.taken).get(&network(peer)).copied().unwrap_or(0) >= self.each
    }

    /// Returns the number of places taken.
    pub fn taken(&self) -> usize {
        lock(&self.taken).values().sum()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.holder) {
            *count -= self.count;
            if *count == 0 {
                taken.remove(&self.holder);
            }
        }
    }
}

fn lock(taken: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the network of an address, for which places are counted: the /64 of an IPv6 address, all addresses of which
/// a host can use.
pub fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let seats = Seats::new(3, 2);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = seats.take(address("192.0.2.1")).unwrap();
        let _second = seats.take(address("::ffff:192.0.2.1")).unwrap();
        assert!(seats.take(address("192.0.2.1")).is_none());
        let _third = seats.take(address("2001:db8::1")).unwrap();
        assert!(seats.take(address("192.0.2.2")).is_none());
        drop(first);
        let _fourth = seats.take(address("2001:db8::2")).unwrap();
        assert!(seats.take(address("192.0.2.1")).is_none());
        assert_eq!(seats.taken(), 3);
    }

    #[test]
    fn several_places_are_taken_together_or_not_at_all() {
        let seats = Seats::new(4, 3);
        let [one, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let three = seats.take_several(one, 3).unwrap();
        assert!(seats.has_its_share(one) && !seats.has_its_share(other));
        assert!(seats.take_several(other, 2).is_none());
        assert_eq!(seats.taken(), 3);
        drop(three);
        assert!(seats.take_several(other, 2).is_some());
        assert_eq!(seats.taken(), 0);
    }
}
