//! Reads with a deadline, so that a caller who sends a byte now and then cannot keep a thread busy.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::Instant;

/// Fills `bytes` before `deadline`.
///
/// # Errors
/// Fails with `TimedOut` after the deadline, with `UnexpectedEof` if the caller closed the connection, and with
/// any other error of reading.
pub fn read_exact_by(stream: &TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += read_by(stream, &mut bytes[filled..], deadline)?;
    }
    Ok(())
}

/// Reads a line of at most `most` bytes before `deadline`, and returns it without its newline. Nothing may follow
/// the line yet, because callers wait for an answer to each line.
///
/// # Errors
/// Fails as [`read_exact_by`] does, and with `InvalidData` for a longer line or one that is not UTF-8.
pub fn read_line_by(stream: &TcpStream, most: usize, deadline: Instant) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        read_exact_by(stream, &mut byte, deadline)?;
        if byte == *b"\n" {
            let invalid = |_| io::Error::new(ErrorKind::InvalidData, "the line is not text");
            return String::from_utf8(line).map_err(invalid);
        }
        line.push(byte[0]);
        if line.len() > most {
            return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
        }
    }
}

fn read_by(mut stream: &TcpStream, bytes: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let late = || io::Error::new(ErrorKind::TimedOut, "nothing came in time");
    loop {
        let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or_else(late)?))?;
        match stream.read(bytes) {
            Ok(0) => return Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed")),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (caller, listener.accept().unwrap().0)
    }

    #[test]
    fn a_line_ends_at_its_newline() {
        let (mut caller, here) = pair();
        caller.write_all(b"one\n").unwrap();
        let soon = Instant::now() + Duration::from_secs(300);
        assert_eq!(read_line_by(&here, 3, soon).unwrap(), "one");
    }

    #[test]
    fn a_long_line_and_bytes_that_are_no_text_are_refused() {
        for bytes in [&b"four\n"[..], b"\xff\n"] {
            let (mut caller, here) = pair();
            caller.write_all(bytes).unwrap();
            let soon = Instant::now() + Duration::from_secs(300);
            assert_eq!(read_line_by(&here, 3, soon).unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_byte_now_and_then_does_not_move_the_deadline() {
        let (mut caller, here) = pair();
        let dripping = std::thread::spawn(move || {
            while caller.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let deadline = Instant::now() + Duration::from_millis(100);
        let error = read_exact_by(&here, &mut [0; 1 << 20], deadline).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(here);
        dripping.join().unwrap();
    }
}
