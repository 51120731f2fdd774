//! Services whose processes started before our files were written. systemd makes a control group
//! for each service, and the kernel tells when a process started.

use std::fs;
use std::path::Path;

use joulepath_model::live::fits;

/// Most levels of control groups above a service: slices.
const MOST_LEVELS: usize = 8;
const CGROUPS: &str = "sys/fs/cgroup";
const SERVICE: &str = ".service";
/// Unit of times in /proc: `USER_HZ` is 100 (include/uapi/asm-generic/param.h).
const TICK_NS: u64 = 10_000_000;

/// Names of the running services that match `pattern` and are older than `since_boot_ns`.
pub(super) fn older(root: &Path, pattern: &str, since_boot_ns: u64) -> Vec<String> {
    let mut found = vec![];
    search(&root.join(CGROUPS), MOST_LEVELS, &mut |name, group| {
        let begun = || begun_ns(root, group).is_some_and(|begun| begun < since_boot_ns);
        if fits(pattern, name) && begun() {
            found.push(name.to_owned());
        }
    });
    found.sort();
    found
}

/// Calls `each` for the control group of each service.
fn search(folder: &Path, levels: usize, each: &mut dyn FnMut(&str, &Path)) {
    for (name, path) in folders(folder) {
        if name.ends_with(SERVICE) {
            each(&name, &path);
        } else if name.ends_with(".slice") && levels > 0 {
            search(&path, levels - 1, each);
        }
    }
}

/// When the oldest process of a control group started, ns since the boot.
fn begun_ns(root: &Path, group: &Path) -> Option<u64> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let own = text.lines().filter_map(|pid| process_ns(root, pid));
    // A service to which systemd delegates its group has its processes in groups below.
    let below = folders(group)
        .into_iter()
        .filter_map(|(_, path)| begun_ns(root, &path));
    own.chain(below).min()
}

/// Field 22 of proc_pid_stat(5). The program's name, in parentheses, may contain spaces.
fn process_ns(root: &Path, pid: &str) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc").join(pid).join("stat")).ok()?;
    let ticks: u64 = text
        .rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(19)?
        .parse()
        .ok()?;
    Some(ticks.saturating_mul(TICK_NS))
}

fn folders(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_with_older_processes_are_found_in_all_slices() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, pids: &str| {
            let folder = root.path().join(CGROUPS).join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cgroup.procs"), pids).unwrap();
        };
        group("system.slice/old.service", "7\n9\n");
        group("system.slice/new.service", "8\n");
        group("system.slice/system-tty.slice/tty@1.service", "7\n");
        group("user.slice/user-1.slice/user@1.service", "");
        group("user.slice/user-1.slice/user@1.service/init.scope", "7\n");
        group("system.slice/none.service", "");
        // Started 1 s and 3 s after the boot.
        for (pid, ticks) in [("7", 100), ("8", 300), ("9", 300)] {
            let folder = root.path().join("proc").join(pid);
            fs::create_dir_all(&folder).unwrap();
            let zeros = "0 ".repeat(18);
            fs::write(
                folder.join("stat"),
                format!("{pid} (a) b) S {zeros}{ticks} 0\n"),
            )
            .unwrap();
        }
        let found = |pattern, s: u64| older(root.path(), pattern, s * 1_000_000_000);
        assert_eq!(
            found("*.service", 2),
            ["old.service", "tty@1.service", "user@1.service"]
        );
        assert_eq!(found("tty@*.service", 2), ["tty@1.service"]);
        assert_eq!(found("new.service", 3), Vec::<String>::new());
        assert_eq!(found("new.service", 4), ["new.service"]);
    }
}
