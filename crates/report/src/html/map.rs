//! The page of a map: who wins where, and each policy relative to the first.

use askama::Template;
use serde::Serialize;

use super::assets::Assets;
use crate::machine::ReportError;
use crate::scale::rounded;
use crate::table::Table;

/// The page's scripts, in the order in which they need each other.
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
    /// Who is the best where, in a sentence.
    pub answer: String,
    /// Scenario, engine, changes, one each.
    pub chips: Vec<String>,
    /// What is compared.
    pub metric: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// From left to right.
    pub x: MapAxis,
    /// From bottom to top.
    pub y: MapAxis,
    /// Labels.
    pub policies: Vec<String>,
    /// The metric by policy and point, row by row from the lowest y.
    pub values: Vec<Vec<Option<f64>>>,
    /// The best policy at each point.
    pub best: Vec<Option<usize>>,
    /// Whether nobody ties with it.
    pub clear: Vec<bool>,
    /// Whether all policies tie.
    pub all_tie: Vec<bool>,
    /// Points that the packet engine ran, and whom it names.
    pub checked: Vec<(usize, Option<usize>)>,
    /// By policy: best and tied in percent of the points, behind the best at most, in percent.
    pub regions: Table,
    /// How to read it, and what the spot check says.
    pub notes: Vec<String>,
    /// The command line.
    pub command: String,
    /// Of Joulepath.
    pub version: String,
    /// That it was built from.
    pub commit: String,
    /// Whether runs are missing.
    pub partial: bool,
}

/// One axis.
#[derive(Clone, Debug, Serialize)]
pub struct MapAxis {
    /// The keys.
    pub title: String,
    /// With their unit, ascending.
    pub values: Vec<String>,
}

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If a number fits no JSON.
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

/// What the page's scripts draw.
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

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "map.html")]
struct Page<'a> {
    map: &'a MapPage,
    regions: String,
    assets: Assets,
}
