//! Files of ours in folders of others, such as systemd's. Each file is its own journal: its first
//! lines say that we wrote it, whether we also made its folder, and a checksum of the rest. So it
//! is undone exactly after SIGKILL and after a reboot, and a file that somebody has edited is left
//! alone.
//!
//! A new folder appears and goes together with its file, by renaming. A killed process leaves at
//! most a draft, which the next call removes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use joulepath_kernel::Result;
use joulepath_kernel::namespace::Cookie;
use joulepath_kernel::reactor::since_boot_ns;
use joulepath_kernel::state::boot_id;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Name of an unfinished file or folder.
const DRAFT: &str = ".joulepath-draft";
const MARK: &str = "# joulepath wrote this file";

/// When and for which daemon a file was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Boot id.
    pub(crate) boot: String,
    /// Network namespace of that boot.
    pub(crate) namespace: u64,
    /// Time since that boot, ns.
    pub(crate) since_boot_ns: u64,
}

impl Stamp {
    pub(crate) fn now() -> Result<Self> {
        Ok(Stamp {
            boot: boot_id()?,
            namespace: Cookie::own()?.0,
            since_boot_ns: since_boot_ns(),
        })
    }
}

/// A file of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) body: String,
    pub(crate) stamp: Stamp,
    /// True if we made its folder.
    made_folder: bool,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    Ours(Own),
    /// Another program's, or ours with changes.
    Foreign,
}

impl Own {
    fn text(&self, purpose: &str) -> String {
        let folder = if self.made_folder { "made" } else { "found" };
        let Stamp {
            boot,
            namespace,
            since_boot_ns,
        } = &self.stamp;
        let facts =
            format!("folder {folder}, boot {boot}, namespace {namespace}, {since_boot_ns} ns");
        let sum = checksum(&[purpose, &facts, &self.body]);
        format!(
            "{MARK}: {purpose}\n# {facts}, checksum {sum:016x}\n{}",
            self.body
        )
    }

    fn read(text: &str) -> Option<Self> {
        let (purpose, rest) = text
            .strip_prefix(MARK)?
            .strip_prefix(": ")?
            .split_once('\n')?;
        let (facts, body) = rest.split_once('\n')?;
        let mut words = facts.strip_prefix("# folder ")?.split(", ");
        let made_folder = words.next()? == "made";
        let boot = words.next()?.strip_prefix("boot ")?.to_owned();
        let namespace = words.next()?.strip_prefix("namespace ")?.parse().ok()?;
        let since_boot_ns = words.next()?.strip_suffix(" ns")?.parse().ok()?;
        let own = Own {
            body: body.into(),
            stamp: Stamp {
                boot,
                namespace,
                since_boot_ns,
            },
            made_folder,
        };
        (own.text(purpose) == text).then_some(own)
    }
}

/// FNV-1a, 64 bits: recognises edits, not forgeries.
fn checksum(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What is at `file`.
pub(crate) fn look(file: &Path) -> io::Result<Found> {
    // A symbolic link or a device is not ours.
    match fs::symlink_metadata(file) {
        Err(error) if is_absent(&error) => return Ok(Found::Absent),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => return Ok(Found::Foreign),
        Ok(_) => {}
    }
    let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    Ok(Own::read(&text).map_or(Found::Foreign, Found::Ours))
}

/// Writes `file`, and its folder if that is absent. `purpose` is one line about it. Returns false
/// if the file is there with this body.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if a file that is not ours is there.
pub(crate) fn put(file: &Path, purpose: &str, body: &str, stamp: Stamp) -> io::Result<bool> {
    let (folder, parent) = folders(file);
    sweep(file)?;
    let foreign = || {
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "a file of this name is not ours",
        ))
    };
    let made_folder = match look(file)? {
        Found::Foreign => return foreign(),
        Found::Ours(own) if own.body == body => return Ok(false),
        Found::Ours(own) => own.made_folder,
        Found::Absent => !folder.is_dir(),
    };
    let text = Own {
        body: body.into(),
        stamp,
        made_folder,
    }
    .text(purpose);
    if folder.is_dir() {
        let draft = folder.join(DRAFT);
        write(&draft, &text)?;
        fs::rename(&draft, file)?;
    } else {
        let draft = parent.join(DRAFT);
        DirBuilder::new().mode(0o755).create(&draft)?;
        write(&draft.join(file.file_name().unwrap_or_default()), &text)?;
        renameat_with(CWD, &draft, CWD, &folder, RenameFlags::NOREPLACE)?;
    }
    Ok(true)
}

/// Removes `file` if it is ours, and its folder if we made it and it has nothing else. Returns true
/// if the file was there.
pub(crate) fn remove(file: &Path) -> io::Result<bool> {
    sweep(file)?;
    let Found::Ours(own) = look(file)? else {
        return Ok(false);
    };
    let (folder, parent) = folders(file);
    if own.made_folder && fs::read_dir(&folder)?.count() == 1 {
        renameat_with(
            CWD,
            &folder,
            CWD,
            parent.join(DRAFT),
            RenameFlags::NOREPLACE,
        )?;
        sweep(file)?;
    } else {
        fs::remove_file(file)?;
    }
    Ok(true)
}

/// Removes what a killed process has left of `file`.
pub(crate) fn sweep(file: &Path) -> io::Result<()> {
    let (folder, parent) = folders(file);
    // On a read-only file system, removing what is absent is an error.
    let is_there = |draft: &Path| fs::symlink_metadata(draft).is_ok();
    let (file, folder) = (folder.join(DRAFT), parent.join(DRAFT));
    if is_there(&file) {
        fs::remove_file(file)?;
    }
    if is_there(&folder) {
        fs::remove_dir_all(folder)
    } else {
        Ok(())
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The folder of a file, and that folder's folder.
fn folders(file: &Path) -> (PathBuf, PathBuf) {
    let above = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
    let folder = above(file);
    let parent = above(&folder);
    (folder, parent)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut open = OpenOptions::new();
    let mut opened: File = open.write(true).create_new(true).mode(0o644).open(file)?;
    opened.write_all(text.as_bytes())?;
    // An empty file after a power failure would look like another program's.
    opened.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp {
            boot: "b-1".into(),
            namespace: 3,
            since_boot_ns: 7,
        }
    }

    fn put_one(file: &Path, body: &str) -> io::Result<bool> {
        put(file, "for a test", body, stamp())
    }

    /// All paths below a folder.
    fn all(folder: &Path) -> Vec<PathBuf> {
        let below = |entry: io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            let mut found = if path.is_dir() { all(&path) } else { vec![] };
            found.insert(0, path);
            found
        };
        fs::read_dir(folder).unwrap().flat_map(below).collect()
    }

    #[test]
    fn a_folder_comes_and_goes_with_its_file() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("a.service.d/zz.conf");
        assert!(put_one(&file, "x\n").unwrap() && !put_one(&file, "x\n").unwrap());
        assert!(put_one(&file, "y\n").unwrap());
        let Found::Ours(own) = look(&file).unwrap() else {
            panic!("{:?}", look(&file))
        };
        assert_eq!((own.body.as_str(), own.stamp), ("y\n", stamp()));
        assert!(remove(&file).unwrap() && !remove(&file).unwrap());
        assert_eq!(all(base.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn folders_and_files_of_others_stay() {
        let base = tempfile::tempdir().unwrap();
        let [found, shared] =
            ["found.d", "shared.d"].map(|name| base.path().join(name).join("zz.conf"));
        fs::create_dir(found.parent().unwrap()).unwrap();
        put_one(&found, "x\n").unwrap();
        put_one(&shared, "x\n").unwrap();
        let other = shared.with_file_name("other.conf");
        fs::write(&other, "").unwrap();
        assert!(remove(&found).unwrap() && remove(&shared).unwrap());
        let mut left = all(base.path());
        left.sort();
        assert_eq!(
            left,
            [
                found.parent().unwrap(),
                shared.parent().unwrap(),
                other.as_path()
            ]
        );
    }

    #[test]
    fn an_edited_file_belongs_to_its_editor() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("a.d/zz.conf");
        put_one(&file, "x\n").unwrap();
        let text = fs::read_to_string(&file).unwrap();
        for edited in [
            text.replace("for a", "of a"),
            text.replace("7 ns", "8 ns"),
            format!("{text}\n"),
        ] {
            assert_ne!(edited, text);
            fs::write(&file, &edited).unwrap();
            assert_eq!(look(&file).unwrap(), Found::Foreign, "{edited}");
            assert_eq!(
                put_one(&file, "y\n").unwrap_err().kind(),
                ErrorKind::AlreadyExists
            );
            assert!(!remove(&file).unwrap());
            assert_eq!(fs::read_to_string(&file).unwrap(), edited);
        }
    }

    /// A kill leaves one of these drafts, at most.
    #[test]
    fn drafts_of_a_killed_process_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("a.d/zz.conf");
        let draft = base.path().join(DRAFT);
        for removes in [true, false] {
            fs::create_dir(&draft).unwrap();
            fs::write(draft.join("zz.conf"), "half").unwrap();
            if removes {
                assert!(!remove(&file).unwrap());
                assert_eq!(all(base.path()), Vec::<PathBuf>::new());
            } else {
                put_one(&file, "x\n").unwrap();
            }
        }
        fs::write(file.with_file_name(DRAFT), "half").unwrap();
        assert!(remove(&file).unwrap());
        assert_eq!(all(base.path()), Vec::<PathBuf>::new());
    }
}
