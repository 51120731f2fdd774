//! The benchmark: policies on families of scenarios.
//!
//! | module | contents |
//! |---|---|
//! | `metric` | metrics, and the two kinds of families |
//! | `yardstick` | the limits, the work and the shared links of a scenario |
//! | `measure` | turns runs into ratios: share of the limit, work, time, harm |
//! | `sample`, `tiers` | ranked families: means with intervals, and distinguishable policies |
//! | `quantile` | random families: median and worst 10 % |
//! | `versus` | policies against the best realisable baseline |
//! | `schema`, `measured`, `rows` | the JSON, and its computation |
//! | `part`, `tables`, `targets`, `front`, `page` | for terminals and Markdown, as a picture, as HTML |

pub(crate) mod front;
mod measure;
mod measured;
mod metric;
mod page;
pub(crate) mod part;
mod quantile;
mod rows;
mod sample;
mod schema;
mod tables;
mod targets;
mod tiers;
mod versus;
mod yardstick;

pub use front::front;
pub use measure::{Cell, LEAST, Rounded, Singles, share_of_limit};
pub use measured::Measured;
pub use metric::{Kind, Metric};
pub use page::html;
pub use quantile::Quantiles;
pub use schema::{
    ALL_FAMILIES, Baseline, Benchmark, Best, Entry, Extent, FamilyRow, Harm, LEAST_KEPT, LeftOut,
    MOST_SHARE, OfFamily, Oracle, OracleExtent, Overall, Row, ScenarioResult, ScenarioRow, Sealed,
    Start, Versus,
};
pub use tables::{markdown, marks, short_markdown, table};
pub use yardstick::{SharedLink, Task, Yardstick};

#[cfg(test)]
mod tests;
