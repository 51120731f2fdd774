//! Whether a test runs, is ignored, or fails because of what is missing. Pure: facts and environment are
//! arguments.

use crate::needs::{Facts, Lack, Need, flat};

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

    /// Whether the machine had too much to do: a quiet clock is the only need that comes and goes.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.what == Reason::missing(Need::QuietClock, String::new()).what
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

/// Where what is missing is an error and not a reason to ignore a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strict {
    /// `JOULEPATH_REQUIRE_KERNEL=1`: everything that a test needs.
    Required,
    /// `CI`: what this machine could give. Rights, and what its kernel does not have, are no error.
    Ci,
}

impl Strict {
    /// From the values of `JOULEPATH_REQUIRE_KERNEL` and `CI`.
    pub fn of(required: Option<&str>, ci: Option<&str>) -> Option<Self> {
        let is_on = |value: Option<&str>| !matches!(value, None | Some("" | "0" | "false"));
        match (is_on(required), is_on(ci)) {
            (true, _) => Some(Strict::Required),
            (false, true) => Some(Strict::Ci),
            (false, false) => None,
        }
    }
}

impl std::fmt::Display for Strict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Strict::Required => "not run, and JOULEPATH_REQUIRE_KERNEL makes that an error",
            Strict::Ci => "not run, and that is an error where CI is set and the machine could give it",
        })
    }
}

/// What becomes of a test before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is missing.
    Run,
    /// Something is.
    Ignore(Reason),
    /// Something is, and it must not be. With how to get it, if this machine can.
    Fail(Reason, Option<String>),
}

/// What becomes of a test with these needs.
pub fn verdict(needs: &[Need], strict: Option<Strict>, facts: &impl Facts) -> Verdict {
    let lack = |need: Need| facts.lacks(need).map(|lack| (need, lack));
    let mut missing: Vec<(Need, Lack)> = flat(needs).into_iter().filter_map(lack).collect();
    // A user who lacks a right as well as a program hears of the program, which can be installed.
    let worst =
        missing.iter().position(|(_, lack)| lack.remedy.is_some()).filter(|_| strict == Some(Strict::Ci));
    if missing.is_empty() {
        return Verdict::Run;
    }
    let (need, Lack { detail, remedy }) = missing.swap_remove(worst.unwrap_or(0));
    let reason = Reason::missing(need, detail);
    match strict {
        Some(Strict::Required) => Verdict::Fail(reason, remedy),
        Some(Strict::Ci) if remedy.is_some() => Verdict::Fail(reason, remedy),
        _ => Verdict::Ignore(reason),
    }
}

/// So many tests of one run may be ignored because the machine was too busy, where `strict`: if more are, the
/// run has shown too little.
pub const TOO_BUSY: usize = 5;

/// Whether so many are too many; `allowed` replaces [`TOO_BUSY`].
#[must_use]
pub fn too_many(busy: usize, strict: Option<Strict>, allowed: Option<usize>) -> Option<String> {
    let allowed = allowed.unwrap_or(TOO_BUSY);
    (strict.is_some() && busy > allowed).then(|| {
        format!(
            "FAILED: the machine was too busy for {busy} tests, and {allowed} are allowed: run them again, \
             or allow more by {MAY_BE_BUSY}=N"
        )
    })
}

/// The environment variable that replaces [`TOO_BUSY`].
pub const MAY_BE_BUSY: &str = "JOULEPATH_TOO_BUSY";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{ENGINE, IPV6, LAB, QUIET_CLOCK, ROOT, tool};

    /// A machine that lacks some things for good, and others until somebody gives them.
    #[derive(Default)]
    struct Lacking {
        for_good: &'static [Need],
        until_given: &'static [Need],
    }

    impl Facts for Lacking {
        fn lacks(&self, need: Need) -> Option<Lack> {
            let detail = || "by this test".to_owned();
            if self.until_given.contains(&need) {
                return Some(Lack { detail: detail(), remedy: Some("give it".into()) });
            }
            self.for_good.contains(&need).then(|| Lack { detail: detail(), remedy: None })
        }
    }

    const IP: Need = tool("ip");

    #[test]
    fn the_environment_says_what_is_strict() {
        assert_eq!(Strict::of(None, Some("true")), Some(Strict::Ci));
        for off in [None, Some(""), Some("0"), Some("false")] {
            assert_eq!(Strict::of(off, off), None);
        }
        assert_eq!(Strict::of(Some("1"), Some("true")), Some(Strict::Required));
    }

    #[test]
    fn ci_forgives_only_what_the_machine_could_not_give() {
        let reason = |need| Reason::missing(need, "by this test".into());
        for need in [Need::Root, Need::Tun, Need::Mptcp, Need::Bpf, Need::Ipv6, IP] {
            let needs = &[ENGINE, IPV6, IP];
            let list: &'static [Need] = vec![need].leak();
            let never = Lacking { for_good: list, ..Lacking::default() };
            let not_yet = Lacking { until_given: list, ..Lacking::default() };
            assert_eq!(verdict(needs, Some(Strict::Ci), &never), Verdict::Ignore(reason(need)));
            let given = Some("give it".to_owned());
            assert_eq!(
                verdict(needs, Some(Strict::Ci), &not_yet),
                Verdict::Fail(reason(need), given.clone())
            );
            for lacking in [&never, &not_yet] {
                assert_eq!(verdict(needs, None, lacking), Verdict::Ignore(reason(need)));
                let required = verdict(needs, Some(Strict::Required), lacking);
                assert!(matches!(required, Verdict::Fail(..)), "{need:?}: {required:?}");
            }
        }
    }

    #[test]
    fn a_user_without_rights_hears_of_the_program_that_is_missing_too() {
        let facts = Lacking { for_good: &[Need::Root], until_given: &[IP] };
        let reason = |need| Reason::missing(need, "by this test".into());
        let in_ci = verdict(&[ROOT, IP], Some(Strict::Ci), &facts);
        assert_eq!(in_ci, Verdict::Fail(reason(IP), Some("give it".into())));
        assert_eq!(verdict(&[ROOT, IP], None, &facts), Verdict::Ignore(reason(Need::Root)));
    }

    #[test]
    fn the_first_need_that_is_not_met_is_named_with_what_was_seen() {
        let facts = Lacking { for_good: &[Need::Bpf, Need::Ipv6], ..Lacking::default() };
        let Verdict::Ignore(reason) = verdict(&[ENGINE, IPV6], None, &facts) else { panic!("it is missing") };
        assert_eq!(reason.to_string(), "needs a kernel that takes controllers as eBPF: by this test");
        assert_eq!(verdict(&[LAB, QUIET_CLOCK], Some(Strict::Required), &facts), Verdict::Run);
    }

    #[test]
    fn a_run_with_too_many_busy_moments_has_shown_too_little() {
        for strict in [Strict::Required, Strict::Ci].map(Some) {
            assert_eq!(too_many(TOO_BUSY, strict, None), None);
            let text = too_many(TOO_BUSY + 1, strict, None).expect("one too many");
            assert!(text.contains("for 6 tests, and 5 are allowed"), "{text}");
            assert_eq!(too_many(TOO_BUSY + 1, strict, Some(6)), None);
            assert!(too_many(1, strict, Some(0)).is_some());
        }
        assert_eq!(too_many(100, None, None), None);
    }
}
