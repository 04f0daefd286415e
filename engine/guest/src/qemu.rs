//! A guest's machine, which is a process of QEMU.

use crate::archive::{INIT, LIBRARIES};
use crate::catalogue::{Boot, System};
use crate::confined::{self, Identity};
use crate::disk;
use crate::error::{Context, Error, Result};
use crate::lines::{Order, Report};
use crate::monitor::Monitor;
use crate::program::PROGRAM;
use nettrial_admission::{lines, one_line, pieces};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The name of the port over which orders go.
pub const PORT: &str = "nettrial";
/// The number of lines of the console that are kept for an error.
const KEPT_LINES: usize = 30;
/// The version of the agent.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The time for which a guest in a trial may be silent before it is asked for a sign of life, and again before it
/// counts as hanging.
const SILENCE: Duration = Duration::from_secs(15);
/// The time that the last lines of a console may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The largest length of a line of the console, in bytes.
const LONGEST_LINE_BYTES: u64 = 4096;
/// The largest length of a line from or to a guest, in bytes: a record with its intervals and histograms.
pub(crate) const MOST_LINE_BYTES: u64 = 64 << 20;
/// The number of lines from a guest that may wait. A guest that sends more waits itself.
const WAITING_LINES: usize = 4;

/// The way in which a guest's instructions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acceleration {
    /// The machine's own CPUs execute them (KVM).
    Kvm,
    /// Software emulates them (QEMU's TCG).
    Emulation,
}

/// The hardware of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// The number of virtual CPUs.
    pub processors: u32,
    /// The size of the memory, in bytes.
    pub memory_bytes: u64,
    /// The time for which a packet that the guest sends waits for others, in nanoseconds.
    pub coalescing_ns: u64,
    /// The way in which instructions are executed.
    pub acceleration: Acceleration,
}

/// A running guest, whose machine ends when this value is dropped.
pub struct Guest {
    child: Child,
    sender: Sender,
    /// The lines from the guest, locked by their reader; the last one may be the reason why there are no more.
    reports: Arc<Mutex<Receiver<Result<Report, String>>>>,
    console: Console,
    monitor: Arc<Monitor>,
}

/// A sender of lines to a guest.
#[derive(Clone)]
pub struct Sender {
    input: Arc<Mutex<ChildStdin>>,
    console: Console,
}

/// The last lines of a guest's console.
#[derive(Clone)]
struct Console {
    guest: String,
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl Guest {
    /// Starts a guest, which messages call `name`, with these TAP devices as its network devices, and with the
    /// initial RAM disk if the system is a kernel. It is ready when [`Guest::await_ready`] returns.
    ///
    /// # Errors
    /// Fails if QEMU can't be started.
    pub fn start(
        name: &str,
        system: &System,
        initial_ram_disk: &[u8],
        hardware: Hardware,
        taps: &[BorrowedFd],
    ) -> Result<Self> {
        let booted = opened(system, initial_ram_disk)?;
        let (monitor, monitored) = Monitor::pair()?;
        let mut command = Command::new(PROGRAM);
        command.args(confined::sandbox());
        command.args(arguments(hardware, monitored.as_raw_fd(), taps));
        command.args(booting(&system.boot, hardware.acceleration, &booted));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let own = booted.iter().map(AsRawFd::as_raw_fd).chain([monitored.as_raw_fd()]);
        let kept: Vec<RawFd> = taps.iter().map(AsRawFd::as_raw_fd).chain(own).collect();
        let parent = nix::unistd::getpid();
        let identity = Identity::available();
        let prepare = move || {
            for descriptor in &kept {
                // SAFETY: the descriptor is open; the call touches no memory.
                if unsafe { libc::fcntl(*descriptor, libc::F_SETFD, 0) } != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // QEMU opens the pipe to its console by a path.
            identity.take(&[libc::STDERR_FILENO])?;
            // A change of the identity would undo this.
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            if nix::unistd::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
        };
        // SAFETY: between fork and exec it only makes system calls, and allocates no memory.
        unsafe { command.pre_exec(prepare) };
        let mut child = command.spawn().with_context(|| format!("starting {PROGRAM}"))?;
        let input = child.stdin.take().ok_or(Error::NoPipe("to a guest"))?;
        let output = child.stdout.take().ok_or(Error::NoPipe("from a guest"))?;
        let errors = child.stderr.take().ok_or(Error::NoPipe("from a guest's console"))?;
        let console = Console { guest: name.to_owned(), lines: Arc::default() };
        let (reporter, reports) = sync_channel(WAITING_LINES);
        std::thread::spawn(move || read(output, &reporter));
        let watched = console.clone();
        std::thread::spawn(move || watched.watch(errors));
        let sender = Sender { input: Arc::new(Mutex::new(input)), console: console.clone() };
        Ok(Self {
            child,
            sender,
            reports: Arc::new(Mutex::new(reports)),
            console,
            monitor: Arc::new(monitor),
        })
    }

    /// Waits for at most `patience` until the guest is ready; returns the kernel's release as the guest reports
    /// it.
    ///
    /// # Errors
    /// Fails if the machine ends or is not ready in time, with the last lines of its console; or if the guest's
    /// agent has another version, as one in a disk's image may have.
    pub fn await_ready(&mut self, patience: Duration) -> Result<String> {
        let report = self.next(patience)?;
        let guest = &self.console.guest;
        match report {
            Report::Ready { version, kernel } if version == VERSION => Ok(one_line(&kernel)),
            Report::Ready { version, .. } => {
                Err(Error::OtherVersion { guest: guest.clone(), there: one_line(&version), here: VERSION })
            }
            _ => Err(Error::NotReady(guest.clone())),
        }
    }

    /// Binds each virtual CPU to one of this machine's CPUs, in their order, or to all that this process may use
    /// if none is given.
    ///
    /// # Errors
    /// Fails if a CPU can't be used.
    pub fn pin(&self, processors: &[usize]) -> Result<()> {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let all = sched_getaffinity(Pid::from_raw(0)).context("reading the usable CPUs")?;
        for entry in fs::read_dir(&tasks).context("listing the threads of a guest")?.filter_map(Result::ok) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            // The names are such as "CPU 0/KVM", or "ALL CPUs/TCG" if one thread emulates all of them.
            let Some(number) = name.strip_prefix("CPU ").and_then(|rest| rest.split('/').next()) else {
                continue;
            };
            let mut set = all;
            if let Some(processor) = number.parse().ok().and_then(|number: usize| processors.get(number)) {
                set = CpuSet::new();
                set.set(*processor)?;
            }
            let task = entry.file_name().to_string_lossy().parse().context("the number of a thread")?;
            sched_setaffinity(Pid::from_raw(task), &set)
                .with_context(|| format!("binding virtual CPU {number} of a guest"))?;
        }
        Ok(())
    }

    /// Returns the monitor of the guest's machine.
    pub fn monitor(&self) -> Arc<Monitor> {
        Arc::clone(&self.monitor)
    }

    /// Returns the next line from the guest, and waits for it for at most `patience`.
    ///
    /// # Errors
    /// Fails if the machine ends, or sends nothing in time; the error has the last lines of its console.
    pub fn next(&mut self, patience: Duration) -> Result<Report> {
        let report = locked(&self.reports).recv_timeout(patience);
        match report {
            Ok(report) => report.map_err(|why| self.console.lost(&why)),
            Err(RecvTimeoutError::Timeout) => Err(self.console.silent()),
            Err(RecvTimeoutError::Disconnected) => Err(self.console.lost("is gone")),
        }
    }

    /// Starts a thread that passes the lines from the guest to `take` until it returns false. If the machine ends,
    /// or if the guest does not answer any more, `take` gets the reason, and nothing afterwards.
    pub fn listen(&self, mut take: impl FnMut(Result<Report, String>) -> bool + Send + 'static) {
        let (reports, console) = (Arc::clone(&self.reports), self.console.clone());
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let reports = locked(&reports);
            let mut is_asked = false;
            loop {
                let why = match reports.recv_timeout(SILENCE) {
                    Ok(Ok(Report::Alive)) => {
                        is_asked = false;
                        continue;
                    }
                    Ok(Ok(report)) => {
                        if take(Ok(report)) {
                            continue;
                        }
                        return;
                    }
                    Err(RecvTimeoutError::Timeout) if !is_asked => {
                        is_asked = sender.send(&Order::Answer).is_ok();
                        continue;
                    }
                    Ok(Err(why)) => why,
                    Err(RecvTimeoutError::Timeout) => "hangs".to_owned(),
                    Err(RecvTimeoutError::Disconnected) => "is gone".to_owned(),
                };
                take(Err(console.lost(&why).to_string()));
                return;
            }
        });
    }

    /// Sends the guest a line.
    ///
    /// # Errors
    /// Fails if its machine has ended.
    pub fn send(&self, order: &Order) -> Result<()> {
        self.sender.send(order)
    }

    /// Returns a sender, which shares the guest's input.
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// Returns false if the machine has ended.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the ID of the machine's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Sender {
    /// Sends the guest a line.
    ///
    /// # Errors
    /// Fails if its machine has ended.
    pub fn send(&self, order: &Order) -> Result<()> {
        locked(&self.input).write_all(order.encode().as_bytes()).map_err(|_| self.console.lost("is gone"))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // An error means that the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads lines until there are no more, or until one is not of the protocol.
fn read(output: impl Read, reporter: &SyncSender<Result<Report, String>>) {
    for line in lines(BufReader::new(output), MOST_LINE_BYTES) {
        let report = line.map_err(|error| format!("sent {error}")).and_then(|line| {
            Report::decode(&line)
                .ok_or_else(|| format!("sent a line that is not of the protocol: {}", one_line(&line)))
        });
        let is_last = report.is_err();
        if reporter.send(report).is_err() || is_last {
            break;
        }
    }
}

impl Console {
    /// Logs the lines of a console, and keeps the last of them.
    fn watch(&self, errors: impl Read) {
        for line in pieces(BufReader::new(errors), LONGEST_LINE_BYTES) {
            let text: String = line.chars().filter(|letter| !letter.is_control()).collect();
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            tracing::info!(guest = self.guest, console = true, "{text}");
            let mut kept = locked(&self.lines);
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(text.to_owned());
        }
    }

    /// Returns the error of a guest that can't be used any more, with its last lines.
    fn lost(&self, how: &str) -> Error {
        Error::Lost { guest: self.guest.clone(), how: how.to_owned(), said: self.last_words() }
    }

    /// Returns the error of a guest that does not answer, with its last lines.
    fn silent(&self) -> Error {
        Error::Silent { guest: self.guest.clone(), said: self.last_words() }
    }

    /// Returns the last lines of the console.
    fn last_words(&self) -> String {
        // They may not have arrived yet.
        std::thread::sleep(LAST_WORDS);
        let lines: Vec<String> = locked(&self.lines).iter().cloned().collect();
        if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n  ") }
    }
}

/// Opens the files that a machine boots, which QEMU may not open itself: the kernel and the initial RAM disk, or the
/// disk's image.
///
/// # Errors
/// Fails if a file can't be read, or if the image has references to other files.
fn opened(system: &System, initial_ram_disk: &[u8]) -> Result<Vec<File>> {
    match &system.boot {
        Boot::Kernel { image, .. } => {
            let ram_disk = confined::in_memory(&mut &initial_ram_disk[..]).context("writing a RAM disk")?;
            Ok(vec![confined::copied(image)?, ram_disk])
        }
        Boot::Disk { image, format } => {
            let file = File::open(image).with_context(|| format!("opening {}", image.display()))?;
            disk::refuse_references(&file, format).with_context(|| {
                format!("the disk of {}, {}, can't be used", system.name, image.display())
            })?;
            Ok(vec![file])
        }
    }
}

/// Returns QEMU's arguments about the kernel or disk that the machine boots, whose files are `opened`.
fn booting(boot: &Boot, acceleration: Acceleration, opened: &[File]) -> Vec<String> {
    match boot {
        Boot::Kernel { .. } => {
            let timers = match acceleration {
                Acceleration::Kvm => "clocksource=kvm-clock",
                // The guest would calibrate the TSC against a timer that emulation delivers late, whereas the HPET
                // is QEMU's own. On a busy machine the kernel would mistake late interrupts for a broken timer,
                // and panic.
                Acceleration::Emulation => "clocksource=hpet no_timer_check",
            };
            let console = "console=ttyS0 quiet panic=-1 reboot=t";
            let init = format!("LD_LIBRARY_PATH={LIBRARIES} rdinit={INIT} -- guest init");
            let line = format!("{console} {timers} {init}");
            let options = ["-kernel", "-initrd"].into_iter().map(str::to_owned);
            let paths = opened.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
            let files = options.zip(paths).flat_map(|(option, path)| [option, path]);
            files.chain(["-append".to_owned(), line]).collect()
        }
        // The guest's writes go to a file without a name, which disappears with the guest.
        Boot::Disk { format, .. } => {
            let sets = opened.iter().map(|file| format!("fd={},set=1", file.as_raw_fd()));
            let files = sets.flat_map(|set| ["-add-fd".to_owned(), set]);
            let drive = format!("file=/dev/fdset/1,format={format},if=ide,snapshot=on");
            files.chain(["-drive".into(), drive, "-vga".into(), "std".into()]).collect()
        }
    }
}

/// Returns QEMU's other arguments.
fn arguments(hardware: Hardware, monitor: RawFd, taps: &[BorrowedFd]) -> Vec<String> {
    let (machine, processor) = match hardware.acceleration {
        Acceleration::Kvm => ("pc,accel=kvm", Some("host")),
        Acceleration::Emulation => ("pc,accel=tcg", None),
    };
    let mut words: Vec<String> = [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-machine",
        machine,
        // Threads get names, by which virtual CPUs are found.
        "-name",
        "guest=nettrial,debug-threads=on",
        "-smp",
        &hardware.processors.to_string(),
        "-m",
        &format!("{}K", hardware.memory_bytes / 1024),
        "-chardev",
        "stdio,id=orders,signal=off",
        "-device",
        "virtio-serial-pci",
        "-device",
        &format!("virtserialport,chardev=orders,name={PORT}"),
        // The console goes to QEMU's standard error, together with QEMU's own messages.
        "-chardev",
        "file,id=console,path=/proc/self/fd/2",
        "-serial",
        "chardev:console",
        "-chardev",
        &format!("socket,id=monitor,fd={monitor}"),
        "-mon",
        "chardev=monitor,mode=control",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(processor.iter().flat_map(|model| ["-cpu".to_owned(), (*model).to_owned()]));
    for (number, tap) in taps.iter().enumerate() {
        words.extend(["-netdev".to_owned(), format!("tap,id=net{number},fd={}", tap.as_raw_fd())]);
        let address = format!("mac=52:54:00:00:00:{number:02x}");
        let waits = match hardware.coalescing_ns {
            0 => String::new(),
            time => format!(",tx=timer,x-txtimer={time}"),
        };
        let device = format!("virtio-net-pci,netdev=net{number},romfile=,{address}{waits}");
        words.extend(["-device".to_owned(), device]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::chain;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    const HARDWARE: Hardware = Hardware {
        processors: 1,
        memory_bytes: 64 << 20,
        coalescing_ns: 0,
        acceleration: Acceleration::Emulation,
    };
    /// A boot sector that writes its text to the first serial port and halts.
    const SECTOR: &[u8] =
        b"\x31\xc0\x8e\xd8\xbe\x16\x7c\xba\xf8\x03\xac\x84\xc0\x74\x03\xee\xeb\xf8\xfa\xf4\xeb\xfd\
        the sector runs\r\n\0";
    const CLUSTER: usize = 1 << 16;

    /// Returns a directory for a test, which only this user may read.
    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("nettrial-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        directory
    }

    /// Returns a disk that starts with the sector.
    fn disk() -> Vec<u8> {
        let mut disk = SECTOR.to_vec();
        disk.resize(510, 0);
        disk.extend(b"\x55\xaa");
        disk.resize(CLUSTER, 0);
        disk
    }

    /// Returns a disk as an image of the format qcow2, version 2: the header, the two levels of the table of
    /// clusters, the two levels of the table of references, and the disk's only cluster.
    fn qcow2(disk: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 5 * CLUSTER];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, b"QFI\xfb\0\0\0\x02");
        put(20, &16_u32.to_be_bytes());
        put(24, &(CLUSTER as u64).to_be_bytes());
        put(36, &1_u32.to_be_bytes());
        put(40, &(CLUSTER as u64).to_be_bytes());
        put(48, &(3 * CLUSTER as u64).to_be_bytes());
        put(56, &1_u32.to_be_bytes());
        for (table, cluster, copied) in [(1, 2, 1_u64 << 63), (2, 5, 1 << 63), (3, 4, 0)] {
            put(table * CLUSTER, &(copied | (cluster * CLUSTER) as u64).to_be_bytes());
        }
        put(4 * CLUSTER, &[0, 1].repeat(6));
        [image, disk.to_vec()].concat()
    }

    /// Returns the lines that are read of an output, with the reason why there are no more.
    fn reported(output: impl Read + Send + 'static) -> Vec<Result<Report, String>> {
        let (reporter, reports) = sync_channel(WAITING_LINES);
        std::thread::spawn(move || read(output, &reporter));
        reports.iter().collect()
    }

    #[test]
    fn a_guest_that_sends_a_line_without_end_is_refused() {
        let why = format!("sent a line of more than {MOST_LINE_BYTES} bytes");
        assert_eq!(reported(b"?\n".chain(io::repeat(b'<'))), [Ok(Report::Alive), Err(why)]);
        let why = "sent a line that is not of the protocol: login:".to_owned();
        assert_eq!(reported(&b"login:\n?\n"[..]), [Err(why)]);
    }

    #[test]
    fn a_guest_that_sends_lines_without_end_waits_until_they_are_taken() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        struct Endless(Arc<AtomicUsize>);
        impl Read for Endless {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.0.fetch_add(1, Ordering::Relaxed);
                let line = vec![b'<'; bytes.len() - 1];
                bytes[..line.len()].copy_from_slice(&line);
                bytes[line.len()] = b'\n';
                Ok(bytes.len())
            }
        }
        let (reporter, reports) = sync_channel(WAITING_LINES);
        let reads = Arc::new(AtomicUsize::new(0));
        let output = Endless(Arc::clone(&reads));
        let reader = std::thread::spawn(move || read(output, &reporter));
        std::thread::sleep(Duration::from_millis(200));
        assert!(reads.load(Ordering::Relaxed) <= WAITING_LINES + 2);
        assert!(reports.iter().take(10).all(|report| matches!(report, Ok(Report::Line(_)))));
        drop(reports);
        reader.join().unwrap();
    }

    #[test]
    fn a_machine_that_ends_is_reported_with_its_console() {
        let Some(_) = crate::program::program() else { return };
        let directory = directory("no-kernel");
        let image = directory.join("kernel");
        fs::write(&image, "no kernel").unwrap();
        let modules = "/nonexistent/modules".into();
        let boot = Boot::Kernel { release: "0".into(), image, modules };
        let system = System { name: "none".into(), boot };
        let mut guest = Guest::start("a", &system, b"", HARDWARE, &[]).unwrap();
        let error = guest.await_ready(Duration::from_secs(300)).unwrap_err().to_string();
        assert!(error.starts_with("the guest a is gone") && error.contains("too old"), "{error}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn disks_start_under_a_machine_that_can_do_nothing_else() {
        let Some(_) = crate::program::program() else { return };
        let directory = directory("disks");
        for (format, contents) in [("raw", disk()), ("qcow2", qcow2(&disk()))] {
            let image = directory.join(format);
            fs::write(&image, contents).unwrap();
            fs::set_permissions(&image, Permissions::from_mode(0o600)).unwrap();
            let boot = Boot::Disk { image, format: format.into() };
            let system = System { name: "own".into(), boot };
            let guest = Guest::start("a", &system, b"", HARDWARE, &[]).unwrap();
            let deadline = Instant::now() + Duration::from_secs(600);
            while !locked(&guest.console.lines).iter().any(|line| line.contains("the sector runs")) {
                let lines = locked(&guest.console.lines).clone();
                assert!(Instant::now() < deadline, "{format}: {lines:?}");
                std::thread::sleep(Duration::from_millis(50));
            }
            let status = fs::read_to_string(format!("/proc/{}/status", guest.process())).unwrap();
            let has = |line: &str| status.lines().any(|found| found == line);
            let no_capabilities = "CapEff:\t0000000000000000";
            assert!(has("Seccomp:\t2") && has("NoNewPrivs:\t1") && has(no_capabilities), "{status}");
            if matches!(Identity::available(), Identity::Nobody { .. }) {
                for line in ["Uid:\t65534\t65534\t65534\t65534", "Gid:\t65534\t65534\t65534\t65534"] {
                    assert!(has(line), "{status}");
                }
            }
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_disk_whose_data_are_in_another_file_is_not_started() {
        let directory = directory("references");
        let mut contents = qcow2(&disk());
        contents[72..80].copy_from_slice(b"DATA\0\0\0\x0b");
        contents[80..91].copy_from_slice(b"/etc/shadow");
        let image = directory.join("image");
        fs::write(&image, contents).unwrap();
        let boot = Boot::Disk { image, format: "qcow2".into() };
        let system = System { name: "own".into(), boot };
        let error = Guest::start("a", &system, b"", HARDWARE, &[]).err().unwrap();
        assert!(chain(&error).ends_with("can't be used: its data are in another file"), "{error:?}");
        fs::remove_dir_all(directory).unwrap();
    }
}
