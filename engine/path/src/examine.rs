//! The steps of an examination.

use crate::buffers;
use crate::directions::{self, Bounds, Directions};
use crate::error::{Error, Result};
use crate::hops::Traced;
use crate::local::{self, Local};
use crate::probe::{Hearing, Prober};
use crate::report::{BaseRtt, Hop, Limit, Means, PathRecord, Trusting};
use crate::request::PathRequest;
use crate::sizes::{self, LARGEST_PACKET};
use crate::wire::Wire;
use crate::{hops, mss, rtt, search, theory, verdict};
use nettrial_scenario::{Absence, IpVersion, chain};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The senders of the probes that a host may answer, or the reason why there is none.
struct Probers {
    echo: Result<Wire, String>,
    udp: Result<Wire, String>,
}

/// The findings of the probes.
struct Probed {
    answers: Vec<Means>,
    rtt: Option<BaseRtt>,
    directions: Directions,
    trusting: Option<Trusting>,
    hops: Vec<Hop>,
    refused_by: Option<IpAddr>,
    limits: Vec<Limit>,
    /// The hearing of the prober that found the hops.
    hearing: Hearing,
}

/// Examines the path to `target`.
///
/// # Errors
/// Fails if this machine has no route to `target`, or can't send probes.
pub fn examine(target: SocketAddr, request: &PathRequest) -> Result<PathRecord> {
    let version = IpVersion::of(target.ip());
    let Local { address, interface, kernel_mtu } = local::find(target)?;
    let asked = request.max_mtu.map_or(LARGEST_PACKET, |size| size.0);
    let largest = interface.mtu_bytes.min(LARGEST_PACKET).min(asked);
    let mut probers = Probers {
        echo: Wire::echo(target).map_err(|error| local::no_echo(&error)),
        udp: Wire::udp(target).map_err(|error| chain(&error)),
    };
    if let (Err(echo), Err(udp)) = (&probers.echo, &probers.udp) {
        return Err(Error::CannotProbe(format!("{echo}; UDP: {udp}")));
    }
    let mut absent = Vec::new();
    let probed = probe(&mut probers, target.ip(), largest, &interface.name)?;
    let forward = probed.directions.forward.as_ref();
    let reverse = probed.directions.reverse.as_ref();
    note_absent(&probers, &probed, &mut absent);
    if kernel_mtu.is_none() {
        absent.push(absence("kernel_mtu", "this system does not report it"));
    }

    let round_trip = probed.rtt.as_ref().map(|rtt| Duration::from_secs_f64(rtt.median_us / 1e6));
    let mss = mss::measure(target, &request.ports, forward, round_trip);
    let mss = mss.map_err(|reason| absent.push(absence("mss", reason))).ok();
    let rate = match (request.rate, interface.speed_bps) {
        (Some(rate), _) => Ok((rate.0, "given")),
        (None, Some(speed)) => Ok((speed, "interface")),
        (None, None) => Err("the interface does not report its speed: give the rate (--rate)"),
    };
    let settings = buffers::settings();
    let buffers = match (rate, &probed.rtt) {
        (Ok(_), Some(_)) if settings.is_empty() => {
            absent.push(absence("buffers", "this system does not report the limits of its buffers"));
            None
        }
        (Ok((rate, from)), Some(rtt)) => {
            Some(buffers::compare(rate, from, (rtt.minimum_us * 1000.0) as u64, settings))
        }
        (Err(reason), _) => {
            absent.push(absence("buffers", reason));
            None
        }
        (_, None) => {
            absent.push(absence("buffers", "the round-trip time is not known"));
            None
        }
    };
    let timestamps = match &mss {
        Some(mss) => mss.timestamps,
        None => local::timestamps(),
    };
    let theory = theory::table(theory::Known {
        version,
        timestamps,
        directions: [forward, reverse],
        buffers: buffers.as_ref(),
        rtt: probed.rtt.as_ref(),
    });
    let verdict = verdict::weigh(verdict::Known {
        interface: &interface,
        kernel_mtu,
        largest_tried: largest,
        forward,
        reverse,
        trusting: probed.trusting.as_ref(),
        limits: &probed.limits,
        hops: &probed.hops,
        refused_by: probed.refused_by,
        steady: probed.directions.steady,
    });
    Ok(PathRecord {
        ip: version,
        address: target.ip().to_string(),
        local_address: address.to_string(),
        interface,
        kernel_mtu_bytes: kernel_mtu,
        largest_tried_bytes: largest,
        answers: probed.answers,
        rtt: probed.rtt,
        forward: probed.directions.forward,
        reverse: probed.directions.reverse,
        trusting: probed.trusting,
        hops: probed.hops,
        limits: probed.limits,
        mss,
        buffers,
        theory,
        verdict,
        absent,
    })
}

fn absence(metric: &str, reason: impl Into<String>) -> Absence {
    Absence { metric: metric.into(), object: "the path".into(), reason: reason.into() }
}

/// Adds the reasons why figures are missing to `absent`.
fn note_absent(probers: &Probers, probed: &Probed, absent: &mut Vec<Absence>) {
    let echo = match &probers.echo {
        Err(reason) => Some(reason.clone()),
        Ok(_) if !probed.answers.contains(&Means::Echo) => Some("the host does not answer ICMP echo".into()),
        Ok(_) => None,
    };
    let udp = match &probers.udp {
        Err(reason) => Some(reason.clone()),
        Ok(_) if !probed.answers.contains(&Means::Udp) => {
            Some("the host sends no ICMP error for a closed UDP port".into())
        }
        Ok(_) => None,
    };
    if probed.answers.is_empty() {
        let reason = format!("{}; {}", echo.clone().unwrap_or_default(), udp.unwrap_or_default());
        for metric in ["rtt", "forward", "reverse"] {
            absent.push(absence(metric, reason.clone()));
        }
    } else if let Some(reason) = echo {
        absent.push(absence("reverse", reason));
    } else if !probed.hearing.fragments {
        let reason = "this system does not report whether an answer arrived whole or in fragments";
        absent.push(absence("reverse", reason));
    }
    if !probed.answers.is_empty() && !probed.hearing.claims {
        absent.push(absence(
            "trusting",
            "this system does not show programs the ICMP messages about packets that are too big",
        ));
    }
    if !probed.hearing.expiry {
        absent.push(absence("hops", "this system does not show programs where packets expire"));
    }
}

fn probe(probers: &mut Probers, target: IpAddr, largest: u64, interface: &str) -> Result<Probed> {
    let version = IpVersion::of(target);
    let small = sizes::small(version).min(largest);
    let mut answers = Vec::new();
    let mut times = Vec::new();
    for (means, wire) in [(Means::Echo, &mut probers.echo), (Means::Udp, &mut probers.udp)] {
        if let Ok(wire) = wire
            && let Some(rtt) = rtt::measure(wire, means, small)?
        {
            answers.push(means);
            times.push(rtt);
        }
    }
    let echo = probers.echo.as_mut().ok().filter(|_| answers.contains(&Means::Echo));
    let udp = probers.udp.as_mut().ok().filter(|_| answers.contains(&Means::Udp));
    let (mut echo, mut udp) =
        (echo.map(|wire| wire as &mut dyn Prober), udp.map(|wire| wire as &mut dyn Prober));
    let mut trusting = match echo.as_deref_mut().or(udp.as_deref_mut()) {
        Some(prober) if prober.hearing().claims => {
            Some(search::trusting(prober, largest, version.minimum_mtu().min(largest))?)
        }
        _ => None,
    };
    let hint = trusting.as_ref().map(|trusting| trusting.mtu_bytes);
    let bounds = Bounds { small, base: sizes::base(version).min(largest), largest, hint };
    let mut directions = directions::measure(echo, udp, bounds)?;

    let answered = !answers.is_empty();
    let prober: &mut dyn Prober = match (&mut probers.echo, &mut probers.udp) {
        (Ok(echo), _) if answers.contains(&Means::Echo) || !answered => echo,
        (_, Ok(udp)) => udp,
        (Ok(echo), _) => echo,
        (Err(echo), Err(udp)) => return Err(Error::CannotProbe(format!("{echo}; {udp}"))),
    };
    let hearing = prober.hearing();
    let Traced { mut hops, refused_by } = if hearing.expiry {
        hops::trace(prober, target, small, answered)?
    } else {
        Traced { hops: Vec::new(), refused_by: None }
    };
    let messages = trusting.as_ref().map_or(&[][..], |trusting| &trusting.messages);
    let forward = directions.forward.as_ref();
    let sizes = hops::telling_sizes(forward, messages, largest);
    let reaches = hops.last().is_some_and(|hop| hop.address == Some(target.to_string()));
    hops::measure(prober, &mut hops, &sizes, forward.filter(|_| reaches))?;
    hops::hear(&mut hops, messages);
    let limits = hops::limits(&hops, largest, interface, messages);
    settle(&mut directions, trusting.as_mut(), !limits.is_empty());
    let rtt = times.into_iter().next();
    Ok(Probed { answers, rtt, directions, trusting, hops, refused_by, limits, hearing })
}

/// Corrects earlier findings by later ones.
fn settle(directions: &mut Directions, trusting: Option<&mut Trusting>, located: bool) {
    let Some(forward) = &mut directions.forward else { return };
    if located && !forward.limited {
        forward.limited = true;
        forward.how.push_str(", and where larger packets expire");
    }
    if let Some(trusting) = trusting {
        // If a reply was lost on the reverse path, its request may have arrived.
        trusting.arrives |= trusting.mtu_bytes <= forward.mtu_bytes;
    }
}
