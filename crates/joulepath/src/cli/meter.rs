//! Options of `meter`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath meter
  joulepath meter battery --watch
  joulepath meter --command 'my-meter --watts' --seconds 10 --json

Period, step and noise are those that were seen in these seconds: a load that changes counts as noise. \
Quality: an instrument measures the circuit of its shunt; a gauge's errors repeat, so that differences mean \
something; a host share is what a processor says of itself, and knows no radio. Exit codes: 0 a meter can \
be read, 1 one failed, 3 there is none, 4 rights are missing.";

/// Options of `meter`.
#[derive(Debug, Args)]
pub(crate) struct MeterOptions {
    /// Only the meter of this name.
    #[arg(conflicts_with = "command")]
    pub(crate) name: Option<String>,
    /// A program that prints watts, one number per line, as the only meter.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Time to read the meters for, s.
    #[arg(long, value_name = "N", default_value_t = 3.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Print a line each second until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// As JSON: `meters[].name`, `.place`, `.measures`, `.quality`, `.unit`, `.period_s`, `.step`,
    /// `.power_w`, `.noise_w`, or `.error` and `.help`; with --watch an object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the machine's meters are: /sys, or a recorded tree.
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
}

/// A time of at most an hour.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|seconds| (0.1..=3600.0).contains(seconds));
    number.ok_or_else(|| "write seconds from 0.1 to 3600".to_owned())
}
