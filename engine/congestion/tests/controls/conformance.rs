//! Tests the rules that every control must follow, whatever happens to its sender.

use nettrial_congestion::{Ack, Event, Phase, Window};
use proptest::prelude::*;

use crate::support::{Connection, MS, ack};

/// An event at a sender.
#[derive(Debug, Clone)]
enum Step {
    Acked { pkts: u32, after_ns: u64, rtt_ns: Option<u64>, limited: bool, marked: bool },
    Lost,
    Marked,
    TimedOut,
    Idled { after_ns: u64 },
    Undone,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let rtt_ns = prop_oneof![Just(None), Just(Some(0)), (1u64..1_000_000_000).prop_map(Some)];
    let acked = (0u32..40, 0u64..100_000_000, rtt_ns, any::<bool>(), any::<bool>()).prop_map(
        |(pkts, after_ns, rtt_ns, limited, marked)| Step::Acked { pkts, after_ns, rtt_ns, limited, marked },
    );
    let step = prop_oneof![
        20 => acked,
        1 => Just(Step::Lost),
        1 => Just(Step::Marked),
        1 => Just(Step::TimedOut),
        1 => (0u64..20_000_000_000).prop_map(|after_ns| Step::Idled { after_ns }),
        1 => Just(Step::Undone),
    ];
    prop::collection::vec((0usize..8, step), 1..200)
}

/// The minimal senders of a connection.
struct Senders {
    connection: Connection,
    now_ns: u64,
    acked_pkts: Vec<u64>,
    marked_pkts: Vec<u64>,
    prior_pkts: Vec<u32>,
    phases: Vec<Phase>,
    /// The largest window of each sender that its acknowledgments allow.
    bounds: Vec<u64>,
}

impl Senders {
    fn of(name: &str, count: usize) -> Self {
        let mut connection = Connection::of(name, &vec![(10, 0); count]);
        for (control, window, _) in &mut connection.flows {
            window.ssthresh_pkts = u32::MAX;
            control.on_event(Event::Established, window, 0);
        }
        Self {
            connection,
            now_ns: 0,
            acked_pkts: vec![0; count],
            marked_pkts: vec![0; count],
            prior_pkts: vec![10; count],
            phases: vec![Phase::Open; count],
            bounds: vec![10; count],
        }
    }

    fn window(&mut self, own: usize) -> &mut Window {
        &mut self.connection.flows[own].1
    }

    fn tell(&mut self, own: usize, event: Event) {
        let (control, window, _) = &mut self.connection.flows[own];
        control.on_event(event, window, self.now_ns);
    }

    /// Begins a reduction as Linux's senders do, but reduces the window at once.
    fn reduce(&mut self, own: usize, event: Event, phase: Phase) -> u32 {
        self.tell(own, event);
        self.prior_pkts[own] = self.window(own).cwnd_pkts;
        let ssthresh_pkts = self.connection.after_loss(own);
        let drives = self.connection.flows[own].0.drives();
        let window = self.window(own);
        window.ssthresh_pkts = ssthresh_pkts;
        if phase == Phase::Loss {
            window.cwnd_pkts = 1;
        } else if !drives {
            window.cwnd_pkts = ssthresh_pkts.min(window.cwnd_pkts);
        }
        self.phases[own] = phase;
        ssthresh_pkts
    }

    fn acknowledge(&mut self, own: usize, step: &Step) {
        let &Step::Acked { pkts, after_ns, rtt_ns, limited, marked } = step else { return };
        let cwnd_pkts = self.window(own).cwnd_pkts;
        self.now_ns += after_ns;
        let prior = self.acked_pkts[own];
        self.acked_pkts[own] += u64::from(pkts);
        self.marked_pkts[own] += if marked { u64::from(pkts) } else { 0 };
        let flow_rtt_ns = &mut self.connection.flows[own].2;
        *flow_rtt_ns = rtt_ns.unwrap_or(*flow_rtt_ns);
        let ack = Ack {
            rtt_ns,
            srtt_ns: *flow_rtt_ns,
            lost_pkts: u32::from(self.phases[own] == Phase::Recovery),
            in_flight_pkts: cwnd_pkts.saturating_sub(pkts),
            prior_in_flight_pkts: cwnd_pkts,
            delivered_pkts: 1 + self.acked_pkts[own],
            delivered_marked_pkts: self.marked_pkts[own],
            prior_delivered_pkts: prior.saturating_sub(10),
            rate: rtt_ns.map(|rtt_ns| (pkts, rtt_ns)),
            is_cwnd_limited: limited,
            una_bytes: self.acked_pkts[own],
            next_bytes: self.acked_pkts[own] + u64::from(cwnd_pkts),
            phase: self.phases[own],
            ..ack(self.now_ns, 0, pkts)
        };
        self.connection.on_ack(own, &ack);
        self.bounds[own] += u64::from(pkts) + 1;
        if self.phases[own] != Phase::Open {
            self.phases[own] = Phase::Open;
            self.tell(own, Event::Recovered);
        }
    }

    /// Takes a step, and returns the window after it.
    fn take(&mut self, own: usize, step: &Step) -> Result<u32, TestCaseError> {
        let own = own % self.phases.len();
        let threshold = match step {
            Step::Acked { .. } => {
                self.acknowledge(own, step);
                None
            }
            Step::Lost => Some(self.reduce(own, Event::EnterRecovery, Phase::Recovery)),
            Step::Marked => Some(self.reduce(own, Event::Marked, Phase::Reducing)),
            Step::TimedOut => Some(self.reduce(own, Event::Timeout, Phase::Loss)),
            Step::Idled { after_ns } => {
                self.now_ns += after_ns;
                self.tell(own, Event::Restart);
                self.tell(own, Event::IdleReset);
                None
            }
            Step::Undone => {
                let prior = self.prior_pkts[own];
                let (control, window, _) = &mut self.connection.flows[own];
                window.cwnd_pkts = control.undo(window, prior);
                self.tell(own, Event::Undone);
                None
            }
        };
        let bound = self.bounds[own];
        let window = *self.window(own);
        prop_assert!(threshold.is_none_or(|pkts| pkts >= 2), "a threshold of {threshold:?}");
        prop_assert!(
            window.cwnd_pkts >= 1 && u64::from(window.cwnd_pkts) <= bound,
            "{window:?}, at most {bound}"
        );
        let pacing = self.connection.flows[own].0.pacing_rate_bps();
        prop_assert!(pacing.is_none_or(|bps| bps.is_finite() && bps > 0.0), "paced at {pacing:?}");
        Ok(window.cwnd_pkts)
    }
}

fn windows(name: &str, count: usize, steps: &[(usize, Step)]) -> Result<Vec<u32>, TestCaseError> {
    let mut senders = Senders::of(name, count);
    steps.iter().map(|(own, step)| senders.take(*own, step)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Windows stay at one segment or more and grow by at most the acknowledged segments and one for each
    /// acknowledgment; thresholds are two or more; and the same steps give the same windows.
    #[test]
    fn keeps_to_the_rules(count in 1usize..=8, steps in steps()) {
        for name in nettrial_congestion::names() {
            let first = windows(name, count, &steps)?;
            prop_assert_eq!(first, windows(name, count, &steps)?, "{} again", name);
        }
    }

    #[test]
    fn coupled_controls_with_one_subflow_are_reno(steps in steps()) {
        let reno = windows("reno", 1, &steps)?;
        for name in ["balia", "balia-kernel", "lia", "lia-kernel", "olia", "olia-kernel"] {
            prop_assert_eq!(&windows(name, 1, &steps)?, &reno, "{}", name);
        }
    }
}

#[test]
fn the_registry_is_in_order_and_knows_its_names() {
    let names: Vec<&str> = nettrial_congestion::names().collect();
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for name in names {
        assert_eq!(nettrial_congestion::new(name).unwrap().name(), name);
    }
    assert!(nettrial_congestion::new("none").is_none());
}

/// A subflow that is established but has no round-trip time yet does not count, and does not stop the others. (The
/// out-of-tree kernel couples a window with itself once there are two subflows, with nearly the same result.)
#[test]
fn a_subflow_without_a_round_trip_is_left_out() {
    for name in nettrial_congestion::names().filter(|name| !name.ends_with("-kernel")) {
        let grow = |flows: &[(u32, u64)]| Connection::of(name, flows).increase(0, 1000);
        assert_eq!(grow(&[(10, 20 * MS), (90, 0)]), grow(&[(10, 20 * MS)]), "{name}");
    }
}
