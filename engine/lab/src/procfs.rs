//! The engine's own instances of procfs.
//!
//! A procfs has the directories of settings (`sys/net/ipv4`) of all network namespaces under one name, and caches
//! them. Opening one compares it with all that were opened before (fs/proc/proc_sysctl.c, proc_sys_compare). With
//! a thousand namespaces that took most of the time of building a network. An instance through which few
//! namespaces are reached is fast, and its cache ends with it.

use crate::error::{Context, Result};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// The number of namespaces that are reached through one instance.
const NAMESPACES: u32 = 64;

// include/uapi/linux/mount.h
const FSOPEN_CLOEXEC: libc::c_long = 1;
const FSMOUNT_CLOEXEC: libc::c_long = 1;
const FSCONFIG_CMD_CREATE: libc::c_long = 6;

/// The root of a procfs, which is replaced by a new one after some namespaces.
pub struct Procfs {
    root: File,
    namespaces: u32,
}

impl Procfs {
    /// Opens a separate instance if possible, or else the one at /proc: a user namespace can have one only
    /// together with a process-ID namespace, and kernels before 5.8 have a single instance.
    pub fn open() -> Result<Self> {
        Ok(Self { root: root()?, namespaces: 0 })
    }

    /// Returns the root through which to reach the next namespace.
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

/// Creates an instance that is not mounted anywhere (fsopen(2), fsconfig(2), fsmount(2)).
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

/// Returns the file of a descriptor that a system call has just returned, or the call's error.
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
