//! Tests of the paths that packets take.

mod common;
mod hash;
mod paths;
mod policies;
mod shared;
