//! The status of one fact, and how to fix it.

use serde::Serialize;

use crate::error::Error;

/// Status of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It works.
    Ok,
    /// It works with limitations.
    Limited,
    /// It exists, but this user may not use it.
    Denied,
    /// It is missing.
    Missing,
}

impl Status {
    /// Its text in the table and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Limited => "limited",
            Status::Denied => "denied",
            Status::Missing => "missing",
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The fact's status.
    pub status: Status,
    /// What exists, or why it does not work.
    pub detail: String,
    /// The commands that fix it, in order.
    pub fix: Vec<String>,
    /// What to do if no command fixes it.
    pub advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(detail: impl Into<String>) -> Self {
        Self::new(Status::Ok, detail)
    }

    pub(super) fn limited(detail: impl Into<String>) -> Self {
        Self::new(Status::Limited, detail)
    }

    pub(super) fn denied(detail: impl Into<String>) -> Self {
        Self::new(Status::Denied, detail)
    }

    pub(super) fn missing(detail: impl Into<String>) -> Self {
        Self::new(Status::Missing, detail)
    }

    fn new(status: Status, detail: impl Into<String>) -> Self {
        Finding {
            status,
            detail: detail.into(),
            fix: Vec::new(),
            advice: None,
        }
    }

    /// Appends a command that fixes it.
    pub(super) fn fix(mut self, command: impl Into<String>) -> Self {
        self.fix.push(command.into());
        self
    }

    /// Sets the advice.
    pub(super) fn advise(mut self, sentence: impl Into<String>) -> Self {
        self.advice = Some(sentence.into());
        self
    }
}

impl From<Error> for Finding {
    fn from(error: Error) -> Self {
        let (status, detail) = match &error {
            Error::Permission { .. } => (Status::Denied, error.to_string()),
            Error::Unsupported { why, .. } => (Status::Missing, why.clone()),
            _ => (Status::Missing, error.to_string()),
        };
        Finding {
            advice: error.remedy().map(str::to_owned),
            ..Finding::new(status, detail)
        }
    }
}
