//! A kernel as a process of the machine.

use crate::error::{Context, Error, Result};
use crate::init::{ALIVE, ALL_FILES, ORDER, Order, STACKS};
use crate::seat::Seat;
use nettrial_guest::{INIT, archived_program, last_file};
use nettrial_scenario::{Event, Request, Scenario};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write};
use std::iter;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The descriptors of the answers and of the initial RAM disk in the kernel's process. They are always the same, so
/// that the command line is.
const OUTPUT: i32 = 100;
const DISK: i32 = 101;
/// The variable that keeps the C library from registering a restartable sequence (rseq(2)). A process of the kernel
/// inherits the registration without the memory that it names, and newer systems end it for that.
const TUNABLES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
/// The time at which the clock starts, in nanoseconds since 1970: 2020-01-01 00:00 UTC.
const START_NS: u64 = 1_577_836_800_000_000_000;
/// The memory of a kernel without nodes, and of each node and each flow, in MiB: a namespace with its interfaces, an
/// agent, and the buffers of a connection.
const MEMORY_MIB: u64 = 256;
const NODE_MIB: u64 = 4;
const FLOW_MIB: u64 = 32;
/// The number of the kernel's last lines that are kept for an error.
const KEPT_LINES: usize = 20;
/// Parts of lines that each kernel writes as it boots, and that tell nothing.
const ORDINARY: [&str; 7] =
    ["Core dump limits", "soft - ", "hard - ", "...OK", "initialize umid", "make_umid", "remove_umid"];
/// The longest line of the kernel's messages, in bytes; a longer one becomes several.
const LONGEST_LINE_BYTES: usize = 4096;
/// The longest answer, in bytes: the runner reads no longer one either.
const LONGEST_ANSWER_BYTES: usize = 512 << 20;
/// The size of a pipe, in bytes (pipe(7)).
const PIPE_BYTES: usize = 64 << 10;
/// The CPU time that a kernel may use between two signs of life, and the time that may pass if it uses none.
const MOST_CPU_TIME: Duration = Duration::from_secs(120);
const MOST_IDLE_TIME: Duration = Duration::from_secs(60);
/// The interval between two looks at a silent kernel.
const LOOK: Duration = Duration::from_secs(1);

/// A program of Linux in virtual time, and the beginning of its initial RAM disk.
pub struct Kernel {
    program: PathBuf,
    disk: Vec<u8>,
}

impl Kernel {
    /// Takes the kernel in the file `program`.
    ///
    /// # Errors
    /// Fails if this program's own files can't be read.
    pub fn new(program: PathBuf) -> Result<Self> {
        Ok(Self { program, disk: archived_program()? })
    }

    /// Boots the kernel, lets it answer `request`, and returns its answer.
    ///
    /// # Errors
    /// Fails if the kernel can't be started, or ends or hangs before it has answered. The error has its last lines.
    pub fn answer(&self, mut request: Request) -> Result<Event> {
        if let Request::Run { capture: Some(capture), .. } = &mut request {
            let directory = fs::canonicalize(&capture.directory);
            let directory = directory.with_context(|| format!("finding {}", capture.directory))?;
            capture.directory = format!("{ALL_FILES}{}", directory.display());
        }
        let (mut running, end) = self.boot(request)?;
        let answer = running.await_answer(&end);
        let ended = running.end();
        match answer? {
            Some(line) => serde_json::from_slice(&line).context("reading the kernel's answer"),
            None => Err(Error::Ended(ended)),
        }
    }

    fn boot(&self, request: Request) -> Result<(Running, OwnedFd)> {
        let scenario = match &request {
            Request::Run { scenario, .. } | Request::Check { scenario } => Some(scenario.as_ref()),
            Request::Preflight { .. } => None,
        };
        let mut command = Command::new(&self.program);
        command.args(arguments(scenario)).env_clear().current_dir("/");
        command.env(TUNABLES.0, TUNABLES.1);
        let stacks = stacks().map(|directory| format!("{ALL_FILES}{}", directory.display()));
        let order = Order { request, path: std::env::var("PATH").unwrap_or_default(), stacks };
        let order = last_file(ORDER, &serde_json::to_vec(&order)?);
        // Nothing of a file without a name remains, whatever ends this process.
        let disk = memfd_create(c"initial RAM disk", MFdFlags::MFD_CLOEXEC).context("creating a RAM disk")?;
        let mut disk = File::from(disk);
        disk.write_all(&self.disk).and_then(|()| disk.write_all(&order)).context("writing a RAM disk")?;
        let (answers, output) = io::pipe().context("creating a pipe")?;
        let (messages, errors) = io::pipe().context("creating a pipe")?;
        let [answers, messages] = [Lines::of(answers)?, Lines::of(messages)?];
        command.stdin(Stdio::null()).stdout(errors.try_clone()?).stderr(errors);
        let descriptors = [(output.as_raw_fd(), OUTPUT), (disk.as_raw_fd(), DISK)];
        let parent = nix::unistd::getpid();
        let seat = Seat::take();
        let cpu = seat.as_ref().map(Seat::set);
        let prepare = move || {
            if let Some(cpu) = &cpu {
                // Without it the kernel is slower, and no figure is another one.
                let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), cpu);
            }
            for (descriptor, number) in descriptors {
                // SAFETY: the descriptor is open, and nothing of the new process has the other number.
                if unsafe { libc::dup2(descriptor, number) } < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // Some containers forbid this. Only addresses are random then, and no figure depends on them.
            // SAFETY: the call accesses no memory.
            unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
            // A panic must leave no file either.
            setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        };
        // SAFETY: between fork and exec it only makes system calls, and allocates no memory.
        unsafe { command.pre_exec(prepare) };
        let child = command.spawn().with_context(|| format!("starting {}", self.program.display()))?;
        drop((command, output));
        let mut running = Running {
            child,
            answers,
            console: Console { lines: messages, kept: VecDeque::new() },
            _seat: seat,
        };
        match ended(&running.child) {
            Ok(end) => Ok((running, end)),
            Err(error) => {
                Err(error).with_context(|| format!("watching {}: {}", self.program.display(), running.end()))
            }
        }
    }
}

/// Returns the command line of a kernel for `scenario`.
fn arguments(scenario: Option<&Scenario>) -> Vec<String> {
    let seed = scenario.map_or(0, |scenario| scenario.seed);
    let size = |count: usize, each: u64| count as u64 * each;
    let memory = scenario
        .map_or(0, |scenario| size(scenario.nodes.len(), NODE_MIB) + size(scenario.workload.len(), FLOW_MIB));
    let mut arguments = vec![
        format!("mem={}M", MEMORY_MIB + memory),
        format!("seed={seed}"),
        "time-travel=inf-cpu".to_owned(),
        format!("time-travel-start={START_NS}"),
        format!("initrd=/proc/self/fd/{DISK}"),
        format!("rdinit={INIT}"),
        // Otherwise the kernel adds a root after the arguments of its first process.
        "root=none".to_owned(),
        "con=null".to_owned(),
        format!("con0=null,fd:{OUTPUT}"),
        "con1=null,fd:2".to_owned(),
        "console=tty1".to_owned(),
        "loglevel=4".to_owned(),
        // The kernel ends at a panic.
        "panic=-1".to_owned(),
        // It keeps a file with its process ID, but not in what is no directory.
        "uml_dir=/dev/null/".to_owned(),
        "umid=nettrial".to_owned(),
    ];
    // The level of the log is not among them: Linux mixes the command line into its random numbers, and reading the clock
    // for a line of the log would take time. One seed would then have several records.
    arguments.extend(["--", "guest", "virtual"].map(str::to_owned));
    arguments
}

/// Returns the directory of the stacks that are programs: that of the environment, or this program's own.
fn stacks() -> Option<PathBuf> {
    let given = std::env::var_os(STACKS).filter(|directory| !directory.is_empty()).map(PathBuf::from);
    let directory = given.or_else(|| Some(std::env::current_exe().ok()?.parent()?.to_owned()))?;
    fs::canonicalize(directory).ok()
}

/// A kernel that runs, which ends with this value.
struct Running {
    child: Child,
    answers: Lines,
    console: Console,
    _seat: Option<Seat>,
}

impl Running {
    /// Returns the line of the answer; `None` if the kernel ended before, at which `end` can be read. The end of a pipe
    /// does not tell it, because a process of a kernel that was killed may still hold the pipe.
    fn await_answer(&mut self, end: &OwnedFd) -> Result<Option<Vec<u8>>> {
        let mut used = self.cpu_time();
        let (mut latest, mut since, mut looked) = (used, Instant::now(), Instant::now());
        loop {
            let has_ended = wait([&self.answers, &self.console.lines], end)?;
            let spoke = self.console.take() | self.answers.take().context("reading the kernel's answer")?;
            while let Some(line) = self.answers.next(LONGEST_ANSWER_BYTES) {
                if line != ALIVE {
                    return Ok(Some(line));
                }
                (used, since) = (None, Instant::now());
            }
            // What the kernel wrote before it ended was there at its end.
            if has_ended && !spoke {
                return Ok(None);
            }
            if looked.elapsed() < LOOK {
                continue;
            }
            let now = self.cpu_time();
            looked = Instant::now();
            let begin = *used.get_or_insert(now.unwrap_or_default());
            if now != latest {
                (latest, since) = (now, looked);
            }
            let busy = now.unwrap_or_default().saturating_sub(begin);
            if busy > MOST_CPU_TIME || since.elapsed() > MOST_IDLE_TIME {
                let (seconds, said) = (busy.as_secs(), self.end());
                return Err(Error::Hangs { seconds, said });
            }
        }
    }

    /// Returns the CPU time of the kernel and its processes, if it runs.
    fn cpu_time(&self) -> Option<Duration> {
        let kernel = self.child.id();
        let children = fs::read_to_string(format!("/proc/{kernel}/task/{kernel}/children")).ok()?;
        let processes = children.split_whitespace().map(str::to_owned).chain([kernel.to_string()]);
        let ticks: u64 = processes.filter_map(|process| ticks(&process)).sum();
        Some(Duration::from_millis(ticks * 10))
    }

    /// Ends the kernel, and returns its last lines.
    fn end(&mut self) -> String {
        // It has ended by itself if it answered, or does so at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let lines = self.console.last_lines();
        if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(" | ") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the CPU time of a process in ticks of 10 ms (proc_pid_stat(5)).
fn ticks(process: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Returns a descriptor that can be read when `child` has ended (pidfd_open(2)).
fn ended(child: &Child) -> Result<OwnedFd> {
    // SAFETY: the call accesses no memory.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let descriptor = i32::try_from(Errno::result(descriptor).context("watching a process")?)?;
    // SAFETY: the kernel has just returned this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Waits until one of `pipes` or `end` can be read, or for [`LOOK`], and returns whether `end` can.
fn wait(pipes: [&Lines; 2], end: &OwnedFd) -> Result<bool> {
    let open = pipes.into_iter().filter_map(|pipe| pipe.input.as_ref()).map(AsFd::as_fd);
    let mut polled: Vec<PollFd> =
        iter::once(end.as_fd()).chain(open).map(|input| PollFd::new(input, PollFlags::POLLIN)).collect();
    match poll(&mut polled, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX)) {
        Ok(_) => Ok(polled[0].any() == Some(true)),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error).context("waiting for the kernel"),
    }
}

/// A pipe whose lines are read as they come.
struct Lines {
    /// The pipe, until nobody can write into it.
    input: Option<PipeReader>,
    bytes: Vec<u8>,
    /// The number of bytes in which no line ends.
    searched: usize,
}

impl Lines {
    fn of(input: PipeReader) -> Result<Self> {
        fcntl(&input, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("preparing a pipe")?;
        Ok(Self { input: Some(input), bytes: Vec::new(), searched: 0 })
    }

    /// Reads some of what is there, and returns whether there was anything.
    fn take(&mut self) -> io::Result<bool> {
        let Some(input) = &mut self.input else { return Ok(false) };
        let mut bytes = [0; PIPE_BYTES];
        match input.read(&mut bytes) {
            Ok(0) => self.input = None,
            Ok(length) => {
                self.bytes.extend_from_slice(&bytes[..length]);
                return Ok(true);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    /// Returns the next line, or a piece of one that is longer than `most`; `None` until one is whole.
    fn next(&mut self, most: usize) -> Option<Vec<u8>> {
        let end = self.bytes[self.searched..].iter().position(|&byte| byte == b'\n');
        let end = end.map(|place| self.searched + place + 1).unwrap_or(self.bytes.len());
        let is_whole = end > self.searched && self.bytes[end - 1] == b'\n';
        if !is_whole && end <= most {
            self.searched = end;
            return None;
        }
        self.searched = 0;
        Some(self.bytes.drain(..end.min(most)).collect())
    }
}

/// The kernel's messages.
struct Console {
    lines: Lines,
    kept: VecDeque<String>,
}

impl Console {
    /// Keeps the last of the lines that are there, and returns whether there was anything. All lines go to the log.
    fn take(&mut self) -> bool {
        // Messages only explain an end, so nothing depends on them.
        let spoke = self.lines.take().unwrap_or(false);
        while let Some(line) = self.lines.next(LONGEST_LINE_BYTES) {
            self.keep(&line);
        }
        spoke
    }

    fn keep(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        tracing::debug!("the kernel: {text}");
        if !ORDINARY.iter().any(|part| text.contains(part)) {
            self.kept.push_back(text.to_owned());
        }
        if self.kept.len() > KEPT_LINES {
            self.kept.pop_front();
        }
    }

    /// Returns the last lines of a kernel that has ended.
    fn last_lines(&mut self) -> Vec<String> {
        while self.take() {}
        let last = std::mem::take(&mut self.lines.bytes);
        self.keep(&last);
        self.kept.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::chain;
    use std::os::unix::fs::PermissionsExt;

    /// Returns the error of a preflight in a shell script instead of a kernel.
    fn answered(name: &str, script: &str) -> Result<Event> {
        let program = std::env::temp_dir().join(format!("nettrial-virtual-{name}-{}", std::process::id()));
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let answer = Kernel::new(program.clone()).unwrap().answer(Request::Preflight { thorough: false });
        fs::remove_file(program).unwrap();
        answer
    }

    #[test]
    fn the_line_beside_signs_of_life_is_the_answer() {
        let script = r#"printf '.\n.\n{"event":"refused","message":"no"}\n' >/proc/self/fd/100"#;
        assert_eq!(answered("answer", script).unwrap(), Event::Refused { message: "no".into() });
    }

    #[test]
    fn a_kernel_that_ends_shows_its_last_lines() {
        let error = answered("end", "echo booting; echo 'Kernel panic - not syncing' >&2").unwrap_err();
        let text = "the kernel ended without an answer: booting | Kernel panic - not syncing";
        assert_eq!(chain(&error), text);
    }

    /// A process of a kernel that was killed early may stay, and hold the pipes.
    #[test]
    fn a_kernel_that_ends_is_noticed_although_its_pipes_stay_open() {
        let script = "sleep 1000 & echo $! >&2; printf '.\\n' >/proc/self/fd/100; printf panic; kill -9 $$";
        let error = chain(&answered("held", script).unwrap_err());
        let process = error.split(&[' ', '|'][..]).find_map(|word| word.parse().ok()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), Signal::SIGKILL).unwrap();
        assert_eq!(error, format!("the kernel ended without an answer: {process} | panic"));
    }

    #[test]
    fn a_long_answer_comes_whole() {
        let script = r#"printf '{"event":"refused","message":"%0300000d"}\n' 7 >/proc/self/fd/100"#;
        let Event::Refused { message } = answered("long", script).unwrap() else { panic!("another answer") };
        assert_eq!((message.len(), message.ends_with("07")), (300_000, true));
    }

    #[test]
    fn the_ram_disk_has_the_request_and_the_command_line_its_seed() {
        let script = "grep -q '\"preflight\"' /proc/self/fd/101 && echo found; echo \"$@\"";
        let error = chain(&answered("disk", script).unwrap_err());
        assert!(error.contains("found | mem=256M seed=0 time-travel=inf-cpu"), "{error}");
        assert!(error.contains("-- guest virtual"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let kernel = Kernel::new("/nonexistent/linux".into()).unwrap();
        let error = kernel.answer(Request::Preflight { thorough: false }).unwrap_err();
        assert!(chain(&error).contains("starting /nonexistent/linux"), "{error:?}");
    }
}
