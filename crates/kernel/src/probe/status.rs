//! The state of this process in `/proc/self/status`.

use super::system::System;
use crate::capability::Capabilities;

/// This process.
pub(super) struct Process {
    text: String,
}

impl Process {
    /// Reads the state; without `/proc`, a process without any permission.
    pub(super) fn of(system: &dyn System) -> Self {
        Process {
            text: system.read("/proc/self/status").unwrap_or_default(),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    }

    /// True if the effective user is root.
    pub(super) fn is_root(&self) -> bool {
        self.field("Uid")
            .and_then(|ids| ids.split_whitespace().nth(1))
            == Some("0")
    }

    /// The effective capabilities.
    pub(super) fn capabilities(&self) -> Capabilities {
        let effective = self
            .field("CapEff")
            .and_then(|mask| u64::from_str_radix(mask, 16).ok());
        Capabilities::from_mask(effective.unwrap_or(0))
    }

    /// Number of cores that it may run on.
    pub(super) fn cores(&self) -> Option<usize> {
        self.field("Cpus_allowed_list").and_then(count_cores)
    }

    /// A command that changes the machine, with `sudo` if this user needs it.
    pub(super) fn as_root(&self, command: &str) -> String {
        if self.is_root() {
            command.to_owned()
        } else {
            format!("sudo {command}")
        }
    }
}

/// Counts a list of cores: `0-3,8` are 5.
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
