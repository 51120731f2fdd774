//! Options of `advise`.

use std::path::PathBuf;

use clap::Args;
use joulepath_study::advise::Words;

use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath advise --size 10MB --deadline 8s \\
    --path wifi:rate=20Mbit/s,rtt=30ms,loss=1%,energy=wifi6-2021 \\
    --path lte:rate=40Mbit/s,rtt=50ms,energy=lte-2021
  joulepath advise --size 1MB --device phone2015 --json \\
    --path a:rate=10Mbit/s,rtt=30ms,energy=137mW/Mbps+132.9mW \\
    --path b:rate=20Mbit/s,rtt=60ms,energy=52mW/Mbps+1288mW
  joulepath advise --size 50kB --every 30s --tolerance 2min \\
    --path lte:rate=20Mbit/s,rtt=50ms,energy=lte-2021

A path is NAME:rate=…,rtt=…,loss=…,burst=…,energy=…,signal=… with units; loss is 0 if absent; burst=4 means \
four losses in a row on average. Energy is a profile \
(`joulepath list energy`), or slope+power while in use. With signal=-95dBm, a profile by signal (5g-sa-2021, \
5g-nsa-2021, 5g-mmwave-2021) has its power there. With --history a path may leave out rate, rtt and loss; \
network=NAME is its SSID or router. Nothing is simulated: a path's rate is what TCP \
gets under its loss and RTT, at most the link's. To simulate policies on the same question: --write \
question.toml, then joulepath compare question.toml.";

/// Options of `advise`.
#[derive(Debug, Args)]
#[command(mut_arg("paths", |path| path.add(complete::profiles())))]
#[command(mut_arg("device", |device| device.add(complete::devices())))]
pub(crate) struct AdviseOptions {
    #[command(flatten)]
    pub(crate) words: Words,
    /// Write the question as a scenario for `joulepath compare`, with `joule` and other policies.
    #[arg(long, value_name = "FILE", conflicts_with = "every")]
    pub(crate) write: Option<PathBuf>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
