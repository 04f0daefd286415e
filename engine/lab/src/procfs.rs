//! Instances of procfs of the engine's own.
//!
//! A procfs has the directory of settings (`sys/net/ipv4`) of every network namespace under one name and keeps
//! it; whoever opens one is compared with all that were opened before (fs/proc/proc_sysctl.c,
//! proc_sys_compare). With a thousand namespaces that took most of the time it took to build a network. An
//! instance that few namespaces are reached through is quick, and takes what it keeps with it.

use anyhow::{Context, Result};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Namespaces that are reached through one instance.
const NAMESPACES: u32 = 64;

// include/uapi/linux/mount.h
const FSOPEN_CLOEXEC: libc::c_long = 1;
const FSMOUNT_CLOEXEC: libc::c_long = 1;
const FSCONFIG_CMD_CREATE: libc::c_long = 6;

/// The root of a procfs, another one after some namespaces.
pub struct Procfs {
    root: File,
    namespaces: u32,
}

impl Procfs {
    /// An instance of its own where that may be had, else the one at /proc: a user namespace has it only
    /// together with a process-ID namespace, and kernels before 5.8 have but one.
    pub fn open() -> Result<Self> {
        Ok(Self { root: root()?, namespaces: 0 })
    }

    /// The root to reach the next namespace through.
    pub fn next(&mut self) -> Result<&File> {
        if self.namespaces == NAMESPACES {
            *self = Self::open()?;
        }
        self.namespaces += 1;
        Ok(&self.root)
    }
}

fn root() -> Result<File> {
    instance().or_else(|_| File::open("/proc")).context("opening /proc")
}

/// Makes an instance that is mounted nowhere (fsopen(2), fsconfig(2), fsmount(2)).
fn instance() -> io::Result<File> {
    // SAFETY: the name is a string that ends with a zero; the call touches no other memory.
    let context = file(unsafe { libc::syscall(libc::SYS_fsopen, c"proc".as_ptr(), FSOPEN_CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: the descriptor is open, and this command takes neither key nor value.
    let created =
        unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_CMD_CREATE, none, none, 0) };
    if created != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open; the call touches no memory of this process.
    file(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0) })
}

/// The file of a descriptor that a system call has just given, or its error.
fn file(answer: libc::c_long) -> io::Result<File> {
    let descriptor = i32::try_from(answer).map_err(io::Error::other)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn every_root_shows_the_settings_of_the_namespace() {
        let mut procfs = Procfs::open().unwrap();
        for _ in 0..=2 * NAMESPACES {
            let root = procfs.next().unwrap();
            let flags = nix::fcntl::OFlag::O_RDONLY;
            nix::fcntl::openat(root.as_fd(), "sys/net/ipv4/ip_forward", flags, nix::sys::stat::Mode::empty())
                .unwrap();
        }
    }
}
