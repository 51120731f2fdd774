//! A path's history as TOML.

use super::exact::Exact;
use crate::history::{Estimate, PathHistory};
use crate::units::{BitRate, Nanos, Probability};

/// A path's history as an inline table: the value of `history` in a scenario's path.
pub fn path_history(known: &PathHistory) -> String {
    let mut keys = vec![];
    let mut estimate = |name: &str, estimate: Option<Estimate>, write: &dyn Fn(f64) -> String| {
        if let Some(Estimate { median, spread }) = estimate {
            keys.push(format!(
                "{name} = {}, {name}_spread = {spread:.3}",
                write(median)
            ));
        }
    };
    estimate("rate", known.rate_bps, &|bps| {
        BitRate::from_bps(bps.max(1.0) as u64).exact()
    });
    estimate("rtt", known.rtt_s, &|s| {
        Nanos::from_secs_f64(s).max(Nanos(1)).exact()
    });
    estimate("loss", known.loss, &|p| {
        Probability::new(p).unwrap_or_default().exact()
    });
    if known.age_days > 0.0 {
        keys.push(format!("age_days = {:.4}", known.age_days));
    }
    format!("{{ {} }}", keys.join(", "))
}
