//! Mistakes in files under `papers/`: the place and the fix.

use std::ops::Range;

use joulepath_model::names::suggest;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::error::{Error, Kind};

/// A mistake and its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    span: Range<usize>,
    /// The mistake; after a semicolon, the fix.
    message: String,
}

impl Wrong {
    pub(super) fn at(span: &Range<usize>, message: &str) -> Self {
        Wrong {
            span: span.clone(),
            message: message.to_owned(),
        }
    }

    pub(super) fn in_file(self, name: &str, text: &str) -> FileError {
        let before = &text[..self.span.start.min(text.len())];
        let line = 1 + before.matches('\n').count();
        FileError {
            place: format!("papers/{name}.toml:{line}"),
            message: self.message,
        }
    }
}

/// [`Wrong`] with the file's name and the line.
#[derive(Clone, Debug)]
pub(super) struct FileError {
    place: String,
    message: String,
}

impl From<FileError> for Error {
    fn from(FileError { place, message }: FileError) -> Self {
        let (why, help) = message
            .split_once("; ")
            .unwrap_or((&message, "docs/experiments.md has the keys"));
        let (why, help) = (why.to_owned(), help.to_owned());
        Error::Refused {
            doing: format!("cannot use {place}"),
            why,
            help,
            kind: Kind::Failed,
        }
    }
}

/// Parses TOML.
///
/// # Errors
/// The first mistake.
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| Wrong {
        span: error.span().unwrap_or(0..0),
        message: error.message().to_owned(),
    })
}

/// # Errors
/// If `written` is not one of `known`.
pub(super) fn known_name<'a>(
    what: &str,
    written: &Spanned<String>,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), Wrong> {
    let known: Vec<&str> = known.collect();
    match known.contains(&written.get_ref().as_str()) {
        true => Ok(()),
        false => {
            let message = format!(
                "there is no {what} `{}`; {}",
                written.get_ref(),
                suggest(written.get_ref(), &known)
            );
            Err(Wrong::at(&written.span(), &message))
        }
    }
}

/// # Errors
/// If it is not `key=value`.
pub(super) fn key_value(pair: &Spanned<String>) -> Result<(String, String), Wrong> {
    let parts = pair
        .get_ref()
        .split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()));
    let (key, value) = parts.ok_or_else(|| Wrong::at(&pair.span(), "this is not `key=value`"))?;
    Ok((key.to_owned(), value.to_owned()))
}
