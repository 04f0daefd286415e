//! The secret that opens a trial's data ports.

use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// Bytes of a cookie.
pub const COOKIE_BYTES: usize = 16;
/// The bytes that open a connection: the cookie, and the connection's purpose.
pub const OPENING_BYTES: usize = COOKIE_BYTES + 1;

/// A trial's secret. A connection that does not begin with it is closed unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cookie(
    /// Random bytes.
    pub [u8; COOKIE_BYTES],
);

/// The purpose of a connection, which is its first byte after the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The connection is inspected before the trial; no traffic follows.
    Inspect,
    /// The connection carries the flow's traffic.
    Traffic,
}

impl Cookie {
    /// Returns the bytes that open a connection for `purpose`.
    pub fn opening(&self, purpose: Purpose) -> [u8; OPENING_BYTES] {
        let mut opening = [0; OPENING_BYTES];
        opening[..COOKIE_BYTES].copy_from_slice(&self.0);
        opening[COOKIE_BYTES] = match purpose {
            Purpose::Inspect => 0,
            Purpose::Traffic => 1,
        };
        opening
    }

    /// Reads the opening of a connection. Fails if it does not have this trial's cookie.
    pub fn admit(&self, stream: &mut impl Read) -> io::Result<Purpose> {
        let mut opening = [0; OPENING_BYTES];
        stream.read_exact(&mut opening)?;
        let refuse = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        if opening[..COOKIE_BYTES] != self.0 {
            return refuse("the connection did not show this trial's cookie");
        }
        match opening[COOKIE_BYTES] {
            0 => Ok(Purpose::Inspect),
            1 => Ok(Purpose::Traffic),
            _ => refuse("the connection's purpose is unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_the_cookie_and_a_known_purpose_are_admitted(secret: [u8; COOKIE_BYTES], bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let cookie = Cookie(secret);
            let mut opening = cookie.opening(Purpose::Traffic);
            prop_assert_eq!(cookie.admit(&mut opening.as_slice()).unwrap(), Purpose::Traffic);
            let known = bytes.len() > COOKIE_BYTES && bytes[..COOKIE_BYTES] == secret && bytes[COOKIE_BYTES] < 2;
            prop_assert_eq!(cookie.admit(&mut bytes.as_slice()).is_ok(), known);
            opening[3] ^= 1;
            prop_assert!(cookie.admit(&mut opening.as_slice()).is_err());
        }
    }
}
