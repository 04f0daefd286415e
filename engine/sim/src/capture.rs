//! Captures packets at the interfaces of a simulated network, as pcapng files.
//! A frame is captured at the sending interface when its transmission begins (as on a real host, whose captures see
//! frames after the queue), and at the receiving interface when its last bit has arrived. On a radio channel, every
//! frame is captured when it begins. Headers are generated only for captures, see [`headers`]. Capturing changes
//! neither a trial nor its record.

mod headers;
mod options;
mod side;

use crate::error::{Error, Result};
use crate::transport::wiring::Wiring;
use crate::{Packet, Time};
use headers::Frame;
use nettrial_capture::{Capture, LinkType};
use nettrial_routing::Interfaces;
use nettrial_scenario::{Capture as Settings, Scenario};
use nettrial_wlan::{Sent, Sniffer};
use side::Side;
use std::collections::HashMap;
use std::path::Path;

/// A connection's flow, its turn in it, and its index among the flow's connections.
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
    /// The sniffer and the capture file of each radio channel.
    channels: Vec<Option<(Sniffer, Capture)>>,
    /// Both sides of every flow's subflows: by flow, by turn of its connections, by subflow.
    flows: Vec<Vec<Vec<[Side; 2]>>>,
    /// The connections that were opened, by number.
    connections: HashMap<u32, Opened>,
    /// The number of connections that each flow has opened.
    opened: Vec<u16>,
    /// The first failure to write.
    failure: Option<Error>,
    frame: Frame,
}

impl Captures {
    /// Creates the files requested by `settings`.
    ///
    /// # Errors
    /// Fails if a file can't be created.
    pub fn new(
        settings: &Settings,
        scenario: &Scenario,
        interfaces: &Interfaces<'_>,
        wirings: &[Wiring<'_>],
    ) -> Result<Self> {
        let snap_bytes = settings.snap_bytes as usize;
        let create = |node: &str, interface: &str| {
            let name = settings.file_name(node, interface);
            let directory = Path::new(&settings.directory);
            Capture::create(directory, &name, interface, LinkType::Ethernet, snap_bytes)
        };
        let channel = |(link, wlan)| -> Result<Option<(Sniffer, Capture)>> {
            let stations: Vec<usize> = interfaces.of_link(link).collect();
            let Some(first) = stations.first().map(|first| interfaces.get(*first)) else { return Ok(None) };
            let Some(interface) = settings.channel(&first.node, &first.name) else { return Ok(None) };
            let addresses = stations.iter().map(|station| headers::mac(*station)).collect();
            let (directory, name) =
                (Path::new(&settings.directory), settings.file_name(&first.node, &interface));
            let most = snap_bytes + Sniffer::HEADER_BYTES;
            let file = Capture::create(directory, &name, &interface, LinkType::Radiotap, most)?;
            Ok(Some((Sniffer::new(wlan, addresses, snap_bytes), file)))
        };
        let links = scenario.links.iter().enumerate();
        let channels =
            links.filter_map(|(link, settings)| Some((link, settings.wlan.as_ref()?))).map(channel);
        let files = interfaces.all().iter().map(|interface| {
            let wanted = settings.includes(&interface.node, &interface.name);
            wanted.then(|| create(&interface.node, &interface.name)).transpose()
        });
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
            channels: channels.collect::<Result<_>>()?,
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

    /// Captures a packet at the interface with this number, on its path `between` two interfaces, of which the
    /// first is the sender. Later calls have no times before `now`.
    pub fn take(&mut self, interface: usize, between: [usize; 2], packet: &Packet, at: Time, now: Time) {
        if self.files[interface].is_none() {
            return;
        }
        let sides = self.sides(packet);
        let Some(file) = self.files[interface].as_mut() else { return };
        let made = self.frame.make(packet, &sides, between, at, file.snap_bytes()).map_err(Error::Frame);
        let written = made.and_then(|length| {
            file.add(at.as_ns(), length, self.frame.bytes());
            Ok(file.release(now.as_ns())?)
        });
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// Returns both sides of a packet's subflow.
    fn sides(&self, packet: &Packet) -> [Side; 2] {
        let number = packet.to.connection;
        let datagrams = Opened { flow: number, turn: 0, place: 0 };
        let Opened { flow, turn, place } = self.connections.get(&number).copied().unwrap_or(datagrams);
        let turns = &self.flows[flow as usize];
        let mut sides = turns[turn][usize::from(packet.to.subflow)];
        if turns.len() == 1 {
            sides[0].use_later_port(place);
        }
        sides
    }

    /// Returns the numbers of the radio channels whose frames are captured.
    pub fn of_channels(&self) -> impl Iterator<Item = usize> {
        self.channels.iter().enumerate().filter_map(|(channel, file)| file.is_some().then_some(channel))
    }

    /// Captures the frames that the stations of a radio channel have sent up to `now`; `packet` returns the packet
    /// with a number and the interfaces between which it travels.
    pub fn on_air(
        &mut self,
        channel: usize,
        sent: &[Sent],
        now: Time,
        mut packet: impl FnMut(u32) -> Option<(Packet, [usize; 2])>,
    ) {
        let Some((mut sniffer, mut file)) = self.channels[channel].take() else { return };
        let (mut frame, keep) = (std::mem::take(&mut self.frame), file.snap_bytes());
        let mut failure = None;
        for each in sent {
            let ethernet = |number: u32, out: &mut Vec<u8>| {
                let Some((packet, between)) = packet(number) else { return };
                match frame.make(&packet, &self.sides(&packet), between, now, keep) {
                    Ok(_) => out.extend(frame.bytes()),
                    Err(error) => failure = failure.take().or(Some(error)),
                }
            };
            let at_ns = Time(each.at_ps).as_ns();
            sniffer.write(each, ethernet, |length, bytes| file.add(at_ns, length, bytes));
        }
        let failure = failure.map(Error::Frame).or(file.release(now.as_ns()).err().map(Error::from));
        (self.frame, self.channels[channel]) = (frame, Some((sniffer, file)));
        if let Some(error) = failure {
            self.failure.get_or_insert(error);
        }
    }

    /// Completes all files.
    ///
    /// # Errors
    /// Fails with the first error in writing a file.
    pub fn finish(self) -> Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let of_channels = self.channels.into_iter().flatten().map(|(_, file)| file);
        self.files
            .into_iter()
            .flatten()
            .chain(of_channels)
            .try_for_each(|file| Ok(file.finish().map(drop)?))
    }
}
