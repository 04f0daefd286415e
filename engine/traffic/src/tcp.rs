//! TCP and MPTCP sockets with a flow's options.

use crate::cookie::Purpose;
use crate::error::{Context, Result};
use crate::platform;
use crate::protocol::Side;
use nettrial_scenario::{Traffic, Transport};
use socket2::{Domain, Socket};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Creates a socket of the flow's `side` with the flow's options, not yet bound.
fn socket(side: &Side) -> Result<Socket> {
    let mptcp = side.flow.transport == Transport::Mptcp;
    let domain = if side.address.ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = platform::stream_socket(domain, mptcp).with_context(|| match mptcp {
        true => "opening an MPTCP socket (sysctl net.mptcp.enabled must be 1)",
        false => "opening a TCP socket",
    })?;
    platform::choose_congestion_control(&socket, &side.congestion_control)
        .with_context(|| format!("choosing congestion control {:?}", side.congestion_control))?;
    let fills_segments = matches!(side.flow.traffic, Traffic::Transfer(_) | Traffic::FileTransfer(_));
    if !fills_segments && !side.flow.socket.nagle {
        // A message does not wait for the acknowledgment of the previous one. The listener's connections inherit
        // this option.
        socket.set_tcp_nodelay(true).context("setting TCP_NODELAY")?;
    }
    if let Some(mss) = side.flow.socket.mss {
        platform::limit_segments(&socket, i32::try_from(mss.0)?)
            .with_context(|| format!("limiting segments to {mss} (TCP_MAXSEG)"))?;
    }
    if let Some(window) = side.flow.socket.window {
        platform::set_window(&socket, i32::try_from(window.0)?)
            .with_context(|| format!("setting a window of {window}"))?;
    }
    mark(&socket, side)?;
    Ok(socket)
}

/// Sets the codepoint of the packets of `socket` that the flow asks for.
pub fn mark(socket: &Socket, side: &Side) -> Result<()> {
    let dscp = side.flow.socket.dscp;
    if dscp > 0 {
        let failed = || format!("setting the differentiated services codepoint {dscp} (IP_TOS, IPV6_TCLASS)");
        platform::mark(socket, side.address.ip, dscp).with_context(failed)?;
    }
    Ok(())
}

/// Opens a socket on which the flow's `side` accepts connections, at a port that the kernel chooses.
pub fn listen(side: &Side, backlog: i32) -> Result<std::net::TcpListener> {
    let socket = socket(side)?;
    let local = side.address.socket(0);
    socket.bind(&local.into()).with_context(|| format!("binding to {}", side.address))?;
    socket.listen(backlog).context("listening")?;
    Ok(socket.into())
}

/// Opens a connection of the flow, and returns it with the time that the call to connect took. The connection is
/// not admitted until it has shown the cookie.
pub fn connect_only(side: &Side, destination: SocketAddr) -> Result<(TcpStream, Duration)> {
    let socket = socket(side)?;
    platform::bind_late(&socket).context("setting IP_BIND_ADDRESS_NO_PORT")?;
    let local = side.address.socket(0);
    socket.bind(&local.into()).with_context(|| format!("binding to {}", side.address))?;
    let stream = TcpStream::from(socket);
    bound_waits(&stream, side.patience())?;
    let begin = Instant::now();
    socket2::SockRef::from(&stream)
        .connect(&destination.into())
        .with_context(|| format!("connecting to {destination}"))?;
    let took = begin.elapsed();
    bound_window(&stream, side)?;
    Ok((stream, took))
}

/// Bounds the receive window of a connection of the flow's `side` that was opened or accepted. This restores the
/// bound if the system lowered it when the connection opened.
pub fn bound_window(stream: &TcpStream, side: &Side) -> Result<()> {
    let Some(window) = side.flow.socket.window else { return Ok(()) };
    platform::bound_window(stream, i32::try_from(window.0)?).context("bounding the window (TCP_WINDOW_CLAMP)")
}

/// Opens a connection of the flow for `purpose`, and returns it with the time that the call to connect took.
pub fn connect(side: &Side, destination: SocketAddr, purpose: Purpose) -> Result<(TcpStream, Duration)> {
    let (mut stream, took) = connect_only(side, destination)?;
    stream.write_all(&side.cookie.opening(purpose)).context("showing the trial's cookie")?;
    Ok((stream, took))
}

/// Bounds the waits of reads and writes on `stream` by `patience`.
pub fn bound_waits(stream: &TcpStream, patience: Duration) -> Result<()> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(())
}
