//! What a comparison looks like: statistics over seeds, the terminal table, JSON, CSV and the HTML report; the page of an
//! advice; the scoreboard of the papers' experiments.
//!
//! Every function is pure: it takes results and returns text. Writing files is the binary's business.

mod bootstrap;
mod html;
mod machine;
mod reproduction;
mod scale;
mod sheet;
mod summary;
mod table;

pub use bootstrap::{CONFIDENCE, RESAMPLES, estimate, median, ratio_estimate, resample};
pub use html::advice::{AdvicePage, AdviceRange, AdviceTable, AdviceWay, advice_html};
pub use html::html;
pub use html::map::{MapAxis, MapPage, map_html};
pub use html::reproduction::reproduction_html;
pub use machine::{ReportError, runs_to_csv, to_csv, to_json};
pub use reproduction::{
    Bars, Boxes, Figure, Finding, FiveNumbers, Line, Plot, Report, Reproduction, Rule, SecondMeasurement,
    Verdict, capital, reproduction_markdown, reproduction_summary, reproduction_table,
};
pub use scale::rounded;
pub use summary::{LIMIT_LINK, LIMIT_TCP_FRIENDLY, PolicyRuns, summarise};
pub use table::table;
