//! A model of a path, with tests that the examination finds the properties of the model.

use crate::directions::{self, Bounds};
use crate::error::Result;
use crate::hops;
use crate::probe::{Outcome, Probe, Prober};
use crate::report::Hop;
use crate::search;
use proptest::prelude::*;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const SMALL: u64 = 44;
const BASE: u64 = 1200;

/// A router and the link behind it.
#[derive(Debug, Clone)]
struct Router {
    /// The largest packet that the link behind the router carries.
    mtu: u64,
    /// True if the router sends ICMP errors.
    speaks: bool,
    /// The number of bytes that the router adds to the MTU that it claims.
    lies_by: i64,
}

/// A path: this host's link, the routers, and the reverse path as one link.
#[derive(Debug, Clone)]
struct Path {
    first_link: u64,
    routers: Vec<Router>,
    /// The largest reply that the reverse path carries; larger ones are fragmented if `fragments`, else lost.
    back: u64,
    fragments: bool,
    /// True if probes are UDP packets, whose answers are small whatever the probe's size.
    udp: bool,
    /// True if the first transmission of each probe is lost.
    loses: bool,
    seen: HashSet<Probe>,
}

const TARGET: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 255, 1));

impl Path {
    fn address(number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, u8::try_from(number).unwrap(), 1))
    }

    fn forward(&self) -> u64 {
        self.routers.iter().map(|router| router.mtu).chain([self.first_link]).min().unwrap()
    }

    fn send(&mut self, probe: Probe) -> Outcome {
        let rtt = Duration::from_millis(1);
        if probe.size > self.first_link || (self.loses && self.seen.insert(probe)) {
            return Outcome::Lost;
        }
        for (number, router) in (1..).zip(&self.routers) {
            let by = Self::address(number);
            if probe.hops == Some(u8::try_from(number).unwrap()) {
                return if router.speaks { Outcome::Expired { by, rtt } } else { Outcome::Lost };
            }
            if probe.size > router.mtu {
                let mtu = router.mtu.saturating_add_signed(router.lies_by);
                return if router.speaks { Outcome::TooBig { by, mtu } } else { Outcome::Lost };
            }
        }
        let back = if self.udp { 100 } else { probe.size };
        if back <= self.back {
            return Outcome::Arrived { rtt, fragment: None };
        }
        // IPv4 fragments like this: all but the last fragment carry multiples of eight bytes.
        let fragment = Some(20 + (self.back - 20) / 8 * 8);
        if self.fragments { Outcome::Arrived { rtt, fragment } } else { Outcome::Lost }
    }
}

impl Prober for Path {
    fn round(&mut self, probes: &[Probe], _: bool) -> Result<Vec<Outcome>> {
        Ok(probes.iter().map(|&probe| self.send(probe)).collect())
    }
}

fn examined(path: &Path, largest: u64) -> (directions::Directions, Vec<Hop>, crate::report::Trusting) {
    let mut echo = Path { udp: false, ..path.clone() };
    let mut udp = Path { udp: true, ..path.clone() };
    let trusting = search::trusting(&mut udp, largest, 68).unwrap();
    let bounds = Bounds { small: SMALL, base: BASE, largest, hint: Some(trusting.mtu_bytes) };
    let measured = directions::measure(Some(&mut echo), Some(&mut udp), bounds).unwrap();
    let mut hops = hops::trace(&mut echo, TARGET, SMALL, true).unwrap().hops;
    let forward = measured.forward.as_ref().unwrap();
    let sizes = hops::telling_sizes(Some(forward), &trusting.messages, largest);
    hops::measure(&mut echo, &mut hops, &sizes, Some(forward)).unwrap();
    hops::hear(&mut hops, &trusting.messages);
    (measured, hops, trusting)
}

fn chain(mtus: &[u64]) -> Path {
    let routers = mtus[1..].iter().map(|&mtu| Router { mtu, speaks: true, lies_by: 0 }).collect();
    Path {
        first_link: mtus[0],
        routers,
        back: 65_535,
        fragments: true,
        udp: false,
        loses: false,
        seen: HashSet::new(),
    }
}

prop_compose! {
    fn any_path()(
        first_link in prop_oneof![Just(9000u64), 1300u64..20_000],
        routers in prop::collection::vec(
            (prop_oneof![Just(1500u64), Just(9000), 600u64..16_000], any::<bool>()), 0..6
        ),
        back in prop_oneof![Just(65_535u64), Just(1500), 600u64..16_000],
        fragments in any::<bool>(),
        loses in any::<bool>(),
    ) -> Path {
        let routers = routers.into_iter().map(|(mtu, speaks)| Router { mtu, speaks, lies_by: 0 }).collect();
        Path { first_link, routers, back, fragments, udp: false, loses, seen: HashSet::new() }
    }
}

proptest! {
    #[test]
    fn both_directions_and_the_place_of_the_limit_are_found(path in any_path()) {
        let largest = path.first_link;
        let (measured, hops, _) = examined(&path, largest);
        let (forward, reverse) = (measured.forward.unwrap(), measured.reverse.unwrap());
        prop_assert!(measured.steady);
        prop_assert_eq!(forward.mtu_bytes, path.forward());
        prop_assert_eq!(forward.limited, path.forward() < largest);
        prop_assert_eq!(reverse.mtu_bytes, path.back.min(path.forward()));
        prop_assert_eq!(reverse.limited, path.back < path.forward());
        prop_assert_eq!(hops.len(), path.routers.len() + 1);
        let limits = hops::limits(&hops, largest, "eth0", &[]);
        // The limits are at the routers whose link is narrower than all links before it.
        let (mut narrowest, mut steps) = (largest, Vec::new());
        for (number, router) in (1..).zip(&path.routers) {
            if router.mtu < narrowest {
                narrowest = router.mtu;
                steps.push((number, router.mtu));
            }
        }
        prop_assert_eq!(limits.is_empty(), steps.is_empty());
        if let (Some(limit), Some(&(fault, mtu))) = (limits.last(), steps.last()) {
            prop_assert_eq!((limit.mtu_bytes, limit.below_bytes), (mtu, mtu + 1));
            prop_assert!(limit.after_hop <= fault && fault < limit.before_hop, "{:?}", limit);
        }
        if path.routers.iter().all(|router| router.speaks) {
            let places: Vec<_> = limits.iter().map(|limit| (limit.after_hop, limit.mtu_bytes)).collect();
            prop_assert_eq!(places, steps);
            prop_assert!(limits.iter().all(|limit| limit.before_hop == limit.after_hop + 1));
        }
    }

    #[test]
    fn a_sender_that_trusts_icmp_stalls_where_the_hop_at_fault_is_silent(path in any_path()) {
        let path = Path { loses: false, ..path };
        let (_, _, trusting) = examined(&path, path.first_link);
        let mut size = path.first_link;
        let mut speaks = true;
        for router in &path.routers {
            if router.mtu < size {
                speaks &= router.speaks;
                size = if speaks { router.mtu } else { size };
            }
        }
        prop_assert_eq!((trusting.mtu_bytes, trusting.arrives), (size, speaks));
    }
}

#[test]
fn a_hop_that_claims_another_mtu_than_it_has_is_caught() {
    let mut path = chain(&[9000, 9000, 4000, 9000]);
    path.routers[1].lies_by = -1000;
    let (measured, hops, trusting) = examined(&path, 9000);
    assert_eq!(measured.forward.unwrap().mtu_bytes, 4000);
    assert_eq!(trusting.mtu_bytes, 3000);
    assert_eq!(hops[1].lie.as_deref(), Some("claims an MTU of 3000, but packets of 4000 bytes pass it"));

    path.routers[1].lies_by = 1000;
    let (measured, hops, trusting) = examined(&path, 9000);
    assert_eq!(measured.forward.unwrap().mtu_bytes, 4000);
    assert!(!trusting.arrives);
    assert_eq!(hops[1].lie.as_deref(), Some("claims an MTU of 5000 about a packet of 5000 bytes"));
    assert!(hops.iter().enumerate().all(|(at, hop)| at == 1 || hop.lie.is_none()));
}

#[test]
fn each_step_of_a_path_is_seen_at_its_hop() {
    let (measured, hops, trusting) = examined(&chain(&[9000, 9000, 4000, 1500]), 9000);
    assert_eq!(measured.forward.unwrap().mtu_bytes, 1500);
    assert_eq!(trusting.messages.len(), 2);
    let reached: Vec<_> = hops.iter().map(|hop| (hop.reached_bytes, hop.not_reached_bytes)).collect();
    assert_eq!(
        reached,
        [(Some(9000), None), (Some(9000), None), (Some(4000), Some(4001)), (Some(1500), Some(1501))]
    );
    assert!(hops.iter().all(|hop| hop.lie.is_none()));
}
