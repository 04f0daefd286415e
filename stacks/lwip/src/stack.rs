//! lwIP as the agent uses it.

use crate::library::Library;
use nettrial_scenario::During;
use nettrial_stack_agent::{Handle, HostOrder, Meter, Options, Stack, Stage, Wire};
use nettrial_traffic::{Error, Result};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

/// The most frames that are taken before others have their turn.
const ROUNDS: usize = 64;
/// lwIP counts the bytes of a frame, and of a connection's buffers, in numbers of this size.
const LARGEST_FRAME_BYTES: usize = 0xffff;
const LARGEST_BUFFER_BYTES: u64 = 1 << 30;

/// A host's lwIP.
pub struct Lwip {
    library: Library,
    wire: Wire,
    frame: Vec<u8>,
    listeners: HashMap<u16, Handle>,
}

impl Lwip {
    /// Brings up the stack of a host's order on its frames.
    ///
    /// # Errors
    /// Fails if lwIP has none of the settings, or no room for the addresses or routes.
    pub fn start(order: &HostOrder, wire: Wire) -> Result<Self> {
        let stack = &order.stack;
        if stack.congestion_control != "reno" {
            let name = &stack.congestion_control;
            return Err(Error::Unsupported(format!("lwIP has no congestion control {name:?}")));
        }
        if wire.largest > LARGEST_FRAME_BYTES {
            let mtu = order.interface()?.mtu_bytes;
            return Err(Error::Unsupported(format!(
                "lwIP's frames have at most {LARGEST_FRAME_BYTES} bytes, and an MTU of {mtu} has longer ones"
            )));
        }
        let buffer = |bytes: u64| {
            let fits = u32::try_from(bytes).ok().filter(|_| bytes <= LARGEST_BUFFER_BYTES);
            fits.ok_or_else(|| Error::Unsupported(format!("lwIP has no buffers of {bytes} bytes")))
        };
        let receive_bytes = buffer(stack.receive_buffer.maximum.0)?;
        let send_bytes = buffer(stack.send_buffer.maximum.0)?;
        let interface = order.interface()?;
        let mtu = u32::try_from(interface.mtu_bytes)?;
        let mut library = Library::start(wire.address, mtu, receive_bytes, send_bytes);
        for address in &interface.addresses {
            let (ip, prefix) = (address.address(), address.0.prefix_len());
            let doing = format!("giving lwIP the address {ip}/{prefix}");
            library.add_address(ip, prefix).map_err(|error| Error::from(error).during(&doing))?;
        }
        for route in &order.routes {
            let Some(gateway) = route.gateway else { continue };
            library.add_route(route.destination.addr(), route.destination.prefix_len(), gateway)?;
        }
        let frame = vec![0; wire.largest + 1];
        Ok(Self { library, wire, frame, listeners: HashMap::new() })
    }
}

impl Stack for Lwip {
    fn poll(&mut self) -> bool {
        for _ in 0..ROUNDS {
            let Some(length) = self.wire.receive(&mut self.frame) else { break };
            self.library.take_frame(&self.frame[..length]);
        }
        let changed = self.library.poll();
        while let Some(length) = self.library.next_frame(&mut self.frame) {
            self.wire.send(&self.frame[..length]);
        }
        changed
    }

    fn due(&mut self) -> Option<Duration> {
        Some(self.library.due())
    }

    fn descriptor(&self) -> RawFd {
        self.wire.descriptor()
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.wire.meter
    }

    fn listen(&mut self, address: IpAddr, options: Options) -> io::Result<u16> {
        let (listener, port) = self.library.listen(address, options.no_delay)?;
        self.listeners.insert(port, listener);
        Ok(port)
    }

    fn accept(&mut self, port: u16) -> Option<Handle> {
        self.library.accept(*self.listeners.get(&port)?)
    }

    fn connect(&mut self, address: IpAddr, to: SocketAddr, options: Options) -> io::Result<Handle> {
        self.library.connect(address, to, options.no_delay)
    }

    fn stage(&mut self, connection: Handle) -> Stage {
        match self.library.stage(connection) {
            0 => Stage::Opening,
            1 => Stage::Open,
            _ => Stage::Gone,
        }
    }

    fn ends(&mut self, connection: Handle) -> Option<(SocketAddr, SocketAddr)> {
        self.library.ends(connection)
    }

    fn write(&mut self, connection: Handle, bytes: &[u8]) -> io::Result<usize> {
        self.library.write(connection, bytes)
    }

    fn read(&mut self, connection: Handle, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        self.library.read(connection, bytes)
    }

    fn finish(&mut self, connection: Handle) {
        self.library.finish(connection);
    }

    fn abort(&mut self, connection: Handle) {
        self.library.abort(connection);
    }

    fn release(&mut self, connection: Handle) {
        self.library.release(connection);
    }

    fn bind(&mut self, address: IpAddr) -> io::Result<(Handle, u16)> {
        self.library.bind(address)
    }

    fn send(&mut self, socket: Handle, to: SocketAddr, bytes: &[u8]) -> io::Result<bool> {
        self.library.send(socket, to, bytes)
    }

    fn receive(&mut self, socket: Handle, bytes: &mut [u8]) -> Option<(usize, SocketAddr)> {
        self.library.receive(socket, bytes)
    }

    fn unbind(&mut self, socket: Handle) {
        self.library.unbind(socket);
    }
}
