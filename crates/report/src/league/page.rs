//! The page of the league.

use super::table::{LABEL_WHOLE, cells, families, notes, title};
use super::{League, Metric, Row, front};
use crate::html::league::{LeagueLine, LeaguePage, league_html};
use crate::machine::ReportError;

/// One self-contained page: the front, the tiers, each family.
///
/// # Errors
/// If the template fails.
pub fn html(league: &League) -> Result<String, ReportError> {
    let families = families(league);
    let line = |policy: &Row| {
        let [tier, label, numbers @ ..] = cells(policy, LABEL_WHOLE);
        let of_family = |family: &&str| match policy.in_family(family, Metric::Score) {
            Some(score) => format!("{:.0}", 100.0 * score),
            None => "–".to_owned(),
        };
        LeagueLine {
            tier,
            label,
            parts: policy.parts.clone(),
            numbers: numbers.to_vec(),
            families: families.iter().map(of_family).collect(),
        }
    };
    league_html(&LeaguePage {
        title: title(league),
        families: families.iter().map(|&family| family.to_owned()).collect(),
        lines: league.policies.iter().map(line).collect(),
        front: front(league),
        notes: notes(league).collect(),
        command: league.provenance.command.clone(),
        version: league.provenance.version.clone(),
        commit: league.provenance.commit.clone(),
        partial: league.partial,
    })
}
