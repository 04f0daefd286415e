//! Finds the capabilities of this machine by trying each in a temporary namespace.

pub mod routing;
pub mod sysctls;

use crate::clock::Clock;
use crate::congestion::Own;
use crate::error::{Context, Error, Result};
use crate::messages::veth;
use crate::namespace::Home;
use crate::network::{translation_limits, try_holding};
use crate::packet_socket::{Intake, Outlet, Ring};
use crate::queue::{Shaper, Shaping, discipline};
use crate::wire::Wire;
use crate::{affinity, delay_line, environment, mptcp, openflow, programs, settings, supported};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use nettrial_netlink::Ethtool;
use nettrial_netlink::Netlink;
use nettrial_scenario::{
    Discipline, Link, Offloads, Place, Preflight, Problem, QueueLimit, Rate, Scenario, Shortfall,
    TimerLateness, Transport, chain,
};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use std::collections::HashSet;
use std::ffi::OsString;

/// The name of the interface on which the kernel's features are tried.
const INTERFACE: &str = "try0";
/// The index of that interface.
const INTERFACE_INDEX: i32 = 100;

/// Tries everything that a trial needs, including the congestion controls of `own`. `lateness` is that of the
/// machine's timers.
pub fn examine(home: &Home, own: Option<&Own>, lateness: Option<TimerLateness>) -> Preflight {
    let privileges = if home.is_root { "root" } else { "user_namespace" };
    let mut missing = Vec::new();
    let mut environment = environment::describe(privileges, lateness, home.clock);
    let tried = home.create(|| {
        environment = environment::describe(privileges, lateness, home.clock);
        missing.extend(try_all(home.clock));
        Ok(())
    });
    if let Err(error) = tried {
        missing.push(shortfall(
            "a network namespace",
            &error,
            "allow this user to create network namespaces",
        ));
    }
    let (taken, refused) = own.map(Own::examine).unwrap_or_default();
    environment.congestion_controls.extend(taken.into_iter().map(str::to_owned));
    environment.congestion_controls.sort();
    environment.congestion_controls.dedup();
    Preflight {
        missing,
        limits: [limits(home), disciplines(home), refused].concat(),
        capabilities: Some(Box::new(supported::capabilities(home.clock))),
        environment,
    }
}

/// Returns the shortfall that the lateness of timers could not be measured.
pub fn no_timers(error: &Error) -> Shortfall {
    shortfall("timers", error, "allow this user's processes to start threads that sleep")
}

fn shortfall(what: &str, error: &Error, remedy: &str) -> Shortfall {
    Shortfall::new(what, chain(error), remedy)
}

/// Returns everything that fails in the calling thread's namespace. Each feature is tried even if others failed.
fn try_all(clock: Clock) -> Vec<Shortfall> {
    let mut missing = Vec::new();
    let mut attempt = |what: &str, remedy: &str, result: Result<()>| {
        if let Err(error) = result {
            missing.push(shortfall(what, &error, remedy));
        }
    };
    attempt(
        "network settings (sysctl)",
        "make /proc/sys writable here; containers often mount it read-only",
        settings::write("net.ipv4.ip_forward", "1"),
    );
    attempt("virtual links (veth)", "a kernel with CONFIG_VETH: modprobe veth", try_veth());
    attempt("switches (bridge)", "a kernel with CONFIG_BRIDGE: modprobe bridge", try_bridge());
    let shaper_remedy = match clock {
        Clock::Real => "a kernel with CONFIG_NET_SCH_HTB and CONFIG_NET_SCH_FIFO: modprobe sch_htb",
        Clock::Virtual => "build the kernel again, with this version of nettrial",
    };
    attempt("link rates and queues (HTB, pfifo)", shaper_remedy, try_shaping(clock));
    attempt(
        "offload settings (ethtool)",
        "a kernel with CONFIG_VETH",
        Ethtool::open().and_then(|ethtool| ethtool.set(INTERFACE, Offloads::default())).map_err(Error::from),
    );
    missing
}

fn try_veth() -> Result<()> {
    let here = std::fs::File::open("/proc/thread-self/ns/net").context("opening the namespace")?;
    let interface = |name: &str, index: i32| {
        let mut message = LinkMessage::default();
        message.header.index = index.unsigned_abs();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::NetNsFd(std::os::fd::AsRawFd::as_raw_fd(&here)),
        ];
        message
    };
    let pair = veth([interface(INTERFACE, INTERFACE_INDEX), interface("try1", INTERFACE_INDEX + 1)]);
    let mut netlink = Netlink::open()?;
    netlink.create(RouteNetlinkMessage::NewLink(pair), "making a veth pair")?;
    Ok(netlink.flush()?)
}

fn try_bridge() -> Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName("try2".to_owned()),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge)]),
    ];
    let mut netlink = Netlink::open()?;
    netlink.create(RouteNetlinkMessage::NewLink(message), "creating a bridge")?;
    Ok(netlink.flush()?)
}

fn try_shaping(clock: Clock) -> Result<()> {
    let (rate, limit) = (Rate(1_000_000_000), QueueLimit::Packets(100));
    let shaper = match clock {
        Clock::Real => Shaper::Buckets,
        Clock::Virtual => Shaper::Wire { rate, delay_ns: 0 },
    };
    let mut netlink = Netlink::open()?;
    let shaping = Shaping::new(rate, limit, &Discipline::default(), &Wire::plain(1500), shaper)?;
    shaping.apply(&mut netlink, (INTERFACE_INDEX, INTERFACE))?;
    Ok(netlink.flush()?)
}

/// Returns the missing features that are not required by all trials.
fn limits(home: &Home) -> Vec<Shortfall> {
    let mut limits = if home.clock == Clock::Real { limits_of_the_machine(home) } else { Vec::new() };
    for name in ["cubic", "bbr"] {
        if let Err(error) = try_congestion_control(name) {
            limits.push(shortfall(
                &format!("congestion control {name}"),
                &error,
                &format!("modprobe tcp_{name}; stacks that use it cannot run without"),
            ));
        }
    }
    if !mptcp::is_there() {
        limits.push(Shortfall::new(
            "MPTCP",
            "this kernel does not have it",
            "a kernel with CONFIG_MPTCP; studies that use it cannot run without",
        ));
    }
    limits.extend(routing::limits());
    limits.extend(translation_limits(home));
    let (lacking, mut remedies): (Vec<String>, Vec<&str>) =
        nettrial_traffic::lacking_tools().into_iter().unzip();
    if !lacking.is_empty() {
        remedies.dedup();
        limits.push(Shortfall::new(
            "some tools of studies",
            format!("programs are not installed: {}", lacking.join(", ")),
            format!("those that a study asks for: {}", remedies.join("; ")),
        ));
    }
    if let Err(error) = try_delay_line() {
        limits.push(shortfall(
            "delay, loss and the rest on a link",
            &error,
            "a kernel with CONFIG_PACKET; studies that set them cannot run without",
        ));
    }
    if let Err(error) = try_holding(home) {
        limits.push(shortfall(
            "senders that wait for the radio",
            &error,
            "run as root, with a kernel with CONFIG_MACVTAP; without it they wait for nothing, more packets \
             are at \
             stations, and trials with radio channels warn of it",
        ));
    }
    limits
}

/// Returns the queue disciplines that this kernel does not have.
fn disciplines(home: &Home) -> Vec<Shortfall> {
    let lacking = discipline::lacking(home);
    let Some((_, why)) = lacking.first() else { return Vec::new() };
    let names: Vec<&str> = lacking.iter().map(|(name, _)| *name).collect();
    vec![Shortfall::new(
        format!("queue disciplines {}", names.join(", ")),
        why.clone(),
        "modprobe sch_NAME, or `--backend virtual`; studies that use them cannot run without",
    )]
}

/// Returns the missing features that only real time needs: CPUs, and programs that are not part of every kernel.
fn limits_of_the_machine(home: &Home) -> Vec<Shortfall> {
    let mut limits = Vec::new();
    if !home.is_root {
        limits.push(Shortfall::new(
            "CPU time by host (cpu, service_demand)",
            "steering an interface's receive work to a CPU needs root",
            "run as root; without it these two metrics are absent",
        ));
    }
    let processors = affinity::usable().len();
    if processors < 3 {
        limits.push(Shortfall::new(
            "a CPU for the router",
            format!("there are {processors} CPUs"),
            "with three or more, no measured CPU does the forwarding; the record says which one did it",
        ));
    }
    limits.extend(openflow::limits());
    limits
}

/// Fails if frames can't be read from and written to an interface.
fn try_delay_line() -> Result<()> {
    const LOOPBACK: i32 = 1;
    Ring::open(LOOPBACK, Intake::Arriving, 1514, 1)?;
    Outlet::open(LOOPBACK).map(|_| ())
}

/// Fails if a socket does not accept the congestion control. The kernel loads its module if the user is allowed
/// to.
fn try_congestion_control(name: &str) -> Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::TcpCongestion, &OsString::from(name))
        .with_context(|| format!("setsockopt(TCP_CONGESTION, {name:?})"))
}

/// Returns the problems that keep `scenario` from running on this backend or this kernel, whose clock is `clock`.
pub fn scenario_problems(scenario: &Scenario, own: &Own, clock: Clock) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut links = scenario.links.iter().enumerate();
    if let Some((number, link)) = links.find(|(number, _)| delay_line::is_needed(scenario, *number, clock))
        && let Err(error) = try_delay_line()
    {
        let hint = format!("links can't delay or lose frames here: {}", chain(&error));
        let problem = Place::link(number, link).problem("delay", link.delay, "0 ns, and no impairment", hint);
        problems.push(problem.of_machine());
    }
    problems.extend(radio_problems(scenario));
    let shaped = scenario.links.iter().any(|link| link.is_shaped() || link.wlan.is_some());
    for (number, flow) in scenario.workload.iter().enumerate() {
        let place = Place::flow(number, flow);
        if flow.transport == Transport::Mptcp && !mptcp::is_there() {
            let problem = place.problem("transport", "mptcp", "tcp, udp", "this kernel has no MPTCP");
            problems.push(problem.of_machine());
        }
        if flow.socket.udp_gso && shaped {
            let expected = "false, or links without a rate";
            let hint =
                "a link's shaper gets whole GSO packets, and can't determine the number of their frames";
            problems.push(place.within("socket").problem("udp_gso", true, expected, hint));
        }
    }
    problems.extend(congestion_problems(scenario, own));
    problems.extend(supported::problems(scenario, clock));
    problems.extend(programs::problems(scenario));
    problems
}

/// Returns the problems that keep the radio channels of `scenario` from running.
fn radio_problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let channels = || scenario.links.iter().enumerate().filter(|(_, link)| link.wlan.is_some());
    if let Some((number, link)) = channels().next()
        && let Err(error) = try_delay_line()
    {
        let hint = format!("frames can't be read from and written to interfaces here: {}", chain(&error));
        problems.push(Place::link(number, link).problem("medium", "wlan", "cable", hint).of_machine());
    }
    for (number, node) in scenario.nodes.iter().enumerate() {
        let is_at = |link: &Link| link.interfaces.iter().any(|interface| interface.node == node.name);
        if node.offloads.tso && channels().any(|(_, link)| is_at(link)) {
            let hint = "a radio can't send a GSO packet: on air each of its segments is a separate frame";
            let place = Place::node(number, node).within("offloads");
            problems.push(place.problem("tso", true, "false with a radio channel in the lab", hint));
        }
    }
    problems
}

/// Returns a problem for each congestion control that hosts need and that is not available, about the first such
/// host.
fn congestion_problems(scenario: &Scenario, own: &Own) -> Vec<Problem> {
    let nodes = scenario.nodes.iter().enumerate();
    let stacks =
        nodes.filter_map(|(number, node)| Some((Place::node(number, node), node, node.stack.as_ref()?)));
    let stacks = stacks.filter(|(_, node, _)| programs::of(node).is_none());
    let mut asked = HashSet::new();
    let refused = stacks.filter_map(|(place, node, stack)| {
        let name = &stack.congestion_control;
        let hint = match asked.insert(name).then(|| own.get(name))? {
            Some(control) => format!("it can't be loaded into the kernel: {}", control.err()?),
            None => {
                try_congestion_control(name).err()?;
                format!("this kernel does not have it; if it is a module: modprobe tcp_{name}")
            }
        };
        let place = place.within("stack").called(format!("stack {} of {}", stack.name, node.name));
        Some(place.problem("congestion_control", name, there_are(own).join(", "), hint).of_machine())
    });
    refused.collect()
}

/// Returns the congestion controls that are available to hosts.
fn there_are(own: &Own) -> Vec<String> {
    let mut names = environment::congestion_controls();
    names.extend(own.examine().0.into_iter().map(str::to_owned));
    names
}
