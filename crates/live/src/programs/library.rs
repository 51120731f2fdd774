//! Where the preloaded library lies. The Debian package has it as a file. A program without the
//! package writes its own copy into a folder of this user; children find it there even after this
//! process has ended.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::process::geteuid;

/// The library.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libjoulepath-mptcp.so"));

const NAME: &str = "libjoulepath-mptcp.so";
/// Where the package puts it.
const INSTALLED: &str = "/usr/lib/joulepath";
/// For programs that root starts.
const SHARED: &str = "/var/cache";

/// Where the package puts the library.
pub(crate) fn installed() -> PathBuf {
    Path::new(INSTALLED).join(NAME)
}

/// The library's file, written if necessary.
///
/// # Errors
/// If none of the folders can contain it: the reasons, and a remedy.
pub(crate) fn place() -> Result<PathBuf, String> {
    let installed = installed();
    if is_current(&installed) {
        return Ok(installed);
    }
    let variable = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // Programs that root starts may continue as other users, who cannot read root's home.
    let shared = Some(PathBuf::from(SHARED)).filter(|_| geteuid().is_root());
    let home = variable("HOME").map(|home| home.join(".cache"));
    let bases = [
        variable("XDG_CACHE_HOME"),
        shared,
        home,
        variable("XDG_RUNTIME_DIR"),
    ];
    below(&bases.into_iter().flatten().collect::<Vec<_>>())
}

/// The library below the first of `bases` that can contain it.
fn below(bases: &[PathBuf]) -> Result<PathBuf, String> {
    let mut troubles = vec![];
    for base in bases {
        let folder = base.join("joulepath");
        match write(base, &folder) {
            Ok(file) => return Ok(file),
            Err(error) => troubles.push(format!("{}: {error}", folder.display())),
        }
    }
    if troubles.is_empty() {
        troubles.push("neither $HOME nor $XDG_RUNTIME_DIR is set".into());
    }
    Err(format!(
        "no folder for the preloaded library: {}; set $XDG_CACHE_HOME to a folder of yours whose files may \
         be executed",
        troubles.join("; ")
    ))
}

fn write(base: &Path, folder: &Path) -> io::Result<PathBuf> {
    let refused = |why: &str| Err(io::Error::new(ErrorKind::InvalidInput, why));
    let file = folder.join(NAME);
    if !base.is_absolute()
        || file
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| b" :\t\n".contains(byte))
    {
        return refused("LD_PRELOAD cannot contain this path");
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
    // Another user must not be able to replace a library that this user's programs load.
    if [base, folder].into_iter().any(|folder| !is_ours(folder)) {
        return refused("another user may write into it");
    }
    if statvfs(folder)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return refused("its file system is mounted noexec");
    }
    if is_current(&file) {
        return Ok(file);
    }
    // Renamed when it is complete: other processes may be loading the file.
    let draft = folder.join(format!("{NAME}.{}", std::process::id()));
    let written = (|| {
        let mut draft_file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&draft)?;
        draft_file.write_all(LIBRARY)?;
        fs::rename(&draft, &file)
    })();
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
    }
    written.map(|()| file)
}

fn is_ours(folder: &Path) -> bool {
    fs::metadata(folder)
        .is_ok_and(|found| found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

/// True if the file is this version's library.
fn is_current(file: &Path) -> bool {
    fs::read(file).is_ok_and(|found| found == LIBRARY)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_library_is_written_once_and_replaced_if_it_is_another() {
        let base = tempfile::tempdir().unwrap();
        let bases = [base.path().to_owned()];
        let file = below(&bases).unwrap();
        assert_eq!(file, base.path().join("joulepath/libjoulepath-mptcp.so"));
        let first = fs::metadata(&file).unwrap().ino();
        assert_eq!(below(&bases).unwrap(), file);
        assert_eq!(fs::metadata(&file).unwrap().ino(), first);
        fs::write(&file, "another version").unwrap();
        below(&bases).unwrap();
        assert_eq!(fs::read(&file).unwrap(), LIBRARY);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn folders_that_others_may_write_or_that_ld_preload_cannot_name_are_skipped() {
        let base = tempfile::tempdir().unwrap();
        let [open, spaced, good] = ["open", "a b", "good"].map(|name| base.path().join(name));
        [&open, &spaced, &good]
            .into_iter()
            .for_each(|folder| fs::create_dir(folder).unwrap());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let found = below(&[open.clone(), spaced.clone(), good.clone()]).unwrap();
        assert!(found.starts_with(&good), "{found:?}");
        let error = below(&[open, spaced]).unwrap_err();
        for part in ["another user may write", "LD_PRELOAD cannot contain"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
