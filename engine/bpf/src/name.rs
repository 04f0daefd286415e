//! Names of congestion controls in the kernel. The kernel keeps one list for the whole machine, so each process
//! registers its own under names that no other process uses.

use crate::program::algorithms;

/// The most bytes of a name, its final zero included (TCP_CA_NAME_MAX, the kernel's include/net/tcp.h).
pub const TAKES_BYTES: usize = 16;
/// The number of names that a process may try.
pub const ATTEMPTS: u32 = 14;

/// The beginning of each name, which distinguishes it from the kernel's own congestion controls.
const PREFIX: &str = "nt_";
/// The bound of process numbers (PID_MAX_LIMIT, the kernel's include/linux/threads.h).
const PROCESSES: u32 = 4 << 20;

/// Returns the name for `algorithm` of the process with this number. No other process of its PID namespace uses
/// the name, but one of another namespace (a container) may, so there are further attempts, numbered from 0.
pub fn of(algorithm: &str, process: u32, attempt: u32) -> String {
    format!("{PREFIX}{algorithm}_{}", base36(process + attempt * PROCESSES))
}

/// Returns true if a congestion control of this name in the kernel belongs to an engine, this one or another.
pub fn is_of_an_engine(name: &str) -> bool {
    let Some((algorithm, process)) = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('_')) else {
        return false;
    };
    algorithms().any(|one| one == algorithm) && u32::from_str_radix(process, 36).is_ok()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_fit_and_are_known_again(process in 1..PROCESSES, attempt in 0..ATTEMPTS) {
            for algorithm in algorithms() {
                let name = of(algorithm, process, attempt);
                prop_assert!(name.len() < TAKES_BYTES, "{name}");
                prop_assert!(is_of_an_engine(&name));
            }
        }

        #[test]
        fn two_processes_or_attempts_have_two_names(
            one in (1..PROCESSES, 0..ATTEMPTS),
            other in (1..PROCESSES, 0..ATTEMPTS),
        ) {
            prop_assert_eq!(one == other, of("lia", one.0, one.1) == of("lia", other.0, other.1));
        }
    }

    #[test]
    fn names_of_others_are_not_taken_for_an_engines() {
        for name in ["cubic", "nt_cubic_1", "nt_lia", "nt_lia_", "nt__1", "nt_lia_?", "lia_1"] {
            assert!(!is_of_an_engine(name), "{name}");
        }
    }
}
