//! Options of `study`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const HELP: &str = "\
Examples:
  joulepath study sweep.toml       # into sweep/; resumes after a kill
  joulepath study sweep.toml --shard 3/16 --quiet   # a cluster's job
  joulepath study report sweep     # writes sweep.html
  joulepath schema study           # the keys of the file

The file names a scenario, the keys that vary and a design (grid, random, latin-hypercube, sobol). Every \
point runs under all policies, seeds and engines. The folder holds Parquet files with one row per run: \
polars, DuckDB and pyarrow read them while the study runs. docs/study.md has all keys.";

/// Options of `study`.
#[derive(Debug, Args)]
pub(crate) struct StudyOptions {
    /// What is done with a dataset.
    #[command(subcommand)]
    pub(crate) command: Option<StudyCommand>,
    /// The file of the study.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) file: Option<PathBuf>,
    /// The folder of the dataset; the file's name without `.toml`, here, if absent.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run one of several parts of equal size: `1/8` to `8/8`. All parts may share a folder.
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<String>,
    /// Number of cores; all if absent. The results do not depend on it.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is done with a dataset.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyCommand {
    /// Write a page of what a dataset has so far: policies over all points, and along each key.
    Report(StudyReportOptions),
}

/// Options of `study report`.
#[derive(Debug, Args)]
pub(crate) struct StudyReportOptions {
    /// The folder of the dataset.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The page, or a folder for it; the name of the dataset with `.html`, here, if absent.
    #[arg(long, value_name = "DIR|FILE")]
    pub(crate) report: Option<PathBuf>,
}
