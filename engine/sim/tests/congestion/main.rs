//! Tests of the congestion controls against theory, over whole simulated networks.

mod goals;
mod network;
mod queues;
mod single;
