//! Options of `bill`.

use std::path::PathBuf;

use clap::Args;
use joulepath_study::bill::Words;

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
#[command(mut_arg("radios", |radio| radio.add(complete::profiles())))]
#[command(mut_arg("device", |device| device.add(complete::devices())))]
pub(crate) struct BillOptions {
    #[command(flatten)]
    pub(crate) words: Words,
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
