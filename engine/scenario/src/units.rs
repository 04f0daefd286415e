//! Quantities that parse and print with their units: rates, sizes, durations.
//!
//! Each is exact: a text that is not a whole number of base units (bit/s, bytes, nanoseconds) is an
//! error, never rounded. Printing gives a text that parses back to the same value.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The error of a text that is not a quantity: the text, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The kind of quantity.
    pub(crate) quantity: &'static str,
    /// The text.
    pub(crate) text: String,
    /// The expected form.
    pub(crate) expected: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is not a {}; expected: {}", self.text, self.quantity, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// A unit's name, and the number of base units in it.
pub(crate) type Unit = (&'static str, u64);

/// The units of rates, in bits per second.
const RATE_UNITS: &[Unit] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];
/// The units of sizes, in bytes.
pub(crate) const SIZE_UNITS: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
/// The units of durations, in nanoseconds.
const DURATION_UNITS: &[Unit] =
    &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];

/// Sizes below this print in bytes (an MTU is "9000 B", not "9 kB").
const SIZE_PRINTED_IN_BYTES_BELOW: u64 = 100_000;
/// The most decimals of a printed number; a finer value is printed in a smaller unit.
const DECIMALS: u32 = 3;

pub(crate) fn expected(units: &[Unit], example: &str) -> String {
    let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
    format!("a number and one of {}, such as {example:?}", names.join(", "))
}

/// Parses `<digits>[.<digits>] [space] <unit>` exactly; `None` if the text has another form, or is not a whole
/// number of base units that fits 64 bits.
fn parse(text: &str, units: &[Unit]) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let scale = u128::from(units.iter().find(|candidate| candidate.0 == unit)?.1);
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    if whole.is_empty() || whole.len() > 20 || fraction.len() > 15 {
        return None;
    }
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let power = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scaled = (whole.parse::<u128>().ok()? * power + fraction).checked_mul(scale)?;
    if scaled % power != 0 {
        return None;
    }
    u64::try_from(scaled / power).ok()
}

/// Returns `value` in `unit` with at most [`DECIMALS`] decimals, or `None` if that would not be exact.
fn print_in(value: u64, unit: &Unit) -> Option<String> {
    let power = 10u128.pow(DECIMALS);
    let scaled = u128::from(value) * power;
    let scale = u128::from(unit.1);
    if !scaled.is_multiple_of(scale) {
        return None;
    }
    let (whole, fraction) = (scaled / scale / power, scaled / scale % power);
    let digits = format!("{fraction:03}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    Some(format!("{whole}{point}{digits} {}", unit.0))
}

/// Returns `value` in the largest decimal unit that is not above it and represents it exactly.
fn print(value: u64, units: &[Unit]) -> String {
    units
        .iter()
        .rev()
        .filter(|unit| value >= unit.1)
        .find_map(|unit| print_in(value, unit))
        .unwrap_or_else(|| format!("{value} {}", units[0].0))
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $units:expr, $what:literal, $example:literal, $print:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(
            /// The value in the base unit.
            pub u64,
        );

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let print: fn(u64) -> String = $print;
                formatter.write_str(&print(self.0))
            }
        }

        impl FromStr for $name {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units).map(Self).ok_or_else(|| UnitError {
                    quantity: $what,
                    text: text.to_owned(),
                    expected: expected($units, $example),
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let names: Vec<&str> = $units.iter().map(|unit: &Unit| unit.0).collect();
                json_schema!({
                    "type": "string",
                    "description": concat!("A ", $what, ", such as \"", $example, "\"."),
                    "pattern": format!("^[0-9]+(\\.[0-9]+)? ?({})$", names.join("|")),
                })
            }
        }
    };
}

quantity!(
    /// A rate in bits per second. Each use says which layer's bits are counted.
    Rate, RATE_UNITS, "rate", "1 Gbit/s", |value| print(value, RATE_UNITS)
);
quantity!(
    /// A size in bytes. kB, MB, GB are powers of 1000; KiB, MiB, GiB powers of 1024.
    Size, SIZE_UNITS, "size", "9000 B", print_size
);
quantity!(
    /// A span of time in nanoseconds.
    Duration, DURATION_UNITS, "duration", "20 ms", |value| print(value, DURATION_UNITS)
);

fn print_size(value: u64) -> String {
    let (decimal, binary) = SIZE_UNITS.split_at(4);
    if value != 0
        && let Some(unit) = binary.iter().rev().find(|unit| value.is_multiple_of(unit.1))
    {
        return format!("{} {}", value / unit.1, unit.0);
    }
    if value < SIZE_PRINTED_IN_BYTES_BELOW { format!("{value} B") } else { print(value, decimal) }
}

/// Returns a span of the standard library's type in nanoseconds, at most `u64::MAX` (584 years).
pub fn nanoseconds(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Duration {
    /// Returns the span as the standard library's type.
    pub fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prints_as_people_write() {
        for (value, text) in [
            (1_000_000_000, "1 Gbit/s"),
            (2_500_000, "2.5 Mbit/s"),
            (0, "0 bit/s"),
            (1_234_567, "1234.567 kbit/s"),
        ] {
            assert_eq!(Rate(value).to_string(), text);
        }
        for (value, text) in
            [(9000, "9000 B"), (1500, "1500 B"), (5_000_000, "5 MB"), (65536, "64 KiB"), (0, "0 B")]
        {
            assert_eq!(Size(value).to_string(), text);
        }
        assert_eq!(Duration(20_000_000).to_string(), "20 ms");
        assert_eq!(Duration(1_500_000_000).to_string(), "1.5 s");
    }

    #[test]
    fn refuses_what_is_not_exact_or_not_a_quantity() {
        for text in [
            "",
            "5",
            "5 mb",
            "-5 MB",
            "0.5 B",
            "1..5 MB",
            "1. MB",
            "MB",
            "5 MB x",
            ".5 MB",
            "99999999999 GB",
            "1e3 B",
            "٣ B",
        ] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
        assert!("5 Gbps".parse::<Rate>().unwrap_err().to_string().contains("Gbit/s"));
    }

    #[test]
    fn a_space_before_the_unit_is_optional() {
        assert_eq!("1.5MB".parse(), Ok(Size(1_500_000)));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(value: u64) {
            prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
            prop_assert_eq!(Size(value).to_string().parse(), Ok(Size(value)));
            prop_assert_eq!(Duration(value).to_string().parse(), Ok(Duration(value)));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".*") {
            let _ = text.parse::<Rate>();
        }

        #[test]
        fn near_misses_never_panic(text in "[0-9.]{0,25} ?(B|MB|Gbit/s|ms|packets)?") {
            let _ = text.parse::<Size>();
            let _ = text.parse::<Duration>();
        }
    }
}
