//! Init, the first process of a guest. It mounts the kernel's file systems, loads the modules, and passes lines
//! between the guest's owner and the process of a trial's node.

use crate::archive::{MODULES, MOUNTS};
use crate::error::{Context, Error, Result};
use crate::lines::{Order, Report};
use crate::qemu::{MOST_LINE_BYTES, PORT};
use nettrial_admission::lines;
use nix::mount::{MsFlags, mount};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time that devices may take to appear.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time that a node may take to return its devices.
const RETURNING: Duration = Duration::from_secs(5);
/// The interval between two attempts.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Runs as the first process of a guest. Nodes are this program with these `arguments`. Returns only if the guest
/// has no reason to continue; its machine ends then.
///
/// # Errors
/// Fails if a file system can't be mounted, if the modules can't be read, or if no port leads to the guest's
/// owner.
pub fn init(arguments: &[&str]) -> Result<()> {
    let done = boot().and_then(|()| serve(arguments));
    if let Err(error) = &done {
        eprintln!("nettrial: {}", nettrial_scenario::chain(error));
    }
    // SAFETY: the call accesses no memory. This is the first process of its machine, so nothing else ends.
    unsafe { libc::reboot(libc::RB_AUTOBOOT) };
    done
}

/// Mounts the kernel's file systems and loads the modules.
fn boot() -> Result<()> {
    for (place, kind) in MOUNTS.into_iter().zip(["devtmpfs", "proc", "sysfs", "tmpfs"]) {
        mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>)
            .with_context(|| format!("mounting {place}"))?;
    }
    load_modules()
}

/// Runs as a guest's agent on a system with its own init, such as that of a disk's image. Nodes are this program
/// with these `arguments`. Returns only on an error.
///
/// # Errors
/// Fails if no port leads to the guest's owner, or if a node can't be started.
pub fn serve(arguments: &[&str]) -> Result<()> {
    let port = OpenOptions::new().read(true).write(true).open(port()?).context("opening the port")?;
    let output = Arc::new(Mutex::new(port.try_clone().context("opening the port")?));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").context("reading the kernel's release")?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    tell(&output, &Report::Ready { version, kernel: kernel.trim().to_owned() });
    let mut node = None;
    for line in lines(BufReader::new(Port(port)), MOST_LINE_BYTES) {
        match Order::decode(&line.context("reading the port")?) {
            Some(Order::Begin(line)) => node = Some(Node::start(arguments, &line, &output)?),
            Some(Order::Line(line)) => node.iter_mut().for_each(|node: &mut Node| node.line(&line)),
            Some(Order::End) => {
                // A guest without its devices is of no use to another trial: its owner hears nothing, and ends it.
                if node.take().is_none_or(Node::end) {
                    tell(&output, &Report::Ended);
                }
            }
            Some(Order::Answer) => tell(&output, &Report::Alive),
            None => return Err(Error::Order("the port sent an invalid order")),
        }
    }
    Ok(())
}

/// Loads all modules of the initial RAM disk.
fn load_modules() -> Result<()> {
    let mut files: Vec<PathBuf> = match fs::read_dir(MODULES) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        // The kernel has all of them built in.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).context("reading the list of modules"),
    };
    files.sort();
    for path in files {
        let file = File::open(&path).with_context(|| format!("opening {}", path.display()))?;
        // SAFETY: the descriptor is open, and the parameters are a string that ends with a zero.
        let status = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        let error = io::Error::last_os_error();
        // A congestion control whose dependencies are missing, or one that is loaded already, does no harm.
        if status != 0 {
            eprintln!("nettrial: loading {}: {error}", path.display());
        }
    }
    Ok(())
}

/// Returns the device of the port to the guest's owner.
fn port() -> Result<PathBuf> {
    let named = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path().join("name")).is_ok_and(|name| name.trim() == PORT)
    };
    await_some("no port leads to the guest's owner", || {
        let entries = fs::read_dir("/sys/class/virtio-ports").ok()?;
        let port = entries.filter_map(Result::ok).find(named)?;
        Some(Path::new("/dev").join(port.file_name()))
    })
}

/// Waits until there are `count` network devices with a driver in the namespace of init, to which those of an
/// earlier trial return. Returns their names in the machine's order.
///
/// # Errors
/// Fails if there are fewer for too long.
pub fn network_devices(count: usize) -> Result<Vec<String>> {
    await_some(&format!("there are no {count} network devices"), || {
        let entries = fs::read_dir("/sys/class/net").ok()?.filter_map(Result::ok);
        let mut devices: Vec<(PathBuf, String)> = entries
            .filter_map(|entry| {
                Some((fs::canonicalize(entry.path().join("device")).ok()?, entry.file_name()))
            })
            .filter_map(|(device, name)| Some((device, name.into_string().ok()?)))
            .collect();
        devices.sort();
        (devices.len() == count).then(|| devices.into_iter().map(|(_, name)| name).collect())
    })
}

fn await_some<T>(otherwise: &str, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match look() {
            Some(value) => return Ok(value),
            None if Instant::now() > deadline => return Err(Error::Absent(otherwise.to_owned())),
            None => std::thread::sleep(LOOK_AGAIN),
        }
    }
}

/// The port as an input. As long as the other side has not opened it, reading it returns the end of the input
/// (drivers/char/virtio_console.c, port_fops_read).
struct Port(File);

impl Read for Port {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer)? {
                0 => std::thread::sleep(LOOK_AGAIN),
                length => return Ok(length),
            }
        }
    }
}

fn tell(output: &Mutex<File>, report: &Report) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    // If this fails, the reader is gone, and the machine ends with it.
    let _ = output.write_all(report.encode().as_bytes());
}

/// The process of a trial's node, which ends when this value is dropped.
struct Node {
    child: Child,
    /// Absent once the node is to end.
    input: Option<ChildStdin>,
    reader: Option<JoinHandle<()>>,
}

impl Node {
    fn start(arguments: &[&str], line: &str, output: &Arc<Mutex<File>>) -> Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting the node")?;
        let input = Some(child.stdin.take().ok_or(Error::NoPipe("to the node"))?);
        let printed = BufReader::new(child.stdout.take().ok_or(Error::NoPipe("from the node"))?);
        let output = Arc::clone(output);
        let reader = std::thread::spawn(move || {
            for line in lines(printed, MOST_LINE_BYTES) {
                match line {
                    Ok(line) => tell(&output, &Report::Line(line)),
                    Err(error) => eprintln!("nettrial: the node sent {error}"),
                }
            }
        });
        let mut node = Self { child, input, reader: Some(reader) };
        node.line(line);
        Ok(node)
    }

    fn line(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // The silence of a node, and its console, show that it is gone.
            let _ = writeln!(input, "{line}");
        }
    }

    /// Ends the node's input, after which it returns its devices. Returns true if it has done so.
    fn end(mut self) -> bool {
        drop(self.input.take());
        let deadline = Instant::now() + RETURNING;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
                _ => return false,
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
