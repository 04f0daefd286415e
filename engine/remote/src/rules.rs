//! The rules of a served agent, which any client with the token can use: it carries traffic between the two
//! machines, and does nothing else.

use nettrial_admission::{Seat, Seats};
use nettrial_scenario::{Duration, HostAddress, Measure, Traffic, Transport};
use nettrial_traffic::{Command, Side};
use std::net::{IpAddr, SocketAddr};

/// The longest flow, and the latest start.
const LONGEST: Duration = Duration(3_600_000_000_000);
/// The longest round-trip time that an agent's waits follow.
const LONGEST_ROUND_TRIP: Duration = Duration(60_000_000_000);
/// The most bytes of one transfer.
const MOST_BYTES: u64 = 1 << 40;

/// The most samples of all flows of an agent together.
const MOST_SAMPLES: u64 = 100_000;
/// The most flows of one agent: the streams of a measurement, which has an agent of its own.
const MOST_FLOWS: usize = Measure::MOST_STREAMS as usize;
/// The most orders that one agent takes beside those that open or start flows. A measurement gives at most four.
const MOST_ORDERS: u32 = 16;

/// Returns the places for the flows of all sessions: 256, of which one address may have 128.
pub fn flow_seats() -> Seats {
    Seats::new(2 * MOST_FLOWS, MOST_FLOWS)
}

/// The orders that an agent was given, and the places that its flows take until it ends.
pub struct Ration {
    seats: Seats,
    peer: IpAddr,
    flows: Vec<Seat>,
    samples: u64,
    orders: u32,
}

impl Ration {
    /// Creates the ration of a new agent for the client at `peer`, whose flows take their places from `seats`.
    pub fn new(seats: &Seats, peer: IpAddr) -> Self {
        Self { seats: seats.clone(), peer, flows: Vec::new(), samples: 0, orders: 0 }
    }

    /// Counts `command`, or returns the reason for which the agent does not take it after those it was given.
    pub fn refusal(&mut self, command: &Command) -> Option<String> {
        if !matches!(command, Command::Listen(_) | Command::Start { .. }) {
            self.orders += 1;
            return (self.orders > MOST_ORDERS).then(|| format!("an agent takes {MOST_ORDERS} such orders"));
        }
        let samples = self.samples.saturating_add(samples(command));
        if samples > MOST_SAMPLES {
            return Some(format!("the flows of a session may have {MOST_SAMPLES} samples together"));
        }
        let Some(seat) = self.seats.take(self.peer) else {
            let all = 2 * MOST_FLOWS;
            return Some(format!("{MOST_FLOWS} flows of one address, and {all} in all, go on at a time"));
        };
        self.samples = samples;
        self.flows.push(seat);
        None
    }
}

/// Returns the most samples that the record of the flow that `command` starts can have.
fn samples(command: &Command) -> u64 {
    let Command::Start { side, sample_ns, .. } = command else { return 0 };
    let longest = side.flow.traffic.duration().unwrap_or(LONGEST).0.saturating_add(side.flow.start.0);
    longest / (*sample_ns).max(1)
}

/// The two ends of a session's traffic.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    /// This machine's address.
    pub here: HostAddress,
    /// The client's address.
    pub there: IpAddr,
}

impl Between {
    /// Returns the reason for refusing `command`; none if it is carried out. `congestion_controls` are those that
    /// the kernel has loaded, because setting another name would make it look for a module.
    pub fn refusal(&self, command: &Command, congestion_controls: &[String]) -> Option<String> {
        match command {
            Command::Listen(side) => self.refuse_side(side, congestion_controls),
            Command::Respond { address, .. } => self.refuse_address(*address),
            Command::ProbePathMtu { address, destination, expected, round_trip, .. } => self
                .refuse_address(*address)
                .or_else(|| self.refuse_destination(*destination))
                .or_else(|| (*expected > 65_535).then(|| "a path MTU above 65535".into()))
                .or_else(|| refuse_round_trip(*round_trip)),
            Command::Inspect { side, destination } => {
                self.refuse_side(side, congestion_controls).or_else(|| self.refuse_destination(*destination))
            }
            Command::Start { side, destination, sample_ns } => self
                .refuse_side(side, congestion_controls)
                .or_else(|| self.refuse_destination(*destination))
                .or_else(|| {
                    (*sample_ns < 1_000_000).then(|| "samples more often than each millisecond".into())
                }),
        }
    }

    fn refuse_address(&self, address: HostAddress) -> Option<String> {
        (address != self.here).then(|| format!("{address} is not the address that serves this session"))
    }

    fn refuse_destination(&self, destination: SocketAddr) -> Option<String> {
        let why = || format!("traffic goes to {} only, not to {}", self.there, destination.ip());
        (destination.ip() != self.there).then(why)
    }

    fn refuse_side(&self, side: &Side, congestion_controls: &[String]) -> Option<String> {
        let flow = &side.flow;
        if let Some(why) = self.refuse_address(side.address) {
            return Some(why);
        }
        if let Some(why) = refuse_round_trip(side.round_trip) {
            return Some(why);
        }
        if !congestion_controls.contains(&side.congestion_control) {
            return Some(format!("congestion control {:?} is not loaded here", side.congestion_control));
        }
        let bytes = match &flow.traffic {
            Traffic::Transfer(transfer) => transfer.size.map_or(0, |size| size.0),
            Traffic::RequestResponse(_) | Traffic::Packets(_) | Traffic::Sweep(_) => 0,
            // All other kinds read files or start programs of this machine.
            Traffic::FileTransfer(_) | Traffic::Tool(_) => {
                return Some(format!("traffic of the kind {} is not served", flow.traffic.kind()));
            }
        };
        if flow.transport == Transport::Icmp {
            return Some("ICMP is not served".into());
        }
        if bytes > MOST_BYTES || flow.traffic.duration() > Some(LONGEST) || flow.start > LONGEST {
            return Some(format!("a flow may take {LONGEST} and one transfer {MOST_BYTES} bytes"));
        }
        let measure = Measure {
            trial: String::new(),
            flow: flow.clone(),
            streams: 1,
            interval: LONGEST,
            congestion_control: None,
            mtu: None,
        };
        let problems =
            measure.problems().into_iter().chain(nettrial_traffic::problems(flow, &measure.flow_place()));
        problems.map(|problem| format!("{} {}: {}", problem.setting, problem.value, problem.hint)).next()
    }
}

/// Refuses a round-trip time for which an agent would wait for too long.
fn refuse_round_trip(round_trip: Option<Duration>) -> Option<String> {
    let why = || format!("a round-trip time above {LONGEST_ROUND_TRIP}");
    (round_trip > Some(LONGEST_ROUND_TRIP)).then(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Flow;
    use nettrial_traffic::Cookie;

    const HERE: &str = "192.0.2.1";
    const THERE: &str = "192.0.2.2";

    fn flow(transport: &str, traffic: &str) -> Flow {
        let text = format!(
            r#"{{"name": "measured", "from": "client", "to": "server", "transport": "{transport}", "ip": 4,
                "traffic": {traffic}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn side(flow: Flow) -> Side {
        let address = HERE.parse().unwrap();
        Side {
            flow,
            cookie: Cookie([0; 16]),
            address,
            congestion_control: "cubic".into(),
            clock_offset: None,
            round_trip: None,
            virtual_time: false,
        }
    }

    fn refusal(command: &Command) -> Option<String> {
        let between = Between { here: HERE.parse().unwrap(), there: THERE.parse().unwrap() };
        between.refusal(command, &["cubic".to_owned()])
    }

    fn transfer() -> Side {
        side(flow("tcp", r#"{"kind": "transfer", "duration": "2 s"}"#))
    }

    fn start(side: Side, destination: &str) -> Command {
        Command::Start { side, destination: destination.parse().unwrap(), sample_ns: 100_000_000 }
    }

    #[test]
    fn traffic_between_the_two_is_served() {
        assert_eq!(refusal(&Command::Listen(transfer())), None);
        assert_eq!(refusal(&start(transfer(), "192.0.2.2:4000")), None);
        let exchange =
            r#"{"kind": "request_response", "request": "64 B", "response": "64 B", "duration": "1 s"}"#;
        assert_eq!(refusal(&Command::Listen(side(flow("tcp", exchange)))), None);
    }

    #[test]
    fn programs_and_files_of_this_machine_are_out_of_reach() {
        for (transport, traffic, why) in [
            ("tcp", r#"{"kind": "tool", "tool": "exec", "arguments": ["id"]}"#, "the kind tool"),
            ("icmp", r#"{"kind": "tool", "tool": "ping", "duration": "1 s"}"#, "the kind tool"),
            ("tcp", r#"{"kind": "file_transfer", "file": "/etc/shadow"}"#, "the kind file_transfer"),
        ] {
            for command in [
                Command::Listen(side(flow(transport, traffic))),
                start(side(flow(transport, traffic)), "192.0.2.2:4000"),
            ] {
                assert!(refusal(&command).unwrap().contains(why), "{traffic}");
            }
        }
    }

    #[test]
    fn nobody_else_is_sent_anything() {
        assert!(refusal(&start(transfer(), "192.0.2.3:4000")).unwrap().contains("192.0.2.2 only"));
        let cookie = Cookie([0; 16]);
        let (address, destination) = (HERE.parse().unwrap(), "198.51.100.1:53".parse().unwrap());
        let probe = Command::ProbePathMtu { cookie, address, destination, expected: 1500, round_trip: None };
        assert!(refusal(&probe).unwrap().contains("192.0.2.2 only"));
        let address = "127.0.0.1".parse().unwrap();
        assert!(refusal(&Command::Respond { cookie, address }).is_some());
    }

    #[test]
    fn an_agent_does_not_wait_for_longer_than_a_path_may_take() {
        for (seconds, refused) in [(60, false), (61, true)] {
            let round_trip = Some(Duration(seconds * 1_000_000_000));
            let cookie = Cookie([0; 16]);
            let (address, destination) = (HERE.parse().unwrap(), format!("{THERE}:53").parse().unwrap());
            let probe = Command::ProbePathMtu { cookie, address, destination, expected: 1500, round_trip };
            assert_eq!(refusal(&probe).is_some(), refused);
            assert_eq!(refusal(&Command::Listen(Side { round_trip, ..transfer() })).is_some(), refused);
        }
    }

    fn respond() -> Command {
        Command::Respond { cookie: Cookie([0; 16]), address: HERE.parse().unwrap() }
    }

    #[test]
    fn the_flows_of_an_address_and_of_all_are_bounded_over_sessions() {
        let seats = flow_seats();
        let session = |peer: &str| Ration::new(&seats, peer.parse().unwrap());
        let taken = |ration: &mut Ration| {
            let orders = [start(transfer(), "192.0.2.2:4000"), Command::Listen(transfer())];
            orders.iter().cycle().take(2000).filter(|order| ration.refusal(order).is_none()).count()
        };
        let [mut first, mut second] = [session(THERE), session(THERE)];
        assert_eq!(taken(&mut first), 128);
        assert_eq!(taken(&mut second), 0);
        let [mut other, mut third] = [session("192.0.2.3"), session("192.0.2.4")];
        assert_eq!((taken(&mut other), taken(&mut third)), (128, 0));
        assert!(third.refusal(&Command::Listen(transfer())).unwrap().contains("128 flows of one address"));
        drop(first);
        assert_eq!(taken(&mut second), 128);
    }

    #[test]
    fn an_agents_other_orders_are_bounded() {
        let mut ration = Ration::new(&flow_seats(), THERE.parse().unwrap());
        let inspect = Command::Inspect { side: transfer(), destination: "192.0.2.2:4000".parse().unwrap() };
        let orders = [respond(), inspect];
        let refused = orders.iter().cycle().take(2000).filter(|order| ration.refusal(order).is_some());
        assert_eq!(refused.count(), 2000 - 16);
    }

    #[test]
    fn the_samples_of_all_flows_of_an_agent_are_bounded() {
        let start = |flow: &Flow, sample_ns| {
            let destination = "192.0.2.2:4000".parse().unwrap();
            Command::Start { side: side(flow.clone()), destination, sample_ns }
        };
        let fresh = || Ration::new(&flow_seats(), THERE.parse().unwrap());
        let untimed = flow("tcp", r#"{"kind": "transfer", "size": "1 GB"}"#);
        let mut ration = fresh();
        assert!(ration.refusal(&start(&untimed, 1_000_000)).unwrap().contains("100000 samples"));
        // An hour of them each tenth of a second are 36,000.
        let taken = (0..4).map(|_| ration.refusal(&start(&untimed, 100_000_000)).is_none());
        assert_eq!(taken.collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!(fresh().refusal(&start(&transfer().flow, 1_000_000)), None);
        assert!(refusal(&start(&untimed, 999_999)).unwrap().contains("each millisecond"));
        assert!(fresh().refusal(&start(&untimed, 0)).is_some());
    }

    #[test]
    fn what_lasts_too_long_or_is_impossible_is_refused() {
        for traffic in [
            r#"{"kind": "transfer", "duration": "61 min"}"#,
            r#"{"kind": "transfer", "size": "2000 GB"}"#,
            r#"{"kind": "transfer"}"#,
        ] {
            assert!(refusal(&Command::Listen(side(flow("tcp", traffic)))).is_some(), "{traffic}");
        }
        let mut late = transfer();
        late.flow.start = Duration(u64::MAX);
        assert!(refusal(&Command::Listen(late)).is_some());
        let module = Side { congestion_control: "../evil".into(), ..transfer() };
        assert!(refusal(&Command::Listen(module)).unwrap().contains("is not loaded"));
    }
}
