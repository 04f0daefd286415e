//! Tests of captures against the counters of the medium. Other tests read whole captures with tshark.

use super::*;
use crate::{Medium, Packet, random};
use nettrial_scenario::WlanStation;

/// A frame without its radiotap header, and its complete length.
struct Seen {
    at_ps: u64,
    bytes: Vec<u8>,
    length: usize,
}

/// Runs a medium for 50 ms, in which two stations send 20 packets of 1000 B each. Returns the medium and, if it is
/// sniffed, the frames, of which 96 B are kept.
fn run(settings: &str, is_sniffed: bool) -> (Medium, Vec<Seen>) {
    let wlan: Wlan = serde_json::from_str(settings).unwrap();
    let mut medium = Medium::new(&wlan, &[WlanStation::default(); 3], random(3, 0));
    let mut sniffer = Sniffer::new(&wlan, (0..3).map(|station| [2, 0, 0, 0, 0, station]).collect(), 96);
    if is_sniffed {
        medium.keep_sent();
    }
    for (station, tag) in [1, 2].into_iter().flat_map(|station| (0..20).map(move |tag| (station, tag))) {
        let packet = Packet { category: Category::Video, flow: 0, can_be_marked: false, tag, bytes: 1000 };
        assert!(medium.offer(0, [station, 0], packet));
    }
    let (mut seen, mut outcomes) = (Vec::new(), Vec::new());
    while medium.next() < 50_000_000_000 {
        medium.advance(medium.next(), &mut outcomes);
        for sent in medium.take_sent() {
            let at_ps = sent.at_ps;
            let packet = |tag: u32, out: &mut Vec<u8>| {
                out.extend([9; ADDRESSES_BYTES]);
                out.extend([8, 0]);
                out.resize(14 + 1000, tag as u8);
            };
            sniffer.write(&sent, packet, |length, bytes| {
                let header = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
                seen.push(Seen { at_ps, bytes: bytes[header..].to_vec(), length: length - header });
            });
        }
    }
    (medium, seen)
}

fn count(seen: &[Seen], kind: u8) -> u64 {
    seen.iter().filter(|frame| frame.bytes[0] == kind).count() as u64
}

const LOSSY: &str = r#"{"mpdu_loss": 0.2, "beacon_interval": "10.24 ms"}"#;

#[test]
fn each_mpdu_is_captured_as_often_as_it_is_sent() {
    let (medium, seen) = run(LOSSY, true);
    let sum =
        |of: fn(&crate::Counters) -> u64| [1, 2].map(|station| of(medium.counters(station))).iter().sum();
    let mpdus: u64 = sum(|counters| counters.mpdus_pkts);
    let data: Vec<&Seen> = seen.iter().filter(|frame| frame.bytes[0] == QOS_DATA).collect();
    assert_eq!(data.len() as u64, mpdus);
    let retries: u64 = sum(|counters| counters.retries_pkts);
    assert!(retries > 3);
    assert_eq!(data.iter().filter(|frame| frame.bytes[1] & RETRY != 0).count() as u64, retries);
    assert_eq!(count(&seen, BEACON), medium.counters(0).beacons);
    assert!(count(&seen, BLOCK_ACK) > 0);
    assert!(seen.is_sorted_by_key(|frame| frame.at_ps));
    // The length is 26 bytes of header, LLC and SNAP, and the packet; 96 B of its Ethernet frame are kept,
    // including the type.
    assert!(data.iter().all(|frame| frame.length == 26 + 8 + 1000 && frame.bytes.len() <= 26 + 6 + 84));
    let of_first = |frame: &&&Seen| frame.bytes[1] & TO_DS != 0 && frame.bytes[15] == 1;
    let numbers =
        data.iter().filter(of_first).map(|frame| u16::from_le_bytes([frame.bytes[22], frame.bytes[23]]));
    let numbers: std::collections::BTreeSet<u16> = numbers.map(|field| field >> 4).collect();
    assert_eq!(numbers, (0..20).collect());
}

#[test]
fn a_capture_changes_nothing() {
    for settings in [LOSSY, r#"{"rts_threshold": "500 B"}"#] {
        let [with, without] = [true, false].map(|is_sniffed| run(settings, is_sniffed).0);
        assert_eq!(
            (0..3).map(|at| with.counters(at)).collect::<Vec<_>>(),
            (0..3).map(|at| without.counters(at)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn protection_and_fragments_are_captured() {
    let (_, seen) =
        run(r#"{"standard": "a", "rts_threshold": "500 B", "fragmentation_threshold": "600 B"}"#, true);
    let (rts, cts) = (count(&seen, RTS), count(&seen, CTS));
    // Each RTS begins a TXOP that contains several packets.
    assert!(rts >= cts && cts >= 2, "{rts} RTS, {cts} CTS");
    let data: Vec<&Seen> = seen.iter().filter(|frame| frame.bytes[0] == QOS_DATA).collect();
    assert_eq!((data.len(), count(&seen, ACK)), (80, 80));
    // The first of two fragments has the flag for more fragments, and the second contains the rest of 1008 bytes.
    let fragment =
        |frame: &&Seen| (frame.bytes[22] & 0xf, frame.bytes[1] & MORE_FRAGMENTS != 0, frame.length);
    let kinds: std::collections::BTreeSet<_> = data.iter().map(fragment).collect();
    assert_eq!(kinds, [(0, true, 596), (1, false, 26 + 1008 - 570)].into());
}

#[test]
fn an_amsdu_has_its_packets_one_after_the_other() {
    let (_, seen) = run(r#"{"ampdu": 1, "amsdu": "3839 B"}"#, true);
    let first = seen.iter().find(|frame| frame.bytes[0] == QOS_DATA).unwrap();
    assert_eq!(first.bytes[24] & 0x80, 0x80);
    // There are three subframes, of which the first two are padded to multiples of 4 bytes.
    assert_eq!(first.length, 26 + 2 * 1024 + 1022);
    assert_eq!(first.bytes[26..40], [[9; 12].as_slice(), &[3, 0xf0]].concat());
}
