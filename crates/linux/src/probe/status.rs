//! What the kernel says of this process: `/proc/self/status`.

use super::system::System;

/// The capabilities that are used, with their bits (linux/capability.h).
pub(super) const NEEDED: [Capability; 4] = [
    Capability { name: "NET_ADMIN", bit: 12 },
    Capability { name: "SYS_ADMIN", bit: 21 },
    Capability { name: "PERFMON", bit: 38 },
    Capability { name: "BPF", bit: 39 },
];

/// A right that root has in parts.
pub(super) struct Capability {
    pub(super) name: &'static str,
    bit: u32,
}

/// This process.
pub(super) struct Process {
    text: String,
}

impl Process {
    /// As the kernel sees it; without `/proc`, a process that may do nothing.
    pub(super) fn of(system: &dyn System) -> Self {
        Process { text: system.read("/proc/self/status").unwrap_or_default() }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    /// Whether the effective user is root.
    pub(super) fn is_root(&self) -> bool {
        self.field("Uid").and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
    }

    /// Those of [`NEEDED`] that are not in effect.
    pub(super) fn lacks(&self) -> Vec<&'static str> {
        let effective = self.field("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
        NEEDED
            .iter()
            .filter(|capability| effective >> capability.bit & 1 == 0)
            .map(|capability| capability.name)
            .collect()
    }

    /// How many cores it may run on.
    pub(super) fn cores(&self) -> Option<usize> {
        self.field("Cpus_allowed_list").and_then(count_cores)
    }

    /// A command that changes the machine, as this user has to write it.
    pub(super) fn as_root(&self, command: &str) -> String {
        if self.is_root() { command.to_owned() } else { format!("sudo {command}") }
    }
}

/// From `0-3,8`: 5.
fn count_cores(list: &str) -> Option<usize> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some(last.checked_sub(first)? + 1)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_in_ranges_and_alone() {
        assert_eq!(count_cores("0-3,8"), Some(5));
        assert_eq!(count_cores("0"), Some(1));
        assert_eq!(count_cores("3-1"), None);
        assert_eq!(count_cores(""), None);
    }
}
