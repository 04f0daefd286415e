//! Machines of the user's on the lab's links: any system, which a command of the user's starts.
//!
//! ```text
//! node's namespace:  veth (shaped, delayed, captured as any host's) ── bridge ── TAP ── file ── the machine's interface
//! engine's namespace: the command (a virtual machine) <── its way in (SSH over loopback, a serial port) ── the agent
//! ```
//!
//! The machine has the addresses, and its node's namespace has none. Its agent is that of the user's machines, of which
//! the lab knows no more than the trait [`Way`]. The TAP devices carry plain frames, so that whatever the system is,
//! packets on the link have the size that its MTU says, and checksums.
//!
//! A machine is started once, and serves all trials of the session. Its command is the first process of a PID namespace,
//! which ends with the engine.

mod preflight;
mod trial;

use crate::error::{Error, Result};
use crate::messages::up;
use crate::openflow::Program;
use crate::tap::Tap;
use netlink_packet_route::RouteNetlinkMessage;
use nettrial_netlink::Netlink;
use nettrial_scenario::{Machine, Problem, Scenario, Shortfall, chain};
use nettrial_session::{Sink, Transport};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time that a machine may take until its agent answers: a whole system under emulation takes minutes.
const BOOT: Duration = Duration::from_secs(240);
/// The interval at which a machine that boots is tried.
const AGAIN: Duration = Duration::from_secs(1);
/// The index of a loopback interface.
const LOOPBACK: i32 = 1;

/// A machine that may be a node of the lab's networks.
pub struct Joining {
    /// The machine's name.
    pub name: String,
    /// The nodes of studies that it stands for, unless these name machines themselves.
    pub nodes: Vec<String>,
    /// The words of the command that starts it. `{NAME}` in a word is the number of the file that is the other end of the
    /// interface NAME.
    pub starts: Vec<String>,
    /// The names of its interfaces, in the order of the node's links.
    pub interfaces: Vec<String>,
    /// The way to its agent.
    pub way: Box<dyn Way>,
}

/// The way to a machine's agent.
pub trait Way {
    /// Connects to the machine, unless it is connected, and returns its description.
    ///
    /// # Errors
    /// Returns the reason, and true if another attempt may succeed.
    fn connect(&mut self) -> Result<Machine, (Box<Shortfall>, bool)>;

    /// Ends the connection.
    fn disconnect(&mut self);

    /// Returns the problems that keep the machine from being `node`.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    fn problems(&self, scenario: &Scenario, node: &str) -> Result<Vec<Problem>>;

    /// Puts the settings of `node` in force, and starts the agent.
    ///
    /// # Errors
    /// Fails if a setting can't be changed, or if the machine is gone.
    fn begin(&self, scenario: &Scenario, node: &str) -> Result<()>;

    /// Returns the agent, which passes its reports to `sink`.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    fn agent(&self, sink: Sink) -> Result<Box<dyn Transport>>;

    /// Ends the agent, after the trial.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    fn end(&self) -> Result<()>;
}

/// The machines of a session.
#[derive(Default)]
pub struct Stations {
    stations: Vec<Station>,
}

/// A machine of the session.
struct Station {
    joining: Joining,
    /// The machine while it runs and is no node of a trial.
    powered: Option<Powered>,
}

/// A machine that runs. Dropping it ends it.
struct Powered {
    program: Program,
    taps: Vec<Tap>,
    machine: Machine,
}

impl Stations {
    /// The machines that may be nodes, none of which runs yet.
    pub fn new(machines: Vec<Joining>) -> Self {
        Self { stations: machines.into_iter().map(|joining| Station { joining, powered: None }).collect() }
    }

    /// Returns `scenario` with the machines that stand for its nodes.
    pub fn assigned(&self, scenario: &Scenario) -> Scenario {
        let mut scenario = scenario.clone();
        for node in scenario.nodes.iter_mut().filter(|node| node.machine.is_none()) {
            let mut standing =
                self.stations.iter().filter(|station| station.joining.nodes.contains(&node.name));
            node.machine = standing.next().map(|station| station.joining.name.clone());
        }
        scenario
    }

    /// Starts all machines, and returns their descriptions.
    ///
    /// # Errors
    /// Returns those that could not be started or reached.
    pub fn describe(&mut self) -> Result<Vec<Machine>, Vec<Shortfall>> {
        let deadline = Instant::now() + BOOT;
        let (mut missing, mut starting) = (Vec::new(), Vec::new());
        for (number, station) in self.stations.iter_mut().enumerate() {
            starting.push(station.started(number));
        }
        let mut machines = Vec::new();
        for (station, started) in self.stations.iter_mut().zip(starting) {
            match started.and_then(|started| station.reached(started, deadline)) {
                Ok(machine) => machines.push(machine),
                Err(shortfall) => missing.push(*shortfall),
            }
        }
        if missing.is_empty() { Ok(machines) } else { Err(missing) }
    }

    /// Returns the machine called `name`.
    fn named(&mut self, name: &str) -> Option<(usize, &mut Station)> {
        self.stations.iter_mut().enumerate().find(|(_, station)| station.joining.name == name)
    }
}

impl Station {
    /// Starts the machine, unless it runs, and returns its command and interfaces. It is the session's machine with
    /// this number.
    fn started(&mut self, number: usize) -> Result<(Program, Vec<Tap>), Box<Shortfall>> {
        if let Some(powered) = self.powered.take().filter(|powered| !powered.program.has_ended()) {
            return Ok((powered.program, powered.taps));
        }
        self.joining.way.disconnect();
        self.start(number).map_err(|error| {
            let remedy = "mend the command `starts` of the machine in the inventory";
            Box::new(Shortfall::new(format!("machine {}", self.joining.name), chain(&error), remedy))
        })
    }

    fn start(&self, number: usize) -> Result<(Program, Vec<Tap>)> {
        // The way to the machine may lead over this machine's loopback addresses, which are the engine's alone.
        let mut netlink = Netlink::open()?;
        netlink.change(RouteNetlinkMessage::SetLink(up(LOOPBACK)), "starting a loopback interface")?;
        netlink.flush()?;
        let tap = |place| Tap::plain(&format!("station{number}-{place}"));
        let taps = (0..self.joining.interfaces.len()).map(tap).collect::<Result<Vec<_>>>()?;
        let files: Vec<i32> = taps.iter().map(|tap| tap.file().as_raw_fd()).collect();
        let mut words = self.joining.starts.iter().map(|word| {
            let named = self.joining.interfaces.iter().zip(&files);
            named.fold(word.clone(), |word, (name, file)| {
                word.replace(&format!("{{{name}}}"), &file.to_string())
            })
        });
        let program = words.next().ok_or_else(|| Error::Missing("there is no command to start it".into()))?;
        let mut command = Command::new(program);
        command.args(words);
        let keep = move || {
            for file in &files {
                // SAFETY: the descriptor is open in the child, which is a copy of this process.
                if unsafe { libc::fcntl(*file, libc::F_SETFD, 0) } != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: between fork and exec it only makes system calls, and allocates no memory.
        unsafe { command.pre_exec(keep) };
        tracing::info!(machine = self.joining.name, "starting a machine");
        Ok((Program::watch("the machine's command", command)?, taps))
    }

    /// Waits until the agent of the machine answers, and returns its description.
    fn reached(
        &mut self,
        (program, taps): (Program, Vec<Tap>),
        deadline: Instant,
    ) -> Result<Machine, Box<Shortfall>> {
        let machine = loop {
            let description = self.joining.way.connect();
            match description {
                // What answers in place of a command that has ended is another machine.
                _ if program.has_ended() => {
                    let remedy = "mend the command `starts` of the machine in the inventory";
                    let what = format!("machine {}", self.joining.name);
                    return Err(Box::new(Shortfall::new(what, program.end_in_words(), remedy)));
                }
                Ok(machine) => break machine,
                Err((_, true)) if Instant::now() < deadline => std::thread::sleep(AGAIN),
                Err((shortfall, _)) => return Err(shortfall),
            }
        };
        self.powered = Some(Powered { program, taps, machine: machine.clone() });
        Ok(machine)
    }
}
