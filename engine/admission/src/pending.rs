//! The callers of a port that have not yet made a valid request.

use crate::seats::network;
use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest number of simultaneous callers that have not yet made a valid request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Callers of all addresses. For a further one, the oldest caller of the address with the most is closed.
    pub pending: usize,
    /// Callers of one address. For a further one, the oldest is closed.
    pub pending_each: usize,
}

/// The most callers that are kept waiting for a mistake at a time.
const MOST_DELAYED: usize = 512;
/// The interval of checking whether a caller that was told to end has done so.
const GLANCE: Duration = Duration::from_millis(1);
/// The number of such checks.
const GLANCES: usize = 1000;

/// The callers that have not yet made a valid request, the oldest first.
pub struct Pending {
    limits: Limits,
    callers: Mutex<Vec<Caller>>,
    /// The number of callers that have a thread, and have not been admitted.
    threads: AtomicUsize,
}

/// A caller that waits to be heard.
struct Caller {
    network: IpAddr,
    number: u64,
    /// The connection; none of a caller that is kept waiting.
    stream: Option<Arc<TcpStream>>,
}

/// A caller's slot. Dropping it frees the slot.
pub struct Slot {
    pending: Arc<Pending>,
    number: u64,
}

impl Pending {
    /// Creates the slots of a port.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, callers: Mutex::default(), threads: AtomicUsize::new(0) })
    }

    /// Gives the caller numbered `number` a slot. If there is none, the connection of another caller ends: the oldest
    /// of the caller's own network, or of the network with the most. Returns none if all callers of its network are
    /// kept waiting for a mistake, or if too many threads do not end.
    pub fn admit(self: &Arc<Self>, peer: IpAddr, number: u64, stream: &Arc<TcpStream>) -> Option<Slot> {
        let network = network(peer);
        let mut callers = self.lock();
        if callers.iter().filter(|caller| caller.network == network).count() >= self.limits.pending_each {
            end_oldest(&mut callers, network).then_some(())?;
        }
        if callers.iter().filter(|caller| caller.stream.is_some()).count() >= self.limits.pending
            && let Some(fullest) = fullest(&callers)
        {
            end_oldest(&mut callers, fullest);
        }
        callers.push(Caller { network, number, stream: Some(Arc::clone(stream)) });
        drop(callers);
        self.threads.fetch_add(1, Ordering::AcqRel);
        let slot = Slot { pending: Arc::clone(self), number };
        // The thread of a connection that was ended needs a moment to notice it.
        let most = 2 * self.limits.pending + MOST_DELAYED;
        for _ in 0..GLANCES {
            if self.threads.load(Ordering::Acquire) <= most {
                return Some(slot);
            }
            std::thread::sleep(GLANCE);
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Frees the slot; returns false if it was taken by another caller before.
    pub fn leave(&self) -> bool {
        let mut callers = self.pending.lock();
        let position = callers.iter().position(|caller| caller.number == self.number);
        position.map(|position| callers.remove(position)).is_some()
    }

    /// Keeps the slot for a caller that is kept waiting; returns false if too many are.
    pub fn delay(&self) -> bool {
        let mut callers = self.pending.lock();
        let delayed = callers.iter().filter(|caller| caller.stream.is_none()).count();
        let own = callers.iter_mut().find(|caller| caller.number == self.number);
        own.filter(|_| delayed < MOST_DELAYED).map(|caller| caller.stream = None).is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.leave();
        self.pending.threads.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns the network with the most connections that can be ended; of several, that with the oldest connection.
fn fullest(callers: &[Caller]) -> Option<IpAddr> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    let open = || callers.iter().filter(|caller| caller.stream.is_some());
    open().for_each(|caller| *counts.entry(caller.network).or_default() += 1);
    let most = counts.values().max()?;
    open().map(|caller| caller.network).find(|network| counts[network] == *most)
}

/// Ends the oldest connection of `network` that can be ended, and forgets its caller; returns false if there is none.
fn end_oldest(callers: &mut Vec<Caller>, network: IpAddr) -> bool {
    let oldest = callers.iter().position(|caller| caller.network == network && caller.stream.is_some());
    if let Some(stream) = oldest.and_then(|position| callers.remove(position).stream) {
        // The caller's thread reads the end of the connection. An error means that it is closed already.
        let _ = stream.shutdown(Shutdown::Both);
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    struct Port {
        pending: Arc<Pending>,
        listener: TcpListener,
        next: u64,
    }

    /// A caller's connection at its end and at this one, and its slot.
    struct Call {
        caller: TcpStream,
        here: Arc<TcpStream>,
        slot: Option<Slot>,
    }

    impl Port {
        fn new(pending: usize, pending_each: usize) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            Self { pending: Pending::new(Limits { pending, pending_each }), listener, next: 0 }
        }

        fn call(&mut self, peer: &str) -> Call {
            let caller = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
            let here = Arc::new(self.listener.accept().unwrap().0);
            self.next += 1;
            let slot = self.pending.admit(peer.parse().unwrap(), self.next, &here);
            Call { caller, here, slot }
        }
    }

    impl Call {
        fn ended(&mut self) -> bool {
            self.caller.set_nonblocking(true).unwrap();
            matches!(self.caller.read(&mut [0]), Ok(0))
        }
    }

    #[test]
    fn the_oldest_of_the_network_with_the_most_makes_room() {
        let mut port = Port::new(3, 2);
        let mut own = [port.call("2001:db8::1"), port.call("2001:db8::2"), port.call("2001:db8::3")];
        assert_eq!(own.each_mut().map(Call::ended), [true, false, false]);
        let mut first = port.call("192.0.2.1");
        let mut second = port.call("192.0.2.2");
        assert_eq!(own.each_mut().map(Call::ended), [true, true, false]);
        let mut third = port.call("192.0.2.3");
        let mut fourth = port.call("192.0.2.4");
        assert_eq!(own.each_mut().map(Call::ended), [true, true, true]);
        assert_eq!(
            [&mut first, &mut second, &mut third, &mut fourth].map(Call::ended),
            [true, false, false, false]
        );
    }

    #[test]
    fn a_caller_that_was_heard_or_has_left_is_not_ended() {
        let mut port = Port::new(1, 1);
        let mut heard = port.call("192.0.2.1");
        assert!(heard.slot.as_ref().unwrap().leave());
        assert!(Arc::strong_count(&heard.here) == 1, "its connection belongs to its thread alone");
        let mut gone = port.call("192.0.2.1");
        drop(gone.slot.take());
        let mut ended = port.call("192.0.2.1");
        let _new = port.call("192.0.2.1");
        assert_eq!([&mut heard, &mut gone, &mut ended].map(Call::ended), [false, false, true]);
        assert!(!ended.slot.as_ref().unwrap().leave(), "its slot is taken");
        assert_eq!(port.pending.lock().len(), 1);
    }

    #[test]
    fn a_caller_that_is_kept_waiting_counts_for_its_network_alone() {
        let mut port = Port::new(1, 2);
        let guesses = [port.call("192.0.2.1"), port.call("192.0.2.1")];
        assert_eq!(guesses.each_ref().map(|guess| guess.slot.as_ref().unwrap().delay()), [false, true]);
        let second = port.call("192.0.2.1");
        assert!(second.slot.as_ref().unwrap().delay());
        assert!(port.call("192.0.2.1").slot.is_none(), "two of its guesses are kept waiting");
        assert!(port.call("192.0.2.2").slot.is_some());
    }
}
