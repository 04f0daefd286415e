//! A flow from its receiver's side: accepts the flow's connections and serves each.

use crate::cookie::Purpose;
use crate::protocol::{Connection, Side};
use crate::{exchange, packets, tcp, tool, transfer};
use anyhow::{Context, Result, bail};
use nettrial_scenario::Traffic;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Opens a port for the flow of `side` and serves it from threads of its own until the agent ends.
pub fn listen(side: Side) -> Result<u16> {
    if let Some(settings) = tool::of(&side.flow) {
        return tool::listen(&side, settings);
    }
    let socket = tcp::socket(&side, 0)?;
    socket.listen(BACKLOG).context("listening")?;
    let listener = TcpListener::from(socket);
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let side = side.clone();
            std::thread::spawn(move || {
                // A connection that fails is the sender's to report: it waits for an answer.
                if let Err(error) = serve(&stream, &side) {
                    eprintln!("flow {:?}: {error:#}", side.flow.name);
                }
            });
        }
    });
    Ok(port)
}

fn serve(mut stream: &TcpStream, side: &Side) -> Result<()> {
    tcp::bound_waits(stream)?;
    match side.cookie.admit(&mut stream).context("a connection was refused")? {
        Purpose::Inspect => {
            // One byte back: the inspector then knows that the connection is established on both sides.
            stream.write_all(&[1])?;
            Ok(())
        }
        Purpose::Traffic => match &side.flow.traffic {
            Traffic::Transfer(_) => transfer::receive(stream),
            Traffic::RequestResponse(settings) => exchange::respond(stream, settings),
            Traffic::Packets(settings) => packets::receive(stream, side, settings),
            other => bail!("traffic of the kind {} is not carried", other.kind()),
        },
    }
}

/// Opens a connection of the flow, looks at it and closes it.
pub fn inspect(side: &Side, destination: std::net::SocketAddr) -> Result<Connection> {
    let (mut stream, _) = tcp::connect(side, destination, Purpose::Inspect)?;
    stream.read_exact(&mut [0]).context("waiting for the receiver")?;
    let info = tcp::info(&stream)?;
    Ok(Connection {
        mss_bytes: info.snd_mss,
        congestion_control: tcp::congestion_control(&stream)?,
        options: info.option_names().into_iter().map(str::to_owned).collect(),
    })
}
