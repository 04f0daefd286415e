//! The compiled programs.

/// A congestion control that clang compiled.
pub struct Program {
    /// The algorithm's name, which is also that of its folder and of its map of `struct_ops`.
    pub name: &'static str,
    /// The object file.
    pub object: &'static [u8],
}

macro_rules! program {
    ($name:literal) => {
        Program { name: $name, object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")) }
    };
}

/// All congestion controls.
pub static PROGRAMS: &[Program] = &[program!("lia"), program!("olia"), program!("balia"), program!("wvegas")];

/// Returns the names of all congestion controls, as in scenarios.
pub fn algorithms() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}
