//! The messages of the control connection: the cookie, states of one byte, and JSON documents that follow
//! their length.

use nettrial_admission::{document, read_exact_by};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Bytes of a cookie: 36 characters and a zero.
pub const COOKIE_BYTES: usize = 37;
/// The most bytes that a client's documents may have (iperf3's MAX_PARAMS_JSON_STRING).
pub const MOST_PARAMETER_BYTES: u32 = 8 << 10;
/// The most bytes that results may have: 256 streams, and the server's output.
pub const MOST_RESULT_BYTES: u32 = 1 << 20;

/// A test's secret, which identifies its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie(pub [u8; COOKIE_BYTES]);

impl Cookie {
    /// Creates a random cookie, of the letters that iperf3 uses.
    pub fn random() -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let mut cookie = [0; COOKIE_BYTES];
        for letter in &mut cookie[..COOKIE_BYTES - 1] {
            *letter = LETTERS[usize::from(rand::random::<u8>()) % LETTERS.len()];
        }
        Self(cookie)
    }

    /// Reads the cookie with which a connection begins.
    pub fn read(stream: &TcpStream, deadline: Instant) -> io::Result<Self> {
        let mut cookie = [0; COOKIE_BYTES];
        read_exact_by(stream, &mut cookie, deadline)?;
        let is_one = cookie[COOKIE_BYTES - 1] == 0
            && cookie[..COOKIE_BYTES - 1].iter().all(|&letter| letter.is_ascii_graphic());
        if is_one {
            Ok(Self(cookie))
        } else {
            Err(io::Error::new(ErrorKind::InvalidData, "it sent no cookie"))
        }
    }
}

/// The state of a test: iperf3's states (iperf_api.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// Both sides get ready to send and receive.
    TestStart = 1,
    /// Data may flow.
    TestRunning = 2,
    /// The client ends the test.
    TestEnd = 4,
    /// The server waits for the parameters.
    ParameterExchange = 9,
    /// The client is to open the streams.
    CreateStreams = 10,
    /// The server stops the test.
    ServerTerminate = 11,
    /// The client stops the test.
    ClientTerminate = 12,
    /// Both sides send their results, the client first.
    ExchangeResults = 13,
    /// The server has sent everything.
    DisplayResults = 14,
    /// The client has received everything.
    Done = 16,
    /// The server has no place for the test.
    AccessDenied = -1,
    /// The server failed; two numbers follow.
    ServerError = -2,
}

impl State {
    const ALL: [Self; 12] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParameterExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::Done,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// Sends the state.
    pub fn send(self, mut stream: &TcpStream) -> io::Result<()> {
        stream.write_all(&(self as i8).to_be_bytes())
    }

    /// Reads the next state that the other side sends.
    pub fn read(stream: &TcpStream, deadline: Instant) -> io::Result<Self> {
        let mut byte = [0];
        read_exact_by(stream, &mut byte, deadline)?;
        Self::of(i8::from_be_bytes(byte))
    }

    fn of(number: i8) -> io::Result<Self> {
        let unknown =
            || io::Error::new(ErrorKind::InvalidData, format!("state {number} is none of iperf3's"));
        Self::ALL.into_iter().find(|&state| state as i8 == number).ok_or_else(unknown)
    }
}

/// Sends a document.
pub fn send_document(mut stream: &TcpStream, document: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(document)?;
    let length = u32::try_from(text.len()).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
    stream.write_all(&[&length.to_be_bytes(), &text[..]].concat())
}

/// Reads a document of at most `most` bytes. Its strings are made safe for a log and a record.
pub fn read_document<T: DeserializeOwned>(stream: &TcpStream, most: u32, deadline: Instant) -> io::Result<T> {
    let mut length = [0; 4];
    read_exact_by(stream, &mut length, deadline)?;
    let length = u32::from_be_bytes(length);
    if length == 0 || length > most {
        let why = format!("a document of {length} bytes, where 1 to {most} are allowed");
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    let mut text = vec![0; length as usize];
    read_exact_by(stream, &mut text, deadline)?;
    document(&text).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::TcpListener;
    use std::time::Duration;

    fn after(bytes: &[u8]) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let here = listener.accept().unwrap().0;
        caller.write_all(bytes).unwrap();
        here
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(300)
    }

    #[test]
    fn what_is_sent_is_read() {
        let cookie = Cookie::random();
        assert_eq!(Cookie::read(&after(&cookie.0), soon()).unwrap(), cookie);
        for state in State::ALL {
            assert_eq!(State::read(&after(&(state as i8).to_be_bytes()), soon()).unwrap(), state);
        }
    }

    #[test]
    fn a_length_is_believed_only_up_to_the_limit() {
        let refused = read_document::<serde_json::Value>(&after(&[255; 4]), 100, soon()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidData);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn any_bytes_end_in_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let (cookie, state, document) = (after(&bytes), after(&bytes), after(&bytes));
            let _ = Cookie::read(&cookie, soon());
            let read = State::read(&state, soon());
            prop_assert_eq!(read.is_ok(), bytes.first().is_some_and(|&byte| State::of(byte as i8).is_ok()));
            let _ = read_document::<serde_json::Value>(&document, 64, soon());
        }
    }
}
