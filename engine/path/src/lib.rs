//! Examines the path to a host: its MTU in each direction and hop by hop, with and without reliance on ICMP; the
//! place of its limit; and the goodput that the path and this host's settings allow TCP.
//!
//! ```text
//! examine ─> local      this host's interface and its settings
//!         ─> wire       probes that may not be fragmented: ICMP echo, UDP (socket: the kernel's edge)
//!         ─> rtt, search, directions, hops      what the answers show
//!         ─> mss, buffers, theory, verdict      what follows
//! ```
//!
//! An examination runs unprivileged with UDP probes and the ICMP errors that they cause. Privileges add ICMP echo,
//! without which the reverse path can't be measured. Systems other than Linux show programs less of ICMP
//! (`elsewhere`): findings that can't be made there are absent.

mod buffers;
mod directions;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod examine;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hops;
#[cfg(target_os = "linux")]
mod local;
#[cfg(target_os = "linux")]
mod mss;
mod probe;
mod report;
mod request;
mod rtt;
mod search;
mod sizes;
#[cfg(target_os = "linux")]
mod socket;
mod theory;
mod verdict;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(not(target_os = "linux"))]
use elsewhere::{local, mss, wire};

#[cfg(test)]
mod model;

pub use buffers::bandwidth_delay_product;
pub use error::{Error, Result};
pub use report::{
    BaseRtt, Buffers, Direction, Goodput, Hop, Interface, Jumbo, Limit, Means, Mss, MssFinding, PathRecord,
    PathReport, TooBig, Trusting, Verdict,
};
pub use request::{PathAnswer, PathRequest};

use nettrial_scenario::{Absence, IpVersion, Place, Problem, Shortfall, nanoseconds};
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the report's format.
const FORMAT: u32 = 1;

/// Examines the path that `request` names. An examination takes between a few seconds and a minute; most of that
/// time is spent waiting for answers that hosts send at a limited rate, or not at all.
pub fn examine(request: &PathRequest) -> PathAnswer {
    let targets = match targets(request) {
        Ok(targets) => targets,
        Err(problem) => return PathAnswer::BadRequest { problem: *problem },
    };
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (mut paths, mut missing) = (Vec::new(), Vec::new());
    for target in targets {
        match examine::examine(target, request) {
            Ok(path) => paths.push(path),
            Err(error) => missing.push(Shortfall::new(
                format!("IPv{} to {}", u8::from(IpVersion::of(target.ip())), target.ip()),
                nettrial_scenario::chain(&error),
                "check the routes and addresses of this host, and the packets that its firewall lets out",
            )),
        }
    }
    if paths.is_empty() {
        return PathAnswer::Cannot { missing };
    }
    let absent = |lack: Shortfall| Absence { metric: "path".into(), object: lack.what, reason: lack.why };
    PathAnswer::Report {
        report: Box::new(PathReport {
            format: FORMAT,
            engine_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ns: nanoseconds(started),
            host: request.host.clone(),
            paths,
            absent: missing.into_iter().map(absent).collect(),
        }),
    }
}

/// Returns the host's first address of each requested IP version.
fn targets(request: &PathRequest) -> Result<Vec<SocketAddr>, Box<Problem>> {
    let bad = |setting: &str, value: String, expected: &str, hint: String| {
        Box::new(Place::new("", "the path").problem(setting, value, expected, hint))
    };
    let bad_host = |hint: String| bad("host", request.host.clone(), "a host's name or address", hint);
    if let Some(size) = request.max_mtu
        && !(IpVersion::V6.minimum_mtu()..=sizes::LARGEST_PACKET).contains(&size.0)
    {
        let hint = "IPv6 requires an MTU of at least 1280 bytes (RFC 8200 section 5)";
        return Err(bad("max_mtu", size.to_string(), "1280 B to 65535 B", hint.into()));
    }
    let addresses =
        (request.host.as_str(), 0).to_socket_addrs().map_err(|error| bad_host(error.to_string()))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    if let Some(several) = addresses.iter().find(|address| !is_one_host(address.ip())) {
        return Err(bad_host(format!("{} is not the address of one host", several.ip())));
    }
    if addresses.iter().any(lacks_zone) {
        let hint = "each interface has a link of its own with such addresses: name it, as in fe80::1%eth0";
        return Err(bad_host(hint.into()));
    }
    let wanted =
        [IpVersion::V4, IpVersion::V6].into_iter().filter(|&one| request.ip.is_none_or(|ip| ip == one));
    let targets: Vec<SocketAddr> = wanted
        .filter_map(|version| {
            addresses.iter().copied().find(|address| IpVersion::of(address.ip()) == version)
        })
        .collect();
    if targets.is_empty() {
        let version = request.ip.map_or("IP".to_owned(), |ip| format!("IPv{}", u8::from(ip)));
        return Err(bad_host(format!("the host has no {version} address")));
    }
    Ok(targets)
}

/// Returns true if an address is link-local and does not say of which link.
fn lacks_zone(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(six) if six.ip().is_unicast_link_local() && six.scope_id() == 0)
}

fn is_one_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !(address.is_multicast() || address.is_unspecified() || broadcast)
}

/// The documents that cross the standard input and output of the engine that examines a path.
#[derive(JsonSchema)]
#[allow(dead_code)]
struct PathProtocol {
    request: PathRequest,
    answer: PathAnswer,
}

/// Returns the JSON Schema (draft 2020-12) of a request and its answer.
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<PathProtocol>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str) -> PathRequest {
        PathRequest { host: host.into(), ip: None, max_mtu: None, rate: None, ports: Vec::new() }
    }

    #[test]
    fn a_host_that_is_none_is_refused() {
        for host in
            ["", "fe80::1", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "a b", "no-such-host.invalid"]
        {
            let problem = targets(&request(host)).expect_err(host);
            assert_eq!(problem.setting, "host");
        }
        let wrong_version = PathRequest { ip: Some(IpVersion::V6), ..request("127.0.0.1") };
        assert!(targets(&wrong_version).unwrap_err().hint.contains("no IPv6 address"));
    }

    #[test]
    fn a_size_that_no_packet_has_is_refused() {
        for size in [0, 1279, 65_536] {
            let asked = PathRequest { max_mtu: Some(nettrial_scenario::Size(size)), ..request("127.0.0.1") };
            assert_eq!(targets(&asked).unwrap_err().setting, "max_mtu");
        }
    }
}
