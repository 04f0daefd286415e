//! Programs that can't outlive the agent: their start, their output, and their end.

use crate::error::{Context, Error, Result};
use crate::platform::{self, Bounds};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two checks of whether a program has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The largest number of bytes kept of each output; programs that print more are not stopped.
const MOST_KEPT_BYTES: u64 = 64 << 20;
/// The largest number of bytes of the output in a record.
const RECORDED_BYTES: usize = 64 << 10;

/// The number of attempts to find a program's connections, after which it counts as having none.
const LOOKS: u32 = 100;

/// The observation of a program while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// No observation.
    Nothing,
    /// The program's connections are observed until there is one, for its congestion control.
    Connections,
}

/// A running program. Dropping it kills it.
pub struct Process {
    name: String,
    /// The sender, whose end kills the program.
    _stop: Sender<()>,
    ended: Receiver<io::Result<ExitStatus>>,
    end: Option<io::Result<ExitStatus>>,
    congestion_control: Arc<OnceLock<String>>,
    printed: JoinHandle<String>,
    complained: JoinHandle<String>,
}

/// A program that ended.
#[derive(Debug, Clone, Default)]
pub struct Finished {
    /// True if its exit status was 0.
    pub succeeded: bool,
    /// A description of its end.
    pub status: String,
    /// Its standard output.
    pub printed: String,
    /// Its standard error.
    pub complained: String,
    /// Its log, if there is one.
    pub logged: String,
    /// The congestion control in force on its first TCP connection, if its connections were observed; empty if
    /// none was found.
    pub congestion_control: String,
}

impl Process {
    /// Starts `command`, the program and its arguments.
    pub fn start(command: &[String], watch: Watch) -> Result<Self> {
        Self::begin(command, watch, Bounds::default())
    }

    /// Starts `command` without privileges, in a directory of its own in memory with room for `bytes` bytes.
    pub fn start_sheltered(command: &[String], bytes: u64) -> Result<Self> {
        Self::begin(command, Watch::Nothing, Bounds { shelter_bytes: Some(bytes), ..Bounds::default() })
    }

    /// Starts `command`, a server, within `bounds`.
    pub fn serve(command: &[String], bounds: Bounds) -> Result<Self> {
        Self::begin(command, Watch::Nothing, bounds)
    }

    fn begin(command: &[String], watch: Watch, bounds: Bounds) -> Result<Self> {
        let name = command.first().ok_or_else(|| Error::Program("an empty command".into()))?.clone();
        let (stop, stopped) = channel();
        let (started_sender, started) = channel();
        let (ended_sender, ended) = channel();
        let words = command.to_vec();
        let congestion_control = Arc::new(OnceLock::new());
        let seen = Arc::clone(&congestion_control);
        let looks = if watch == Watch::Connections { LOOKS } else { 0 };
        // The thread is the program's parent: it lives as long as the program, and has no other children.
        std::thread::spawn(move || match platform::spawn(&words, bounds) {
            Ok(mut child) => {
                let pipes = child.stdout.take().zip(child.stderr.take());
                let _ = started_sender.send(Ok(pipes));
                let _ = ended_sender.send(attend(&mut child, &stopped, looks, &seen));
            }
            Err(error) => {
                let _ = started_sender.send(Err(error));
            }
        });
        let pipes = started.recv().map_err(|_| Error::Thread("starting a program"))?;
        let pipes = pipes.map_err(|source| Error::NotStarted { program: name.clone(), source })?;
        let (output, errors) = pipes.ok_or(Error::Thread("no pipes from a program"))?;
        let (printed, complained) = (gather(output), gather(errors));
        Ok(Self { name, _stop: stop, ended, end: None, congestion_control, printed, complained })
    }

    /// Returns whether the program has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        if self.end.is_none() {
            self.end = self.ended.try_recv().ok();
        }
        self.end.is_some()
    }

    /// Waits for the program's end. After `limit`, the program is killed, and an error is returned.
    pub fn finish(mut self, limit: Duration) -> Result<Finished> {
        let end = match self.end.take() {
            Some(end) => Ok(end),
            None => self.ended.recv_timeout(limit),
        };
        let name = self.name.clone();
        let finished = self.collect(end.as_ref().ok().and_then(|end| end.as_ref().ok()));
        match end {
            Ok(end) => end.with_context(|| format!("waiting for {name}")).map(|_| finished),
            Err(RecvTimeoutError::Timeout) => Err(Error::TimedOut(format!(
                "{name} did not end within {} s; {}",
                limit.as_secs(),
                finished.shown()
            ))),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Program(format!("lost sight of {name}"))),
        }
    }

    fn collect(self, status: Option<&ExitStatus>) -> Finished {
        drop(self._stop);
        // The whole namespace ends with its first process, so no process holds the pipes any more.
        Finished {
            succeeded: status.is_some_and(ExitStatus::success),
            status: format!("{} {}", self.name, status.map_or("was killed".into(), ToString::to_string)),
            printed: self.printed.join().unwrap_or_default(),
            complained: self.complained.join().unwrap_or_default(),
            logged: String::new(),
            congestion_control: self.congestion_control.get().cloned().unwrap_or_default(),
        }
    }
}

impl Finished {
    /// Fails with a description of the program's end, unless it succeeded.
    pub fn check(&self) -> Result<()> {
        if self.succeeded { Ok(()) } else { Err(Error::Program(self.shown())) }
    }

    /// Returns the program's end and the last lines of its output, for a message.
    pub fn shown(&self) -> String {
        let said = if self.complained.trim().is_empty() { &self.printed } else { &self.complained };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        let last: String = last.chars().take(400).collect();
        if last.is_empty() { self.status.clone() } else { format!("{}: {last}", self.status) }
    }

    /// Returns the standard output in the form kept in a record.
    pub fn cut(&self) -> String {
        let end = (0..=RECORDED_BYTES.min(self.printed.len()))
            .rev()
            .find(|end| self.printed.is_char_boundary(*end));
        self.printed[..end.unwrap_or(0)].to_owned()
    }
}

/// Runs `command` to its end, for at most `limit`.
pub fn run(command: &[String], watch: Watch, limit: Duration) -> Result<Finished> {
    Process::start(command, watch)?.finish(limit)
}

/// Returns whether `name` is a program: a path, or a name in PATH or in a directory for administrators' programs.
pub fn is_installed(name: &str) -> bool {
    if name.contains('/') {
        return platform::is_executable(Path::new(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(others).any(|directory| platform::is_executable(&directory.join(name)))
}

/// Waits for the child's end, and kills it when the other end of `stopped` is gone. Stores the congestion control
/// of its first connection in `seen`, if one is found within a number of attempts.
fn attend(
    child: &mut Child,
    stopped: &Receiver<()>,
    mut looks: u32,
    seen: &OnceLock<String>,
) -> io::Result<ExitStatus> {
    loop {
        if looks > 0 {
            looks -= 1;
            let controls = platform::congestion_controls_of(child.id()).unwrap_or_default();
            if let Some((_, name)) = controls.into_iter().next() {
                let _ = seen.set(name);
                looks = 0;
            }
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stopped.recv_timeout(LOOK_AGAIN) == Err(RecvTimeoutError::Disconnected) {
            child.kill()?;
            return child.wait();
        }
    }
}

/// Reads a pipe to its end in a separate thread.
fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        // After an error, the text that was read before it is used.
        let _ = pipe.by_ref().take(MOST_KEPT_BYTES).read_to_end(&mut kept);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&kept).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{FailureKind, Fault};

    const PATIENCE: Duration = Duration::from_secs(300);

    #[test]
    fn a_program_that_cannot_start_has_its_kind() {
        let file = std::env::temp_dir().join(format!("not-executable-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let missing = file.with_extension("missing");
        for (program, kind) in [(&missing, FailureKind::MissingProgram), (&file, FailureKind::NoPrivileges)] {
            let program = program.display().to_string();
            let started = Process::start(std::slice::from_ref(&program), Watch::Nothing);
            let error = started.err().unwrap();
            assert_eq!(error.kind(), kind, "{error:?}");
            assert!(error.in_words().contains(&program));
        }
        std::fs::remove_file(file).unwrap();
    }

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    /// Returns whether this user may create PID namespaces; `make test` runs the tests that need them as root.
    fn may() -> bool {
        std::thread::spawn(|| platform::spawn(&shell("true"), Bounds::default()).is_ok()).join().unwrap()
    }

    #[test]
    fn both_outputs_and_the_status_are_kept() {
        if !may() {
            return;
        }
        let finished = run(&shell("echo one; echo two >&2; exit 3"), Watch::Nothing, PATIENCE).unwrap();
        assert_eq!((finished.printed.as_str(), finished.complained.as_str()), ("one\n", "two\n"));
        let message = finished.check().unwrap_err().to_string();
        assert_eq!(message, "sh exit status: 3: two");
    }

    #[test]
    fn what_takes_too_long_is_killed_with_all_that_it_started() {
        if !may() {
            return;
        }
        // The pipes would stay open if a process that the shell started outlived it.
        let script = "echo begun; setsid sleep 600 & sleep 600";
        let mut limit = Duration::from_millis(100);
        loop {
            let error = run(&shell(script), Watch::Nothing, limit).unwrap_err().to_string();
            assert!(error.contains("did not end within"), "{error}");
            // On a busy machine, the shell may not have begun yet.
            if error.contains("begun") {
                break;
            }
            limit *= 2;
            assert!(limit < PATIENCE, "{error}");
        }
    }

    #[test]
    fn a_missing_program_is_named() {
        assert!(!is_installed("no-such-program-here") && is_installed("sh") && is_installed("/bin/sh"));
        if may() {
            let error = run(&["no-such-program-here".into()], Watch::Nothing, PATIENCE).unwrap_err();
            assert!(nettrial_scenario::chain(&error).contains("no-such-program-here"));
        }
    }

    #[test]
    fn a_record_keeps_whole_letters_up_to_its_limit() {
        let finished = Finished { printed: "ä".repeat(RECORDED_BYTES), ..Finished::default() };
        assert_eq!(finished.cut().len(), RECORDED_BYTES);
        let odd = Finished { printed: format!("a{}", "ä".repeat(RECORDED_BYTES)), ..Finished::default() };
        assert_eq!(odd.cut().len(), RECORDED_BYTES - 1);
    }
}
