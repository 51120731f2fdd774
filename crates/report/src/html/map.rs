//! Page of a map: the winner at each point, and each policy relative to the first.

use askama::Template;
use serde::Serialize;

use super::assets::Assets;
use crate::machine::ReportError;
use crate::scale::rounded;
use crate::table::Table;

/// The page's scripts, each after the scripts that it needs.
const SCRIPTS: [&str; 5] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/card.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/map.js"),
];

const STYLES: [&str; 1] = [include_str!("../../assets/map.css")];

/// Significant digits of a value.
const DIGITS: usize = 5;

/// A map, in the words and with the digits of the terminal.
#[derive(Clone, Debug)]
pub struct MapPage {
    /// Title of the scenario.
    pub title: String,
    /// The winners in a sentence.
    pub answer: String,
    /// Scenario, engine and changes.
    pub chips: Vec<String>,
    /// Metric of the comparison.
    pub metric: String,
    /// Whether higher values are better.
    pub more_is_better: bool,
    /// Horizontal axis.
    pub x: MapAxis,
    /// Vertical axis.
    pub y: MapAxis,
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// The metric by policy and point, row by row from the lowest y.
    pub values: Vec<Vec<Option<f64>>>,
    /// The best policy at each point.
    pub best: Vec<Option<usize>>,
    /// Whether the best policy has no ties.
    pub clear: Vec<bool>,
    /// Whether all policies tie.
    pub all_tie: Vec<bool>,
    /// Points that the packet engine ran, with its winner.
    pub checked: Vec<(usize, Option<usize>)>,
    /// By policy: best and tied in percent of the points, maximum shortfall in percent.
    pub regions: Table,
    /// Notes, and the result of the spot check.
    pub notes: Vec<String>,
    /// Command line that makes the page.
    pub command: String,
    /// Version of Joulepath.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// Whether runs are missing.
    pub partial: bool,
}

/// One axis.
#[derive(Clone, Debug, Serialize)]
pub struct MapAxis {
    /// Keys of the axis.
    pub title: String,
    /// Values with their unit, ascending.
    pub values: Vec<String>,
}

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn map_html(map: &MapPage) -> Result<String, ReportError> {
    let short = |value: &Option<f64>| value.map(|value| rounded(value, DIGITS));
    let of_policy = |values: &Vec<Option<f64>>| values.iter().map(short).collect();
    let drawn = Drawn {
        metric: &map.metric,
        more_is_better: map.more_is_better,
        x: &map.x,
        y: &map.y,
        policies: &map.policies,
        values: map.values.iter().map(of_policy).collect(),
        best: &map.best,
        clear: &map.clear,
        all_tie: &map.all_tie,
        checked: &map.checked,
    };
    let page =
        Page { map, regions: map.regions.html("regions")?, assets: Assets::new(&STYLES, &SCRIPTS, &drawn)? };
    Ok(page.render()?)
}

/// Data for the page's scripts.
#[derive(Serialize)]
struct Drawn<'a> {
    metric: &'a str,
    more_is_better: bool,
    x: &'a MapAxis,
    y: &'a MapAxis,
    policies: &'a [String],
    values: Vec<Vec<Option<f64>>>,
    best: &'a [Option<usize>],
    clear: &'a [bool],
    all_tie: &'a [bool],
    checked: &'a [(usize, Option<usize>)],
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "map.html")]
struct Page<'a> {
    map: &'a MapPage,
    regions: String,
    assets: Assets,
}
