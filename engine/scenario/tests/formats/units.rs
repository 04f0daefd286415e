//! Holds the units to the examples that the Python package is held to as well.

use nettrial_scenario::{Duration, QueueLimit, Rate, Size};
use serde_json::{Value, json};
use std::fmt::Display;
use std::str::FromStr;

/// The value in base units and the printed form of `text` as a `T`; the error if it is refused.
fn read<T>(text: &str, value: impl Fn(&T) -> Value) -> Result<(Value, String), String>
where
    T: FromStr<Err: Display> + Display,
{
    let parsed = text.parse::<T>().map_err(|error| error.to_string());
    parsed.map(|quantity| (value(&quantity), quantity.to_string()))
}

#[test]
fn both_implementations_agree() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/units.json");
    let vectors: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(vectors.len() > 50);
    for vector in vectors {
        let text = vector["text"].as_str().unwrap();
        let quantity = vector["quantity"].as_str().unwrap();
        let found = match quantity {
            "rate" => read(text, |rate: &Rate| json!(rate.0)),
            "size" => read(text, |size: &Size| json!(size.0)),
            "duration" => read(text, |duration: &Duration| json!(duration.0)),
            "queue limit" => read(text, |limit: &QueueLimit| match limit {
                QueueLimit::Packets(count) => json!({ "packets": count }),
                QueueLimit::Bytes(size) => json!({ "bytes": size.0 }),
            }),
            other => panic!("unknown quantity {other:?}"),
        };
        let expected = match vector.get("error").map(|error| error.as_str().unwrap()) {
            Some(expected) => Err(format!("{text:?} is not a {quantity}; expected: {expected}")),
            None => Ok((vector["value"].clone(), vector["printed"].as_str().unwrap().to_owned())),
        };
        assert_eq!(found, expected, "{vector}");
    }
}
