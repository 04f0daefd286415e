//! An isolated place for a program that serves or fetches files: a directory in memory, and few privileges.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The directory, which no other process sees.
const DIRECTORY: &str = "/run";
/// The user and the group without privileges on Linux: `nobody`, and its group.
const NOBODY: u32 = 65_534;

/// Makes `command` start in an empty directory in memory with room for `bytes` bytes, which is removed with the
/// program, and without privileges if this system has a user without any. Programs in directories for
/// administrators are found, and settings of the machine or its users for OpenSSL and clients are not read.
///
/// The directory belongs to the calling thread's mount namespace, which is created here, so the thread must start
/// nothing else.
///
/// # Errors
/// Fails if this user may not create a mount namespace, or the memory can't be mounted.
pub fn shelter(command: &mut Command, bytes: u64) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let options = format!("mode=1777,size={bytes}");
    mount(Some("nettrial"), DIRECTORY, Some("tmpfs"), flags, Some(options.as_str()))?;
    command.current_dir(DIRECTORY).env("HOME", DIRECTORY).env("OPENSSL_CONF", "/dev/null");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"));
    // In a user namespace, root is the user who created it, and there may be no other user.
    if nix::unistd::geteuid().is_root() && maps(&std::fs::read_to_string("/proc/self/uid_map")?, NOBODY) {
        command.uid(NOBODY).gid(NOBODY);
    }
    Ok(())
}

/// Returns true if a map of users (user_namespaces(7)) contains `user`.
fn maps(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().unwrap_or(0));
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        let (first, count) = (first.unwrap_or(0), count.unwrap_or(0));
        (first..first.saturating_add(count)).contains(&user.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_all_users_has_nobody_and_one_of_root_alone_does_not() {
        assert!(maps("         0          0 4294967295\n", NOBODY));
        assert!(maps("0 1000 1\n1 100000 65536\n", NOBODY));
        for other in ["         0       1000          1\n", "0 1000 1\n1 100000 65533\n", "", "x y z"] {
            assert!(!maps(other, NOBODY), "{other}");
        }
    }
}
