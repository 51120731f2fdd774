//! Options that several commands have.

use clap::{Args, ValueEnum};
use joulepath_model::units::Nanos;

/// Which scenario, and what is changed in it.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Change one key of the scenario: a dotted key and its value. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Use this variant of the scenario (`joulepath list scenarios` names them).
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
}

/// What an engine in real time is forgiven.
#[derive(Debug, Args)]
pub(crate) struct Timekeeping {
    /// Latest that packets may leave the kernel engine's emulated links; a run in which one in a hundred was
    /// later has failed. If absent, what the scenario's delays, rates and queues tolerate, 1 ms or more.
    #[arg(long, value_name = "TIME")]
    pub(crate) max_lateness: Option<Nanos>,
}

/// What can run a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// Every segment, ACK, queue and timer, simulated.
    Packet,
    /// The differential equations: means only, no packets. One run of each policy says all.
    Fluid,
    /// The machine's own MPTCP stack over emulated links, in real time. Needs root.
    Kernel,
    /// The machine's real interfaces. Not in this version.
    Live,
}

/// `key=value`; the value may contain more equals signs.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write a key, an equals sign and a value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_contain_equals_signs() {
        assert_eq!(key_value("a.b = x=y"), Ok(("a.b".to_owned(), "x=y".to_owned())));
        assert!(key_value("a.b").is_err() && key_value("=1").is_err());
    }
}
