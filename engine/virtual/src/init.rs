//! The first process inside the kernel, which answers one request.

use crate::error::{Context, Result};
use nettrial_scenario::{Event, Request, chain};
use nix::mount::{MsFlags, mount};
use nix::unistd::{chdir, chroot};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The path of the order in the initial RAM disk.
pub const ORDER: &str = "/order.json";
/// The terminal on which answers leave.
const OUTPUT: &str = "/dev/tty0";
/// The directory at which the machine's files are mounted until they become the root.
const MACHINE: &str = "/host";
/// The directories of the machine that are hidden by file systems of the kernel's own, and their kinds.
const HIDDEN: [(&str, &str); 5] =
    [("dev", "devtmpfs"), ("proc", "proc"), ("sys", "sysfs"), ("run", "tmpfs"), ("tmp", "tmpfs")];
/// The directory at which all files of the machine are visible.
pub const ALL_FILES: &str = "/run/machine";
/// The environment variable with the directory of the stacks that are programs.
pub const STACKS: &str = "NETTRIAL_STACKS";
/// The line that is a sign of life.
pub const ALIVE: &[u8] = b".\n";
/// The interval between two signs of life, in virtual time.
const INTERVAL: Duration = Duration::from_millis(10);

/// An order to the first process.
#[derive(Serialize, Deserialize)]
pub struct Order {
    /// The request to answer.
    pub request: Request,
    /// The directories in which programs are looked for.
    pub path: String,
    /// The directory of the stacks that are programs, below [`ALL_FILES`], if the machine has one.
    pub stacks: Option<String>,
}

/// Runs as the first process of a kernel: answers the one request that its initial RAM disk contains, and ends the
/// kernel.
///
/// # Errors
/// Fails if a file system can't be mounted, or the request not be read. The kernel ends then, too.
pub fn init(answer: impl FnOnce(Request) -> Event) -> Result<()> {
    let done = serve(answer);
    if let Err(error) = &done {
        eprintln!("nettrial: {}", chain(error));
    }
    // SAFETY: the call accesses no memory. This is the first process of its kernel, so nothing else ends.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    done
}

fn serve(answer: impl FnOnce(Request) -> Event) -> Result<()> {
    mount_on("/dev", "devtmpfs", None)?;
    make_raw(&open("/dev/tty1")?)?;
    let mut output = open(OUTPUT)?;
    make_raw(&output)?;
    let order = fs::read(ORDER).with_context(|| format!("reading {ORDER}"))?;
    let order: Order = serde_json::from_slice(&order).context("reading the order")?;
    enter_machine()?;
    // SAFETY: this process has no other thread yet.
    unsafe { std::env::set_var("PATH", order.path) };
    if let Some(stacks) = order.stacks {
        // SAFETY: this process has no other thread yet.
        unsafe { std::env::set_var(STACKS, stacks) };
    }
    live(output.try_clone().context("opening the output twice")?);
    let mut line = serde_json::to_vec(&answer(order.request))?;
    line.push(b'\n');
    output.write_all(&line).context("writing the answer")?;
    // SAFETY: the descriptor is open, and the call accesses no memory.
    unsafe { libc::tcdrain(output.as_raw_fd()) };
    Ok(())
}

fn open(path: &str) -> Result<File> {
    OpenOptions::new().read(true).write(true).open(path).with_context(|| format!("opening {path}"))
}

/// Makes a terminal pass on each byte as it is.
fn make_raw(terminal: &File) -> Result<()> {
    // SAFETY: a structure of numbers may be all zeros.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the structure outlives the calls.
    let done = unsafe {
        libc::tcgetattr(terminal.as_raw_fd(), &raw mut settings);
        libc::cfmakeraw(&raw mut settings);
        libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const settings)
    };
    nix::errno::Errno::result(done).context("setting a terminal")?;
    Ok(())
}

/// Makes the machine's files the root, below file systems of the kernel's own.
fn enter_machine() -> Result<()> {
    fs::create_dir_all(MACHINE).with_context(|| format!("creating {MACHINE}"))?;
    mount_on(MACHINE, "hostfs", Some("/"))?;
    for (directory, kind) in HIDDEN {
        mount_on(&format!("{MACHINE}/{directory}"), kind, None)?;
    }
    let all = format!("{MACHINE}{ALL_FILES}");
    fs::create_dir(&all).with_context(|| format!("creating {all}"))?;
    mount_on(&all, "hostfs", Some("/"))?;
    // The initial RAM disk can only be hidden (Documentation/filesystems/ramfs-rootfs-initramfs.rst).
    chdir(MACHINE).context("entering the machine's files")?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>).context("hiding the RAM disk")?;
    chroot(".").context("entering the machine's files")?;
    Ok(())
}

fn mount_on(directory: &str, kind: &str, data: Option<&str>) -> Result<()> {
    mount(Some(kind), directory, Some(kind), MsFlags::empty(), data)
        .with_context(|| format!("mounting {kind} on {directory}"))
}

/// Gives signs of life until the kernel ends.
fn live(mut output: File) {
    std::thread::spawn(move || {
        while output.write_all(ALIVE).is_ok() {
            std::thread::sleep(INTERVAL);
        }
    });
}
