//! Planted links are not followed, and only regular files are read.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

use tempfile::{TempDir, tempdir};

use super::*;

fn named(folder: &TempDir, name: &str) -> std::path::PathBuf {
    folder.path().join(name)
}

/// Message of a refused file.
fn said(error: &Error) -> String {
    format!(
        "{}; {}",
        error.in_one_line(),
        error.help().unwrap_or_default()
    )
}

#[test]
fn a_new_file_replaces_an_old_one_with_its_owner_and_permissions() {
    let folder = tempdir().unwrap();
    let path = named(&folder, "results.json");
    write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&path).unwrap();
    write(&path, "new").unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(
        (after.mode(), after.uid(), after.gid()),
        (before.mode(), before.uid(), before.gid())
    );
    assert_ne!(
        after.ino(),
        before.ino(),
        "a reader of the old file still reads all of it"
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file stays"
    );
}

#[test]
fn results_are_not_written_through_links() {
    let outside = tempdir().unwrap();
    let theirs = named(&outside, "theirs");
    fs::write(&theirs, "theirs").unwrap();
    let folder = tempdir().unwrap();
    let link = named(&folder, "results.json");
    symlink(&theirs, &link).unwrap();
    let dangling = named(&folder, "new.json");
    symlink(named(&outside, "new"), &dangling).unwrap();
    let far = named(&folder, "far");
    symlink(outside.path(), &far).unwrap();
    for path in [&link, &dangling, &far.join("theirs"), &far.join("new")] {
        let outcomes = [
            write(path, "ours"),
            create(path).map(drop),
            open_for_appending(path).map(drop),
            prepare(path),
        ];
        for outcome in outcomes {
            let said = said(&outcome.unwrap_err());
            assert!(
                said.contains("is a symbolic link") && said.contains("name what it points to"),
                "{said}"
            );
        }
    }
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    assert_eq!(
        fs::read_dir(outside.path()).unwrap().count(),
        1,
        "nothing new is there"
    );
}

#[test]
fn no_folder_of_a_relative_path_may_be_a_link() {
    let (outside, folder) = (tempdir().unwrap(), tempdir().unwrap());
    fs::create_dir(named(&outside, "deep")).unwrap();
    symlink(outside.path(), named(&folder, "far")).unwrap();
    // A relative path from the root.
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let place = folder.path().strip_prefix("/").unwrap();
    let relative = format!("{up}{}", place.display());
    write(Path::new(&format!("{relative}/plain.json")), "ours").unwrap();
    let error = write(Path::new(&format!("{relative}/far/deep/x.json")), "ours").unwrap_err();
    assert!(
        said(&error).contains("far is a symbolic link"),
        "{}",
        said(&error)
    );
    // A folder of an absolute path may be a link: the user chose it by writing the whole path.
    write(&named(&folder, "far/deep/x.json"), "ours").unwrap();
}

#[test]
fn a_journal_replaces_an_old_one_without_changing_open_files() {
    let folder = tempdir().unwrap();
    let path = named(&folder, "a.runs.jsonl");
    fs::write(&path, "old\n").unwrap();
    let mut old = fs::File::open(&path).unwrap();
    let mut new = create(&path).unwrap().unwrap();
    new.write_all(b"new\n").unwrap();
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_eq!(
        (text.as_str(), fs::read_to_string(&path).unwrap().as_str()),
        ("old\n", "new\n")
    );
}

#[test]
fn folders_are_created_unless_a_file_has_their_name() {
    let folder = tempdir().unwrap();
    prepare(&named(&folder, "a/b/page.html")).unwrap();
    assert!(named(&folder, "a/b").is_dir());
    fs::write(named(&folder, "file"), "").unwrap();
    let error = prepare(&named(&folder, "file/page.html")).unwrap_err();
    assert!(
        said(&error).contains("a file is in the way"),
        "{}",
        said(&error)
    );
    let error = prepare(&named(&folder, "a")).unwrap_err();
    assert!(said(&error).contains("it is a folder"), "{}", said(&error));
}

#[test]
fn devices_are_written_to_and_not_replaced() {
    write(Path::new("/dev/null"), "gone").unwrap();
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    assert!(create(Path::new("/dev/null")).unwrap().is_none());
    let error = open_for_appending(Path::new("/dev/null")).unwrap_err();
    assert!(
        said(&error).contains("not a regular file"),
        "{}",
        said(&error)
    );
}
