//! Both sides prove that they have the token, without sending it (challenge and response, HMAC-SHA-256,
//! RFC 2104): each answers a random number of the other's that it has not seen before.
//!
//! ```text
//! server: nettrial 1 NUMBER
//! client: NUMBER HMAC(token, "client", both numbers)
//! server: HMAC(token, "server", both numbers)
//! ```

use crate::Token;
use crate::line::Key;
use anyhow::{Context, Result, bail, ensure};
use nettrial_door::read_line_by;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a server that knows this handshake says first.
const GREETING: &str = "nettrial 1 ";
/// The longest line before the other side has proved anything.
const LONGEST_LINE: usize = 160;
/// How long the handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a wrong token is let wait: who guesses gets few guesses.
const PENALTY: Duration = Duration::from_secs(1);

type Number = [u8; 32];

/// The keys of a session's lines, one for each direction.
pub struct Keys {
    /// Of what the client sends.
    pub client: Key,
    /// Of what the server sends.
    pub server: Key,
}

/// Greets a caller and has it prove that it has the token.
///
/// # Errors
/// Fails if it does not, after a while.
pub fn admit(mut stream: &TcpStream, token: &Token) -> Result<Keys> {
    let deadline = Instant::now() + PATIENCE;
    let ours: Number = rand::random();
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{GREETING}{}\n", hex(&ours)).as_bytes()).context("greeting")?;
    let line = read_line_by(stream, LONGEST_LINE, deadline).context("no handshake")?;
    let parts = line.split_once(' ').and_then(|(number, proof)| Some((unhex(number)?, unhex(proof)?)));
    let (theirs, proof): (Number, Number) = parts.context("malformed handshake")?;
    if !key(token, "client", &ours, &theirs).made(&proof) {
        std::thread::sleep(PENALTY);
        bail!("wrong token");
    }
    let proof = key(token, "server", &ours, &theirs).code();
    stream.write_all(format!("{}\n", hex(&proof)).as_bytes()).context("answering")?;
    Ok(keys(token, &ours, &theirs))
}

/// Proves to a server that this side has the token, and has it prove the same.
///
/// # Errors
/// Fails if it is no nettrial, or has another token.
pub fn enter(mut stream: &TcpStream, token: &Token) -> Result<Keys> {
    let deadline = Instant::now() + PATIENCE + PENALTY;
    stream.set_write_timeout(Some(PATIENCE))?;
    let line = read_line_by(stream, LONGEST_LINE, deadline)
        .context("what listens there does not greet as `nettrial serve` does")?;
    let theirs: Number = line
        .strip_prefix(GREETING)
        .and_then(unhex)
        .context("what listens there is no `nettrial serve` of this version")?;
    let ours: Number = rand::random();
    let proof = key(token, "client", &theirs, &ours).code();
    stream.write_all(format!("{} {}\n", hex(&ours), hex(&proof)).as_bytes())?;
    let line = read_line_by(stream, LONGEST_LINE, deadline)
        .context("it closed the connection: its token is another one")?;
    let proof: Number = unhex(&line).context("it answered with what is no proof")?;
    ensure!(key(token, "server", &theirs, &ours).made(&proof), "it does not have the token");
    Ok(keys(token, &theirs, &ours))
}

fn keys(token: &Token, server: &Number, client: &Number) -> Keys {
    let derived = |purpose| Key::new(&key(token, purpose, server, client).code());
    Keys { client: derived("lines of the client"), server: derived("lines of the server") }
}

/// What only who has the token can make of both numbers, for one purpose.
fn key(token: &Token, purpose: &str, server: &Number, client: &Number) -> crate::line::Code {
    Key::new(token.reveal().as_bytes()).over(&[GREETING.as_bytes(), purpose.as_bytes(), &[0], server, client])
}

/// `bytes` in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes whose hexadecimal digits `text` is.
pub fn unhex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * LENGTH {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let mut bytes = [0; LENGTH];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (caller, listener.accept().unwrap().0)
    }

    fn meet(server: &Token, client: &Token) -> (Result<Keys>, Result<Keys>) {
        let (caller, here) = pair();
        std::thread::scope(|scope| {
            let entering = scope.spawn(move || enter(&caller, client));
            let admitted = admit(&here, server);
            drop(here);
            (admitted, entering.join().unwrap())
        })
    }

    #[test]
    fn who_shares_the_token_gets_the_same_keys() {
        let token = Token::random();
        let (server, client) = meet(&token, &token);
        let (server, client) = (server.unwrap(), client.unwrap());
        assert_eq!(server.client.over(&[b"x"]).code(), client.client.over(&[b"x"]).code());
        assert_eq!(server.server.over(&[b"x"]).code(), client.server.over(&[b"x"]).code());
        assert_ne!(server.server.over(&[b"x"]).code(), client.client.over(&[b"x"]).code());
    }

    #[test]
    fn another_token_is_refused_by_both() {
        let (server, client) = meet(&Token::random(), &Token::random());
        assert_eq!(server.err().unwrap().to_string(), "wrong token");
        assert!(client.err().unwrap().to_string().contains("its token is another one"));
    }

    #[test]
    fn a_server_without_the_token_is_found_out() {
        let (mut caller, here) = pair();
        let liar = std::thread::spawn(move || {
            caller.write_all(format!("{GREETING}{}\n", hex(&[7; 32])).as_bytes()).unwrap();
            let soon = Instant::now() + PATIENCE;
            let line = read_line_by(&caller, LONGEST_LINE, soon).unwrap();
            // The best it can do: send the client's own proof back.
            caller.write_all(format!("{}\n", line.split_once(' ').unwrap().1).as_bytes()).unwrap();
        });
        assert_eq!(enter(&here, &Token::random()).err().unwrap().to_string(), "it does not have the token");
        liar.join().unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn any_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let (mut caller, here) = pair();
            bytes.push(b'\n');
            caller.write_all(&bytes).unwrap();
            prop_assert!(admit(&here, &Token::random()).is_err());
        }

        #[test]
        fn hexadecimal_digits_come_back(bytes: [u8; 32], text in ".{0,70}") {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
            let _ = unhex::<32>(&text);
        }
    }
}
