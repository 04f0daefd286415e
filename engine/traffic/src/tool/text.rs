//! The parsing of programs' output.

/// Returns `text` without terminal colours (ECMA-48 control sequences), and without the characters that a carriage
/// return or a backspace would have overwritten.
pub fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => while letters.next().is_some_and(|letter| !letter.is_ascii_alphabetic()) {},
            '\u{8}' | '\r' => {}
            letter => kept.push(letter),
        }
    }
    kept
}

/// Returns the text between `before` and the next `after` (or the end of the line) in the first line with both.
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.split_once(before)?.1;
        let text_between = if after.is_empty() { rest } else { rest.split_once(after)?.0 };
        Some(text_between.trim())
    })
}

/// Returns the finite number at the beginning of the text between `before` and `after`.
pub fn number(text: &str, before: &str, after: &str) -> Option<f64> {
    let value: f64 = between(text, before, after)?.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// Returns a count or an amount in whole base units; `None` if it is negative or too large.
pub fn whole(value: f64) -> Option<u64> {
    // Above 2^53, floating-point numbers do not represent all integers.
    (0.0..9e15).contains(&value).then(|| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_progress_marks_go() {
        assert_eq!(plain("a\u{1b}[2;35mb\u{1b}[0mc|\u{8}\\\u{8}\r\n"), "abc|\\\n");
    }

    #[test]
    fn numbers_are_found_by_what_stands_around_them() {
        let text = "x = 1\nAverage delay = 0.5 s\nrate=inf\n";
        assert_eq!(number(text, "delay =", "s"), Some(0.5));
        assert_eq!(number(text, "x =", ""), Some(1.0));
        assert_eq!((number(text, "rate=", ""), number(text, "none", "")), (None, None));
        assert_eq!((whole(1.6), whole(-1.0), whole(f64::NAN)), (Some(2), None, None));
    }
}
