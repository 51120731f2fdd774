//! Options of `bill`.

use std::path::PathBuf;

use clap::Args;

use crate::complete;

pub(super) const HELP: &str = "\
Examples:
  joulepath bill phone.pcapng --radio wlan0=wifi6-2021 \\
      --radio wwan0=lte-2021
  joulepath bill page.har --radio lte-2021 --report
  joulepath bill day.pcap --radio lte-2021 --wait '30 s'

Nothing is simulated: each packet passes a model of its radio at its own time. A capture is one of the \
device (`tcpdump -i any -w phone.pcap`); a HAR file is what a browser's network panel saves.";

/// Options of `bill`.
#[derive(Debug, Args)]
pub(crate) struct BillOptions {
    /// A pcap, pcapng or HAR file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Energy model of an interface: a profile (`joulepath list energy`), or slope+power such as
    /// 52mW/Mbps+1288mW. Without INTERFACE, of all others. May be repeated.
    #[arg(long, value_name = "[INTERFACE=]MODEL", add = complete::profiles())]
    pub(crate) radio: Vec<String>,
    /// A device (`joulepath list energy`), or the power that it uses while any radio is awake; 0 if
    /// absent.
    #[arg(long, value_name = "NAME|POWER", add = complete::devices())]
    pub(crate) device: Option<String>,
    /// Address of the device, if it did not open the recorded connections. May be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Vec<String>,
    /// How long transfers may wait for others, to see what that saves. May be repeated.
    #[arg(long, value_name = "TIME", default_values = ["10 s", "1 min", "10 min"])]
    pub(crate) wait: Vec<String>,
    /// Write a line for each request or connection; - for stdout.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) csv: Option<PathBuf>,
    /// Write an HTML page: into a folder, or to a file that ends in .html.
    #[arg(long, value_name = "DIR|FILE", num_args = 0..=1, default_missing_value = "joulepath-report")]
    pub(crate) report: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
