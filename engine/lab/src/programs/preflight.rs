//! The parts of a scenario that hosts with a program's TCP/IP can't have.

use super::table::Program;
use super::{describe, of};
use nettrial_flows::variate::largest;
use nettrial_flows::wire::UDP_HEADER_BYTES;
use nettrial_scenario::{
    Flow, IpVersion, Medium, Node, Place, Problem, Scenario, Size, Stack, Traffic, Transport, chain,
};
use std::collections::HashSet;

/// Returns a problem for each part of `scenario` that a host with a program's TCP/IP can't have, and for each program that
/// does not run here.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut asked = HashSet::new();
    let mut with_programs = Vec::new();
    for (number, node) in scenario.nodes.iter().enumerate() {
        let Some((stack, name)) = node.stack.as_ref().zip(of(node)) else { continue };
        let place = Place::node(number, node);
        let Some(program) = Program::named(name) else {
            let hint = "a stack that is a program has a name in `nettrial list stacks`";
            problems.push(place.within("stack").problem("program", name, Program::names(), hint));
            continue;
        };
        if asked.insert(name)
            && let Err(error) = describe(name)
        {
            let hint = format!(
                "{}: build it with `make stacks`, or set NETTRIAL_STACKS to its directory",
                chain(&error)
            );
            problems.push(
                place
                    .within("stack")
                    .problem("program", name, "a program that is installed", hint)
                    .of_machine(),
            );
        }
        problems.extend(node_problems(scenario, node, stack, program, &place));
        with_programs.push((node.name.as_str(), program));
    }
    if with_programs.is_empty() {
        return problems;
    }
    problems.extend(offload_problems(scenario));
    for (number, flow) in scenario.workload.iter().enumerate() {
        let at = |host: &(&str, &Program)| host.0 == flow.from || host.0 == flow.to;
        if let Some((host, program)) = with_programs.iter().find(|host| at(host)) {
            problems.extend(flow_problems(flow, &Place::flow(number, flow), host, program));
        }
        for (host, program) in with_programs.iter().filter(|host| at(host)) {
            problems.extend(size_problems(scenario, flow, &Place::flow(number, flow), (host, program)));
        }
    }
    problems
}

/// Returns the problems of the sizes of a flow's packets at a host with a program's TCP/IP.
fn size_problems(
    scenario: &Scenario,
    flow: &Flow,
    place: &Place,
    (host, program): (&str, &Program),
) -> Vec<Problem> {
    let mtus = |of: &dyn Fn(&str) -> bool| {
        let interfaces = scenario.links.iter().flat_map(|link| &link.interfaces);
        interfaces.filter(|interface| of(&interface.node)).map(|interface| interface.mtu).min()
    };
    let (Some(own), Some(least)) = (mtus(&|node| node == host), mtus(&|_| true)) else { return Vec::new() };
    let mut problems = Vec::new();
    if !program.finds_path_mtu && least < own {
        let hint = format!("{} takes no notice of routers that say that a packet is too large", program.name);
        let expected = format!("a network without a smaller MTU than the {own} of {host}");
        problems.push(place.problem("from", format!("a network with an MTU of {least}"), expected, hint));
    }
    let most = match &flow.traffic {
        Traffic::RequestResponse(exchange) => exchange.request.max(exchange.response),
        Traffic::Sweep(sweep) => sweep.last,
        Traffic::Packets(packets) => match largest(&packets.size) {
            Some(bytes) => Size(bytes),
            None => return problems,
        },
        _ => return problems,
    };
    let fits = own.0.saturating_sub(flow.ip.header_bytes() + UDP_HEADER_BYTES);
    if flow.transport == Transport::Udp && most.0 > fits && !program.fragments.contains(&flow.ip) {
        let version = if flow.ip == IpVersion::V4 { "IPv4" } else { "IPv6" };
        let hint = format!("{} neither sends nor takes fragments over {version}", program.name);
        let name = match flow.traffic {
            Traffic::Sweep(_) => "last",
            Traffic::Packets(_) => "size",
            _ => "request",
        };
        let expected = format!("at most {fits} B over UDP, which fit into one packet");
        problems.push(place.within("traffic").problem(name, most, expected, hint));
    }
    problems
}

/// Returns the problems of a host's own settings.
fn node_problems(
    scenario: &Scenario,
    node: &Node,
    stack: &Stack,
    program: &Program,
    place: &Place,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let hint = |what: &str| format!("{} has {what}", program.name);
    if node.system.is_some() {
        problems.push(place.problem("system", "given", "none with this stack", hint("no kernel of its own")));
    }
    let at = |link: &nettrial_scenario::Link| {
        link.interfaces.iter().filter(|interface| interface.node == node.name).count()
    };
    let links: usize = scenario.links.iter().map(at).sum();
    if links != 1 {
        let expected = "one link for a host with this stack";
        problems.push(place.problem("name", &node.name, expected, format!("it has {links} links")));
    }
    for (number, link) in
        scenario.links.iter().enumerate().filter(|(_, link)| link.medium != Medium::Cable && at(link) > 0)
    {
        let hint = hint("no way to wait for the radio");
        problems.push(Place::link(number, link).problem(
            "medium",
            link.medium.name(),
            "cable with this stack",
            hint,
        ));
    }
    let place = place.within("stack").called(format!("stack {} of {}", stack.name, node.name));
    if !program.congestion_controls.contains(&stack.congestion_control) {
        let expected = program.congestion_controls.join(", ");
        let hint = hint("no other");
        problems.push(place.problem("congestion_control", &stack.congestion_control, expected, hint));
    }
    for (name, has_default, expected) in [
        ("window_scaling", stack.window_scaling, true),
        ("sack", program.sack.contains(&stack.sack), !stack.sack),
        ("timestamps", program.timestamps.contains(&stack.timestamps), !stack.timestamps),
        ("ecn", !stack.ecn, false),
        ("mtu_probing", !stack.mtu_probing, false),
    ] {
        if !has_default {
            problems.push(place.problem(name, !expected, expected.to_string(), hint("no setting for it")));
        }
    }
    for (name, buffer) in [("receive_buffer", stack.receive_buffer), ("send_buffer", stack.send_buffer)] {
        if !program.buffers_grow && (buffer.minimum, buffer.initial) != (buffer.maximum, buffer.maximum) {
            let sizes = format!("{} to {}", buffer.minimum, buffer.maximum);
            problems.push(place.problem(name, sizes, "one size", hint("buffers that don't grow")));
        }
    }
    problems
}

/// Returns the problems of offloads, with which a packet socket gets several packets as one frame.
fn offload_problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, node) in scenario.nodes.iter().enumerate() {
        let (place, offloads, own) =
            (Place::node(number, node).within("offloads"), node.offloads, of(node).is_some());
        for (name, is_on) in
            [("tso", offloads.tso), ("gso", own && offloads.gso), ("gro", own && offloads.gro)]
        {
            if is_on {
                let hint =
                    "a stack that is a program would get several packets as one frame, larger than the MTU";
                problems.push(place.problem(name, true, "false beside a stack that is a program", hint));
            }
        }
    }
    problems
}

/// Returns the problems of a flow at `host`.
fn flow_problems(flow: &Flow, place: &Place, host: &str, program: &Program) -> Vec<Problem> {
    let mut problems = Vec::new();
    let hint = |what: &str| format!("the stack of {host}, {}, {what}", program.name);
    if !program.transports.contains(&flow.transport) {
        let names: Vec<&str> = program.transports.iter().map(|transport| transport.name()).collect();
        problems.push(place.problem(
            "transport",
            flow.transport.name(),
            names.join(", "),
            hint("has no other"),
        ));
    }
    let kind = flow.traffic.kind();
    if !program.traffic.iter().any(|name| name == kind) {
        let hint = hint("carries no other traffic, and no other program's");
        problems.push(place.within("traffic").problem("kind", kind, program.traffic.join(", "), hint));
    }
    if flow.traffic.has_mechanisms() {
        let hint = hint("states no times");
        problems.push(place.within("traffic").problem("mechanisms", true, "false", hint));
    }
    let socket = &flow.socket;
    for (name, is_set) in [
        ("mss", socket.mss.is_some()),
        ("dscp", socket.dscp > 0),
        ("window", socket.window.is_some()),
        ("busy_poll", socket.busy_poll.is_some()),
        ("nagle", socket.nagle),
        ("quick_ack", socket.quick_ack),
        ("zerocopy", socket.zerocopy),
        ("udp_gso", socket.udp_gso),
        ("udp_gro", socket.udp_gro),
        ("udp_buffer", socket.udp_buffer.is_some()),
    ] {
        if is_set && !program.socket_options.iter().any(|option| option == name) {
            problems.push(place.within("socket").problem(name, "given", "none", hint("has no such option")));
        }
    }
    problems
}
