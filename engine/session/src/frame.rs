//! Sends documents over a sealed connection. The connection is encrypted, and is refused if anyone changed,
//! repeated, reordered or left out a part of it.
//!
//! A frame is the length of a Noise message, two bytes, and that message (The Noise Protocol Framework,
//! section 3: at most 65,535 bytes). A document is its length, four bytes, and its JSON, in as many frames as it
//! needs. Each direction has a key of its own and numbers its frames.

use nettrial_admission::document;
use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::StatelessTransportState;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::sync::Arc;

/// The most bytes of a Noise message.
const MOST_FRAME_BYTES: usize = 65_535;
/// The bytes by which a Noise message is longer than its content.
const TAG_BYTES: usize = 16;
/// Bytes of a document's length.
const LENGTH_BYTES: usize = 4;

/// Writes documents.
pub struct Writer<W> {
    output: W,
    keys: Arc<StatelessTransportState>,
    number: u64,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(output: W, keys: Arc<StatelessTransportState>, number: u64) -> Self {
        Self { output, keys, number }
    }

    /// Writes a document.
    ///
    /// # Errors
    /// Fails if the connection does.
    pub fn send(&mut self, document: &impl Serialize) -> io::Result<()> {
        let mut text = vec![0; LENGTH_BYTES];
        serde_json::to_writer(&mut text, document)?;
        let length =
            u32::try_from(text.len() - LENGTH_BYTES).map_err(|_| invalid("a document is too long"))?;
        text[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        let mut frame = vec![0; MOST_FRAME_BYTES + 2];
        for part in text.chunks(MOST_FRAME_BYTES - TAG_BYTES) {
            let sealed = self.keys.write_message(self.number, part, &mut frame[2..]);
            let length = sealed.map_err(|error| invalid(&format!("a frame could not be sealed: {error}")))?;
            self.number += 1;
            let announced = u16::try_from(length).expect("a Noise message has 65,535 bytes at most");
            frame[..2].copy_from_slice(&announced.to_be_bytes());
            self.output.write_all(&frame[..2 + length])?;
        }
        self.output.flush()
    }
}

/// Reads documents.
pub struct Reader<R> {
    input: BufReader<R>,
    keys: Arc<StatelessTransportState>,
    number: u64,
    most: usize,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(input: R, keys: Arc<StatelessTransportState>, number: u64, most: usize) -> Self {
        Self { input: BufReader::new(input), keys, number, most }
    }

    /// Returns the next document, whose strings are safe for a log and a record; none at the end of the input.
    ///
    /// # Errors
    /// Fails with `InvalidData` if a frame was not sealed with the other side's key at this place, or if a
    /// document is too long or of another type; and with any error of reading. The connection can't be used any
    /// further then.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(mut text) = self.part()? else { return Ok(None) };
        let announced =
            text.first_chunk::<LENGTH_BYTES>().ok_or_else(|| invalid("a document has no length"))?;
        let length = u32::from_be_bytes(*announced) as usize;
        if length > self.most {
            return Err(invalid(&format!("a document of {length} bytes, where {} are allowed", self.most)));
        }
        while text.len() < LENGTH_BYTES + length {
            text.extend(self.part()?.ok_or_else(|| invalid("a document is cut off"))?);
        }
        if text.len() > LENGTH_BYTES + length {
            return Err(invalid("a frame holds more than its document"));
        }
        document(&text[LENGTH_BYTES..])
            .map(Some)
            .map_err(|error| invalid(&format!("a document is not understood: {error}")))
    }

    /// Returns the content of the next frame; none at the end of the input.
    fn part(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut announced = [0; 2];
        if self.input.read(&mut announced[..1])? == 0 {
            return Ok(None);
        }
        let cut_off = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => invalid("a frame is cut off"),
            _ => error,
        };
        self.input.read_exact(&mut announced[1..]).map_err(cut_off)?;
        let mut frame = vec![0; u16::from_be_bytes(announced).into()];
        self.input.read_exact(&mut frame).map_err(cut_off)?;
        open(&self.keys, &mut self.number, &frame).map(Some)
    }
}

/// Returns the content of the frame with this number.
pub fn open(keys: &StatelessTransportState, number: &mut u64, frame: &[u8]) -> io::Result<Vec<u8>> {
    if frame.len() < TAG_BYTES {
        return Err(invalid("a frame is too short"));
    }
    let mut part = vec![0; frame.len()];
    let length = keys
        .read_message(*number, frame, &mut part)
        .map_err(|_| invalid("a frame is not the other side's, or not at its place"))?;
    *number += 1;
    part.truncate(length);
    Ok(part)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::tests::keys;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    const MOST: usize = 200_000;
    /// The keys of a session that several tests share: its frames are numbered anew by each writer.
    static SHARED: LazyLock<(Arc<StatelessTransportState>, Arc<StatelessTransportState>)> =
        LazyLock::new(keys);

    fn written(keys: &Arc<StatelessTransportState>, texts: &[String]) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, Arc::clone(keys), 0);
        texts.iter().for_each(|text| writer.send(text).unwrap());
        let mut rest = &bytes[..];
        let mut frames = Vec::new();
        while let Some((announced, _)) = rest.split_first_chunk::<2>() {
            let (frame, after) = rest.split_at(2 + usize::from(u16::from_be_bytes(*announced)));
            frames.push(frame.to_vec());
            rest = after;
        }
        frames
    }

    fn read(keys: &Arc<StatelessTransportState>, bytes: &[u8]) -> (Vec<String>, Option<ErrorKind>) {
        let mut reader = Reader::new(bytes, Arc::clone(keys), 0, MOST);
        let mut texts = Vec::new();
        loop {
            match reader.receive() {
                Ok(Some(text)) => texts.push(text),
                Ok(None) => return (texts, None),
                Err(error) => return (texts, Some(error.kind())),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn documents_come_back(texts in prop::collection::vec("[ -~äß]{0,40}", 0..6)) {
            let (one, other) = &*SHARED;
            prop_assert_eq!(read(other, &written(one, &texts).concat()), (texts, None));
        }

        #[test]
        fn a_changed_byte_is_found(texts in prop::collection::vec("[ -~]{0,40}", 1..4), at: prop::sample::Index, flip in 1u8..=255) {
            let (one, other) = &*SHARED;
            let mut bytes = written(one, &texts).concat();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            let (before, error) = read(other, &bytes);
            prop_assert_eq!(error, Some(ErrorKind::InvalidData));
            prop_assert!(before.len() < texts.len() && texts.starts_with(&before));
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
            prop_assert_eq!(read(&SHARED.1, &bytes), (Vec::new(), Some(ErrorKind::InvalidData)));
        }

        #[test]
        fn any_sealed_bytes_end_in_a_value_or_an_error(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..4)) {
            let (one, other) = &*SHARED;
            let mut bytes = Vec::new();
            for (number, part) in (0..).zip(&parts) {
                let mut frame = [0; 100];
                let length = one.write_message(number, part, &mut frame).unwrap();
                bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
                bytes.extend(&frame[..length]);
            }
            let (_, error) = read(other, &bytes);
            prop_assert!(error.is_none() || error == Some(ErrorKind::InvalidData));
        }
    }

    #[test]
    fn a_frame_has_one_place_and_one_direction() {
        let (one, other) = keys();
        let texts = ["one", "two", "three"].map(str::to_owned);
        let frames = written(&one, &texts);
        for order in [vec![1, 0, 2], vec![0, 0], vec![0, 2], vec![0, 1, 1]] {
            let bytes: Vec<u8> = order.iter().flat_map(|&frame| frames[frame].clone()).collect();
            assert_eq!(read(&other, &bytes).1, Some(ErrorKind::InvalidData), "{order:?}");
        }
        assert_eq!(read(&one, &frames.concat()).1, Some(ErrorKind::InvalidData), "sent back");
        assert_eq!(read(&keys().1, &frames.concat()).1, Some(ErrorKind::InvalidData), "another session's");
    }

    #[test]
    fn a_long_document_takes_several_frames_and_a_longer_one_is_refused() {
        let (one, other) = keys();
        let long = "x".repeat(MOST - 2);
        let frames = written(&one, std::slice::from_ref(&long));
        assert_eq!(frames.len(), 4);
        assert_eq!(read(&other, &frames.concat()), (vec![long], None));
        let (one, other) = keys();
        let longer = written(&one, &["x".repeat(MOST - 1)]);
        // The announced length is enough to refuse it.
        assert_eq!(read(&other, &longer[0]), (Vec::new(), Some(ErrorKind::InvalidData)));
        let cut_off = &written(&keys().0, &["text".to_owned()])[0][..5];
        assert_eq!(read(&other, cut_off), (Vec::new(), Some(ErrorKind::InvalidData)));
    }

    #[test]
    fn nothing_that_is_sent_can_be_read_on_the_way() {
        let frames = written(&keys().0, &["attack at dawn".repeat(20)]);
        let text = String::from_utf8_lossy(&frames.concat()).into_owned();
        assert!(!text.contains("attack"));
    }
}
