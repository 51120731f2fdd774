//! The owner of a socket: control group and programs.
//!
//! | property | source |
//! |---|---|
//! | owner | the listing of sockets |
//! | control group | its id in the listing; its path from a cached walk over the hierarchy |
//! | programs | `/proc/PID/fd` of the group's processes, or of all: one link per open file |
//!
//! Files of other users' processes are visible only with `CAP_SYS_PTRACE` and
//! `CAP_DAC_READ_SEARCH`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use joulepath_kernel::group::hierarchy;

/// A program that has a socket open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Program {
    /// Its executable; `None` if the kernel hides it.
    pub(super) path: Option<String>,
    /// `comm`: at most 15 characters.
    pub(super) name: String,
}

/// Reads processes and control groups.
#[derive(Clone, Debug)]
pub(super) struct Processes {
    proc: PathBuf,
    /// Mount point of cgroup v2.
    groups: Option<PathBuf>,
    /// Paths of control groups, by id.
    known: BTreeMap<u64, String>,
    /// True if some processes could not be read.
    pub(super) hidden: bool,
}

impl Default for Processes {
    fn default() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        Processes::below(PathBuf::from("/proc"), hierarchy(&mounts))
    }
}

impl Processes {
    pub(super) fn below(proc: PathBuf, groups: Option<PathBuf>) -> Self {
        Processes {
            proc,
            groups,
            known: BTreeMap::new(),
            hidden: false,
        }
    }

    /// Path of the control group with this id: `/system.slice/ssh.service`.
    pub(super) fn group(&mut self, number: u64) -> Option<String> {
        if !self.known.contains_key(&number) {
            let root = self.groups.clone()?;
            // Ids of removed groups are not reused, but paths are.
            self.known.clear();
            self.walk(&root, &root);
        }
        self.known.get(&number).cloned()
    }

    fn walk(&mut self, root: &Path, folder: &Path) {
        let Ok(found) = fs::metadata(folder) else {
            return;
        };
        let path = folder.strip_prefix(root).unwrap_or(folder);
        self.known
            .insert(found.ino(), format!("/{}", path.display()));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.walk(root, &entry.path());
            }
        }
    }

    /// The programs that have each socket open, by inode. `group`: search only there.
    pub(super) fn programs(
        &mut self,
        sockets: &BTreeSet<u32>,
        group: Option<&str>,
    ) -> BTreeMap<u32, BTreeSet<Program>> {
        let links: BTreeMap<String, u32> = sockets
            .iter()
            .map(|&inode| (format!("socket:[{inode}]"), inode))
            .collect();
        let mut found: BTreeMap<u32, BTreeSet<Program>> = BTreeMap::new();
        for process in self.processes(group) {
            let files = match fs::read_dir(process.join("fd")) {
                Ok(files) => files,
                Err(error) => {
                    self.hidden |= error.kind() == ErrorKind::PermissionDenied;
                    continue;
                }
            };
            for file in files.flatten() {
                let link = fs::read_link(file.path()).ok();
                let inode = link.and_then(|link| links.get(link.to_str()?).copied());
                if let Some(inode) = inode {
                    found.entry(inode).or_default().insert(program(&process));
                }
            }
        }
        found
    }

    /// Process folders of a group, or of all processes.
    fn processes(&self, group: Option<&str>) -> Vec<PathBuf> {
        let of_group = group.and_then(|group| {
            let list = self
                .groups
                .as_ref()?
                .join(group.trim_start_matches('/'))
                .join("cgroup.procs");
            fs::read_to_string(list).ok()
        });
        if let Some(list) = of_group {
            return list.lines().map(|number| self.proc.join(number)).collect();
        }
        let is_process =
            |name: &std::ffi::OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        entries
            .filter(|entry| is_process(&entry.file_name()))
            .map(|entry| entry.path())
            .collect()
    }
}

fn program(process: &Path) -> Program {
    let path = fs::read_link(process.join("exe")).ok();
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    Program {
        path: path.map(|path| path.display().to_string()),
        name: name.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn programs_are_found_by_socket_and_groups_by_id() {
        let folder = tempfile::tempdir().unwrap();
        let (proc, groups) = (folder.path().join("proc"), folder.path().join("groups"));
        let unit = groups.join("system.slice/film.service");
        fs::create_dir_all(&unit).unwrap();
        fs::write(unit.join("cgroup.procs"), "7\n").unwrap();
        for (process, name, inode) in [("7", "ffmpeg", 700), ("8", "curl", 800), ("self", "x", 900)]
        {
            fs::create_dir_all(proc.join(process).join("fd")).unwrap();
            fs::write(proc.join(process).join("comm"), format!("{name}\n")).unwrap();
            symlink(format!("/usr/bin/{name}"), proc.join(process).join("exe")).unwrap();
            symlink(format!("socket:[{inode}]"), proc.join(process).join("fd/3")).unwrap();
        }
        let number = fs::metadata(&unit).unwrap().ino();
        let mut processes = Processes::below(proc, Some(groups));
        assert_eq!(
            processes.group(number).as_deref(),
            Some("/system.slice/film.service")
        );
        assert_eq!(processes.group(number.wrapping_add(1 << 40)), None);
        let ask = |processes: &mut Processes, group| {
            let found = processes.programs(&[700, 800, 900].into(), group);
            found
                .into_iter()
                .map(|(inode, all)| (inode, all.first().unwrap().clone()))
                .collect::<Vec<_>>()
        };
        let of = |name: &str| Program {
            path: Some(format!("/usr/bin/{name}")),
            name: name.into(),
        };
        assert_eq!(
            ask(&mut processes, None),
            [(700, of("ffmpeg")), (800, of("curl"))]
        );
        assert_eq!(
            ask(&mut processes, Some("/system.slice/film.service")),
            [(700, of("ffmpeg"))]
        );
        assert!(!processes.hidden);
    }
}
