//! Helpers for text in terminals.

/// Wraps `text` to at most `width` characters; each line after the first starts with `indent`.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    textwrap::fill(
        text,
        textwrap::Options::new(width).subsequent_indent(indent),
    )
}

/// Such as `1 seed` or `3 seeds`.
pub(crate) fn seeds(count: u32) -> String {
    if count == 1 {
        "1 seed".to_owned()
    } else {
        format!("{count} seeds")
    }
}
