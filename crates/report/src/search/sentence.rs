//! Verdict of a search in one sentence, generated from its numbers.

use super::{Claim, Holds};

/// A fraction with its interval: `12 % [5, 24] of the tested range`.
fn part(claim: &Claim, name: &str, part: f64) -> String {
    let percent = |part: f64| format!("{:.0}", 100.0 * part);
    match claim.intervals.get(name) {
        Some((low, high)) => {
            format!(
                "{} % [{}, {}] of the tested range",
                percent(part),
                percent(*low),
                percent(*high)
            )
        }
        None => format!("{} % of the tested range", percent(part)),
    }
}

/// Sentence on where the claim holds.
pub fn sentence(claim: &Claim) -> String {
    let said = verdict(claim);
    match claim.not_searched.as_slice() {
        [] => said,
        all => format!("{said} Not searched: {}.", all.join("; ")),
    }
}

fn verdict(claim: &Claim) -> String {
    match claim.verdict {
        Holds::Erratum => format!("Erratum: {}.", end(&claim.reason)),
        Holds::Undetermined if claim.states.len() > 1 => format!(
            "Undetermined: it fails in {}, is undecided in {}, and no setting held again with new seeds; \
             at the default setting, {}.",
            part(claim, "fails", claim.part_fails),
            part(claim, "undecided", claim.part_undecided),
            end(&claim.reason)
        ),
        Holds::Undetermined => format!("Undetermined: {}.", end(&claim.reason)),
        Holds::Throughout if claim.states.len() <= 1 => {
            format!(
                "Holds in the one system that was run: {}.",
                end(&claim.reason)
            )
        }
        Holds::Throughout => {
            format!(
                "Holds throughout: in {}.",
                part(claim, "holds", claim.part_holds)
            )
        }
        Holds::Nowhere => {
            let direction = match claim.part_direction {
                0.0 => String::new(),
                of => format!(
                    "; the effect has the stated sign, but not the size, in {:.0} %",
                    100.0 * of
                ),
            };
            let tried = claim.states.len();
            let fails = part(claim, "fails", claim.part_fails);
            format!(
                "Contradicted throughout: at none of {tried} settings does it hold, and it fails in {fails}\
                 {direction}; at the default setting, {}.",
                end(&claim.reason)
            )
        }
        Holds::When => when(claim),
    }
}

fn when(claim: &Claim) -> String {
    let holds = part(claim, "holds", claim.part_holds);
    let region = match claim.when.conditions.as_slice() {
        [] if claim.part_holds > 0.0 => {
            format!("Holds in {holds}, without a condition that says where")
        }
        [] => "Holds only at settings added by refinement, at none of those drawn first".to_owned(),
        conditions => format!(
            "Holds when {} ({} of {} new settings there); in {holds}",
            conditions.join(" and "),
            claim.when.holding,
            claim.when.points
        ),
    };
    let near = match (&claim.nearest, claim.changed.as_slice()) {
        (None, _) => String::new(),
        (Some(_), []) => "; also at the default setting".to_owned(),
        (Some(at), changed) => {
            let values: Vec<String> = changed
                .iter()
                .map(|key| format!("{key} = {}", at.get(key).map_or("", String::as_str)))
                .collect();
            format!("; nearest to the default setting: {}", values.join(", "))
        }
    };
    format!("{region}{near}.")
}

/// The reason without its full stop.
fn end(reason: &str) -> &str {
    if reason.is_empty() {
        "nothing was measured"
    } else {
        reason.trim_end_matches('.')
    }
}
