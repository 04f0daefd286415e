//! The file of tools/record-kernel-tcp.py, which describes its format.

use nettrial_sim::Time;
use std::fmt;

/// A segment that a sender sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The time since the first SYN.
    pub at: Time,
    /// The sequence number of its first byte; that of the SYN is 0.
    pub sequence: u64,
    /// The bytes of payload.
    pub bytes: u32,
}

impl fmt::Display for Sent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sequence, end) = (self.sequence, self.sequence + u64::from(self.bytes));
        write!(formatter, "{sequence}-{end} at {:.3} ms", self.at.as_ns() as f64 / 1e6)
    }
}

/// An acknowledgment that a sender received.
#[derive(Debug, Clone)]
pub struct Received {
    /// The time since the first SYN.
    pub at: Time,
    /// The sequence number expected next.
    pub ack: u64,
    /// The receive window in bytes.
    pub window_bytes: u64,
    /// The echoed timestamp, as the last time with that timestamp.
    pub echo: Option<Time>,
    /// True if it echoes an ECN mark.
    pub has_echo: bool,
    /// The SACK blocks.
    pub blocks: Vec<(u64, u64)>,
}

/// The segments and acknowledgments of one scenario.
#[derive(Debug)]
pub struct Recording {
    /// The scenario's name.
    pub name: String,
    /// The congestion control.
    pub control: String,
    /// True if both hosts use SACK.
    pub has_sack: bool,
    /// True if both hosts use timestamps.
    pub has_timestamps: bool,
    /// True if both hosts use ECN.
    pub has_ecn: bool,
    /// The bytes of each write.
    pub write_bytes: u64,
    /// The times of the writes.
    pub writes: Vec<Time>,
    /// The segments that the kernel sent.
    pub sent: Vec<Sent>,
    /// The acknowledgments that the kernel received, the first of which is that of the SYN.
    pub received: Vec<Received>,
}

impl Recording {
    /// Returns the recordings of a file.
    pub fn read(text: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            if words[0] == "scenario" {
                all.push(Self::begin(&words));
                continue;
            }
            let recording = all.last_mut().expect("a scenario comes first");
            match words[0] {
                "=" => recording.writes.push(Time::from_us(number(words[1]))),
                ">" => recording.add_sent(&words),
                _ => recording.received.push(received(&words)),
            }
        }
        all
    }

    fn begin(words: &[&str]) -> Self {
        let value = |name: &str| {
            let found = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.expect("the scenario has the setting")
        };
        Self {
            name: words[1].to_owned(),
            control: value("control").to_owned(),
            has_sack: value("sack") == "1",
            has_timestamps: value("timestamps") == "1",
            has_ecn: value("ecn") == "1",
            write_bytes: number(value("bytes")),
            writes: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
        }
    }

    /// The payload of a full segment: an MTU of 1500 bytes without the headers.
    fn full_bytes(&self) -> u32 {
        if self.has_timestamps { 1448 } else { 1460 }
    }

    fn add_sent(&mut self, words: &[&str]) {
        let bytes = words.get(4).map_or(self.full_bytes(), |bytes| number(bytes) as u32);
        for index in 0..number(words[3]) {
            let sequence = number(words[2]) + index * u64::from(bytes);
            self.sent.push(Sent { at: Time::from_us(number(words[1])), sequence, bytes });
        }
    }
}

fn received(words: &[&str]) -> Received {
    let block = |word: &&str| {
        let (start, end) = word.split_once('-')?;
        Some((number(start), number(end)))
    };
    Received {
        at: Time::from_us(number(words[1])),
        ack: number(words[2]),
        window_bytes: number(words[3]),
        echo: (words[4] != "-").then(|| Time::from_us(number(words[4]))),
        has_echo: words.get(5) == Some(&"e"),
        blocks: words[5..].iter().filter_map(block).collect(),
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is a number"))
}
