//! A scenario with the data that every part of a trial looks up in it.

use crate::error::{Error, Result};
use crate::tunnel_addresses::{hosts, known_as, outer_address};
use nettrial_routing::Paths;
use nettrial_scenario::{Directory, Flow, Interface, IpVersion, Scenario, Tunnel};
use std::collections::HashMap;
use std::net::IpAddr;

/// A scenario, its nodes by name and its paths. They are computed once, because that takes time in proportion to
/// the size of the scenario.
pub struct Layout<'a> {
    /// The scenario, which has passed its check.
    pub scenario: &'a Scenario,
    /// The scenario's nodes by name.
    pub directory: Directory<'a>,
    /// The paths between the scenario's nodes.
    pub paths: Paths<'a>,
    /// The hosts behind NAT64, each with the number of its link.
    translated: HashMap<&'a str, usize>,
}

impl<'a> Layout<'a> {
    /// Derives the layout of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            directory: Directory::new(scenario),
            paths: Paths::new(scenario),
            translated: hosts(scenario),
        }
    }

    /// Returns the first address of IP version `version` of `host`, which its flows use.
    pub fn address(&self, host: &str, version: IpVersion) -> Result<IpAddr> {
        let address = self.directory.addresses(host, version).next();
        address.ok_or_else(|| Error::Missing(format!("{host} has no IPv{} address", u8::from(version))))
    }

    /// Returns the address that sockets of `host` have for flows of IP version `version`: behind NAT64 its IPv4 address.
    pub fn own_address(&self, host: &str, version: IpVersion) -> Result<IpAddr> {
        match self.translated.get(host) {
            Some(&link) => Ok(outer_address(self.scenario, link, host)?.address()),
            None => self.address(host, version),
        }
    }

    /// Returns the IP version of the network's addresses for a flow as one of its hosts sees it.
    pub fn planned_version(&self, flow: &Flow) -> IpVersion {
        let is_behind = [&flow.from, &flow.to].iter().any(|host| self.translated.contains_key(host.as_str()));
        if is_behind { Tunnel::Nat64.inner() } else { flow.ip }
    }

    /// Returns the address under which `from` reaches `to` in flows of IP version `version`.
    pub fn reached(&self, from: &str, to: &str, version: IpVersion) -> Result<IpAddr> {
        match self.translated.contains_key(from) {
            true => Ok(known_as(self.scenario, to)?.into()),
            false => self.address(to, version),
        }
    }

    /// Returns true if an end of `flow` is a guest or a machine of the user's, each of which has a clock of its own.
    pub fn has_clocks(&self, flow: &Flow) -> bool {
        let is_apart = |host: &str| {
            self.directory.node(host).is_some_and(|node| node.system.is_some() || node.machine.is_some())
        };
        is_apart(&flow.from) || is_apart(&flow.to)
    }

    /// Returns the interfaces by which packets of a flow `from` one host `to` another leave each node; `None` if there is
    /// no path.
    pub fn path(&self, from: &str, to: &str, version: IpVersion) -> Option<Vec<&'a Interface>> {
        self.paths.path(from, self.address(to, version).ok()?)
    }

    /// Returns the MTU, in bytes, of the path that packets of a flow take `from` one host `to` another; `None` if
    /// there is no path.
    pub fn path_mtu(&self, from: &str, to: &str, version: IpVersion) -> Option<u64> {
        self.paths.path_mtu(from, self.address(to, version).ok()?)
    }
}
