//! Finds what a machine lacks to run the programs.

use crate::built_in::BuiltIn;
use crate::program::algorithms;
use nettrial_scenario::Shortfall;
use std::fs;

/// The kernel's description of its types (CONFIG_DEBUG_INFO_BTF).
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The setting of the kernel's compiler of BPF programs; 0 means off (Documentation/admin-guide/sysctl/net.rst).
const COMPILER: &str = "/proc/sys/net/core/bpf_jit_enable";
/// The setting that exists if the kernel has MPTCP.
const MPTCP: &str = "/proc/sys/net/mptcp/enabled";

/// Returns true if the kernel's compiler of BPF programs is switched off. Only the machine's initial network
/// namespace shows this setting, so this must be called before leaving it.
pub fn jit_is_off() -> bool {
    fs::read_to_string(COMPILER).is_ok_and(|text| text.trim() == "0")
}

/// Returns all reasons for which the programs can't be loaded here; each is checked whether or not the others
/// hold. `is_root` means that this process has root's privileges on the machine, and not only in a user namespace.
/// A kernel that has all programs built in lacks nothing.
pub fn missing(is_root: bool, jit_is_off: bool) -> Vec<Shortfall> {
    if algorithms().all(|algorithm| BuiltIn::find(algorithm).is_some()) {
        return Vec::new();
    }
    let lacks = |what: &str, why: &str, remedy: &str| Shortfall::new(what, why, remedy);
    let is_there = |path: &str| fs::exists(path).unwrap_or(false);
    [
        (!is_root).then(|| {
            lacks(
                "privileges to load BPF programs (CAP_BPF, CAP_NET_ADMIN)",
                "the kernel takes congestion controls from root of the machine alone, not of a user namespace",
                "run as root",
            )
        }),
        (!is_there(TYPES)).then(|| {
            lacks(
                "the kernel's types (BTF)",
                &format!("there is no {TYPES}"),
                "a kernel with CONFIG_DEBUG_INFO_BTF, as those of Debian and Ubuntu are",
            )
        }),
        jit_is_off.then(|| {
            lacks(
                "the kernel's compiler of BPF programs (JIT)",
                "net.core.bpf_jit_enable is 0",
                "sysctl net.core.bpf_jit_enable=1",
            )
        }),
        (!is_there(MPTCP)).then(|| {
            lacks("MPTCP", "this kernel does not have it", "a kernel with CONFIG_MPTCP, Linux 6.4 or later")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_is_missing_is_told_by_itself() {
        let of = |is_root, jit_is_off| -> Vec<String> {
            missing(is_root, jit_is_off).into_iter().map(|shortfall| shortfall.what).collect()
        };
        // Whatever the machine lacks besides, these two are told or not as they are given.
        let machine = of(true, false);
        assert_eq!(of(false, false).len(), machine.len() + 1);
        assert_eq!(of(false, true).len(), machine.len() + 2);
        assert!(of(false, true)[0].contains("CAP_BPF"));
        assert!(of(true, true).iter().any(|what| what.contains("JIT")));
    }
}
