//! Options of `calibrate`.

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
Examples:
  joulepath calibrate --serve 0.0.0.0:7117    # far end
  joulepath calibrate --interface wlan0 --to server:7117 \\
      --meter battery --profile my-wifi.toml
  joulepath calibrate --interface wlan0 --second wwan0 \\
      --to server:7117 --meter hwmon:powerz:bus --minutes 60 \\
      --profile my-wifi.toml \\
      --off 'rfkill block wifi' --on 'rfkill unblock wifi; nm-online'

A scenario in the same folder uses the profile as energy = \"file:my-wifi.toml\". Nothing else should use \
the interface or the processor meanwhile. Exit codes: 0 the profile is written, 1 the meter or the radio \
does not allow it.";

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateOptions {
    /// The interface whose radio is calibrated.
    #[arg(long, value_name = "INTERFACE", required_unless_present = "serve")]
    pub(crate) interface: Option<String>,
    /// A second interface, to measure both together.
    #[arg(long, value_name = "INTERFACE")]
    pub(crate) second: Option<String>,
    /// The far end, where `calibrate --serve` runs.
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "serve")]
    pub(crate) to: Option<String>,
    /// A meter (`joulepath meter`).
    #[arg(long, value_name = "NAME", required_unless_present_any = ["serve", "command"])]
    pub(crate) meter: Option<String>,
    /// A program that prints watts, one number per line, in place of a meter.
    #[arg(long, value_name = "COMMAND", conflicts_with = "meter")]
    pub(crate) command: Option<String>,
    /// The file for the profile.
    #[arg(long, value_name = "FILE", required_unless_present = "serve")]
    pub(crate) profile: Option<PathBuf>,
    /// Highest rate to receive at; the radio must reach it.
    #[arg(long, value_name = "RATE", default_value = "20 Mbit/s")]
    pub(crate) down: String,
    /// Highest rate to send at.
    #[arg(long, value_name = "RATE", default_value = "10 Mbit/s")]
    pub(crate) up: String,
    /// Longest time for the blocks; six of each if absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub(crate) minutes: Option<u64>,
    /// Command that switches the radio off, to measure its idle power.
    #[arg(long, value_name = "COMMAND", requires = "on")]
    pub(crate) off: Option<String>,
    /// Command that switches it on, and ends when the radio works.
    #[arg(long, value_name = "COMMAND", requires = "off")]
    pub(crate) on: Option<String>,
    /// Command that prints the signal in dBm; of WiFi, the driver's if absent.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) signal: Option<String>,
    /// The device, for the profile; as the machine says if absent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) device: Option<String>,
    /// The radio, for the profile; the driver's name if absent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) radio: Option<String>,
    /// The radio's firmware, for the profile.
    #[arg(long, value_name = "TEXT")]
    pub(crate) firmware: Option<String>,
    /// Seed of the order of blocks and of the bootstrap.
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run the far end: listen at this address for TCP and UDP, until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "interface")]
    pub(crate) serve: Option<String>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the machine's meters are: /sys, or a recorded tree.
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
}
