//! Resources of the kernel: descriptors, and the congestion controls that a stranger may name.

#[cfg(unix)]
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The soft limit where the kernel does not report it (include/uapi/linux/fs.h, INR_OPEN_CUR).
#[cfg(unix)]
const USUAL_DESCRIPTORS: usize = 1024;

/// Raises this process's limit of open descriptors (RLIMIT_NOFILE, getrlimit(2)) to its hard limit, which needs no
/// privileges, and returns it.
#[cfg(unix)]
pub fn raise_descriptor_limit() -> usize {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return USUAL_DESCRIPTORS };
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Returns the limit of open descriptors. Windows has no such limit for sockets.
#[cfg(not(unix))]
pub fn raise_descriptor_limit() -> usize {
    usize::MAX
}

/// Returns the congestion controls that the kernel has loaded
/// (/proc/sys/net/ipv4/tcp_available_congestion_control). A stranger may choose among these and no others:
/// setting another name makes the kernel look for a module of that name (net/ipv4/tcp_cong.c,
/// tcp_set_congestion_control).
pub fn loaded_congestion_controls() -> Vec<String> {
    let read = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    read.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_hard_one() {
        let limit = raise_descriptor_limit();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!((usize::try_from(soft).unwrap(), soft), (limit, hard));
    }

    #[test]
    fn the_kernel_has_a_congestion_control() {
        assert!(!loaded_congestion_controls().is_empty());
    }
}
