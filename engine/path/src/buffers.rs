//! The bandwidth-delay product, and whether this host's TCP buffers hold it.

use crate::local;
use crate::report::Buffers;
use std::collections::BTreeMap;

/// The largest window without window scaling (RFC 9293 section 3.1).
const UNSCALED_WINDOW: u64 = 65_535;
/// The largest window with window scaling (RFC 7323 section 2.3).
const SCALED_WINDOW: u64 = 65_535 << 14;
/// The ratio of a buffer's size to the window that it allows: the kernel reserves one half for its own bookkeeping
/// (tcp(7), tcp_adv_win_scale 1). A program that sets SO_RCVBUF gets twice the size that it requests, for the same
/// reason (socket(7)).
const BUFFER_PER_WINDOW: u64 = 2;

/// The sysctls that a report lists.
const READ: &[&str] = &[
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// Returns the number of bytes in flight that fill a path, from its rate in bits per second and its round-trip
/// time in nanoseconds.
pub fn bandwidth_delay_product(rate_bps: u64, rtt_ns: u64) -> u64 {
    let bits = u128::from(rate_bps) * u128::from(rtt_ns);
    u64::try_from(bits.div_ceil(8 * 1_000_000_000)).unwrap_or(u64::MAX)
}

/// Returns the buffer settings of this host, by sysctl name.
pub fn settings() -> BTreeMap<String, String> {
    READ.iter().filter_map(|name| Some(((*name).to_owned(), local::sysctl(name)?))).collect()
}

/// Compares the settings `sysctls` with those that a path with this rate and round-trip time needs.
pub fn compare(rate_bps: u64, rate_from: &str, rtt_ns: u64, sysctls: BTreeMap<String, String>) -> Buffers {
    let bdp_bytes = bandwidth_delay_product(rate_bps, rtt_ns);
    let number = |name: &str| sysctls.get(name).and_then(|text| text.parse::<u64>().ok());
    let triple = |name: &str| -> Option<[u64; 3]> {
        let parts: Vec<u64> = sysctls.get(name)?.split(' ').map_while(|part| part.parse().ok()).collect();
        parts.try_into().ok()
    };
    let scaling = number("net.ipv4.tcp_window_scaling") != Some(0);
    let scaled = if scaling { SCALED_WINDOW } else { UNSCALED_WINDOW };
    let window =
        |name: &str| triple(name).map_or(0, |[_, _, maximum]| (maximum / BUFFER_PER_WINDOW).min(scaled));
    let needed = bdp_bytes.saturating_mul(BUFFER_PER_WINDOW);
    let mut fixes = Vec::new();
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        if let Some([minimum, initial, maximum]) = triple(name)
            && maximum < needed
        {
            fixes.push(format!("{name} = {minimum} {initial} {needed}"));
        }
    }
    // These bound the buffers that a program requests, as iperf -w does.
    for name in ["net.core.rmem_max", "net.core.wmem_max"] {
        if number(name).is_some_and(|most| most < bdp_bytes) {
            fixes.push(format!("{name} = {bdp_bytes}"));
        }
    }
    if !scaling && bdp_bytes > UNSCALED_WINDOW {
        fixes.push("net.ipv4.tcp_window_scaling = 1".into());
    }
    let grows = number("net.ipv4.tcp_moderate_rcvbuf") != Some(0);
    let initial = triple("net.ipv4.tcp_rmem").map_or(0, |[_, initial, _]| initial);
    if !grows && initial < needed {
        fixes.push("net.ipv4.tcp_moderate_rcvbuf = 1".into());
    }
    Buffers {
        rate_bps,
        rate_from: rate_from.into(),
        bdp_bytes,
        receive_window_bytes: window("net.ipv4.tcp_rmem"),
        send_window_bytes: window("net.ipv4.tcp_wmem"),
        sysctls,
        fixes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_GIGABIT: u64 = 10_000_000_000;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_products_that_the_karen_wiki_prints() {
        assert_eq!(bandwidth_delay_product(TEN_GIGABIT, 1_000_000), 1_250_000);
        assert_eq!(bandwidth_delay_product(TEN_GIGABIT, 11_000_000), 13_750_000);
    }

    #[test]
    fn a_product_is_rounded_up_and_never_overflows() {
        assert_eq!(bandwidth_delay_product(1, 1), 1);
        assert_eq!(bandwidth_delay_product(0, 5), 0);
        assert_eq!(bandwidth_delay_product(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn buffers_that_hold_the_product_need_no_change() {
        let enough = settings(&[
            ("net.ipv4.tcp_rmem", "4096 131072 27500000"),
            ("net.ipv4.tcp_wmem", "4096 16384 27500000"),
            ("net.core.rmem_max", "13750000"),
            ("net.core.wmem_max", "13750000"),
            ("net.ipv4.tcp_window_scaling", "1"),
        ]);
        let found = compare(TEN_GIGABIT, "given", 11_000_000, enough);
        assert_eq!((found.receive_window_bytes, found.send_window_bytes), (13_750_000, 13_750_000));
        assert_eq!(found.fixes, Vec::<String>::new());
    }

    #[test]
    fn buffers_that_do_not_are_mended_line_by_line_and_a_second_time_there_is_nothing_to_mend() {
        let mut small = settings(&[
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
            ("net.core.rmem_max", "212992"),
            ("net.core.wmem_max", "212992"),
            ("net.ipv4.tcp_window_scaling", "0"),
            ("net.ipv4.tcp_moderate_rcvbuf", "0"),
        ]);
        let found = compare(TEN_GIGABIT, "given", 11_000_000, small.clone());
        assert_eq!(found.receive_window_bytes, 65_535);
        assert_eq!(
            found.fixes,
            [
                "net.ipv4.tcp_rmem = 4096 131072 27500000",
                "net.ipv4.tcp_wmem = 4096 16384 27500000",
                "net.core.rmem_max = 13750000",
                "net.core.wmem_max = 13750000",
                "net.ipv4.tcp_window_scaling = 1",
                "net.ipv4.tcp_moderate_rcvbuf = 1",
            ]
        );
        for fix in &found.fixes {
            let (name, value) = fix.split_once(" = ").unwrap();
            small.insert(name.into(), value.into());
        }
        let mended = compare(TEN_GIGABIT, "given", 11_000_000, small);
        assert_eq!(mended.fixes, Vec::<String>::new());
        assert!(mended.receive_window_bytes >= mended.bdp_bytes);
    }
}
