//! Options of `compare`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use joulepath_model::scenario::MAX_SEEDS;

use super::shared::{Changes, Engine, Timekeeping, engine};
use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath compare home-wifi-lte
  joulepath compare my.toml --seeds 30 --report \\
      --policies 'uncoupled,mptcp,mptcp[cc=olia],eemptcp'
  joulepath compare my.toml --set path.wifi.loss='2 %' \\
      --set workload.size='1 MB'
  joulepath compare papers/001-3g-wlan --variant 64kB --json
  joulepath compare papers/002-fig17 --all-variants --csv all.csv
  joulepath compare home-wifi-lte --cc ./mine.h

SCENARIO is a file, or the name of a shipped scenario (`joulepath list scenarios`).

A policy is the name of a bundle or of a controller, with overrides in brackets: \
`mptcp[cc=ewtcp,a=1/sqrt(n)]`. All policies run with the same seeds and are compared with the first.

Ctrl-C once: runs under way end, and those that have finished are reported; exit code 130. Twice: stop at \
once.

Results are not written through symbolic links.";

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(override_usage = "joulepath compare <SCENARIO> [OPTIONS]")]
pub(crate) struct CompareOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["json", "report"])]
    #[arg(add = complete::scenarios())]
    pub(crate) scenario: Option<OsString>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Compare every variant of the scenario.
    #[arg(long, conflicts_with = "variant")]
    pub(crate) all_variants: bool,
    /// Policies, separated by commas; those of the scenario if absent.
    #[arg(short, long, value_name = "LIST", add = complete::policies())]
    pub(crate) policies: Option<String>,
    /// Compile a congestion controller of your own and add it to the policies under the name of the
    /// file: a C header, for the packet and the kernel engine, or rules (NAME.rules), for the
    /// packet engine. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) cc: Vec<PathBuf>,
    /// Number of seeds; the scenario's if absent, with the kernel engine at most 3.
    #[arg(short = 'n', long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SEEDS)))]
    pub(crate) seeds: Option<u32>,
    /// The first seed.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Simulated time, as in the scenario file: the same as --set duration=….
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// What runs the scenario.
    #[arg(long, value_parser = engine(), default_value = "packet")]
    pub(crate) engine: Engine,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
    /// Number of cores; all if absent. The results do not depend on it. The kernel engine does one
    /// run at a time.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// JSON instead of the table, or into a file.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) json: Option<Option<PathBuf>>,
    /// CSV into a file, one line for each policy; `-` is stdout, instead of the table.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// CSV into a file, one line for each run.
    #[arg(long, value_name = "FILE")]
    pub(crate) runs_csv: Option<PathBuf>,
    /// Write the packets of each policy's first run into a folder: pcapng for Wireshark and qlog,
    /// of the device and of the server. Only with the packet engine.
    #[arg(long, value_name = "DIR")]
    pub(crate) packets: Option<PathBuf>,
    /// Read the rates, RTTs and losses of known networks from this file, as `--record` writes it.
    /// Used by selectors that learn (`joule`).
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Add the rates, RTTs and losses that the first policy meets to this file; created if absent.
    /// It may be the file of --history.
    #[arg(long, value_name = "FILE", conflicts_with = "all_variants")]
    pub(crate) record: Option<PathBuf>,
    /// Show every column, however wide the table becomes.
    #[arg(long)]
    pub(crate) wide: bool,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
