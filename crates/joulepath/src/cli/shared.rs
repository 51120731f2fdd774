//! Options that several commands have.

use clap::Args;
use joulepath_model::units::Nanos;
use joulepath_study::commands::key_value;

use crate::complete;

/// Changes of a scenario.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Change one key of the scenario: a dotted key and its value. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    #[arg(add = complete::profiles())]
    pub(crate) set: Vec<(String, String)>,
    /// Use this variant of the scenario (`joulepath list scenarios` names them).
    #[arg(long, value_name = "NAME", add = complete::variants())]
    pub(crate) variant: Option<String>,
}

/// Options of engines that run in real time.
#[derive(Debug, Args)]
pub(crate) struct Timekeeping {
    /// Largest lateness of packets on the kernel engine's emulated links: a run in which one packet
    /// in 100 is later fails. If absent, what the scenario's delays, rates and queues tolerate, at
    /// least 1 ms.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_lateness: Option<Nanos>,
}
