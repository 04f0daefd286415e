//! Finds what makes socket options impossible.

use crate::{Flow, Place, Problem, Traffic, Transport};

/// Adds everything that is wrong with the socket options of `flow`, which is at `place`.
pub fn check(flow: &Flow, place: &Place, problems: &mut Vec<Problem>) {
    let options = &flow.socket;
    let of_socket = place.within("socket");
    if matches!(flow.traffic, Traffic::Tool(_)) && !options.is_default() {
        let hint = "give them to the tool itself, among its arguments";
        problems.push(place.problem("socket", "options", "none with a tool", hint));
        return;
    }
    let mut refuse = |setting: &str, value: String, expected: &str, hint: &str| {
        problems.push(of_socket.problem(setting, value, expected, hint));
    };
    if let Some(mss) = options.mss {
        if flow.transport == Transport::Udp {
            refuse("mss", mss.to_string(), "none over UDP", "only TCP has segments");
        } else if !(88..=32_767).contains(&mss.0) {
            refuse("mss", mss.to_string(), "88 B to 32767 B", "the kernel's TCP_MAXSEG takes no other");
        }
    }
    if let Some(window) = options.window {
        if flow.transport != Transport::Tcp {
            let expected = format!("none over {}", flow.transport.name());
            refuse("window", window.to_string(), &expected, "only TCP has a window that a socket sets");
        } else if !(4096..=1 << 30).contains(&window.0) {
            refuse(
                "window",
                window.to_string(),
                "4 KiB to 1 GiB",
                "TCP announces no more than 1 GiB (RFC 7323 section 2.3)",
            );
        }
    }
    for (setting, asked) in [("nagle", options.nagle), ("quick_ack", options.quick_ack)] {
        let is_carried =
            matches!(flow.traffic, Traffic::RequestResponse(_) | Traffic::Sweep(_) | Traffic::Packets(_));
        if asked && (flow.transport != Transport::Tcp || !is_carried) {
            refuse(setting, "true".into(), "false", "only messages and packets over TCP have it");
        }
    }
    if let Some(block) = options.block
        && !(1..=16 << 20).contains(&block.0)
    {
        refuse("block", block.to_string(), "1 B to 16 MiB", "so much is handed to the kernel at a time");
    }
    if let Some(busy_poll) = options.busy_poll
        && !(1_000..=1_000_000_000).contains(&busy_poll.0)
    {
        refuse("busy_poll", busy_poll.to_string(), "1 us to 1 s", "the kernel counts it in microseconds");
    }
    if options.dscp > 63 {
        refuse("dscp", options.dscp.to_string(), "0 to 63", "it has six bits (RFC 2474)");
    }
    if options.zerocopy && !(matches!(flow.traffic, Traffic::Transfer(_)) && flow.transport == Transport::Tcp)
    {
        refuse("zerocopy", "true".into(), "false", "only transfers over TCP are sent without copying");
    }
    if let Some(buffer) = options.udp_buffer {
        if flow.transport != Transport::Udp {
            refuse("udp_buffer", buffer.to_string(), "only with UDP", "the stack has the buffers of TCP");
        } else if !(4_096..=64 << 20).contains(&buffer.0) {
            let hint = "a kernel takes no smaller buffer as it is";
            refuse("udp_buffer", buffer.to_string(), "4 KiB to 64 MiB", hint);
        }
    }
    let datagrams = matches!(flow.traffic, Traffic::Packets(_)) && flow.transport == Transport::Udp;
    for (setting, asked) in [("udp_gso", options.udp_gso), ("udp_gro", options.udp_gro)] {
        if asked && !datagrams {
            refuse(setting, "true".into(), "false", "only packets over UDP leave or arrive in GSO packets");
        }
    }
}
