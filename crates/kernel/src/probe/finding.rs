//! How one fact stands, and what mends it.

use serde::Serialize;

use crate::error::Error;

/// How a fact stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It works.
    Ok,
    /// It works less well than it could, or in part.
    Limited,
    /// It is there, but not for this user.
    Denied,
    /// It is not there.
    Missing,
}

impl Status {
    /// As it is written, in the table and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Limited => "limited",
            Status::Denied => "denied",
            Status::Missing => "missing",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// How it stands.
    pub status: Status,
    /// What is there, or why it is not.
    pub detail: String,
    /// The commands that mend it, one after the other.
    pub mend: Vec<String>,
    /// What to do about it where no command does.
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
        Finding { status, detail: detail.into(), mend: Vec::new(), advice: None }
    }

    /// With the next command that mends it.
    pub(super) fn mend(mut self, command: impl Into<String>) -> Self {
        self.mend.push(command.into());
        self
    }

    /// With what to do about it.
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
        Finding { advice: error.remedy().map(str::to_owned), ..Finding::new(status, detail) }
    }
}
