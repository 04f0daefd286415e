//! Kernel network settings of a namespace, through /proc/sys of the calling thread's namespace.

use anyhow::{Context, Result};
use nettrial_scenario::{Buffer, Node, NodeKind, Stack};
use std::collections::BTreeMap;
use std::fs;

/// Settings that bear on results and are left as a fresh namespace has them; recorded with a run.
const RECORDED: &[&str] = &[
    "net.mptcp.checksum_enabled",
    "net.mptcp.enabled",
    "net.mptcp.scheduler",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_tso_win_divisor",
];

/// Writes one setting of the calling thread's namespace.
pub fn write(name: &str, value: &str) -> Result<()> {
    fs::write(path(name), value).with_context(|| format!("setting {name} to {value:?}"))
}

/// Whether this kernel has the setting, in the calling thread's namespace.
pub fn is_there(name: &str) -> bool {
    fs::exists(path(name)).unwrap_or(false)
}

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// The recorded settings as the calling thread's namespace has them; what this kernel lacks is left out.
pub fn recorded() -> BTreeMap<String, String> {
    let read = |name: &&str| {
        let text = fs::read_to_string(path(name)).ok()?;
        Some(((*name).to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    RECORDED.iter().filter_map(read).collect()
}

/// Prepares the calling thread's namespace, before it has links, for `node`.
pub fn apply(node: &Node) -> Result<()> {
    let forwarding = if node.kind == NodeKind::Router { "1" } else { "0" };
    write("net.ipv4.ip_forward", forwarding)?;
    // A fresh namespace may inherit the machine's; replies may come back another way.
    write("net.ipv4.conf.all.rp_filter", "0")?;
    write("net.ipv4.conf.default.rp_filter", "0")?;
    if fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
        write("net.ipv6.conf.all.forwarding", forwarding)?;
        for scope in ["all", "default"] {
            // Addresses are used at once: nobody else is on the link to have them.
            write(&format!("net.ipv6.conf.{scope}.accept_dad"), "0")?;
            write(&format!("net.ipv6.conf.{scope}.accept_ra"), "0")?;
            write(&format!("net.ipv6.conf.{scope}.disable_ipv6"), "0")?;
        }
    }
    node.stack.as_ref().map_or(Ok(()), apply_stack)
}

fn apply_stack(stack: &Stack) -> Result<()> {
    let switch = |on: bool| if on { "1" } else { "0" };
    let triple = |buffer: &Buffer| format!("{} {} {}", buffer.minimum.0, buffer.initial.0, buffer.maximum.0);
    // For programs that choose none themselves. A namespace may only have one that is listed in
    // net.ipv4.tcp_allowed_congestion_control; where it is not, a check says so of a tool's flow.
    let _ = write("net.ipv4.tcp_congestion_control", &stack.congestion_control);
    write("net.ipv4.tcp_window_scaling", switch(stack.window_scaling))?;
    write("net.ipv4.tcp_sack", switch(stack.sack))?;
    write("net.ipv4.tcp_timestamps", switch(stack.timestamps))?;
    write("net.ipv4.tcp_mtu_probing", switch(stack.mtu_probing))?;
    write("net.ipv4.tcp_rmem", &triple(&stack.receive_buffer))?;
    write("net.ipv4.tcp_wmem", &triple(&stack.send_buffer))
}
