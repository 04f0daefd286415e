//! Reads lines and texts of bounded length from another process, a guest, a machine or a peer, so that none of them
//! can exhaust this machine's memory.

use std::io::{self, BufRead, ErrorKind, Read};

/// Appends the next line with its newline to `line`, and returns its length in bytes; 0 at the end of the input. The
/// last line may have no newline.
///
/// # Errors
/// Fails with `InvalidData` if the line has more than `most` bytes before its newline, which names the limit, and with
/// any error of reading.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<usize> {
    let begin = line.len();
    let length = input.by_ref().take(most.saturating_add(1)).read_until(b'\n', line)?;
    if length as u64 > most && line[begin..].last() != Some(&b'\n') {
        return Err(too_long("a line", most));
    }
    Ok(length)
}

/// Returns the lines of `input` without their newlines, each of up to `most` bytes. The first error, which is that
/// of [`read_line`] or of a line that is not UTF-8, is the last item.
pub fn lines(mut input: impl BufRead, most: u64) -> impl Iterator<Item = io::Result<String>> {
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let mut line = Vec::new();
        let next = match read_line(&mut input, &mut line, most) {
            Ok(0) => return None,
            Ok(_) => text(line).map(|mut line| {
                line.truncate(line.trim_end_matches(['\r', '\n']).len());
                line
            }),
            Err(error) => Err(error),
        };
        is_over = next.is_err();
        Some(next)
    })
}

/// Returns the lines of `input` without their newlines until its end or an error. A line of more than `most` bytes
/// becomes several, and bytes that are not UTF-8 are replaced.
pub fn pieces(mut input: impl BufRead, most: u64) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match input.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()),
        }
    })
}

/// Reads a text of up to `most` bytes to the end of `input`.
///
/// # Errors
/// Fails with `InvalidData` if it is longer or not UTF-8, and with any error of reading.
pub fn read_text(input: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let length = input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if length as u64 > most { Err(too_long("a text", most)) } else { text(bytes) }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "a line that is not UTF-8 text"))
}

fn too_long(what: &str, most: u64) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{what} of more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// An input without end that counts the bytes read of it.
    struct Endless(u64);

    impl Read for Endless {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            bytes.fill(b'x');
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
    }

    #[test]
    fn a_line_has_as_many_bytes_as_the_limit() {
        let (mut input, mut line) = (&b"1234\r\n\n12345\n"[..], Vec::new());
        assert_eq!(read_line(&mut input, &mut line, 5).unwrap(), 6);
        assert_eq!(read_line(&mut input, &mut line, 5).unwrap(), 1);
        assert_eq!(line, b"1234\r\n\n");
        let error = read_line(&mut input, &mut line, 4).unwrap_err().to_string();
        assert_eq!(error, "a line of more than 4 bytes");
    }

    #[test]
    fn the_first_error_is_the_last_line() {
        let found: Vec<_> = lines(&b"one\ntwo\r\nlast"[..], 4).map(Result::unwrap).collect();
        assert_eq!(found, ["one", "two", "last"]);
        for (bytes, why) in [(&b"one\nthree\nx\n"[..], "more than 4 bytes"), (b"one\n\xff\nx\n", "not UTF-8")]
        {
            let found: Vec<_> = lines(bytes, 4).map(|line| line.map_err(|error| error.to_string())).collect();
            assert_eq!(found[0], Ok("one".to_owned()));
            assert!(found.len() == 2 && found[1].as_ref().unwrap_err().contains(why), "{found:?}");
        }
    }

    #[test]
    fn an_input_without_end_is_read_up_to_the_limit() {
        let mut input = BufReader::with_capacity(1000, Endless(0));
        let mut line = Vec::new();
        assert!(read_line(&mut input, &mut line, 10_000).is_err());
        assert!(
            read_text(&mut input, 10_000)
                .unwrap_err()
                .to_string()
                .contains("a text of more than 10000 bytes")
        );
        assert!(line.len() <= 10_001 && input.get_ref().0 <= 22_000, "{}", input.get_ref().0);
        let pieces: Vec<usize> = pieces(&mut input, 300).take(3).map(|piece| piece.len()).collect();
        assert_eq!(pieces, [300; 3]);
    }
}
