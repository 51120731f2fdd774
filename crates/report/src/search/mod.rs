//! Where the papers' claims hold in boxes of the parameters that the papers leave open.
//!
//! | module | contents |
//! |---|---|
//! | this one | the schema of the JSON |
//! | `sentence` | turns fractions of a box into a sentence |
//! | `table`, `markdown`, `machine` | for the terminal, for the papers' pages, as JSON |
//! | `picture` | a picture of the region |

mod machine;
mod markdown;
mod picture;
mod sentence;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Finding, Made};

pub use machine::search_json;
pub use markdown::{search_markdown, search_short_markdown, search_summary};
pub use picture::region_svg;
pub(crate) use picture::{LEGEND, region};
pub use sentence::sentence;
pub(crate) use table::counts;
pub use table::search_table;

/// Results of a search: `results/claims.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// One claim for each row of the papers.
    pub claims: Vec<Claim>,
    /// The searched boxes.
    pub boxes: Vec<SearchedBox>,
    /// Best fits to all printed numbers of a set-up.
    pub fits: Vec<Fit>,
    /// Number of rows and of their independent causes, by verdict.
    pub counts: BTreeMap<String, Count>,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// Command line that made it.
    pub command: String,
    /// First seed of the runs, and seed of the choice of points.
    pub seed: u64,
    /// Number of runs.
    pub runs: u64,
    /// Time of the runs on one core, s, without those of the slotted system.
    pub run_s: f64,
    /// Cores of the machine.
    pub cores: u32,
    /// Whether runs are missing: interrupted or failed.
    pub partial: bool,
    /// Whether the claims are of several commands: commit, command, runs and time are those of the
    /// last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// Rows of the papers that were not searched, or not since their set-up or box changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Number of rows and of their causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Rows of the papers.
    pub rows: usize,
    /// Independent causes.
    pub causes: usize,
}

/// Verdict of a search on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Holds {
    /// It fails nowhere in the box.
    #[serde(rename = "holds throughout")]
    Throughout,
    /// It holds in a part of the box.
    #[serde(rename = "holds when")]
    When,
    /// It holds nowhere in the box.
    #[serde(rename = "contradicted throughout")]
    Nowhere,
    /// Nothing can be measured, or too little was.
    #[serde(rename = "undetermined")]
    Undetermined,
    /// The paper's own equations contradict it.
    #[serde(rename = "erratum")]
    Erratum,
}

impl Holds {
    /// All verdicts.
    pub const ALL: [Holds; 5] = [
        Holds::Throughout,
        Holds::When,
        Holds::Nowhere,
        Holds::Undetermined,
        Holds::Erratum,
    ];

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Throughout => "holds throughout",
            Holds::When => "holds when",
            Holds::Nowhere => "contradicted throughout",
            Holds::Undetermined => "undetermined",
            Holds::Erratum => "erratum",
        }
    }
}

/// A claim and the region where it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// For example `004-fig9`.
    pub id: String,
    /// Verdict.
    pub verdict: Holds,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Fraction of the box where it holds. The three fractions sum to 1.
    pub part_holds: f64,
    /// Fraction where it fails.
    pub part_fails: f64,
    /// Fraction where the intervals leave it undecided.
    pub part_undecided: f64,
    /// 95 % intervals (Wilson) of the three fractions by name, over the points of the hypercube;
    /// empty without points.
    #[serde(default)]
    pub intervals: BTreeMap<String, (f64, f64)>,
    /// The nearest point to the usual one where it holds with two sets of seeds; `None` if there is
    /// none.
    pub nearest: Option<BTreeMap<String, String>>,
    /// Parameters of that point that differ from the usual values.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Deciding parameters, the most important first.
    pub deciding: Vec<String>,
    /// Command for the nearest point, or for the usual one if there is none.
    pub command: String,
    /// Commands for the same runs without a verdict.
    #[serde(default)]
    pub compare: Vec<String>,
    /// Title in a few words.
    pub title: String,
    /// Statement of the paper.
    pub claim: String,
    /// Paper, section or figure.
    pub source: String,
    /// Cause that it shares with other rows.
    pub cause: String,
    /// Name of its box; `None` if there is nothing to search.
    #[serde(default, rename = "box")]
    pub in_box: Option<String>,
    /// State at each point of the box: `holds`, `fails`, `undecided`.
    #[serde(default)]
    pub states: Vec<PointState>,
    /// Fraction of the points of the hypercube where the effect has the stated sign but not the
    /// stated size.
    #[serde(default)]
    pub part_direction: f64,
    /// Conditions of the region where most points hold, for example `scheduler is first-free`, and
    /// the numbers of points there.
    #[serde(default)]
    pub when: When,
    /// Judged findings that need time series, which a search does not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_searched: Vec<String>,
    /// Reason at the usual point, from its findings.
    pub reason: String,
    /// Findings at the nearest point with fresh seeds, or at the usual one if there is none.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
}

/// A region of a box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct When {
    /// Conditions that must all be met; empty if no parameter decides beyond chance, or if the
    /// claim holds at less than 90 of 100 new points that meet them.
    pub conditions: Vec<String>,
    /// Number of new points in the region where the claim holds.
    pub holding: usize,
    /// Number of new points in the region, by which the conditions are checked.
    pub points: usize,
    /// Number of points that ran to find and check the conditions, besides those of the box.
    #[serde(default)]
    pub ran: usize,
}

/// State of a claim at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    /// It holds by its own rules.
    Holds,
    /// It fails by the same rules, beyond chance.
    Fails,
    /// Too few runs to decide.
    Undecided,
}

/// A box and its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchedBox {
    /// Name of the set-up.
    pub name: String,
    /// Parameters that the paper leaves open.
    pub parameters: Vec<Open>,
    /// Number of points of the Latin hypercube, which follow the first point, the usual one.
    pub hypercube: usize,
    /// Number of seeds at each point.
    pub seeds: u32,
    /// All points; points at borders come last.
    pub points: Vec<Tried>,
}

/// A parameter that a paper leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// A key of the scenario, or a word.
    pub key: String,
    /// Its values in words.
    pub values: String,
    /// Value of the shipped scenario.
    pub usual: String,
    /// Why it is open, and the reason for its range.
    pub reason: String,
    /// Its choices; empty for a number.
    #[serde(default)]
    pub choices: Vec<String>,
}

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The value of each parameter.
    pub values: Vec<String>,
    /// Place of each value, from 0 to 1.
    pub places: Vec<f64>,
}

/// Inverse inference: the setting that best fits a paper's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Name of the box.
    #[serde(rename = "box")]
    pub in_box: String,
    /// Number of printed numbers in the fit.
    pub numbers: usize,
    /// Root mean square of ln(ours/stated)/ln(1 + tolerance); 1 means one tolerance.
    pub loss: f64,
    /// The largest deviation.
    pub worst: f64,
    /// The number with the largest deviation.
    pub worst_number: String,
    /// Whether all numbers are within their tolerances.
    pub fits: bool,
    /// Loss at the usual point.
    pub usual_loss: Option<f64>,
    /// The best point.
    pub at: BTreeMap<String, String>,
    /// Parameters of the best point that differ from the usual values.
    pub changed: Vec<String>,
    /// Number of points.
    pub points: usize,
}

impl Search {
    /// Counts rows and causes by verdict.
    pub fn count(claims: &[Claim]) -> BTreeMap<String, Count> {
        let of = |verdict: Holds| {
            let rows = || claims.iter().filter(move |claim| claim.verdict == verdict);
            let causes: BTreeSet<&str> = rows().map(|claim| claim.cause.as_str()).collect();
            (
                verdict.name().to_owned(),
                Count {
                    rows: rows().count(),
                    causes: causes.len(),
                },
            )
        };
        Holds::ALL.map(of).into_iter().collect()
    }

    /// The box of a claim.
    pub fn box_of(&self, claim: &Claim) -> Option<&SearchedBox> {
        let name = claim.in_box.as_ref()?;
        self.boxes.iter().find(|known| known.name == *name)
    }
}

/// The commits that made `claims`, without repetition.
pub(crate) fn commits<'a>(claims: impl Iterator<Item = &'a Claim>) -> BTreeSet<String> {
    let made = claims.filter_map(|claim| claim.made.as_ref());
    made.map(|made| format!("commit {}", made.short_commit()))
        .collect()
}

impl Claim {
    /// Paper of the claim.
    pub(crate) fn paper(&self) -> &str {
        self.id
            .split_once('-')
            .map_or(self.id.as_str(), |(paper, _)| paper)
    }
}
