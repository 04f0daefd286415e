//! The size of packets that a measurement compares: the MTU of this machine's interface, or TCP's segment size.

use crate::client::Client;
use crate::interface;
use nettrial_scenario::{
    Check, FlowRecord, IpVersion, Measure, MeasuredMtu, MtuMeans, Place, Problem, Size, Transport,
};

/// The headers of TCP and IP without options (RFC 9293, RFC 791, RFC 8200), bytes.
const HEADERS: [u64; 2] = [40, 60];
/// The smallest MTU to which an interface is set: below it, it loses its IPv6 addresses.
const SMALLEST_MTU: u64 = 1280;

impl Client {
    /// Returns the name of the interface of this machine that has the address of the session.
    pub fn interface(&self) -> Option<String> {
        interface::name(self.here.into())
    }

    /// Returns the reasons why packets can't have the size of the measurement's MTU; none without one.
    pub fn mtu_problems(&self, measure: &Measure) -> Vec<Problem> {
        let Some(MeasuredMtu { size, by }) = measure.mtu else { return Vec::new() };
        let place = Place::new("/mtu", "the measurement");
        let above = |largest: Option<u64>| largest.filter(|largest| size.0 > *largest);
        let mut problems = Vec::new();
        if let Some(largest) = above(self.welcome.interface_mtu) {
            let expected = format!("up to {largest} B, the MTU of the server's interface");
            let hint = format!("set it on that machine first: ip link set dev INTERFACE mtu {}", size.0);
            problems.push(place.problem("mtu", size, expected, hint));
        }
        match by {
            MtuMeans::Interface if size.0 < SMALLEST_MTU => {
                let hint = "below that, Linux removes the interface's IPv6 addresses";
                problems.push(place.problem("mtu", size, format!("{SMALLEST_MTU} B or more"), hint));
            }
            MtuMeans::Interface => {}
            MtuMeans::Segments => {
                if measure.flow.transport != Transport::Tcp {
                    let hint = "only TCP divides data into segments: run as root, which may change the MTU";
                    problems.push(place.problem("mtu", size, "none over UDP for this user", hint));
                }
                if let Some(largest) = above(interface::mtu(self.here.into())) {
                    let expected = format!("up to {largest} B, the MTU of this machine's interface");
                    let hint = "this user may not change the MTU: run as root, or have it raised first";
                    problems.push(place.problem("mtu", size, expected, hint));
                }
            }
        }
        problems
    }
}

/// Returns the measurement with the segment size that stands for its MTU, if one does.
pub fn with_segments(measure: &Measure) -> Measure {
    let mut segmented = measure.clone();
    if let Some(MeasuredMtu { size, by: MtuMeans::Segments }) = measure.mtu {
        segmented.flow.socket.mss = Some(segment(size, measure.flow.ip));
    }
    segmented
}

/// Returns the segment size that an MTU allows, with TCP's options.
fn segment(mtu: Size, version: IpVersion) -> Size {
    let [four, six] = HEADERS;
    Size(mtu.0.saturating_sub(if version == IpVersion::V4 { four } else { six }))
}

/// Returns what packets had the size of the measurement's MTU by, as read back after the traffic; none without one.
pub fn check(client: &Client, measure: &Measure, flows: &[FlowRecord]) -> Option<Check> {
    let MeasuredMtu { size, by } = measure.mtu?;
    Some(match by {
        MtuMeans::Interface => {
            let mtu = interface::mtu(client.here.into());
            Check {
                name: "mtu".into(),
                object: Measure::CLIENT.into(),
                expected: size.to_string(),
                found: mtu.map_or_else(|| "unknown".into(), |bytes| format!("{bytes} B")),
                passed: mtu == Some(size.0),
            }
        }
        MtuMeans::Segments => {
            let (most, largest) =
                (segment(size, measure.flow.ip), flows.iter().map(|flow| flow.mss_bytes).max()?);
            Check {
                name: "segment_size".into(),
                object: measure.flow.name.clone(),
                expected: format!("up to {} B", most.0),
                found: format!("{largest} B"),
                passed: u64::from(largest) <= most.0,
            }
        }
    })
}
