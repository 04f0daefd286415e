//! Holds the frames of a station's sockets for as long as they are at the station.
//!
//! The kernel frees a frame, and informs its socket that it has left, as soon as nothing refers to it any more.
//! The channel has copies. Therefore the frames themselves go into the queue of a macvtap on the inner end, where
//! they are still charged to their sockets (skb_scrub_packet preserves that across namespaces since Linux 4.19,
//! and tap_handle_frame queues them unchanged). As many frames are read from there and dropped as have left the
//! station in the medium. Both are in the order of the interface.

use crate::error::{Context, Error, Result};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVtap, LinkAttribute, LinkInfo, LinkMessage, MacVtapMode,
};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

/// The number of frames that the queue holds.
const LENGTH: u32 = 4096;

/// The queue that holds a station's frames.
pub struct Held {
    queue: File,
    pkts: u64,
}

/// Returns a request for a macvtap with this index on the interface `lower` of the same namespace.
pub fn tap(index: i32, lower: i32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.attributes = vec![
        LinkAttribute::IfName(name(index)),
        LinkAttribute::Link(lower.unsigned_abs()),
        LinkAttribute::TxQueueLen(LENGTH),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::MacVtap),
            LinkInfo::Data(InfoData::MacVtap(vec![InfoMacVtap::Mode(MacVtapMode::Passthrough)])),
        ]),
    ];
    message
}

fn name(index: i32) -> String {
    format!("tap{index}")
}

impl Held {
    /// Opens the queue of the macvtap with this index in the calling thread's namespace. The necessary device file
    /// is created in a file system that nobody else sees and that is gone afterwards.
    ///
    /// # Errors
    /// Fails if the process may not create device files.
    pub fn open(index: i32) -> Result<Self> {
        // Only a sysfs mounted from within the namespace shows the namespace's interfaces.
        let nowhere = None::<&str>;
        mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nowhere).context("mounting /sys")?;
        let number =
            fs::read_to_string(format!("/sys/class/net/{name}/macvtap/tap{index}/dev", name = name(index)));
        umount2("/sys", MntFlags::MNT_DETACH).context("unmounting /sys")?;
        let number = number.context("finding the device of a macvtap")?;
        let parts = number
            .trim()
            .split_once(':')
            .and_then(|(major, minor)| Some(makedev(major.parse().ok()?, minor.parse().ok()?)));
        let device = parts.ok_or_else(|| Error::Kernel(format!("{number:?} is not a device number")))?;
        mount(Some("tmpfs"), "/sys", Some("tmpfs"), MsFlags::empty(), nowhere).context("mounting a tmpfs")?;
        let opened = mknod("/sys/tap", SFlag::S_IFCHR, Mode::S_IRUSR | Mode::S_IWUSR, device)
            .context("creating a device file")
            .and_then(|()| {
                let mut options = OpenOptions::new();
                options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
                options.open("/sys/tap").context("opening the device of a macvtap")
            });
        umount2("/sys", MntFlags::MNT_DETACH).context("unmounting a tmpfs")?;
        Ok(Self { queue: opened?, pkts: 0 })
    }

    /// Notes another frame.
    pub fn add(&mut self) {
        self.pkts += 1;
    }

    /// Drops the oldest frames until `pkts` are left. A frame that the kernel has not queued yet is dropped at the
    /// next call.
    pub fn keep(&mut self, pkts: u64) {
        // The rest of the frame, which does not fit, is cut off.
        let mut start = [0; 64];
        while self.pkts > pkts && self.queue.read(&mut start).is_ok() {
            self.pkts -= 1;
        }
    }
}
