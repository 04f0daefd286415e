//! The JSON of iperf3, read by its content: the documents of versions 3.1 to 3.21 differ in their fields.
//!
//! A text may have several documents, and documents of other programs between them. The events of `iperf3
//! --json-stream` are joined to one document for each test; with `--json-stream-full-output`, a test's whole document
//! follows its events and replaces them.

mod directions;
mod document;
mod json;

use document::{Document, Pieces};
use json::{Fields, Reading, text};
use nettrial_scenario::{ImportAnswer, ImportRequest, ImportedDocument, Iperf3Refusal, Iperf3Test};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// The names of the events of `iperf3 --json-stream`.
const EVENTS: [&str; 6] = ["start", "interval", "end", "error", "server_output_json", "server_output_text"];

/// Answers a request.
pub fn answer(request: &ImportRequest) -> ImportAnswer {
    let (bytes, most) = (request.text.len(), ImportRequest::MOST_BYTES);
    if bytes > most {
        return ImportAnswer::Refused {
            message: format!("a text of {bytes} bytes; at most {most} are read"),
        };
    }
    ImportAnswer::Imported { documents: documents(&request.text) }
}

/// Returns the documents in a text, in their order. A rest that is not JSON is one that is not iperf3's.
pub fn documents(text: &str) -> Vec<ImportedDocument> {
    let (mended, inserted) = with_null_for_nan(text);
    let separate = parts(&mended);
    let parts = match &separate[..] {
        [Part::Other { value: Some(value), .. }] if value.get().starts_with('[') => elements(value, &mended),
        _ => joined(separate),
    };
    let original = |at: usize| (at - inserted.partition_point(|place| *place < at)) as u64;
    let read = |part| match part {
        Part::Test(pieces) => match test(&pieces) {
            Ok(test) => ImportedDocument::Iperf3 { test: Box::new(test) },
            Err(refusal) => ImportedDocument::Refused { refusal },
        },
        Part::Other { place, .. } | Part::Event { place, .. } => {
            ImportedDocument::Other { from_byte: original(place.start), to_byte: original(place.end) }
        }
    };
    parts.into_iter().map(read).collect()
}

/// A part of a text.
enum Part<'a> {
    /// A document of iperf3.
    Test(Pieces<'a>),
    /// An event of a document of iperf3.
    Event { name: String, data: &'a RawValue, place: Range<usize> },
    /// Something else; it has no value if it is not JSON.
    Other { value: Option<&'a RawValue>, place: Range<usize> },
}

impl<'a> Part<'a> {
    fn of(value: &'a RawValue, place: Range<usize>) -> Self {
        let other = Self::Other { value: Some(value), place: place.clone() };
        let Some(fields) = Fields::of(value) else { return other };
        let event = fields.get("event").and_then(text).filter(|name| EVENTS.contains(&name.as_str()));
        if let (Some(name), Some(data)) = (event, fields.get("data")) {
            return Self::Event { name, data, place };
        }
        let Some(start) = fields.get("start") else { return other };
        Self::Test(Pieces {
            start: Some(start),
            listed: fields.get("intervals"),
            intervals: Vec::new(),
            end: fields.get("end"),
            error: fields.get("error"),
        })
    }
}

/// Returns the values that stand in a text one after the other, and the rest that is not JSON, if there is one.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut parts = Vec::new();
    loop {
        let before = values.byte_offset();
        let from = text.len() - text[before..].trim_start().len();
        match values.next() {
            None => return parts,
            Some(Ok(value)) => parts.push(Part::of(value, from..values.byte_offset())),
            Some(Err(_)) => {
                parts.push(Part::Other { value: None, place: from..text.len() });
                return parts;
            }
        }
    }
}

/// Returns the elements of an array, which is all that the text has.
fn elements<'a>(array: &'a RawValue, text: &str) -> Vec<Part<'a>> {
    let values: Vec<&RawValue> = serde_json::from_str(array.get()).unwrap_or_default();
    let place = |value: &RawValue| {
        let from = value.get().as_ptr().addr() - text.as_ptr().addr();
        from..from + value.get().len()
    };
    values.into_iter().map(|value| Part::of(value, place(value))).collect()
}

/// Returns the parts with the events of each test joined to a document.
fn joined(parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    let mut all = Vec::new();
    let mut open: Option<Pieces<'_>> = None;
    for part in parts {
        match part {
            Part::Event { name, data, .. } if name == "start" => {
                all.extend(open.replace(Pieces { start: Some(data), ..Pieces::default() }).map(Part::Test));
            }
            Part::Event { name, data, place } => match (&mut open, name.as_str()) {
                (None, _) => all.push(Part::Event { name, data, place }),
                (Some(test), "interval") => test.intervals.push(data),
                (Some(test), "end") => test.end = Some(data),
                (Some(test), "error") => test.error = Some(data),
                (Some(_), _) => {}
            },
            other => {
                let events = open.take().filter(|test| !is_of_same_test(test, &other));
                all.extend(events.map(Part::Test));
                all.push(other);
            }
        }
    }
    all.extend(open.map(Part::Test));
    all
}

/// Returns true if a part of a text is the whole document of a test, by its cookie.
fn is_of_same_test(test: &Pieces<'_>, part: &Part<'_>) -> bool {
    match part {
        Part::Test(whole) => cookie(test).is_some_and(|own| cookie(whole) == Some(own)),
        _ => false,
    }
}

/// Returns the identifier of a test, as it is in the document.
fn cookie<'a>(pieces: &Pieces<'a>) -> Option<&'a str> {
    Fields::of(pieces.start?)?.get("cookie").map(RawValue::get)
}

/// Returns what a document says about a test.
fn test(pieces: &Pieces<'_>) -> Reading<Iperf3Test> {
    let document = Document::read(pieces)?;
    if let Some(refusal) = document::failure(&document) {
        return Err(refusal);
    }
    let settings = document.settings.as_ref().ok_or(Iperf3Refusal::NoSettings {})?;
    let directions = directions::directions(&document, settings)?;
    Ok(Iperf3Test {
        version: document.version.clone(),
        system: document.system.clone(),
        started_s: document.started_s,
        transport: settings.transport,
        ip: document.ip.ok_or(Iperf3Refusal::NoAddress {})?,
        streams: settings.streams,
        directions,
    })
}

/// Returns a text with null for each `nan` that is a field's value, which iperf 3.1 writes where it divides by 0, and the
/// places at which it is longer.
fn with_null_for_nan(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let (mut mended, mut inserted, mut copied) = (String::new(), Vec::new(), 0);
    for (at, nan) in text.match_indices("nan") {
        let before = &text[..at];
        let unsigned = before.strip_suffix('-').unwrap_or(before);
        let is_value = unsigned.trim_ascii_end().ends_with("\":");
        if is_value && text[at + nan.len()..].trim_ascii_start().starts_with([',', '}']) {
            mended.push_str(&text[copied..unsigned.len()]);
            if unsigned.len() == at {
                inserted.push(mended.len());
            }
            mended.push_str("null");
            copied = at + nan.len();
        }
    }
    if copied == 0 {
        return (Cow::Borrowed(text), inserted);
    }
    mended.push_str(&text[copied..]);
    (Cow::Owned(mended), inserted)
}

#[cfg(test)]
mod tests;
