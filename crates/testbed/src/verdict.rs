//! Whether a test runs, is ignored, or fails for a missing need. Pure: facts and environment are
//! arguments.

use crate::needs::{Facts, Lack, Need, flat};

/// Why a test is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The same for all tests that are ignored for this reason: the closing lines count by it.
    pub what: String,
    /// What was observed here; may be empty.
    pub detail: String,
}

impl Reason {
    /// A need that is not met.
    #[must_use]
    pub fn missing(need: Need, detail: String) -> Self {
        Reason {
            what: format!("needs {}", need.name()),
            detail,
        }
    }

    /// Whether the machine was too busy: a quiet clock is the only need that comes and goes.
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

/// When a missing need is an error instead of a reason to ignore a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strict {
    /// `JOULEPATH_REQUIRE_KERNEL=1`: every missing need.
    Required,
    /// `CI`: needs that this machine could provide. Missing rights and kernel features are no
    /// error.
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
            Strict::Required => "not run, which JOULEPATH_REQUIRE_KERNEL makes an error",
            Strict::Ci => {
                "not run, which is an error with CI set, because this machine could provide it"
            }
        })
    }
}

/// Decision about a test before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is missing.
    Run,
    /// A need is missing.
    Ignore(Reason),
    /// A need is missing, which is an error. With how to provide it, if this machine can.
    Fail(Reason, Option<String>),
}

/// Decides about a test with these needs.
pub fn verdict(needs: &[Need], strict: Option<Strict>, facts: &impl Facts) -> Verdict {
    let lack = |need: Need| facts.lacks(need).map(|lack| (need, lack));
    let mut missing: Vec<(Need, Lack)> = flat(needs).into_iter().filter_map(lack).collect();
    // If a user lacks a right and a program, report the program, which can be installed.
    let worst = missing
        .iter()
        .position(|(_, lack)| lack.remedy.is_some())
        .filter(|_| strict == Some(Strict::Ci));
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

/// Number of tests that one run may ignore on a busy machine if `strict`. A run with more has
/// tested too little.
pub const TOO_BUSY: usize = 5;

/// An error message if too many tests were ignored; `allowed` replaces [`TOO_BUSY`].
#[must_use]
pub fn too_many(busy: usize, strict: Option<Strict>, allowed: Option<usize>) -> Option<String> {
    let allowed = allowed.unwrap_or(TOO_BUSY);
    (strict.is_some() && busy > allowed).then(|| {
        format!(
            "FAILED: the machine was too busy for {busy} tests; at most {allowed} are allowed: run them \
             again, or allow more with {MAY_BE_BUSY}=N"
        )
    })
}

/// The environment variable that replaces [`TOO_BUSY`].
pub const MAY_BE_BUSY: &str = "JOULEPATH_TOO_BUSY";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{ENGINE, IPV6, LAB, QUIET_CLOCK, ROOT, tool};

    /// A machine that lacks some things permanently, and others until they are provided.
    #[derive(Default)]
    struct Lacking {
        for_good: &'static [Need],
        until_given: &'static [Need],
    }

    impl Facts for Lacking {
        fn lacks(&self, need: Need) -> Option<Lack> {
            let detail = || "by this test".to_owned();
            if self.until_given.contains(&need) {
                return Some(Lack {
                    detail: detail(),
                    remedy: Some("give it".into()),
                });
            }
            self.for_good.contains(&need).then(|| Lack {
                detail: detail(),
                remedy: None,
            })
        }
    }

    const IP: Need = tool("ip");

    #[test]
    fn the_environment_selects_strictness() {
        assert_eq!(Strict::of(None, Some("true")), Some(Strict::Ci));
        for off in [None, Some(""), Some("0"), Some("false")] {
            assert_eq!(Strict::of(off, off), None);
        }
        assert_eq!(Strict::of(Some("1"), Some("true")), Some(Strict::Required));
    }

    #[test]
    fn ci_ignores_only_needs_that_the_machine_cannot_provide() {
        let reason = |need| Reason::missing(need, "by this test".into());
        for need in [
            Need::Root,
            Need::Tun,
            Need::Mptcp,
            Need::Bpf,
            Need::Ipv6,
            IP,
        ] {
            let needs = &[ENGINE, IPV6, IP];
            let list: &'static [Need] = vec![need].leak();
            let never = Lacking {
                for_good: list,
                ..Lacking::default()
            };
            let not_yet = Lacking {
                until_given: list,
                ..Lacking::default()
            };
            assert_eq!(
                verdict(needs, Some(Strict::Ci), &never),
                Verdict::Ignore(reason(need))
            );
            let given = Some("give it".to_owned());
            assert_eq!(
                verdict(needs, Some(Strict::Ci), &not_yet),
                Verdict::Fail(reason(need), given.clone())
            );
            for lacking in [&never, &not_yet] {
                assert_eq!(verdict(needs, None, lacking), Verdict::Ignore(reason(need)));
                let required = verdict(needs, Some(Strict::Required), lacking);
                assert!(
                    matches!(required, Verdict::Fail(..)),
                    "{need:?}: {required:?}"
                );
            }
        }
    }

    #[test]
    fn in_ci_a_missing_program_is_reported_before_missing_rights() {
        let facts = Lacking {
            for_good: &[Need::Root],
            until_given: &[IP],
        };
        let reason = |need| Reason::missing(need, "by this test".into());
        let in_ci = verdict(&[ROOT, IP], Some(Strict::Ci), &facts);
        assert_eq!(in_ci, Verdict::Fail(reason(IP), Some("give it".into())));
        assert_eq!(
            verdict(&[ROOT, IP], None, &facts),
            Verdict::Ignore(reason(Need::Root))
        );
    }

    #[test]
    fn the_reason_names_the_first_missing_need_and_the_observation() {
        let facts = Lacking {
            for_good: &[Need::Bpf, Need::Ipv6],
            ..Lacking::default()
        };
        let Verdict::Ignore(reason) = verdict(&[ENGINE, IPV6], None, &facts) else {
            panic!("it is missing")
        };
        assert_eq!(
            reason.to_string(),
            "needs a kernel that accepts eBPF controllers: by this test"
        );
        assert_eq!(
            verdict(&[LAB, QUIET_CLOCK], Some(Strict::Required), &facts),
            Verdict::Run
        );
    }

    #[test]
    fn too_many_tests_ignored_on_a_busy_machine_are_an_error() {
        for strict in [Strict::Required, Strict::Ci].map(Some) {
            assert_eq!(too_many(TOO_BUSY, strict, None), None);
            let text = too_many(TOO_BUSY + 1, strict, None).expect("one too many");
            assert!(
                text.contains("for 6 tests; at most 5 are allowed"),
                "{text}"
            );
            assert_eq!(too_many(TOO_BUSY + 1, strict, Some(6)), None);
            assert!(too_many(1, strict, Some(0)).is_some());
        }
        assert_eq!(too_many(100, None, None), None);
    }
}
