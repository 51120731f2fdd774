//! Makes control characters in untrusted text visible, so that a terminal does not act on them.

use std::borrow::Cow;

/// Treatment of escape sequences that set colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// They stay: the text was coloured for this terminal.
    Stay,
    /// They become visible like all others.
    Shown,
}

/// `text` with visible substitutes for all characters that a terminal would act on: C0 except line
/// feed and tab, DEL, C1, line separators, and characters that change the writing direction. ESC
/// becomes `␛`, U+202E becomes `<U+202E>`.
pub fn visible(text: &str, colors: Colors) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(is_obeyed) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if colors == Colors::Stay {
            color(rest)
        } else {
            None
        };
        if let Some(length) = length {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let character = rest
            .chars()
            .next()
            .expect("`find` returned the position of a character");
        match u32::from(character) {
            // The control pictures are in the same order as C0.
            code @ ..0x20 => shown.extend(char::from_u32(0x2400 + code)),
            0x7f => shown.push('␡'),
            code => shown.push_str(&format!("<U+{code:04X}>")),
        }
        rest = &rest[character.len_utf8()..];
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

fn is_obeyed(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Arabic letter mark, directional marks, embeddings, overrides and isolates; line and
        // paragraph separators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // The byte order mark and the tags, which terminals do not display.
        '\u{feff}' | '\u{e0000}'..='\u{e007f}' => true,
        character => character.is_control(),
    }
}

/// Length of the SGR sequence at the start that sets colours or weight; none if there is another
/// sequence. Sequences that make text blink or hide it do not count.
fn color(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let mut parameters_of = parameters[..end].split(';');
    if !parameters[end..].starts_with('m') {
        return None;
    }
    while let Some(parameter) = parameters_of.next() {
        match parameter {
            // A palette index follows, or red, green and blue.
            "38" | "48" | "58" => match parameters_of.next() {
                Some("5") => drop(parameters_of.next()),
                Some("2") => drop(parameters_of.by_ref().take(3).count()),
                _ => return None,
            },
            "5" | "6" | "8" => return None,
            _ => {}
        }
    }
    Some("\u{1b}[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_are_made_visible() {
        for (text, says) in [
            ("plain ±µ→ 日本", "plain ±µ→ 日本"),
            ("two\n\tlines", "two\n\tlines"),
            ("\u{1b}]0;title\u{7}", "␛]0;title␇"),
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("a\rb\u{8}\u{7f}\0", "a␍b␈␡␀"),
            ("\u{9b}31m", "<U+009B>31m"),
            ("abc\u{202e}def\u{2066}", "abc<U+202E>def<U+2066>"),
            ("\u{1b}]8;;http://x\u{1b}\\x", "␛]8;;http://x␛\\x"),
            ("\u{1b}", "␛"),
        ] {
            assert_eq!(visible(text, Colors::Stay), says);
            assert_eq!(visible(text, Colors::Shown), says);
        }
    }

    #[test]
    fn colours_stay_on_request_but_sequences_that_hide_text_do_not() {
        for colour in [
            "\u{1b}[0m",
            "\u{1b}[m",
            "\u{1b}[1m",
            "\u{1b}[38;5;10m",
            "\u{1b}[30;48;5;214m",
            "\u{1b}[38;2;8;5;6m",
        ] {
            assert_eq!(visible(colour, Colors::Stay), colour);
            assert!(!visible(colour, Colors::Shown).contains('\u{1b}'));
        }
        for other in [
            "\u{1b}[8m",
            "\u{1b}[1;5m",
            "\u{1b}[31",
            "\u{1b}[31;H",
            "\u{1b}[38;5",
            "\u{1b}[?25l",
            "\u{1b}[38m",
        ] {
            assert!(
                !visible(other, Colors::Stay).contains('\u{1b}'),
                "{other:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn other_text_is_kept_and_no_control_character_remains(
            text in "(\\PC|[\u{0}-\u{9f}\u{2028}-\u{202e}]|\u{1b}\\[){0,40}",
        ) {
            let shown = visible(&text, Colors::Shown);
            prop_assert!(!shown.contains(is_obeyed));
            let kept: String = text.chars().filter(|character| !is_obeyed(*character)).collect();
            let mut rest = shown.chars();
            prop_assert!(kept.chars().all(|wanted| rest.any(|character| character == wanted)));
            prop_assert!(visible(&shown, Colors::Shown) == shown);
        }
    }
}
