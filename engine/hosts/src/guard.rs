//! The guard of a machine's settings: a separate process that restores them when the process that changed them is
//! gone, whether the session ended, the connection broke or the process was killed.
//!
//! The guard waits for the end of its input, which only the process that changes settings holds open. It runs in
//! its own session, without that process's terminal and process group, so that nothing that ends a login's
//! processes by their terminal or group ends the guard. It holds the journal's lock as its standard output: the
//! next session waits until it is done.

use crate::error::{Context, Error, Result};
use crate::{journal, lock, state};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The largest number of bytes that are kept of what a guard says.
const MOST_SAID_BYTES: u64 = 64 << 10;

/// A running guard.
pub struct Guard {
    child: Child,
    has_ended: Arc<AtomicBool>,
    /// Returns what the guard said, when it has ended.
    said: JoinHandle<String>,
}

impl Guard {
    /// Starts a guard that shares the `lock`, and waits until nothing that ends this process can end the guard.
    /// Calls `ended` when it has ended.
    ///
    /// # Errors
    /// Fails if the guard can't be started.
    pub fn start(lock: &lock::Lock, ended: impl FnOnce() + Send + 'static) -> Result<Self> {
        let mut command = own_program()?;
        command.args(["machine", "guard"]).stdin(Stdio::piped()).stdout(lock.share()?).stderr(Stdio::piped());
        let mut child = spawn_apart(&mut command).context("starting the guard")?;
        let mut errors = child.stderr.take().ok_or(Error::State("no pipe from the guard"))?;
        errors.read_exact(&mut [0]).context("waiting for the guard")?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_ended);
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            // After an error, the text that was read before it is used.
            let _ = errors.by_ref().take(MOST_SAID_BYTES).read_to_end(&mut said);
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
            noted.store(true, Ordering::Release);
            ended();
            String::from_utf8_lossy(&said).into_owned()
        });
        Ok(Self { child, has_ended, said })
    }

    /// Returns true if it has not ended.
    pub fn is_running(&self) -> bool {
        !self.has_ended.load(Ordering::Acquire)
    }

    /// Returns a description of the end of a guard that has ended.
    pub fn end_in_words(mut self) -> String {
        let said = self.said.join().unwrap_or_default();
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{status} {}", said.trim()).trim().to_owned()
    }

    /// Lets the guard restore the changed settings, and waits for it.
    ///
    /// # Errors
    /// Fails with what could not be restored.
    pub fn finish(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let said = self.said.join().unwrap_or_default();
        let status = self.child.wait().context("waiting for the guard")?;
        if !status.success() {
            return Err(Error::NotRestored(format!(
                "restoring settings: {}",
                said.trim().trim_start_matches("Error: ")
            )));
        }
        Ok(())
    }
}

/// Returns a command that runs this very program, even if its file has been replaced since the program was
/// started.
#[cfg(target_os = "linux")]
fn own_program() -> Result<Command> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("nettrial-engine");
    Ok(command)
}

/// Returns a command that runs this program, by its path.
#[cfg(not(target_os = "linux"))]
fn own_program() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("finding the engine's own program")?))
}

/// Starts a program, which leaves this process's session itself.
#[cfg(unix)]
fn spawn_apart(command: &mut Command) -> std::io::Result<Child> {
    command.spawn()
}

/// Starts a program without this process's console, and outside the job object that ends with a login, if that job
/// allows it (CreateProcess).
#[cfg(windows)]
fn spawn_apart(command: &mut Command) -> std::io::Result<Child> {
    use std::os::windows::process::CommandExt;
    const DETACHED_PROCESS: u32 = 0x0000_0008;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    const CREATE_BREAKAWAY_FROM_JOB: u32 = 0x0100_0000;
    let apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
    let outside = command.creation_flags(apart | CREATE_BREAKAWAY_FROM_JOB).spawn();
    outside.or_else(|_| command.creation_flags(apart).spawn())
}

/// Leaves the session of the process that started this one, and blocks the signals that could end it.
#[cfg(unix)]
fn stand_apart() -> Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    let ignored = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE, Signal::SIGQUIT];
    ignored.into_iter().collect::<SigSet>().thread_block().context("blocking signals")?;
    nix::unistd::setsid().context("starting a session")?;
    Ok(())
}

/// Does nothing, because the process was started in a separate session.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
fn stand_apart() -> Result<()> {
    Ok(())
}

/// Does a guard's work: waits for the end of standard input, and then restores the settings.
///
/// # Errors
/// Fails with what could not be restored.
pub fn guard() -> Result<()> {
    stand_apart()?;
    // If this fails the session is gone, and its settings may be changed: it may have replaced an earlier guard.
    let _ = std::io::stderr().write_all(b"r");
    // Nothing is ever sent, and an error counts as the end, too.
    let _ = std::io::stdin().read(&mut [0]);
    // The session may be gone. If it is still there, it has the name.
    let _name = lock::name::take();
    let outcome = journal::restore(&state::directory(), &[])?;
    // The process that asked may be gone, but the journal still has the settings that failed.
    match outcome.blocking() {
        None => Ok(()),
        Some(failed) => Err(Error::NotRestored(failed)),
    }
}
