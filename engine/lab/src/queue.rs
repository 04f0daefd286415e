//! Shapes links: HTB for the line rate, in it the discipline of the queue; and reads their counters. In virtual time the
//! shaper is an exact wire, the qdisc `wire` of that kernel (kernel/net/wire.c).
//!
//! The kernel looks up the number of bytes that a packet occupies on the wire in a table (`wire`) when it puts the
//! packet into the queue (tc-stab(8)). Rates and counters here are those on the wire.

pub mod discipline;
mod traced;

use crate::bucket::Bucket;
use crate::error::Result;
use crate::wire::{SizeTable, Wire};
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use nettrial_netlink::{Netlink, attribute};
use nettrial_scenario::{Discipline, QueueLimit, Rate};
pub use traced::{Steps, TracedWire};

// include/uapi/linux/pkt_sched.h and rtnetlink.h
const TCA_OPTIONS: u16 = 2;
/// The flag of an attribute that consists of attributes (include/uapi/linux/netlink.h).
const NLA_F_NESTED: u16 = 1 << 15;
const TCA_STAB: u16 = 8;
const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_INIT: u16 = 2;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// The length of a packet scheduler tick, in nanoseconds (PSCHED_SHIFT is 6).
const TICK_NS: u64 = 64;

/// The handle of the shaper (the qdisc htb) of an interface.
const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };
/// The handle of the shaper's only class.
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// The handle of the queue in that class.
const QUEUE: TcHandle = TcHandle { major: 2, minor: 0 };

/// The packets that a queue has passed and dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of bytes sent, as they occupy the wire.
    pub wire_bytes: u64,
    /// The number of frames sent.
    pub packets: u64,
    /// The number of frames dropped.
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

/// Returns a `struct tc_htb_glob`: version 3, rate to quantum 10, default class 1.
fn shaper_options() -> Vec<u8> {
    let words: [u32; 5] = [3, 10, 1, 0, 0];
    attribute(TCA_HTB_INIT, &words.map(u32::to_ne_bytes).concat())
}

/// Returns a `struct tc_ratespec`. Sizes come from the table, so nothing is added to them here.
fn rate_specification(bytes_per_second: u64) -> Vec<u8> {
    let mut bytes = vec![0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0];
    bytes.extend(u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    bytes
}

/// Returns a `struct tc_htb_opt` and the 64-bit rates.
fn class_options(rate: Rate, frame: u64, bucket: Bucket) -> Vec<u8> {
    let bytes_per_second = (rate.0 / 8).max(1);
    let ceiling = bucket.ceiling_bytes_per_second;
    let ticks = |bytes: u64, bytes_per_second: u64| {
        u32::try_from(bytes * 1_000_000_000 / bytes_per_second / TICK_NS).unwrap_or(u32::MAX)
    };
    let quantum = u32::try_from(frame).unwrap_or(u32::MAX);
    let mut options = [rate_specification(bytes_per_second), rate_specification(ceiling)].concat();
    let (burst, at_once) = (ticks(bucket.bytes, bytes_per_second), ticks(bucket.at_once_bytes, ceiling));
    for word in [burst, at_once, quantum, 0, 0] {
        options.extend(word.to_ne_bytes());
    }
    [
        attribute(TCA_HTB_PARMS, &options),
        attribute(TCA_HTB_RATE64, &bytes_per_second.to_ne_bytes()),
        attribute(TCA_HTB_CEIL64, &ceiling.to_ne_bytes()),
    ]
    .concat()
}

/// Returns a `struct wire_settings` (kernel/net/wire.c).
fn wire_options(rate: Rate, delay_ns: u64) -> Vec<u8> {
    [rate.0, delay_ns].map(u64::to_ne_bytes).concat()
}

/// Returns a `struct tc_sizespec` and its table.
fn size_table_options(table: &SizeTable) -> Vec<u8> {
    let mut base = vec![table.cell_log, table.size_log, 0, 0];
    let length = u32::try_from(table.sizes.len()).expect("a table that fits an attribute");
    for word in [0, u32::from(TC_LINKLAYER_ETHERNET), 0, 0, length] {
        base.extend(word.to_ne_bytes());
    }
    let sizes: Vec<u8> = table.sizes.iter().flat_map(|size| size.to_ne_bytes()).collect();
    [attribute(TCA_STAB_BASE, &base), attribute(TCA_STAB_DATA, &sizes)].concat()
}

/// The shaping of an interface as attributes of requests, which interfaces with the same shaping share.
pub struct Shaping {
    rate: Rate,
    limit: QueueLimit,
    /// The shaper's buckets.
    pub bucket: Bucket,
    shaper: Vec<TcAttribute>,
    size_table: TcAttribute,
    /// The class of HTB. A wire has one that nobody adds.
    class: Option<Vec<TcAttribute>>,
    queue: Vec<TcAttribute>,
}

/// The shaper of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shaper {
    /// HTB with buckets that make up for late timers.
    Buckets,
    /// An exact wire.
    Wire {
        /// Its rate, which a trace may change.
        rate: Rate,
        /// The time for which it delays each frame, in nanoseconds.
        delay_ns: u64,
    },
}

impl Shaping {
    /// Creates the shaping to `rate`, with a queue that holds `limit` and follows `discipline`.
    pub fn new(
        rate: Rate,
        limit: QueueLimit,
        discipline: &Discipline,
        wire: &Wire,
        shaper: Shaper,
    ) -> Result<Self> {
        let frame = wire.largest_frame();
        let (bucket, mut shaper, class) = match shaper {
            Shaper::Buckets => {
                let bucket = Bucket::new(rate, frame, wire.forwards());
                let class = attributes("htb", class_options(rate, frame, bucket));
                (bucket, attributes("htb", shaper_options()), Some(class))
            }
            Shaper::Wire { rate: own, delay_ns } => {
                (Bucket::of_a_wire(rate, frame), attributes("wire", wire_options(own, delay_ns)), None)
            }
        };
        let table = size_table_options(&wire.size_table());
        let size_table = TcAttribute::Other(DefaultNla::new(TCA_STAB, table));
        shaper.push(size_table.clone());
        let (kind, options) = discipline::queue(discipline, limit, rate, frame)?;
        let nested = if kind.ends_with("fifo") { 0 } else { NLA_F_NESTED };
        let queue = vec![
            TcAttribute::Kind(kind.to_owned()),
            TcAttribute::Other(DefaultNla::new(TCA_OPTIONS | nested, options)),
        ];
        Ok(Self { rate, limit, bucket, shaper, size_table, class, queue })
    }

    /// Queues the requests that shape the packets that `interface` (called `object` in errors) sends. If the
    /// interface is not up yet the kernel does not have to wait until nobody uses its old queue.
    pub fn apply(&self, netlink: &mut Netlink, (interface, object): (i32, &str)) -> Result<()> {
        let shaper = message(interface, TcHandle::ROOT, SHAPER, &self.shaper);
        netlink.create(
            RouteNetlinkMessage::NewQueueDiscipline(shaper),
            format!("adding a shaper to {object}"),
        )?;
        if let Some(class) = &self.class {
            let class = message(interface, SHAPER, CLASS, class);
            netlink.create(
                RouteNetlinkMessage::NewTrafficClass(class),
                format!("giving {object} the rate {}", self.rate),
            )?;
        }
        let queue = message(interface, CLASS, QUEUE, &self.queue);
        Ok(netlink.create(
            RouteNetlinkMessage::NewQueueDiscipline(queue),
            format!("giving {object} a queue of {}", self.limit),
        )?)
    }
}

/// The length of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length {
    /// The number of packets as the kernel counts them: a GSO packet that is segmented after the queue counts as
    /// one.
    pub packets: u32,
    /// The number of bytes that they will occupy on the wire.
    pub bytes: u32,
}

/// The state of a shaped interface at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The interface's index.
    pub index: i32,
    /// The length of its queue.
    pub length: Length,
    /// The packets that the queue has passed and dropped since it was made.
    pub counters: Counters,
}

/// Reads all shaped interfaces of the namespace.
pub fn read(netlink: &mut Netlink) -> Result<Vec<Reading>> {
    Ok(shapers(netlink)?.iter().map(reading).collect())
}

fn shapers(netlink: &mut Netlink) -> Result<Vec<TcMessage>> {
    let answers = netlink.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let shapers = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewQueueDiscipline(message) if message.header.handle == SHAPER => Some(message),
        _ => None,
    });
    Ok(shapers.collect())
}

fn reading(message: &TcMessage) -> Reading {
    let (mut length, mut counters) = (Length::default(), Counters::default());
    let lists = message.attributes.iter().filter_map(|attribute| match attribute {
        TcAttribute::Stats2(statistics) => Some(statistics),
        _ => None,
    });
    for statistic in lists.flatten() {
        match statistic {
            TcStats2::Basic(basic) => {
                counters.wire_bytes = basic.bytes;
                counters.packets = basic.packets.into();
            }
            TcStats2::Queue(queue) => {
                length = Length { packets: queue.qlen, bytes: queue.backlog };
                counters.drops = queue.drops.into();
            }
            _ => {}
        }
    }
    Reading { index: message.header.index, length, counters }
}
