//! Kernels whose user-space path manager counts extra subflows wrongly.
//!
//! When a subflow cannot be opened at all, they subtract it from a count to which they have not
//! added it: 0 becomes 255. The count is in `MPTCP_INFO` (`mptcpi_extra_subflows`) and in `ss -M`.

use super::version::Version;

/// The first repaired version of each maintained series. Later series are repaired.
const REPAIRED: [(Version, u32); 5] = [
    (Version(6, 6), 144),
    (Version(6, 12), 94),
    (Version(6, 18), 36),
    (Version(7, 0), 13),
    (Version(7, 1), 0),
];

/// True if a kernel of this release has the fault, unless its distribution has repaired it. False
/// for unknown releases.
pub fn miscounts(release: &str) -> bool {
    let Some(series) = Version::parse(release) else {
        return false;
    };
    let patch = release.split('.').nth(2).map(|rest| {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..digits].parse().unwrap_or(0)
    });
    let newest = REPAIRED[REPAIRED.len() - 1].0;
    match REPAIRED.iter().find(|(repaired, _)| *repaired == series) {
        Some((_, from)) => patch.unwrap_or(0) < *from,
        None => series < newest,
    }
}

/// True if a count of extra subflows has fallen below zero: it is far above the number of listed
/// ones.
pub fn is_miscounted(extra_subflows: u8, listed: usize) -> bool {
    extra_subflows > u8::MAX / 2 && usize::from(extra_subflows) > listed
}

/// The repaired versions: `7.1, 7.0.13, 6.18.36, 6.12.94 and 6.6.144`.
pub fn repaired() -> String {
    let word = |(series, patch): &(Version, u32)| match patch {
        0 => series.to_string(),
        patch => format!("{series}.{patch}"),
    };
    let words: Vec<String> = REPAIRED.iter().rev().map(word).collect();
    let (last, rest) = words.split_last().expect("the list is not empty");
    format!("{} and {last}", rest.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_repaired_from_its_own_version_on() {
        for release in [
            "6.6.143",
            "6.12.93+deb13-amd64",
            "6.18.35",
            "7.0.12",
            "6.5.13",
            "6.8.0-60-generic",
        ] {
            assert!(miscounts(release), "{release}");
        }
        for release in [
            "6.6.144",
            "6.12.107+deb13-cloud-amd64",
            "6.18.44",
            "7.0.13",
            "7.1",
            "7.2-rc1",
            "x",
        ] {
            assert!(!miscounts(release), "{release}");
        }
        assert_eq!(repaired(), "7.1, 7.0.13, 6.18.36, 6.12.94 and 6.6.144");
    }

    #[test]
    fn one_failed_attempt_on_a_connection_with_one_subflow_reads_255() {
        assert!(is_miscounted(255, 1) && is_miscounted(253, 0));
        assert!(!is_miscounted(0, 1) && !is_miscounted(7, 8) && !is_miscounted(64, 65));
        // Joins of the peer are not limited.
        assert!(!is_miscounted(200, 201));
    }
}
