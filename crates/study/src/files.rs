//! Files that scenarios read and users write. Neither an untrusted scenario nor a planted link
//! decides which files these are.
//!
//! - `joulepath_files` opens files for **reading**.
//! - **Results** are never written through a symbolic link. A new file replaces an old one in one
//!   step: readers never see a partial file, and a full disk keeps the old one. Devices and pipes
//!   are written to directly.
//! - A path that the **user** gives is used, except for links: no folder of a relative path may be
//!   a link, nor the last folder of an absolute path.
//!
//! Paths are followed folder by folder, each opened relative to its parent (`openat` with
//! `O_NOFOLLOW`), so that the checked folders are the used ones even if another process changes
//! them.

#[cfg(not(unix))]
mod portable;
mod trouble;
#[cfg(unix)]
mod unix;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use joulepath_files::Trouble as Unread;
pub(crate) use joulepath_files::{By, Content};

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

use trouble::Trouble;

use crate::error::{Error, Kind, Result};

/// Text of the file at `path`, at most `limit` bytes. Under `sudo`, reads with the rights of the
/// user who called it. Also reads `/dev/stdin` and `<(…)`.
///
/// # Errors
/// If the file cannot be read, is too long, or is not text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let content = joulepath_files::read(path, By::Argument, limit)?;
    if !content.may_be_quoted {
        let why = "the user who called sudo may not read it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    String::from_utf8(content.bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Content of a file that the user names; `doing` describes the operation in errors. See
/// [`joulepath_files::read`].
pub(crate) fn read_named(path: &Path, by: By, limit: u64, doing: &str) -> Result<Content> {
    joulepath_files::read(path, by, limit).map_err(|trouble| unread(trouble, doing.to_owned()))
}

/// Content of the file that a scenario in `folder` calls `name`, at most `limit` bytes. See
/// [`joulepath_files::read_beside`].
pub(crate) fn read_beside(folder: &Path, name: &str, limit: u64) -> Result<Vec<u8>> {
    let read = joulepath_files::read_beside(folder, name, limit);
    read.map_err(|trouble| unread(trouble, format!("cannot read `{name}`")))
}

/// Opens the file at `path` for a reader that bounds its memory; `doing` describes the operation in
/// errors. See [`joulepath_files::open`].
#[cfg(not(target_family = "wasm"))]
pub(crate) fn open(path: &Path, doing: &str) -> Result<File> {
    joulepath_files::open(path).map_err(|trouble| unread(trouble, doing.to_owned()))
}

/// Converts the reason why a file is not read.
pub(crate) fn unread(trouble: Unread, doing: String) -> Error {
    match trouble {
        Unread::Io(source) => Error::file(doing, source),
        Unread::Folder => Error::Refused {
            doing,
            why: "it is not a regular file but a folder".to_owned(),
            help: "name a file in it".to_owned(),
            kind: Kind::Failed,
        },
        Unread::Unfit { why, help } => Error::Refused {
            doing,
            why,
            help,
            kind: Kind::Failed,
        },
    }
}

/// `place` if it is a page, else the page `stem` in the folder `place`.
pub fn page(place: &Path, stem: &str) -> PathBuf {
    match place.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => place.to_path_buf(),
        _ => place.join(format!("{stem}.html")),
    }
}

/// The file `page` for one variant.
pub fn of_variant(page: &Path, variant: &str) -> PathBuf {
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(page.file_stem()), part(page.extension()));
    page.with_file_name(format!("{stem}-{variant}.{extension}"))
}

/// Creates the folder of `file` and checks that `file` can be written, before hours of runs.
///
/// # Errors
/// If the folder cannot be created, or if it or the file is a symbolic link or a folder.
pub fn prepare(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("")).display();
    let doing = format!("cannot create the folder {folder}");
    system::create_folder_of(file).map_err(|trouble| match trouble {
        Trouble::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ) =>
        {
            let help =
                "name another folder; the name of a page ends in .html, other names are folders";
            Trouble::unfit("a file is in the way", help).into_error(doing)
        }
        trouble => trouble.into_error(doing),
    })?;
    system::check(file)
        .map_err(|trouble| trouble.into_error(format!("cannot write {}", file.display())))
}

/// Writes a whole file or nothing. Writes to devices and pipes directly.
///
/// # Errors
/// If the file cannot be written, or if it or a folder of its path is a symbolic link.
pub fn write(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Like [`write()`], but a new file has mode 0600.
///
/// # Errors
/// As [`write()`].
pub fn write_own(path: &Path, text: &str) -> Result<()> {
    system::write_own(path, text.as_bytes())
        .map_err(|trouble| trouble.into_error(format!("cannot write {}", path.display())))
}

/// Like [`write()`], for bytes.
///
/// # Errors
/// As [`write()`].
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    system::write(path, bytes)
        .map_err(|trouble| trouble.into_error(format!("cannot write {}", path.display())))
}

/// Creates an empty file, which replaces an old one; `None` for a device or a pipe. Fails like
/// [`write`].
pub(crate) fn create(path: &Path) -> Result<Option<File>> {
    system::create(path)
        .map_err(|trouble| trouble.into_error(format!("cannot write {}", path.display())))
}

/// Text of a file, and the file, opened and locked for appending. Creates a missing file.
///
/// # Errors
/// If the file cannot be read and written, is not a regular file, is in use by another process, or
/// its path contains a symbolic link.
pub(crate) fn open_for_appending(path: &Path) -> Result<(String, File)> {
    let open = || -> Result<(String, File), Trouble> {
        let mut file = system::open_for_appending(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok((text, file))
    };
    open()
        .map_err(|trouble| trouble.into_error(format!("cannot use the runs in {}", path.display())))
}

#[cfg(test)]
mod tests;
