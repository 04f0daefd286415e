//! The agent of a host whose TCP/IP is a library in this process instead of the kernel's.
//!
//! A program `nettrial-stack-NAME` implements [`Stack`] for its library and calls [`main`]. The host's frames come from a
//! packet socket ([`Wire`]), which also measures each connection ([`Meter`]); orders come from the standard input, as for
//! any agent (`engine/traffic`), whose kinds of traffic, waits and figures are these agents', too.

mod agent;
mod connection;
mod datagram;
mod exchange;
mod host;
mod listener;
#[cfg(test)]
mod loopback;
mod meter;
mod order;
mod packets;
mod path_mtu;
mod stack;
mod sweep;
mod transfer;
mod wire;

pub use host::Host;
pub use meter::{Counts, Key, Meter};
pub use order::{HostOrder, InterfaceOrder, RouteOrder};
pub use stack::{Handle, Options, Stack, Stage};
pub use wire::Wire;

use nettrial_scenario::During;
use nettrial_traffic::{Error, Result};
use serde_json::json;
use std::io::BufReader;

/// Runs the program of the stack `name`, of version `version`: prints both for `--version`, and with `--host` and a
/// host's order is the host until the input ends. `start` brings up the stack.
///
/// # Errors
/// Fails if the arguments are others, or one of the input's lines is not an order. A stack that can't be brought up fails
/// every order.
pub fn main<S: Stack>(
    name: &str,
    version: &str,
    start: impl FnOnce(&HostOrder, Wire) -> Result<S>,
) -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            println!("{}", json!({"name": name, "version": version}));
            Ok(())
        }
        ["--host", order] => {
            // The input has ended if the parent ended before this call.
            nettrial_traffic::die_with_parent()?;
            let host = order::read(order).and_then(|order| {
                let wire = Wire::open(order.interface()?)?;
                Ok(Host::start(start(&order, wire)?, &order)?)
            });
            agent::run(BufReader::new(std::io::stdin()), host)
        }
        _ => Err(Error::Unsupported(format!("usage: nettrial-stack-{name} --version | --host ORDER"))),
    }
}

/// Returns the version of the crate `name` in the text of a `Cargo.lock`.
pub fn locked_version<'a>(lock: &'a str, name: &str) -> &'a str {
    let entry = lock.split("[[package]]").find(|entry| entry.contains(&format!("name = {name:?}\n")));
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next());
    version.unwrap_or("unknown")
}

/// Says what was being done when an error came.
trait Context<T> {
    /// Adds the words `doing` to an error.
    fn context(self, doing: &str) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: &str) -> Result<T> {
        self.map_err(|error| error.into().during(doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_crate() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\nversion = \"2.0.1\"\n";
        assert_eq!(locked_version(lock, "b"), "2.0.1");
        assert_eq!(locked_version(lock, "c"), "unknown");
    }
}
