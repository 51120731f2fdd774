//! The rules of `unix` on systems without folder descriptors. Paths are checked by name, which does
//! not protect against another process that changes the folders at the same time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::trouble::{Trouble, fill};

pub(super) fn create_folder_of(file: &Path) -> Result<(), Trouble> {
    check_folder(file)?;
    Ok(fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?)
}

pub(super) fn check(file: &Path) -> Result<(), Trouble> {
    check_folder(file)?;
    there(file).map(drop)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    check(path)?;
    let temporary = temporary(path);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .and_then(|mut file| fill(&mut file, bytes))
        .and_then(|()| fs::rename(&temporary, path));
    written
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
        .map_err(Trouble::from)
}

/// This system has no modes.
pub(super) fn write_own(path: &Path, bytes: &[u8]) -> Result<(), Trouble> {
    write(path, bytes)
}

pub(super) fn create(path: &Path) -> Result<Option<File>, Trouble> {
    check(path)?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    Ok(Some(
        OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)?,
    ))
}

pub(super) fn open_for_appending(path: &Path) -> Result<File, Trouble> {
    check(path)?;
    Ok(OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?)
}

fn check_folder(file: &Path) -> Result<(), Trouble> {
    let parent = file.parent().unwrap_or(Path::new(""));
    if parent.is_relative() {
        refuse_links(Path::new(""), parent)
    } else {
        Ok(())
    }
}

/// Refuses a link in place of the file, and anything that a file cannot replace.
fn there(file: &Path) -> Result<(), Trouble> {
    match fs::symlink_metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
        Ok(found) if found.is_symlink() => Err(link(file)),
        Ok(found) if found.is_dir() => Err(Trouble::unfit("it is a folder", "name a file in it")),
        Ok(found) if found.permissions().readonly() => {
            Err(io::Error::new(ErrorKind::PermissionDenied, "the file is read-only").into())
        }
        Ok(_) => Ok(()),
    }
}

/// Refuses a link among the components of `name`.
fn refuse_links(folder: &Path, name: &Path) -> Result<(), Trouble> {
    let mut path = folder.to_path_buf();
    for part in name.components() {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
            return Err(link(&path));
        }
    }
    Ok(())
}

fn link(path: &Path) -> Trouble {
    let target = fs::read_link(path)
        .ok()
        .map(|target| target.display().to_string());
    Trouble::Link {
        link: path.display().to_string(),
        target,
    }
}

fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!(".joulepath-{:x}", std::process::id()))
}
