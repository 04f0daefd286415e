//! Congestion controls that a kernel in virtual time has built in, from the same programs (kernel/net).

use crate::error::{Context, Error, Result};
use std::fs;
use std::path::PathBuf;

/// The directory in which the kernel shows its parts, those that are built in, too.
const PARTS: &str = "/sys/module";

/// A congestion control that is built into the kernel.
#[derive(Debug)]
pub struct BuiltIn {
    /// The file with the numbers of calls.
    counters: PathBuf,
}

impl BuiltIn {
    /// Returns the control of `algorithm`, if this kernel has it built in.
    pub fn find(algorithm: &str) -> Option<Self> {
        let counters = PathBuf::from(format!("{PARTS}/{algorithm}/parameters/callbacks"));
        counters.exists().then_some(Self { counters })
    }

    /// Returns the counters since the kernel's start, in the order of `struct callbacks` of programs/common.h.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn counters(&self) -> Result<Vec<u64>> {
        let text = fs::read_to_string(&self.counters)
            .with_context(|| format!("reading {}", self.counters.display()))?;
        parse(&text)
    }
}

fn parse(text: &str) -> Result<Vec<u64>> {
    let number = |word: &str| {
        word.parse().map_err(|error| Error::Counters(format!("{word:?} is no number of calls: {error}")))
    };
    text.trim().split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_numbers_between_commas() {
        assert_eq!(parse("1,20,18446744073709551615\n").unwrap(), [1, 20, u64::MAX]);
        assert!(parse("1,x\n").unwrap_err().to_string().contains("\"x\""));
    }

    #[test]
    fn a_kernel_without_a_control_has_none() {
        assert!(BuiltIn::find("no_such_control").is_none());
    }
}
