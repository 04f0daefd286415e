//! Confinement of QEMU: the emulator has no privileges, so a guest that takes it over has none either.
//!
//! If the engine is root, QEMU runs as the user `nobody`, with the group of /dev/kvm alone, and the engine opens its
//! files and passes them to it. In a user namespace of an ordinary user, whose only user is root there, QEMU runs as
//! that user and without capabilities. A filter of system calls (seccomp(2)) keeps it from starting programs and from
//! gaining privileges.

use crate::error::{Context, Result};
use crate::program::PROGRAM;
use nettrial_admission::output;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{Gid, Uid};
use std::fs::{self, File};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The user and the group `nobody` of Linux distributions, and the kernel's default overflow IDs.
const NOBODY: u32 = 65_534;
/// QEMU's option for its filter of system calls, which leaves what a machine without a display, sound and devices of
/// this one needs (qemu(1)).
const SANDBOX: [&str; 2] =
    ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"];
/// The most bytes of QEMU's list of machines, and the time that printing it may take.
const MOST_HELP_BYTES: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);
/// The bits of PR_SET_SECUREBITS with which root has no capabilities after execve(2), and their locks
/// (include/uapi/linux/securebits.h: NOROOT and NO_SETUID_FIXUP).
const NO_ROOT: libc::c_ulong = 0b1111;

/// The identity under which QEMU runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The user `nobody`, with the given supplementary group for /dev/kvm.
    Nobody { kvm: Option<Gid> },
    /// The present user, which has no other one here, without capabilities.
    Same,
}

impl Identity {
    /// Returns the identity that this process can take.
    pub(crate) fn available() -> Self {
        let groups = fs::read_to_string("/proc/self/setgroups").unwrap_or_default();
        let maps = ["/proc/self/uid_map", "/proc/self/gid_map"].map(fs::read_to_string);
        let is_there = maps.iter().all(|map| map.as_deref().is_ok_and(|map| has(map, NOBODY)));
        if Uid::effective().is_root() && is_there && groups.trim() != "deny" {
            let kvm = fs::metadata("/dev/kvm").ok().map(|device| Gid::from_raw(device.gid()));
            Self::Nobody { kvm: kvm.filter(|group| group.as_raw() != 0) }
        } else {
            Self::Same
        }
    }

    /// Takes the identity for good, in a new process before execve(2). `owned` are the pipes of which QEMU opens
    /// its end by a path.
    pub(crate) fn take(self, owned: &[RawFd]) -> io::Result<()> {
        match self {
            Self::Nobody { kvm } => {
                for descriptor in owned {
                    // SAFETY: the descriptor is open; the call touches no memory.
                    check(unsafe { libc::fchown(*descriptor, NOBODY, NOBODY) })?;
                }
                let groups = kvm.as_slice();
                nix::unistd::setgroups(groups)?;
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                nix::unistd::setresgid(group, group, group)?;
                nix::unistd::setresuid(user, user, user)?;
            }
            Self::Same if Uid::effective().is_root() => {
                // SAFETY: the call touches no memory.
                check(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT) })?;
            }
            Self::Same => {}
        }
        Ok(nix::sys::prctl::set_no_new_privs()?)
    }
}

/// Returns whether an ID has a counterpart outside a user namespace with this map (user_namespaces(7)).
fn has(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(id)))
    })
}

/// Returns QEMU's arguments for its filter of system calls; none if this QEMU has no such filter.
pub(crate) fn sandbox() -> &'static [&'static str] {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let works = *FOUND.get_or_init(|| {
        let mut command = Command::new(PROGRAM);
        command.args(SANDBOX).args(["-machine", "help"]);
        output(&mut command, MOST_HELP_BYTES, PATIENCE).is_ok()
    });
    if works {
        return &SANDBOX;
    }
    tracing::warn!("{PROGRAM} has no filter of system calls here");
    &[]
}

/// Returns a copy of a file in memory, which no one can change, for a process that may not open the file itself.
pub(crate) fn copied(file: &Path) -> Result<File> {
    let mut source = File::open(file).with_context(|| format!("opening {}", file.display()))?;
    in_memory(&mut source).with_context(|| format!("copying {}", file.display()))
}

/// Returns a file in memory with this content, which no one can change. It has no name, so nothing of it remains,
/// whatever ends this process.
pub(crate) fn in_memory(content: &mut impl io::Read) -> Result<File> {
    let memory = memfd_create(c"guest", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
    let mut memory = File::from(memory);
    io::copy(content, &mut memory)?;
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&memory, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(memory)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_there_if_the_map_has_it() {
        assert!(has("         0          0 4294967295\n", NOBODY));
        assert!(has("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!has("0 1000 1\n", NOBODY));
        assert!(!has("", NOBODY));
    }

    #[test]
    fn a_copy_in_memory_can_not_be_changed() {
        use std::io::Write;
        let mut copy = in_memory(&mut &b"content"[..]).unwrap();
        assert!(copy.write_all(b"other").is_err());
        assert_eq!(copy.metadata().unwrap().len(), 7);
    }
}
