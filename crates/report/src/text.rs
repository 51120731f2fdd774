//! Small helpers for texts of the terminal.

/// `text` as a paragraph of at most `width` characters, each line after the first indented.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    textwrap::fill(text, textwrap::Options::new(width).subsequent_indent(indent))
}

/// As much of `text` as `length` characters hold, with a mark where there was more.
pub(crate) fn cut(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    text.chars().take(length - 1).chain(['…']).collect()
}

/// `1 seed`, `3 seeds`.
pub(crate) fn seeds(count: u32) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_with_a_mark() {
        assert_eq!((cut("mptcp", 5), cut("es-mptcp", 5)), ("mptcp".to_owned(), "es-m…".to_owned()));
    }
}
