//! Tests of the parser of iperf3's documents; `tests/unit/test_imports.py` reads those of all versions.

use super::*;
use nettrial_scenario::Iperf3Gap;

const TCP: &str = include_str!("../../tests/outputs/iperf3-tcp.json");

fn only(text: &str) -> ImportedDocument {
    let mut documents = documents(text);
    assert_eq!(documents.len(), 1, "{documents:?}");
    documents.remove(0)
}

fn tests_in(text: &str) -> Vec<Iperf3Test> {
    let test = |document| match document {
        ImportedDocument::Iperf3 { test } => *test,
        other => panic!("{other:?}"),
    };
    documents(text).into_iter().map(test).collect()
}

#[test]
fn documents_of_others_have_their_places() {
    let text = format!(" {{\"succeeded\": true}}\n{TCP}\nrest ä");
    let found = documents(&text);
    let (from, to) = (text.len() - "rest ä".len(), text.len());
    assert_eq!(found[0], ImportedDocument::Other { from_byte: 1, to_byte: 20 });
    assert!(matches!(found[1], ImportedDocument::Iperf3 { .. }), "{found:?}");
    assert_eq!(found[2], ImportedDocument::Other { from_byte: from as u64, to_byte: to as u64 });
    assert_eq!(found.len(), 3);
    assert_eq!(documents(" \n"), []);
}

#[test]
fn what_is_no_number_is_absent_and_moves_no_place() {
    let sum = "\"sum_sent\": {\"seconds\": 0, \"bytes\": 0, \"bits_per_second\": nan}";
    let text = format!("[{{\"start\": {{}}, \"end\": {{{sum}}}}}, {{\"jitter\": -nan , \"nan\": [3]}}, 7]");
    let found = documents(&text);
    let refusal = Iperf3Refusal::BadField {
        place: "end.sum_sent.bits_per_second".into(),
        value: "missing".into(),
        expected: "a value".into(),
    };
    assert_eq!(found[0], ImportedDocument::Refused { refusal });
    let places = |document: &ImportedDocument| match document {
        ImportedDocument::Other { from_byte, to_byte } => {
            text[*from_byte as usize..*to_byte as usize].to_owned()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(found[1..].iter().map(places).collect::<Vec<_>>(), ["{\"jitter\": -nan , \"nan\": [3]}", "7"]);
}

#[test]
fn half_a_surrogate_pair_stays_an_escape() {
    let text = TCP.replacen("\"iperf 3.12\"", r#""\ud83d\ude00""#, 1);
    assert_eq!(tests_in(&text)[0].version, "😀");
    let text = TCP.replacen("\"iperf 3.12\"", r#""a\ud800\\udfff\n""#, 1);
    assert_eq!(tests_in(&text)[0].version, "a\\ud800\\udfff\n");
}

#[test]
fn a_bad_field_is_named() {
    let text = TCP.replacen("\"rtt\":", "\"rtt\": -5, \"was\":", 1);
    let expected = format!("a number from 0 to {}", u32::MAX);
    let (place, value) = ("intervals.0.streams.0.rtt".to_owned(), "-5".to_owned());
    let refusal = Iperf3Refusal::BadField { place, value, expected };
    assert_eq!(only(&text), ImportedDocument::Refused { refusal });
}

#[test]
fn a_server_that_waited_has_no_client() {
    let text = r#"{"start": {"connected": []}, "intervals": [], "end": {}, "error": "interrupt"}"#;
    let refusal = Iperf3Refusal::NoClient { error: "interrupt".into() };
    assert_eq!(only(text), ImportedDocument::Refused { refusal });
    let text = text.replace("\"connected\"", "\"connecting_to\": {}, \"connected\"");
    let refusal = Iperf3Refusal::TestFailed { error: "interrupt".into() };
    assert_eq!(only(&text), ImportedDocument::Refused { refusal });
}

#[test]
fn intervals_that_end_together_are_left_out() {
    let text = TCP.replace("\"end\":\t", "\"end\": 1, \"ended\":");
    let direction = &tests_in(&text.replacen("\"end\": 1, \"ended\":{", "\"end\": {", 1))[0].directions[0];
    assert_eq!(
        (direction.record.intervals.len(), &direction.gaps[..]),
        (0, &[Iperf3Gap::IntervalsOutOfOrder {}][..])
    );
    assert_eq!(direction.record.srtt_us.count, 2);
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let text = " ".repeat(ImportRequest::MOST_BYTES + 1);
    assert!(matches!(answer(&ImportRequest { text }), ImportAnswer::Refused { .. }));
}
