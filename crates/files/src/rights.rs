//! Which rights a process should use that runs as root for a user.

use std::io;

/// The user who runs a program as root: through `sudo`, `doas`, `pkexec`, or a set-user-ID bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoker {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// Result of [`Invoker::give_up_root`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The process had only its user's rights.
    Nothing,
    /// Root's rights are gone; the process runs as the user with this id.
    Became(u32),
}

impl Invoker {
    /// The user's id.
    pub fn uid(&self) -> u32 {
        self.uid
    }
}

/// Runs `work` with the rights of the invoking user, or with the process's own if there is no such
/// user.
///
/// # Errors
/// If the invoking user is unknown, or the rights cannot be changed; then `work` did not run.
pub fn as_invoker<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    match Invoker::of_process()? {
        Some(user) => user.act(work),
        None => Ok(work()),
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{GiveUp, Invoker, io};

    impl Invoker {
        /// Always `None` on this system.
        ///
        /// # Errors
        /// None on this system.
        pub fn of_process() -> io::Result<Option<Self>> {
            Ok(None)
        }

        /// Runs `work` with the user's rights.
        ///
        /// # Errors
        /// Always: this system has no per-thread rights.
        pub fn act<T: Send>(&self, _work: impl FnOnce() -> T + Send) -> io::Result<T> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Gives up root's rights permanently.
        ///
        /// # Errors
        /// None on this system.
        pub fn give_up_root() -> io::Result<GiveUp> {
            Ok(GiveUp::Nothing)
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::{CStr, CString};
    use std::{env, mem, ptr, thread};

    use rustix::process::{Gid, Uid, getegid, geteuid, getgid, getgroups, getuid};
    use rustix::thread::{
        set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    };

    use super::{GiveUp, Invoker, io};

    /// The user id of `nobody`: used if root runs the program for itself.
    const NOBODY: u32 = 65_534;
    /// Buffer for an entry of the password database, bytes.
    const ENTRY_BYTES: usize = 64 << 10;
    /// Groups of a user requested at first.
    const GROUPS: usize = 64;

    impl Invoker {
        /// The user for whom this process runs as root; `None` if it does not.
        ///
        /// # Errors
        /// If an environment variable is malformed or names no user.
        pub fn of_process() -> io::Result<Option<Self>> {
            if !geteuid().is_root() {
                return Ok(None);
            }
            if !getuid().is_root() {
                let groups = getgroups()?.into_iter().map(Gid::as_raw).collect();
                return Ok(Some(Invoker {
                    uid: getuid().as_raw(),
                    gid: getgid().as_raw(),
                    groups,
                }));
            }
            Self::named_by(&|name| env::var(name).ok())
        }

        /// The user named by `sudo`, `doas` or `pkexec` in the environment; `None` for root.
        pub(crate) fn named_by(
            variable: &dyn Fn(&str) -> Option<String>,
        ) -> io::Result<Option<Self>> {
            let number = |name: &str| {
                let wrong = |text: String| {
                    io::Error::other(format!("{name} is `{text}`, which is no user"))
                };
                variable(name)
                    .map(|text| text.parse::<u32>().map_err(|_| wrong(text)))
                    .transpose()
            };
            let account = match (
                number("SUDO_UID")?,
                number("PKEXEC_UID")?,
                variable("DOAS_USER"),
            ) {
                (Some(uid), ..) | (None, Some(uid), _) => Account::of_number(uid)?,
                (None, None, Some(name)) => Account::of_name(&name)?,
                (None, None, None) => return Ok(None),
            };
            let gid = number("SUDO_GID")?.unwrap_or(account.gid);
            let groups = account.groups(gid)?;
            Ok((account.uid != 0).then_some(Invoker {
                uid: account.uid,
                gid,
                groups,
            }))
        }

        /// Runs `work` with the user's rights in its own thread: files that it opens and programs
        /// that it starts have no other rights.
        ///
        /// # Errors
        /// If the rights cannot be changed; then `work` did not run.
        pub fn act<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
            let acting = || {
                self.take_on()?;
                Ok(work())
            };
            thread::scope(|scope| match scope.spawn(acting).join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        }

        /// Gives the calling thread the user's rights. The kernel then drops its capabilities.
        fn take_on(&self) -> io::Result<()> {
            let groups: Vec<Gid> = self
                .groups
                .iter()
                .map(|&group| Gid::from_raw(group))
                .collect();
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            set_thread_groups(&groups)?;
            set_thread_res_gid(gid, gid, gid)?;
            Ok(set_thread_res_uid(uid, uid, uid)?)
        }

        /// Gives up root's rights permanently in all threads, in favour of the invoking user, or
        /// `nobody` if that is root. Programs started later cannot regain them through a
        /// set-user-ID bit.
        ///
        /// # Errors
        /// If the system refuses; the process must then not continue.
        pub fn give_up_root() -> io::Result<GiveUp> {
            if !geteuid().is_root() && !getuid().is_root() {
                return Ok(GiveUp::Nothing);
            }
            let nobody = || Invoker {
                uid: NOBODY,
                gid: NOBODY,
                groups: vec![],
            };
            let user = Self::of_process()?.unwrap_or_else(nobody);
            set_no_new_privs(true)?;
            let done = |result: libc::c_int| {
                if result == 0 {
                    Ok(())
                } else {
                    Err(io::Error::last_os_error())
                }
            };
            // SAFETY: plain system calls on numbers and on a list of the given length. The C
            // library applies them to all threads.
            unsafe {
                done(libc::setgroups(user.groups.len(), user.groups.as_ptr()))?;
                done(libc::setresgid(user.gid, user.gid, user.gid))?;
                done(libc::setresuid(user.uid, user.uid, user.uid))?;
            }
            let is_gone =
                !getuid().is_root() && !geteuid().is_root() && getegid().as_raw() == user.gid;
            if is_gone {
                Ok(GiveUp::Became(user.uid))
            } else {
                Err(io::Error::other("root's rights remain"))
            }
        }
    }

    /// An entry of the password database.
    struct Account {
        /// `None` if the database lacks the user.
        name: Option<CString>,
        uid: u32,
        gid: u32,
    }

    impl Account {
        fn of_number(uid: u32) -> io::Result<Self> {
            // SAFETY: the buffer and the two structs are valid for the given length.
            let found = Self::ask(|entry, buffer, found| unsafe {
                libc::getpwuid_r(uid, entry, buffer.as_mut_ptr().cast(), buffer.len(), found)
            })?;
            Ok(found.unwrap_or(Account {
                name: None,
                uid,
                gid: NOBODY,
            }))
        }

        fn of_name(name: &str) -> io::Result<Self> {
            let c_name = CString::new(name)?;
            // SAFETY: as above, and the name ends with a zero.
            let found = Self::ask(|entry, buffer, found| unsafe {
                libc::getpwnam_r(
                    c_name.as_ptr(),
                    entry,
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    found,
                )
            })?;
            found.ok_or_else(|| io::Error::other(format!("there is no user `{name}`")))
        }

        fn ask(
            ask: impl FnOnce(&mut libc::passwd, &mut [u8], &mut *mut libc::passwd) -> libc::c_int,
        ) -> io::Result<Option<Self>> {
            // SAFETY: a struct of numbers and pointers, for which zero is valid.
            let mut entry: libc::passwd = unsafe { mem::zeroed() };
            let (mut buffer, mut found) = (vec![0; ENTRY_BYTES], ptr::null_mut());
            let error = ask(&mut entry, &mut buffer, &mut found);
            match (error, found.is_null()) {
                // Systems differ in the answer for a missing user.
                (0 | libc::ENOENT | libc::ESRCH, true) => Ok(None),
                (0, false) => {
                    // SAFETY: the name lies in `buffer` and ends with a zero.
                    let name = unsafe { CStr::from_ptr(entry.pw_name) }.to_owned();
                    Ok(Some(Account {
                        name: Some(name),
                        uid: entry.pw_uid,
                        gid: entry.pw_gid,
                    }))
                }
                (error, _) => Err(io::Error::from_raw_os_error(error)),
            }
        }

        /// All groups of the user, including `gid`.
        fn groups(&self, gid: u32) -> io::Result<Vec<u32>> {
            let Some(name) = &self.name else {
                return Ok(vec![gid]);
            };
            let mut groups = vec![0; GROUPS];
            loop {
                let mut count = libc::c_int::try_from(groups.len()).map_err(io::Error::other)?;
                // SAFETY: the list has the given length, and the name ends with a zero.
                let found = unsafe {
                    libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &mut count)
                };
                let count = usize::try_from(count).map_err(io::Error::other)?;
                if found >= 0 {
                    groups.truncate(count);
                    return Ok(groups);
                }
                // Some systems do not report the count.
                groups.resize(count.max(2 * groups.len()), 0);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::process::Command;
    use std::{env, fs};

    use super::*;

    /// The user named by these variables.
    fn named(variables: &[(&str, &str)]) -> io::Result<Option<Invoker>> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Invoker::named_by(&|name| find(name).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn the_invoking_user_comes_from_sudo_doas_or_pkexec() {
        let number = |variables| named(variables).unwrap().map(|user| user.uid());
        assert_eq!(number(&[]), None);
        assert_eq!(
            number(&[("SUDO_UID", "4321"), ("SUDO_GID", "1234")]),
            Some(4321)
        );
        assert_eq!(number(&[("PKEXEC_UID", "4321")]), Some(4321));
        assert_eq!(number(&[("DOAS_USER", "nobody")]), Some(65_534));
        // Root under sudo remains root.
        assert_eq!(number(&[("SUDO_UID", "0"), ("SUDO_GID", "0")]), None);
        assert_eq!(number(&[("DOAS_USER", "root")]), None);
        let groups = named(&[("SUDO_UID", "4321"), ("SUDO_GID", "1234")])
            .unwrap()
            .unwrap();
        assert_eq!((groups.gid, groups.groups), (1234, vec![1234]));
    }

    #[test]
    fn a_variable_that_names_no_user_is_an_error() {
        for wrong in ["", "-1", "root", "99999999999"] {
            assert!(named(&[("SUDO_UID", wrong)]).is_err(), "{wrong}");
        }
        assert!(named(&[("DOAS_USER", "no such user")]).is_err());
    }

    #[test]
    fn work_for_the_user_has_the_users_rights_only() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "x").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let user = named(&[("SUDO_UID", "65534"), ("SUDO_GID", "65534")])
            .unwrap()
            .unwrap();
        let said = user
            .act(|| fs::read(&secret).map_err(|error| error.kind()))
            .unwrap();
        assert_eq!(said, Err(ErrorKind::PermissionDenied));
        user.act(|| fs::write(folder.path().join("made"), "x"))
            .unwrap()
            .unwrap();
        assert_eq!(
            fs::metadata(folder.path().join("made")).unwrap().uid(),
            65_534
        );
        let started = user
            .act(|| Command::new("id").arg("-u").output())
            .unwrap()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&started.stdout).trim(), "65534");
        assert_eq!(fs::read(&secret).unwrap(), b"x");
    }

    /// Set in the child process started by the test below.
    const ROLE: &str = "JOULEPATH_FILES_GIVES_UP";

    #[test]
    fn giving_up_root_affects_all_threads() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        if env::var_os(ROLE).is_some() {
            let (ask, asked) = std::sync::mpsc::channel::<()>();
            let other = std::thread::spawn(move || {
                asked.recv().unwrap();
                fs::read("/etc/shadow").map_err(|error| error.kind())
            });
            assert_eq!(Invoker::give_up_root().unwrap(), GiveUp::Became(65_534));
            ask.send(()).unwrap();
            assert_eq!(other.join().unwrap(), Err(ErrorKind::PermissionDenied));
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            assert!(
                status.contains("NoNewPrivs:\t1") && status.contains("CapEff:\t0000000000000000"),
                "{status}"
            );
            return;
        }
        let name = "giving_up_root_affects_all_threads";
        for variables in [vec![], vec![("SUDO_UID", "65534"), ("SUDO_GID", "65534")]] {
            let mut child = Command::new(env::current_exe().unwrap());
            child
                .args([&format!("rights::tests::{name}"), "--exact", "--nocapture"])
                .env(ROLE, "1");
            let output = child
                .env_remove("SUDO_UID")
                .envs(variables)
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        }
    }
}
