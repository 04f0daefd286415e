use super::*;
use proptest::prelude::*;

/// Returns the rates of connections over links with these rates.
fn rates(capacities: &[f64], groups: &[(Coupling, &[&[u32]])]) -> Vec<f64> {
    let groups: Vec<Group<'_>> =
        groups.iter().map(|(coupling, paths)| Group { coupling: *coupling, paths: paths.to_vec() }).collect();
    let found = equilibrium(capacities, &groups);
    assert!(found.error < TOLERANCE, "{}", found.error);
    found.rates
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found_one, expected_one) in found.iter().zip(expected) {
        assert!((found_one - expected_one).abs() <= tolerance, "{found:?} and not {expected:?}");
    }
}

/// Returns the root between 0 and 10 of a function that rises through 0.
fn root(rising: impl Fn(f64) -> f64) -> f64 {
    let [mut low, mut high] = [0.0, 10.0];
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if rising(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

/// Returns the rates in scenario C of Khalili et al. (section III-C of the paper). Of `users` connections with two
/// paths and `users` TCP flows, the former have access point 1 for themselves, with a capacity of `first` each.
/// All share access point 2, with a capacity of 1 for each TCP flow.
fn scenario_c(coupling: Coupling, first: f64, users: usize) -> [f64; 3] {
    let capacities = [first * users as f64, users as f64];
    let both: &[&[u32]] = &[&[0], &[1]];
    let second: &[&[u32]] = &[&[1]];
    let mut groups = vec![(coupling, both); users];
    groups.extend(vec![(Coupling::Uncoupled, second); users]);
    let found = rates(&capacities, &groups);
    [found[0], found[1], *found.last().unwrap()]
}

/// The paper's equation for LIA in scenario C is z³ + (N1/N2) z² + z = C2/C1, where z is the root of the ratio of
/// the two access points' losses; the TCP flows get z (1 + z²) C1.
#[test]
fn lia_takes_of_the_shared_access_point_what_its_paper_says() {
    for first in [1.0, 2.0, 4.0] {
        let z = root(|z| z * z * z + z * z + z - 1.0 / first);
        let expected = [first, first * z * z, first * z * (1.0 + z * z)];
        for users in [1, 5] {
            assert_close(&scenario_c(Coupling::Lia, first, users), &expected, 0.01 * first);
        }
    }
    // As in the paper, with C1 = C2 the TCP flows lose 30%, and nobody gains more than that.
    assert_close(&scenario_c(Coupling::Lia, 1.0, 5), &[1.0, 0.296, 0.704], 0.005);
}

/// Theorem 1 of the paper, and its conclusion for scenario C: if C1 is above C2, OLIA leaves access point 2 to the
/// TCP flows; otherwise all get the same rate.
#[test]
fn olia_uses_the_best_paths_alone() {
    assert_close(&scenario_c(Coupling::Olia, 2.0, 5), &[2.0, 0.0, 1.0], 0.02);
    assert_close(&scenario_c(Coupling::Olia, 0.5, 5), &[0.5, 0.25, 0.75], 0.02);
}

/// BALIA's fixed point in scenario C: with u = τ_2 / τ_1 below 1, x_2 / x_1 = u² / (5 − 4 u²), and x_1 + x_2 = τ_1.
#[test]
fn balia_is_between_the_two() {
    for first in [1.0, 2.0] {
        let share = |u: f64| u * u / (5.0 - 4.0 * u * u);
        let u = root(|u| first * share(u.min(1.0)) + first * (1.0 + share(u.min(1.0))) * u - 1.0);
        let expected = [first, first * share(u), first * (1.0 + share(u)) * u];
        assert_close(&scenario_c(Coupling::Balia, first, 5), &expected, 0.01 * first);
        let [_, lia, _] = scenario_c(Coupling::Lia, first, 5);
        assert!(expected[1] < lia && expected[1] > 0.0);
    }
}

const ALL: [Coupling; 3] = [Coupling::Lia, Coupling::Olia, Coupling::Balia];

/// RFC 6356 section 2, "do no harm": subflows through one bottleneck take the rate of one TCP flow. On equal paths
/// of its own, a connection takes the whole rate of each.
#[test]
fn a_connection_takes_what_one_tcp_takes_at_a_shared_link_and_all_of_its_own() {
    for coupling in ALL {
        let found = rates(&[10.0], &[(coupling, &[&[0], &[0], &[0]]), (Coupling::Uncoupled, &[&[0]])]);
        assert_close(&[found[..3].iter().sum(), found[3]], &[5.0, 5.0], 0.04);
        let found = rates(&[10.0, 4.0], &[(coupling, &[&[0], &[1]])]);
        assert_close(&found, &[10.0, 4.0], 0.06);
    }
    let found = rates(&[10.0], &[(Coupling::Uncoupled, &[&[0], &[0], &[0]]), (Coupling::Uncoupled, &[&[0]])]);
    assert_close(&found, &[2.5; 4], 1e-9);
}

/// The torus of Wischik, Raiciu, Greenhalgh and Handley, "Design, implementation and evaluation of congestion
/// control for multipath TCP", NSDI 2011, section 3 (figure 7): five links in a ring, and a connection over every
/// two neighbouring links. When the capacity of one link falls, the connections are the more equal, the more
/// traffic an algorithm moves.
#[test]
fn the_more_traffic_moves_the_more_equal_are_the_connections_of_the_torus() {
    let paths: Vec<[[u32; 1]; 2]> = (0..5).map(|link| [[link], [(link + 1) % 5]]).collect();
    let smallest = |coupling| {
        let groups: Vec<Vec<&[u32]>> =
            paths.iter().map(|pair| pair.iter().map(<[u32; 1]>::as_slice).collect()).collect();
        let groups: Vec<(Coupling, &[&[u32]])> =
            groups.iter().map(|paths| (coupling, paths.as_slice())).collect();
        let found = rates(&[1000.0, 1000.0, 100.0, 1000.0, 1000.0], &groups);
        let totals: Vec<f64> = found.chunks(2).map(|pair| pair.iter().sum()).collect();
        let sum: f64 = totals.iter().sum();
        assert!((sum - 4100.0).abs() < 20.0, "all links are full: {totals:?}");
        totals.into_iter().fold(f64::INFINITY, f64::min)
    };
    let [lia, olia, balia] = ALL.map(smallest);
    let uncoupled = smallest(Coupling::Uncoupled);
    assert!((uncoupled - 550.0).abs() < 1.0);
    assert!(uncoupled < lia && lia < balia && balia < olia, "{uncoupled} {lia} {balia} {olia}");
    assert!((olia - 820.0).abs() < 20.0, "OLIA pools all links");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_link_is_above_its_rate_whatever_is_coupled(
        capacities in proptest::collection::vec(1_u32..100, 4..8),
        ends in proptest::collection::vec((0_u32..4, 0_u32..4, 0_usize..4), 1..12),
    ) {
        let capacities: Vec<f64> = capacities.into_iter().map(f64::from).collect();
        let paths: Vec<[Vec<u32>; 2]> =
            ends.iter().map(|&(near, far, _)| [vec![near], if near == far { vec![3] } else { vec![far] }]).collect();
        let coupling = [Coupling::Uncoupled, Coupling::Lia, Coupling::Olia, Coupling::Balia];
        let groups: Vec<Group<'_>> = paths
            .iter()
            .zip(&ends)
            .map(|(paths, end)| Group { coupling: coupling[end.2], paths: paths.iter().map(Vec::as_slice).collect() })
            .collect();
        let found = equilibrium(&capacities, &groups);
        prop_assert!(found.error < 0.05, "{}", found.error);
        let mut loads = vec![0.0; capacities.len()];
        for (path, rate) in paths.iter().flatten().zip(&found.rates) {
            path.iter().for_each(|&link| loads[link as usize] += rate);
        }
        for (load, capacity) in loads.iter().zip(&capacities) {
            prop_assert!(*load <= capacity * (1.0 + 1e-9));
        }
        let mirrored: Vec<Group<'_>> = groups.iter().rev().cloned().collect();
        let back = equilibrium(&capacities, &mirrored).rates;
        for (here, there) in found.rates.chunks(2).zip(back.chunks(2).rev()) {
            let [here, there] = [here, there].map(|pair| pair.iter().sum::<f64>());
            prop_assert!((here - there).abs() < 0.02 * here.max(there) + 0.02);
        }
    }
}
