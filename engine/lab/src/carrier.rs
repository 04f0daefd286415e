//! The carrier of interfaces whose node does not see the state of its link.

use crate::error::Result;
use std::collections::HashMap;

/// The carrier of such an interface.
pub trait Carrier: Send {
    /// Turns the carrier on or off.
    ///
    /// # Errors
    /// Fails if the node can't be told.
    fn set(&self, is_on: bool) -> Result<()>;
}

/// The carriers on each link, by its number in the scenario.
pub type Carriers = HashMap<usize, Vec<Box<dyn Carrier>>>;
