//! Captures what passes the interfaces of a simulated network, as pcapng files.
//!
//! A frame is captured where it leaves, when its transmission begins (a real host's capture sees it after the queue),
//! and where it arrives, when its last bit has. Headers are made for the capture alone, see [`headers`]. Capturing
//! changes nothing in a trial or in its record.

mod headers;
mod options;

use crate::wiring::Wiring;
use crate::{Packet, Time};
use anyhow::Result;
use headers::{Frame, Side};
use nettrial_capture::Capture;
use nettrial_routing::Interfaces;
use nettrial_scenario::Capture as Settings;
use std::collections::HashMap;
use std::path::Path;

/// A connection's flow, its turn there, and its place among the flow's connections.
#[derive(Debug, Clone, Copy)]
struct Opened {
    flow: u32,
    turn: usize,
    place: u16,
}

/// The captures of a trial.
#[derive(Debug)]
pub struct Captures {
    /// The files by the interface's number.
    files: Vec<Option<Capture>>,
    /// Both sides of every flow's subflows: by flow, by turn of its connections, by subflow.
    flows: Vec<Vec<Vec<[Side; 2]>>>,
    /// Each connection that was opened.
    connections: HashMap<u32, Opened>,
    /// The number of connections that each flow has opened.
    opened: Vec<u16>,
    /// The first failure to write.
    failure: Option<anyhow::Error>,
    frame: Frame,
}

impl Captures {
    /// Opens the files that `settings` ask for.
    ///
    /// # Errors
    /// Fails if a file can't be created.
    pub fn new(settings: &Settings, interfaces: &Interfaces<'_>, wirings: &[Wiring<'_>]) -> Result<Self> {
        let create = |node: &str, interface: &str| {
            let name = settings.file_name(node, interface);
            let snap_bytes = settings.snap_bytes as usize;
            Capture::create(Path::new(&settings.directory), &name, interface, snap_bytes)
        };
        let files = interfaces.all().iter().map(|interface| {
            let wanted = settings.includes(&interface.node, &interface.name);
            wanted.then(|| create(&interface.node, &interface.name)).transpose()
        });
        Ok(Self {
            files: files.collect::<Result<_>>()?,
            flows: wirings.iter().map(Side::all).collect(),
            connections: HashMap::new(),
            opened: vec![0; wirings.len()],
            failure: None,
            frame: Frame::default(),
        })
    }

    /// Notes that `flow` opens a connection, its `turn`-th list of subflows.
    pub fn opened(&mut self, connection: u32, flow: u32, turn: usize) {
        let place = &mut self.opened[flow as usize];
        self.connections.insert(connection, Opened { flow, turn, place: *place });
        *place = place.wrapping_add(1);
    }

    /// Captures a packet at the interface with this number, on its way `between` two interfaces, the first of which sends
    /// it. What is given later is not older than `now`.
    pub fn take(&mut self, interface: usize, between: [usize; 2], packet: &Packet, at: Time, now: Time) {
        let Some(file) = self.files[interface].as_mut() else { return };
        let number = packet.to.connection;
        let datagrams = Opened { flow: number, turn: 0, place: 0 };
        let Opened { flow, turn, place } = self.connections.get(&number).copied().unwrap_or(datagrams);
        let turns = &self.flows[flow as usize];
        let mut sides = turns[turn][usize::from(packet.to.subflow)];
        if turns.len() == 1 {
            sides[0].use_later_port(place);
        }
        let made = self.frame.make(packet, &sides, between, at, file.snap_bytes());
        let written = made.and_then(|length| {
            file.add(at.as_ns(), length, self.frame.bytes());
            file.release(now.as_ns())
        });
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Completes all files.
    ///
    /// # Errors
    /// Fails with the first failure to write one.
    pub fn finish(self) -> Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.files.into_iter().flatten().try_for_each(|file| file.finish().map(drop))
    }
}
