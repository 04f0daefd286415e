//! A program that reads and writes lines, and ends with the engine.

use super::buffers::below;
use crate::error::{Context, Error, Result};
use nettrial_admission::lines;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{SysconfVar, sysconf};
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of bytes kept of the end of its output.
const KEPT_BYTES: usize = 2000;
/// The largest length of a line of its output, in bytes: a controller lists the links that it has found.
const MOST_LINE_BYTES: u64 = 64 << 20;
/// The number of lines of its output that may wait. A program that writes more waits itself.
const WAITING_LINES: usize = 64;
/// The time to wait for the last output of a program that has ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running program. Dropping it kills the program and all processes that it started.
pub struct Program {
    name: &'static str,
    input: ChildStdin,
    lines: Receiver<Result<String, String>>,
    errors: Arc<Mutex<String>>,
    process: u32,
    /// The sender, whose end kills the program.
    _stop: Sender<()>,
    /// The thread that is the program's parent.
    parent: Option<std::thread::JoinHandle<()>>,
}

/// The pipes and the process of a program that was started.
type Started = (ChildStdin, ChildStdout, ChildStderr, u32);

impl Program {
    /// Starts `command` in the calling thread's network namespace. With `hidden`, a file system in memory covers
    /// that directory for the program; the second value of the pair is true if the machine's mounts must first be
    /// separated from its own.
    pub fn start(name: &'static str, command: Command, hidden: Option<(&'static str, bool)>) -> Result<Self> {
        let (sender, heard) = sync_channel(WAITING_LINES);
        let (program, output) = Self::launch(name, command, hidden, heard)?;
        std::thread::spawn(move || {
            for line in lines(BufReader::new(output), MOST_LINE_BYTES) {
                let line = line.map_err(|error| format!("{name} sent {error}"));
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(program)
    }

    /// Starts `command` and keeps only the end of its outputs.
    pub fn watch(name: &'static str, command: Command) -> Result<Self> {
        let (program, output) = Self::launch(name, command, None, sync_channel(0).1)?;
        keep_end(output, &program.errors);
        Ok(program)
    }

    /// Starts `command`. Returns it with its output, which must be read.
    fn launch(
        name: &'static str,
        mut command: Command,
        hidden: Option<(&'static str, bool)>,
        lines: Receiver<Result<String, String>>,
    ) -> Result<(Self, ChildStdout)> {
        let (stop, stopped) = channel::<()>();
        let (started_sender, started) = channel();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The kernel kills the program when the thread that started it ends.
        let thread = std::thread::Builder::new().name("program".into());
        let parent = thread.spawn(move || {
            let child = hidden.map_or(Ok(()), hide).and_then(|()| Ok(nettrial_traffic::contain(command)?));
            match child.and_then(|mut child| Ok((pipes(&mut child)?, child))) {
                Ok((pipes, mut child)) => {
                    let _ = started_sender.send(Ok(pipes));
                    let _ = stopped.recv();
                    let _ = child.kill();
                    let _ = child.wait();
                }
                Err(error) => {
                    let _ = started_sender.send(Err(error));
                }
            }
        });
        let parent = Some(parent.context("starting a thread for a program")?);
        let started = started.recv().map_err(|_| Error::Thread("starting a program"))?;
        let (input, output, errors, process) = started.with_context(|| format!("starting {name}"))?;
        let kept = Arc::default();
        keep_end(errors, &kept);
        Ok((Self { name, input, lines, errors: kept, process, _stop: stop, parent }, output))
    }

    /// Returns the process identifier of the program.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Writes lines to the program's input.
    pub fn say(&mut self, lines: &str) -> Result<()> {
        let lines = if lines.ends_with('\n') { lines.to_owned() } else { format!("{lines}\n") };
        if self.input.write_all(lines.as_bytes()).and_then(|()| self.input.flush()).is_err() {
            return Err(Error::Program(self.end_in_words()));
        }
        Ok(())
    }

    /// Waits for a line of the program's output until `deadline`.
    pub fn hear(&self, deadline: Instant) -> Result<String> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line.map_err(Error::Program),
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::Silent(format!("{} did not answer; {}", self.name, self.complaint())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(Error::Program(self.end_in_words())),
        }
    }

    /// Returns the CPU time of the process and of the children for which it has waited.
    pub fn cpu_ns(&self) -> Result<u64> {
        cpu_ns_of(self.process).map_err(|_| Error::Program(self.end_in_words()))
    }

    /// Returns true if the process has ended. Nobody has waited for it yet, so it exists as a zombie.
    pub fn has_ended(&self) -> bool {
        fields_of(self.process).is_ok_and(|fields| fields.starts_with(['Z', 'X']))
    }

    /// Returns a description of the program's end, with its last output.
    pub fn end_in_words(&self) -> String {
        // The outputs end with the process, and the threads that read them hold the kept text until then.
        let deadline = Instant::now() + PATIENCE;
        while Arc::strong_count(&self.errors) > 1 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        format!("{} has ended; {}", self.name, self.complaint())
    }

    /// Returns the program's last output.
    pub fn complaint(&self) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines[lines.len().saturating_sub(3)..].join(" / ") {
            said if said.is_empty() => "it said nothing of it".to_owned(),
            said => format!("its last words: {said}"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let (stop, _) = channel();
        self._stop = stop;
        if let Some(parent) = self.parent.take() {
            let _ = parent.join();
        }
    }
}

/// Returns the CPU time of a process and of the children for which it has waited.
pub fn cpu_ns_of(process: u32) -> Result<u64> {
    // The state is field 3; utime to cstime are fields 14 to 17 (proc(5)).
    let fields = fields_of(process)?;
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    let per_second = sysconf(SysconfVar::CLK_TCK)?.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(100);
    Ok(ticks * (1_000_000_000 / per_second))
}

/// Returns the CPU time of a process and of all processes below it.
pub fn cpu_ns_of_all(process: u32) -> Result<u64> {
    let own = cpu_ns_of(process)?;
    // The parent has waited for children that have ended since.
    Ok(own + below(process)?.into_iter().filter_map(|child| cpu_ns_of_all(child).ok()).sum::<u64>())
}

/// Returns the fields of a process from its state on, which follows the name in parentheses (proc(5)).
fn fields_of(process: u32) -> Result<String> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    Ok(text.rsplit_once(')').map_or("", |(_, fields)| fields.trim_start()).to_owned())
}

/// Covers `directory` with a file system in memory, for the calling thread and the processes that it starts.
fn hide((directory, private): (&'static str, bool)) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS).context("making a mount namespace")?;
    if private {
        let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).context("keeping mounts apart")?;
    }
    mount(Some("tmpfs"), directory, Some("tmpfs"), MsFlags::empty(), None::<&str>)
        .with_context(|| format!("mounting a file system in memory on {directory}"))
}

/// Returns the pipes and the process identifier of a child.
fn pipes(child: &mut Child) -> Result<Started> {
    let input = child.stdin.take().ok_or_else(|| Error::Program("no pipe to a program".into()))?;
    let output = child.stdout.take().ok_or_else(|| Error::Program("no pipe from a program".into()))?;
    let errors = child.stderr.take().ok_or_else(|| Error::Program("no pipe from a program".into()))?;
    Ok((input, output, errors, child.id()))
}

/// Reads an output to its end, and keeps the end of it in `kept`.
fn keep_end(mut output: impl Read + Send + 'static, kept: &Arc<Mutex<String>>) {
    let kept = Arc::clone(kept);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_str(&String::from_utf8_lossy(&buffer[..count]));
            let start = kept.len().saturating_sub(KEPT_BYTES);
            let start = (start..=kept.len()).find(|&at| kept.is_char_boundary(at)).unwrap_or(0);
            kept.drain(..start);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_sends_a_line_without_end_is_refused() {
        let mut command = Command::new("cat");
        command.arg("/dev/zero");
        // Without privileges the program can't get a process-ID namespace; `make test` runs this as root.
        let Ok(program) = Program::start("the controller", command, None) else { return };
        let error = program.hear(Instant::now() + Duration::from_secs(120)).unwrap_err().to_string();
        assert_eq!(error, format!("the controller sent a line of more than {MOST_LINE_BYTES} bytes"));
    }
}
