//! Verifies that packets take the scenario's paths, and have the sizes that it implies.

use super::Findings;
use crate::error::Result;
use crate::kernels::Kernels;
use crate::layout::Layout;
use crate::namespace::Home;
use crate::network::Network;
use nettrial_scenario::{IpVersion, Offloads, Scenario};
use nettrial_session::{Agents, Direction, directions, path_mtus};
use nettrial_traffic::Cookie;

/// An offload's name, and a function that returns true if it is on.
type Offload = (&'static str, fn(Offloads) -> bool);

/// The offloads that are verified.
const OFFLOADS: [Offload; 3] =
    [("tso", |offloads| offloads.tso), ("gso", |offloads| offloads.gso), ("gro", |offloads| offloads.gro)];

impl Findings {
    /// Verifies the offloads of every interface, with a check for each node and for each interface that differs.
    /// The offloads of a node with its own kernel are those that the kernel reported.
    pub fn offloads(
        &mut self,
        home: &Home,
        network: &Network,
        scenario: &Scenario,
        kernels: &mut dyn Kernels,
    ) -> Result<()> {
        for (built, node) in network.nodes().zip(&scenario.nodes) {
            let in_force = match kernels.of(&node.name) {
                Some(kernel) => kernel.offloads().to_vec(),
                None => built.offloads(home)?,
            };
            self.node_offloads(&node.name, node.offloads, &in_force);
        }
        Ok(())
    }

    fn node_offloads(&mut self, node: &str, wanted: Offloads, actual: &[(String, Offloads)]) {
        let text = |on: bool| if on { "on" } else { "off" };
        let mut compare = |name: &str, object: &str, wanted, actual| {
            self.compare(
                &format!("offload_{name}"),
                object,
                text(wanted).into(),
                text(actual).into(),
                "packets on the link are not of the size that the MTU says",
            );
        };
        for (name, is_on) in OFFLOADS {
            let wanted = is_on(wanted);
            let mut differing = actual.iter().filter(|(_, actual)| is_on(*actual) != wanted).peekable();
            if differing.peek().is_none() {
                compare(name, node, wanted, wanted);
            }
            for (interface, actual) in differing {
                compare(name, &format!("{interface} of {node}"), wanted, is_on(*actual));
            }
        }
    }

    /// Verifies the path MTU of every pair of hosts with a flow, in both directions.
    pub fn path_mtus(&mut self, agents: &mut Agents, layout: &Layout, cookie: Cookie) -> Result<()> {
        let pairs = directions(layout.scenario);
        let mut directions = Vec::new();
        for &(from, to, version) in &pairs {
            let (near, far) = (layout.address(from, version)?, layout.address(to, version)?);
            let reached = layout.reached(from, to, version)?;
            // Translated packets have another header.
            let headers = [version, IpVersion::of(reached)].map(IpVersion::header_bytes);
            let expected = layout.path_mtu(from, to, version).unwrap_or(0) + headers[1];
            let round_trip = layout.paths.round_trip((from, near), (to, far));
            directions.push(Direction {
                from: (from, layout.own_address(from, version)?.into()),
                to: (to, layout.own_address(to, version)?.into()),
                reached,
                expected: expected.saturating_sub(headers[0]),
                round_trip,
            });
        }
        let mtus = path_mtus(agents, &directions, cookie)?;
        for ((direction, mtu), (from, to, _)) in directions.iter().zip(mtus).zip(&pairs) {
            self.path_mtu(
                &format!("{from} to {to}, IPv{}", u8::from(IpVersion::of(direction.reached))),
                direction.expected,
                mtu,
                "the trial does not measure the MTU it is named after",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offloads_are_a_check_for_a_node_and_one_for_each_interface_that_differs() {
        let (on, off) =
            (Offloads { tso: true, gso: false, gro: true }, Offloads { tso: false, gso: false, gro: true });
        let mut findings = Findings::default();
        findings.node_offloads("a", on, &[("eth0".into(), on), ("eth1".into(), off)]);
        let found: Vec<_> = findings
            .checks
            .iter()
            .map(|check| (check.name.as_str(), check.object.as_str(), check.passed))
            .collect();
        assert_eq!(
            found,
            [("offload_tso", "eth1 of a", false), ("offload_gso", "a", true), ("offload_gro", "a", true)]
        );
        assert_eq!(findings.warnings[0].message, "offload_tso should be on and is off");
    }
}
