//! Errors of files, and writing to open files, on every system.

use std::fs::File;
use std::io::{self, Write};

use crate::error::{Error, Kind};

/// Reasons why a file is not used.
#[derive(Debug)]
pub(super) enum Trouble {
    Io(io::Error),
    /// A symbolic link that is not followed, with its target if known.
    Link {
        link: String,
        target: Option<String>,
    },
    /// Another file that is refused: the reason and the next step.
    Unfit {
        why: String,
        help: String,
    },
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

impl Trouble {
    pub(super) fn unfit(why: impl Into<String>, help: impl Into<String>) -> Self {
        Trouble::Unfit {
            why: why.into(),
            help: help.into(),
        }
    }

    /// Converts to this crate's error; `doing` describes the operation.
    pub(super) fn into_error(self, doing: String) -> Error {
        match self {
            Trouble::Io(source) => Error::file(doing, source),
            Trouble::Unfit { why, help } => Error::Refused {
                doing,
                why,
                help,
                kind: Kind::Failed,
            },
            Trouble::Link { link, target } => Error::Refused {
                doing,
                why: format!("{link} is a symbolic link, and links are not followed"),
                help: match target {
                    Some(target) => format!("name what it points to, {target}, or remove the link"),
                    None => "name what it points to, or remove the link".to_owned(),
                },
                kind: Kind::Failed,
            },
        }
    }
}

/// Writes to an open file and waits until it is on the disk.
pub(super) fn fill(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}
