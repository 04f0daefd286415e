//! Reads the output of a system's program in bounded memory and time.

use std::io::{self, ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The interval at which a program that has closed its output is asked whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// Runs `command`, without input, and returns its standard output.
///
/// # Errors
/// Fails if the command can't be started or fails, and if it writes more than `most` bytes or takes longer than
/// `patience`; then it is killed.
pub fn output(command: &mut Command, most: u64, patience: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (printed, status) = gather(&mut child, most, deadline).inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })?;
    if status.success() { Ok(printed) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}

fn gather(child: &mut Child, most: u64, deadline: Instant) -> io::Result<(Vec<u8>, ExitStatus)> {
    let late = || io::Error::new(ErrorKind::TimedOut, "it did not end in time");
    let printed = child.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    let (teller, told) = channel();
    // A process that the program leaves behind may keep the pipe open: this thread then ends with that process.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let length = printed.take(most.saturating_add(1)).read_to_end(&mut bytes);
        let _ = teller.send(length.map(|_| bytes));
    });
    let left = deadline.saturating_duration_since(Instant::now());
    let bytes = told.recv_timeout(left).map_err(|_| late())??;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("it wrote more than {most} bytes")));
    }
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((bytes, status));
        }
        if Instant::now() > deadline {
            return Err(late());
        }
        std::thread::sleep(POLL);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn of(script: &str, most: u64, patience: Duration) -> Result<String, String> {
        let printed = output(Command::new("sh").args(["-c", script]), most, patience);
        printed.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_output_of_a_command_that_succeeds_is_returned() {
        assert_eq!(of("echo four; echo no >&2; cat", 5, PATIENCE), Ok("four\n".into()));
        assert_eq!(of("echo four; exit 3", 5, PATIENCE), Err("it ended with exit status: 3".into()));
        let absent = output(&mut Command::new("/nonexistent/program"), 5, PATIENCE).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_command_without_end_is_killed() {
        let shortly = Duration::from_millis(100);
        let late = Err("it did not end in time".to_owned());
        assert_eq!(of("exec yes", 1000, PATIENCE), Err("it wrote more than 1000 bytes".into()));
        assert_eq!(of("exec sleep 1000", 1000, shortly), late);
        assert_eq!(of("exec sleep 1000 >&-", 1000, shortly), late);
        // The shell ends, and a process that it started keeps the output open.
        assert_eq!(of("sleep 5 & exit 0", 1000, shortly), late);
    }
}
