//! Tests of what networks do with packets, without a transport.

mod common;
mod conservation;
mod links;
mod processor;
mod queues;
