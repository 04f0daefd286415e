//! The CPU on which a kernel runs.
//!
//! A kernel and its processes never run at the same time: each waits for the other at every system call. On one CPU they
//! hand over to each other without waking another one, which halves the CPU time of a trial on an idle machine.

use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu};
use nix::unistd::Pid;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The beginning of the names of the sockets that reserve CPUs. They are in no file system, and the machine forgets them
/// when their process ends, however it ends (unix(7)).
const NAME: &str = "nettrial-virtual-cpu-";

/// A CPU that no other kernel of this network namespace has taken, until this value is dropped.
pub struct Seat {
    cpu: usize,
    _reserved: UnixDatagram,
}

impl Seat {
    /// Takes a CPU on which this thread may run; `None` if all are taken, or if there is only one. The first that it
    /// tries is the one on which this thread runs, which other namespaces probably don't use.
    pub fn take() -> Option<Self> {
        Self::named(NAME)
    }

    fn named(name: &str) -> Option<Self> {
        let mut cpus = cpus_of(&sched_getaffinity(Pid::from_raw(0)).ok()?);
        if cpus.len() < 2 {
            return None;
        }
        let here = sched_getcpu().ok().and_then(|here| cpus.iter().position(|&cpu| cpu == here));
        cpus.rotate_left(here.unwrap_or(0));
        cpus.into_iter().find_map(|cpu| {
            let address = SocketAddr::from_abstract_name(format!("{name}{cpu}")).ok()?;
            UnixDatagram::bind_addr(&address).ok().map(|reserved| Self { cpu, _reserved: reserved })
        })
    }

    /// Returns the set that contains the CPU alone.
    pub fn set(&self) -> CpuSet {
        let mut set = CpuSet::new();
        // The number is from such a set.
        let _ = set.set(self.cpu);
        set
    }
}

fn cpus_of(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_taken_once_and_given_back() {
        let name = format!("nettrial-test-{}-", std::process::id());
        let count = cpus_of(&sched_getaffinity(Pid::from_raw(0)).unwrap()).len();
        let mut taken: Vec<Seat> = std::iter::from_fn(|| Seat::named(&name)).collect();
        let mut cpus: Vec<usize> = taken.iter().map(|seat| seat.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        assert_eq!(cpus.len(), if count < 2 { 0 } else { count });
        let Some(last) = taken.pop() else { return };
        let (cpu, set) = (last.cpu, last.set());
        assert_eq!(cpus_of(&set), [cpu]);
        drop(last);
        assert_eq!(Seat::named(&name).map(|seat| seat.cpu), Some(cpu));
    }
}
