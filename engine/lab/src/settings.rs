//! Reads and writes the kernel's network settings of a namespace, through /proc/sys of the calling thread's
//! namespace.

use crate::error::{Context, Result};
use nettrial_scenario::{Buffer, Node, NodeKind, Stack};
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};

/// The settings that affect results, are left as in a fresh namespace, and are recorded with a run.
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

/// A directory of settings of one namespace, such as `net.ipv4`.
///
/// The directory is opened once for all its settings: see `procfs`.
struct Settings {
    name: &'static str,
    directory: File,
}

impl Settings {
    /// Opens the settings of the calling thread's namespace, in the procfs with this root.
    fn open(procfs: &File, name: &'static str) -> io::Result<Self> {
        let place = format!("sys/{}", name.replace('.', "/"));
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        Ok(Self { name, directory: openat(procfs, place.as_str(), flags, Mode::empty())?.into() })
    }

    fn write(&self, name: &str, value: &str) -> Result<()> {
        let place = name.replace('.', "/");
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        openat(&self.directory, place.as_str(), flags, Mode::empty())
            .map_err(io::Error::from)
            .and_then(|file| File::from(file).write_all(value.as_bytes()))
            .with_context(|| format!("setting {}.{name} to {value:?}", self.name))
    }
}

/// Returns the congestion control of programs that choose none, in the calling thread's namespace.
pub fn default_congestion_control() -> Result<String> {
    let name = "net.ipv4.tcp_congestion_control";
    let control = fs::read_to_string(path(name)).with_context(|| format!("reading {name}"))?;
    Ok(control.trim().to_owned())
}

/// Returns the value of a setting of the calling thread's namespace, its words separated by single spaces.
pub fn value(name: &str) -> Result<String> {
    let text = fs::read_to_string(path(name)).with_context(|| format!("reading {name}"))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns true if the calling thread's namespace has a setting of its own of that name, false if it shows one of the
/// whole machine, which can be read only (ensure_safe_net_sysctl of the kernel's net/sysctl_net.c, since 5.13), and
/// `None` if it has none.
pub fn is_writable(name: &str) -> Option<bool> {
    let metadata = fs::metadata(path(name)).ok().filter(fs::Metadata::is_file)?;
    Some(!metadata.permissions().readonly())
}

/// Returns true if this kernel has the setting, in the calling thread's namespace.
pub fn is_there(name: &str) -> bool {
    fs::exists(path(name)).unwrap_or(false)
}

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Returns the values of the recorded settings in the calling thread's namespace, without those that this kernel
/// lacks.
pub fn recorded() -> BTreeMap<String, String> {
    let read = |name: &&str| Some(((*name).to_owned(), value(name).ok()?));
    RECORDED.iter().filter_map(read).collect()
}

/// Prepares the calling thread's namespace, before it has links, for `node`, whose links have IPv6 addresses or
/// not, through the procfs with this root.
pub fn apply(procfs: &File, node: &Node, has_ipv6: bool) -> Result<()> {
    let ipv4 = Settings::open(procfs, "net.ipv4").context("opening the settings net.ipv4")?;
    let forwarding = if node.kind == NodeKind::Router { "1" } else { "0" };
    ipv4.write("ip_forward", forwarding)?;
    // A fresh namespace may inherit the machine's value, and replies may return on another path.
    ipv4.write("conf.all.rp_filter", "0")?;
    ipv4.write("conf.default.rp_filter", "0")?;
    match Settings::open(procfs, "net.ipv6") {
        Ok(ipv6) if has_ipv6 => apply_ipv6(&ipv6, forwarding)?,
        // IPv6 would send packets of its own over the links, such as multicast listener reports (RFC 3810).
        Ok(ipv6) => ipv6.write("conf.default.disable_ipv6", "1")?,
        // The kernel has no IPv6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).context("opening the settings net.ipv6"),
    }
    node.stack.as_ref().map_or(Ok(()), |stack| apply_stack(&ipv4, stack))?;
    node.sysctls.iter().try_for_each(|(name, value)| write(name, value))
}

/// Lets the kernel ignore next hops over links without a carrier, in the calling thread's namespace.
pub fn leave_out_dead_routes(has_ipv6: bool) -> Result<()> {
    for version in if has_ipv6 { ["ipv4", "ipv6"].as_slice() } else { &["ipv4"] } {
        for scope in ["all", "default"] {
            write(&format!("net.{version}.conf.{scope}.ignore_routes_with_linkdown"), "1")?;
        }
    }
    Ok(())
}

fn apply_ipv6(ipv6: &Settings, forwarding: &str) -> Result<()> {
    ipv6.write("conf.all.forwarding", forwarding)?;
    for scope in ["all", "default"] {
        // Addresses are used at once, because nobody else on the link can have them.
        ipv6.write(&format!("conf.{scope}.accept_dad"), "0")?;
        ipv6.write(&format!("conf.{scope}.accept_ra"), "0")?;
        ipv6.write(&format!("conf.{scope}.disable_ipv6"), "0")?;
    }
    Ok(())
}

fn apply_stack(ipv4: &Settings, stack: &Stack) -> Result<()> {
    let switch = |on: bool| if on { "1" } else { "0" };
    let triple = |buffer: &Buffer| format!("{} {} {}", buffer.minimum.0, buffer.initial.0, buffer.maximum.0);
    // This is for programs that choose none themselves. A namespace can only use one that is listed in
    // net.ipv4.tcp_allowed_congestion_control; if it is not, routes name it (`network::defaults`).
    let _ = ipv4.write("tcp_congestion_control", &stack.congestion_control);
    ipv4.write("tcp_window_scaling", switch(stack.window_scaling))?;
    ipv4.write("tcp_sack", switch(stack.sack))?;
    ipv4.write("tcp_timestamps", switch(stack.timestamps))?;
    ipv4.write("tcp_mtu_probing", switch(stack.mtu_probing))?;
    // By default, a host takes part if the other one asks for it.
    if stack.ecn {
        ipv4.write("tcp_ecn", "1")?;
    }
    ipv4.write("tcp_rmem", &triple(&stack.receive_buffer))?;
    ipv4.write("tcp_wmem", &triple(&stack.send_buffer))
}
