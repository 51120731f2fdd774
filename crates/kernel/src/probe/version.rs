//! Versions of kernels and programs, for comparison.

use std::fmt;
use std::fs;

/// Major and minor version; the rest is the distribution's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// The running kernel's; `None` if its release is not a version.
    pub fn running() -> Option<Self> {
        Version::parse(&fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
    }

    /// Parses `6.12.107+deb13-cloud-amd64`, `6.18-rc1`, `1.42.4`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(minor.len());
        Some(Version(major, minor[..digits].parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_distributions_are_parsed() {
        assert_eq!(
            Version::parse("6.12.107+deb13-cloud-amd64"),
            Some(Version(6, 12))
        );
        assert_eq!(Version::parse("6.18-rc1"), Some(Version(6, 18)));
        assert_eq!(Version::parse("5.15.0-1061-azure"), Some(Version(5, 15)));
        assert_eq!(Version::parse("next"), None);
        assert_eq!(Version::parse("6.x"), None);
    }

    #[test]
    fn six_twelve_is_newer_than_six_two() {
        assert!(Version(6, 12) > Version(6, 2) && Version(7, 0) > Version(6, 18));
    }
}
