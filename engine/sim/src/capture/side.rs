//! The sides of subflows, as captures show them.

use crate::transport::window::window_shift;
use crate::transport::wiring::Wiring;
use nettrial_routing::EPHEMERAL_PORTS;
use nettrial_scenario::Transport;
use std::net::SocketAddr;

/// One side of a subflow, with the properties of the packets that it sends.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    pub address: SocketAddr,
    pub transport: Transport,
    /// The payload of a full segment without options, as announced in the SYN.
    pub mss_bytes: u16,
    /// The bits by which this side's windows are scaled; `None` without window scaling.
    pub window_shift: Option<u8>,
    pub has_sack: bool,
    pub has_timestamps: bool,
    /// The differentiated services codepoint.
    pub dscp: u8,
}

impl Side {
    /// Increases the port by that number, as for successive connections of a flow; only allowed if the path does
    /// not depend on the port.
    pub fn use_later_port(&mut self, places: u16) {
        let (first, last) = (*EPHEMERAL_PORTS.start(), *EPHEMERAL_PORTS.end());
        let count = u32::from(last - first) + 1;
        let at = (u32::from(self.address.port().saturating_sub(first)) + u32::from(places)) % count;
        self.address.set_port(first + at as u16);
    }

    /// Returns both sides of each subflow of a flow, by turn of its connections, with the opening side first.
    pub fn all(wiring: &Wiring<'_>) -> Vec<Vec<[Self; 2]>> {
        let stacks = wiring.stacks;
        let side = |side: usize, address: SocketAddr, mtu: u64| {
            let headers = wiring.flow.ip.header_bytes() + 20;
            let fits = mtu.saturating_sub(headers).min(65_535);
            let mss = wiring.flow.socket.mss.map_or(fits, |mss| fits.min(mss.0));
            let has_scaling = stacks.iter().all(|stack| stack.window_scaling);
            Self {
                address,
                transport: wiring.flow.transport,
                mss_bytes: u16::try_from(mss).unwrap_or(u16::MAX),
                window_shift: has_scaling
                    .then(|| window_shift(stacks[side], wiring.flow.socket.window) as u8),
                has_sack: stacks.iter().all(|stack| stack.sack),
                has_timestamps: stacks.iter().all(|stack| stack.timestamps),
                dscp: wiring.flow.socket.dscp,
            }
        };
        let turns = wiring.sockets.iter().zip(&wiring.subflows);
        let both = turns.map(|(sockets, subflows)| {
            let pairs = sockets.iter().zip(subflows).map(|(&(near, far), subflow)| {
                let [there, back] = subflow.path_mtu_bytes;
                [side(0, near, there), side(1, far, back)]
            });
            pairs.collect()
        });
        both.collect()
    }
}
