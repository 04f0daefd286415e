//! Switches under an OpenFlow controller: bridges of Open vSwitch in its user-space datapath, which needs no kernel
//! module.
//!
//! Open vSwitch is one process for all bridges, so the interfaces of all switches are in one namespace. Its two
//! daemons and the controller run there. Each is in a PID namespace, together with the processes that it starts,
//! which ends with the engine. They write their files to a file system in memory that no other process sees. A
//! controller of the user's own is reached through a relay that counts messages. Open vSwitch reads and writes
//! interfaces through packet sockets: frames have their checksums, and queues remain those of the kernel
//! (`linux-noop`).

mod buffers;
mod message;
mod own;
mod preflight;
mod program;
mod relay;

pub use preflight::{limits, problems};

use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::messages::up;
use crate::namespace::{Home, Namespace};
use crate::settings;
use buffers::{Sockets, below};
use netlink_packet_route::RouteNetlinkMessage;
use nettrial_flows::statistics::distribution;
use nettrial_netlink::Netlink;
use nettrial_scenario::{
    ControllerApplication, ControllerMode, ControllerRecord, Distribution, NodeKind, Scenario, chain,
    nanoseconds,
};
use own::Own;
pub use program::Program;
use program::cpu_ns_of;
use relay::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The environment variable with the path of the Python that has os-ken and nettrial's controllers.
const PYTHON: &str = "NETTRIAL_CONTROLLERS";
/// The port of OpenFlow (IANA), at which a controller in the switches' namespace listens.
const PORT: u16 = 6653;
/// The schema of Open vSwitch's database.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// The number of bridges that one command sets up.
const AT_ONCE: usize = 100;
/// The time after which Open vSwitch must have answered a command, and the controller must have reported its work.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOPBACK: i32 = 1;
/// The directory to which Open vSwitch writes, which no other process sees.
const RUN: &str = "/run";

/// The controller and its switches, all of which end when this value is dropped.
pub struct Fabric {
    namespace: Namespace,
    switches: Program,
    side: Side,
    /// The time in which the controller must be ready.
    limit: Duration,
    /// The number of switches; the first has datapath 1.
    count: usize,
    ready: Option<Ready>,
    begun: Option<Result<Done>>,
    /// The packets that the controller had handled when it last reported them.
    handled: Handled,
    /// The sockets of Open vSwitch, or the reason why they can't be reached.
    sockets: Result<Sockets, String>,
}

/// The controller.
enum Side {
    /// A process with one of nettrial's applications.
    Application(Program),
    /// A controller of the user's own.
    Own(Own),
}

/// An interface of a switch in Open vSwitch.
pub struct Port {
    /// The number of its switch among the switches.
    pub switch: usize,
    /// The interface's name in the namespace.
    pub device: String,
}

/// A host as its switch sees it.
#[derive(Serialize)]
pub struct Attached {
    /// Its Ethernet address.
    pub mac: String,
    /// The datapath to which it is attached.
    pub switch: u64,
    /// The number of its port at the switch.
    pub port: u32,
    /// Its IP addresses.
    pub addresses: Vec<String>,
    /// The number of addresses of the same host on links before this one.
    pub before: usize,
}

/// Reads `input` as the bytes of an OpenFlow connection, whole and in pieces, which must give the same messages.
#[cfg(fuzzing)]
pub fn fuzz(input: &[u8]) {
    let read = |size: usize| {
        let (mut messages, mut complete) = (message::Messages::default(), Vec::new());
        input.chunks(size).for_each(|piece| messages.take(piece, |message| complete.push(message)));
        complete
    };
    assert_eq!(read(input.len().max(1)), read(7));
}

/// The assignment of a controller of nettrial, which the engine sends to it.
#[derive(Serialize)]
struct Assignment<'a> {
    application: ControllerApplication,
    mode: ControllerMode,
    paths: u32,
    seed: u64,
    listen: u16,
    switches: usize,
    /// The number of links between switches.
    links: usize,
    hosts: &'a [Attached],
    /// The pairs of addresses between which there are flows.
    pairs: BTreeSet<(IpAddr, IpAddr)>,
}

/// A line of output of a controller of nettrial.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    /// Switches may connect.
    Listening,
    /// The whole network is known, and all rules are in place.
    Ready(Ready),
    /// The work that it has done so far.
    Counts(Counts),
}

/// The state of a controller that is ready.
#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
struct Ready {
    connect_ns: u64,
    #[serde(default)]
    discovery_ns: Option<u64>,
    #[serde(default)]
    ready_ns: Option<u64>,
}

/// The work of a controller.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    packet_ins: u64,
    packet_outs: u64,
    changes: u64,
    /// The times to set up flows since the last report, in microseconds.
    #[serde(default)]
    setup_us: Vec<u32>,
    /// The number of connections that ended.
    #[serde(skip)]
    ended: u64,
}

/// The work of a controller until some moment.
struct Done {
    counts: Counts,
    cpu_ns: Option<u64>,
    switches_cpu_ns: u64,
    /// The packets lost since the last time.
    lost_pkts: Option<u64>,
}

/// The packets of hosts that a controller handled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Handled {
    /// The packets that switches sent to it.
    pub packet_ins: u64,
    /// The packets that it told switches to send.
    pub packet_outs: u64,
}

/// The work of a controller during the traffic, or the reason why it is not known.
pub enum Outcome {
    /// The record of the controller.
    Recorded(Box<ControllerRecord>),
    /// The controller ended by itself, with this last output.
    Lost(String),
}

impl Fabric {
    /// Starts the programs, if `scenario` has a controller, in a namespace for all switches.
    pub fn start(home: &Home, scenario: &Scenario) -> Result<Option<Self>> {
        let Some(controller) = &scenario.controller else { return Ok(None) };
        let count = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count();
        let inside = || {
            if settings::is_there("net.ipv6") {
                settings::write("net.ipv6.conf.default.disable_ipv6", "1")?;
            }
            let mut netlink = Netlink::open()?;
            netlink.change(RouteNetlinkMessage::SetLink(up(LOOPBACK)), "starting a loopback interface")?;
            netlink.flush()?;
            let side = if controller.application.is_some() {
                let python = python().ok_or_else(|| Error::Program("no Python has os-ken".into()))?;
                let mut command = Command::new(python);
                command.args(["-P", "-m", "nettrial.controllers"]);
                Side::Application(Program::start("the controller", command, None)?)
            } else {
                // A switch that connects again may do so before its old connection has ended.
                Side::Own(Own::start(home, controller, PORT, 2 * count)?)
            };
            let mut command = Command::new("sh");
            command.arg("-e").env("PATH", search_path());
            for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
                command.env(variable, RUN);
            }
            let private = home.is_root;
            let mut switches = Program::start("Open vSwitch", command, Some((RUN, private)))?;
            switches.say(&daemons())?;
            Ok((switches, side))
        };
        let (namespace, (switches, side)) =
            home.create(inside).context("starting Open vSwitch and a controller")?;
        Ok(Some(Self {
            namespace,
            switches,
            side,
            limit: controller.connect_limit.as_std(),
            count,
            ready: None,
            begun: None,
            handled: Handled::default(),
            sockets: Err("they are not there yet".to_owned()),
        }))
    }

    /// Returns the namespace of all switches.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Creates the bridges with these ports, numbered from 1 on each bridge, and waits until the controller is
    /// ready.
    pub fn connect(
        &mut self,
        home: &Home,
        layout: &Layout,
        ports: &[Port],
        hosts: &[Attached],
    ) -> Result<()> {
        let scenario = layout.scenario;
        let controller =
            scenario.controller.as_ref().ok_or_else(|| Error::Program("there is no controller".into()))?;
        let deadline = Instant::now() + self.limit;
        let (protocols, port) = match (&mut self.side, controller.application) {
            (Side::Application(program), Some(application)) => {
                let assignment = Assignment {
                    application,
                    mode: controller.mode,
                    paths: controller.paths,
                    seed: controller.seed,
                    listen: PORT,
                    switches: self.count,
                    links: between_switches(scenario),
                    hosts,
                    pairs: layout.paths.flow_pairs(),
                };
                program.say(&serde_json::to_string(&assignment)?)?;
                ("OpenFlow13", PORT)
            }
            (Side::Own(own), _) => ("OpenFlow10,OpenFlow13", own.port()?),
            (Side::Application(_), None) => {
                return Err(Error::Program("the controller has no application".into()));
            }
        };
        let bridges = bridges(self.count, ports, protocols);
        self.ask_switches(&bridges).context("making the switches")?;
        let connect = numbers(self.count)
            .chunks(AT_ONCE)
            .map(|some| {
                let each = some
                    .iter()
                    .map(|&switch| format!(" -- set-controller {} tcp:127.0.0.1:{port}", bridge(switch)));
                format!("ovs-vsctl{}\n", each.collect::<String>())
            })
            .collect::<String>();
        match &mut self.side {
            Side::Application(program) => {
                match hear(program, deadline)? {
                    Said::Listening => {}
                    _ => return Err(Error::Program("the controller did not begin with listening".into())),
                }
                program.say("begin")?;
            }
            Side::Own(own) => own.await_listener(home, &self.namespace, PORT)?,
        }
        let begun = Instant::now();
        self.ask_switches(&connect).context("connecting the switches")?;
        self.ready = Some(match &mut self.side {
            Side::Application(program) => match hear(program, deadline)? {
                Said::Ready(ready) => ready,
                _ => return Err(Error::Program("the controller did not say that it was ready".into())),
            },
            Side::Own(own) => {
                let connected = own.await_switches(self.count)?.duration_since(begun);
                let connect_ns = nanoseconds(connected);
                Ready { connect_ns, discovery_ns: None, ready_ns: None }
            }
        });
        self.sockets = Sockets::enlarge(self.switches.process()).map_err(|error| chain(&error));
        Ok(())
    }

    /// Returns the reason why Open vSwitch may drop frames when many are in flight, if there is one.
    pub fn cramped(&self) -> Option<&str> {
        self.sockets.as_ref().err().map(String::as_str)
    }

    /// Records that the traffic begins.
    pub fn begin(&mut self) {
        self.begun = Some(self.look());
    }

    /// Returns the work of the controller so far.
    fn look(&mut self) -> Result<Done> {
        let (cpu_ns, counts) = match &mut self.side {
            Side::Application(program) => {
                let cpu_ns = program.cpu_ns()?;
                program.say("counts")?;
                match hear(program, Instant::now() + PATIENCE)? {
                    Said::Counts(counts) => (Some(cpu_ns), counts),
                    _ => return Err(Error::Program("the controller did not say what it has done".into())),
                }
            }
            Side::Own(own) => {
                own.complain_of_end()?;
                let State { packet_ins, packet_outs, changes, ended, .. } = own.state();
                let setup_us = Vec::new();
                (own.cpu_ns()?, Counts { packet_ins, packet_outs, changes, setup_us, ended })
            }
        };
        self.handled = Handled { packet_ins: counts.packet_ins, packet_outs: counts.packet_outs };
        let mut switches_cpu_ns = 0;
        for process in below(self.switches.process())? {
            switches_cpu_ns += cpu_ns_of(process)?;
        }
        let lost_pkts = self.sockets.as_ref().ok().map(Sockets::take_lost).transpose()?;
        Ok(Done { counts, cpu_ns, switches_cpu_ns, lost_pkts })
    }

    /// Returns the packets that the controller has handled since its start, as far as they are known.
    pub fn handled(&self) -> Handled {
        match &self.side {
            Side::Application(_) => self.handled,
            Side::Own(own) => {
                let State { packet_ins, packet_outs, .. } = own.state();
                Handled { packet_ins, packet_outs }
            }
        }
    }

    /// Returns the work of the controller since the traffic began.
    pub fn finish(&mut self) -> Result<Outcome> {
        let (Some(ready), Some(begun)) = (self.ready, self.begun.take()) else {
            return Err(Error::Program("the traffic of a fabric ended before it began".into()));
        };
        let (before, after) = match begun.and_then(|before| Ok((before, self.look()?))) {
            Ok(both) => both,
            Err(error) => return Ok(Outcome::Lost(chain(&error))),
        };
        let (was, is) = (before.counts, after.counts);
        if is.ended > was.ended {
            let lost = is.ended - was.ended;
            return Ok(Outcome::Lost(format!("it lost the connections of {lost} switches")));
        }
        let openflow = match &self.side {
            Side::Application(_) => "1.3",
            Side::Own(own) => own.state().version(),
        };
        Ok(Outcome::Recorded(Box::new(ControllerRecord {
            openflow: openflow.to_owned(),
            connect_ns: ready.connect_ns,
            discovery_ns: ready.discovery_ns,
            ready_ns: ready.ready_ns,
            packet_ins: is.packet_ins - was.packet_ins,
            packet_outs: is.packet_outs - was.packet_outs,
            changes: is.changes - was.changes,
            setup_us: Some(is.setup_us).filter(|values| !values.is_empty()).map(distribution),
            cpu_ns: after.cpu_ns.zip(before.cpu_ns).map(|(after, before)| after.saturating_sub(before)),
            switches_cpu_ns: after.switches_cpu_ns.saturating_sub(before.switches_cpu_ns),
            lost_pkts: after.lost_pkts,
            rules: self.rules()?,
        })))
    }

    /// Returns the distribution of the number of rules per switch.
    fn rules(&mut self) -> Result<Distribution> {
        let bridges: Vec<String> = (0..self.count).map(bridge).collect();
        let each = format!(
            "for name in {}; do ovs-ofctl -O OpenFlow13 dump-aggregate $name; done\n",
            bridges.join(" ")
        );
        let lines = self.ask_switches(&each).context("counting the rules of switches")?;
        let count = |line: &String| line.rsplit_once("flow_count=")?.1.trim().parse().ok();
        let rules: Vec<u32> = lines.iter().filter_map(count).collect();
        if rules.len() != bridges.len() {
            return Err(Error::Program(format!("Open vSwitch told the rules of {} switches", rules.len())));
        }
        Ok(distribution(rules))
    }

    /// Runs `commands` in the shell beside Open vSwitch, and returns the lines that they print.
    fn ask_switches(&mut self, commands: &str) -> Result<Vec<String>> {
        self.switches.say(&format!("{commands}echo .\n"))?;
        let deadline = Instant::now() + PATIENCE;
        let mut lines = Vec::new();
        loop {
            match self.switches.hear(deadline)? {
                end if end == "." => return Ok(lines),
                line => lines.push(line),
            }
        }
    }
}

/// Waits for a line of a controller of nettrial.
fn hear(program: &Program, deadline: Instant) -> Result<Said> {
    let line = program.hear(deadline)?;
    serde_json::from_str(&line).with_context(|| format!("the controller said {line:?}"))
}

/// Returns the numbers of `count` switches.
fn numbers(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// Returns the commands that create `count` bridges with their ports, which use these `protocols`.
fn bridges(count: usize, ports: &[Port], protocols: &str) -> String {
    let mut commands = String::new();
    // Writing to a string does not fail.
    for some in numbers(count).chunks(AT_ONCE) {
        commands.push_str("ovs-vsctl --id=@q create QoS type=linux-noop");
        for &switch in some {
            let name = bridge(switch);
            let _ = write!(
                commands,
                " -- add-br {name} -- set bridge {name} datapath_type=netdev protocols={protocols} \
                 fail_mode=secure other-config:disable-in-band=true other-config:datapath-id={:016x}",
                switch + 1
            );
            let own = ports.iter().filter(|port| port.switch == switch);
            for (number, Port { device, .. }) in own.enumerate() {
                let _ = write!(
                    commands,
                    " -- add-port {name} {device} -- set port {device} qos=@q -- set interface {device} \
                     ofport_request={}",
                    number + 1
                );
            }
        }
        commands.push('\n');
    }
    commands
}

/// Returns the commands that start Open vSwitch's daemons, each of which runs in the background once it answers.
fn daemons() -> String {
    let common = "--detach --no-chdir --pidfile -vconsole:warn -vsyslog:off -vfile:off";
    format!(
        "ovsdb-tool create {RUN}/conf.db {SCHEMA}\n\
         ovsdb-server {RUN}/conf.db --remote=punix:{RUN}/db.sock --unixctl={RUN}/db.ctl {common}\n\
         ovs-vsctl --no-wait init\n\
         ovs-vswitchd unix:{RUN}/db.sock --unixctl={RUN}/switch.ctl --disable-system {common}\n"
    )
}

/// Returns the directories of programs, including those for administrators, which contain Open vSwitch's daemons.
pub fn search_path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

/// Returns the path of the Python that has the controllers, if there is one.
fn python() -> Option<PathBuf> {
    std::env::var_os(PYTHON).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the name of the bridge of the switch with this number.
fn bridge(switch: usize) -> String {
    format!("s{}", switch + 1)
}

/// Returns the number of links between switches.
fn between_switches(scenario: &Scenario) -> usize {
    let is_switch = |name: &str| scenario.node(name).is_some_and(|node| node.kind == NodeKind::Switch);
    let links = scenario.links.iter();
    links.filter(|link| link.interfaces.iter().all(|interface| is_switch(&interface.node))).count()
}
