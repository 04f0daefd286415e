//! ICMP echo of Windows over IPv4 (IcmpSendEcho), which needs no privileges. Over IPv6 it can't forbid fragmentation.

use crate::probe::{Outcome, Probe};
use crate::sizes::PROBE_HEADER_BYTES;
use anyhow::{Result, ensure};
use nettrial_scenario::IpVersion;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::NetworkManagement::IpHelper;

/// Milliseconds for an answer: routers say once a second at most that a packet expired.
const WAIT_MS: u32 = 1100;
/// Hops of packets that are to arrive.
const FAR: u8 = 128;
/// Room that the system wants for the ICMP error of a packet, beside the answer's own (the documentation of IcmpSendEcho).
const ERROR_BYTES: usize = 8;
/// Room that Windows' own programs leave for a status block beside that.
const STATUS_BYTES: usize = 16;

/// Sends each of `probes` at the same time, for each waits for its answer, and gives their outcomes.
///
/// # Errors
/// Fails where the system has no ICMP.
pub fn round(target: Ipv4Addr, probes: &[Probe]) -> Result<Vec<Outcome>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = probes.iter().map(|&probe| scope.spawn(move || send(target, probe))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|outcome| outcome.unwrap_or_else(|_| Ok(Outcome::Lost))).collect()
    })
}

fn send(target: Ipv4Addr, probe: Probe) -> Result<Outcome> {
    let headers = IpVersion::V4.header_bytes() + PROBE_HEADER_BYTES;
    let payload = vec![0u8; usize::try_from(probe.size.saturating_sub(headers))?];
    let options = IpHelper::IP_OPTION_INFORMATION {
        Ttl: probe.hops.unwrap_or(FAR),
        Flags: IpHelper::IP_FLAG_DF as u8,
        ..Default::default()
    };
    let room = size_of::<IpHelper::ICMP_ECHO_REPLY>() + payload.len() + ERROR_BYTES + STATUS_BYTES;
    // Aligned for the answer.
    let mut answer = vec![0u64; room.div_ceil(8)];
    // SAFETY: the call takes nothing.
    let handle = unsafe { IpHelper::IcmpCreateFile() };
    ensure!(handle != INVALID_HANDLE_VALUE, "ICMP: {}", std::io::Error::last_os_error());
    let begin = Instant::now();
    // SAFETY: the handle is open; the payload, the options and the answer's memory have the lengths that are told, and
    // outlive the call, which waits for the answer.
    let count = unsafe {
        IpHelper::IcmpSendEcho(
            handle,
            u32::from_ne_bytes(target.octets()),
            payload.as_ptr().cast(),
            u16::try_from(payload.len())?,
            &raw const options,
            answer.as_mut_ptr().cast(),
            u32::try_from(room)?,
            WAIT_MS,
        )
    };
    let rtt = begin.elapsed();
    // SAFETY: the handle is open, and not used any more.
    unsafe { IpHelper::IcmpCloseHandle(handle) };
    if count == 0 {
        return Ok(Outcome::Lost);
    }
    // SAFETY: the system has written an answer at the beginning of the memory, which is aligned for it.
    let reply = unsafe { &*answer.as_ptr().cast::<IpHelper::ICMP_ECHO_REPLY>() };
    let by = IpAddr::from(reply.Address.to_ne_bytes());
    Ok(match reply.Status {
        IpHelper::IP_SUCCESS if by == IpAddr::from(target) => Outcome::Arrived { rtt, fragment: None },
        IpHelper::IP_TTL_EXPIRED_TRANSIT => Outcome::Expired { by, rtt },
        // Of a packet too big it does not tell the MTU.
        IpHelper::IP_SUCCESS | IpHelper::IP_PACKET_TOO_BIG | IpHelper::IP_REQ_TIMED_OUT => Outcome::Lost,
        _ => Outcome::Refused { by },
    })
}
