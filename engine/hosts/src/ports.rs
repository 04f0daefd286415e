//! The free ephemeral ports of this machine.

use std::collections::HashSet;
use std::fs;
use std::ops::RangeInclusive;

/// The kernel's lists of sockets, whose second column has address and port in hexadecimal digits (proc(5)).
const SOCKETS: [&str; 4] = ["tcp", "tcp6", "udp", "udp6"];

/// Counts the free ports in the range from which the kernel assigns ports (net.ipv4.ip_local_port_range), without
/// the reserved ones; `None` if the kernel does not report the range.
pub fn free() -> Option<u32> {
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok();
    let range = range(&setting("ip_local_port_range")?)?;
    let mut taken = reserved(&setting("ip_local_reserved_ports").unwrap_or_default());
    for name in SOCKETS {
        taken.extend(used(&fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default()));
    }
    u32::try_from(range.filter(|port| !taken.contains(port)).count()).ok()
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut words = text.split_whitespace().map(str::parse);
    Some(words.next()?.ok()?..=words.next()?.ok()?)
}

/// Returns the ports in a text of ports and ranges separated by commas, such as "8080,9000-9010" (ip-sysctl.rst).
fn reserved(text: &str) -> HashSet<u16> {
    let ports = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)
    };
    text.split(',').filter_map(ports).flatten().collect()
}

fn used(text: &str) -> impl Iterator<Item = u16> {
    let port = |line: &str| {
        let (_, port) = line.split_whitespace().nth(1)?.rsplit_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    text.lines().skip(1).filter_map(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_the_kernel_writes_them() {
        assert_eq!(range("32768\t60999\n"), Some(32768..=60999));
        assert_eq!(reserved("8080,9000-9002\n"), [8080, 9000, 9001, 9002].into());
        assert!(reserved("\n").is_empty());
        let table =
            "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n";
        assert_eq!(used(table).collect::<Vec<_>>(), [8080]);
    }

    #[test]
    fn this_machine_has_free_ports() {
        assert!(free().unwrap() > 0);
    }
}
