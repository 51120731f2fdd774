//! Why a file is not used.

use std::io;

/// Why a file is not used.
#[derive(Debug)]
pub enum Trouble {
    /// What the system answered.
    Io(io::Error),
    /// It is a folder.
    Folder,
    /// It is not what it should be.
    Unfit {
        /// What is wrong with it.
        why: String,
        /// What to do about it.
        help: String,
    },
}

impl Trouble {
    pub(crate) fn unfit(why: impl Into<String>, help: impl Into<String>) -> Self {
        Trouble::Unfit { why: why.into(), help: help.into() }
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
            Trouble::Folder => {
                io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name a file in it")
            }
            Trouble::Unfit { why, help } => {
                io::Error::new(io::ErrorKind::InvalidInput, format!("{why}; {help}"))
            }
        }
    }
}
