//! Processes that hold a controller's registration open.

use std::fmt;
use std::fs;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pid: u32,
    name: String,
}

/// `process 7 (bpftool)`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// Other processes that have a `struct_ops` link open: the link with this id, or any. Processes
/// that this user may not inspect are left out.
pub(super) fn holders(link: Option<u32>) -> Vec<Holder> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fdinfo"))
            .into_iter()
            .flatten()
            .flatten();
        files
            .filter_map(|file| fs::read_to_string(file.path()).ok())
            .any(|text| is_link(&text, link))
    };
    let name = |pid| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let found = pids.filter(|pid| *pid != own).filter(holds);
    found
        .map(|pid| Holder {
            pid,
            name: name(pid),
        })
        .collect()
}

/// True if `text`, from `/proc/PID/fdinfo/FD`, describes the wanted `struct_ops` link.
fn is_link(text: &str, wanted: Option<u32>) -> bool {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let number = field("link_id").and_then(|number| number.parse::<u32>().ok());
    field("link_type") == Some("struct_ops") && wanted.is_none_or(|wanted| number == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_identified_by_its_type_and_id() {
        let text = "pos:\t0\nflags:\t02000000\nlink_type:\tstruct_ops\nlink_id:\t7\nmap_id:\t12\n";
        assert!(is_link(text, None) && is_link(text, Some(7)) && !is_link(text, Some(70)));
        assert!(!is_link(&text.replace("struct_ops", "iter"), Some(7)));
        assert!(!is_link("pos:\t0\n", None));
    }
}
