//! Options of `map`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use joulepath_model::metric::{EFFICIENCY, METRICS, Metric};
use joulepath_study::metrics;

use super::shared::{Changes, Engine, engine};
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
pub(crate) struct MapOptions {
    /// A scenario file, or the name of a shipped scenario.
    #[arg(value_name = "SCENARIO", add = complete::scenarios())]
    pub(crate) scenario: OsString,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// The horizontal axis.
    #[arg(long, value_name = "KEY=LO..HI[:N][log]")]
    pub(crate) x: String,
    /// The vertical axis.
    #[arg(long, value_name = "KEY=LO..HI[:N][log]")]
    pub(crate) y: String,
    /// Policies, separated by commas; those of the scenario if absent.
    #[arg(short, long, value_name = "LIST", add = complete::policies())]
    pub(crate) policies: Option<String>,
    /// What decides the winner.
    #[arg(long, value_parser = metric(), default_value = EFFICIENCY.name)]
    pub(crate) metric: &'static Metric,
    /// Engine for all points: `fluid`, or `packet` for few points.
    #[arg(long, value_parser = engine(), default_value = "fluid")]
    pub(crate) engine: Engine,
    /// Repeat this many of the points in the packet engine.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) spot_check: u32,
    /// Seeds of each run of the packet engine.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Number of cores; all if absent. The results do not depend on it.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
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

/// The name of a metric.
fn metric() -> impl TypedValueParser<Value = &'static Metric> {
    let names = METRICS
        .iter()
        .map(|metric| PossibleValue::new(metric.name).help(metric.title))
        .chain([PossibleValue::new("efficiency").hide(true)]);
    PossibleValuesParser::new(names)
        .try_map(|name| metrics::named(&name).map_err(|error| error.in_one_line()))
}
