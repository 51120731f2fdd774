//! Where the papers' claims hold: over boxes of what each paper leaves open.
//!
//! | module | what |
//! |---|---|
//! | this one | the schema, as it stands in JSON |
//! | `sentence` | from the parts of a box to a sentence |
//! | `table`, `markdown`, `machine` | for the terminal, for the papers' pages, for programs |
//! | `picture` | the region as a drawing |

mod machine;
mod markdown;
mod picture;
mod sentence;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::Finding;

pub use machine::search_json;
pub use markdown::{search_markdown, search_short_markdown, search_summary};
pub use picture::region_svg;
pub use sentence::sentence;
pub(crate) use table::counts;
pub use table::search_table;

/// Results of a search: `results/claims.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// One for each row of the papers.
    pub claims: Vec<Claim>,
    /// What was searched.
    pub boxes: Vec<SearchedBox>,
    /// Which setting fits all printed numbers of a set-up best.
    pub fits: Vec<Fit>,
    /// By verdict: rows, and the independent questions that they stand on.
    pub counts: BTreeMap<String, Count>,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// First seed; the points are drawn with it, too.
    pub seed: u64,
    /// Number of runs.
    pub runs: u64,
    /// Time that they took on one core, s; without those of the slotted system.
    pub run_s: f64,
    /// Cores of the machine.
    pub cores: u32,
    /// Whether runs are missing: interrupted, or failed.
    pub partial: bool,
}

/// Rows, and what they stand on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Rows of the papers.
    pub rows: usize,
    /// Independent causes.
    pub causes: usize,
}

/// What a search says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Holds {
    /// Nowhere in the box does it fail.
    #[serde(rename = "holds throughout")]
    Throughout,
    /// In a part of the box.
    #[serde(rename = "holds when")]
    When,
    /// Nowhere in the box does it hold.
    #[serde(rename = "contradicted throughout")]
    Nowhere,
    /// There is nothing to measure, or too little was measured.
    #[serde(rename = "undetermined")]
    Undetermined,
    /// Wrong by the paper's own equations.
    #[serde(rename = "erratum")]
    Erratum,
}

impl Holds {
    /// All of them.
    pub const ALL: [Holds; 5] =
        [Holds::Throughout, Holds::When, Holds::Nowhere, Holds::Undetermined, Holds::Erratum];

    /// As in JSON.
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

/// A claim, and where it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// `004-fig9`.
    pub id: String,
    /// What follows.
    pub verdict: Holds,
    /// The verdict in one sentence.
    pub sentence: String,
    /// Part of the box in which it holds; the three parts sum to 1.
    pub part_holds: f64,
    /// In which it fails.
    pub part_fails: f64,
    /// In which the intervals do not tell.
    pub part_undecided: f64,
    /// 95 % intervals (Wilson) of the three parts, by name, over the points of the hypercube; empty without.
    #[serde(default)]
    pub intervals: BTreeMap<String, (f64, f64)>,
    /// The point nearest to the usual one at which it holds, seen twice with different seeds; none if there
    /// is none.
    pub nearest: Option<BTreeMap<String, String>>,
    /// Which of its values differ from the usual ones.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Parameters that decide, the most important first.
    pub deciding: Vec<String>,
    /// What shows the nearest point, or the usual one if there is none.
    pub command: String,
    /// The same runs without a verdict.
    #[serde(default)]
    pub compare: Vec<String>,
    /// A few words.
    pub title: String,
    /// What the paper says.
    pub claim: String,
    /// Paper, section, figure.
    pub source: String,
    /// The question that it shares with other rows.
    pub cause: String,
    /// Its box, by name; none if there is nothing to search.
    #[serde(default, rename = "box")]
    pub in_box: Option<String>,
    /// By point of the box: `holds`, `fails`, `undecided`.
    #[serde(default)]
    pub states: Vec<PointState>,
    /// Part of the points of the hypercube at which the effect has the stated sign, but not the size.
    #[serde(default)]
    pub part_direction: f64,
    /// The region in which most points hold, as conditions: `scheduler is first-free`; and how many of how
    /// many points hold there.
    #[serde(default)]
    pub when: When,
    /// At the usual point: made from its findings.
    pub reason: String,
    /// At the nearest point, with fresh seeds; at the usual one if there is none.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// A region of a box.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct When {
    /// All of them must be met; none if no parameter decides beyond chance.
    pub conditions: Vec<String>,
    /// Points inside at which the claim holds.
    pub holding: usize,
    /// Points inside that are decided.
    pub points: usize,
}

/// What a claim does at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointState {
    /// By its own rules.
    Holds,
    /// By the same, beyond chance.
    Fails,
    /// Too few runs to say.
    Undecided,
}

/// A box and its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchedBox {
    /// The set-up in a word.
    pub name: String,
    /// What the paper leaves open.
    pub parameters: Vec<Open>,
    /// Points of the Latin hypercube; they follow the usual point, which is the first.
    pub hypercube: usize,
    /// Seeds at each.
    pub seeds: u32,
    /// All points, those at the borders last.
    pub points: Vec<Tried>,
}

/// One thing that a paper leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Key of the scenario, or a word.
    pub key: String,
    /// In words.
    pub values: String,
    /// That of the shipped scenario.
    pub usual: String,
    /// Why it is open, and why from there to there.
    pub reason: String,
    /// The choices; empty for a number.
    #[serde(default)]
    pub choices: Vec<String>,
}

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The value of each parameter.
    pub values: Vec<String>,
    /// Where it lies, from 0 to 1.
    pub places: Vec<f64>,
}

/// Inverse inference: which setting has made a paper's numbers?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Name of the box.
    #[serde(rename = "box")]
    pub in_box: String,
    /// Printed numbers that it was held against.
    pub numbers: usize,
    /// Root mean square of ln(ours/stated) over ln(1 + tolerance): 1 is as far as the tolerance.
    pub loss: f64,
    /// The largest of them.
    pub worst: f64,
    /// The number that has it.
    pub worst_number: String,
    /// Whether all are within their tolerances.
    pub fits: bool,
    /// The loss of the usual point.
    pub usual_loss: Option<f64>,
    /// The best point.
    pub at: BTreeMap<String, String>,
    /// Which of its values differ from the usual ones.
    pub changed: Vec<String>,
    /// Points that were tried.
    pub points: usize,
}

impl Search {
    /// Counts the rows by verdict, and the causes that they stand on.
    pub fn count(claims: &[Claim]) -> BTreeMap<String, Count> {
        let of = |verdict: Holds| {
            let rows = || claims.iter().filter(move |claim| claim.verdict == verdict);
            let causes: BTreeSet<&str> = rows().map(|claim| claim.cause.as_str()).collect();
            (verdict.name().to_owned(), Count { rows: rows().count(), causes: causes.len() })
        };
        Holds::ALL.map(of).into_iter().collect()
    }

    /// The box of a claim.
    pub fn box_of(&self, claim: &Claim) -> Option<&SearchedBox> {
        let name = claim.in_box.as_ref()?;
        self.boxes.iter().find(|known| known.name == *name)
    }
}

impl Claim {
    /// Which paper it is of.
    pub(crate) fn paper(&self) -> &str {
        self.id.split_once('-').map_or(self.id.as_str(), |(paper, _)| paper)
    }
}
