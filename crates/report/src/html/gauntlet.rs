//! The page of the gauntlet: a table for each family.

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

const STYLES: [&str; 0] = [];

/// The gauntlet, in the words and with the digits of the terminal.
#[derive(Clone, Debug)]
pub(crate) struct GauntletPage {
    /// Draws, families, range, engine, seeds.
    pub(crate) title: String,
    pub(crate) blocks: Vec<GauntletBlock>,
    pub(crate) beside_heads: Vec<&'static str>,
    pub(crate) beside: Vec<GauntletLine>,
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

/// A family.
#[derive(Clone, Debug)]
pub(crate) struct GauntletBlock {
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) draws: usize,
    /// Each has three cells: median, worst tenth, worst.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) lines: Vec<GauntletLine>,
}

/// A contender.
#[derive(Clone, Debug)]
pub(crate) struct GauntletLine {
    pub(crate) label: String,
    /// What it is made of.
    pub(crate) parts: String,
    /// `cold`, `warm`, or nothing.
    pub(crate) start: &'static str,
    pub(crate) cells: Vec<String>,
}

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If the template fails.
pub(crate) fn gauntlet_html(gauntlet: &GauntletPage) -> Result<String, ReportError> {
    Ok(Page { gauntlet, assets: Assets::new(&STYLES, &SCRIPTS, &())? }.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "gauntlet.html")]
struct Page<'a> {
    gauntlet: &'a GauntletPage,
    assets: Assets,
}
