//! Namespaces without names, which are created by unshare(2) and held by descriptors.

use crate::clock::Clock;
use crate::error::{Context, Result};
use nettrial_scenario::{Shortfall, chain};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs::{self, File};
use std::os::fd::AsFd;

/// The number of open files that a process of the lab may have: two for each node of a fabric, two for each agent,
/// and in an agent a few for each of its flows.
const DESCRIPTORS: u64 = 1 << 16;

/// The engine's own namespaces, in which all others are created.
pub struct Home {
    network: Namespace,
    /// The namespace that the engine came from, if its user can return there.
    outside: Option<Namespace>,
    /// True if the engine has root's privileges on the machine, not only in a user namespace.
    pub is_root: bool,
    /// The kernel's clock.
    pub clock: Clock,
}

/// A network namespace, which lives as long as this value.
pub struct Namespace(File);

impl Namespace {
    /// Returns the calling thread's namespace.
    pub fn current() -> Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self).context("opening /proc/thread-self/ns/net")
    }

    /// The same namespace again, which lives as long as either.
    pub fn share(&self) -> Result<Self> {
        self.0.try_clone().map(Self).context("holding a network namespace twice")
    }

    /// Returns the descriptor that holds the namespace.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Home {
    /// Enters a new mount namespace and a new network namespace, and before them a new user namespace if root's
    /// privileges are not available.
    pub fn enter(clock: Clock) -> Result<Self, Vec<Shortfall>> {
        let wanted = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
        let outside = Namespace::current().ok();
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let (is_root, new_user_namespace) = match unshare(wanted) {
            // Root of a container's user namespace is not root of the machine.
            Ok(()) => (maps_all_users(), None),
            Err(as_root) => {
                unshare(wanted | CloneFlags::CLONE_NEWUSER).map_err(|as_user| {
                    vec![
                        Shortfall::new(
                            "network namespaces as root",
                            format!("unshare(CLONE_NEWNET | CLONE_NEWNS): {}", as_root.desc()),
                            "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN",
                        ),
                        Shortfall::new(
                            "network namespaces through a user namespace",
                            format!(
                                "unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS): {}{}",
                                as_user.desc(),
                                user_namespace_settings()
                            ),
                            "allow user namespaces: sysctl user.max_user_namespaces=10000, and on Ubuntu \
                                     kernel.apparmor_restrict_unprivileged_userns=0",
                        ),
                    ]
                })?;
                (false, Some((user.as_raw(), group.as_raw())))
            }
        };
        // Whoever is root in a user namespace of the engine's own is nobody in the one that owns the network outside.
        let outside = outside.filter(|_| new_user_namespace.is_none());
        Self::set_up(is_root, new_user_namespace, outside, clock).map_err(|error| {
            vec![Shortfall::new(
                "entering the engine's namespaces",
                chain(&error),
                "run as root, or on a system that does not restrict user namespaces",
            )]
        })
    }

    fn set_up(
        is_root: bool,
        new_user_namespace: Option<(u32, u32)>,
        outside: Option<Namespace>,
        clock: Clock,
    ) -> Result<Self> {
        if let Some((user, group)) = new_user_namespace {
            // user_namespaces(7): setgroups must be denied before a group map may be written.
            write("/proc/self/setgroups", "deny")?;
            write("/proc/self/uid_map", &format!("0 {user} 1"))?;
            write("/proc/self/gid_map", &format!("0 {group} 1"))?;
        }
        if is_root {
            // Mounts over /sys in this namespace (`processors`) must not be visible outside.
            let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/sys", None::<&str>, flags, None::<&str>).context("making /sys private")?;
        }
        raise_descriptor_limit().context("raising the limit of open files")?;
        Ok(Self { network: Namespace::current()?, outside, is_root, clock })
    }

    /// Returns the engine's own network namespace.
    pub fn network(&self) -> &Namespace {
        &self.network
    }

    /// Returns the network namespace that the engine came from, if its user can return there.
    pub fn outside(&self) -> Option<Namespace> {
        self.outside.as_ref()?.share().ok()
    }

    /// Creates a network namespace and runs `inside` in it. The calling thread returns to its own namespace
    /// afterwards.
    pub fn create<T>(&self, inside: impl FnOnce() -> Result<T>) -> Result<(Namespace, T)> {
        unshare(CloneFlags::CLONE_NEWNET).context("creating a network namespace")?;
        let made = Namespace::current().and_then(|namespace| Ok((namespace, inside()?)));
        setns(self.network.0.as_fd(), CloneFlags::CLONE_NEWNET)
            .context("returning to the engine's namespace")?;
        made
    }

    /// Runs `inside` in `namespace`. The calling thread returns to its own namespace afterwards.
    pub fn visit<T>(&self, namespace: &Namespace, inside: impl FnOnce() -> Result<T>) -> Result<T> {
        setns(namespace.0.as_fd(), CloneFlags::CLONE_NEWNET).context("entering a network namespace")?;
        let result = inside();
        setns(self.network.0.as_fd(), CloneFlags::CLONE_NEWNET)
            .context("returning to the engine's namespace")?;
        result
    }
}

/// Raises the limit of open files of this process and its children to the number that a fabric of thousands of
/// nodes needs.
fn raise_descriptor_limit() -> Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = soft.max(DESCRIPTORS);
    // Only root may raise the hard limit.
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted))
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard))?;
    Ok(())
}

/// Returns true if this process is in the machine's initial user namespace, which maps all users
/// (user_namespaces(7)).
fn maps_all_users() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("writing {text:?} to {path}"))
}

/// Returns the kernel settings that most often forbid user namespaces in words, as far as they can be read.
fn user_namespace_settings() -> String {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    let settings = [
        ("user.max_user_namespaces", "/proc/sys/user/max_user_namespaces"),
        ("kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone"),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        ),
    ];
    let known: Vec<String> =
        settings.iter().filter_map(|(name, path)| Some(format!("{name} is {}", read(path)?))).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}
