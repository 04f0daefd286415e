//! Starts other programs so that none outlives the agent, and supervises them.
//!
//! Each program is the first process of its own PID namespace, so everything that it started ends with it
//! (pid_namespaces(7)). The kernel kills it when the thread that started it ends (PR_SET_PDEATHSIG), which happens
//! when the agent ends, whatever kills the agent.

use super::shelter::shelter;
use crate::platform::Bounds;
use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::socket::SockaddrStorage;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Asks the kernel to kill this process when the thread that started it ends.
pub fn die_with_parent() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}

/// Returns true if `path` is a file that may be executed.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The environment variables that another program gets. The caller's others may be secrets, and would make trials differ.
const KEPT: [&str; 7] = ["HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"];

/// Leaves `command` only the few environment variables that programs need.
pub fn clear_environment(command: &mut Command) {
    let kept = KEPT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(kept);
}

/// Starts the program and arguments in `words`, with pipes for its outputs and little environment, from a thread
/// that lives as long as the program and starts nothing else.
pub fn spawn(words: &[String], bounds: Bounds) -> io::Result<Child> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    clear_environment(&mut command);
    if let Some(bytes) = bounds.shelter_bytes {
        shelter(&mut command, bytes)?;
    }
    if let Some(most) = bounds.descriptors {
        // SAFETY: between fork and exec there is only one system call, without allocations or locks.
        unsafe { command.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_NOFILE, most, most)?)) };
    }
    contain(command)
}

/// Starts `command` as the first process of a PID namespace, which ends when the calling thread does. That thread must
/// start nothing else.
///
/// # Errors
/// Fails if this user may not create a PID namespace, or the program can't be started.
pub fn contain(mut command: Command) -> io::Result<Child> {
    // The next child of this thread is the first process of a new namespace.
    unshare(CloneFlags::CLONE_NEWPID)?;
    let (alive, ours): (OwnedFd, OwnedFd) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let ours_number = ours.as_raw_fd();
    // SAFETY: between fork and exec there are only system calls, without allocations or locks. The descriptor that
    // is closed is the child's own copy of `ours`, which nothing in the child uses.
    unsafe {
        command.pre_exec(move || {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            // If the agent has ended before that, nobody holds the pipe's other end.
            libc::close(ours_number);
            let mut end = [PollFd::new(alive.as_fd(), PollFlags::empty())];
            poll(&mut end, PollTimeout::ZERO)?;
            match end[0].revents() {
                Some(events) if events.contains(PollFlags::POLLHUP) => Err(io::ErrorKind::BrokenPipe.into()),
                _ => Ok(()),
            }
        });
    }
    let child = command.spawn();
    drop(ours);
    child
}

/// Returns the name of the interface with this address, if there is one.
pub fn interface_of(address: IpAddr) -> Option<String> {
    let has = |storage: SockaddrStorage| match address {
        IpAddr::V4(four) => storage.as_sockaddr_in().is_some_and(|own| own.ip() == four),
        IpAddr::V6(six) => storage.as_sockaddr_in6().is_some_and(|own| own.ip() == six),
    };
    let mut interfaces = getifaddrs().ok()?;
    interfaces.find(|interface| interface.address.is_some_and(has)).map(|interface| interface.interface_name)
}

/// Returns whether a socket of this network namespace listens at `port`, over TCP, or is bound to it, over UDP.
/// It is looked up in /proc/net, so that the program sees no connection that is not the trial's.
pub fn listens(port: u16) -> io::Result<bool> {
    for (table, state) in [("tcp", Some("0A")), ("tcp6", Some("0A")), ("udp", None), ("udp6", None)] {
        let file = format!("/proc/thread-self/net/{table}");
        // A kernel without IPv6 does not have its tables.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if text.lines().skip(1).any(|line| is_open(line, port, state).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a line of a table of sockets (proc_pid_net(5)) is about a socket at `port`, in `state`.
fn is_open(line: &str, port: u16, state: Option<&str>) -> Option<bool> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local) = fields.get(1)?.rsplit_once(':')?;
    let is_at_port = u16::from_str_radix(local, 16).ok()? == port;
    Some(is_at_port && state.is_none_or(|state| fields.get(3) == Some(&state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_none_of_the_callers_secrets() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo gives it to this test");
        let mut command = Command::new("env");
        command.env("NETTRIAL_TOKEN", "a secret");
        clear_environment(&mut command);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let names: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.contains(&"PATH"), "{names:?}");
        assert!(names.iter().all(|name| KEPT.contains(name)), "{names:?}");
    }

    #[test]
    fn the_interface_of_an_address_is_found() {
        assert_eq!(interface_of("127.0.0.1".parse().unwrap()).as_deref(), Some("lo"));
        assert_eq!(interface_of("203.0.113.1".parse().unwrap()), None);
    }

    #[test]
    fn a_connection_is_no_listener() {
        let line = "   0: 0100007F:4E21 0100007F:D0A2 01 00000000:00000000 00:00000000 00000000 0 0 1 1";
        assert_eq!(is_open(line, 0x4e21, Some("0A")), Some(false));
        assert_eq!(is_open(&line.replace(" 01 ", " 0A "), 0x4e21, Some("0A")), Some(true));
        for hostile in ["", "0: x", "0: x:y z", "0: :zzzz"] {
            assert_eq!(is_open(hostile, 1, None), None, "{hostile}");
        }
    }
}
