//! The machine's side of a session: it answers questions from its standard input, and runs the agent. It does not
//! listen on any port.

use crate::describe::{self, describe};
use crate::error::{Context, Error, Result};
use crate::guard::Guard;
use crate::inventory::Permission;
use crate::journal::{self, Journal};
use crate::lock::{Lock, Taken};
use crate::message::{FromMachine, ToMachine, WELCOME, Welcome};
use crate::settings::{Change, Setting};
use nettrial_scenario::{During, Fault, Place, chain};
use nettrial_session::{
    Event, MOST_REPORT_BYTES, Process, Surroundings, Transport, Watch, monotonic_ns, wall_ns,
};
use nettrial_traffic::{Order, Reply, Report};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// The time for which the other end may be silent, in nanoseconds: it sends a sign of life every
/// [`BEAT`](crate::line::BEAT).
const SILENCE_NS: i64 = 20_000_000_000;
/// The interval at which silence is checked.
const LOOK: Duration = Duration::from_secs(1);
/// The time that the guard of an earlier session may take to restore settings.
const RESTORING: Duration = Duration::from_secs(10);
/// The number of questions that may wait for their turn.
const WAITING: usize = 64;

/// An event of a session.
enum Heard {
    /// A question.
    Question(ToMachine),
    /// The input has ended, or the other end is silent.
    End,
    /// The guard has ended.
    GuardEnded,
}

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
    let (sender, events) = sync_channel(WAITING);
    listen(Arc::clone(&heard), sender.clone());
    let mut state = State { events: sender, agent: None, journal: None, guard: None, watch: None };
    let done = state.attend(&events, &heard);
    // Nobody sends events any more, least of all the guard when it ends.
    drop(events);
    state.leave().and(done)
}

/// Reads questions in a separate thread. Questions about the time and signs of life are answered at once, whatever
/// else is going on.
fn listen(heard: Arc<AtomicI64>, sender: SyncSender<Heard>) {
    std::thread::spawn(move || {
        let lines = nettrial_admission::lines(std::io::stdin().lock(), MOST_REPORT_BYTES);
        for line in lines.map_while(line_or_log) {
            let heard_ns = monotonic_ns();
            heard.store(heard_ns, Ordering::Relaxed);
            match serde_json::from_str(&line) {
                Ok(ToMachine::StillHere) => say(&FromMachine::StillHere),
                Ok(ToMachine::Time) => {
                    let wall_ns = wall_ns();
                    say(&FromMachine::Time { heard_ns, answered_ns: monotonic_ns(), wall_ns });
                }
                Ok(question) => {
                    if sender.send(Heard::Question(question)).is_err() {
                        return;
                    }
                }
                Err(error) => say(&failed(&Error::from(error).during("reading a question"))),
            }
        }
        // If this fails, the session is over.
        let _ = sender.send(Heard::End);
    });
}

/// Returns a line, and logs the error that ends the input.
fn line_or_log(line: std::io::Result<String>) -> Option<String> {
    line.inspect_err(|error| eprintln!("the session is over: the other end sent {error}")).ok()
}

/// Returns the answer to a question that could not be answered.
fn failed(error: &Error) -> FromMachine {
    FromMachine::Failed { kind: error.kind(), message: error.in_words() }
}

/// Writes a line. If that fails, the other end is gone, which the end of the input shows as well.
fn say(line: &FromMachine) {
    let Ok(text) = serde_json::to_string(line) else { return };
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{text}").and_then(|()| output.flush());
}

/// The parts of a session on this machine, each of which exists once it was requested.
pub struct State {
    events: SyncSender<Heard>,
    agent: Option<Process>,
    /// The lock of the machine, and the journal once a setting is changed.
    journal: Option<(Option<Journal>, Lock)>,
    guard: Option<Guard>,
    watch: Option<Watch>,
}

/// Lets the kernel forget the path MTUs of IPv4 that it learned from ICMP in an earlier trial, if the user has the
/// privileges: they outlive a trial by ten minutes (Documentation/networking/ip-sysctl.rst, mtu_expires).
fn forget_paths() {
    let _ = std::fs::write("/proc/sys/net/ipv4/route/flush", "1");
}

impl State {
    /// Creates a session of this process alone, which changes settings and is asked nothing. A guard that ends is
    /// replaced at the next change.
    pub fn alone() -> Self {
        let (events, _) = sync_channel(WAITING);
        Self { events, agent: None, journal: None, guard: None, watch: None }
    }

    /// Puts a setting in force for this process.
    ///
    /// # Errors
    /// Fails if another session uses this machine, or if the setting can't be changed.
    pub fn set(&mut self, change: &Change) -> Result<()> {
        self.hold()?;
        if self.guard.is_some() {
            self.hold_guard()?;
        }
        self.change(change)
    }

    /// Answers questions until there are no more, and replaces a guard that ends.
    ///
    /// # Errors
    /// Fails if a guard that has ended can't be replaced.
    fn attend(&mut self, events: &Receiver<Heard>, heard: &AtomicI64) -> Result<()> {
        loop {
            match events.recv_timeout(LOOK) {
                Ok(Heard::Question(question)) => self.answer(question),
                Ok(Heard::GuardEnded) => {}
                Err(RecvTimeoutError::Timeout) => {
                    if monotonic_ns() - heard.load(Ordering::Relaxed) > SILENCE_NS {
                        eprintln!(
                            "no message arrived for {} s: the session is over",
                            SILENCE_NS / 1_000_000_000
                        );
                        return Ok(());
                    }
                }
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if self.guard.is_some() {
                self.hold_guard().context("replacing the guard of the changed settings")?;
            }
        }
    }

    fn answer(&mut self, question: ToMachine) {
        let answer = match question {
            ToMachine::Order(order) => return self.order(&order),
            ToMachine::Describe { interfaces } => {
                describe(&interfaces).map(|machine| FromMachine::Described(Box::new(machine)))
            }
            ToMachine::Problems { flows, controls, sysctls } => {
                let problems =
                    |(number, flow)| nettrial_traffic::problems(&flow, &Place::flow(number, &flow));
                let flows = flows.into_iter().flat_map(problems).collect();
                let without = controls.into_iter().filter(|name| !describe::has_control(name)).collect();
                let read = |name: String| {
                    let value = Setting::Sysctl { name: name.clone() }.read().ok()?;
                    Some((name, value))
                };
                Ok(FromMachine::Problems {
                    flows,
                    without,
                    sysctls: sysctls.into_iter().filter_map(read).collect(),
                })
            }
            ToMachine::Begin { settings, agent } => self.begin(&settings, agent).map(|()| FromMachine::Begun),
            ToMachine::Observe { interfaces } => {
                let surroundings = Surroundings::now(self.watch.get_or_insert_with(Watch::start));
                describe::observe(&interfaces, surroundings).map(FromMachine::Observed)
            }
            ToMachine::End => {
                (self.agent, self.watch) = (None, None);
                Ok(FromMachine::Ended)
            }
            // The thread that reads them answers these.
            ToMachine::StillHere | ToMachine::Time => return,
        };
        say(&answer.unwrap_or_else(|error| failed(&error)));
    }

    fn order(&mut self, order: &Order) {
        let done = match &mut self.agent {
            Some(agent) => agent.order(order).map_err(Error::from),
            None => Err(Error::State("no agent is running")),
        };
        if let Err(error) = done {
            let report = Report { number: order.number, reply: Reply::failed(&error) };
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
        let lock = match Lock::take(RESTORING)? {
            Taken::Lock(lock) => lock,
            Taken::By(holder) => {
                return Err(Error::Busy(format!(
                    "another nettrial session is using this machine ({holder}): wait until it ends"
                )));
            }
        };
        if lock.has_directory() || journal::former()?.is_some() {
            let left = journal::restore(lock.directory()?, &[])
                .context("restoring the settings that an earlier session changed")?;
            if let Some(blocking) = left.blocking() {
                return Err(Error::NotRestored(format!(
                    "settings that an earlier session changed could not be restored: {blocking}; fix that, then run \
                     `nettrial machines restore`, or discard them with `nettrial machines forget`"
                )));
            }
            if let Some(absent) = left.failed() {
                eprintln!("settings that an earlier session changed are not restored yet: {absent}");
            }
        }
        self.journal = Some((None, lock));
        Ok(())
    }

    /// Makes sure that a guard is running.
    fn hold_guard(&mut self) -> Result<()> {
        if self.guard.as_ref().is_some_and(Guard::is_running) {
            return Ok(());
        }
        if let Some(guard) = self.guard.take() {
            eprintln!("the guard of this session ended ({}) and is replaced", guard.end_in_words());
        }
        let (_, lock) =
            self.journal.as_ref().ok_or(Error::State("this session does not hold the machine"))?;
        let events = self.events.clone();
        // If the channel is full, its next event leads to the guard, too.
        self.guard = Some(Guard::start(lock, move || drop(events.try_send(Heard::GuardEnded)))?);
        Ok(())
    }

    /// Puts a setting in force, if it is not in force already. Its old value is in the journal by then, and the
    /// guard is running.
    fn change(&mut self, change: &Change) -> Result<()> {
        let Change { setting, value } = change;
        if setting.has(value)? {
            return Ok(());
        }
        let (_, lock) =
            self.journal.as_ref().ok_or(Error::State("this session does not hold the machine"))?;
        lock.directory()?;
        self.hold_guard()?;
        let (journal, lock) =
            self.journal.as_mut().ok_or(Error::State("this session does not hold the machine"))?;
        if journal.is_none() {
            *journal = Some(Journal::open(lock.directory()?)?);
        }
        if let Some(journal) = journal {
            journal.note(setting)?;
        }
        let written = setting.write(value);
        // A container may not allow every congestion control as the default of programs that choose none. The
        // records of their flows show which one they had.
        if written.is_err() && setting.permission() == Permission::CongestionControl {
            return Ok(());
        }
        written?;
        if !setting.has(value)? {
            return Err(Error::Setting(format!(
                "{} was set to {value:?} but is {:?}: this machine does not accept the value",
                setting.in_words(),
                setting.read()?
            )));
        }
        Ok(())
    }

    /// Ends the agent, and lets the guard restore the changed settings.
    ///
    /// # Errors
    /// Fails with what could not be restored.
    pub fn leave(mut self) -> Result<()> {
        self.agent = None;
        let finished = match self.guard.take() {
            Some(guard) => guard.finish(),
            None => Err(Error::State("the guard could not be started")),
        };
        let Some((Some(_), lock)) = &self.journal else { return Ok(()) };
        // If somebody ended the guard, this process does the guard's work.
        finished.or_else(|why| match journal::restore(lock.directory()?, &[])?.blocking() {
            None => Ok(()),
            Some(failed) => Err(Error::NotRestored(format!("{}; {failed}", chain(&why)))),
        })
    }
}
