//! Options of `benchmark`.

use std::path::PathBuf;

use clap::Args;
use joulepath_study::benchmark::Request;

use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath benchmark --quick
  joulepath benchmark --family shared,mobility --seed 7
  joulepath benchmark --family bulk --seed 7 --write scenarios
  joulepath compare scenarios/bulk-7-01.toml
  joulepath benchmark --runs runs.jsonl --markdown docs/benchmark.md \\
      --front docs/img/benchmark-front.svg --json > benchmark.json

  joulepath benchmark --random check --runs check.jsonl --report
  joulepath benchmark --family f2-file --policies joule --oracle \\
      --search 200
  joulepath benchmark --family f4-competitors --scenarios 24 \\
      --policies 'mptcp,mptcp[cc=olia]'

Ranked families: papers, bulk, files, streams, requests, messages, mobility, shared. Tiers are by score: the \
share of the TCP-rate reference times the work done in time. Differences within a tier are not statistically \
significant. All scenarios but the papers' are random: another --seed makes others.

Random families: f1-bulk, f2-file, f3-stream, f4-competitors, f5-shared, f6-mobility, f7-shallow, \
f8-within, f9-adverse, f10-signal, f11-alike. Their ranges are wider. There are three sets of scenarios: \
`train` to tune on, `check` to measure changes on, `sealed` for published tables, which needs a log and runs \
once at a commit. The tables show the median, the worst 10 % and the ratio to the best baseline.

A page has the tables between two lines, such as `<!-- benchmark-full: begin -->` and \
`<!-- benchmark-full: end -->`. Names: `benchmark` (a line for each tier), `benchmark-full`, \
`benchmark-train`, `benchmark-check`, `benchmark-sealed`.

Ctrl-C once: runs under way end; with --runs the same command resumes after those that have finished.";

/// Options of `benchmark`.
#[derive(Debug, Args)]
#[command(mut_arg("policies", |policies| policies.add(complete::policies())))]
#[command(mut_arg("warm", |warm| warm.add(complete::policies())))]
pub(crate) struct BenchmarkOptions {
    #[command(flatten)]
    pub(crate) request: Request,
    /// Store finished runs in this file, and run none of them again.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// The log of runs of sealed scenarios; created if absent.
    #[arg(long, value_name = "FILE")]
    pub(crate) sealed_log: Option<PathBuf>,
    /// Run sealed scenarios although this commit has a result, or although an earlier start has
    /// none: the reason, for the log and the tables.
    #[arg(long, value_name = "REASON", requires = "sealed_log")]
    pub(crate) again: Option<String>,
    /// Write the random scenarios into this folder, and run nothing.
    #[arg(long, value_name = "DIR")]
    #[arg(conflicts_with_all = ["runs", "markdown", "front", "report", "json", "csv", "seeds", "jobs"])]
    pub(crate) write: Option<PathBuf>,
    /// Write the tables into these pages, separated by commas, between their marks.
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) markdown: Vec<PathBuf>,
    /// Ranked families: draw goodput and energy of all policies into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) front: Option<PathBuf>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// CSV into a file, one line for each policy on each scenario; `-` is stdout, instead of the
    /// tables.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// As JSON, with every policy on every scenario.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show every interval, however wide the tables become.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
