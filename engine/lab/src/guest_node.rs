//! A node of a trial inside a guest: a separate process in the guest, which builds the node as the lab builds
//! nodes, and then becomes its agent.

use crate::clock::Clock;
use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::namespace::{Home, Namespace};
use crate::network::Network;
use crate::node_order::{Answer, NodeOrder};
use nettrial_admission::read_line;
use nettrial_guest::network_devices;
use nettrial_netlink::Netlink;
use nettrial_scenario::{Offloads, chain};
use nettrial_session::MOST_REPORT_BYTES;

/// Runs a node in a guest until the standard input ends, and then returns its interfaces to the namespace of the
/// guest's init. They would return with the node's own namespace, too, but a connection whose last data is not
/// acknowledged outlives its process, and keeps the namespace for minutes (net/ipv4/tcp.c, `tcp_close`).
///
/// # Errors
/// Fails if the input can't be read, if a line of it is not an order, or if an interface can't be moved.
pub fn run() -> Result<()> {
    let mut lines = std::io::stdin().lock();
    let mut line = Vec::new();
    read_line(&mut lines, &mut line, MOST_REPORT_BYTES).context("reading the order of a node")?;
    let order: NodeOrder = serde_json::from_slice(&line).context("reading the order of a node")?;
    let outside = Namespace::current()?;
    let built = build(&order);
    let answer = match &built {
        Ok((_, _, offloads)) => Answer::Built(offloads.clone()),
        Err(error) => Answer::Failed(chain(error)),
    };
    println!("{}", serde_json::to_string(&answer)?);
    let (home, mut network, _) = built?;
    let namespace = &network.node(&order.node)?.namespace;
    home.visit(namespace, || Ok(nettrial_traffic::run_agent(lines)?))?;
    network.return_devices(&outside)
}

/// The namespaces that the process has entered, the network of the single node, and its offloads.
type Built = (Home, Network, Vec<(String, Offloads)>);

fn build(order: &NodeOrder) -> Result<Built> {
    let devices = network_devices(order.interfaces.len())?;
    let indexes = devices.iter().map(|name| nix::net::if_::if_nametoindex(name.as_str()));
    let indexes =
        indexes.collect::<nix::Result<Vec<_>>>().context("looking up the guest's network devices")?;
    // The thread enters another namespace below; this socket stays in the one that has the devices.
    let mut outside = Netlink::open()?;
    let home = Home::enter(Clock::Real).map_err(|shortfalls| {
        let reasons: Vec<String> = shortfalls
            .into_iter()
            .map(|shortfall| format!("{}: {}", shortfall.what, shortfall.why))
            .collect();
        Error::Node(reasons.join("; "))
    })?;
    let layout = Layout::new(&order.scenario);
    let network = Network::build_in_guest(&home, &layout, order, &mut outside, &indexes)?;
    let offloads = network.node(&order.node)?.offloads(&home)?;
    Ok((home, network, offloads))
}
