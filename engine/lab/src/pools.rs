//! The nodes that a session keeps from one trial to the next.

use crate::guests::Guests;
use crate::stations::Stations;

/// The nodes of a session that have kernels of their own.
pub struct Pools {
    /// The guests that run.
    pub guests: Guests,
    /// The user's machines on the lab's links.
    pub machines: Stations,
}
