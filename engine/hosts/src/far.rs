//! The machine's side of a session: it answers questions from its standard input, and runs the agent. It does not
//! listen on any port.

use crate::describe::{self, describe};
use crate::guard::Guard;
use crate::inventory::Permission;
use crate::journal::{self, Journal, Lock};
use crate::message::{FromMachine, ToMachine, WELCOME, Welcome};
use crate::settings::Change;
use crate::watch::Watch;
use anyhow::{Context, Result, bail, ensure};
use nettrial_scenario::Place;
use nettrial_session::{Event, Process, Transport, monotonic_ns};
use nettrial_traffic::{Order, Reply, Report, in_words};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The time for which the other end may be silent, in nanoseconds: it sends a sign of life every
/// [`BEAT`](crate::line::BEAT).
const SILENCE_NS: i64 = 20_000_000_000;
/// The interval at which silence is checked.
const LOOK: Duration = Duration::from_secs(1);
/// The time that the guard of an earlier session may take to restore settings.
const RESTORING: Duration = Duration::from_secs(10);

/// Answers questions from standard input on standard output, until the input ends or nothing arrives for 20 s.
/// Changed settings are restored before it returns.
///
/// # Errors
/// Fails if nobody reads the answers, or if a setting could not be restored.
pub fn serve() -> Result<()> {
    let welcome = Welcome { version: env!("CARGO_PKG_VERSION").into() };
    let mut output = std::io::stdout().lock();
    writeln!(output, "{WELCOME}{}", serde_json::to_string(&welcome)?)?;
    output.flush()?;
    drop(output);
    let heard = Arc::new(AtomicI64::new(monotonic_ns()));
    let questions = listen(Arc::clone(&heard));
    let mut state = State::default();
    loop {
        match questions.recv_timeout(LOOK) {
            Ok(question) => state.answer(question),
            Err(RecvTimeoutError::Timeout) => {
                if monotonic_ns() - heard.load(Ordering::Relaxed) > SILENCE_NS {
                    eprintln!("no message arrived for {} s: the session is over", SILENCE_NS / 1_000_000_000);
                    break;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    state.leave()
}

/// Reads questions in a separate thread. Questions about the time and signs of life are answered at once, whatever
/// else is going on.
fn listen(heard: Arc<AtomicI64>) -> Receiver<ToMachine> {
    let (sender, questions) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let heard_ns = monotonic_ns();
            heard.store(heard_ns, Ordering::Relaxed);
            match serde_json::from_str(&line) {
                Ok(ToMachine::StillHere) => say(&FromMachine::StillHere),
                Ok(ToMachine::Time) => {
                    let wall_ns = describe::wall_ns();
                    say(&FromMachine::Time { heard_ns, answered_ns: monotonic_ns(), wall_ns });
                }
                Ok(question) => {
                    if sender.send(question).is_err() {
                        return;
                    }
                }
                Err(error) => say(&FromMachine::Failed(format!("reading a question: {error}"))),
            }
        }
    });
    questions
}

/// Writes a line. If that fails, the other end is gone, which the end of the input shows as well.
fn say(line: &FromMachine) {
    let Ok(text) = serde_json::to_string(line) else { return };
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{text}").and_then(|()| output.flush());
}

/// The parts of a session on this machine, each of which exists once it was requested.
#[derive(Default)]
struct State {
    agent: Option<Process>,
    journal: Option<(Journal, Lock)>,
    guard: Option<Guard>,
    watch: Option<Watch>,
}

/// Lets the kernel forget the path MTUs of IPv4 that it learned from ICMP in an earlier trial, if the user has the
/// privileges: they outlive a trial by ten minutes (Documentation/networking/ip-sysctl.rst, mtu_expires).
fn forget_paths() {
    let _ = std::fs::write("/proc/sys/net/ipv4/route/flush", "1");
}

impl State {
    fn answer(&mut self, question: ToMachine) {
        let answer = match question {
            ToMachine::Order(order) => return self.order(&order),
            ToMachine::Describe { interfaces } => {
                describe(&interfaces).map(|found| FromMachine::Described(Box::new(found)))
            }
            ToMachine::Problems { flows, controls } => {
                let problems =
                    |(number, flow)| nettrial_traffic::problems(&flow, &Place::flow(number, &flow));
                let flows = flows.into_iter().flat_map(problems).collect();
                let without = controls.into_iter().filter(|name| !describe::has_control(name)).collect();
                Ok(FromMachine::Problems { flows, without })
            }
            ToMachine::Begin { settings, agent } => self.begin(&settings, agent).map(|()| FromMachine::Begun),
            ToMachine::Observe { interfaces } => {
                let late_ns = self.watch.get_or_insert_with(Watch::start).latest_ns();
                describe::observe(&interfaces, late_ns).map(FromMachine::Observed)
            }
            ToMachine::End => {
                (self.agent, self.watch) = (None, None);
                Ok(FromMachine::Ended)
            }
            // The thread that reads them answers these.
            ToMachine::StillHere | ToMachine::Time => return,
        };
        say(&answer.unwrap_or_else(|error| FromMachine::Failed(in_words(&error))));
    }

    fn order(&mut self, order: &Order) {
        let done = match &mut self.agent {
            Some(agent) => agent.order(order).map_err(|error| in_words(&error)),
            None => Err("no agent is running".to_owned()),
        };
        if let Err(message) = done {
            let report = Report { number: order.number, reply: Reply::Failed { message } };
            say(&FromMachine::Report(Box::new(report)));
        }
    }

    fn begin(&mut self, settings: &[Change], agent: bool) -> Result<()> {
        self.agent = None;
        self.hold()?;
        settings.iter().try_for_each(|change| self.change(change))?;
        forget_paths();
        if agent {
            let mut command = Process::own();
            if cfg!(target_os = "linux") {
                command.arg("--dies-with-parent");
            }
            self.agent = Some(Process::local(Process::spawn(&mut command)?, |event| {
                say(&match event {
                    Event::Report(report) => FromMachine::Report(Box::new(report)),
                    Event::Ended(why) => FromMachine::AgentEnded(why),
                });
            })?);
        }
        Ok(())
    }

    /// Makes sure that no other session uses this machine, and that none left settings changed.
    fn hold(&mut self) -> Result<()> {
        if self.journal.is_some() {
            return Ok(());
        }
        let Some(lock) = Lock::take(RESTORING)? else {
            bail!("another nettrial session is using this machine: wait until it ends")
        };
        let left = journal::restore().context("restoring the settings that an earlier session changed")?;
        ensure!(
            left.failed.is_empty(),
            "settings that an earlier session changed could not be restored: {}; fix that, then run \
             `nettrial machines restore`",
            left.failed.join("; ")
        );
        self.journal = Some((Journal::open()?, lock));
        Ok(())
    }

    /// Puts a setting in force, if it is not in force already. Its old value is in the journal by then, and the
    /// guard is running.
    fn change(&mut self, change: &Change) -> Result<()> {
        let Change { setting, value } = change;
        if setting.has(value)? {
            return Ok(());
        }
        let (journal, lock) = self.journal.as_mut().context("this session does not hold the machine")?;
        if self.guard.is_none() {
            self.guard = Some(Guard::start(lock)?);
        }
        journal.note(setting)?;
        let written = setting.write(value);
        // A container may not allow every congestion control as the default of programs that choose none. The
        // records of their flows show which one they had.
        if written.is_err() && setting.permission() == Permission::CongestionControl {
            return Ok(());
        }
        written?;
        ensure!(
            setting.has(value)?,
            "{} was set to {value:?} but is {:?}: this machine does not accept the value",
            setting.in_words(),
            setting.read()?
        );
        Ok(())
    }

    /// Ends the agent, and lets the guard restore the changed settings.
    fn leave(mut self) -> Result<()> {
        self.agent = None;
        let Some(guard) = self.guard.take() else { return Ok(()) };
        // If somebody ended the guard, this process does the guard's work.
        guard.finish().or_else(|why| {
            let left = journal::restore()?;
            ensure!(left.failed.is_empty(), "{why:#}; {}", left.failed.join("; "));
            Ok(())
        })
    }
}
