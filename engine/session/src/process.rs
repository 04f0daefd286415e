//! Reaches an agent by the standard input and output of a command.

use crate::error::{Context, Error, Result};
use crate::transport::{Event, Transport};
use nettrial_admission::read_line;
use nettrial_traffic::{Order, Report};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest line that an agent may write, bytes: a record with its intervals and histograms.
pub const MOST_REPORT_BYTES: u64 = 64 << 20;

/// A command that runs an agent, or reaches one elsewhere. Dropping this ends the command, and the end of the
/// agent's input ends the agent.
pub struct Process {
    child: Child,
    input: ChildStdin,
    dismissed: Arc<AtomicBool>,
}

impl Process {
    /// Returns the command that runs this program as an agent. On Linux it runs the very file that this process
    /// was started from, even if another one has replaced it since.
    pub fn own() -> Command {
        let program = match cfg!(target_os = "linux") {
            true => PathBuf::from("/proc/self/exe"),
            false => std::env::current_exe().unwrap_or_else(|_| "nettrial-engine".into()),
        };
        let mut command = Command::new(program);
        command.arg("agent");
        command
    }

    /// Starts `command` with pipes for its input and output, as [`Process::local`] and [`Process::command`] need
    /// them.
    ///
    /// # Errors
    /// Fails if the command cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Child> {
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        spawned.with_context(|| format!("starting {}", command.get_program().display()))
    }

    /// Takes `child`, which runs an agent of this program on this machine. `tell` is called with each event.
    ///
    /// # Errors
    /// Fails if the child has no pipes.
    pub fn local(child: Child, tell: impl Fn(Event) + Send + 'static) -> Result<Self> {
        Self::take(child, |line| serde_json::from_slice(line), tell)
    }

    /// Takes `child`, which runs an agent anywhere. Its output is not trusted: all strings are made safe for a log
    /// and a record.
    ///
    /// # Errors
    /// Fails if the child has no pipes.
    pub fn command(child: Child, tell: impl Fn(Event) + Send + 'static) -> Result<Self> {
        Self::take(child, nettrial_admission::document, tell)
    }

    fn take(
        mut child: Child,
        decode: fn(&[u8]) -> serde_json::Result<Report>,
        tell: impl Fn(Event) + Send + 'static,
    ) -> Result<Self> {
        let input = child.stdin.take().ok_or(Error::NoPipe("to the agent"))?;
        let output = child.stdout.take().ok_or(Error::NoPipe("from the agent"))?;
        let dismissed = Arc::new(AtomicBool::new(false));
        let expected = Arc::clone(&dismissed);
        std::thread::spawn(move || {
            let why = read(output, decode, |report| tell(Event::Report(report)));
            if !expected.load(Ordering::Acquire) {
                tell(Event::Ended(why));
            }
        });
        Ok(Self { child, input, dismissed })
    }

    /// Returns the command's standard error on the first call, if the command was given a pipe for it.
    pub fn errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }
}

/// Reads reports until there are no more, and returns the reason for the end.
fn read(
    output: impl Read,
    decode: fn(&[u8]) -> serde_json::Result<Report>,
    report: impl Fn(Report),
) -> String {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match read_line(&mut output, &mut line, MOST_REPORT_BYTES) {
            Err(error) if error.kind() == ErrorKind::InvalidData => return format!("the agent sent {error}"),
            Err(error) => return format!("the agent could not be read: {error}"),
            Ok(_) if line.last() != Some(&b'\n') => return "the agent ended before it had finished".into(),
            Ok(_) => match decode(&line) {
                Ok(decoded) => report(decoded),
                Err(error) => return format!("the agent sent a malformed report: {error}"),
            },
        }
    }
}

impl Transport for Process {
    fn order(&mut self, order: &Order) -> Result<()> {
        let line = serde_json::to_string(order)?;
        writeln!(self.input, "{line}").context("writing to the agent")
    }

    fn dismiss(&mut self) {
        self.dismissed.store(true, Ordering::Release);
        // The agent's results are collected, or not wanted any more. An error means that the agent is gone.
        let _ = self.child.kill();
    }

    fn process(&self) -> Option<u32> {
        Some(self.child.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.dismiss();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agents;
    use nettrial_scenario::chain;
    use nettrial_traffic::{Command as Ask, Cookie, Reply};
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(300);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn ask(script: &str) -> Result<Reply> {
        let mut agents = Agents::default();
        let start = |sink: crate::Sink| {
            Process::command(Process::spawn(&mut shell(script))?, move |event| sink.tell(event))
        };
        agents.start("far", start)?;
        let command =
            Ask::Respond { cookie: Cookie([0; 16]), address: std::net::IpAddr::from([127, 0, 0, 1]).into() };
        agents.ask("far", command, SOON)
    }

    #[test]
    fn a_commands_reports_are_taken() {
        let answer = r#"read order; echo '{"number": 1, "reply": {"listening": {"port": 7}}}'; cat"#;
        assert_eq!(ask(answer).unwrap(), Reply::Listening { port: 7 });
    }

    #[test]
    fn what_a_command_says_cannot_write_to_the_terminal() {
        let answer = r#"read order; echo '{"number": 1, "reply": {"failed": {"kind": "other", "message": "\u001b[2J"}}}'; cat"#;
        assert_eq!(ask(answer).unwrap_err().to_string(), "far: \u{fffd}[2J");
    }

    #[test]
    fn a_command_that_ends_or_speaks_otherwise_is_an_error() {
        for (script, why) in [("read order", "the agent ended"), ("echo hello; cat", "malformed report")] {
            let error = chain(&ask(script).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
        let mut agents = Agents::default();
        let missing = |sink: crate::Sink| {
            let child = Process::spawn(&mut Command::new("/nonexistent/program"))?;
            Process::command(child, move |event| sink.tell(event))
        };
        let error = chain(&agents.start("far", missing).unwrap_err());
        assert!(error.contains("/nonexistent/program"), "{error}");
    }

    #[test]
    fn a_line_without_end_is_not_gathered() {
        let why = read(std::io::repeat(b'x'), |line| serde_json::from_slice(line), |_| ());
        assert_eq!(why, format!("the agent sent a line of more than {MOST_REPORT_BYTES} bytes"));
    }

    #[test]
    fn dropping_it_ends_the_command() {
        let process =
            Process::command(Process::spawn(&mut shell("exec sleep 1000")).unwrap(), |_| ()).unwrap();
        let number = process.child.id();
        drop(process);
        assert!(!std::path::Path::new(&format!("/proc/{number}")).exists());
    }
}
