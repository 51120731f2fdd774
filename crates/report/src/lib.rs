//! Reports: statistics over seeds, tables for the terminal, JSON, CSV and HTML pages.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@table`] | any report: one table in all forms |
//! | `chart` | pictures, and axes of charts without scripts |
//! | `summary`, `compared`, `machine`, `notebook`, `html` | a comparison of policies |
//! | [`benchmark`] | policies on families of scenarios: tiers at equal work; median, worst 10 % and harm |
//! | [`gap`] | difference between simulator and kernel |
//! | [`live`] | cost of the daemon's choice of paths |
//! | [`map`] | the winning policy at each point of a plane of two keys |
//! | [`advice`] | interfaces for a transfer |
//! | `reproduction` | the papers' claims |
//! | [`search`] | where the papers' claims hold |
//! | `judgement` | a calibrated profile, judged |
//! | `stored` | pages of the last two from JSON |
//! | [`study`] | many points of a scenario |
//!
//! Every function is pure: it takes results and returns data or text. The caller writes files.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod advice;
pub mod benchmark;
pub mod bill;
mod bootstrap;
mod chart;
mod compared;
pub mod conformance;
pub mod gap;
mod html;
mod judgement;
pub mod live;
mod machine;
pub mod map;
mod notebook;
mod over_time;
mod reach;
mod reproduction;
mod scale;
pub mod search;
mod sheet;
mod stored;
mod student;
pub mod study;
mod summary;
pub mod table;
mod text;

pub use bootstrap::{CONFIDENCE, RESAMPLES, estimate, ratio_estimate, resample};
pub use chart::COLOURS;
pub use compared::{table, table_with};
pub use html::advice::{AdvicePage, AdviceRange, AdviceWay, advice_html};
pub use html::map::{MapAxis, MapPage, map_html};
pub use html::paper::paper_html;
pub use html::reproduction::reproduction_html;
pub use html::search::search_html;
pub use html::{Playground, html, html_with};
pub use judgement::judgement;
pub use machine::{
    Field, Record, ReportError, all_runs_to_csv, all_to_csv, all_to_json, policy_records,
    reference_records, run_record, run_records, runs_to_csv, to_csv, to_json,
};
pub use notebook::notebook;
pub use reach::leave_out_of_reach;
pub use reproduction::{
    Agreement, Bars, Boxes, Farthest, Figure, Finding, FiveNumbers, Judged, Line, Made, Origin,
    Paper, Plot, Report, Reproduction, Rule, SecondMeasurement, SetUp, Since, UsedValue, Verdict,
    judge, reproduction_json, reproduction_markdown, reproduction_summary, reproduction_table,
    shown, values_markdown,
};
pub use scale::rounded;
pub use sheet::most_efficient;
pub use stored::StoredResults;
pub use student::{interval, prediction, ratio_interval, student, student_ratio, wilson};
pub use summary::{LINK_BOUND, PolicyRuns, TCP_REFERENCE, summarise, summarise_on, tcp_share};
