//! The ports that accept connections. A socket of smoltcp that listens becomes the connection, so each port has a further
//! one ready for the next.

use nettrial_stack_agent::Options;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, State};
use std::collections::VecDeque;
use std::net::IpAddr;

/// The sockets that listen at a port.
const READY: usize = 2;
/// The most connections of a port that are being opened; for a further one, the oldest is reset.
const MOST_OPENING: usize = 256;
/// The most connections of a port that wait to be accepted; further ones are reset.
const MOST_WAITING: usize = 1024;

/// A port that accepts connections.
pub struct Listener {
    address: IpAddr,
    port: u16,
    options: Options,
    ready: Vec<SocketHandle>,
    opening: VecDeque<SocketHandle>,
    open: VecDeque<SocketHandle>,
}

impl Listener {
    /// Creates the port, whose sockets are yet to be made.
    pub fn new(address: IpAddr, port: u16, options: Options) -> Self {
        Self { address, port, options, ready: Vec::new(), opening: VecDeque::new(), open: VecDeque::new() }
    }

    /// Returns the next connection that is open.
    pub fn accept(&mut self) -> Option<SocketHandle> {
        self.open.pop_front()
    }

    /// Moves connections on that have changed, and has sockets of `make` listen in their place. Sockets that are not needed
    /// any more go to `released`.
    pub fn attend(
        &mut self,
        sockets: &mut SocketSet<'static>,
        released: &mut VecDeque<SocketHandle>,
        make: impl Fn(Options) -> Socket<'static>,
    ) {
        let opening = &mut self.opening;
        self.ready.retain(|&handle| {
            let listens = sockets.get::<Socket>(handle).state() == State::Listen;
            if !listens {
                opening.push_back(handle);
            }
            listens
        });
        for _ in 0..self.opening.len() {
            let Some(handle) = self.opening.pop_front() else { break };
            match sockets.get::<Socket>(handle).state() {
                State::SynReceived if self.opening.len() < MOST_OPENING => self.opening.push_back(handle),
                State::Established | State::CloseWait if self.open.len() < MOST_WAITING => {
                    self.open.push_back(handle);
                }
                // The other end took its SYN back.
                State::Listen if self.ready.len() < READY => self.ready.push(handle),
                _ => {
                    sockets.get_mut::<Socket>(handle).abort();
                    released.push_back(handle);
                }
            }
        }
        while self.ready.len() < READY {
            let mut socket = make(self.options);
            // It has a port, and is not open: there is no other reason to fail.
            let _ = socket.listen((smoltcp::wire::IpAddress::from(self.address), self.port));
            self.ready.push(sockets.add(socket));
        }
    }
}
