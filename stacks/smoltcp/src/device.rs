//! The host's frames as smoltcp takes them.

use nettrial_stack_agent::Wire;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// The frames of the host's interface.
pub struct Device {
    /// The packet socket.
    pub wire: Wire,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Device {
    /// Takes the frames from `wire`.
    pub fn new(wire: Wire) -> Self {
        Self { incoming: vec![0; wire.largest + 1], outgoing: Vec::new(), wire }
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Incoming<'a>;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        let length = self.wire.receive(&mut self.incoming)?;
        let outgoing = Outgoing { wire: &mut self.wire, buffer: &mut self.outgoing };
        Some((Incoming(&self.incoming[..length]), outgoing))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing { wire: &mut self.wire, buffer: &mut self.outgoing })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.wire.largest;
        capabilities
    }
}

/// A frame that has arrived.
pub struct Incoming<'a>(&'a [u8]);

impl phy::RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

/// Room for a frame to send.
pub struct Outgoing<'a> {
    wire: &'a mut Wire,
    buffer: &'a mut Vec<u8>,
}

impl phy::TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        self.buffer.clear();
        self.buffer.resize(length, 0);
        let result = fill(self.buffer);
        self.wire.send(self.buffer);
        result
    }
}
