//! The packets that the simulator moves, where they are kept on their way, and the interface through which connections
//! and applications send them.

pub mod arena;
pub mod io;
pub mod packet;
pub mod trace;
