//! Options of `calibrate`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath calibrate --serve 0.0.0.0:7117              # at the far end
  joulepath calibrate --path wlan0 --to server:7117 --meter battery --out my-wifi.toml
  joulepath calibrate --path wlan0 --second wwan0 --to server:7117 --meter hwmon:powerz:bus \\
      --off 'rfkill block wifi' --on 'rfkill unblock wifi; nm-online' --minutes 60 --out my-wifi.toml
  joulepath calibrate --trial 100                       # how good it is, on simulated radios

A scenario beside the file names it: energy = \"file:my-wifi.toml\". Nothing else should use the interface \
and nothing else should run meanwhile. Exit codes: 0 a profile was written, 5 the meter or the radio cannot \
tell it, and why.";

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateOptions {
    /// The interface whose radio is calibrated.
    #[arg(long, value_name = "INTERFACE", required_unless_present_any = ["serve", "trial"])]
    pub(crate) path: Option<String>,
    /// A second interface, to measure both together.
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) second: Option<String>,
    /// The far end, where `calibrate --serve` runs.
    #[arg(long, value_name = "HOST:PORT", required_unless_present_any = ["serve", "trial"])]
    pub(crate) to: Option<String>,
    /// A meter (`joulepath meter`).
    #[arg(long, value_name = "NAME", required_unless_present_any = ["serve", "trial", "command"])]
    pub(crate) meter: Option<String>,
    /// A program that prints watts, a number a line, in place of a meter.
    #[arg(long, value_name = "COMMAND", conflicts_with = "meter")]
    pub(crate) command: Option<String>,
    /// The file for the profile.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["serve", "trial"])]
    pub(crate) out: Option<PathBuf>,
    /// Highest rate to receive at: one that the radio surely reaches.
    #[arg(long, value_name = "RATE", default_value = "20 Mbit/s")]
    pub(crate) down: String,
    /// Highest rate to send at.
    #[arg(long, value_name = "RATE", default_value = "10 Mbit/s")]
    pub(crate) up: String,
    /// Longest time for the blocks; absent: six of each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub(crate) minutes: Option<u64>,
    /// Command that switches the radio off, to measure its idle power.
    #[arg(long, value_name = "COMMAND", requires = "on")]
    pub(crate) off: Option<String>,
    /// Command that switches it on again, and ends when it can be used.
    #[arg(long, value_name = "COMMAND", requires = "off")]
    pub(crate) on: Option<String>,
    /// Order of the blocks, and the bootstrap.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Be the far end: listen at this address for TCP and UDP, until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["path", "trial"])]
    pub(crate) serve: Option<String>,
    /// Calibrate so many simulated radios whose truth is known, and say how often it is within the intervals.
    #[arg(long, value_name = "DRAWS", conflicts_with = "path")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) trial: Option<u32>,
    /// Write the trial's tables into this page, between its two marks.
    #[arg(long, value_name = "FILE", requires = "trial")]
    pub(crate) markdown: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the machine's meters are: /sys, or a recorded tree.
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
}
