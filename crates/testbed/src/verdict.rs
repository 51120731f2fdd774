//! Whether a test runs, is ignored, or fails because of what is missing. Pure: facts and environment are
//! arguments.

use crate::needs::{Facts, Need, flat};

/// Why a test is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The same for all tests that are ignored for it: the closing lines count by it.
    pub what: String,
    /// What was seen here; empty if there is nothing to say.
    pub detail: String,
}

impl Reason {
    /// A need that is not met.
    #[must_use]
    pub fn missing(need: Need, detail: String) -> Self {
        Reason { what: format!("needs {}", need.name()), detail }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_str() {
            "" => f.write_str(&self.what),
            detail => write!(f, "{}: {detail}", self.what),
        }
    }
}

/// Why what is missing is an error here and not a reason to ignore a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strict {
    /// `JOULEPATH_REQUIRE_KERNEL=1`.
    Required,
    /// `CI` is set, and the machine has what the tests of a kernel need: it shall run all of them.
    CapableUnderCi,
}

/// A machine that has these runs the tests of its kernel.
const CAPABLE: [Need; 4] = [Need::Root, Need::Tun, Need::Mptcp, Need::Bpf];

impl Strict {
    /// From the values of `JOULEPATH_REQUIRE_KERNEL` and `CI`.
    pub fn of(required: Option<&str>, ci: Option<&str>, facts: &impl Facts) -> Option<Self> {
        let is_on = |value: Option<&str>| !matches!(value, None | Some("" | "0" | "false"));
        if is_on(required) {
            return Some(Strict::Required);
        }
        let is_capable = || CAPABLE.iter().all(|need| facts.lacks(*need).is_none());
        (is_on(ci) && is_capable()).then_some(Strict::CapableUnderCi)
    }
}

impl std::fmt::Display for Strict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Strict::Required => "not run, and JOULEPATH_REQUIRE_KERNEL makes that an error",
            Strict::CapableUnderCi => {
                "not run, and that is an error where CI is set and root, TUN, MPTCP and BTF are there"
            }
        })
    }
}

/// The first need that is not met.
pub fn missing(needs: &[Need], facts: &impl Facts) -> Option<Reason> {
    flat(needs).into_iter().find_map(|need| facts.lacks(need).map(|detail| Reason::missing(need, detail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{ENGINE, IPV6, LAB, QUIET_CLOCK};

    /// A machine that lacks these.
    struct Lacking(&'static [Need]);

    impl Facts for Lacking {
        fn lacks(&self, need: Need) -> Option<String> {
            self.0.contains(&need).then(|| "by this test".into())
        }
    }

    #[test]
    fn ci_forgives_what_is_missing_only_where_the_machine_could_not_run_the_tests_anyway() {
        let able = Lacking(&[Need::Ipv6]);
        assert_eq!(Strict::of(None, Some("true"), &able), Some(Strict::CapableUnderCi));
        assert_eq!(Strict::of(None, None, &able), None);
        assert_eq!(Strict::of(None, Some("false"), &able), None);
        for need in CAPABLE {
            let facts = Lacking(match need {
                Need::Root => &[Need::Root],
                Need::Tun => &[Need::Tun],
                Need::Mptcp => &[Need::Mptcp],
                _ => &[Need::Bpf],
            });
            assert_eq!(Strict::of(None, Some("true"), &facts), None, "{need:?}");
            assert_eq!(Strict::of(Some("1"), None, &facts), Some(Strict::Required));
        }
    }

    #[test]
    fn the_first_need_that_is_not_met_is_named_with_what_was_seen() {
        let reason = missing(&[ENGINE, IPV6], &Lacking(&[Need::Bpf, Need::Ipv6])).unwrap();
        assert_eq!(reason.to_string(), "needs a kernel that takes controllers as eBPF: by this test");
        assert_eq!(missing(&[LAB, QUIET_CLOCK], &Lacking(&[Need::Bpf])), None);
    }
}
