//! Why a file is refused.

use std::io;

/// Why a file is refused.
#[derive(Debug)]
pub enum Trouble {
    /// The system's error.
    Io(io::Error),
    /// The file is a folder.
    Folder,
    /// The file is unsuitable.
    Unfit {
        /// What is wrong.
        why: String,
        /// What the user can do.
        help: String,
    },
}

impl Trouble {
    pub(crate) fn unfit(why: impl Into<String>, help: impl Into<String>) -> Self {
        Trouble::Unfit {
            why: why.into(),
            help: help.into(),
        }
    }

    /// True if there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Trouble::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// True if the user may not read the file.
    pub fn is_permission(&self) -> bool {
        matches!(self, Trouble::Io(error) if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Io(error) => error,
            Trouble::Folder => io::Error::new(
                io::ErrorKind::IsADirectory,
                "it is a folder; name a file in it",
            ),
            Trouble::Unfit { why, help } => {
                io::Error::new(io::ErrorKind::InvalidInput, format!("{why}; {help}"))
            }
        }
    }
}
