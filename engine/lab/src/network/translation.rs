//! Hosts with IPv4 alone, whose router translates: NAT64 towards them, and 464XLAT between two of them.
//!
//! In the router's namespace TAYGA takes the packets of a TUN device, which has the addresses and routes of the router's
//! interface, and puts them back in the other version of IP. It is one process for each such link, in a PID namespace of its
//! own. The host has an address of the link alone, and knows each other host by an address of its own, too.

use super::{FIRST_INTERFACE, Network};
use crate::error::{Context, Error, Result};
use crate::messages::{new_route, state_of};
use crate::namespace::Home;
use crate::openflow::{Program, search_path};
use crate::tap;
use crate::tunnel_addresses::{OTHERS, ends, hosts, known_as, outer_address, outer_addresses};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::route::RouteHeader;
use nettrial_admission::output;
use nettrial_netlink::Netlink;
use nettrial_routing::Route;
use nettrial_scenario::{
    Flow, InterfaceAddress, IpVersion, Place, Problem, Scenario, Shortfall, Transport, Tunnel, chain,
};
use nettrial_traffic::is_installed;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::{Duration, Instant};

/// The program that translates.
const PROGRAM: &str = "tayga";
/// The source of TAYGA's own messages.
const OWN: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 255);
/// The number of packets that may wait for TAYGA. The kernel drops more, which a check counts.
const WAITING_PKTS: u32 = 10_000;
/// The time that TAYGA may take to open its device, and to print its version.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest length of what TAYGA prints before it ends for want of a device, bytes.
const MOST_PRINTED_BYTES: u64 = 1 << 16;

/// The shell's command that starts TAYGA with the configuration in the environment.
const START: &str = "exec tayga -d -c /proc/self/fd/3 3<<END\n$CONFIGURATION\nEND\n";
/// The shell's command that has TAYGA's output although it fails.
const TRY: &str = "tayga -d -c /proc/self/fd/3 3<<END || true\n$CONFIGURATION\nEND\n";
/// The configuration with which TAYGA ends after it has printed its version: no TUN device has that name.
const WITHOUT_DEVICE: &str =
    "tun-device lo\nipv4-addr 198.18.0.1\nipv6-addr 2001:2::1\nmap 198.18.0.2 2001:2::2";

/// A router's TAYGA, which ends when this value is dropped.
pub struct Translator {
    /// The router.
    node: String,
    /// The host.
    host: String,
    /// The index of the TUN device.
    index: i32,
    version: String,
    program: Program,
}

/// The packets of a TAYGA.
pub struct Translated {
    /// The router and the host between which it translates.
    pub ends: String,
    /// TAYGA's version, as it prints it.
    pub version: String,
    /// The number of packets that it put back.
    pub packets: u64,
    /// The number of packets that the kernel dropped because too many waited for it.
    pub dropped: u64,
}

/// Returns the version of TAYGA. Fails if it can't be started, or prints none.
fn version() -> Result<String> {
    let mut command = command(TRY, WITHOUT_DEVICE);
    let printed =
        output(&mut command, MOST_PRINTED_BYTES, PATIENCE).context("asking TAYGA for its version")?;
    let printed = String::from_utf8_lossy(&printed);
    let version = printed.lines().find_map(|line| line.strip_prefix("starting "));
    version
        .map(str::to_owned)
        .ok_or_else(|| Error::Program(format!("TAYGA printed no version, but {printed:?}")))
}

/// Returns the shell's `script` with a configuration of TAYGA.
fn command(script: &str, configuration: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("PATH", search_path()).env("CONFIGURATION", configuration);
    command
}

/// Returns the configuration of the TAYGA of the link number `number`, whose host is `host`.
fn configuration(scenario: &Scenario, number: usize, host: &str, device: &str) -> Result<String> {
    let first_of = |name: &str| {
        let ends = scenario.links.iter().flat_map(|link| &link.interfaces).filter(|end| end.node == name);
        let mut addresses = ends.flat_map(|end| &end.addresses).map(InterfaceAddress::address);
        let address = addresses.find(|address| IpVersion::of(*address) == IpVersion::V6);
        address.ok_or_else(|| Error::Missing(format!("{name} has no IPv6 address")))
    };
    let mut lines = vec![
        format!("tun-device {device}"),
        format!("ipv4-addr {OWN}"),
        format!("ipv6-addr {}", outer_addresses(Tunnel::FourInSix, number)?[0].address()),
        format!("map {} {}", outer_address(scenario, number, host)?.address(), first_of(host)?),
    ];
    let is_its = |flow: &&Flow| flow.from == host || flow.to == host;
    let peers = scenario.workload.iter().filter(is_its).flat_map(|flow| [&flow.from, &flow.to]);
    for peer in peers.filter(|peer| *peer != host).collect::<BTreeSet<_>>() {
        lines.push(format!("map {} {}", known_as(scenario, peer)?, first_of(peer)?));
    }
    Ok(lines.join("\n"))
}

impl Network {
    /// Starts the TAYGA of the link number `number`, whose TUN device gets `index`.
    pub(super) fn translate(
        &mut self,
        home: &Home,
        scenario: &Scenario,
        number: usize,
        index: i32,
    ) -> Result<()> {
        let link = &scenario.links[number];
        let [host, router] = ends(scenario, link)
            .ok_or_else(|| Error::Missing(format!("{} has no NAT64", link.in_words())))?;
        let device = super::node::tunnel_device(index);
        let text = configuration(scenario, number, &host.node, &device)?;
        self.node_mut(&host.node)?.is_translated = true;
        let built = self.node_mut(&router.node)?;
        let mut settings = LinkMessage::default();
        settings.header.index = index.unsigned_abs();
        settings.attributes =
            vec![LinkAttribute::Mtu(u32::try_from(router.mtu.0)?), LinkAttribute::TxQueueLen(WAITING_PKTS)];
        home.visit(&built.namespace, || tap::create_tun(&device, index.unsigned_abs()))?;
        let purpose = format!("setting up the device of TAYGA in {}", router.node);
        built.netlink.change(RouteNetlinkMessage::SetLink(settings), purpose)?;
        built.netlink.flush()?;
        let (version, program) = home
            .visit(&built.namespace, || Ok((version()?, Program::watch("TAYGA", command(START, &text))?)))?;
        await_open(&mut built.netlink, index, &program)?;
        built.tunnels.push((router.name.clone(), index));
        let (node, host) = (router.node.clone(), host.node.clone());
        self.translators.push(Translator { node, host, index, version, program });
        Ok(())
    }

    /// Adds the routes by which hosts with IPv4 alone and their routers reach the addresses of [`known_as`].
    pub(super) fn route_translated(&mut self, scenario: &Scenario) -> Result<()> {
        let others: InterfaceAddress = OTHERS
            .parse()
            .map(InterfaceAddress)
            .map_err(|error| Error::Missing(format!("{OTHERS}: {error}")))?;
        for (number, link) in scenario.links.iter().enumerate() {
            let Some([host, router]) = ends(scenario, link) else { continue };
            let gateway = outer_address(scenario, number, &router.node)?.address();
            for (end, gateway) in [(host, Some(gateway)), (router, None)] {
                let built = self.node_mut(&end.node)?;
                let index = u32::try_from(built.index_of_ip(&end.name)?)?;
                let route = Route {
                    node: &end.node,
                    source: None,
                    destination: others.0,
                    preferred_source: None,
                    next_hops: Vec::new(),
                };
                let message = new_route(&route, RouteHeader::RT_TABLE_MAIN.into(), &[(index, gateway)], None);
                let purpose = format!("adding the route to translated addresses to {}", end.node);
                built.netlink.create(RouteNetlinkMessage::NewRoute(message), purpose)?;
            }
        }
        Ok(self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?)
    }

    /// Returns the packets that each TAYGA has translated since the network was built. Fails if one has ended.
    pub fn translated(&mut self) -> Result<Vec<Translated>> {
        let translators = std::mem::take(&mut self.translators);
        let counted = translators.iter().map(|translator| {
            let Translator { node, host, index, version, program } = translator;
            if program.has_ended() {
                return Err(Error::Program(program.end_in_words()));
            }
            let mut message = LinkMessage::default();
            message.header.index = index.unsigned_abs();
            let answer = self.node_mut(node)?.netlink.get(RouteNetlinkMessage::GetLink(message))?;
            let RouteNetlinkMessage::NewLink(message) = answer else {
                return Err(Error::Missing(format!("{node} did not tell the packets of TAYGA")));
            };
            let counts = message.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::Stats64(counts) => Some((counts.rx_packets, counts.tx_dropped)),
                _ => None,
            });
            let (packets, dropped) =
                counts.ok_or_else(|| Error::Missing(format!("{node} does not count packets")))?;
            Ok(Translated { ends: format!("{node}, {host}"), version: version.clone(), packets, dropped })
        });
        let counted = counted.collect();
        self.translators = translators;
        counted
    }
}

/// Returns the problems that keep a router from translating here, where `place` is a link with NAT64.
pub fn problems(scenario: &Scenario, home: &Home, place: &Place) -> Vec<Problem> {
    let mut problems = Vec::new();
    let hosts = hosts(scenario);
    let is_behind = |host: &String| hosts.contains_key(host.as_str());
    let is_refused =
        |flow: &Flow| flow.transport == Transport::Mptcp && [&flow.from, &flow.to].into_iter().any(is_behind);
    for (number, flow) in scenario.workload.iter().enumerate().filter(|(_, flow)| is_refused(flow)) {
        let hint = "the addresses in MPTCP's options are not translated";
        let place = Place::flow(number, flow);
        problems.push(place.problem("transport", flow.transport.name(), "another one behind NAT64", hint));
    }
    if let Some((what, remedy)) = lack(home) {
        let expected = format!("none, because {what}");
        problems.push(place.problem("tunnel", Tunnel::Nat64.name(), expected, remedy).of_machine());
    }
    problems
}

/// Returns what keeps routers from translating here, which most trials do not need.
pub fn limits(home: &Home) -> Option<Shortfall> {
    lack(home).map(|(what, remedy)| Shortfall::new("routers that translate (NAT64, 464XLAT)", what, remedy))
}

/// Returns what is missing for routers that translate, and its remedy.
fn lack(home: &Home) -> Option<(String, &'static str)> {
    if !is_installed(PROGRAM) {
        return Some((format!("there is no {PROGRAM}"), "install TAYGA: apt-get install tayga"));
    }
    let tried = home.create(|| tap::create_tun("tunnel", FIRST_INTERFACE.unsigned_abs()));
    let remedy = "TUN devices: modprobe tun; a container needs --device /dev/net/tun; a kernel in virtual time needs \
                  CONFIG_TUN";
    tried.err().map(|error| (chain(&error), remedy))
}

/// Waits until TAYGA has opened its device, which has a carrier then.
fn await_open(netlink: &mut Netlink, index: i32, program: &Program) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = netlink.get(RouteNetlinkMessage::GetLink(state_of(index)))?;
        if matches!(answer, RouteNetlinkMessage::NewLink(link) if link.attributes.contains(&LinkAttribute::Carrier(1)))
        {
            return Ok(());
        }
        if program.has_ended() {
            return Err(Error::Program(program.end_in_words()));
        }
        if Instant::now() >= deadline {
            return Err(Error::Silent(format!("TAYGA did not open its device; {}", program.complaint())));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
