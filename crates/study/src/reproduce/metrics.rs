//! Numbers of a run that several experiments measure, in the units of the papers.

use joulepath_model::result::RunResult;

pub(super) fn goodput_kbps(run: &RunResult) -> f64 {
    run.goodput_bps / 1e3
}

pub(super) fn goodput_mbps(run: &RunResult) -> f64 {
    run.goodput_bps / 1e6
}

pub(super) fn goodput_gbps(run: &RunResult) -> f64 {
    run.goodput_bps / 1e9
}

pub(super) fn watts(run: &RunResult) -> f64 {
    run.power_w
}

pub(super) fn joules(run: &RunResult) -> f64 {
    run.energy_j
}

pub(super) fn joules_per_gbit(run: &RunResult) -> f64 {
    1e9 / run.bits_per_joule
}

pub(super) fn kbit_per_joule(run: &RunResult) -> f64 {
    run.bits_per_joule / 1e3
}
