//! Max-min fair rates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns the order of a rate as an integer: rates are neither negative nor NaN, so their bits have the same
/// order.
fn key(rate: f64) -> u64 {
    rate.to_bits()
}

/// Returns the max-min fair rate of each path, from the rates of all links and the links of each path: the rate of
/// a path can't rise unless another one falls that is not higher. Each path has a bottleneck: a link that is full
/// and on which no path has a higher rate.
///
/// The algorithm is the water-filling of Bertsekas and Gallager (Data Networks, 1992, section 6.5.2): all rates
/// rise together, and those over a link that becomes full stay. The time is linear in the number of links of all
/// paths, times the logarithm of the number of links.
pub fn max_min(capacities: &[f64], paths: &[&[u32]]) -> Vec<f64> {
    let mut rates = vec![f64::INFINITY; paths.len()];
    // The paths over each link: those of link `l` are `over[first[l]..first[l + 1]]`.
    let mut first = vec![0_u32; capacities.len() + 1];
    for &link in paths.iter().copied().flatten() {
        first[link as usize + 1] += 1;
    }
    for link in 1..first.len() {
        first[link] += first[link - 1];
    }
    let mut next = first.clone();
    let mut over = vec![0_u32; first[capacities.len()] as usize];
    for (path, links) in paths.iter().enumerate() {
        for &link in *links {
            over[next[link as usize] as usize] = path as u32;
            next[link as usize] += 1;
        }
    }
    let mut left = capacities.to_vec();
    let mut rising: Vec<u32> = first.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let level = |link: usize, left: &[f64], rising: &[u32]| left[link] / f64::from(rising[link]);
    let full = (0..capacities.len()).filter(|&link| rising[link] > 0);
    let mut waiting: BinaryHeap<Reverse<(u64, usize)>> =
        full.map(|link| Reverse((key(level(link, &left, &rising)), link))).collect();
    while let Some(Reverse((at, link))) = waiting.pop() {
        if rising[link] == 0 {
            continue;
        }
        // If paths have stopped at other links since, this link becomes full later.
        let now = level(link, &left, &rising);
        if key(now) > at {
            waiting.push(Reverse((key(now), link)));
            continue;
        }
        for &path in &over[first[link] as usize..first[link + 1] as usize] {
            let path = path as usize;
            if rates[path].is_finite() {
                continue;
            }
            rates[path] = now;
            for &crossed in paths[path] {
                let crossed = crossed as usize;
                left[crossed] = (left[crossed] - now).max(0.0);
                rising[crossed] -= 1;
            }
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An example like that of Bertsekas and Gallager, Data Networks, 1992, section 6.5.2: sessions on a line of
    /// links of rate 1, one of which has three sessions.
    #[test]
    fn sessions_get_a_third_and_the_rest_of_a_link() {
        // Session 1 crosses links 0 and 1; 2 and 3 cross link 0; 4 crosses link 1.
        let rates = max_min(&[1.0, 1.0], &[&[0, 1], &[0], &[0], &[1]]);
        let third = 1.0 / 3.0;
        for (found, expected) in rates.iter().zip([third, third, third, 1.0 - third]) {
            assert!((found - expected).abs() < 1e-12, "{rates:?}");
        }
    }

    #[test]
    fn in_a_parking_lot_the_long_path_gets_half_of_each_link() {
        assert_eq!(max_min(&[10.0; 3], &[&[0, 1, 2], &[0], &[1], &[2]]), [5.0; 4]);
        // The link in the middle is narrower: its two paths get half of it each, and the others get the rest of
        // their links.
        assert_eq!(max_min(&[10.0, 4.0, 10.0], &[&[0, 1, 2], &[0], &[1], &[2]]), [2.0, 8.0, 2.0, 8.0]);
    }

    #[test]
    fn alone_a_path_has_its_narrowest_link_and_nobody_has_nothing() {
        assert_eq!(max_min(&[3.0, 2.0], &[&[0, 1]]), [2.0]);
        assert!(max_min(&[3.0, 2.0], &[]).is_empty());
    }

    fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Vec<u32>>)> {
        (2_usize..12).prop_flat_map(|links| {
            let path = proptest::collection::btree_set(0..links as u32, 1..links);
            let path = path.prop_map(|path| path.into_iter().collect::<Vec<_>>());
            let rates = proptest::collection::vec(1_u32..1000, links);
            let rates = rates.prop_map(|rates| rates.into_iter().map(f64::from).collect());
            (rates, proptest::collection::vec(path, 1..20))
        })
    }

    fn solve(capacities: &[f64], paths: &[Vec<u32>]) -> Vec<f64> {
        max_min(capacities, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn no_link_is_above_its_rate_and_each_path_has_a_bottleneck((capacities, paths) in networks()) {
            let rates = solve(&capacities, &paths);
            let load = |link: u32| -> f64 {
                paths.iter().zip(&rates).filter(|(path, _)| path.contains(&link)).map(|(_, rate)| rate).sum()
            };
            let loads: Vec<f64> = (0..capacities.len() as u32).map(load).collect();
            for (load, capacity) in loads.iter().zip(&capacities) {
                prop_assert!(*load <= capacity * (1.0 + 1e-9));
            }
            for (path, rate) in paths.iter().zip(&rates) {
                let is_bottleneck = |&link: &u32| {
                    let most = paths.iter().zip(&rates).filter(|(other, _)| other.contains(&link));
                    let most = most.map(|(_, rate)| *rate).fold(0.0, f64::max);
                    loads[link as usize] >= capacities[link as usize] * (1.0 - 1e-9)
                        && *rate >= most * (1.0 - 1e-9)
                };
                prop_assert!(path.iter().any(is_bottleneck), "{path:?} {rate}");
            }
        }

        #[test]
        fn the_order_of_paths_and_links_is_nothing_to_it((capacities, paths) in networks()) {
            let links = capacities.len() as u32;
            let mirrored: Vec<f64> = capacities.iter().rev().copied().collect();
            let others: Vec<Vec<u32>> = paths
                .iter()
                .rev()
                .map(|path| path.iter().map(|link| links - 1 - link).collect())
                .collect();
            let rates = solve(&capacities, &paths);
            let found = solve(&mirrored, &others);
            for (here, there) in rates.iter().zip(found.iter().rev()) {
                prop_assert!((here - there).abs() <= 1e-9 * here);
            }
        }
    }
}
