//! Options of `map`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use joulepath_study::map::Request;

use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath map papers/000-table1 --spot-check 12 \\
      --x path.wifi.loss='0.1 %..10 %:24log' \\
      --y path.lte.loss='0.1 %..10 %:24log'
  joulepath map papers/002-fig17 --report \\
      --x path.4g.delay='40 ms..400 ms' \\
      --y path.wifi.queue,path.4g.queue='5..200 packets:16log'
  joulepath map quick --policies uncoupled,dts --csv map.csv \\
      --x path.lte.rate='1..20 Mbit/s:8' \\
      --y path.lte.delay='5..100 ms:8'

An axis is KEY=LO..HI, with :N for the number of points (24 if absent) and `log` for equal ratios. Several \
keys, separated by commas, get the same value. Policies within 1 % of the best are ties. The spot check \
runs the same points every time.";

/// Options of `map`.
#[derive(Debug, Args)]
#[command(mut_arg("set", |set| set.add(complete::profiles())))]
#[command(mut_arg("variant", |variant| variant.add(complete::variants())))]
#[command(mut_arg("policies", |policies| policies.add(complete::policies())))]
pub(crate) struct MapOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", add = complete::scenarios())]
    pub(crate) scenario: OsString,
    #[command(flatten)]
    pub(crate) request: Request,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// CSV into a file, one line for each policy at each point; `-` is stdout, instead of the
    /// picture.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Print only errors on stderr.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
