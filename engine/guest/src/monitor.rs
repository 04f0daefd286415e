//! QEMU's monitor, which accepts commands about a guest's machine (QEMU's docs/interop/qmp-spec.rst).

use crate::error::{Context, Error, Result};
use nettrial_admission::read_line;
use serde_json::{Value, json};
use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The largest length of a line from QEMU, in bytes.
const MOST_LINE_BYTES: u64 = 1 << 20;
/// The time that QEMU may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The monitor of a guest's machine.
pub struct Monitor {
    connection: Mutex<Connection>,
}

/// The connection to QEMU's monitor.
struct Connection {
    stream: BufReader<UnixStream>,
    /// True once QEMU has been told that commands follow.
    is_open: bool,
}

impl Monitor {
    /// Creates a monitor, and returns it with QEMU's end of the connection.
    pub(crate) fn pair() -> Result<(Self, UnixStream)> {
        let (near, far) = UnixStream::pair().context("creating a connection to QEMU")?;
        near.set_read_timeout(Some(PATIENCE))?;
        let connection = Connection { stream: BufReader::new(near), is_open: false };
        Ok((Self { connection: Mutex::new(connection) }, far))
    }

    /// Turns the carrier of the network device with this number on or off.
    ///
    /// # Errors
    /// Fails if QEMU is gone, or if it refuses.
    pub fn set_link(&self, device: usize, up: bool) -> Result<()> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if !connection.is_open {
            connection.execute(&json!({"execute": "qmp_capabilities"}))?;
            connection.is_open = true;
        }
        let arguments = json!({"name": format!("net{device}"), "up": up});
        connection.execute(&json!({"execute": "set_link", "arguments": arguments}))
    }
}

impl Connection {
    fn execute(&mut self, order: &Value) -> Result<()> {
        let doing = || format!("telling QEMU {order}");
        writeln!(self.stream.get_mut(), "{order}").with_context(doing)?;
        loop {
            let mut line = Vec::new();
            let read = read_line(&mut self.stream, &mut line, MOST_LINE_BYTES);
            if read.with_context(|| format!("{}: reading its answer", doing()))? == 0 {
                return Err(Error::Qemu(format!("{}: it is gone", doing())));
            }
            let answer: Value = serde_json::from_slice(&line).with_context(doing)?;
            if let Some(error) = answer.get("error") {
                return Err(Error::Qemu(format!("{}: {error}", doing())));
            }
            // Other lines are the greeting and events.
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufRead;

    #[test]
    fn a_line_without_end_is_refused() {
        let (monitor, mut far) = Monitor::pair().unwrap();
        std::thread::spawn(move || while far.write_all(&[b'x'; 4096]).is_ok() {});
        let error = nettrial_scenario::chain(&monitor.set_link(0, true).unwrap_err());
        assert!(
            error.contains("telling QEMU") && error.contains("a line of more than 1048576 bytes"),
            "{error}"
        );
    }

    #[test]
    fn orders_are_answered_beside_greeting_and_events() {
        let (monitor, far) = Monitor::pair().unwrap();
        let mut answers = far.try_clone().unwrap();
        answers
            .write_all(
                b"{\"QMP\": {}}\n{\"return\": {}}\n{\"event\": \"RESET\"}\n{\"return\": {}}\n\
                  {\"error\": {\"desc\": \"no such device\"}}\n",
            )
            .unwrap();
        monitor.set_link(3, false).unwrap();
        let error = monitor.set_link(4, true).unwrap_err().to_string();
        assert!(error.contains("no such device"), "{error}");
        let orders: Vec<Value> = BufReader::new(far)
            .lines()
            .take(3)
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        assert_eq!(orders[0], json!({"execute": "qmp_capabilities"}));
        assert_eq!(orders[1]["arguments"], json!({"name": "net3", "up": false}));
        drop(answers);
        assert!(monitor.set_link(3, true).unwrap_err().to_string().contains("set_link"));
    }
}
