//! A controller of the user's own: a program that is started for the trial, or one that is already running.

use super::program::{Program, cpu_ns_of_all};
use super::relay::{Relay, State};
use crate::error::{Error, Result};
use crate::namespace::{Home, Namespace};
use nettrial_scenario::Controller;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time between two checks of whether the controller is ready.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The placeholder of the port in the arguments of a command.
const PORT_HERE: &str = "{port}";

/// A controller of the user's own, which ends when this value is dropped if it was started for the trial.
pub struct Own {
    /// The controller in words, for messages.
    name: String,
    relay: Relay,
    /// Its program; `None` for a controller that is already running.
    program: Option<Program>,
    begun: Instant,
    limit: Duration,
    settle: Duration,
}

impl Own {
    /// Starts the controller's program, which is to listen at `port`, in the calling thread's namespace, and a
    /// relay to it for at most `most` connections at a time. If the controller has an address, starts only a relay to
    /// it.
    pub fn start(home: &Home, controller: &Controller, port: u16, most: usize) -> Result<Self> {
        let (name, target, outside, program) = if let Some((host, port)) = controller.host_and_port() {
            let outside = home
                .outside()
                .ok_or_else(|| Error::Program("this user can't return to the machine's network".into()))?;
            (format!("the controller at {host} port {port}"), (host.to_owned(), port), Some(outside), None)
        } else {
            let words: Vec<String> =
                controller.command.iter().map(|word| word.replace(PORT_HERE, &port.to_string())).collect();
            let (program, arguments) =
                words.split_first().ok_or_else(|| Error::Program("the controller has no command".into()))?;
            let mut command = Command::new(program);
            command.args(arguments);
            nettrial_traffic::clear_environment(&mut command);
            let program = Program::watch("the controller", command)?;
            (format!("the controller {}", words.join(" ")), ("127.0.0.1".into(), port), None, Some(program))
        };
        Ok(Self {
            name,
            relay: Relay::start(target, outside, most)?,
            program,
            begun: Instant::now(),
            limit: controller.connect_limit.as_std(),
            settle: controller.settle.as_std(),
        })
    }

    /// Returns the port of the relay, to which switches connect.
    pub fn port(&self) -> Result<u16> {
        self.relay.port()
    }

    /// Returns the counts of messages between the controller and the switches.
    pub fn state(&self) -> State {
        self.relay.state()
    }

    /// Waits until the controller's program listens at `port` in `namespace`.
    pub fn await_listener(&self, home: &Home, namespace: &Namespace, port: u16) -> Result<()> {
        let listens = || home.visit(namespace, || Ok(nettrial_traffic::listens(port)?));
        while self.program.is_some() && !listens()? {
            self.go_on(|| format!("did not listen at port {port} of 127.0.0.1"))?;
        }
        Ok(())
    }

    /// Waits until `count` switches are connected and the controller has stopped changing rules. Returns the time
    /// at which the last switch connected.
    pub fn await_switches(&self, count: usize) -> Result<Instant> {
        while self.state().connected() < count {
            if let (Some(reason), None) = (self.state().unreachable, &self.program) {
                return Err(Error::Program(reason));
            }
            self.go_on(|| format!("had {} of {count} switches", self.state().connected()))?;
        }
        let connected = Instant::now();
        // A controller that never stops changing rules counts as ready when the time is over.
        while self.state().quiet() < self.settle && connected.elapsed() < self.settle + self.limit {
            self.complain_of_end()?;
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(connected)
    }

    /// Waits for a moment. Fails if the program has ended or the time is over.
    fn go_on(&self, state: impl Fn() -> String) -> Result<()> {
        self.complain_of_end()?;
        if self.begun.elapsed() > self.limit {
            let said =
                self.program.as_ref().map_or(String::new(), |program| format!("; {}", program.complaint()));
            return Err(Error::Silent(format!(
                "{} {} after {} s{said}",
                self.name,
                state(),
                self.limit.as_secs_f64()
            )));
        }
        std::thread::sleep(LOOK_AGAIN);
        Ok(())
    }

    /// Fails if the program has ended.
    pub fn complain_of_end(&self) -> Result<()> {
        match &self.program {
            Some(program) if program.has_ended() => {
                Err(Error::Program(format!("{}: {}", self.name, program.end_in_words())))
            }
            _ => Ok(()),
        }
    }

    /// Returns the CPU time of the program and of all processes that it started; `None` without a program.
    pub fn cpu_ns(&self) -> Result<Option<u64>> {
        self.program.as_ref().map(|program| cpu_ns_of_all(program.process())).transpose()
    }
}
