//! The applications: one file for each kind of traffic, both of a flow's hosts in one.
//!
//! Applications send and measure as the agents of real hosts do (`nettrial-flows`
//! has what both share); only reading, computing and writing take no time here.

mod datagram;
mod exchange;
mod ground;
mod packets;
mod stream;
mod sweep;
mod transfer;

pub use datagram::{Assembly, Datagram};
pub use ground::{Connections, Figures, Ground};

use crate::Notice;
use anyhow::{Result, bail};
use nettrial_scenario::{Connecting, Flow, Traffic, Transport};

/// The two sides of a flow.
pub trait Application {
    /// The flow's time has come.
    fn start(&mut self, ground: &mut Ground<'_, '_>);

    /// A connection of the flow tells something.
    fn on_notice(&mut self, notice: Notice, ground: &mut Ground<'_, '_>);

    /// A time asked for by [`Ground::wake`] came. Earlier ones may come, too.
    fn on_timer(&mut self, _ground: &mut Ground<'_, '_>) {}

    /// A datagram of that side has left its host, of which [`Ground::send`] could not tell when it would.
    fn on_left(&mut self, _side: u8, _ground: &mut Ground<'_, '_>) {}

    /// A datagram of the flow arrived at that side.
    fn on_datagram(&mut self, _side: u8, _datagram: Datagram, _ground: &mut Ground<'_, '_>) {}
}

/// The application of `flow`, which has passed the simulator's check.
///
/// # Errors
/// Fails if a random quantity of it cannot be drawn, or its kind is not carried.
pub fn application(flow: &Flow) -> Result<Box<dyn Application + '_>> {
    let is_udp = flow.transport == Transport::Udp;
    Ok(match &flow.traffic {
        Traffic::Transfer(settings) => Box::new(transfer::Bulk::new(settings)),
        Traffic::RequestResponse(settings) if is_udp => Box::new(exchange::OverUdp::new(settings)),
        Traffic::RequestResponse(settings) if settings.connecting == Connecting::EachRequest => {
            Box::new(exchange::ConnectingEach::new(settings))
        }
        Traffic::RequestResponse(settings) => Box::new(exchange::OverTcp::new(settings)),
        Traffic::Packets(settings) if is_udp => {
            Box::new(packets::OverUdp::new(settings, flow.socket.udp_buffer)?)
        }
        Traffic::Packets(settings) => Box::new(packets::OverTcp::new(settings)?),
        Traffic::Sweep(settings) if is_udp => Box::new(sweep::OverUdp::new(settings)),
        Traffic::Sweep(settings) => Box::new(sweep::OverTcp::new(settings)),
        other => bail!("traffic of the kind {} is not simulated", other.kind()),
    })
}
