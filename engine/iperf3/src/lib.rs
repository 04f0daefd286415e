//! iperf3's protocol: a server for unmodified iperf3 clients ([`serve`]), and a client of unmodified iperf3
//! servers ([`Client`]).
//!
//! The protocol has no specification. This crate follows the behaviour of iperf3 3.12 to 3.21 (esnet/iperf,
//! src/iperf_api.c, iperf_udp.c). A test has a control connection, on which one side sends states of one byte and
//! JSON documents ([`message`]), and data streams: TCP connections to the same port that begin with the test's
//! cookie, or UDP sockets that begin with a word and its answer ([`udp_port`]).

mod arrivals;
mod client;
mod datagram;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod message;
mod pace;
mod parameters;
mod results;
mod running_tests;
mod server;
mod session;
mod shared;
mod socket;
mod stream;
mod udp_port;

pub use client::{Client, problems};
pub use error::{Error, Result};
pub use message::State;
pub use server::{PORT, serve};
