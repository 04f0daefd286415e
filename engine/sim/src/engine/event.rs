//! The events of a simulation, and their form in the calendar.

use crate::Endpoint;

/// An event of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet arrives at a link. The event contains the link's number, so that looking it up delays nothing.
    Enter { number: u32, direction: u32 },
    /// A packet arrives at the end of its path.
    Arrive(u32),
    /// The timer of an endpoint expires.
    Timer(Endpoint),
    /// A link whose discipline drops packets at the head of its queue can accept the head.
    Take(u32),
    /// A CPU looks for packets that arrived.
    Look(u32),
    /// A host's CPU has processed a packet that arrived.
    Finish(u32),
    /// The state of a radio channel changes.
    Air(u32),
    /// A packet of this endpoint departed from its station of a radio channel.
    Left(Endpoint),
}

/// The number of bits of a kind's code.
const KIND_BITS: u32 = 3;
/// The codes of the kinds.
const ENTER: u32 = 0;
const ARRIVE: u32 = 1;
const TIMER: u32 = 2;
const TAKE: u32 = 3;
const LOOK: u32 = 4;
const FINISH: u32 = 5;
const AIR: u32 = 6;
const LEFT: u32 = 7;

/// An event in 8 bytes, two thirds of what the enumeration takes: its number, and its kind with a value above the
/// kind's bits, which is the direction of a link, or an endpoint's side and subflow.
#[derive(Debug, Clone, Copy)]
pub struct Packed {
    number: u32,
    kind: u32,
}

impl Packed {
    /// The number of directions of links that events can name.
    pub(crate) const DIRECTIONS: usize = 1 << (u32::BITS - KIND_BITS);
}

impl From<Event> for Packed {
    fn from(event: Event) -> Self {
        let of_endpoint = |kind: u32, Endpoint { connection, side, subflow }: Endpoint| Self {
            number: connection,
            kind: kind | (u32::from(side) << 8 | u32::from(subflow)) << KIND_BITS,
        };
        match event {
            Event::Enter { number, direction } => Self { number, kind: ENTER | direction << KIND_BITS },
            Event::Arrive(number) => Self { number, kind: ARRIVE },
            Event::Timer(endpoint) => of_endpoint(TIMER, endpoint),
            Event::Take(number) => Self { number, kind: TAKE },
            Event::Look(number) => Self { number, kind: LOOK },
            Event::Finish(number) => Self { number, kind: FINISH },
            Event::Air(number) => Self { number, kind: AIR },
            Event::Left(endpoint) => of_endpoint(LEFT, endpoint),
        }
    }
}

impl From<Packed> for Event {
    fn from(Packed { number, kind }: Packed) -> Self {
        let value = kind >> KIND_BITS;
        let endpoint =
            Endpoint { connection: number, side: (value >> 8) as u8, subflow: (value & 0xff) as u8 };
        match kind % (1 << KIND_BITS) {
            ENTER => Self::Enter { number, direction: value },
            ARRIVE => Self::Arrive(number),
            TIMER => Self::Timer(endpoint),
            TAKE => Self::Take(number),
            LOOK => Self::Look(number),
            FINISH => Self::Finish(number),
            AIR => Self::Air(number),
            _ => Self::Left(endpoint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_the_same_after_packing() {
        let number = u32::MAX;
        let endpoint = Endpoint { connection: number, side: u8::MAX, subflow: u8::MAX };
        for event in [
            Event::Enter { number, direction: Packed::DIRECTIONS as u32 - 1 },
            Event::Arrive(number),
            Event::Timer(endpoint),
            Event::Take(number),
            Event::Look(number),
            Event::Finish(number),
            Event::Air(number),
            Event::Left(endpoint),
        ] {
            assert_eq!(Event::from(Packed::from(event)), event);
        }
        assert_eq!(size_of::<Packed>(), 8);
    }
}
