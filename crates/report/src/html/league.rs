//! The page of the league: a picture and two tables.

use askama::Template;

use super::assets::Assets;
use crate::machine::ReportError;

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/league.js"),
];

const STYLES: [&str; 1] = [include_str!("../../assets/league.css")];

/// The league, in the words and with the digits of the terminal.
#[derive(Clone, Debug)]
pub(crate) struct LeaguePage {
    /// Scenarios, engine, seeds.
    pub(crate) title: String,
    /// Names of the families.
    pub(crate) families: Vec<String>,
    /// The best first.
    pub(crate) lines: Vec<LeagueLine>,
    /// The front as SVG, if there is one.
    pub(crate) front: Option<String>,
    /// How to read it, and what is missing.
    pub(crate) notes: Vec<String>,
    /// The command line.
    pub(crate) command: String,
    /// Of Joulepath.
    pub(crate) version: String,
    /// That it was built from.
    pub(crate) commit: String,
    /// Whether runs are missing.
    pub(crate) partial: bool,
}

/// A policy.
#[derive(Clone, Debug)]
pub(crate) struct LeagueLine {
    /// Its number, or a dash.
    pub(crate) tier: String,
    /// For humans.
    pub(crate) label: String,
    /// What it is made of.
    pub(crate) parts: String,
    /// Score, limit, work, goodput, time, TCPs, most TCPs.
    pub(crate) numbers: Vec<String>,
    /// Its score in each family.
    pub(crate) families: Vec<String>,
}

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If the template fails.
pub(crate) fn league_html(league: &LeaguePage) -> Result<String, ReportError> {
    Ok(Page { league, assets: Assets::new(&STYLES, &SCRIPTS, &())? }.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "league.html")]
struct Page<'a> {
    league: &'a LeaguePage,
    assets: Assets,
}
