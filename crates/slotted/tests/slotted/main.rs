//! The slotted system against known values, conservation laws, and theory.

mod engines;
mod known;
mod properties;
mod windows;

use joulepath_model::cancel::Cancel;
use joulepath_slotted::{Params, Policy, SlottedResult, run};

fn ran(params: &Params, policy: Policy, seed: u64) -> SlottedResult {
    run(params, policy, seed, &Cancel::new()).expect("the parameters fit")
}
