//! Gives a program in a lab its own mount namespace, in which /sys and /proc show the lab's devices
//! and processes.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use joulepath_kernel::namespace::Namespace;

const SYS: &str = "/sys";

/// The mounts below /sys (BPF file system, control groups, tracing), to be repeated in a new /sys.
#[derive(Debug)]
pub(super) struct Mounts {
    below_sys: Vec<(OwnedFd, CString)>,
}

impl Mounts {
    /// Prepares everything for [`Self::enter`], which may not allocate.
    ///
    /// # Errors
    /// Without `/proc`.
    pub(super) fn prepare() -> io::Result<Self> {
        let table = fs::read_to_string("/proc/self/mountinfo")?;
        let copy = |target: CString| Some((copy_of(&target)?, target));
        Ok(Mounts {
            below_sys: topmost_below_sys(&table)
                .into_iter()
                .filter_map(copy)
                .collect(),
        })
    }

    /// Moves the calling process to a new mount namespace, with new /sys and /proc if permitted.
    /// Returns true if /sys is new. Makes only system calls.
    pub(super) fn enter(&self) -> bool {
        // SAFETY: file descriptors stay shared; only this thread stops sharing file system
        // attributes.
        let own = unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok();
        let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        // Otherwise the new mounts would appear in the other mount namespaces.
        if !own || mount_change(c"/", downstream).is_err() {
            return false;
        }
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let sys = mount(c"sysfs", c"/sys", c"sysfs", flags, None::<&CStr>).is_ok();
        if sys {
            for (copy, target) in &self.below_sys {
                // A mount that fails matters little: the lab is for networks.
                let _ = move_mount(
                    copy,
                    c"",
                    CWD,
                    target,
                    MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
                );
            }
        }
        // If this fails, /proc still shows the caller's processes.
        let _ = mount(c"proc", c"/proc", c"proc", flags, None::<&CStr>);
        sys
    }
}

/// True if programs in this network namespace can have a /sys that shows its devices.
pub(crate) fn permitted(network: &Namespace) -> bool {
    let attempt =
        || Mounts::prepare().is_ok_and(|mounts| network.enter().is_ok() && mounts.enter());
    // The thread's namespaces end with it.
    thread::scope(|scope| scope.spawn(attempt).join().unwrap_or(false))
}

/// A detached copy of a mount with everything mounted below it.
fn copy_of(target: &CStr) -> Option<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, target, flags).ok()
}

/// Mount points below /sys that are not below another one, from `/proc/self/mountinfo`
/// (proc_pid_mountinfo(5)).
fn topmost_below_sys(table: &str) -> Vec<CString> {
    let mut points: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .collect();
    points.retain(|point| is_below(point, SYS));
    points.sort_unstable();
    points.dedup();
    let all = points.clone();
    points.retain(|point| !all.iter().any(|other| is_below(point, other)));
    points
        .into_iter()
        .filter_map(|point| CString::new(point).ok())
        .collect()
}

fn is_below(point: &str, other: &str) -> bool {
    point
        .strip_prefix(other)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounts_directly_below_sys_are_found_once() {
        let table = "\
            22 1 0:21 / /sys rw shared:7 - sysfs sysfs rw\n\
            23 22 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            24 23 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
            25 22 0:24 / /sys/fs/bpf rw - bpf bpf rw\n\
            26 22 0:24 / /sys/fs/bpf rw - bpf bpf rw\n\
            27 1 0:25 / /system rw - tmpfs tmpfs rw\n";
        let names: Vec<CString> = topmost_below_sys(table);
        assert_eq!(
            names,
            [c"/sys/fs/bpf".to_owned(), c"/sys/fs/cgroup".to_owned()]
        );
    }
}
