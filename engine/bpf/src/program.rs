//! The compiled programs.

/// A congestion control as clang made it.
pub struct Program {
    /// The algorithm's name; also that of its folder and of its map of `struct_ops`.
    pub name: &'static str,
    /// The object file.
    pub object: &'static [u8],
}

macro_rules! program {
    ($name:literal) => {
        Program { name: $name, object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")) }
    };
}

/// Every congestion control there is.
pub static PROGRAMS: &[Program] = &[program!("lia"), program!("olia"), program!("balia"), program!("wvegas")];

/// The names of all, as scenarios have them.
pub fn algorithms() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}
