//! ICMP echo on Windows over IPv4 (IcmpSendEcho), which needs no privileges. Its IPv6 counterpart can't forbid
//! fragmentation.

use crate::error::{Error, Result};
use crate::probe::{Outcome, Probe};
use crate::sizes::PROBE_HEADER_BYTES;
use nettrial_scenario::{During, IpVersion};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::NetworkManagement::IpHelper;

/// The time to wait for an answer, in milliseconds: routers report at most once a second that a packet expired.
const WAIT_MS: u32 = 1100;
/// The hop limit of packets that are to arrive.
const FAR: u8 = 128;
/// The room that the system requires for the ICMP error of a packet, in bytes, beside the answer (the
/// documentation of IcmpSendEcho).
const ERROR_BYTES: usize = 8;
/// The additional room that Windows' own programs leave for a status block, in bytes.
const STATUS_BYTES: usize = 16;

/// Sends all `probes` at the same time, because each call waits for its answer, and returns their outcomes.
///
/// # Errors
/// Fails if the system has no ICMP.
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
    // The memory is aligned for the answer.
    let mut answer = vec![0u64; room.div_ceil(8)];
    // SAFETY: the call takes no arguments.
    let handle = unsafe { IpHelper::IcmpCreateFile() };
    if handle == INVALID_HANDLE_VALUE {
        return Err(Error::from(std::io::Error::last_os_error()).during("ICMP"));
    }
    let begin = Instant::now();
    // SAFETY: the handle is open; the payload, the options and the answer's memory have the given lengths and
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
    // SAFETY: the handle is open, and is not used afterwards.
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
        // The status of a packet that is too big does not include the MTU.
        IpHelper::IP_SUCCESS | IpHelper::IP_PACKET_TOO_BIG | IpHelper::IP_REQ_TIMED_OUT => Outcome::Lost,
        _ => Outcome::Refused { by },
    })
}
