//! Small helpers for texts of the terminal.

/// `text` as a paragraph of at most `width` characters, each line after the first indented.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(width).subsequent_indent(indent))
}

/// `1 seed`, `3 seeds`.
pub(crate) fn seeds(count: u32) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}
