//! Loads programs and registers them in the kernel's list of congestion controls.

use crate::built_in::BuiltIn;
use crate::error::{Context, Error, Result};
use crate::name;
use crate::program::{PROGRAMS, Program};
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel, set_print,
};
use nettrial_scenario::{Callbacks, During};
use std::sync::Mutex;

/// The output of libbpf since it was last taken.
static SAID: Mutex<String> = Mutex::new(String::new());
/// The number of its last lines that an error repeats.
const LINES_TOLD: usize = 6;

/// A congestion control in the kernel's list. Connections can use it as long as this value and its process exist.
#[derive(Debug)]
pub struct Registered {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Its name in the kernel.
    pub kernel_name: String,
    source: Source,
}

/// The place from which the kernel has a congestion control.
#[derive(Debug)]
enum Source {
    /// A program that this process has loaded.
    Loaded {
        // The end of its descriptor removes it from the kernel's list, however this process ends.
        _link: Link,
        object: Object,
    },
    /// The kernel itself.
    BuiltIn(BuiltIn),
}

impl Registered {
    /// Loads the program of `algorithm` and registers it under a name that no other process uses, unless the kernel
    /// has it built in.
    ///
    /// # Errors
    /// Fails if there is no such algorithm, and with the errors of the kernel and libbpf.
    pub fn new(algorithm: &str) -> Result<Self> {
        let program = find(algorithm)?;
        if let Some(built_in) = BuiltIn::find(program.name) {
            let kernel_name = program.name.to_owned();
            return Ok(Self { algorithm: program.name, kernel_name, source: Source::BuiltIn(built_in) });
        }
        for attempt in 0..name::ATTEMPTS {
            let kernel_name = name::of(algorithm, std::process::id(), attempt);
            let mut object = load(program, &kernel_name)?;
            let mut map = object.maps_mut().find(|map| map.name() == program.name).ok_or_else(|| {
                Error::Program(format!("the program of {algorithm} has no map of that name"))
            })?;
            match map.attach_struct_ops() {
                Ok(link) => {
                    let source = Source::Loaded { _link: link, object };
                    return Ok(Self { algorithm: program.name, kernel_name, source });
                }
                // A process of another PID namespace that has this process's number uses the name.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(with_output(error)).with_context(|| format!("registering {kernel_name}"));
                }
            }
        }
        Err(Error::NamesTaken(algorithm.to_owned()))
    }

    /// Returns the numbers of calls by the kernel since the registration, over all connections of the machine.
    ///
    /// # Errors
    /// Fails if the counters can't be read.
    pub fn callbacks(&self) -> Result<Callbacks> {
        let read = || {
            let words = match &self.source {
                Source::Loaded { object, .. } => words(&variables(object)?)?,
                Source::BuiltIn(built_in) => built_in.counters()?,
            };
            let counted = words.len();
            counters(&words).ok_or_else(|| Error::Counters(format!("it has {counted}")))
        };
        read().with_context(|| format!("reading the counters of {}", self.algorithm))
    }
}

/// Verifies that the kernel accepts the program of `algorithm`, by loading it without registering it.
///
/// # Errors
/// Fails if there is no such algorithm, and with the errors of the kernel and libbpf.
pub fn verify(algorithm: &str) -> Result<()> {
    let program = find(algorithm)?;
    if BuiltIn::find(program.name).is_some() { Ok(()) } else { load(program, algorithm).map(|_| ()) }
}

fn find(algorithm: &str) -> Result<&'static Program> {
    PROGRAMS
        .iter()
        .find(|program| program.name == algorithm)
        .ok_or_else(|| Error::Unknown(algorithm.to_owned()))
}

fn load(program: &Program, kernel_name: &str) -> Result<Object> {
    set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut said) = SAID.lock() {
            said.push_str(&text);
        }
    })));
    take_said();
    // libelf wants its file at an even address.
    let object = program.object.to_vec();
    let mut open = ObjectBuilder::default().name(program.name)?.open_memory(&object).map_err(with_output)?;
    rename(&mut open, program.name, kernel_name)?;
    open.load().map_err(with_output).with_context(|| format!("loading the program of {}", program.name))
}

/// Renames the program's `tcp_congestion_ops`.
fn rename(object: &mut OpenObject, name: &str, kernel_name: &str) -> Result<()> {
    let padded = |name: &str| -> Result<[u8; name::TAKES_BYTES]> {
        let mut bytes = [0; name::TAKES_BYTES];
        if name.len() >= bytes.len() {
            return Err(Error::Program(format!("the name {name} is longer than the kernel's may be")));
        }
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(bytes)
    };
    let mut map = object
        .maps_mut()
        .find(|map| map.name() == name)
        .ok_or_else(|| Error::Program(format!("the program of {name} has no map of that name")))?;
    let value =
        map.initial_value_mut().ok_or_else(|| Error::Program(format!("the map {name} has no value")))?;
    let old = padded(name)?;
    let at = value.windows(old.len()).position(|bytes| bytes == old);
    let at = at.ok_or_else(|| {
        Error::Program(format!("the program of {name} has another name in its tcp_congestion_ops"))
    })?;
    value[at..at + old.len()].copy_from_slice(&padded(kernel_name)?);
    Ok(())
}

/// Returns the global variables of a program.
fn variables(object: &Object) -> Result<Vec<u8>> {
    let is_variables = |name: &str| name.ends_with(".bss");
    let map = object.maps().find(|map| map.name().to_str().is_some_and(is_variables));
    let map = map.ok_or_else(|| Error::Counters("its program has none".into()))?;
    map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?
        .ok_or_else(|| Error::Counters("the kernel has none".into()))
}

fn words(bytes: &[u8]) -> Result<Vec<u64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Error::Counters(format!("they are {} bytes", bytes.len())));
    }
    Ok(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

/// Returns the counters, in the order of `struct callbacks` of programs/common.h. They are all of a program's
/// global variables.
fn counters(words: &[u64]) -> Option<Callbacks> {
    let &[ssthresh, cong_avoid, pkts_acked, undo_cwnd, init, release, coupled, repaired] = words else {
        return None;
    };
    Some(Callbacks { ssthresh, cong_avoid, pkts_acked, undo_cwnd, init, release, coupled, repaired })
}

/// Returns the error with the last lines that libbpf printed about it.
fn with_output(error: libbpf_rs::Error) -> Error {
    let said = take_said();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES_TOLD)..];
    let error = Error::from(error);
    if last.is_empty() { error } else { error.during(last.join("; ")) }
}

fn take_said() -> String {
    SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_in_their_order_and_no_others() {
        let bytes: Vec<u8> = (1..=8u64).flat_map(u64::to_ne_bytes).collect();
        let read = counters(&words(&bytes).unwrap()).unwrap();
        assert_eq!((read.ssthresh, read.cong_avoid, read.coupled, read.repaired), (1, 2, 7, 8));
        for length in (0..bytes.len()).chain([bytes.len() + 1]) {
            let other: Vec<u8> = bytes.iter().copied().chain([0]).take(length).collect();
            assert!(words(&other).ok().and_then(|words| counters(&words)).is_none(), "{length}");
        }
    }

    #[test]
    fn an_algorithm_that_there_is_not_is_named() {
        assert!(verify("lya").unwrap_err().to_string().contains("\"lya\""));
    }
}
