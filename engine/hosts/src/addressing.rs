//! The addresses and the routes of an interface as text.

use crate::error::{Error, Result};
use nettrial_netlink::{InterfaceRoute, Network};
use std::net::IpAddr;

/// Returns the addresses of `interface`.
pub fn addresses(interface: &str) -> Result<String> {
    let all = nettrial_netlink::addresses(interface)?;
    Ok(joined(all.into_iter().map(|(address, length)| format!("{address}/{length}"))))
}

/// Sets the addresses of `interface`, and brings it up.
pub fn set_addresses(interface: &str, value: &str) -> Result<()> {
    let wanted = value.split_whitespace().map(network).collect::<Result<Vec<_>>>()?;
    Ok(nettrial_netlink::set_addresses(interface, &wanted)?)
}

/// Returns the routes through `interface` that somebody has added.
pub fn routes(interface: &str) -> Result<String> {
    Ok(joined(nettrial_netlink::routes(interface)?.into_iter().map(|((address, length), gateway)| {
        gateway.map_or(format!("{address}/{length}"), |gateway| format!("{address}/{length}>{gateway}"))
    })))
}

/// Sets the routes through `interface`.
pub fn set_routes(interface: &str, value: &str) -> Result<()> {
    let wanted = value.split_whitespace().map(route).collect::<Result<Vec<_>>>()?;
    Ok(nettrial_netlink::set_routes(interface, &wanted)?)
}

fn joined(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<_>>().join(" ")
}

fn network(text: &str) -> Result<Network> {
    let wrong = || Error::Setting(format!("{text:?} is not an address with the length of its prefix"));
    let (address, length) = text.split_once('/').ok_or_else(wrong)?;
    Ok((address.parse().map_err(|_| wrong())?, length.parse().map_err(|_| wrong())?))
}

fn route(text: &str) -> Result<InterfaceRoute> {
    let Some((destination, gateway)) = text.split_once('>') else { return Ok((network(text)?, None)) };
    let gateway: IpAddr =
        gateway.parse().map_err(|_| Error::Setting(format!("{gateway:?} is not the address of a router")))?;
    Ok((network(destination)?, Some(gateway)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_has_a_destination_and_perhaps_a_gateway() {
        let direct = ("192.0.2.0".parse().unwrap(), 24);
        assert_eq!(route("192.0.2.0/24").unwrap(), (direct, None));
        let gateway = "2001:db8::1".parse().unwrap();
        assert_eq!(route("::/0>2001:db8::1").unwrap(), (("::".parse().unwrap(), 0), Some(gateway)));
        for wrong in ["192.0.2.0", "192.0.2.0/24>", "host/24"] {
            assert!(route(wrong).is_err(), "{wrong}");
        }
    }
}
