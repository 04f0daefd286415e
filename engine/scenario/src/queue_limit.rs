//! The limit of a queue, beyond which the queue drops packets.

use crate::units::{SIZE_UNITS, expected};
use crate::{Size, UnitError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The limit of a queue: a number of packets, or of bytes ("1000 packets", "64 KiB").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueLimit {
    /// The most packets (the kernel's pfifo).
    Packets(u32),
    /// The most bytes (the kernel's bfifo).
    Bytes(Size),
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => write!(formatter, "{count} packets"),
            Self::Bytes(size) => size.fmt(formatter),
        }
    }
}

impl FromStr for QueueLimit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let packets = text.trim().strip_suffix("packets").map(str::trim_end);
        let limit = match packets {
            // The number's own parser would accept a sign.
            Some(count) if count.starts_with(|first: char| first.is_ascii_digit()) => {
                count.parse().ok().map(Self::Packets)
            }
            Some(_) => None,
            None => text.parse().ok().map(Self::Bytes),
        };
        limit.ok_or_else(|| UnitError {
            quantity: "queue limit",
            text: text.to_owned(),
            expected: format!("\"1000 packets\", or {}", expected(SIZE_UNITS, "64 KiB")),
        })
    }
}

impl Serialize for QueueLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QueueLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for QueueLimit {
    fn schema_name() -> Cow<'static, str> {
        "QueueLimit".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The limit of a queue: \"1000 packets\", or a size such as \"64 KiB\".",
            "pattern": "^([0-9]+ ?packets|[0-9]+(\\.[0-9]+)? ?(B|kB|MB|GB|KiB|MiB|GiB))$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn packets_or_bytes() {
        assert_eq!(QueueLimit::Packets(1000).to_string(), "1000 packets");
        assert_eq!("10packets".parse(), Ok(QueueLimit::Packets(10)));
        assert_eq!("64 KiB".parse(), Ok(QueueLimit::Bytes(Size(65_536))));
        assert!("many packets".parse::<QueueLimit>().is_err());
        assert!("+5 packets".parse::<QueueLimit>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "([0-9.+]{0,25} ?(B|KiB|packets)?|.*)") {
            if let Ok(limit) = text.parse::<QueueLimit>() {
                prop_assert_eq!(limit.to_string().parse(), Ok(limit));
            }
        }
    }
}
