//! The handshake, in which both sides prove that they have the token and agree on keys that nobody else has. It is
//! the Noise protocol with the pattern NNpsk0 (The Noise Protocol Framework, revision 34, sections 7.4 and 9).
//!
//! ```text
//! client: e, sealed with the token     (48 bytes)
//! server: e, ee                        (48 bytes)
//! client: nothing, sealed with the session's key
//! ```
//!
//! The keys are new for each session, so that someone who learns the token later cannot read a recorded session.
//! The server sends nothing to a client without the token, and the client's last message shows that its first one
//! was not a recording.
//!
//! The cryptographic primitives are those of `snow`'s default resolver, which are all written in Rust.

use crate::Token;
use crate::error::{Context, Error, Result};
use crate::frame::{Reader, Writer, open};
use nettrial_admission::read_exact_by;
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The protocol's name, which both sides hash.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// The prologue, which both sides hash as well, so that a side with another version of the protocol has other
/// keys.
const PROLOGUE: &[u8] = b"nettrial 2";
/// The token's place in the pattern's first message.
const PSK_PLACE: u8 = 0;
/// Bytes of either handshake message: a public key and a tag.
const MESSAGE_BYTES: usize = 32 + 16;
/// The bytes of the client's last message, a tag.
const PROOF_BYTES: usize = 16;
/// The time that the handshake may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time for which a server keeps a client with a wrong token waiting, so that guessing is slow.
pub const PENALTY: Duration = Duration::from_secs(1);

/// The keys of a session, and the numbers of the frames sealed with them.
pub struct Sealed {
    keys: Arc<StatelessTransportState>,
    sent: u64,
    received: u64,
}

impl Sealed {
    /// Returns a writer of this side's documents to `output`.
    pub fn writer<W: Write>(&self, output: W) -> Writer<W> {
        Writer::new(output, Arc::clone(&self.keys), self.sent)
    }

    /// Returns a reader of the other side's documents of at most `most` bytes from `input`.
    pub fn reader<R: Read>(&self, input: R, most: usize) -> Reader<R> {
        Reader::new(input, Arc::clone(&self.keys), self.received, most)
    }
}

/// Makes a caller prove that it has the token.
///
/// # Errors
/// Fails with [`Error::WrongToken`] if the caller has another token, and with other errors if it does
/// not speak this protocol.
pub fn admit(stream: &TcpStream, token: &Token) -> Result<Sealed> {
    let deadline = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut noise = builder(&token.key())?.build_responder()?;
    let first: [u8; MESSAGE_BYTES] = hear(stream, deadline).context("no handshake")?;
    if noise.read_message(&first, &mut [0; MESSAGE_BYTES]).is_err() {
        return Err(Error::WrongToken);
    }
    say(stream, &mut noise).context("answering")?;
    let keys = noise.into_stateless_transport_mode()?;
    let proof: [u8; PROOF_BYTES] = hear(stream, deadline).context("no end of the handshake")?;
    let mut received = 0;
    open(&keys, &mut received, &proof).map_err(|_| Error::Recorded)?;
    Ok(Sealed { keys: Arc::new(keys), sent: 0, received })
}

/// Proves to a server that this side has the token, and makes the server prove the same.
///
/// # Errors
/// Fails if the server is not nettrial, or has another token.
pub fn enter(mut stream: &TcpStream, token: &Token) -> Result<Sealed> {
    let deadline = Instant::now() + PATIENCE + PENALTY;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut noise = builder(&token.key())?.build_initiator()?;
    say(stream, &mut noise).context("greeting")?;
    let answer: [u8; MESSAGE_BYTES] = hear(stream, deadline).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => Error::OtherToken(
            "it closed the connection: its token is another one, or its version of nettrial",
        ),
        _ => Error::OtherProtocol(error),
    })?;
    let proven = noise.read_message(&answer, &mut [0; MESSAGE_BYTES]).is_ok();
    if !proven {
        return Err(Error::OtherToken("it does not have the token"));
    }
    let keys = noise.into_stateless_transport_mode()?;
    let mut proof = [0; PROOF_BYTES];
    keys.write_message(0, &[], &mut proof)?;
    stream.write_all(&announced(&proof))?;
    Ok(Sealed { keys: Arc::new(keys), sent: 1, received: 0 })
}

fn builder(key: &[u8; 32]) -> Result<Builder<'_>> {
    let pattern = PATTERN.parse().context("naming the Noise protocol")?;
    Ok(Builder::new(pattern).prologue(PROLOGUE)?.psk(PSK_PLACE, key)?)
}

/// Sends the next message of the handshake.
fn say(mut stream: &TcpStream, noise: &mut HandshakeState) -> Result<()> {
    let mut message = [0; MESSAGE_BYTES];
    let length = noise.write_message(&[], &mut message)?;
    Ok(stream.write_all(&announced(&message[..length]))?)
}

/// Returns `message` with its length before it.
fn announced(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).expect("messages of the handshake are short");
    [&length.to_be_bytes(), message].concat()
}

/// Reads a message that has `LENGTH` bytes.
fn hear<const LENGTH: usize>(stream: &TcpStream, deadline: Instant) -> io::Result<[u8; LENGTH]> {
    let mut length = [0; 2];
    read_exact_by(stream, &mut length, deadline)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length != LENGTH {
        let why = format!("a message of {length} bytes, where {LENGTH} are expected");
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    let mut message = [0; LENGTH];
    read_exact_by(stream, &mut message, deadline)?;
    Ok(message)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (caller, listener.accept().unwrap().0)
    }

    fn meet(server: &Token, client: &Token) -> (Result<Sealed>, Result<Sealed>) {
        let (caller, here) = pair();
        std::thread::scope(|scope| {
            let entering = scope.spawn(move || enter(&caller, client));
            let admitted = admit(&here, server);
            drop(here);
            (admitted, entering.join().unwrap())
        })
    }

    /// The keys of a new session, of both sides.
    pub fn keys() -> (Arc<StatelessTransportState>, Arc<StatelessTransportState>) {
        let key = Token::random().key();
        let mut initiator = builder(&key).unwrap().build_initiator().unwrap();
        let mut responder = builder(&key).unwrap().build_responder().unwrap();
        let (mut message, mut rest) = ([0; MESSAGE_BYTES], [0; MESSAGE_BYTES]);
        initiator.write_message(&[], &mut message).unwrap();
        responder.read_message(&message, &mut rest).unwrap();
        responder.write_message(&[], &mut message).unwrap();
        initiator.read_message(&message, &mut rest).unwrap();
        let sealed = |state: HandshakeState| Arc::new(state.into_stateless_transport_mode().unwrap());
        (sealed(initiator), sealed(responder))
    }

    #[test]
    fn who_shares_the_token_can_talk() {
        let token = Token::random();
        let (server, client) = meet(&token, &token);
        let (server, client) = (server.unwrap(), client.unwrap());
        for (from, to) in [(&client, &server), (&server, &client)] {
            let mut bytes = Vec::new();
            from.writer(&mut bytes).send(&"hello").unwrap();
            assert_eq!(to.reader(&bytes[..], 100).receive::<String>().unwrap().unwrap(), "hello");
        }
    }

    #[test]
    fn another_token_is_refused_by_both() {
        let (server, client) = meet(&Token::random(), &Token::random());
        assert!(matches!(server.err().unwrap(), Error::WrongToken));
        assert!(client.err().unwrap().to_string().contains("its token is another one"));
    }

    #[test]
    fn who_has_no_token_gets_no_byte() {
        let (caller, here) = pair();
        let token = Token::random();
        let mut noise = builder(&Token::random().key()).unwrap().build_initiator().unwrap();
        say(&caller, &mut noise).unwrap();
        assert!(admit(&here, &token).is_err());
        drop(here);
        assert_eq!((&caller).read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_recorded_handshake_is_refused() {
        let token = Token::random();
        let (caller, here) = pair();
        // A recording of a client's message. Someone who repeats it does not know the keys that the client derived
        // from the answer.
        let mut noise = builder(&token.key()).unwrap().build_initiator().unwrap();
        say(&caller, &mut noise).unwrap();
        (&caller).write_all(&announced(&[7; PROOF_BYTES])).unwrap();
        assert_eq!(admit(&here, &token).err().unwrap().to_string(), "a recorded handshake");
    }

    #[test]
    fn a_server_without_the_token_is_found_out() {
        let (caller, here) = pair();
        let liar = std::thread::spawn(move || {
            let soon = Instant::now() + PATIENCE;
            let message: [u8; MESSAGE_BYTES] = hear(&caller, soon).unwrap();
            // The best it can do: send the client's own message back.
            (&caller).write_all(&announced(&message)).unwrap();
            caller
        });
        assert_eq!(enter(&here, &Token::random()).err().unwrap().to_string(), "it does not have the token");
        drop(liar.join().unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let (caller, here) = pair();
            (&caller).write_all(&bytes).unwrap();
            drop(caller);
            prop_assert!(admit(&here, &Token::random()).is_err());
        }
    }
}
