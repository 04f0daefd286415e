//! The verdict on jumbo frames.

use crate::report::{Direction, Hop, Interface, Jumbo, Limit, Trusting, Verdict};
use crate::theory::carries;
use std::net::IpAddr;

/// The size of the IP packets that a path that is clean for jumbo frames carries, in bytes.
pub const JUMBO_BYTES: u64 = 9000;

/// The facts known of a path.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The interface through which packets leave.
    pub interface: &'a Interface,
    /// The path MTU that this host's kernel held before the examination, bytes, if the system reports it.
    pub kernel_mtu: Option<u64>,
    /// The size of the largest packet that was tried.
    pub largest_tried: u64,
    /// The path MTU towards the far host.
    pub forward: Option<&'a Direction>,
    /// The path MTU from the far host back.
    pub reverse: Option<&'a Direction>,
    /// The path MTU that a sender that relies on ICMP arrives at.
    pub trusting: Option<&'a Trusting>,
    /// The places where the path gets narrower.
    pub limits: &'a [Limit],
    /// The hops.
    pub hops: &'a [Hop],
    /// The host that reported that the far host can't be reached.
    pub refused_by: Option<IpAddr>,
    /// True if two measurements of the forward path MTU agreed.
    pub steady: bool,
}

/// Returns the verdict that follows from the known facts.
pub fn weigh(known: Known) -> Verdict {
    let mut reasons = Vec::new();
    let black_hole = black_hole(known, &mut reasons);
    for hop in known.hops {
        if let Some(lie) = &hop.lie {
            reasons.push(format!("hop {} {lie}", hop.number));
        }
    }
    let (jumbo, at_fault) = judge(known, &mut reasons);
    Verdict { jumbo, at_fault, black_hole, reasons }
}

fn black_hole(known: Known, reasons: &mut Vec<String>) -> Option<bool> {
    let (trusting, forward) = (known.trusting?, known.forward?);
    let stalls = !trusting.arrives && forward.mtu_bytes < trusting.mtu_bytes;
    if stalls {
        let heard =
            if trusting.messages.is_empty() { "no ICMP message says so" } else { "ICMP does not say so" };
        reasons.push(format!(
            "black hole: packets of {} bytes vanish and {heard}; a sender that relies on ICMP stalls, while \
             {} bytes pass",
            trusting.mtu_bytes, forward.mtu_bytes
        ));
    } else if trusting.arrives && trusting.mtu_bytes < forward.mtu_bytes {
        reasons.push(format!(
            "a sender that relies on ICMP uses {} bytes, though {} pass",
            trusting.mtu_bytes, forward.mtu_bytes
        ));
    }
    Some(stalls)
}

fn judge(known: Known, reasons: &mut Vec<String>) -> (Jumbo, Option<String>) {
    let (Some(forward), reverse) = (known.forward, known.reverse) else {
        if let Some(by) = known.refused_by {
            reasons.push(format!("{by} says that packets to the host can't be delivered"));
        }
        reasons.push("the host answers neither ICMP echo nor UDP, so nothing shows what arrives".into());
        own_limits(known, None, reasons);
        return (Jumbo::CannotTell, None);
    };
    let own = own_limits(known, Some(forward), reasons);
    if known.interface.mtu_bytes < JUMBO_BYTES {
        return (Jumbo::NotClean, Some(own.join("; and ")));
    }
    if !known.steady {
        reasons.push("packets of one size passed at one time and not at another".into());
        return (Jumbo::CannotTell, None);
    }
    let directions = [carries(Some(forward), JUMBO_BYTES), carries(reverse, JUMBO_BYTES)];
    if directions[0] == Some(false) {
        reasons.push(format!("towards the host no packet above {} bytes passes", forward.mtu_bytes));
    }
    if let (Some(false), Some(reverse)) = (directions[1], reverse) {
        reasons.push(format!(
            "from the host no packet above {} bytes arrives whole; the place where larger ones are lost \
             can't be found from here",
            reverse.mtu_bytes
        ));
    }
    match directions {
        [Some(true), Some(true)] => {
            reasons.push(format!("packets of {JUMBO_BYTES} bytes pass in both directions"));
            // The network carries them, but this host may not send them.
            if own.is_empty() { (Jumbo::Clean, None) } else { (Jumbo::NotClean, Some(own.join("; and "))) }
        }
        [Some(false), _] => {
            let narrow = known.limits.iter().filter(|limit| limit.mtu_bytes < JUMBO_BYTES);
            let at_fault: Vec<&str> =
                own.iter().map(String::as_str).chain(narrow.map(|limit| limit.at_fault.as_str())).collect();
            if at_fault.is_empty() {
                let reason =
                    "the hop at fault is not known: no hop is known to report packets that expire there";
                reasons.push(reason.into());
            }
            (Jumbo::NotClean, (!at_fault.is_empty()).then(|| at_fault.join("; and ")))
        }
        [_, Some(false)] => {
            let reverse = "a hop on the reverse path".to_owned();
            (Jumbo::NotClean, Some(own.into_iter().chain([reverse]).collect::<Vec<_>>().join("; and ")))
        }
        _ if !own.is_empty() => (Jumbo::NotClean, Some(own.join("; and "))),
        [forward_carries, reverse_carries] => {
            if forward_carries.is_none() && known.largest_tried < JUMBO_BYTES {
                reasons.push(format!("no packet above {} bytes was tried", known.largest_tried));
            } else if forward_carries.is_none() {
                reasons.push(format!(
                    "echo requests above {} bytes are not answered, and nothing shows in which direction \
                     they \
                     are lost",
                    forward.mtu_bytes
                ));
            } else if reverse_carries.is_none() {
                reasons.push(
                    "jumbo frames pass towards the host; the reverse path was not measured with jumbo frames"
                        .into(),
                );
            }
            (Jumbo::CannotTell, None)
        }
    }
}

/// Returns what keeps this host itself from sending jumbo frames, and adds the reasons: the MTU of its interface, and a
/// smaller path MTU in its kernel, if packets larger than that pass on the path.
fn own_limits(known: Known, forward: Option<&Direction>, reasons: &mut Vec<String>) -> Vec<String> {
    let interface = known.interface;
    let mut limits = Vec::new();
    if interface.mtu_bytes < JUMBO_BYTES {
        reasons.push(format!(
            "this host's {} has an MTU of {}: larger packets can't be sent, so the rest of the path was not \
             tried with them",
            interface.name, interface.mtu_bytes
        ));
        limits.push(format!("this host's {}", interface.name));
    }
    let passes = forward.map_or(0, |forward| forward.mtu_bytes);
    if let Some(mtu) = known.kernel_mtu.filter(|&mtu| mtu < JUMBO_BYTES && mtu < passes) {
        reasons.push(format!(
            "this host's kernel holds a path MTU of {mtu} for the host, which is that of a route or was learned \
             from ICMP: its connections send no larger packets, though {passes} bytes pass"
        ));
        limits.push(format!("this host's route to the host, with its MTU of {mtu}"));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(mtu_bytes: u64, limited: bool) -> Direction {
        Direction { mtu_bytes, limited, how: String::new() }
    }

    fn trusting(mtu_bytes: u64, arrives: bool) -> Trusting {
        Trusting { mtu_bytes, arrives, messages: Vec::new() }
    }

    /// Returns the verdict on a path with these path MTUs, for an interface whose MTU is `mtu`.
    fn verdict(
        mtu: u64,
        directions: [Option<Direction>; 2],
        trusting: Option<Trusting>,
        change: impl FnOnce(&mut Known),
    ) -> Verdict {
        let interface = Interface { name: "eth0".into(), mtu_bytes: mtu, offloads: None, speed_bps: None };
        let mut known = Known {
            interface: &interface,
            kernel_mtu: Some(mtu),
            largest_tried: mtu,
            forward: directions[0].as_ref(),
            reverse: directions[1].as_ref(),
            trusting: trusting.as_ref(),
            limits: &[],
            hops: &[],
            refused_by: None,
            steady: true,
        };
        change(&mut known);
        weigh(known)
    }

    #[test]
    fn a_path_is_clean_if_both_ways_are_known_to_carry_9000_bytes() {
        let clean = [Some(direction(9000, false)), Some(direction(9000, true))];
        assert_eq!(verdict(9216, clean, None, |_| {}).jumbo, Jumbo::Clean);
        for (directions, at_fault) in [
            ([direction(8999, true), direction(8999, false)], None),
            ([direction(9000, false), direction(8999, true)], Some("a hop on the reverse path")),
        ] {
            let found = verdict(9000, directions.map(Some), None, |_| {});
            assert_eq!(found.jumbo, Jumbo::NotClean);
            assert_eq!(found.at_fault.as_deref(), at_fault);
        }
    }

    #[test]
    fn what_is_not_measured_is_not_judged() {
        let half = [Some(direction(9000, false)), None];
        assert_eq!(verdict(9000, half, None, |_| {}).jumbo, Jumbo::CannotTell);
        assert_eq!(verdict(9000, [None, None], None, |_| {}).jumbo, Jumbo::CannotTell);
        let short = [Some(direction(4000, false)), Some(direction(4000, false))];
        let found = verdict(9000, short, None, |known| known.largest_tried = 4000);
        assert_eq!(found.jumbo, Jumbo::CannotTell);
        assert_eq!(found.reasons, ["no packet above 4000 bytes was tried"]);
        let echo_alone = [Some(direction(1500, false)), Some(direction(1500, false))];
        let found = verdict(9000, echo_alone, None, |_| {});
        assert_eq!(found.jumbo, Jumbo::CannotTell);
        assert!(found.reasons[0].contains("in which direction"), "{found:?}");
        let both = [Some(direction(9000, false)), Some(direction(9000, false))];
        assert_eq!(verdict(9000, both, None, |known| known.steady = false).jumbo, Jumbo::CannotTell);
    }

    #[test]
    fn an_interface_below_9000_bytes_is_at_fault() {
        let found = verdict(1500, [Some(direction(1500, false)), None], None, |_| {});
        assert_eq!(found.jumbo, Jumbo::NotClean);
        assert_eq!(found.at_fault.as_deref(), Some("this host's eth0"));
    }

    #[test]
    fn of_a_host_that_does_not_answer_nothing_is_said_whatever_the_interface_sends() {
        let found = verdict(1500, [None, None], None, |_| {});
        assert_eq!((found.jumbo, found.at_fault), (Jumbo::CannotTell, None));
        assert!(found.reasons[0].contains("answers neither"), "{:?}", found.reasons);
        assert!(found.reasons[1].contains("this host's eth0 has an MTU of 1500"), "{:?}", found.reasons);
    }

    #[test]
    fn a_route_of_this_host_with_a_smaller_mtu_is_at_fault() {
        let clean = || [Some(direction(9000, false)), Some(direction(9000, false))];
        let route = "this host's route to the host, with its MTU of 1400";
        let found = verdict(9000, clean(), None, |known| known.kernel_mtu = Some(1400));
        assert_eq!((found.jumbo, found.at_fault.as_deref()), (Jumbo::NotClean, Some(route)));
        assert!(found.reasons[0].contains("a path MTU of 1400"), "{:?}", found.reasons);
        let unknown = [Some(direction(9000, false)), None];
        let found = verdict(9000, unknown, None, |known| known.kernel_mtu = Some(1400));
        assert_eq!((found.jumbo, found.at_fault.as_deref()), (Jumbo::NotClean, Some(route)));
        // A path MTU that the kernel learned because the path is narrow is not the host's fault.
        let narrow = [Some(direction(1400, true)), Some(direction(9000, false))];
        let found = verdict(9000, narrow, None, |known| known.kernel_mtu = Some(1400));
        assert_eq!((found.jumbo, found.at_fault), (Jumbo::NotClean, None));
        let found = verdict(9000, clean(), None, |known| known.kernel_mtu = None);
        assert_eq!(found.jumbo, Jumbo::Clean, "a system that does not tell");
        let found =
            verdict(1500, [Some(direction(1500, false)), None], None, |known| known.kernel_mtu = Some(1400));
        let both = format!("this host's eth0; and {route}");
        assert_eq!((found.jumbo, found.at_fault), (Jumbo::NotClean, Some(both)));
    }

    #[test]
    fn a_black_hole_is_where_trust_in_icmp_ends_with_more_than_passes() {
        let limited = || [Some(direction(1500, true)), Some(direction(1500, false))];
        assert_eq!(verdict(9000, limited(), Some(trusting(9000, false)), |_| {}).black_hole, Some(true));
        assert_eq!(verdict(9000, limited(), Some(trusting(1500, true)), |_| {}).black_hole, Some(false));
        assert_eq!(verdict(9000, limited(), None, |_| {}).black_hole, None);
        let smaller = verdict(9000, limited(), Some(trusting(1400, true)), |_| {});
        assert_eq!(smaller.black_hole, Some(false));
        assert!(smaller.reasons[0].contains("uses 1400 bytes, though 1500 pass"), "{smaller:?}");
    }
}
