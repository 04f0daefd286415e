//! The connection to a machine: the standard input and output of the command that reaches it, and the engine
//! there.

use crate::error::{Context, Error, Result};
use crate::inventory::MachineEntry;
use crate::message::{FromMachine, ToMachine, WELCOME, Welcome};
use nettrial_admission::{document, one_line, pieces, read_line};
use nettrial_scenario::{During, Failure, FailureKind, Fault, Shortfall, chain};
use nettrial_session::{
    Error as SessionError, Event, MOST_REPORT_BYTES, Offset, Round, Sink, Transport, monotonic_ns,
};
use nettrial_traffic::Order;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which each side sends a sign of life to the other.
pub const BEAT: Duration = Duration::from_secs(2);
/// The time for which a machine may be silent, in nanoseconds.
const SILENCE_NS: i64 = 20_000_000_000;
/// The time that connecting to a machine may take.
const REACHING: Duration = Duration::from_secs(20);
/// The time that a machine may take to answer a question that is not about a flow.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time that a machine may take at the end to restore its settings.
const LEAVING: Duration = Duration::from_secs(4);
/// The number of lines that login scripts may write before the engine's first line.
const GREETING_LINES: usize = 1000;
/// The number of answers that may wait. A machine is asked one question at a time.
const MOST_ANSWERS: usize = 4;
/// The number of rounds of questions from which a clock's offset is estimated.
const ROUNDS: usize = 16;
/// The number of bytes of the end of a command's error output that messages quote.
const SAID_BYTES: usize = 2000;
/// The word that the shell prints if there is no engine.
const ABSENT: &str = "nettrial-engine-absent";

/// A machine with a connection.
pub struct Line {
    /// The machine's name in the inventory.
    pub name: String,
    input: Input,
    answers: Mutex<Receiver<Result<(FromMachine, i64), String>>>,
    agent: Arc<Mutex<Option<Sink>>>,
    child: Arc<Mutex<Child>>,
    heard: Arc<AtomicI64>,
}

/// The input of the command; `None` once it was told to leave.
type Input = Arc<Mutex<Option<ChildStdin>>>;

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn send(input: &Input, line: &ToMachine) -> Result<(), SessionError> {
    let text = serde_json::to_string(line)?;
    let mut input = lock(input);
    let input = input.as_mut().ok_or(SessionError::Over)?;
    let written = writeln!(input, "{text}").and_then(|()| input.flush());
    written.map_err(|error| SessionError::from(error).during("writing to the machine"))
}

/// A transport of orders to an agent, through its machine's connection.
pub struct Served(Input);

impl Transport for Served {
    fn order(&mut self, order: &Order) -> Result<(), SessionError> {
        send(&self.0, &ToMachine::Order(Box::new(order.clone())))
    }
}

impl Line {
    /// Connects to a machine.
    ///
    /// # Errors
    /// Returns what was tried, the reason why it failed, and the remedy.
    pub fn open(name: &str, entry: &MachineEntry) -> Result<Self, Shortfall> {
        let said = Arc::new(Mutex::new(Vec::new()));
        Self::reach(name, entry, &said).map_err(|error| {
            let said = String::from_utf8_lossy(&lock(&said)).trim().to_owned();
            let (reason, obstacle) = (chain(&error), Obstacle::of(&error, &said));
            let why = if said.is_empty() { reason } else { format!("{reason}: {said}") };
            Shortfall::new(
                format!("machine {name} ({})", entry.reached_by),
                why.lines().map(one_line).collect::<Vec<_>>().join(" "),
                obstacle.remedy(entry),
            )
            .of_kind(obstacle.kind(&error))
        })
    }

    fn reach(name: &str, entry: &MachineEntry, said: &Arc<Mutex<Vec<u8>>>) -> Result<Self> {
        let (program, words) =
            entry.reach.split_first().ok_or(Error::Command("the inventory has no command to reach it"))?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut input = input.ok_or(Error::Command("no pipe to the machine"))?;
        let output = output.ok_or(Error::Command("no pipe from the machine"))?;
        let listener =
            listen_to_errors(name, errors.ok_or(Error::Command("no pipe of its errors"))?, Arc::clone(said));
        // A shell reads this one line and becomes the engine, so that nothing has to be quoted for the shells and
        // programs through which the command passes its words.
        if let Some(engine) = &entry.engine {
            let program = format!("\"$HOME\"/'{}'", engine.replace('\'', "'\\''"));
            let line = format!("test -x {program} && exec {program} machine serve; echo {ABSENT}; exit 1\n");
            // If this fails the command has ended, and its error output has the reason.
            let _ = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        }
        let (sender, answers) = sync_channel(MOST_ANSWERS);
        let (agent, heard) = (Arc::default(), Arc::new(AtomicI64::new(monotonic_ns())));
        let (of_agent, of_heard) = (Arc::clone(&agent), Arc::clone(&heard));
        let (greeted, greeting) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let welcome = greeting_of(&mut output);
            let is_there = matches!(welcome, Ok(Some(_)));
            let _ = greeted.send(welcome);
            if is_there {
                listen(output, &of_agent, &of_heard, &sender);
            }
        });
        let greeting = greeting.recv_timeout(REACHING);
        let reached = match greeting {
            Ok(Ok(Some(welcome))) => check_version(&welcome),
            Ok(Ok(None)) => Err(Error::NotInstalled),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Error::NoGreeting(REACHING.as_secs())),
        };
        if let Err(error) = reached {
            drop(input);
            let _ = child.kill();
            let _ = child.wait();
            // The command may have written more before it ended.
            let deadline = Instant::now() + Duration::from_secs(1);
            while !listener.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            return Err(error);
        }
        let (input, child) = (Arc::new(Mutex::new(Some(input))), Arc::new(Mutex::new(child)));
        beat(&input, &child, &heard);
        Ok(Self { name: name.to_owned(), input, answers: Mutex::new(answers), agent, child, heard })
    }

    /// Returns true if the connection is still open.
    pub fn is_open(&self) -> bool {
        lock(&self.input).is_some() && matches!(lock(&self.child).try_wait(), Ok(None))
    }

    /// Sends a question without waiting for the answer, which [`Line::answer`] returns.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    pub fn ask(&self, question: &ToMachine) -> Result<()> {
        // If the machine is gone, the reason that it gave is more useful than the failure to write.
        if let Err(error) = send(&self.input, question) {
            return match lock(&self.answers).recv_timeout(Duration::from_secs(1)) {
                Ok(Err(why)) => Err(self.lost(why)),
                _ => Err(Error::from(error).during(self.name.clone())),
            };
        }
        Ok(())
    }

    /// Waits for the answer to the last question, and returns it.
    ///
    /// # Errors
    /// Fails if the machine is gone, or if it reports a failure.
    pub fn answer(&self) -> Result<FromMachine> {
        self.timed_answer().map(|(answer, _)| answer)
    }

    fn timed_answer(&self) -> Result<(FromMachine, i64)> {
        match lock(&self.answers).recv_timeout(PATIENCE) {
            Ok(Ok((FromMachine::Failed { kind, message }, _))) => {
                Err(Error::Machine { machine: self.name.clone(), failure: Failure::new(kind, message) })
            }
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(self.lost(why)),
            Err(RecvTimeoutError::Disconnected) => Err(self.lost("the session is over".to_owned())),
            Err(RecvTimeoutError::Timeout) => Err(Error::Silent(self.name.clone())),
        }
    }

    /// Returns the error of a machine whose connection is gone.
    fn lost(&self, why: String) -> Error {
        Error::Lost { machine: self.name.clone(), why }
    }

    /// Returns the transport of the agent that [`ToMachine::Begin`] started.
    pub fn agent(&self, sink: Sink) -> Served {
        *lock(&self.agent) = Some(sink);
        Served(Arc::clone(&self.input))
    }

    /// Returns the lead of the machine's monotonic clock over this machine's, and the lead of its wall clock,
    /// which has the same error; both in nanoseconds.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    pub fn clock(&self) -> Result<(Offset, i64)> {
        let (mut rounds, mut wall) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let asked_ns = monotonic_ns();
            self.ask(&ToMachine::Time)?;
            let (FromMachine::Time { heard_ns, answered_ns, wall_ns }, came_ns) = self.timed_answer()? else {
                return Err(Error::Answer(format!("{} did not answer with its time", self.name)));
            };
            wall = wall_ns;
            rounds.push(Round { asked_ns, heard_ns, answered_ns, came_ns });
        }
        let offset = Offset::of(&rounds)
            .ok_or_else(|| Error::Answer(format!("the clock of {} goes backwards", self.name)))?;
        let wall = offset.offset_ns.saturating_add(wall).saturating_sub(nettrial_session::wall_ns());
        Ok((offset, wall))
    }

    /// Returns a handle with which another thread ends the session.
    pub fn leaver(&self) -> Leaver {
        Leaver { input: Arc::clone(&self.input), child: Arc::clone(&self.child) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.heard.store(i64::MAX, Ordering::Relaxed);
        self.leaver().leave();
    }
}

/// A handle that ends a session.
#[derive(Clone)]
pub struct Leaver {
    input: Input,
    child: Arc<Mutex<Child>>,
}

impl Leaver {
    /// Tells the machine's engine to leave, which restores the settings that it changed.
    pub fn tell(&self) {
        lock(&self.input).take();
    }

    /// Tells the machine's engine to leave, and waits for a limited time until it has left.
    pub fn leave(&self) {
        self.tell();
        let deadline = Instant::now() + LEAVING;
        while matches!(lock(&self.child).try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                // The guard on the machine continues.
                let _ = lock(&self.child).kill();
                let _ = lock(&self.child).wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Sends signs of life, and ends a command whose machine has become silent.
fn beat(input: &Input, child: &Arc<Mutex<Child>>, heard: &Arc<AtomicI64>) {
    let (input, child, heard) = (Arc::downgrade(input), Arc::downgrade(child), Arc::clone(heard));
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(BEAT);
            let (Some(input), Some(child)) = (input.upgrade(), child.upgrade()) else { return };
            if send(&input, &ToMachine::StillHere).is_err() {
                return;
            }
            if monotonic_ns().saturating_sub(heard.load(Ordering::Relaxed)) > SILENCE_NS {
                let _ = lock(&child).kill();
                return;
            }
        }
    });
}

/// Keeps the end of a command's error output, and logs the output.
fn listen_to_errors(
    name: &str,
    errors: impl Read + Send + 'static,
    said: Arc<Mutex<Vec<u8>>>,
) -> std::thread::JoinHandle<()> {
    let name = name.to_owned();
    std::thread::spawn(move || {
        for line in pieces(BufReader::new(errors), SAID_BYTES as u64) {
            tracing::info!(machine = name, "{}", one_line(&line));
            let mut said = lock(&said);
            said.extend_from_slice(line.as_bytes());
            said.push(b'\n');
            let surplus = said.len().saturating_sub(SAID_BYTES);
            said.drain(..surplus);
        }
    })
}

/// Returns the engine's first line, which may follow other programs' greetings; `None` if the shell reports that
/// there is no engine.
fn greeting_of(output: &mut impl BufRead) -> Result<Option<Welcome>> {
    for _ in 0..GREETING_LINES {
        let mut line = Vec::new();
        let length = output
            .take(SAID_BYTES as u64)
            .read_until(b'\n', &mut line)
            .context("reading the engine's greeting")?;
        if length == 0 {
            return Err(Error::Command("the command ended"));
        }
        let line = String::from_utf8_lossy(&line);
        if line.trim() == ABSENT {
            return Ok(None);
        }
        if let Some(welcome) = line.strip_prefix(WELCOME) {
            return Ok(Some(document(welcome.as_bytes()).context("reading the engine's first line")?));
        }
    }
    Err(Error::Command("its output is not that of nettrial's engine"))
}

fn check_version(welcome: &Welcome) -> Result<()> {
    let here = env!("CARGO_PKG_VERSION");
    if welcome.version != here {
        return Err(Error::OtherVersion { there: one_line(&welcome.version), here });
    }
    Ok(())
}

/// Reads the machine's messages until the session is over.
fn listen(
    mut output: impl BufRead,
    agent: &Mutex<Option<Sink>>,
    heard: &AtomicI64,
    answers: &SyncSender<Result<(FromMachine, i64), String>>,
) {
    let tell = |event| {
        if let Some(sink) = &*lock(agent) {
            sink.tell(event);
        }
    };
    let mut line = Vec::new();
    let why = loop {
        line.clear();
        let read = read_line(&mut output, &mut line, MOST_REPORT_BYTES);
        let came_ns = monotonic_ns();
        if let Err(error) = &read
            && error.kind() == ErrorKind::InvalidData
        {
            break format!("the machine sent {error}");
        }
        if !matches!(read, Ok(1..)) || line.last() != Some(&b'\n') {
            break "the connection to the machine broke; the machine restores its settings by itself"
                .to_owned();
        }
        heard.store(came_ns, Ordering::Relaxed);
        match document(&line) {
            Ok(FromMachine::StillHere) => {}
            Ok(FromMachine::Report(report)) => tell(Event::Report(*report)),
            Ok(FromMachine::AgentEnded(why)) => tell(Event::Ended(why)),
            Ok(answer) => {
                // If this fails otherwise, nobody waits for the answer any more.
                if matches!(answers.try_send(Ok((answer, came_ns))), Err(TrySendError::Full(_))) {
                    break "the machine sent answers without questions".to_owned();
                }
            }
            Err(error) => break format!("the machine sent an invalid answer: {error}"),
        }
    };
    tell(Event::Ended(why.clone()));
    // This waits until the answers before it are taken, or until the line is dropped.
    let _ = answers.send(Err(why));
}

/// An obstacle to reaching a machine; it decides about the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    NotInstalled,
    OtherVersion,
    HostKey,
    Password,
    NoAnswer,
    OtherProcessor,
    Other,
}

impl Obstacle {
    /// Returns the obstacle that the error names, or else the command.
    fn of(error: &Error, said: &str) -> Self {
        match error {
            Error::NotInstalled => Self::NotInstalled,
            Error::OtherVersion { .. } => Self::OtherVersion,
            Error::During { source, .. } => Self::of(source, said),
            // A command that was silent in the end may have complained before.
            Error::NoGreeting(_) if Self::of_command(said) == Self::Other => Self::NoAnswer,
            _ => Self::of_command(said),
        }
    }

    /// Returns the obstacle of which the command that reaches a machine complained. ssh ends with status 255 on every error
    /// of its own (ssh(1), EXIT STATUS), and a shell with 126 on every program that it can't run, so that only their texts
    /// tell one cause from another (docs/architecture.md, "Errors of the engine", has their versions).
    fn of_command(said: &str) -> Self {
        const TEXTS: [(&str, Obstacle); 9] = [
            ("Host key verification failed", Obstacle::HostKey),
            ("REMOTE HOST IDENTIFICATION HAS CHANGED", Obstacle::HostKey),
            ("Permission denied", Obstacle::Password),
            ("Could not resolve", Obstacle::NoAnswer),
            ("Connection refused", Obstacle::NoAnswer),
            ("timed out", Obstacle::NoAnswer),
            ("No route to host", Obstacle::NoAnswer),
            ("Exec format error", Obstacle::OtherProcessor),
            ("cannot execute", Obstacle::OtherProcessor),
        ];
        TEXTS.iter().find(|(text, _)| said.contains(text)).map_or(Self::Other, |(_, obstacle)| *obstacle)
    }

    /// Returns the kind of the failure, which the error decides if nothing is known of the obstacle.
    fn kind(self, error: &Error) -> FailureKind {
        match self {
            Self::NotInstalled | Self::OtherProcessor => FailureKind::MissingProgram,
            Self::OtherVersion => FailureKind::OtherVersion,
            Self::HostKey | Self::Password => FailureKind::Refused,
            Self::NoAnswer => FailureKind::Unreachable,
            Self::Other => error.kind(),
        }
    }

    fn remedy(self, entry: &MachineEntry) -> String {
        let by = &entry.reached_by;
        match self {
            Self::NotInstalled => "run `nettrial machines install`, which copies the engine there".into(),
            Self::OtherVersion => {
                "run `nettrial machines install`, which copies this machine's engine there: engines of different \
                 versions never talk to each other"
                    .into()
            }
            Self::HostKey => format!(
                "make sure that it is the right machine: compare its key with the output of `ssh-keygen -lf` there \
                 for its /etc/ssh/ssh_host_*_key.pub; then connect once by hand ({by}), after `ssh-keygen -R` with \
                 its name if an old key is known"
            ),
            Self::Password => {
                format!("make {by} work without a password prompt: use ssh-copy-id, or a running ssh-agent")
            }
            Self::NoAnswer => format!("check that the machine is up and that {by} reaches it"),
            Self::OtherProcessor => {
                "the engine there is for another CPU or system: build one for that machine".into()
            }
            Self::Other => format!("try {by} by hand: it must open a shell without asking for anything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(reach: &[&str]) -> MachineEntry {
        MachineEntry {
            reach: reach.iter().map(|word| (*word).to_owned()).collect(),
            reached_by: reach.join(" "),
            engine: Some("no/such/engine".into()),
            interfaces: Vec::new(),
            may_change: Vec::new(),
            nodes: Vec::new(),
            starts: Vec::new(),
        }
    }

    fn refused(reach: &[&str]) -> Shortfall {
        Line::open("alpha", &entry(reach)).err().expect("it is not reached")
    }

    #[test]
    fn a_machine_without_the_engine_has_it_installed() {
        let found = refused(&["sh"]);
        assert!(found.remedy.contains("machines install"), "{found:?}");
        assert_eq!(found.kind, FailureKind::MissingProgram);
        let found = refused(&["sh", "-c", "echo Welcome to alpha; exec sh"]);
        assert!(found.remedy.contains("machines install"), "{found:?}");
    }

    #[test]
    fn what_a_command_says_on_its_way_out_is_told() {
        let found = refused(&["sh", "-c", "echo 'Host key verification failed.' >&2; exit 255"]);
        assert!(found.why.contains("Host key verification failed"), "{found:?}");
        assert!(found.remedy.contains("ssh-keygen -lf"), "{found:?}");
        assert_eq!(found.kind, FailureKind::Refused);
        let found = refused(&["/nonexistent/ssh"]);
        assert!(found.why.contains("/nonexistent/ssh"), "{found:?}");
    }

    /// Connects to a machine that greets and then sends what a script prints.
    fn greeted(sends: &str) -> Line {
        let welcome = format!("nettrial-machine {{\"version\": \"{}\"}}", env!("CARGO_PKG_VERSION"));
        let script = format!("read line; echo '{welcome}'; {sends}");
        Line::open("alpha", &entry(&["sh", "-c", &script])).expect("it greets")
    }

    #[test]
    fn a_machine_that_sends_a_line_without_end_is_refused() {
        let error = greeted("cat /dev/zero").answer().unwrap_err().to_string();
        assert_eq!(error, format!("alpha: the machine sent a line of more than {MOST_REPORT_BYTES} bytes"));
    }

    #[test]
    fn a_machine_that_answers_without_questions_is_refused() {
        let line = greeted("exec yes '{\"failed\": {\"kind\": \"busy\", \"message\": \"no\"}}'");
        let mut errors = std::iter::repeat_with(|| line.answer().unwrap_err().to_string());
        let error = errors.find(|error| error != "alpha: no").unwrap();
        assert_eq!(error, "alpha: the machine sent answers without questions");
    }

    #[test]
    fn the_obstacle_follows_from_the_error_and_then_from_the_complaint() {
        let denied = std::io::Error::from(ErrorKind::PermissionDenied);
        for (error, said, obstacle) in [
            (Error::NotInstalled, "Permission denied", Obstacle::NotInstalled),
            (
                Error::Command("the command ended"),
                "alpha: Permission denied (publickey).",
                Obstacle::Password,
            ),
            (
                Error::Command("the command ended"),
                "ssh: connect to host alpha: timed out",
                Obstacle::NoAnswer,
            ),
            (Error::NoGreeting(20), "", Obstacle::NoAnswer),
            (Error::NoGreeting(20), "Host key verification failed.", Obstacle::HostKey),
            // The command itself can't be started, which is no question of a password.
            (Error::from(denied).during("starting /root/ssh"), "", Obstacle::Other),
        ] {
            assert_eq!(Obstacle::of(&error, said), obstacle, "{error}: {said}");
        }
    }

    #[test]
    fn another_version_never_talks() {
        let greets = "read line; echo 'nettrial-machine {\"version\": \"0.0.1\"}'; cat";
        let found = refused(&["sh", "-c", greets]);
        assert!(found.why.contains("version there is 0.0.1"), "{found:?}");
        assert!(found.remedy.contains("engines of different versions never talk"), "{found:?}");
    }
}
