//! The host: a stack that several threads use, and the thread that gives it its frames in time.

use crate::order::HostOrder;
use crate::stack::Stack;
use nettrial_traffic::Room;
use nix::poll::{PollFd, PollFlags};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest sleep of the thread that gives the stack its frames. What falls due later than that needs not wake it, as it
/// looks again before.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// A host.
pub struct Host<S> {
    inner: Mutex<Inner<S>>,
    changed: Condvar,
    bell: EventFd,
    /// The interface's MTU in bytes.
    pub mtu_bytes: u64,
    /// The buffers of each connection.
    pub room: Room,
}

struct Inner<S> {
    stack: S,
    /// The time at which the thread with the frames wakes, if it sleeps.
    wakes: Option<Instant>,
}

impl<S: Stack> Host<S> {
    /// Starts the host of an order, with a stack that is up.
    ///
    /// # Errors
    /// Fails if the system has no descriptor or no thread for it.
    pub fn start(stack: S, order: &HostOrder) -> io::Result<Arc<Self>> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let mtu_bytes = order.interfaces.first().map_or(0, |interface| interface.mtu_bytes);
        let inner = Mutex::new(Inner { stack, wakes: None });
        let room = Room {
            send_buffer_bytes: Some(order.stack.send_buffer.maximum.0),
            receive_buffer_bytes: Some(order.stack.receive_buffer.maximum.0),
            ..Room::default()
        };
        let host = Arc::new(Self { inner, changed: Condvar::new(), bell, mtu_bytes, room });
        let own = Arc::clone(&host);
        std::thread::Builder::new().name("frames".into()).spawn(move || own.carry_frames())?;
        Ok(host)
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the stack its frames, as long as the process lives.
    fn carry_frames(&self) {
        let descriptor = self.lock().stack.descriptor();
        // SAFETY: the stack, which lives as long as this host, keeps its descriptor open.
        let frames = unsafe { BorrowedFd::borrow_raw(descriptor) };
        loop {
            let sleep = {
                let mut inner = self.lock();
                if inner.stack.poll() {
                    self.changed.notify_all();
                }
                let sleep = inner.stack.due().unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
                inner.wakes = Some(Instant::now() + sleep);
                sleep
            };
            if !sleep.is_zero() {
                let mut awaited = [
                    PollFd::new(frames, PollFlags::POLLIN),
                    PollFd::new(self.bell.as_fd(), PollFlags::POLLIN),
                ];
                let _ = ppoll(&mut awaited, sleep);
                if awaited[1].any() == Some(true) {
                    let _ = self.bell.read();
                }
            }
            self.lock().wakes = None;
        }
    }

    /// Calls `act` with the stack, and sends what follows from it.
    pub fn with<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        let mut inner = self.lock();
        let result = act(&mut inner.stack);
        self.attend(&mut inner);
        result
    }

    /// Calls `act` with the stack until it returns something, and sends what follows from that; `None` if it has not by
    /// `deadline`.
    pub fn wait<T>(&self, deadline: Instant, mut act: impl FnMut(&mut S) -> Option<T>) -> Option<T> {
        let mut inner = self.lock();
        loop {
            if let Some(result) = act(&mut inner.stack) {
                self.attend(&mut inner);
                return Some(result);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends what is due after a call, and wakes the thread with the frames if it would sleep for too long.
    fn attend(&self, inner: &mut Inner<S>) {
        if inner.stack.poll() {
            self.changed.notify_all();
        }
        let due = inner.stack.due().filter(|due| *due < LONGEST_SLEEP);
        if let (Some(due), Some(wakes)) = (due, inner.wakes)
            && Instant::now() + due < wakes
        {
            let _ = self.bell.write(1);
        }
    }
}

/// Waits for one of `awaited`, with the resolution of nanoseconds.
fn ppoll(awaited: &mut [PollFd<'_>], limit: Duration) -> nix::Result<()> {
    nix::poll::ppoll(awaited, Some(limit.into()), None).map(drop)
}
