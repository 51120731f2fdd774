//! Options of `advise`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath advise --path wifi:rate=20Mbit/s,rtt=30ms,loss=0.5%,energy=wifi-huang2012 \\
                   --path lte:rate=40Mbit/s,rtt=50ms,energy=lte-huang2012 --size 10MB --deadline 8s
  joulepath advise --path a:rate=10Mbit/s,rtt=30ms,energy=137mW/Mbps+132.9mW \\
                   --path b:rate=20Mbit/s,rtt=60ms,energy=52mW/Mbps+1288mW \\
                   --size 1MB --device phone2015 --json

A path is NAME:rate=…,rtt=…,loss=…,energy=… with units; without loss there is none. Energy is a profile
(`joulepath list energy`), or slope+power while used. Nothing is simulated; a path's rate is what TCP would
get under its loss and RTT, or the link's if that is less. What policies make of it by themselves, `joule`
first: --write question.toml, then joulepath compare question.toml.";

/// Options of `advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseOptions {
    /// A path of the device and what it costs. May be repeated.
    #[arg(long, value_name = "NAME:KEY=VALUE,…", required = true)]
    pub(crate) path: Vec<String>,
    /// How much is to be downloaded.
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: String,
    /// When it must be there.
    #[arg(long, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) deadline: Option<String>,
    /// At which rate it is made or played: neither faster nor slower.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// A device (`joulepath list energy`), or a power, that burns while any interface is active; nothing if
    /// absent.
    #[arg(long, value_name = "NAME|POWER")]
    pub(crate) device: Option<String>,
    /// Count on the rates of the links, whatever their loss would leave to TCP.
    #[arg(long)]
    pub(crate) link_rates: bool,
    /// Write the question as a scenario: for `joulepath compare`, with the policy `joule`, which finds its
    /// paths without being told, and others beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Write an HTML page with the front as a plot: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
