//! Options of `compare`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use joulepath_study::compare::Request;

use super::shared::Timekeeping;
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
#[command(mut_arg("set", |set| set.add(complete::profiles())))]
#[command(mut_arg("variant", |variant| variant.add(complete::variants())))]
#[command(mut_arg("policies", |policies| policies.add(complete::policies())))]
pub(crate) struct CompareOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["json", "report"])]
    #[arg(add = complete::scenarios())]
    pub(crate) scenario: Option<OsString>,
    #[command(flatten)]
    pub(crate) request: Request,
    /// Compile a congestion controller of your own and add it to the policies under the name of the
    /// file: a C header, for the packet and the kernel engine, or rules (NAME.rules), for the
    /// packet engine. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) cc: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) timekeeping: Timekeeping,
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
