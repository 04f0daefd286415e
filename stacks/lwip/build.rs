//! Compiles lwIP, whose source `tools/build-stacks.sh` fetches, with the options in `c`.

use std::path::{Path, PathBuf};

/// The environment variable with the directory of lwIP's source, which has `src/core`.
const VARIABLE: &str = "NETTRIAL_LWIP_SOURCE";
/// The directory of lwIP's source where the variable is not set, seen from this crate's.
const DIRECTORY: &str = "../../.venv/lwip";
/// The parts of lwIP that have to do with nothing but IP, TCP, UDP and Ethernet.
const FILES: [&str; 26] = [
    "core/def.c",
    "core/inet_chksum.c",
    "core/init.c",
    "core/ip.c",
    "core/ipv4/etharp.c",
    "core/ipv4/icmp.c",
    "core/ipv4/ip4.c",
    "core/ipv4/ip4_addr.c",
    "core/ipv4/ip4_frag.c",
    "core/ipv6/ethip6.c",
    "core/ipv6/icmp6.c",
    "core/ipv6/inet6.c",
    "core/ipv6/ip6.c",
    "core/ipv6/ip6_addr.c",
    "core/ipv6/ip6_frag.c",
    "core/ipv6/nd6.c",
    "core/mem.c",
    "core/memp.c",
    "core/netif.c",
    "core/pbuf.c",
    "core/tcp.c",
    "core/tcp_in.c",
    "core/tcp_out.c",
    "core/timeouts.c",
    "core/udp.c",
    "netif/ethernet.c",
];

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    println!("cargo::rerun-if-changed=c");
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let directory = std::env::var_os(VARIABLE).map_or_else(|| here.join(DIRECTORY), PathBuf::from);
    let source = directory.join("src");
    println!("cargo::rerun-if-changed={}", source.display());
    if !source.join("core/tcp.c").is_file() {
        println!(
            "cargo::error={} has no lwIP: fetch it with tools/build-stacks.sh, or set {VARIABLE} to its directory",
            directory.display()
        );
        return;
    }
    // What handles packets is optimised fully, also where it is tested.
    let compile = |name: &str, files: &[&str], of: &Path, warnings: bool| {
        let mut build = cc::Build::new();
        build.files(files.iter().map(|file| of.join(file)));
        build.includes([here.join("c"), source.join("include")]).warnings(warnings).extra_warnings(warnings);
        build.opt_level(2).debug(false).compile(name);
    };
    compile("nettrial_lwip_sockets", &["sockets.c"], &here.join("c"), true);
    compile("nettrial_lwip", &FILES, &source, false);
}
