//! Link shaping: HTB for the line rate, pfifo or bfifo for the queue, and their counters.
//!
//! What a packet occupies on the wire is looked up in a table (`wire`), which the kernel applies as it
//! takes the packet into the queue (tc-stab(8)); rates and counters here are those of the wire.

use crate::netlink::{Netlink, attribute};
use crate::wire::{SizeTable, Wire};
use anyhow::Result;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use nettrial_scenario::{QueueLimit, Rate};

/// How much of the rate may pass at once after the link was idle. It must cover the lateness of the
/// kernel's timer, or the rate is not reached.
const BURST_NS: u64 = 200_000;
/// The same in frames, for links so slow that fewer would fit.
const BURST_FRAMES: u64 = 4;
/// The same on routers and switches. Traffic that a host shaped to the rate passes a bucket of the same
/// rate without waiting only if that holds the host's burst and the jitter on the way; each wait costs a
/// timer interrupt, and on a virtual machine those are dear.
const FORWARDER_BURST_NS: u64 = 3 * BURST_NS;

// include/uapi/linux/pkt_sched.h and rtnetlink.h
const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// Nanoseconds of a packet scheduler tick (PSCHED_SHIFT is 6).
const TICK_NS: u64 = 64;

const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
const FIFO: TcHandle = TcHandle { major: 2, minor: 0 };

/// What a queue has passed and dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes sent, as they occupy the wire.
    pub wire_bytes: u64,
    /// Frames sent.
    pub packets: u64,
    /// Frames dropped.
    pub drops: u64,
}

fn message(interface: i32, parent: TcHandle, handle: TcHandle, attributes: &[TcAttribute]) -> TcMessage {
    let mut message = TcMessage::with_index(interface);
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes = attributes.to_vec();
    message
}

fn attributes(kind: &str, options: Vec<u8>) -> Vec<TcAttribute> {
    vec![TcAttribute::Kind(kind.to_owned()), TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, options))]
}

/// `struct tc_htb_glob`: version 3, rate to quantum 10, default class 1.
fn shaper_options() -> Vec<u8> {
    let words: [u32; 5] = [3, 10, 1, 0, 0];
    attribute(TCA_HTB_INIT, &words.map(u32::to_ne_bytes).concat())
}

/// `struct tc_ratespec`; sizes come from the table, so nothing is added to them here.
fn rate_specification(bytes_per_second: u64) -> Vec<u8> {
    let mut bytes = vec![0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    bytes.extend(u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    bytes
}

/// `struct tc_htb_opt` and the 64-bit rates.
fn class_options(rate: Rate, wire: &Wire) -> Vec<u8> {
    let frame = wire.largest_frame();
    let burst_ns = if wire.forwards() { FORWARDER_BURST_NS } else { BURST_NS };
    let bytes_per_second = (rate.0 / 8).max(1);
    let burst = (bytes_per_second * burst_ns / 1_000_000_000).max(BURST_FRAMES * frame);
    let ticks = u32::try_from(burst * 1_000_000_000 / bytes_per_second / TICK_NS).unwrap_or(u32::MAX);
    let quantum = u32::try_from(frame).unwrap_or(u32::MAX);
    let mut options = [rate_specification(bytes_per_second), rate_specification(bytes_per_second)].concat();
    for word in [ticks, ticks, quantum, 0, 0] {
        options.extend(word.to_ne_bytes());
    }
    [
        attribute(TCA_HTB_PARMS, &options),
        attribute(TCA_HTB_RATE64, &bytes_per_second.to_ne_bytes()),
        attribute(TCA_HTB_CEIL64, &bytes_per_second.to_ne_bytes()),
    ]
    .concat()
}

/// `struct tc_sizespec` and its table.
fn size_table_options(table: &SizeTable) -> Vec<u8> {
    let mut base = vec![table.cell_log, table.size_log, 0, 0];
    let length = u32::try_from(table.sizes.len()).expect("a table that fits an attribute");
    for word in [0, u32::from(TC_LINKLAYER_ETHERNET), 0, 0, length] {
        base.extend(word.to_ne_bytes());
    }
    let sizes: Vec<u8> = table.sizes.iter().flat_map(|size| size.to_ne_bytes()).collect();
    [attribute(TCA_STAB_BASE, &base), attribute(TCA_STAB_DATA, &sizes)].concat()
}

/// How an interface is shaped, ready to be asked for: interfaces that are shaped alike share it.
pub struct Shaping {
    rate: Rate,
    limit: QueueLimit,
    shaper: Vec<TcAttribute>,
    class: Vec<TcAttribute>,
    fifo: Vec<TcAttribute>,
}

impl Shaping {
    /// To `rate`, with a queue that holds `limit`.
    pub fn new(rate: Rate, limit: QueueLimit, wire: &Wire) -> Result<Self> {
        let mut shaper = attributes("htb", shaper_options());
        let table = size_table_options(&wire.size_table());
        shaper.push(TcAttribute::Other(DefaultNla::new(TCA_STAB, table)));
        let class = attributes("htb", class_options(rate, wire));
        let (kind, amount) = match limit {
            QueueLimit::Packets(packets) => ("pfifo", packets),
            QueueLimit::Bytes(size) => ("bfifo", u32::try_from(size.0)?),
        };
        let fifo = attributes(kind, amount.to_ne_bytes().to_vec());
        Ok(Self { rate, limit, shaper, class, fifo })
    }

    /// Queues the requests that shape what `interface` (called `object` in errors) sends. Where the interface
    /// is not up yet the kernel need not wait until nobody uses its old queue.
    pub fn apply(&self, netlink: &mut Netlink, (interface, object): (i32, &str)) -> Result<()> {
        let shaper = message(interface, TcHandle::ROOT, SHAPER, &self.shaper);
        netlink.create(
            RouteNetlinkMessage::NewQueueDiscipline(shaper),
            format!("giving {object} a shaper (HTB)"),
        )?;
        let class = message(interface, SHAPER, CLASS, &self.class);
        netlink.create(
            RouteNetlinkMessage::NewTrafficClass(class),
            format!("giving {object} the rate {}", self.rate),
        )?;
        let fifo = message(interface, CLASS, FIFO, &self.fifo);
        netlink.create(
            RouteNetlinkMessage::NewQueueDiscipline(fifo),
            format!("giving {object} a queue of {}", self.limit),
        )
    }
}

/// The counters of every shaped interface of the namespace, by interface index.
pub fn counters(netlink: &mut Netlink) -> Result<Vec<(i32, Counters)>> {
    Ok(shapers(netlink)?.iter().map(|message| (message.header.index, read_counters(message))).collect())
}

/// How long a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// Packets as the kernel counts them: a bundle of segments that is cut after the queue is one.
    pub packets: u32,
    /// Bytes, as they will occupy the wire.
    pub bytes: u32,
}

/// The length of every shaped interface's queue in the namespace, by interface index.
pub fn lengths(netlink: &mut Netlink) -> Result<Vec<(i32, Length)>> {
    let length = |message: &TcMessage| {
        let queue = statistics(message).find_map(|statistic| match statistic {
            TcStats2::Queue(queue) => Some(Length { packets: queue.qlen, bytes: queue.backlog }),
            _ => None,
        });
        (message.header.index, queue.unwrap_or_default())
    };
    Ok(shapers(netlink)?.iter().map(length).collect())
}

fn shapers(netlink: &mut Netlink) -> Result<Vec<TcMessage>> {
    let answers = netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let shapers = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewQueueDiscipline(message) if message.header.handle == SHAPER => Some(message),
        _ => None,
    });
    Ok(shapers.collect())
}

fn statistics(message: &TcMessage) -> impl Iterator<Item = &TcStats2> {
    let lists = message.attributes.iter().filter_map(|attribute| match attribute {
        TcAttribute::Stats2(statistics) => Some(statistics),
        _ => None,
    });
    lists.flatten()
}

fn read_counters(message: &TcMessage) -> Counters {
    let mut counters = Counters::default();
    for statistic in statistics(message) {
        match statistic {
            TcStats2::Basic(basic) => {
                counters.wire_bytes = basic.bytes;
                counters.packets = basic.packets.into();
            }
            TcStats2::Queue(queue) => counters.drops = queue.drops.into(),
            _ => {}
        }
    }
    counters
}
