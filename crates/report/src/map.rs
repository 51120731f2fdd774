//! The winning policy at each point of a plane of two scenario keys: data, and texts.
//!
//! | module | contents |
//! |---|---|
//! | this one | the data |
//! | `winners` | winners, ties and regions |
//! | `spot` | the packet engine at some of the points |
//! | `table`, `machine`, `page` | text, JSON and CSV, HTML |

mod machine;
mod page;
mod spot;
mod table;
mod winners;

use joulepath_model::metric::{Better, Metric};
use joulepath_model::result::Provenance;
use serde::{Deserialize, Serialize};

pub use machine::{csv, json};
pub use page::html;
pub use spot::{Checked, SpotCheck};
pub(crate) use table::letter;
pub use table::table;
pub use winners::{Region, TIE, Verdict, Winners};

/// A map.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Map {
    /// The program that made it.
    pub provenance: Provenance,
    /// Title of the scenario.
    pub title: String,
    /// File as given, or name of a shipped scenario.
    pub scenario: String,
    /// SHA-256 of the scenario and its traces.
    pub sha256: String,
    /// Keys with one value everywhere in the plane.
    pub set: Vec<(String, String)>,
    /// Horizontal and vertical axis.
    pub axes: [Axis; 2],
    /// The policies.
    pub policies: Vec<Policy>,
    /// Metric of the comparison.
    pub metric: &'static Metric,
    /// Name of the engine.
    pub engine: String,
    /// Seeds of each run of the packet engine.
    pub seeds: u32,
    /// Values by policy, then by point, row by row from the lowest y.
    pub values: Vec<Vec<Option<f64>>>,
    /// Winners at all points.
    pub winners: Winners,
    /// The packet engine at some of the points.
    pub spot: Option<SpotCheck>,
    /// Whether some runs are missing.
    pub partial: bool,
}

/// A policy of the map.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Policy {
    /// The policy as the user wrote it.
    pub policy: String,
    /// Name for readers.
    pub label: String,
}

/// An axis of the plane.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Axis {
    /// Keys that all get the same value.
    pub keys: Vec<String>,
    /// Values in the unit of the axis, ascending.
    pub numbers: Vec<f64>,
    /// Unit as the user wrote it.
    pub unit: String,
    /// Whether steps have equal ratios instead of equal differences.
    pub log: bool,
}

impl Map {
    /// Number of points of the plane.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.numbers.len()).product()
    }

    /// Column and row of a point.
    pub fn column_and_row(&self, point: usize) -> (usize, usize) {
        let columns = self.axes[0].numbers.len();
        (point % columns, point / columns)
    }

    /// Description of a point.
    pub fn place(&self, point: usize) -> String {
        let (x, y) = self.column_and_row(point);
        format!("{}, {}", self.axes[0].place(x), self.axes[1].place(y))
    }
}

impl Axis {
    /// The value at `index` with its unit.
    pub fn value(&self, index: usize) -> String {
        format!("{} {}", self.numbers[index], self.unit)
            .trim_end()
            .to_owned()
    }

    /// Keys and value at `index`, for readers.
    pub fn place(&self, index: usize) -> String {
        format!("{} = {}", self.keys.join(", "), self.value(index))
    }

    /// Title for readers: the keys, and whether the axis is logarithmic.
    pub fn title(&self) -> String {
        self.keys.join(", ") + if self.log { " (log)" } else { "" }
    }
}

/// Shortfall of `value` relative to `best`; 0 or more.
fn shortfall(metric: &Metric, value: f64, best: f64) -> f64 {
    let shortfall = if metric.better == Better::Higher {
        best - value
    } else {
        value - best
    };
    if best > 0.0 { shortfall / best } else { 0.0 }
}
