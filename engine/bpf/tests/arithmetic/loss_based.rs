//! Tests of LIA, OLIA and BALIA, with the bounds in the README of each algorithm.

use proptest::prelude::*;

use crate::library::{self, Connection, Subflow, WINDOW_MAX};
use crate::states::connections;

/// The stated relative rounding of an increase.
const ROUNDING: f64 = 1.0 / (1 << 15) as f64;

/// The equations of the documents, over windows in packets and round trips in seconds.
struct Model {
    w: Vec<f64>,
    rtt: Vec<f64>,
    l: Vec<u64>,
}

impl Model {
    fn of(connection: &Connection) -> Self {
        let present = &connection.subflows[..connection.count as usize];
        Self {
            w: present.iter().map(|subflow| f64::from(subflow.window)).collect(),
            rtt: present.iter().map(|subflow| f64::from(subflow.rtt) / 8e6).collect(),
            l: present.iter().map(|subflow| subflow.run_bytes).collect(),
        }
    }

    fn paths(&self) -> std::ops::Range<usize> {
        0..self.w.len()
    }

    /// x_p = w_p / rtt_p.
    fn x(&self, p: usize) -> f64 {
        self.w[p] / self.rtt[p]
    }

    fn sum_of_x(&self) -> f64 {
        self.paths().map(|p| self.x(p)).sum()
    }

    /// RFC 6356 section 3, equations (1) and (2), per acknowledged packet.
    fn lia(&self) -> f64 {
        let total: f64 = self.w.iter().sum();
        let most = self.paths().map(|p| self.w[p] / self.rtt[p].powi(2)).fold(0.0, f64::max);
        let alpha = total * most / self.sum_of_x().powi(2);
        (alpha / total).min(1.0 / self.w[0])
    }

    /// The first term of OLIA's increase: (w_r / rtt_r^2) / (sum_p w_p / rtt_p)^2.
    fn olia_coupled(&self) -> f64 {
        self.w[0] / self.rtt[0].powi(2) / self.sum_of_x().powi(2)
    }

    /// alpha_r of the first path.
    fn olia_alpha(&self) -> f64 {
        let widest = self.w.iter().copied().fold(0.0, f64::max);
        let in_m = |p: usize| self.w[p] == widest;
        // l_p / rtt_p^2 >= l_q / rtt_q^2 in whole numbers, so that equal ones are equal.
        let eighths = |p: usize| (self.rtt[p] * 8e6).round() as u128;
        let at_least = |p: usize, q: usize| {
            u128::from(self.l[p]) * eighths(q).pow(2) >= u128::from(self.l[q]) * eighths(p).pow(2)
        };
        let in_b = |p: usize| self.paths().all(|q| at_least(p, q));
        let n = self.w.len() as f64;
        let m = self.paths().filter(|&p| in_m(p)).count() as f64;
        let b_without_m = self.paths().filter(|&p| in_b(p) && !in_m(p)).count() as f64;
        match (in_b(0) && !in_m(0), in_m(0) && b_without_m > 0.0) {
            (true, _) => 1.0 / (n * b_without_m),
            (_, true) => -1.0 / (n * m),
            _ => 0.0,
        }
    }

    /// alpha_r = max_p x_p / x_r of the first path.
    fn balia_alpha(&self) -> f64 {
        self.paths().map(|p| self.x(p)).fold(0.0, f64::max) / self.x(0)
    }

    /// x_r / (rtt_r (sum x)^2) (1 + alpha_r)/2 (4 + alpha_r)/5.
    fn balia(&self) -> f64 {
        let alpha = self.balia_alpha();
        self.x(0) / (self.rtt[0] * self.sum_of_x().powi(2)) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    }

    /// w_r - (w_r / 2) min(alpha_r, 1.5).
    fn balia_after_loss(&self) -> f64 {
        self.w[0] - self.w[0] / 2.0 * self.balia_alpha().min(1.5)
    }
}

/// Returns `paths` equal subflows.
fn equal_paths(paths: usize, window: u32, rtt: u32) -> Connection {
    Connection::of(&vec![Subflow { window, rtt, share: 0, run_bytes: 1_000_000 }; paths])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn shares_are_those_of_the_rates(connection in connections()) {
        let model = Model::of(&connection);
        let shares = library::shares(connection);
        for path in model.paths() {
            let share = model.x(path) / model.sum_of_x();
            prop_assert!((shares[path] - share).abs() <= share / 65536.0 + 2f64.powi(-30), "{} {share}", shares[path]);
        }
        prop_assert!(shares.iter().sum::<f64>() <= 1.0);
    }

    #[test]
    fn lia_increases_as_rfc_6356_says(connection in connections()) {
        let model = Model::of(&connection).lia();
        let increase = library::lia_increase(connection);
        prop_assert!((increase - model).abs() <= model * ROUNDING, "{increase} instead of {model}");
    }

    #[test]
    fn olia_increases_as_the_draft_says(connection in connections()) {
        let model = Model::of(&connection);
        let (coupled, opportunistic) = (model.olia_coupled(), model.olia_alpha() / model.w[0]);
        let increase = library::olia_increase(connection);
        let allowed = coupled * ROUNDING + 2f64.powi(-29) / model.w[0] + 2f64.powi(-47);
        prop_assert!(
            (increase - coupled - opportunistic).abs() <= allowed,
            "{increase} instead of {coupled} + {opportunistic}"
        );
    }

    #[test]
    fn balia_increases_as_the_draft_says(connection in connections()) {
        let model = Model::of(&connection).balia();
        let increase = library::balia_increase(connection);
        prop_assert!((increase - model).abs() <= model * ROUNDING, "{increase} instead of {model}");
    }

    #[test]
    fn balia_shrinks_as_the_draft_says(connection in connections()) {
        let model = Model::of(&connection).balia_after_loss().max(2.0);
        let window = f64::from(library::balia_window_after_loss(connection));
        let allowed = 1.0 + f64::from(connection.subflows[0].window) * ROUNDING;
        prop_assert!((window - model).abs() <= allowed, "{window} instead of {model}");
    }

    #[test]
    fn one_subflow_is_reno(window in 1..=WINDOW_MAX, rtt in 16u32..) {
        let connection = equal_paths(1, window, rtt);
        let reno = 1.0 / f64::from(window);
        for increase in [library::lia_increase, library::olia_increase, library::balia_increase] {
            prop_assert!((increase(connection) - reno).abs() <= 2f64.powi(-48), "{}", increase(connection));
        }
        prop_assert_eq!(library::balia_window_after_loss(connection), (window / 2).max(2));
    }

    /// The second goal of RFC 6356 for single acknowledgments: equal subflows together grow like one flow with the
    /// sum of their windows, each by 1 / (n^2 w) per acknowledged packet.
    #[test]
    fn equal_subflows_grow_as_one(paths in 1usize..=8, window in 1u32..100_000, rtt in 16..(1u32 << 26)) {
        let connection = equal_paths(paths, window, rtt);
        let together = 1.0 / (f64::from(window) * (paths * paths) as f64);
        for increase in [library::lia_increase, library::olia_increase, library::balia_increase] {
            let increase = increase(connection);
            // BALIA's alpha is 1 for each subflow, and so are both its factors.
            prop_assert!((increase - together).abs() <= together * ROUNDING, "{increase} instead of {together}");
        }
    }

    /// OLIA moves window from one path to another without increasing the sum: alpha takes from the widest paths as
    /// much as it adds to the best ones, in packets per round trip.
    #[test]
    fn what_olia_adds_it_takes_elsewhere(connection in connections()) {
        let coupled_and_not = |first: usize| {
            let mut turned = connection;
            turned.subflows.swap(0, first);
            let model = Model::of(&turned);
            (library::olia_increase(turned) - model.olia_coupled()) * model.w[0]
        };
        let sum: f64 = (0..connection.count as usize).map(coupled_and_not).sum();
        prop_assert!(sum.abs() <= 8.0 * 2.0 * ROUNDING, "{sum}");
    }
}
