//! Shortens text of any length for a message.

use std::borrow::Cow;
use std::ops::Range;

/// Characters of a message or of the fix that follows it.
const MESSAGE: usize = 2_000;
/// Characters of a word in a message. Names and most paths are shorter.
const WORD: usize = 240;
/// Characters of a line that a message shows.
pub const LINE: usize = 120;
/// Characters of a long line before the place that the message is about.
const BEFORE: usize = 40;

/// `text` with at most `most` characters: a `…` replaces the middle of a longer one.
fn brief(text: &str, most: usize) -> Cow<'_, str> {
    // No character is shorter than a byte.
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let tail = most / 2;
    let head = most.saturating_sub(tail + 1);
    let begin = text
        .char_indices()
        .nth(head)
        .map_or(text.len(), |(at, _)| at);
    let end = text
        .char_indices()
        .rev()
        .nth(tail.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    Cow::Owned(format!(
        "{}…{}",
        &text[..begin],
        if tail == 0 { "" } else { &text[end..] }
    ))
}

/// `text` at a length that a person reads: very long words and texts lose their middle.
pub fn message(text: &str) -> Cow<'_, str> {
    if text.len() <= WORD {
        return Cow::Borrowed(text);
    }
    let words: String = text
        .split_inclusive(char::is_whitespace)
        .map(|word| brief(word, WORD))
        .collect();
    Cow::Owned(brief(&words, MESSAGE).into_owned())
}

/// The part of a line around the bytes of `span`, at most [`LINE`] characters with a `…` on each
/// cut side, and the span in that part.
pub fn around(line: &str, span: Range<usize>) -> (Cow<'_, str>, Range<usize>) {
    let characters = if line.len() <= LINE {
        line.len()
    } else {
        line.chars().count()
    };
    if characters <= LINE {
        return (Cow::Borrowed(line), span);
    }
    let at = |character: usize| {
        line.char_indices()
            .nth(character)
            .map_or(line.len(), |(byte, _)| byte)
    };
    let place = line
        .char_indices()
        .take_while(|(byte, _)| *byte < span.start)
        .count();
    let first = place.saturating_sub(BEFORE).min(characters - LINE);
    let last = first + LINE;
    let (cut_before, cut_after) = (first > 0, last < characters);
    let begin = at(first + usize::from(cut_before));
    let end = at(last - usize::from(cut_after));
    let mark = |is_cut| if is_cut { "…" } else { "" };
    let text = format!(
        "{}{}{}",
        mark(cut_before),
        &line[begin..end],
        mark(cut_after)
    );
    let moved = |byte: usize| byte.clamp(begin, end) - begin + mark(cut_before).len();
    (Cow::Owned(text), moved(span.start)..moved(span.end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        assert_eq!(brief("short", 5), "short");
        assert_eq!(brief("0123456789", 5), "01…89");
        assert_eq!(brief("ééééé", 5), "ééééé");
        assert_eq!(brief("éàéàéàéà", 3), "é…à");
        let long = format!("`{}` is not a unit", "\0".repeat(3 << 20));
        let short = message(&long);
        assert_eq!(short.chars().count(), WORD + "is not a unit".len());
        assert!(
            short.starts_with("`\0") && short.ends_with("\0` is not a unit"),
            "{short}"
        );
        assert_eq!(message(&"ten words ".repeat(1000)).chars().count(), MESSAGE);
    }

    #[test]
    fn a_long_line_is_cut_around_the_span() {
        let line = format!("{}WRONG{}", "a".repeat(70_000), "b".repeat(70_000));
        let (text, span) = around(&line, 70_000..70_005);
        assert_eq!(text.chars().count(), LINE);
        assert!(text.starts_with("…a") && text.ends_with("b…"), "{text}");
        assert_eq!(&text[span], "WRONG");
        let (text, span) = around(&line, 0..1);
        assert!(
            text.starts_with('a') && text.ends_with('…') && span == (0..1),
            "{text}"
        );
        let (text, span) = around(&line, line.len()..line.len());
        assert!(
            text.starts_with('…') && text.ends_with('b') && span.start == text.len(),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn every_span_of_every_line_stays_on_characters(
            line in "[aé日\t]{0,400}", from in 0.0..1.0_f64, to in 0.0..1.0_f64,
        ) {
            let byte = |share: f64| {
                let mut at = (line.len() as f64 * share) as usize;
                while !line.is_char_boundary(at) { at -= 1; }
                at
            };
            let (from, to) = (byte(from), byte(to));
            let (text, span) = around(&line, from.min(to)..from.max(to));
            prop_assert!(text.chars().count() <= LINE);
            prop_assert!(line[from.min(to)..].starts_with(text[span].trim_end_matches('…')));
            prop_assert!(brief(&line, 30).chars().count() <= 30);
        }
    }
}
