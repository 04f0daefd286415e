//! An agent as a process of its own: this program, told to be one.

use anyhow::{Context, Result};
use nettrial_traffic::{Order, Report};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// This very program, even if another has been put in its place since it was started.
const PROGRAM: &str = "/proc/self/exe";

/// A running agent. Dropping it ends it, with all that it had opened; the end of its input does so too,
/// if this process dies.
pub struct Agent {
    process: Child,
    input: ChildStdin,
    dismissed: Arc<AtomicBool>,
}

impl Agent {
    /// Starts an agent. `report` is called with each of its reports, and with none if it ends by
    /// itself; `complain` with each line that it wrote on its standard error.
    pub fn start(
        report: impl Fn(Option<Report>) + Send + 'static,
        complain: impl Fn(&str) + Send + 'static,
    ) -> Result<Self> {
        let mut command = Command::new(PROGRAM);
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().context("starting an agent")?;
        let input = process.stdin.take().context("no pipe to the agent")?;
        let output = process.stdout.take().context("no pipe from the agent")?;
        let errors = process.stderr.take().context("no pipe from the agent")?;
        let dismissed = Arc::new(AtomicBool::new(false));
        let expected = Arc::clone(&dismissed);
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map_while(|line| serde_json::from_str(&line).ok()).for_each(|found| report(Some(found)));
            if !expected.load(Ordering::Acquire) {
                report(None);
            }
        });
        std::thread::spawn(move || {
            BufReader::new(errors).lines().map_while(Result::ok).for_each(|line| complain(&line));
        });
        Ok(Self { process, input, dismissed })
    }

    /// Gives an order; what comes of it is reported.
    pub fn order(&mut self, order: &Order) -> Result<()> {
        let line = serde_json::to_string(order)?;
        writeln!(self.input, "{line}").context("giving the agent an order")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.dismissed.store(true, Ordering::Release);
        // An error means that it is gone.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
