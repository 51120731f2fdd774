//! Options of `advise`.

use std::path::PathBuf;

use clap::Args;
use joulepath_control::advise::Coupling;

use super::words;
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
pub(crate) struct AdviseOptions {
    /// A path of the device, with its energy model. May be repeated.
    #[arg(long, value_name = "NAME:KEY=VALUE,…", required = true)]
    #[arg(add = complete::profiles())]
    pub(crate) path: Vec<String>,
    /// Rate, RTT and loss of paths that do not give them, from the memory of networks that
    /// `compare --record` or the daemon wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,
    /// Size of the download.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: String,
    /// Time within which it must arrive.
    #[arg(long, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) deadline: Option<String>,
    /// It must arrive within this multiple of the time of the fastest path alone, for example 2.
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "every"])]
    pub(crate) slowest: Option<String>,
    /// Balance between energy and time, as in `joule[preset=WORD]`. --slowest replaces its longest
    /// time.
    #[arg(long, value_name = "WORD", conflicts_with_all = ["rate", "every"])]
    #[arg(value_parser = words::presets())]
    pub(crate) preset: Option<String>,
    /// Rate of a stream, in place of a deadline.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Data of this size arises again after this time: what does waiting save? With --tolerance.
    #[arg(long, value_name = "TIME", requires = "tolerance")]
    #[arg(conflicts_with_all = ["deadline", "rate", "write"])]
    pub(crate) every: Option<String>,
    /// The longest time that the data may wait, to be sent together. With --every.
    #[arg(long, value_name = "TIME", requires = "every")]
    pub(crate) tolerance: Option<String>,
    /// A device (`joulepath list energy`), or the power that it uses while any interface is active;
    /// 0 if absent.
    #[arg(long, value_name = "NAME|POWER", add = complete::devices())]
    pub(crate) device: Option<String>,
    /// Use the rates of the links, not those that TCP gets under their loss.
    #[arg(long)]
    pub(crate) link_rates: bool,
    /// Coupling of the congestion control of several paths: `uncoupled` if absent.
    #[arg(long, value_name = "NAME", value_parser = Coupling::ALL.map(Coupling::word))]
    pub(crate) cc: Option<String>,
    /// Write the question as a scenario for `joulepath compare`, with `joule` and other policies.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
