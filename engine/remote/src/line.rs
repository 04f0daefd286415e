//! Lines that carry a code: one JSON document each, after the HMAC-SHA-256 of its place in the sequence
//! and its text. Each direction has a key of its own. A line that was changed, left out, repeated or put
//! in between does not fit, and ends the connection.

use crate::handshake::{hex, unhex};
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

/// Digits of a code.
const CODE_DIGITS: usize = 64;

/// A key of HMAC-SHA-256.
pub struct Key(Hmac<Sha256>);

/// What a key makes of a text.
pub struct Code(Hmac<Sha256>);

impl Key {
    /// The key of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length"))
    }

    /// What it makes of `parts`, one after the other.
    pub fn over(&self, parts: &[&[u8]]) -> Code {
        let mut code = self.0.clone();
        for part in parts {
            code.update(part);
        }
        Code(code)
    }
}

impl Code {
    /// The code itself.
    pub fn code(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }

    /// Whether it is `given`; takes the same time whatever that is.
    pub fn made(self, given: &[u8; 32]) -> bool {
        self.0.verify_slice(given).is_ok()
    }
}

/// Writes lines.
pub struct Writer<W> {
    output: W,
    key: Key,
    number: u64,
}

impl<W: Write> Writer<W> {
    /// Writes to `output` with `key`, from the sequence's beginning.
    pub fn new(output: W, key: Key) -> Self {
        Self { output, key, number: 0 }
    }

    /// Writes a document.
    pub fn send(&mut self, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(document)?;
        let code = self.key.over(&[&self.number.to_be_bytes(), text.as_bytes()]).code();
        self.number += 1;
        self.output.write_all(format!("{} {text}\n", hex(&code)).as_bytes())
    }
}

/// Reads lines.
pub struct Reader<R> {
    input: BufReader<R>,
    key: Key,
    number: u64,
    most: u64,
}

impl<R: Read> Reader<R> {
    /// Reads from `input` what was written with `key`, lines of at most `most` bytes.
    pub fn new(input: R, key: Key, most: u64) -> Self {
        Self { input: BufReader::new(input), key, number: 0, most }
    }

    /// The next document; none at the end of the input.
    ///
    /// # Errors
    /// `InvalidData` for a line that is too long, has a wrong code or holds no such document, after which
    /// nothing that follows means anything; and whatever reading fails with.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.input).take(self.most).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let invalid = |why: &str| io::Error::new(ErrorKind::InvalidData, why.to_owned());
        if line.pop() != Some(b'\n') {
            return Err(invalid(if line.len() as u64 + 1 >= self.most {
                "a line is too long"
            } else {
                "a line is cut off"
            }));
        }
        let (code, text) = line.split_at_checked(CODE_DIGITS).ok_or_else(|| invalid("a line has no code"))?;
        let code =
            std::str::from_utf8(code).ok().and_then(unhex).ok_or_else(|| invalid("a line has no code"))?;
        let text = text.strip_prefix(b" ").ok_or_else(|| invalid("a line has no code"))?;
        if !self.key.over(&[&self.number.to_be_bytes(), text]).made(&code) {
            return Err(invalid("a line's code is wrong"));
        }
        self.number += 1;
        serde_json::from_slice(text)
            .map(Some)
            .map_err(|error| invalid(&format!("a line is not understood: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(texts: &[String]) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, Key::new(b"key"));
        texts.iter().for_each(|text| writer.send(text).unwrap());
        bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn read(bytes: &[u8]) -> (Vec<String>, Option<ErrorKind>) {
        let mut reader = Reader::new(bytes, Key::new(b"key"), 1000);
        let mut texts = Vec::new();
        loop {
            match reader.next() {
                Ok(Some(text)) => texts.push(text),
                Ok(None) => return (texts, None),
                Err(error) => return (texts, Some(error.kind())),
            }
        }
    }

    proptest! {
        #[test]
        fn lines_come_back(texts in prop::collection::vec(".{0,40}", 0..6)) {
            prop_assert_eq!(read(&written(&texts).concat()), (texts, None));
        }

        #[test]
        fn a_changed_byte_is_found(texts in prop::collection::vec(".{0,40}", 1..4), at: prop::sample::Index, flip in 1u8..=255) {
            let mut bytes = written(&texts).concat();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let (before, error) = read(&bytes);
            // A digit's case is not part of its value.
            let same = error.is_none() && before == texts;
            prop_assert!(error == Some(ErrorKind::InvalidData) || same);
            prop_assert!(texts.starts_with(&before));
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
            prop_assert_eq!(read(&bytes), (Vec::new(), Some(ErrorKind::InvalidData)));
        }
    }

    #[test]
    fn a_line_has_one_place() {
        let texts = ["one", "two", "three"].map(str::to_owned);
        let lines = written(&texts);
        for order in [vec![1, 0, 2], vec![0, 0], vec![0, 2], vec![0, 1, 1]] {
            let bytes: Vec<u8> = order.iter().flat_map(|&line| lines[line].clone()).collect();
            assert_eq!(read(&bytes).1, Some(ErrorKind::InvalidData), "{order:?}");
        }
    }

    #[test]
    fn a_long_line_is_not_gathered() {
        let long = std::io::repeat(b'x');
        let mut reader = Reader::new(long, Key::new(b"key"), 1000);
        assert_eq!(reader.next::<String>().unwrap_err().to_string(), "a line is too long");
    }
}
