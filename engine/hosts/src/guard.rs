//! The guard of a machine's settings: a process of its own that restores them when whoever changed them is gone,
//! however that came: at the end of the session, by a connection that broke, by a kill.
//!
//! It waits for the end of its input, which only the process that changes settings holds open, in a session of its own
//! (setsid(2)), so that nothing that ends a login's processes by their terminal or group ends it. It holds the
//! journal's lock as its standard output: the next session waits until it is done.

use crate::journal::{self, Lock};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{SigSet, Signal};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// This very program, even if another has been put in its place since it was started.
const PROGRAM: &str = "/proc/self/exe";

/// A running guard.
pub struct Guard {
    child: Child,
    stream: UnixStream,
}

impl Guard {
    /// Starts one, which shares the `lock`, and waits until nothing that ends this process can end it.
    ///
    /// # Errors
    /// Fails if it can't be started.
    pub fn start(lock: &Lock) -> Result<Self> {
        let (mut stream, theirs) = UnixStream::pair().context("making the guard's input")?;
        let child = Command::new(PROGRAM)
            .arg0("nettrial-engine")
            .args(["machine", "guard"])
            .stdin(OwnedFd::from(theirs))
            .stdout(lock.share()?)
            .stderr(Stdio::null())
            .spawn()
            .context("starting the guard")?;
        stream.read_exact(&mut [0]).context("waiting for the guard")?;
        Ok(Self { child, stream })
    }

    /// Has it restore what was changed, and waits for it.
    ///
    /// # Errors
    /// Fails with what could not be restored.
    pub fn finish(mut self) -> Result<()> {
        self.stream.shutdown(Shutdown::Write).context("telling the guard")?;
        let mut said = String::new();
        self.stream.read_to_string(&mut said).context("hearing the guard")?;
        let status = self.child.wait().context("waiting for the guard")?;
        ensure!(said.is_empty() && status.success(), "restoring settings: {}", said.trim());
        Ok(())
    }
}

/// Does a guard's work: waits for the end of standard input, and restores.
///
/// # Errors
/// Fails with what could not be restored.
pub fn guard() -> Result<()> {
    let ignored = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE, Signal::SIGQUIT];
    ignored.into_iter().collect::<SigSet>().thread_block().context("blocking signals")?;
    nix::unistd::setsid().context("beginning a session")?;
    let input: OwnedFd = nix::unistd::dup(std::io::stdin()).context("reading the guard's input")?;
    let mut stream = UnixStream::from(input);
    stream.write_all(b"r").context("saying that the guard is there")?;
    // Nothing is ever sent; an error is an end, too.
    let _ = stream.read(&mut [0]);
    let outcome = journal::restore();
    let failed = match outcome {
        Ok(restored) => restored.failed.join("; "),
        Err(error) => format!("{error:#}"),
    };
    if failed.is_empty() {
        return Ok(());
    }
    // Whoever asked may be gone; the journal still has it.
    let _ = stream.write_all(failed.as_bytes());
    bail!("{failed}")
}
