//! What follows for jumbo frames.

use crate::report::{Direction, Hop, Interface, Jumbo, Limit, Trusting, Verdict};
use crate::theory::carries;
use std::net::IpAddr;

/// The IP packet that a path clean for jumbo frames carries.
pub const JUMBO_BYTES: u64 = 9000;

/// What is known of a path.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The interface packets leave by.
    pub interface: &'a Interface,
    /// The largest packet tried.
    pub largest_tried: u64,
    /// Towards the far host.
    pub forward: Option<&'a Direction>,
    /// Back.
    pub reverse: Option<&'a Direction>,
    /// As a sender sees it that relies on ICMP.
    pub trusting: Option<&'a Trusting>,
    /// Where large packets end.
    pub limit: Option<&'a Limit>,
    /// The hops.
    pub hops: &'a [Hop],
    /// Who said that the host can't be reached.
    pub refused_by: Option<IpAddr>,
    /// Whether two measurements of the forward path MTU agreed.
    pub steady: bool,
}

/// Weighs what is known.
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
    let interface = known.interface;
    if interface.mtu_bytes < JUMBO_BYTES {
        reasons.push(format!(
            "this host's {} has an MTU of {}: larger packets can't be sent, so the rest of the path was not \
             tried with them",
            interface.name, interface.mtu_bytes
        ));
        return (Jumbo::NotClean, Some(format!("this host's {}", interface.name)));
    }
    let (Some(forward), reverse) = (known.forward, known.reverse) else {
        if let Some(by) = known.refused_by {
            reasons.push(format!("{by} says that packets to the host can't be delivered"));
        }
        reasons.push("the host answers neither ICMP echo nor UDP, so nothing shows what arrives".into());
        return (Jumbo::CannotTell, None);
    };
    if !known.steady {
        reasons.push("packets of one size passed at one time and not at another".into());
        return (Jumbo::CannotTell, None);
    }
    let ways = [carries(Some(forward), JUMBO_BYTES), carries(reverse, JUMBO_BYTES)];
    if ways[0] == Some(false) {
        reasons.push(format!("towards the host no packet above {} bytes passes", forward.mtu_bytes));
    }
    if let (Some(false), Some(reverse)) = (ways[1], reverse) {
        reasons.push(format!(
            "from the host back no packet above {} bytes passes whole; where they end can't be found from here",
            reverse.mtu_bytes
        ));
    }
    match ways {
        [Some(true), Some(true)] => {
            reasons.push(format!("packets of {JUMBO_BYTES} bytes pass in both directions"));
            (Jumbo::Clean, None)
        }
        [Some(false), _] => {
            let limit = known.limit.map(|limit| limit.at_fault.clone());
            if limit.is_none() {
                reasons.push(
                    "which hop is at fault can't be told: none answers packets that expire there".into(),
                );
            }
            (Jumbo::NotClean, limit)
        }
        [_, Some(false)] => (Jumbo::NotClean, Some("a hop on the way back".into())),
        [forward_way, reverse_way] => {
            if forward_way.is_none() && known.largest_tried < JUMBO_BYTES {
                reasons.push(format!("no packet above {} bytes was tried", known.largest_tried));
            } else if forward_way.is_none() {
                reasons.push(format!(
                    "echo requests above {} bytes are not answered, and nothing shows in which direction they \
                     are lost",
                    forward.mtu_bytes
                ));
            } else if reverse_way.is_none() {
                reasons.push(
                    "towards the host jumbo frames pass; the way back was not measured with any".into(),
                );
            }
            (Jumbo::CannotTell, None)
        }
    }
}
