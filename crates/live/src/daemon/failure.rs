//! Failures that `status` shows.

/// A failure of the daemon's work, which `status` shows until a poll succeeds.
#[derive(Debug, Default)]
pub(super) struct Failure {
    text: Option<String>,
    /// True if it occurred in this poll.
    is_recent: bool,
}

impl Failure {
    /// True if the last failure was another one.
    pub(super) fn take(&mut self, text: &str) -> bool {
        self.is_recent = true;
        self.text.replace(text.to_owned()).as_deref() != Some(text)
    }

    pub(super) fn text(&self) -> Option<&String> {
        self.text.as_ref()
    }

    pub(super) fn poll_begins(&mut self) {
        self.is_recent = false;
    }

    pub(super) fn poll_ends(&mut self) {
        self.text.take_if(|_| !self.is_recent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_until_a_poll_succeeds_and_told_once() {
        let mut failure = Failure::default();
        for is_new in [true, false] {
            failure.poll_begins();
            assert_eq!(failure.take("no memory"), is_new);
            failure.poll_ends();
            assert_eq!(failure.text().map(String::as_str), Some("no memory"));
        }
        failure.poll_begins();
        failure.poll_ends();
        assert_eq!(failure.text(), None);
        assert!(failure.take("no memory"));
    }
}
