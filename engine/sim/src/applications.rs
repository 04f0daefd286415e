//! The applications. Each kind of traffic has one file, which contains both hosts of a flow.
//!
//! Applications send and measure as the agents of real hosts do (`nettrial-flows` contains the code that both
//! share), but reading, computing and writing take no simulated time.

mod datagram;
mod exchange;
mod ground;
pub mod hosts;
pub mod mechanisms;
mod packets;
pub mod sampler;
mod stream;
mod sweep;
mod transfer;

pub use datagram::{Assembly, Datagram};
pub use ground::{Connections, Figures, Ground};
pub use transfer::confirm;

use crate::Notice;
use crate::error::{Error, Result};
use nettrial_flows::waits::Waits;
use nettrial_scenario::{Connecting, Flow, Traffic, Transport};

/// The application of a flow: its two sides.
pub trait Application {
    /// Starts the flow at its time.
    fn start(&mut self, ground: &mut Ground<'_, '_>);

    /// Handles a notice of one of the flow's connections.
    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>);

    /// Handles a wake-up that was requested by [`Ground::wake`]. Earlier wake-ups may come, too.
    fn on_timer(&mut self, _ground: &mut Ground<'_, '_>) {}

    /// Handles the departure of a datagram of a side, if [`Ground::send`] could not tell its departure time.
    fn on_left(&mut self, _side: u8, _ground: &mut Ground<'_, '_>) {}

    /// Handles the arrival of a datagram of the flow at a side.
    fn on_datagram(&mut self, _side: u8, _datagram: Datagram, _ground: &mut Ground<'_, '_>) {}
}

/// Returns the application of `flow`, which has passed the simulator's checks and whose hosts wait for `waits`.
///
/// # Errors
/// Fails if one of its random quantities can't be drawn, or if its kind of traffic is not supported.
pub fn application(flow: &Flow, waits: Waits) -> Result<Box<dyn Application + Send + '_>> {
    let is_udp = flow.transport == Transport::Udp;
    Ok(match &flow.traffic {
        Traffic::Transfer(settings) => Box::new(transfer::Bulk::new(settings)),
        Traffic::RequestResponse(settings) if is_udp => Box::new(exchange::OverUdp::new(settings, waits)),
        Traffic::RequestResponse(settings) if settings.connecting == Connecting::EachRequest => {
            Box::new(exchange::ConnectingEach::new(settings))
        }
        Traffic::RequestResponse(settings) => Box::new(exchange::OverTcp::new(settings)),
        Traffic::Packets(settings) if is_udp => {
            Box::new(packets::OverUdp::new(settings, flow.socket.udp_buffer, waits)?)
        }
        Traffic::Packets(settings) => Box::new(packets::OverTcp::new(settings)?),
        Traffic::Sweep(settings) if is_udp => Box::new(sweep::OverUdp::new(settings, waits)),
        Traffic::Sweep(settings) => Box::new(sweep::OverTcp::new(settings)),
        other => {
            return Err(Error::Unsupported(format!("traffic of the kind {} is not simulated", other.kind())));
        }
    })
}
