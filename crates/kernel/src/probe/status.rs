//! What the kernel says of this process: `/proc/self/status`.

use super::system::System;
use crate::capability::Capabilities;

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

    /// The capabilities that are in effect.
    pub(super) fn capabilities(&self) -> Capabilities {
        let effective = self.field("CapEff").and_then(|mask| u64::from_str_radix(mask, 16).ok());
        Capabilities::from_mask(effective.unwrap_or(0))
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
