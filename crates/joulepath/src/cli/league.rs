//! Options of `league`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath league --quick
  joulepath league --family shared,mobility --seed 7
  joulepath league --family bulk --seed 7 --write drawn
  joulepath compare drawn/bulk-7-01.toml
  joulepath league --runs league.jsonl --markdown README.md,docs/league.md \\
                   --front docs/img/league-front.svg --json > league.json

  joulepath league --family gauntlet --range check --draws 64 --runs gauntlet.jsonl --report
  joulepath league --family f4-competitors --policies 'mptcp,mptcp[cc=olia]' --draws 24

Families: papers, bulk, files, streams, requests, messages, mobility, shared. All but the papers' are \
drawn at random: another --seed draws scenarios that nobody has tuned anything for. The score is the \
share of the energy limit times the work that is done in time; policies of one tier are not told apart. A \
page needs two lines `<!-- league: begin -->` and `<!-- league: end -->` for the tiers, or the same with \
`league-full` for everything.

The gauntlet: f1-bulk, f2-file, f3-stream, f4-competitors, f5-shared, f6-mobility, f7-shallow, f8-within, \
f9-adverse, or all of them as `gauntlet`. Its draws are wider and come in three ranges: `train` to tune on, \
`check` to judge changes on, `sealed` for the published table. It tells median, worst tenth and worst \
draw, and \
weighs nothing against anything. Sealed draws need a log; they are run once at a commit. A page needs the \
lines `<!-- gauntlet-check: begin -->` and `<!-- gauntlet-check: end -->`, or those of another range.

Ctrl-C once: runs under way end; with --runs the same command goes on after those that have finished.";

/// Options of `league`.
#[derive(Debug, Args)]
pub(crate) struct LeagueOptions {
    /// One scenario of each drawn family and two of the papers', cut short, under eight policies: seconds.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these families, separated by commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',', num_args = 1..)]
    pub(crate) family: Vec<String>,
    /// Seed of the draws of scenarios, 1 if absent; the gauntlet has ranges in its place.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Gauntlet: `train` (if absent), `check`, or `sealed`.
    #[arg(long, value_name = "RANGE")]
    pub(crate) range: Option<String>,
    /// Gauntlet: draws of each family; 64 if absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) draws: Option<u32>,
    /// Gauntlet: number of the first draw of each family, 1 if absent: draws that were never run.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) first: Option<u32>,
    /// Gauntlet: these policies, separated by commas, in place of uncoupled, mptcp, emptcp, es-mptcp,
    /// overflow.
    #[arg(long, value_name = "LIST")]
    pub(crate) policies: Option<String>,
    /// Gauntlet: these policies once more, each knowing the rate (within a factor of 1.3), RTT and loss of
    /// each path from an earlier visit.
    #[arg(long, value_name = "LIST")]
    pub(crate) warm: Option<String>,
    /// Gauntlet: the log of runs of sealed draws; it is begun if it is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) sealed_log: Option<PathBuf>,
    /// Gauntlet: run sealed draws although they were run at this commit; the log and the result say so.
    #[arg(long, requires = "sealed_log")]
    pub(crate) again: bool,
    /// Gauntlet: write a line for each policy in each draw into this CSV file.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Number of seeds of each policy on each scenario; 3, or 2 with --quick, if absent; gauntlet: 1.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Number of cores, for runs at a time; all if absent. A single run of a large data centre uses several,
    /// too. The results do not depend on it.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Keep finished runs in this file; those that it has already are not done again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Write the drawn scenarios into this folder, and run nothing.
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["runs", "markdown", "front", "report", "json", "csv", "seeds", "jobs"])]
    pub(crate) write: Option<PathBuf>,
    /// Write the tables into these pages, separated by commas, between their marks.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) markdown: Vec<PathBuf>,
    /// Draw goodput and energy of all policies into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) front: Option<PathBuf>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON, with every policy on every scenario.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing on stderr but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
