//! Makes texts of strangers safe for a terminal, a log and a record.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The most characters of a stranger's text that a line repeats.
const SHOWN: usize = 300;
/// The replacement for a character that was removed.
const REPLACEMENT: char = '\u{fffd}';

/// Returns `text` without characters that move a terminal's cursor or reorder text, cut to the length of a line.
pub fn one_line(text: &str) -> String {
    text.chars().take(SHOWN).map(plain).collect()
}

/// Returns `text` without the characters that [`one_line`] removes, in its whole length.
pub fn plain_text(text: &str) -> String {
    text.chars().map(plain).collect()
}

/// Reads a stranger's JSON document. All its strings, which may later be shown or stored, lose the characters that
/// [`one_line`] removes.
///
/// # Errors
/// Fails if the text is not JSON, or not such a document.
pub fn document<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let mut value = serde_json::from_slice(text)?;
    clean(&mut value);
    serde_json::from_value(value)
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().any(|letter| plain(letter) != letter) => {
            *text = text.chars().map(plain).collect();
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        // Names need no cleaning: those that the document's type does not know are errors, or ignored.
        Value::Object(fields) => fields.values_mut().for_each(clean),
        _ => {}
    }
}

/// Returns `letter`, or the replacement for control characters (Unicode's Cc), line separators, and the marks that
/// change a text's direction (Unicode Standard Annex 9, section 2).
fn plain(letter: char) -> char {
    let directs = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let separates = matches!(letter, '\u{2028}' | '\u{2029}');
    if letter.is_control() || directs || separates { REPLACEMENT } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_cannot_write_to_the_terminal() {
        assert_eq!(one_line("a\n\u{1b}[2Jb\u{202e}c"), "a\u{fffd}\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(one_line(&"x".repeat(1000)).len(), SHOWN);
        assert_eq!(plain_text(&"\u{1b}".repeat(1000)), "\u{fffd}".repeat(1000));
    }

    #[test]
    fn a_documents_strings_are_plain_and_its_numbers_stay() {
        let text = br#"{"a": ["\u001b]0;x\u0007", 18446744073709551615, -1, 0.25], "b": {"c": "gr\u00fcn"}}"#;
        let found: Value = document(text).unwrap();
        let expected = r#"{"a":["�]0;x�",18446744073709551615,-1,0.25],"b":{"c":"grün"}}"#;
        assert_eq!(found.to_string(), expected);
        assert!(document::<Value>(b"{").is_err());
    }
}
