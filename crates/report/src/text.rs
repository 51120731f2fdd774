//! Helpers for text in terminals.

/// Wraps `text` to at most `width` characters; each line after the first starts with `indent`.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    textwrap::fill(
        text,
        textwrap::Options::new(width).subsequent_indent(indent),
    )
}

/// Such as `1 seed` or `3 seeds`.
pub(crate) fn seeds(number: u32) -> String {
    count(number as usize, "seed")
}

/// Such as `1 experiment` or `3 experiments`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}
