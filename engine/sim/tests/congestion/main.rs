//! The congestion controls against theory, from one end of a simulated network to the other.

mod goals;
mod network;
mod queues;
mod single;
