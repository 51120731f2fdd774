//! Options of `gap`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::shared::Timekeeping;

pub(super) const HELP: &str = "\
Examples:
  joulepath gap --quick
  joulepath gap --runs gap.jsonl --seeds 2
  joulepath gap my.toml --policies mptcp,dts --seeds 5 --json

Differences are the kernel's value over the simulator's; of shares, the points of the path that differs most.
The simulator uses the kernel's packet scheduler. All shipped scenarios take about 18 minutes in real time,
one run at a time, and the machine should have nothing else to do. Needs root.";

/// Options of `gap`.
#[derive(Debug, Args)]
pub(crate) struct GapOptions {
    /// Scenario files, or names of shipped scenarios; without any, those of `fidelity/`.
    #[arg(value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<String>,
    /// Policies, separated by commas; those of each scenario if absent.
    #[arg(short, long, value_name = "LIST")]
    pub(crate) policies: Option<String>,
    /// Number of seeds, the same for both engines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) first_seed: u64,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Three scenarios under two policies: less than two minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of simulated runs at a time; all cores if absent. Runs of the kernel are done one at a time.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Keep finished runs in this file; those that it has already are not done again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the tables into this page, between its two marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
