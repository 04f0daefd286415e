//! Passes whole frames to and from an interface, bypassing the IP stack (packet(7)).
//!
//! Frames are read from a ring that the kernel shares with this process (TPACKET_V2, the kernel's
//! Documentation/networking/packet_mmap.rst). `net.core.rmem_max` does not limit its memory, each frame has its
//! arrival time, and frames that did not fit are counted.

use crate::error::{Context, Error, Result};
use nix::sys::socket::sockopt::SocketError;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, getsockopt, socket};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// The size of `struct virtio_net_hdr` in bytes, which describes the parts of a frame's checksum and segmentation
/// that are still to be done. Frames here begin with this header, so that work that one interface leaves to the
/// next is still left to it.
pub const OFFLOAD_HEADER_BYTES: usize = 10;
/// A number of bytes that exceeds the kernel's own headers in a slot.
const SLOT_HEADER_BYTES: usize = 96;
/// The size of the kernel's smallest allocation for a ring, in bytes.
const BLOCK_BYTES: usize = 64 << 10;
/// The number of frames passed to the kernel in one call.
pub const BATCH: usize = 64;

/// The packets that a ring receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intake {
    /// Every frame that arrives, whole.
    Arriving,
    /// The first bytes of every frame that arrives or leaves.
    Captured,
    /// Only the length of every IP packet that leaves, after the queue.
    LeavingLengths,
}

/// A ring with the frames of one interface, in the order in which the kernel saw them.
pub struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    length: usize,
    slot_bytes: usize,
    slots_per_block: usize,
    block_bytes: usize,
    slots: usize,
    next: usize,
    /// The number of bytes before each frame.
    lead: usize,
}

// SAFETY: the memory belongs to this value alone; the kernel's side of it is synchronised by each slot's
// status word.
unsafe impl Send for Ring {}

/// A frame in its slot.
pub struct Slot<'a> {
    /// The bytes of the frame that were kept; with `Intake::Arriving` they follow an offload header.
    pub bytes: &'a [u8],
    /// The frame's length on the interface, including the Ethernet header.
    pub length: u32,
    /// True if the whole frame was kept.
    pub whole: bool,
    /// The time at which the kernel received the frame, in nanoseconds since 1970-01-01 UTC.
    pub arrived_unix_ns: u64,
}

impl Ring {
    /// Opens a ring on the interface with this index in the calling thread's namespace, for at least `slots`
    /// frames of up to `largest_frame` bytes.
    pub fn open(interface: i32, intake: Intake, largest_frame: usize, slots: usize) -> Result<Self> {
        let socket = raw_socket()?;
        let (lead, keep) = match intake {
            Intake::Arriving => (OFFLOAD_HEADER_BYTES, largest_frame),
            Intake::Captured => (0, largest_frame),
            Intake::LeavingLengths => (0, 1),
        };
        let slot_bytes = (SLOT_HEADER_BYTES + keep).next_multiple_of(libc::TPACKET_ALIGNMENT);
        let block_bytes = slot_bytes.next_power_of_two().max(BLOCK_BYTES);
        let slots_per_block = block_bytes / slot_bytes;
        let blocks = slots.div_ceil(slots_per_block);
        let length = blocks * block_bytes;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))
            .context("choosing a ring of version 2")?;
        match intake {
            Intake::Arriving => {
                set(&socket, libc::PACKET_VNET_HDR, &1).context("enabling offload headers")?;
                set(&socket, libc::PACKET_IGNORE_OUTGOING, &1).context("leaving out outgoing frames")?;
            }
            Intake::Captured => {}
            Intake::LeavingLengths => keep_lengths_of_packets(&socket)?,
        }
        let request = libc::tpacket_req {
            tp_block_size: u32::try_from(block_bytes)?,
            tp_block_nr: u32::try_from(blocks)?,
            tp_frame_size: u32::try_from(slot_bytes)?,
            tp_frame_nr: u32::try_from(blocks * slots_per_block)?,
        };
        set(&socket, libc::PACKET_RX_RING, &request)
            .with_context(|| format!("creating a ring of {length} bytes for frames"))?;
        // SAFETY: this is a new mapping of the descriptor's ring, of the length that was just set.
        let memory = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), length, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("mapping a ring for frames");
        }
        let memory =
            NonNull::new(memory.cast()).ok_or_else(|| Error::Kernel("mapping a ring for frames".into()))?;
        let slots = blocks * slots_per_block;
        let ring =
            Self { socket, memory, length, slot_bytes, slots_per_block, block_bytes, slots, next: 0, lead };
        bind(&ring.socket, interface, libc::ETH_P_ALL)?;
        Ok(ring)
    }

    fn header(&self) -> NonNull<libc::tpacket2_hdr> {
        let at = self.next / self.slots_per_block * self.block_bytes
            + self.next % self.slots_per_block * self.slot_bytes;
        // SAFETY: `next` is below `slots`, so the slot lies within the mapping.
        unsafe { self.memory.add(at).cast() }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the header's first word, aligned, and both sides access it atomically.
        unsafe { AtomicU32::from_ptr(self.header().as_ptr().cast()) }
    }

    /// Returns the oldest frame that was not released, if there is one.
    pub fn peek(&self) -> Option<Slot<'_>> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot belongs to this process until its status changes, and the kernel has written its
        // header.
        let header = unsafe { self.header().as_ref() };
        let kept = header.tp_snaplen as usize;
        // SAFETY: the kernel put the frame, and the offload header before it, inside the slot.
        let bytes = unsafe {
            let start = self.header().cast::<u8>().add(usize::from(header.tp_mac) - self.lead);
            std::slice::from_raw_parts(start.as_ptr(), self.lead + kept)
        };
        Some(Slot {
            bytes,
            length: header.tp_len,
            whole: header.tp_snaplen == header.tp_len,
            arrived_unix_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
        })
    }

    /// Returns the slot of the oldest frame to the kernel.
    pub fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
    }

    /// Clears the socket's error, such as that its interface went down. Until then every wait for the socket ends
    /// at once.
    pub fn forget_error(&self) {
        // The interface's state shows the cause; here the error only has to be cleared.
        let _ = getsockopt(&self.socket, SocketError);
    }

    /// Returns a second descriptor of the same socket, for [`overflow`].
    pub fn socket(&self) -> Result<OwnedFd> {
        self.socket.try_clone().context("duplicating a socket")
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no slot of it is borrowed any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// Returns the number of frames for which a packet socket's ring, or its receive buffer, had no room since the last call
/// (packet(7), PACKET_STATISTICS).
pub fn overflow(socket: &OwnedFd) -> Result<u64> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&statistics))?;
    // SAFETY: the kernel writes at most `length` bytes into `statistics`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error()).context("reading the statistics of a packet socket");
    }
    Ok(statistics.tp_drops.into())
}

/// An outlet, which sends whole frames through one interface, bypassing its queue.
pub struct Outlet(OwnedFd);

impl Outlet {
    /// Opens an outlet of the interface with this index in the calling thread's namespace.
    pub fn open(interface: i32) -> Result<Self> {
        let socket = raw_socket()?;
        set(&socket, libc::PACKET_VNET_HDR, &1).context("enabling offload headers")?;
        set(&socket, libc::PACKET_QDISC_BYPASS, &1).context("bypassing the queue")?;
        bind(&socket, interface, 0)?;
        Ok(Self(socket))
    }

    /// Clears the socket's error, such as that its interface went down. Until then the socket sends nothing.
    pub fn forget_error(&self) {
        // The interface's state shows the cause; here the error only has to be cleared.
        let _ = getsockopt(&self.0, SocketError);
    }

    /// Sends up to [`BATCH`] frames, each of which follows its offload header. Returns the number of frames that
    /// the kernel refused, because the far end's receive queue is full or does not accept frames of that length.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> u64 {
        let empty = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let mut pieces = [empty; BATCH];
        let mut count = 0;
        for (piece, frame) in pieces.iter_mut().zip(frames) {
            *piece = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            count += 1;
        }
        // SAFETY: an all-zero `mmsghdr` is a valid value of that plain structure.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for (message, piece) in messages.iter_mut().zip(&mut pieces) {
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
        }
        let (mut at, mut refused) = (0, 0);
        while at < count {
            let left = u32::try_from(count - at).expect("a batch is short");
            // SAFETY: each of the `left` messages points to one piece, and each piece to a frame that
            // the caller has borrowed; the kernel only reads them.
            let sent = unsafe { libc::sendmmsg(self.0.as_raw_fd(), &raw mut messages[at], left, 0) };
            match usize::try_from(sent) {
                Ok(sent) => at += sent,
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    refused += 1;
                    at += 1;
                }
            }
        }
        refused
    }
}

fn raw_socket() -> Result<OwnedFd> {
    // Without a protocol the socket receives nothing until it is bound.
    socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)
        .context("opening a packet socket (AF_PACKET)")
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

fn set_at<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).expect("an option is short");
    // SAFETY: `value` is readable for `length` bytes, and each option used here takes its type.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn bind(socket: &OwnedFd, interface: i32, protocol: libc::c_int) -> Result<()> {
    // SAFETY: an all-zero `sockaddr_ll` is a valid value of that plain structure.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET)?;
    address.sll_protocol = u16::try_from(protocol)?.to_be();
    address.sll_ifindex = interface;
    let length = libc::socklen_t::try_from(size_of_val(&address))?;
    // SAFETY: `address` is readable for `length` bytes.
    let status = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()).context("binding a packet socket") }
}

/// Keeps one byte of each IPv4 or IPv6 packet that leaves, and drops all other frames.
fn keep_lengths_of_packets(socket: &OwnedFd) -> Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const KEEP: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let about = |what: libc::c_int| (libc::SKF_AD_OFF + what).cast_unsigned();
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, about(libc::SKF_AD_PKTTYPE), 0, 0),
        step(IF_EQUAL, u32::from(libc::PACKET_OUTGOING), 0, 4),
        step(LOAD, about(libc::SKF_AD_PROTOCOL), 0, 0),
        step(IF_EQUAL, libc::ETH_P_IP.cast_unsigned(), 1, 0),
        step(IF_EQUAL, libc::ETH_P_IPV6.cast_unsigned(), 0, 1),
        step(KEEP, 1, 0, 0),
        step(KEEP, 0, 0, 0),
    ];
    let length = u16::try_from(program.len())?;
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    set_at(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
        .context("setting the filter of a packet socket")
}
