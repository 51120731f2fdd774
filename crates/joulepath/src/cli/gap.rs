//! Options of `gap`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::shared::Timekeeping;
use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath gap --quick
  joulepath gap --runs gap.jsonl --seeds 2
  joulepath gap papers/004-wired --seeds 2 --kernel-jobs 4
  joulepath gap my.toml --policies mptcp,dts --seeds 5 --json

Differences are the kernel's value over the simulator's; of shares, the points of the path that differs most.

The simulator uses the kernel's packet scheduler. Without a name: the scenarios of `fidelity/`, and those \
of the papers with two and three radios. In real time that takes two and a half hours for one seed with \
one run at a time, and a quarter of it with --kernel-jobs 4; the machine should have nothing else to do. \
A cell in which both engines carry at least 97 % of what links and application let through is marked \
`full`: medians are shown over all cells, and over the others. Needs root.";

/// Options of `gap`.
#[derive(Debug, Args)]
pub(crate) struct GapOptions {
    /// Scenario files, or names of shipped scenarios; of a paper's scenario one variant after a
    /// colon.
    #[arg(value_name = "SCENARIO", add = complete::scenarios())]
    pub(crate) scenarios: Vec<OsString>,
    /// Policies, separated by commas; those of each scenario if absent.
    #[arg(short, long, value_name = "LIST", add = complete::policies())]
    pub(crate) policies: Option<String>,
    /// Number of seeds, the same for both engines; four times as many where links lose at random.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Three scenarios under two policies: less than two minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of simulated runs at a time; all cores if absent.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Number of kernel runs at a time. A run whose links were late is repeated.
    #[arg(long, value_name = "N")]
    pub(crate) kernel_jobs: Option<NonZeroUsize>,
    /// Store finished runs in this file, and run none of them again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the tables into this page, between its two marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
