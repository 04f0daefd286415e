//! The rules of a served agent, which works for who has the token: traffic between the two machines, and nothing
//! else.

use nettrial_scenario::{Duration, Flow, Measure, Traffic, Transport};
use nettrial_traffic::{Command, Side};
use std::net::{IpAddr, SocketAddr};

/// The longest flow, and the latest start.
const LONGEST: Duration = Duration(3_600_000_000_000);
/// The most bytes of one transfer.
const MOST_BYTES: u64 = 1 << 40;

/// The most samples of a flow: as many as a report holds.
const MOST_SAMPLES: u64 = 100_000;
/// The most orders that one agent takes, and of them the flows that it starts. A measurement has an agent of
/// its own, which takes at most five orders.
const MOST_ORDERS: u32 = 16;
const MOST_STARTS: u32 = 1;

/// The orders that an agent was given.
#[derive(Debug, Default)]
pub struct Ration {
    orders: u32,
    starts: u32,
}

impl Ration {
    /// Why the agent does not take `command` beside those it was given; none if it does, and `command` is
    /// counted.
    pub fn refusal(&mut self, command: &Command) -> Option<String> {
        if self.orders >= MOST_ORDERS {
            return Some(format!("an agent takes {MOST_ORDERS} orders"));
        }
        if matches!(command, Command::Start { .. }) {
            if self.starts >= MOST_STARTS {
                return Some(format!("an agent starts {MOST_STARTS} flow"));
            }
            self.starts += 1;
        }
        self.orders += 1;
        None
    }
}

/// Between whom a session's traffic goes, seen from here.
#[derive(Debug, Clone, Copy)]
pub struct Between {
    /// This machine's address.
    pub here: IpAddr,
    /// The client's.
    pub there: IpAddr,
}

impl Between {
    /// Why `command` is not carried out; none if it is. `congestion_controls` are the kernel's: asking
    /// for another one makes it look for a module.
    pub fn refusal(&self, command: &Command, congestion_controls: &[String]) -> Option<String> {
        match command {
            Command::Listen(side) => self.refuse_side(side, congestion_controls),
            Command::Respond { address, .. } => self.refuse_address(*address),
            Command::ProbePathMtu { address, destination, expected, .. } => self
                .refuse_address(*address)
                .or_else(|| self.refuse_destination(*destination))
                .or_else(|| (*expected > 65_535).then(|| "a path MTU above 65535".into())),
            Command::Inspect { side, destination } => {
                self.refuse_side(side, congestion_controls).or_else(|| self.refuse_destination(*destination))
            }
            Command::Start { side, destination, sample_ns } => self
                .refuse_side(side, congestion_controls)
                .or_else(|| self.refuse_destination(*destination))
                .or_else(|| refuse_samples(&side.flow, *sample_ns)),
        }
    }

    fn refuse_address(&self, address: IpAddr) -> Option<String> {
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
        if !congestion_controls.contains(&side.congestion_control) {
            return Some(format!("congestion control {:?} is not loaded here", side.congestion_control));
        }
        let bytes = match &flow.traffic {
            Traffic::Transfer(transfer) => transfer.size.map_or(0, |size| size.0),
            Traffic::RequestResponse(_) | Traffic::Packets(_) | Traffic::Sweep(_) => 0,
            // Everything else reads files or starts programs of this machine.
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
        let measure = Measure { trial: String::new(), flow: flow.clone(), interval: LONGEST };
        let problems =
            measure.problems().into_iter().chain(nettrial_traffic::problems(flow, &measure.flow_place()));
        problems.map(|problem| format!("{} {}: {}", problem.setting, problem.value, problem.hint)).next()
    }
}

fn refuse_samples(flow: &Flow, sample_ns: u64) -> Option<String> {
    let longest = flow.traffic.duration().unwrap_or(LONGEST).0.saturating_add(flow.start.0);
    if sample_ns < 1_000_000 {
        Some("samples more often than each millisecond".into())
    } else if longest / sample_ns > MOST_SAMPLES {
        Some(format!("a flow may have {MOST_SAMPLES} samples"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(refusal(&Command::ProbePathMtu { cookie, address, destination, expected: 1500 }).is_some());
        let address = "127.0.0.1".parse().unwrap();
        assert!(refusal(&Command::Respond { cookie, address }).is_some());
    }

    #[test]
    fn an_agents_orders_and_samples_are_bounded() {
        let mut ration = Ration::default();
        assert_eq!(ration.refusal(&start(transfer(), "192.0.2.2:4000")), None);
        assert!(ration.refusal(&start(transfer(), "192.0.2.2:4000")).unwrap().contains("starts 1 flow"));
        let refused = (0..2000).filter(|_| ration.refusal(&Command::Listen(transfer())).is_some()).count();
        assert_eq!(refused, 2000 - 15);
        let often = |flow: Flow, sample_ns| {
            let destination = "192.0.2.2:4000".parse().unwrap();
            refusal(&Command::Start { side: side(flow), destination, sample_ns })
        };
        let untimed = flow("tcp", r#"{"kind": "transfer", "size": "1 GB"}"#);
        assert!(often(untimed.clone(), 1_000_000).unwrap().contains("100000 samples"));
        assert_eq!(often(untimed, 100_000_000), None);
        assert_eq!(often(transfer().flow, 1_000_000), None);
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
