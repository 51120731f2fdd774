//! Limits that no policy of a comparison comes near.

use joulepath_model::metric::GOODPUT;
use joulepath_model::result::{Reference, Row};

use crate::sheet::reference_name;
use crate::summary::{LINK_BOUND, TCP_REFERENCE};

/// A limit that lets data wait is shown if some row reaches this part of it.
const LEAST_PART: f64 = 0.5;

/// Removes the limits that let data wait and of which no row reaches half, and the rows' shares of
/// them. Returns how near the best row comes.
///
/// These limits let data wait and radios sleep meanwhile for longer than any policy here does, so a
/// share of them says more about the limit than about the policy. Other limits stay.
pub fn leave_out_of_reach(limits: &mut Vec<Reference>, rows: &mut [Row]) -> Option<String> {
    let mut missing = vec![];
    limits.retain(|limit| {
        let best = rows
            .iter_mut()
            .filter_map(|row| *share(row, &limit.kind)?)
            .max_by(f64::total_cmp);
        let Some(best) = best.filter(|&best| best < LEAST_PART && lets_data_wait(limit, rows))
        else {
            return true;
        };
        for row in rows.iter_mut() {
            if let Some(share) = share(row, &limit.kind) {
                *share = None;
            }
        }
        missing.push((
            reference_name(&limit.kind),
            format!("{:.0} %", 100.0 * best),
        ));
        false
    });
    let (names, parts): (Vec<String>, Vec<String>) = missing.into_iter().unzip();
    (!names.is_empty()).then(|| {
        format!(
            "No {}: the best policy here reaches {} of it. For this, data would have to wait while radios \
             sleep.",
            names.join(", no "),
            parts.join(" and ")
        )
    })
}

/// Whether the limit is of streams or messages, or carries endless data at less than half of every
/// row's rate.
fn lets_data_wait(limit: &Reference, rows: &[Row]) -> bool {
    let slowest = rows
        .iter()
        .filter_map(|row| Some(row.estimate(&GOODPUT)?.mean))
        .min_by(f64::total_cmp);
    limit.delivers.is_some()
        || limit.energy_j.is_none()
            && slowest.is_some_and(|slowest| limit.goodput_bps < LEAST_PART * slowest)
}

/// A row's share of the limit of this kind.
fn share<'a>(row: &'a mut Row, kind: &str) -> Option<&'a mut Option<f64>> {
    match kind {
        TCP_REFERENCE => Some(&mut row.tcp_reference_share),
        LINK_BOUND => Some(&mut row.link_bound_share),
        _ => None,
    }
}
