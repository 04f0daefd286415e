//! Tests of the program.

#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod served;
mod simulator;
