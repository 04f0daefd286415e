//! TCP connections of a flow, whose calls wait.

use crate::Context;
use crate::host::Host;
use crate::meter::{Announced, Counts, Key};
use crate::stack::{Handle, Options, Stack, Stage};
use nettrial_scenario::{IpVersion, Traffic};
use nettrial_traffic::parts::{Figures, Purpose};
use nettrial_traffic::{Error, Result, Room, Side};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// A connection that is open.
pub struct Connection<S: Stack> {
    host: Arc<Host<S>>,
    handle: Handle,
    key: Key,
    /// The time for which a read or a write waits.
    patience: Duration,
}

/// Returns the options of the connections of a flow.
pub fn options(side: &Side) -> Options {
    Options { no_delay: !matches!(side.flow.traffic, Traffic::Transfer(_)) }
}

impl<S: Stack> Connection<S> {
    /// Opens a connection of the flow, and returns it with the time that this took.
    pub fn open(host: &Arc<Host<S>>, side: &Side, to: SocketAddr) -> Result<(Self, Duration)> {
        let doing = format!("connecting to {to}");
        let begin = Instant::now();
        let opening = host.with(|stack| {
            let handle = stack.connect(side.address.ip, to, options(side))?;
            let port = stack.ends(handle).map_or(0, |(own, _)| own.port());
            let key = Key { is_tcp: true, port, peer: to };
            stack.meter().begin(key);
            Ok::<_, io::Error>((handle, key))
        });
        let (handle, key) = opening.context(&doing)?;
        let made = Self { host: Arc::clone(host), handle, key, patience: side.patience() };
        let reached = host.wait(begin + side.patience(), |stack| {
            Some(stack.stage(handle)).filter(|stage| *stage != Stage::Opening)
        });
        match reached {
            Some(Stage::Open) => Ok((made, begin.elapsed())),
            Some(_) => Err(io::Error::from(ErrorKind::ConnectionRefused)).context(&doing),
            None => Err(Error::TimedOut("nothing came in time".into())).context(&doing),
        }
    }

    /// Opens a connection of the flow for its traffic, and returns it with the time that the opening took.
    pub fn shown(host: &Arc<Host<S>>, side: &Side, to: SocketAddr) -> Result<(Self, Duration)> {
        let (made, took) = Self::open(host, side, to)?;
        made.write_all(&side.cookie.opening(Purpose::Traffic)).context("showing the trial's cookie")?;
        Ok((made, took))
    }

    /// Opens a connection that carries the flow, and counts it.
    pub fn carry(host: &Arc<Host<S>>, side: &Side, to: SocketAddr, figures: &mut Figures) -> Result<Self> {
        let (made, took) = Self::shown(host, side, to)?;
        figures.count(took, &side.congestion_control)?;
        Ok(made)
    }

    /// Takes a connection that `port` has accepted.
    pub fn accepted(host: &Arc<Host<S>>, port: u16, patience: Duration) -> Self {
        loop {
            let opened = host.wait(Instant::now() + patience, |stack| {
                let handle = stack.accept(port)?;
                Some((handle, stack.ends(handle)))
            });
            match opened {
                Some((handle, Some((own, peer)))) => {
                    let key = Key { is_tcp: true, port: own.port(), peer };
                    return Self { host: Arc::clone(host), handle, key, patience };
                }
                // It is gone already.
                Some((handle, None)) => host.with(|stack| stack.release(handle)),
                None => {}
            }
        }
    }

    /// Writes what there is room for, and waits for room for one byte.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.host.wait(Instant::now() + self.patience, |stack| {
            Some(stack.write(self.handle, bytes)).filter(|written| !matches!(written, Ok(0)))
        });
        written.unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }

    /// Writes all of `bytes`.
    pub fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = &bytes[self.write(bytes)?..];
        }
        Ok(())
    }

    /// Reads what has arrived, and waits until something has; 0 after the last byte.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        self.read_until(bytes, Instant::now() + self.patience)
    }

    /// Reads what has arrived, and waits for it until `deadline`.
    pub fn read_until(&self, bytes: &mut [u8], deadline: Instant) -> io::Result<usize> {
        let read = self.host.wait(deadline, |stack| stack.read(self.handle, bytes).transpose());
        read.unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }

    /// Reads what has arrived at the connection of `stack`; `None` if nothing has.
    pub fn read_now(&self, stack: &mut S, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        stack.read(self.handle, bytes)
    }

    /// Returns the host of this end.
    pub fn host(&self) -> &Arc<Host<S>> {
        &self.host
    }

    /// Fills `bytes`.
    pub fn read_exact(&self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read(bytes)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => bytes = &mut bytes[count..],
            }
        }
        Ok(())
    }

    /// Writes some of `outgoing` if there is any and room for it, and reads into `incoming` what has arrived, until
    /// either happens or `limit` is over. Returns the numbers of bytes; `None` for the end of the stream.
    pub fn exchange(
        &self,
        outgoing: &[u8],
        incoming: &mut [u8],
        limit: Duration,
    ) -> io::Result<(usize, Option<usize>)> {
        let done = self.host.wait(Instant::now() + limit, |stack| {
            let mut both = || {
                let written = if outgoing.is_empty() { 0 } else { stack.write(self.handle, outgoing)? };
                Ok((written, stack.read(self.handle, incoming)?))
            };
            let both: io::Result<(usize, Option<usize>)> = both();
            match both {
                Ok((0, None)) => None,
                Ok((written, Some(0))) => Some(Ok((written, None))),
                Ok((written, read)) => Some(Ok((written, Some(read.unwrap_or(0))))),
                Err(error) => Some(Err(error)),
            }
        });
        done.unwrap_or(Ok((0, Some(0))))
    }

    /// Sends no more than what was written.
    pub fn finish(&self) {
        self.host.with(|stack| stack.finish(self.handle));
    }

    /// Resets the connection.
    pub fn abort(&self) {
        self.host.with(|stack| stack.abort(self.handle));
    }

    /// Returns what the connection's frames say.
    pub fn counts(&self) -> Counts {
        self.host.with(|stack| stack.meter().of(self.key))
    }

    /// Returns the payload of this host's largest segments, as it follows from the MTU, the other host's announcement and
    /// the options that each segment has (RFC 9293 section 3.7.1).
    pub fn segment_bytes(&self, counts: &Counts) -> Option<u32> {
        let (own, peer): (Announced, Announced) = (counts.own?, counts.peer?);
        let headers = IpVersion::of(self.key.peer.ip()).header_bytes() + TCP_HEADER_BYTES;
        let fits = self.host.mtu_bytes.saturating_sub(headers).min(u64::from(peer.mss_bytes?));
        let options = if own.timestamps && peer.timestamps { TIMESTAMPS_BYTES } else { 0 };
        u32::try_from(fits.saturating_sub(options)).ok()
    }

    /// Returns the buffers and the window scale on this side.
    pub fn room(&self) -> Room {
        let counts = self.counts();
        Room { window_scale: counts.own.and_then(|own| own.window_scale), ..self.host.room }
    }
}

impl<S: Stack> io::Read for &Connection<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Connection::read(self, bytes)
    }
}

impl<S: Stack> Drop for Connection<S> {
    fn drop(&mut self) {
        self.host.with(|stack| {
            stack.release(self.handle);
            stack.meter().end(self.key);
        });
    }
}
