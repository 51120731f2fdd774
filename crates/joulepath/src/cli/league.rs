//! Options of `league`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath league --quick
  joulepath league --runs league.jsonl --markdown README.md --json > results/league.json

The order is that of the median share of the TCP-friendly limit. Scenarios are those of the papers; what has
no end is stopped 120 s after the warm-up, and what is left out is said. The page needs two lines
`<!-- league: begin -->` and `<!-- league: end -->`.
Ctrl-C once: runs under way end; with --runs the same command goes on after those that have finished.";

/// Options of `league`.
#[derive(Debug, Args)]
pub(crate) struct LeagueOptions {
    /// Three scenarios, cut short, under eight policies: seconds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Number of seeds; 10, or 2 with --quick, if absent.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Number of runs at a time; all cores if absent. The results do not depend on it.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Keep finished runs in this file; those that it has already are not done again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the table into this page, between its two marks.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON, with every policy on every scenario.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
