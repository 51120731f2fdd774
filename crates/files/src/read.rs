//! Opening and reading.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

use crate::rights::Invoker;
use crate::trouble::Trouble;

/// Who names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The user, on the command line. Root's rights are used if the invoking user's are
    /// insufficient.
    Argument,
    /// Another file, or a command-line argument that is code. Only the invoking user's rights are
    /// used.
    File,
}

/// Content of a file.
#[derive(Clone, Debug)]
pub struct Content {
    /// All bytes of the file.
    pub bytes: Vec<u8>,
    /// False if the user who called `sudo` may not read the file: messages must not show its
    /// content.
    pub may_be_quoted: bool,
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// If the file is not regular, too large, or not readable.
pub fn read(path: &Path, by: By, limit: u64) -> Result<Content, Trouble> {
    read_for(Invoker::of_process()?.as_ref(), path, by, limit)
}

/// Opens a file for a reader that limits what it keeps.
///
/// # Errors
/// If the file is not regular or not readable. Under `sudo`, files that only root may read are
/// refused.
pub fn open(path: &Path) -> Result<File, Trouble> {
    open_for(Invoker::of_process()?.as_ref(), || system::open(path))
}

/// Reads the file that a scenario in `folder` names `name`, of at most `limit` bytes.
///
/// # Errors
/// If the file is outside the folder, not regular, too large, not readable, or reached through a
/// symbolic link.
pub fn read_beside(folder: &Path, name: &str, limit: u64) -> Result<Vec<u8>, Trouble> {
    read_beside_for(Invoker::of_process()?.as_ref(), folder, name, limit)
}

fn read_for(
    invoker: Option<&Invoker>,
    path: &Path,
    by: By,
    limit: u64,
) -> Result<Content, Trouble> {
    let content = |may_be_quoted| {
        move |bytes| Content {
            bytes,
            may_be_quoted,
        }
    };
    if by == By::Argument && system::is_own_descriptor(path) {
        // The shell opened it for the user.
        return at_most(File::open(path)?, limit).map(content(true));
    }
    let open = || system::open(path).and_then(|file| at_most(file, limit));
    match invoker.map(|user| user.act(open)).transpose()? {
        Some(Err(trouble)) if by == By::Argument && trouble.is_permission() => {
            open().map(content(false))
        }
        Some(read) => read.map(content(true)),
        None => open().map(content(true)),
    }
}

fn read_beside_for(
    invoker: Option<&Invoker>,
    folder: &Path,
    name: &str,
    limit: u64,
) -> Result<Vec<u8>, Trouble> {
    let is_below =
        |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    if !Path::new(name).components().all(is_below) {
        let help = "write a relative path to a file beside the scenario or in a folder below it";
        return Err(Trouble::unfit(
            "it is not below the scenario's folder",
            help,
        ));
    }
    let open =
        || system::open_beside(folder, Path::new(name)).and_then(|file| at_most(file, limit));
    open_for(invoker, open)
}

/// Runs `open` with the rights of the invoking user, if there is one.
fn open_for<T: Send>(
    invoker: Option<&Invoker>,
    open: impl FnOnce() -> Result<T, Trouble> + Send,
) -> Result<T, Trouble> {
    match invoker {
        Some(user) => user.act(open)?,
        None => open(),
    }
}

fn at_most(file: File, limit: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    let known = file.metadata()?.len();
    if known <= limit {
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    if known.max(bytes.len() as u64) > limit {
        let (many, unit) = if limit >> 20 > 0 {
            (limit >> 20, "MiB")
        } else {
            (limit >> 10, "KiB")
        };
        let why = format!("it has more than {many} {unit}, so it is something else");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why).into());
    }
    Ok(bytes)
}

fn not_regular() -> Trouble {
    Trouble::unfit(
        "it is not a regular file",
        "name a file; folders, pipes and devices are not read",
    )
}

fn link(name: &str, target: Option<String>) -> Trouble {
    let why = format!("{name} is a symbolic link, and links are not followed");
    Trouble::unfit(
        why,
        match target {
            Some(target) => format!("name what it points to, {target}, or remove the link"),
            None => "name what it points to, or remove the link".to_owned(),
        },
    )
}

#[cfg(unix)]
mod system {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path};

    use rustix::fs::{
        AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, stat, statat,
    };
    use rustix::io::Errno;

    use super::{Trouble, link, not_regular};

    /// Flags for folders on the way.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::CLOEXEC);

    /// A pipe without a writer must not block, and a terminal must not become the controlling one.
    const CAREFUL: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::CLOEXEC);

    impl From<Errno> for Trouble {
        fn from(error: Errno) -> Self {
            Trouble::Io(error.into())
        }
    }

    /// True for `/dev/stdin` and `/dev/fd/63`, as shells write `<(…)`.
    pub(super) fn is_own_descriptor(path: &Path) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        path == Path::new("/dev/stdin")
            || ["/dev/fd", "/proc/self/fd"]
                .iter()
                .any(|own| folder == Path::new(own))
    }

    pub(super) fn open(path: &Path) -> Result<File, Trouble> {
        // Check the type first: opening a device can already have effects.
        regular(stat(path)?)?;
        let file = openat(CWD, path, CAREFUL, Mode::empty())?;
        regular(fstat(&file)?)?;
        Ok(File::from(file))
    }

    /// Opens a regular file below `folder`, which may itself be anywhere.
    pub(super) fn open_beside(folder: &Path, name: &Path) -> Result<File, Trouble> {
        let start = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let mut at = openat(CWD, start, FOLDER, Mode::empty())?;
        for component in name.parent().unwrap_or(Path::new("")).components() {
            if let Component::Normal(part) = component {
                at = enter(&at, part)?;
            }
        }
        let name = name
            .file_name()
            .ok_or_else(|| Trouble::unfit("it names no file", "name a file"))?;
        let found = status(&at, name)?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            return Err(link_at(&at, name));
        }
        regular(found)?;
        let file = openat(&at, name, CAREFUL | OFlags::NOFOLLOW, Mode::empty())?;
        regular(fstat(&file)?)?;
        Ok(File::from(file))
    }

    fn enter(at: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Trouble> {
        let is_link = || {
            status(at, name)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        };
        match openat(at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            // Systems differ in the error for a link that is not followed.
            Err(Errno::LOOP | Errno::NOTDIR) if is_link() => Err(link_at(at, name)),
            opened => Ok(opened?),
        }
    }

    fn status(at: &OwnedFd, name: &OsStr) -> Result<Stat, Errno> {
        statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn link_at(at: &OwnedFd, name: &OsStr) -> Trouble {
        let target = readlinkat(at, name, vec![]).ok();
        link(
            &name.to_string_lossy(),
            target.map(|target| target.to_string_lossy().into_owned()),
        )
    }

    fn regular(stat: Stat) -> Result<(), Trouble> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(Trouble::Folder),
            _ => Err(not_regular()),
        }
    }
}

/// Without descriptors of folders, paths are checked by name. A process that changes the folders at
/// the same time can bypass the check.
#[cfg(not(unix))]
mod system {
    use std::fs::{self, File};
    use std::path::Path;

    use super::{Trouble, link, not_regular};

    pub(super) fn is_own_descriptor(_path: &Path) -> bool {
        false
    }

    pub(super) fn open(path: &Path) -> Result<File, Trouble> {
        if !fs::metadata(path)?.is_file() {
            return Err(not_regular());
        }
        Ok(File::open(path)?)
    }

    pub(super) fn open_beside(folder: &Path, name: &Path) -> Result<File, Trouble> {
        let mut path = folder.to_path_buf();
        for part in name.components() {
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                let target = fs::read_link(&path)
                    .ok()
                    .map(|target| target.display().to_string());
                return Err(link(&path.display().to_string(), target));
            }
        }
        open(&path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::process::Command;

    use tempfile::{TempDir, tempdir};

    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn named(folder: &TempDir, name: &str) -> PathBuf {
        folder.path().join(name)
    }

    fn said(trouble: Trouble) -> String {
        io::Error::from(trouble).to_string()
    }

    /// A pipe without a writer, a folder, a socket, and a link to each.
    fn not_files(folder: &TempDir) -> Vec<String> {
        assert!(
            Command::new("mkfifo")
                .arg(named(folder, "pipe"))
                .status()
                .unwrap()
                .success()
        );
        fs::create_dir(named(folder, "folder")).unwrap();
        std::os::unix::net::UnixListener::bind(named(folder, "socket")).unwrap();
        let kinds = ["pipe", "folder", "socket"];
        kinds
            .iter()
            .for_each(|kind| symlink(kind, named(folder, &format!("to-{kind}"))).unwrap());
        kinds
            .iter()
            .flat_map(|kind| [(*kind).to_owned(), format!("to-{kind}")])
            .collect()
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_blocks() {
        let folder = tempdir().unwrap();
        let mut names: Vec<PathBuf> = not_files(&folder)
            .iter()
            .map(|name| named(&folder, name))
            .collect();
        names.extend(["/dev/zero", "/dev/null", "/dev/tty", "/dev/ptmx"].map(PathBuf::from));
        for name in names.iter().filter(|name| name.exists()) {
            for by in [By::Argument, By::File] {
                let said = said(read(name, by, LIMIT).expect_err(&name.display().to_string()));
                assert!(
                    said.contains("not a regular file") || said.contains("is a folder"),
                    "{said}"
                );
            }
        }
        fs::write(named(&folder, "file"), "text").unwrap();
        symlink("file", named(&folder, "to-file")).unwrap();
        for name in ["file", "to-file"] {
            let content = read(&named(&folder, name), By::File, LIMIT).unwrap();
            assert_eq!(
                (content.bytes.as_slice(), content.may_be_quoted),
                (&b"text"[..], true)
            );
        }
        assert!(
            read(&named(&folder, "none"), By::Argument, LIMIT)
                .unwrap_err()
                .is_missing()
        );
    }

    #[test]
    fn a_file_over_the_size_limit_is_refused() {
        let folder = tempdir().unwrap();
        // A sparse file takes no space; it is refused before it is read.
        File::create(named(&folder, "huge"))
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let by_path = read(&named(&folder, "huge"), By::Argument, LIMIT).unwrap_err();
        let beside = read_beside(folder.path(), "huge", LIMIT).unwrap_err();
        for said in [said(by_path), said(beside)] {
            assert!(said.contains("more than 1 MiB"), "{said}");
        }
        // The size of this file is 0 until it is read.
        let endless = read(Path::new("/proc/self/maps"), By::Argument, 10).unwrap_err();
        assert!(said(endless).contains("more than"));
    }

    #[test]
    fn own_descriptors_are_read_only_as_arguments() {
        let folder = tempdir().unwrap();
        fs::write(named(&folder, "file"), "text").unwrap();
        let file = File::open(named(&folder, "file")).unwrap();
        let path = PathBuf::from(format!(
            "/dev/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&file)
        ));
        assert_eq!(read(&path, By::Argument, LIMIT).unwrap().bytes, b"text");
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        let path = PathBuf::from(format!(
            "/dev/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&reader)
        ));
        assert_eq!(read(&path, By::Argument, LIMIT).unwrap().bytes, b"");
        assert!(said(read(&path, By::File, LIMIT).unwrap_err()).contains("not a regular file"));
    }

    #[test]
    fn files_named_in_a_scenario_are_below_its_folder_and_no_links() {
        let (outside, folder) = (tempdir().unwrap(), tempdir().unwrap());
        let secret = named(&outside, "secret");
        fs::write(&secret, "root:x:0:0").unwrap();
        fs::create_dir(named(&folder, "traces")).unwrap();
        fs::write(named(&folder, "traces/lte.down"), "1\n").unwrap();
        symlink(&secret, named(&folder, "link")).unwrap();
        symlink(outside.path(), named(&folder, "far")).unwrap();
        symlink("traces", named(&folder, "near")).unwrap();
        for name in ["traces/lte.down", "./traces/lte.down"] {
            assert_eq!(read_beside(folder.path(), name, LIMIT).unwrap(), b"1\n");
        }
        let up = format!(
            "../{}/secret",
            outside.path().file_name().unwrap().to_str().unwrap()
        );
        for name in [
            secret.to_str().unwrap(),
            &up,
            "traces/../../x",
            "link",
            "far/secret",
            "near/lte.down",
        ] {
            let said = said(read_beside(folder.path(), name, LIMIT).expect_err(name));
            assert!(
                said.contains("not below") || said.contains("is a symbolic link"),
                "{name}: {said}"
            );
        }
        for name in not_files(&folder)
            .iter()
            .filter(|name| !name.starts_with("to-"))
        {
            let said = said(read_beside(folder.path(), name, LIMIT).expect_err(name));
            assert!(
                said.contains("not a regular file") || said.contains("is a folder"),
                "{name}: {said}"
            );
        }
    }

    /// Root reads a file for a user who may not: as an argument without quoting, and not at all if
    /// another file names it.
    #[test]
    #[cfg(target_os = "linux")]
    fn under_sudo_a_file_names_only_files_the_invoking_user_may_read() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for (name, mode) in [("secret", 0o600), ("open", 0o644)] {
            fs::write(named(&folder, name), name).unwrap();
            fs::set_permissions(named(&folder, name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let user =
            Invoker::named_by(&|name| (name == "SUDO_UID").then(|| "65534".to_owned())).unwrap();
        let user = user.as_ref();
        let content = read_for(user, &named(&folder, "secret"), By::Argument, LIMIT).unwrap();
        assert_eq!(
            (content.bytes.as_slice(), content.may_be_quoted),
            (&b"secret"[..], false)
        );
        assert!(
            read_for(user, &named(&folder, "secret"), By::File, LIMIT)
                .unwrap_err()
                .is_permission()
        );
        assert!(
            read_beside_for(user, folder.path(), "secret", LIMIT)
                .unwrap_err()
                .is_permission()
        );
        for by in [By::Argument, By::File] {
            assert!(
                read_for(user, &named(&folder, "open"), by, LIMIT)
                    .unwrap()
                    .may_be_quoted
            );
        }
        assert_eq!(
            read_beside_for(user, folder.path(), "open", LIMIT).unwrap(),
            b"open"
        );
        // Without sudo, root reads everything.
        assert!(
            read_for(None, &named(&folder, "secret"), By::File, LIMIT)
                .unwrap()
                .may_be_quoted
        );
    }
}
