//! Files that are read for a scenario and written for the user. Neither an untrusted scenario nor a link that
//! somebody has planted decides which files these are.
//!
//! - What is **read** is opened by `joulepath_files`.
//! - **Results** are never written through a symbolic link. A new file takes the place of an old one in one
//!   step: a reader never sees half of it, and a full disk leaves the old one. A device or a pipe is written
//!   to as it is.
//! - A path that the **user** gives is used as it is, but for links: of a relative path no folder may be one,
//!   of an absolute path not the last folder.
//!
//! Paths are followed folder by folder, each opened relative to the one before (`openat` with `O_NOFOLLOW`):
//! what is checked is what is used, even if another process changes the folders meanwhile.

#[cfg(not(unix))]
mod portable;
mod trouble;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use joulepath_files::Trouble as Unread;
pub(crate) use joulepath_files::{By, Content};

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

use trouble::Trouble;

use crate::error::{Error, Kind, Result};

/// The text in the file at `path`, of at most `limit` bytes. Under `sudo` it is read with the rights of the
/// user who
/// called that; `/dev/stdin` and `<(…)` are read, too.
///
/// # Errors
/// Why it is not read.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let content = joulepath_files::read(path, By::Argument, limit)?;
    if !content.may_be_quoted {
        let why = "the user who called sudo may not read it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    String::from_utf8(content.bytes).map_err(io::Error::other)
}

/// What a user names, as `doing` calls it: see [`joulepath_files::read`].
///
/// # Errors
/// Why it is not read.
pub(crate) fn read_named(path: &Path, by: By, limit: u64, doing: &str) -> Result<Content> {
    joulepath_files::read(path, by, limit).map_err(|trouble| unread(trouble, doing.to_owned()))
}

/// What is in the file that a scenario in `folder` calls `name`, at most `limit` bytes.
///
/// # Errors
/// Why it is not read: see [`joulepath_files::read_beside`].
pub(crate) fn read_beside(folder: &Path, name: &str, limit: u64) -> Result<Vec<u8>> {
    let read = joulepath_files::read_beside(folder, name, limit);
    read.map_err(|trouble| unread(trouble, format!("cannot read `{name}`")))
}

/// The file at `path`, as `doing` calls it, for a reader that bounds what it keeps.
///
/// # Errors
/// Why it is not opened: see [`joulepath_files::open`].
pub(crate) fn open(path: &Path, doing: &str) -> Result<File> {
    joulepath_files::open(path).map_err(|trouble| unread(trouble, doing.to_owned()))
}

/// Why a file is not read, as an error of this crate.
pub(crate) fn unread(trouble: Unread, doing: String) -> Error {
    match trouble {
        Unread::Io(source) => Error::file(doing, source),
        Unread::Folder => Error::Refused {
            doing,
            why: "it is not a regular file but a folder".to_owned(),
            help: "name a file in it".to_owned(),
            kind: Kind::Failed,
        },
        Unread::Unfit { why, help } => Error::Refused { doing, why, help, kind: Kind::Failed },
    }
}

/// Creates the folder that `file` is in, and says whether `file` may be written: now rather than after hours
/// of runs.
///
/// # Errors
/// If the folder cannot be created, or if it or the file is a symbolic link or a folder.
pub fn prepare(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("")).display();
    let doing = format!("cannot create the folder {folder}");
    system::create_folder_of(file).map_err(|trouble| match trouble {
        Trouble::Io(error)
            if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) =>
        {
            let help = "name another folder; the name of a page ends in .html, other names are folders";
            Trouble::unfit("a file is in the way", help).into_error(doing)
        }
        trouble => trouble.into_error(doing),
    })?;
    system::check(file).map_err(|trouble| trouble.into_error(format!("cannot write {}", file.display())))
}

/// Writes a file whole or not at all; a device or a pipe is written to.
///
/// # Errors
/// If it cannot be written, or if it or a folder on the way is a symbolic link.
pub fn write(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// As [`write`], any bytes.
///
/// # Errors
/// As [`write`].
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    system::write(path, bytes)
        .map_err(|trouble| trouble.into_error(format!("cannot write {}", path.display())))
}

/// A new and empty file in the place of an old one; none where there is a device or a pipe.
///
/// # Errors
/// As [`write`].
pub(crate) fn create(path: &Path) -> Result<Option<File>> {
    system::create(path).map_err(|trouble| trouble.into_error(format!("cannot write {}", path.display())))
}

/// What is in a file, and the file, open and locked for appending; a new file is empty.
///
/// # Errors
/// If it cannot be read and written, is not a regular file, a symbolic link on the way, or in use by another
/// process.
pub(crate) fn open_for_appending(path: &Path) -> Result<(String, File)> {
    let open = || -> Result<(String, File), Trouble> {
        let mut file = system::open_for_appending(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((text, file))
    };
    open().map_err(|trouble| trouble.into_error(format!("cannot use the runs in {}", path.display())))
}

#[cfg(test)]
mod tests;
