//! Hosts with their own kernels: guests, each of which is connected to its node's interfaces by TAP devices.
//!
//! ```text
//! node's namespace:  veth (shaped, delayed, captured as any host's) ── bridge ── TAP ── QEMU ── the guest's interface
//! ```
//!
//! The guest has the addresses, routes and TCP settings, and its node's namespace has none. A guest that is not in
//! use is kept for the next trial that needs the same system and hardware. A trial's node is a process in its own
//! network namespace inside the guest, so no part of a trial remains there.

mod carried;
mod preflight;
mod trial;

use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::tap::Tap;
use carried::Carried;
use nettrial_guest::{Acceleration, Boot, Catalogue, Guest, Hardware, System, initial_ram_disk, program};
use nettrial_scenario::{Node, Scenario, chain};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::fd::BorrowedFd;
use std::time::Duration;
pub use trial::Running;

/// The time that a guest may take to boot: software emulation on a busy machine takes half a minute.
const BOOT: Duration = Duration::from_secs(180);
/// The time that a guest may take to boot in an attempt to use KVM.
const TRY: Duration = Duration::from_secs(30);
/// The largest number of guests that are kept for later trials. Each has hundreds of megabytes of memory.
const KEPT: usize = 4;

/// All guests of a session, and the systems that are installed.
pub struct Guests {
    catalogue: Catalogue,
    disks: HashMap<String, Vec<u8>>,
    free: Vec<Kept>,
    acceleration: Option<Acceleration>,
    /// The measured rate of emulated guests; absent until it is first needed.
    carried: Option<Carried>,
    /// The number of calibration transfers that this session may still make.
    calibrations: u32,
    /// The number of TAP devices created so far.
    taps: usize,
}

/// A guest with the devices that connect it to networks.
struct Kept {
    key: Key,
    guest: Guest,
    taps: Vec<Tap>,
    /// The release of the guest's kernel; empty until the guest is ready.
    kernel: String,
    /// The release with which the kernel was added; absent for an installed system.
    expected: Option<String>,
}

/// The properties that decide whether a guest can be a node.
#[derive(PartialEq, Eq)]
struct Key {
    system: String,
    hardware: Hardware,
    devices: usize,
}

impl Guests {
    /// Creates a session without guests.
    pub fn new() -> Self {
        Self {
            catalogue: Catalogue::of_environment(),
            disks: HashMap::new(),
            free: Vec::new(),
            acceleration: None,
            carried: None,
            calibrations: carried::ATTEMPTS,
            taps: 0,
        }
    }

    /// Takes a guest for each node of the layout that is one: guests that were kept, and new ones that have
    /// booted.
    ///
    /// # Errors
    /// Fails if a guest does not boot; the error has the last lines of its console.
    pub fn take(&mut self, layout: &Layout) -> Result<Running<'_>> {
        let mut guests = Vec::new();
        self.free.retain_mut(|kept| kept.guest.is_alive());
        for node in layout.scenario.nodes.iter().filter(|node| node.system.is_some()) {
            let key = self.key(layout.scenario, node)?;
            let kept = match self.free.iter().position(|kept| kept.key == key) {
                Some(place) => self.free.remove(place),
                None => {
                    self.start(node, key).with_context(|| format!("starting the guest of {}", node.name))?
                }
            };
            guests.push((node.name.clone(), kept));
        }
        // All guests boot at the same time.
        for (node, kept) in guests.iter_mut().filter(|(_, kept)| kept.kernel.is_empty()) {
            tracing::info!(node, system = kept.key.system, "waiting for a guest to boot");
            kept.kernel =
                kept.guest.await_ready(BOOT).with_context(|| format!("booting the guest of {node}"))?;
            tracing::info!(node, kernel = kept.kernel, "the guest is ready");
        }
        for (name, kept) in &guests {
            let node =
                layout.directory.node(name).ok_or_else(|| Error::Missing(format!("no node {name}")))?;
            let pinned: Vec<usize> = node.guest.pinned.iter().map(|number| *number as usize).collect();
            kept.guest.pin(&pinned).with_context(|| format!("preparing the guest of {name}"))?;
        }
        Ok(Running::new(self, guests))
    }

    /// Keeps a guest for later trials.
    fn keep(&mut self, kept: Kept) {
        self.free.push(kept);
        if self.free.len() > KEPT {
            drop(self.free.remove(0));
        }
    }

    fn key(&mut self, scenario: &Scenario, node: &Node) -> Result<Key> {
        let system = node.system.clone().ok_or_else(|| Error::Missing("a node without a system".into()))?;
        let interfaces = scenario.links.iter().flat_map(|link| &link.interfaces);
        let devices = interfaces.filter(|interface| interface.node == node.name).count();
        Ok(Key { system, hardware: self.hardware(node), devices })
    }

    fn hardware(&mut self, node: &Node) -> Hardware {
        Hardware {
            processors: node.guest.processors,
            memory_bytes: node.guest.memory.0,
            coalescing_ns: node.guest.coalescing.0,
            acceleration: self.acceleration(),
        }
    }

    fn start(&mut self, node: &Node, key: Key) -> Result<Kept> {
        let system = self.system(&key.system)?;
        let first = self.taps;
        self.taps += key.devices;
        let taps = (first..self.taps).map(|number| Tap::create(&format!("tap{number}")));
        let taps = taps.collect::<Result<Vec<_>>>().context("creating the network devices of a guest")?;
        let files: Vec<BorrowedFd> = taps.iter().map(Tap::file).collect();
        let guest = Guest::start(&node.name, &system, self.disk(&system)?, key.hardware, &files)?;
        let expected = match system.boot {
            Boot::Kernel { release, .. } => Some(release),
            Boot::Disk { .. } => None,
        };
        Ok(Kept { key, guest, taps, kernel: String::new(), expected })
    }

    fn system(&self, name: &str) -> Result<System> {
        self.catalogue.get(name)?.ok_or_else(|| Error::Missing(format!("there is no system {name}")))
    }

    /// Returns the initial RAM disk of a system; empty if the system boots from its own disk.
    fn disk(&mut self, system: &System) -> Result<&[u8]> {
        if !self.disks.contains_key(&system.name) {
            let disk = match &system.boot {
                Boot::Kernel { modules, .. } => initial_ram_disk(modules)?,
                Boot::Disk { .. } => Vec::new(),
            };
            self.disks.insert(system.name.clone(), disk);
        }
        Ok(&self.disks[&system.name])
    }

    /// Returns the way in which this machine runs guests, found by starting one, because the device /dev/kvm does
    /// not guarantee that stock kernels start with it.
    pub fn acceleration(&mut self) -> Acceleration {
        if let Some(known) = self.acceleration {
            return known;
        }
        let available = match self.try_kvm() {
            Ok(()) => Acceleration::Kvm,
            Err(error) => {
                tracing::info!("guests are emulated, because KVM is not available: {}", chain(&error));
                Acceleration::Emulation
            }
        };
        *self.acceleration.insert(available)
    }

    fn try_kvm(&mut self) -> Result<()> {
        OpenOptions::new().read(true).write(true).open("/dev/kvm").context("opening /dev/kvm")?;
        program().ok_or_else(|| Error::Unsupported("QEMU is not installed".into()))?;
        let systems = self.catalogue.names().into_iter().filter_map(|name| self.system(&name).ok());
        // A kernel boots faster than an installed system.
        let system = systems.min_by_key(|system| matches!(system.boot, Boot::Disk { .. }));
        let system =
            system.ok_or_else(|| Error::Unsupported("no system is installed to try it with".into()))?;
        let acceleration = Acceleration::Kvm;
        let hardware = Hardware { processors: 1, memory_bytes: 512 << 20, coalescing_ns: 0, acceleration };
        let mut guest = Guest::start("of a try", &system, self.disk(&system)?, hardware, &[])?;
        Ok(guest.await_ready(TRY).map(|_| ())?)
    }
}
