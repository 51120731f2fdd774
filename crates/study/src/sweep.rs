//! Studies: keys of a scenario that vary by a design × engines × seeds × policies, stored as a dataset of
//! Parquet files that any number of processes fill and any kill leaves whole.
//!
//! | module | what |
//! |---|---|
//! | `plan` | a study that is ready to run |
//! | `points` | the points of a design, by index |
//! | `ranges` | sets of runs |
//! | `case` | one point: its scenario and its policies, loaded once |
//! | `parquet` | rows as a file, and back |
//! | `dataset` | the folder: header, locks, files |
//! | `shard` | which runs are whose |
//! | `run` | runs that are missing, on all cores |
//! | `page` | what a report of a dataset shows |
//! | `summary` | means with intervals over groups of runs |
//!
//! A run is known by its index: points are numbered by the design, and below a point the runs of an engine
//! are those of all policies on the first seed, then of all on the next.

mod case;
mod dataset;
mod page;
mod parquet;
mod plan;
mod points;
mod ranges;
mod run;
mod shard;
mod summary;

pub use self::dataset::{Dataset, Header, Writer, are_batches_under_way};
pub use self::page::page;
pub use self::parquet::{Column, Kind};
pub use self::plan::{Place, Sweep};
pub use self::ranges::Ranges;
pub use self::run::{Missing, Outcome, Runner};
pub use self::shard::Shard;
pub use self::summary::{Group, Summary, summary};

#[cfg(all(test, feature = "packet", feature = "fluid"))]
mod tests;
#[cfg(all(test, feature = "packet"))]
mod tests_summary;
