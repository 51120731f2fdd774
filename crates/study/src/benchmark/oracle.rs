//! The oracle: the best of a portfolio of policies, chosen in hindsight on each scenario.

use joulepath_model::policy::Policy;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::Scenario;
use joulepath_report::benchmark::{Best, Cell, Metric, Oracle, Yardstick};

/// Definition of the portfolio, for readers.
pub(super) const PORTFOLIO: &str = "every set of up to three paths (of four paths: each alone, each with the \
                                    first, all) under Reno, LIA and the controller joule; mptcp, emptcp, \
                                    es-mptcp, overflow, joule";

/// Policies of the portfolio besides the sets.
const POLICIES: [&str; 5] = ["mptcp", "emptcp", "es-mptcp", "overflow", "joule"];

/// Maximum number of paths of which every set takes part.
const MOST_PATHS: usize = 3;

/// Controllers of the sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Reno,
    Lia,
    Joule,
}

impl Control {
    /// The policy with this controller under `selector`.
    pub(super) fn under(self, selector: &str) -> String {
        let (bundle, cc) = match self {
            Control::Reno => ("uncoupled", ""),
            Control::Lia => ("mptcp", ""),
            Control::Joule => ("mptcp", "cc=joule,"),
        };
        format!("{bundle}[{cc}selector={selector}]")
    }
}

/// A member of the portfolio.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) policy: Policy,
    /// Bits of its paths and its controller, if the set is fixed.
    pub(super) set: Option<(u32, Control)>,
}

/// The portfolio on a scenario, without policies that equal another by definition.
pub(super) fn portfolio(scenario: &Scenario) -> Vec<Member> {
    let names: Vec<&str> = scenario
        .paths
        .iter()
        .map(|path| path.name.as_str())
        .collect();
    let all = (1u32 << names.len()) - 1;
    let counts = |set: u32| match names.len() <= MOST_PATHS {
        true => true,
        false => set.is_power_of_two() || set == all || (set & 1 == 1 && set.count_ones() == 2),
    };
    let mut members = vec![];
    for set in (1..=all).filter(|&set| counts(set)) {
        for control in [Control::Reno, Control::Lia, Control::Joule] {
            // On one path LIA is Reno (RFC 6356, section 3).
            if set.is_power_of_two() && control == Control::Lia {
                continue;
            }
            members.push(Member {
                policy: fixed(&names, set, control),
                set: Some((set, control)),
            });
        }
    }
    let of_name = |name: &str| Member {
        policy: written(name),
        set: None,
    };
    let known: Vec<Member> = POLICIES.into_iter().map(of_name).collect();
    // `mptcp` is every path under LIA.
    members.retain(|member| known.iter().all(|known| known.policy != member.policy));
    members.into_iter().chain(known).collect()
}

/// The policy with a fixed set of paths.
fn fixed(names: &[&str], set: u32, control: Control) -> Policy {
    let is_all = set == (1 << names.len()) - 1;
    let paths = chosen(names, set);
    written(&match control {
        Control::Reno if set.is_power_of_two() => format!("single:{paths}"),
        Control::Reno if is_all => "uncoupled".to_owned(),
        Control::Lia if is_all => "mptcp".to_owned(),
        control => control.under(&format!("only,paths={paths}")),
    })
}

/// The names of a set of paths, as `a+b`.
pub(super) fn chosen(names: &[&str], set: u32) -> String {
    let of_set = (0..names.len())
        .filter(|path| set >> path & 1 == 1)
        .map(|path| names[path]);
    of_set.collect::<Vec<_>>().join("+")
}

pub(super) fn written(text: &str) -> Policy {
    text.parse().expect("a path has a plain name")
}

/// A member with its runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) member: &'a Member,
    pub(super) runs: &'a [RunResult],
    /// Share of the limit.
    pub(super) value: f64,
}

/// The first of the members with the highest value.
pub(super) fn best<'k, 'a>(known: &'k [Known<'a>]) -> Option<&'k Known<'a>> {
    known
        .iter()
        .reduce(|a, b| if b.value > a.value { b } else { a })
}

/// The best policies on a scenario, each with its runs.
pub(super) struct Hindsight {
    members: usize,
    best: (String, Vec<RunResult>),
    searched: Option<(String, Vec<RunResult>)>,
}

impl Hindsight {
    /// `None` if no member ran. A search that found nothing better yields the portfolio's best.
    pub(super) fn of(known: &[Known<'_>], searched: Option<Found>) -> Option<Self> {
        let best = best(known)?;
        let of_portfolio = (best.member.policy.to_string(), best.runs.to_vec());
        let searched = searched.map(|found| match found.best {
            Some((value, policy, runs)) if value > best.value => (policy, runs),
            _ => of_portfolio.clone(),
        });
        Some(Hindsight {
            members: known.len(),
            best: of_portfolio,
            searched,
        })
    }

    /// Adds the metrics of a policy with these runs to its cell.
    pub(super) fn beside(&self, cell: Cell, runs: &[RunResult], with: &Yardstick) -> Cell {
        let cell = cell.beside(Metric::Oracle, runs, &self.best.1, with);
        match &self.searched {
            Some((_, best)) => cell.beside(Metric::Searched, runs, best, with),
            None => cell,
        }
    }

    /// For the JSON.
    pub(super) fn row(&self, with: &Yardstick) -> Option<Oracle> {
        let of = |(policy, runs): &(String, Vec<RunResult>)| Best::of(policy.clone(), runs, with);
        Some(Oracle {
            members: self.members,
            best: of(&self.best)?,
            searched: self.searched.as_ref().and_then(of),
        })
    }
}

/// Result of a search on one scenario.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Value, policy and runs of the best schedule that ran.
    pub(super) best: Option<(f64, String, Vec<RunResult>)>,
}

#[cfg(test)]
mod tests {
    use joulepath_control::policy::resolve;
    use joulepath_model::scenario::load;

    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let path = |name: &&str| {
            format!(
                "[[path]]\nname = \"{name}\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nenergy = \
                 \"wifi-huang2012\"\n"
            )
        };
        let text = format!(
            "title = \"t\"\nduration = \"60 s\"\n{}",
            paths.iter().map(path).collect::<Vec<_>>().concat()
        );
        let scenario = load(&text, &|_| Err(String::new())).unwrap();
        portfolio(&scenario)
            .iter()
            .map(|member| member.policy.to_string())
            .collect()
    }

    #[test]
    fn the_portfolio_has_every_set_of_two_paths() {
        let expected = [
            "single:a",
            "mptcp[cc=joule,selector=only,paths=a]",
            "single:b",
            "mptcp[cc=joule,selector=only,paths=b]",
            "uncoupled",
            "mptcp[cc=joule,selector=only,paths=a+b]",
            "mptcp",
            "emptcp",
            "es-mptcp",
            "overflow",
            "joule",
        ];
        assert_eq!(names(&["a", "b"]), expected);
    }

    #[test]
    fn of_four_paths_only_some_sets_take_part() {
        // Two controllers on one path, three on others; `mptcp` is one of them.
        assert_eq!(names(&["a", "b", "c"]).len(), 3 * 2 + 4 * 3 + 4);
        let four = names(&["a", "b", "c", "d"]);
        assert_eq!(four.len(), 4 * 2 + (3 + 1) * 3 + 4);
        assert!(four.contains(&"mptcp[selector=only,paths=a+d]".to_owned()));
        assert!(!four.iter().any(|policy| policy.contains("b+c]")));
    }

    #[test]
    fn every_member_is_a_policy() {
        for policy in names(&["a", "b", "c"]) {
            assert!(resolve(&written(&policy)).is_ok(), "{policy}");
        }
    }
}
