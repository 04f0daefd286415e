//! The fields of a JSON object, each of which is read when it is needed, with the place of a field that has another
//! value than is expected. Fields that nobody reads may have any value.

use nettrial_scenario::Iperf3Refusal;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt::Formatter;

/// The most characters of a bad value that are shown.
const MOST_SHOWN: usize = 60;

/// A reading, or the reason why there is none.
pub type Reading<T> = Result<T, Iperf3Refusal>;

/// The fields of an object in their order; a name may occur several times.
pub struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl<'a> Fields<'a> {
    /// Returns the fields of an object; `None` if the value is not an object.
    pub fn of(value: &'a RawValue) -> Option<Self> {
        serde_json::from_str(value.get()).ok()
    }

    /// Returns the value of a field, the last one if its name occurs several times; `None` if it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(each, _)| each == name).map(|(_, value)| *value).filter(known)
    }
}

fn known(value: &&RawValue) -> bool {
    value.get() != "null"
}

/// Returns the text in a JSON string. Escapes of half a surrogate pair, which stand for no character, stay escapes.
pub fn text(value: &RawValue) -> Option<String> {
    let json = value.get();
    serde_json::from_str(json).ok().or_else(|| serde_json::from_str(&with_surrogates_shown(json)).ok())
}

/// Returns a JSON string in which each escape of a surrogate (U+D800 to U+DFFF) has its own backslash escaped.
fn with_surrogates_shown(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at..];
        let is_surrogate = escape.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("\\ud"))
            && escape.as_bytes().get(3).is_some_and(|digit| b"89abcdefABCDEF".contains(digit));
        // An escape has at least two bytes, and a backslash that is escaped begins none.
        let length = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
        shown.push_str(&rest[..at]);
        shown.push_str(if is_surrogate { "\\\\u" } else { &escape[..length] });
        rest = &escape[length..];
    }
    shown + rest
}

/// Returns the refusal of a value.
pub fn bad(place: impl Into<String>, value: &str, expected: impl Into<String>) -> Iperf3Refusal {
    let mut shown: String = value.chars().take(MOST_SHOWN).collect();
    if shown.len() < value.len() {
        shown.pop();
        shown.push('…');
    }
    Iperf3Refusal::BadField { place: place.into(), value: shown, expected: expected.into() }
}

/// Returns the elements of a list.
pub fn list<'a>(place: &str, value: &'a RawValue) -> Reading<Vec<&'a RawValue>> {
    serde_json::from_str(value.get()).map_err(|_| bad(place, value.get(), "a list"))
}

/// An object at a place in a document.
pub struct Part<'a> {
    place: String,
    fields: Fields<'a>,
}

impl<'a> Part<'a> {
    /// Returns the object that is the value at `place`.
    ///
    /// # Errors
    /// Fails, as the other methods do, if the value is of another kind.
    pub fn of(place: impl Into<String>, value: &'a RawValue) -> Reading<Self> {
        let place = place.into();
        let Some(fields) = Fields::of(value) else {
            return Err(bad(place, value.get(), "fields with values"));
        };
        Ok(Self { place, fields })
    }

    fn within(&self, name: &str) -> String {
        format!("{}.{name}", self.place)
    }

    /// Returns true if there is a field of this name with a value.
    pub fn has(&self, name: &str) -> bool {
        self.fields.get(name).is_some()
    }

    /// Returns the value of a field of the stream from the client. Versions before 3.11 write some fields once for
    /// each direction under one name, first that of the stream from the client.
    pub fn forward(&self, name: &str) -> Option<(String, &'a RawValue)> {
        let first = self.fields.0.iter().find(|(each, _)| each == name).map(|(_, value)| *value);
        first.filter(known).map(|value| (self.within(name), value))
    }

    /// Returns the value of the same field of the stream from the server, in a test in both directions.
    pub fn reverse(&self, name: &str) -> Option<(String, &'a RawValue)> {
        let own = format!("{name}_bidir_reverse");
        let same = self.fields.0.iter().filter(|(each, _)| each == name).skip(1).last();
        let value = self.fields.get(&own).or(same.map(|(_, value)| *value));
        value.filter(known).map(|value| (self.within(&own), value))
    }

    /// Returns the object in a field.
    pub fn part(&self, name: &str) -> Reading<Option<Self>> {
        self.fields.get(name).map(|value| Self::of(self.within(name), value)).transpose()
    }

    /// Returns the objects in a list, none if it is absent.
    pub fn parts(&self, name: &str) -> Reading<Vec<Self>> {
        let Some(value) = self.fields.get(name) else { return Ok(Vec::new()) };
        let place = self.within(name);
        let numbered = list(&place, value)?.into_iter().enumerate();
        numbered.map(|(number, value)| Self::of(format!("{place}.{number}"), value)).collect()
    }

    /// Returns a number within these bounds.
    pub fn number(&self, name: &str, least: f64, most: f64) -> Reading<Option<f64>> {
        let Some(value) = self.fields.get(name) else { return Ok(None) };
        let json = value.get();
        let number =
            json.starts_with(|first: char| first == '-' || first.is_ascii_digit()).then(|| json.parse());
        match number {
            Some(Ok(number)) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(bad(self.within(name), json, format!("a number from {least} to {most}"))),
        }
    }

    /// Returns a whole number within these bounds, which floating-point numbers represent exactly.
    pub fn whole(&self, name: &str, least: i64, most: i64) -> Reading<Option<i64>> {
        let number = self.number(name, least as f64, most as f64)?;
        match number {
            Some(number) if number.fract() != 0.0 => Err(self.wrong(name, "a whole number")),
            number => Ok(number.map(|number| number as i64)),
        }
    }

    /// Returns a whole number from 0 to `most`.
    pub fn count(&self, name: &str, most: u64) -> Reading<Option<u64>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.whole(name, 0, most)?.map(i64::unsigned_abs))
    }

    /// Returns a field that is true or false, or 1 or 0.
    pub fn flag(&self, name: &str) -> Reading<Option<bool>> {
        match self.fields.get(name).map(RawValue::get) {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    /// Returns a text of at most `most` characters.
    pub fn text(&self, name: &str, most: usize) -> Reading<Option<String>> {
        self.fields.get(name).map(|value| text_at(&self.within(name), value, most)).transpose()
    }

    /// Returns what a field must have.
    pub fn required<T>(&self, name: &str, value: Option<T>) -> Reading<T> {
        value.ok_or_else(|| bad(self.within(name), "missing", "a value"))
    }

    /// Returns the refusal of a field's value.
    pub fn wrong(&self, name: &str, expected: &str) -> Iperf3Refusal {
        bad(self.within(name), self.fields.get(name).map_or("missing", RawValue::get), expected)
    }
}

/// Returns a text of at most `most` characters.
pub fn text_at(place: &str, value: &RawValue, most: usize) -> Reading<String> {
    let read = text(value).filter(|text| text.chars().count() <= most);
    read.ok_or_else(|| bad(place, value.get(), format!("a text of at most {most} characters")))
}
