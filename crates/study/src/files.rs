//! Files that are read for a scenario and written for the user. Neither an untrusted scenario nor a link that
//! somebody has planted decides which files these are.
//!
//! - What a **scenario** names is read from beside it: a relative path, below the scenario's folder, without
//!   symbolic links; only regular files, of a bounded size. An untrusted scenario reads nothing else, also
//!   under sudo.
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
use std::path::{Component, Path};

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

use trouble::Trouble;

use crate::error::{Error, Result};

/// What is in a file of at most `limit` bytes that the user names: any file, also a pipe.
///
/// # Errors
/// If it cannot be read or is larger.
pub(crate) fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_at_most(File::open(path)?, limit)
}

/// What is in the file that a scenario in `folder` calls `name`, at most `limit` bytes.
///
/// # Errors
/// Why it is not read: not below the folder, not a regular file, a symbolic link on the way, too large, or
/// what the system answered.
pub(crate) fn read_beside(folder: &Path, name: &str, limit: u64) -> Result<Vec<u8>> {
    let doing = || format!("cannot read `{name}`");
    let is_below = |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    if !Path::new(name).components().all(is_below) {
        let help = "write a relative path to a file beside the scenario or in a folder below it";
        let why = "it is not below the scenario's folder";
        return Err(Trouble::unfit(why, help).into_error(doing()));
    }
    let file = system::open_beside(folder, Path::new(name)).map_err(|trouble| trouble.into_error(doing()))?;
    read_at_most(file, limit).map_err(|error| Error::file(doing(), error))
}

fn read_at_most(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let known = file.metadata()?.len();
    if known <= limit {
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if known.max(bytes.len() as u64) > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB, so it is something else", limit >> 20),
        ));
    }
    Ok(bytes)
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
