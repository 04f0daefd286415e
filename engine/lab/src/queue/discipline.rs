//! The kernel's queue disciplines of links, and their options (the kernel's include/uapi/linux/pkt_sched.h).

use crate::error::{Error, Result};
use crate::namespace::Home;
use crate::queue::{Shaper, Shaping};
use crate::wire::Wire;
use nettrial_links::IdleTable;
use nettrial_netlink::{Netlink, attribute};
use nettrial_scenario::{Discipline, Duration, Link, Place, Problem, QueueLimit, Rate, Scenario, chain};
use std::collections::HashSet;

/// The names of all disciplines that Linux has.
pub const NAMES: [&str; 8] = ["drop_tail", "red", "codel", "fq", "fq_codel", "cake", "pie", "fq_pie"];
/// The index of the loopback interface of each namespace, on which a discipline is tried.
const LOOPBACK: i32 = 1;
/// The flag of RED that packets are marked (TC_RED_ECN).
const RED_ECN: u8 = 1;

/// Returns the kernel's name and the options of the queue of a link with this discipline, limit and rate, whose
/// full frames have that many bytes.
///
/// # Errors
/// Fails if the kernel has no such discipline, or none with this limit.
pub fn queue(
    discipline: &Discipline,
    limit: QueueLimit,
    rate: Rate,
    frame: u64,
) -> Result<(&'static str, Vec<u8>)> {
    let packets = match limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(size) => u32::try_from((size.0 / frame).max(1))?,
    };
    let bytes = match limit {
        QueueLimit::Packets(packets) => u32::try_from(u64::from(packets) * frame)?,
        QueueLimit::Bytes(size) => u32::try_from(size.0)?,
    };
    Ok(match *discipline {
        Discipline::DropTail {} => match limit {
            QueueLimit::Packets(_) => ("pfifo", packets.to_ne_bytes().to_vec()),
            QueueLimit::Bytes(_) => ("bfifo", bytes.to_ne_bytes().to_vec()),
        },
        Discipline::Mark { .. } => {
            return Err(Error::Unsupported(
                "the kernel has no discipline that marks above a threshold".into(),
            ));
        }
        Discipline::Red { minimum, maximum, probability, weight, ecn, .. } => {
            let bounds = [u32::try_from(minimum.0)?, u32::try_from(maximum.0)?];
            ("red", red(bytes, bounds, probability, weight, ecn, rate, frame))
        }
        Discipline::CoDel { target, interval, ecn } => {
            ("codel", words(&[(1, us(target)?), (2, packets), (3, us(interval)?), (4, ecn.into())]))
        }
        // No flow has a limit of its own.
        Discipline::Fq {} => ("fq", words(&[(1, packets), (2, packets)])),
        Discipline::FqCodel { target, interval, ecn } => {
            ("fq_codel", words(&[(1, us(target)?), (2, packets), (3, us(interval)?), (4, ecn.into())]))
        }
        Discipline::Cake { rtt } => ("cake", words(&[(7, us(rtt)?), (10, bytes)])),
        Discipline::Pie { target, update, ecn } => {
            ("pie", words(&[(1, us(target)?), (2, packets), (3, us(update)?), (6, ecn.into())]))
        }
        Discipline::FqPie { target, update, ecn } => {
            ("fq_pie", words(&[(1, packets), (3, us(target)?), (4, us(update)?), (10, ecn.into())]))
        }
    })
}

fn us(time: Duration) -> Result<u32> {
    Ok(u32::try_from(time.0 / 1000)?)
}

fn words(attributes: &[(u16, u32)]) -> Vec<u8> {
    attributes.iter().flat_map(|(kind, value)| attribute(*kind, &value.to_ne_bytes())).collect()
}

/// Returns the options of RED as tc(8) computes them. The kernel's weights are powers of two.
fn red(
    limit: u32,
    [minimum, maximum]: [u32; 2],
    probability: f64,
    weight: f64,
    ecn: bool,
    rate: Rate,
    frame: u64,
) -> Vec<u8> {
    let weight_log = (-weight.log2()).round().clamp(0.0, 31.0);
    let frame_us = frame as f64 * 8e6 / rate.0 as f64;
    let table = IdleTable::new(0.5f64.powf(weight_log), frame_us);
    let mut parameters = [limit, minimum, maximum].map(u32::to_ne_bytes).concat();
    // The third byte is a probability in another form, which `TCA_RED_MAX_P` replaces.
    parameters.extend([weight_log as u8, 0, table.cell_log, if ecn { RED_ECN } else { 0 }]);
    let most = (probability * 2f64.powi(32)).min(f64::from(u32::MAX)) as u32;
    [attribute(1, &parameters), attribute(2, &table.halvings), attribute(3, &most.to_ne_bytes())].concat()
}

/// Returns a problem for each link whose discipline this kernel can't have, about the first such link of each
/// discipline.
pub fn problems(scenario: &Scenario, home: &Home) -> Vec<Problem> {
    let mut tried = HashSet::new();
    let mut problems = Vec::new();
    for (number, link) in scenario.links.iter().enumerate() {
        problems.extend(Place::of_directions(number, link, |direction, place| {
            let name = direction.discipline.name();
            let mut refused: Vec<Problem> = deviation(direction, place).into_iter().collect();
            if direction.discipline.is_drop_tail() || !NAMES.contains(&name) || !tried.insert(name) {
                return refused;
            }
            if let Err(error) = home.create(|| attempt(direction)) {
                let hint = format!(
                    "this kernel does not take it: {}; if it is a module: modprobe sch_{name}; or run it with \
                     `--backend virtual`",
                    chain(&error)
                );
                refused.push(place.problem("discipline", name, "drop_tail", hint).of_machine());
            }
            refused
        }));
    }
    problems
}

/// Returns the names of the disciplines that this kernel does not have, each with the reason.
pub fn lacking(home: &Home) -> Vec<(&'static str, String)> {
    let examples = NAMES.into_iter().filter_map(|name| {
        let mut document = serde_json::json!({"discipline": name});
        if name == "red" {
            document = serde_json::json!({"discipline": name, "minimum": "30 kB", "maximum": "90 kB"});
        }
        Some((name, serde_json::from_value::<Discipline>(document).ok()?))
    });
    let fails =
        |discipline: &Discipline| home.create(|| add(discipline, QueueLimit::Packets(100), Rate(1_000_000)));
    examples.filter_map(|(name, one)| Some((name, chain(&fails(&one).err()?)))).collect()
}

/// Returns the problem that Linux has another discipline than that of `link`, or another limit.
fn deviation(link: &Link, place: &Place) -> Option<Problem> {
    let place = place.within("discipline");
    match link.discipline {
        Discipline::Red { gentle: true, .. } => {
            let hint = "Linux drops every packet from the maximum on; the simulator has both";
            Some(place.problem("gentle", true, "false", hint))
        }
        _ => None,
    }
}

fn attempt(link: &Link) -> Result<()> {
    let (Some(limit), Some(rate)) = (link.queue, link.rate) else { return Ok(()) };
    add(&link.discipline, limit, rate)
}

/// Adds the discipline to the loopback interface of the calling thread's namespace.
fn add(discipline: &Discipline, limit: QueueLimit, rate: Rate) -> Result<()> {
    let mut netlink = Netlink::open()?;
    let shaping = Shaping::new(rate, limit, discipline, &Wire::plain(1500), Shaper::Buckets)?;
    shaping.apply(&mut netlink, (LOOPBACK, "the loopback interface"))?;
    Ok(netlink.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Size;

    const FRAME: u64 = 1538;

    /// The numbers follow by hand from `tc_red_eval_idle_damping` of iproute2.
    #[test]
    fn red_has_the_average_of_tc() {
        let given = Discipline::Red {
            minimum: Size(30_000),
            maximum: Size(90_000),
            probability: 0.1,
            weight: 0.002,
            gentle: false,
            ecn: true,
        };
        let limit = QueueLimit::Bytes(Size(500_000));
        let (kind, options) = queue(&given, limit, Rate(100_000_000), FRAME).unwrap();
        assert_eq!(kind, "red");
        assert_eq!(
            options[4..20],
            [500_000u32.to_ne_bytes(), 30_000u32.to_ne_bytes(), 90_000u32.to_ne_bytes(), [9, 0, 12, 1],]
                .concat()
        );
        let table = &options[24..280];
        // A 512th of the average leaves with each frame's 123.04 us: 31 e-folds take 1.95 s.
        assert_eq!((table[0], table[1], table[100], table[255]), (0, 0, 6, 31));
        assert_eq!(options[284..], 429_496_729u32.to_ne_bytes());
    }

    #[test]
    fn a_limit_is_in_packets_or_in_bytes_as_the_kernel_has_it() {
        let of = |discipline: &Discipline, limit| queue(discipline, limit, Rate(1_000_000), FRAME).unwrap();
        let codel =
            Discipline::CoDel { target: Duration(5_000_000), interval: Duration(100_000_000), ecn: false };
        let (kind, options) = of(&codel, QueueLimit::Bytes(Size(10 * FRAME)));
        assert_eq!((kind, options), ("codel", words(&[(1, 5000), (2, 10), (3, 100_000), (4, 0)])));
        let cake = Discipline::Cake { rtt: Duration(20_000_000) };
        let (kind, options) = of(&cake, QueueLimit::Packets(100));
        assert_eq!((kind, options), ("cake", words(&[(7, 20_000), (10, 153_800)])));
    }
}
