//! The form of a table of power by signal and rates.

/// Power of one radio by signal and rates, fitted by `scripts/radios.py`. mW above the idle phone.
#[derive(Debug, PartialEq)]
pub struct RadioTable {
    pub(super) signals_dbm: &'static [f64],
    pub(super) down_mbps: &'static [f64],
    pub(super) up_mbps: &'static [f64],
    pub(super) down_mw: &'static [&'static [f64]],
    pub(super) up_mw: &'static [&'static [f64]],
    pub(super) fastest_down: &'static [(f64, f64)],
    pub(super) fastest_up: &'static [(f64, f64)],
}
