//! Studies: keys of a scenario varied by a design × engines × seeds × policies, stored as a dataset
//! of Parquet files that any number of processes can fill and that stays valid if they are killed.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | a study, ready to run |
//! | `points` | the points of a design, by index |
//! | `ranges` | sets of runs |
//! | `case` | a point: its scenario and policies, loaded once |
//! | `parquet` | writes and reads rows |
//! | `dataset` | the folder: header, locks, files |
//! | `shard` | division of the runs among processes |
//! | `run` | does the missing runs on all cores |
//! | `page` | data of a dataset's report |
//! | `summary` | means with intervals over groups of runs |
//!
//! A run's index identifies it: the design numbers the points; at a point, the runs of an engine
//! are all policies with the first seed, then all with the next.

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
