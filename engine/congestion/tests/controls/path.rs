//! Flows over links with a rate, a delay and unlimited queues, so that acknowledgments are spaced as on a real
//! path.

use std::collections::VecDeque;

use nettrial_congestion::{Ack, Control, Event, Phase, Subflow, Window};

use crate::support::{MSS, ack};

/// A segment in flight.
struct Sent {
    sent_ns: u64,
    acked_ns: u64,
    /// The counters from which the delivery rate is computed (tcp_rate.c).
    delivered_pkts: u64,
    delivered_ns: u64,
    first_sent_ns: u64,
}

/// A sender with a dedicated link.
pub struct Flow {
    control: Box<dyn Control>,
    /// The sender's window.
    pub window: Window,
    /// The number of segments delivered.
    pub delivered_pkts: u64,
    /// The round-trip time of the last segment.
    pub rtt_ns: u64,
    per_pkt_ns: u64,
    delay_ns: u64,
    free_ns: u64,
    flight: VecDeque<Sent>,
    sent_pkts: u64,
    delivered_ns: u64,
    first_sent_ns: u64,
    next_send_ns: u64,
}

impl Flow {
    /// Creates a flow over a link that needs `per_pkt_ns` for each segment and has a round-trip time of
    /// `delay_ns`.
    pub fn new(name: &str, per_pkt_ns: u64, delay_ns: u64) -> Self {
        let mut control = nettrial_congestion::new(name).unwrap();
        let mut window = Window { cwnd_pkts: 10, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
        control.on_event(Event::Established, &mut window, 0);
        Self {
            control,
            window,
            delivered_pkts: 0,
            rtt_ns: 0,
            per_pkt_ns,
            delay_ns,
            free_ns: 0,
            flight: VecDeque::new(),
            sent_pkts: 0,
            delivered_ns: 0,
            first_sent_ns: 0,
            next_send_ns: 0,
        }
    }

    /// Returns the bandwidth-delay product of the link, in segments.
    pub fn product_pkts(&self) -> f64 {
        (self.delay_ns + self.per_pkt_ns) as f64 / self.per_pkt_ns as f64
    }

    /// Returns the pacing rate, in segments per second.
    pub fn paced_pkts(&self) -> Option<f64> {
        self.control.pacing_rate_bps().map(|bps| bps / 8.0 / f64::from(MSS))
    }

    fn has_room(&self) -> bool {
        self.flight.len() < self.window.cwnd_pkts as usize
    }

    fn next_ns(&self) -> u64 {
        let send_ns = if self.has_room() { self.next_send_ns } else { u64::MAX };
        self.flight.front().map_or(u64::MAX, |sent| sent.acked_ns).min(send_ns)
    }

    fn send(&mut self, now_ns: u64) {
        if self.flight.is_empty() {
            (self.first_sent_ns, self.delivered_ns) = (now_ns, now_ns);
        }
        self.free_ns = self.free_ns.max(now_ns) + self.per_pkt_ns;
        self.flight.push_back(Sent {
            sent_ns: now_ns,
            acked_ns: self.free_ns + self.delay_ns,
            delivered_pkts: self.delivered_pkts,
            delivered_ns: self.delivered_ns,
            first_sent_ns: self.first_sent_ns,
        });
        self.sent_pkts += 1;
        let gap_ns = self.paced_pkts().map_or(0, |pkts| (1e9 / pkts) as u64);
        self.next_send_ns = now_ns + gap_ns;
    }

    fn take_ack(&mut self, now_ns: u64) -> Ack {
        let sent = self.flight.pop_front().unwrap();
        self.delivered_pkts += 1;
        self.delivered_ns = now_ns;
        self.first_sent_ns = sent.sent_ns;
        self.rtt_ns = now_ns - sent.sent_ns;
        let interval_ns = (sent.sent_ns - sent.first_sent_ns).max(now_ns - sent.delivered_ns);
        Ack {
            in_flight_pkts: self.flight.len() as u32,
            prior_in_flight_pkts: self.flight.len() as u32 + 1,
            delivered_pkts: self.delivered_pkts,
            prior_delivered_pkts: sent.delivered_pkts,
            rate: Some(((self.delivered_pkts - sent.delivered_pkts) as u32, interval_ns)),
            una_bytes: self.delivered_pkts,
            next_bytes: self.sent_pkts,
            ..ack(now_ns, self.rtt_ns, 1)
        }
    }
}

/// Runs the subflows of a connection until a time, and calls `seen` with the time after each acknowledgment.
pub fn run(flows: &mut [Flow], until_ns: u64, mut seen: impl FnMut(u64, &[Flow])) {
    let mut subflows: Vec<Subflow> = flows.iter().map(listed).collect();
    loop {
        let next = flows.iter().map(Flow::next_ns).enumerate().min_by_key(|&(_, next_ns)| next_ns).unwrap();
        let (own, now_ns) = next;
        if now_ns >= until_ns {
            return;
        }
        let flow = &mut flows[own];
        if flow.flight.front().is_some_and(|sent| sent.acked_ns == now_ns) {
            let ack = flow.take_ack(now_ns);
            subflows[own] = listed(flow);
            flow.control.on_ack(&mut flow.window, &ack, &subflows, own);
            seen(now_ns, flows);
        }
        let flow = &mut flows[own];
        while flow.has_room() && flow.next_send_ns <= now_ns {
            flow.send(now_ns);
            if flow.next_send_ns == now_ns && flow.control.pacing_rate_bps().is_some() {
                break;
            }
        }
        flow.next_send_ns = flow.next_send_ns.max(now_ns);
        subflows[own] = listed(flow);
    }
}

fn listed(flow: &Flow) -> Subflow {
    Subflow {
        window: flow.window,
        srtt_ns: flow.rtt_ns,
        mss_bytes: MSS,
        phase: Phase::Open,
        shared: flow.control.shared(),
    }
}
