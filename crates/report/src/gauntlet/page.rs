//! The page of the gauntlet.

use super::Gauntlet;
use super::blocks::{BESIDE, beside, blocks, notes, title};
use crate::html::gauntlet::{GauntletBlock, GauntletLine, GauntletPage, gauntlet_html};
use crate::machine::ReportError;

/// One self-contained page: a table for each family, and what happened beside single paths and TCPs.
///
/// # Errors
/// If the template fails.
pub fn html(gauntlet: &Gauntlet) -> Result<String, ReportError> {
    let parts = |label: &str| {
        let row = gauntlet.contenders.iter().find(|row| label.starts_with(&row.label));
        row.map(|row| row.parts.clone()).unwrap_or_default()
    };
    let block = |block: super::blocks::Block| GauntletBlock {
        lines: block
            .lines
            .into_iter()
            .map(|line| GauntletLine {
                parts: parts(&line.label),
                label: line.label,
                start: line.start,
                cells: line.cells.into_iter().flatten().collect(),
            })
            .collect(),
        name: block.family,
        what: block.what,
        draws: block.draws,
        columns: block.columns,
    };
    let line = |(label, start, counts): (String, &'static str, [String; 4])| GauntletLine {
        parts: parts(&label),
        label,
        start,
        cells: counts.to_vec(),
    };
    gauntlet_html(&GauntletPage {
        title: title(gauntlet),
        blocks: blocks(gauntlet).into_iter().map(block).collect(),
        beside_heads: BESIDE.to_vec(),
        beside: beside(gauntlet).into_iter().map(line).collect(),
        notes: notes(gauntlet),
        command: gauntlet.provenance.command.clone(),
        version: gauntlet.provenance.version.clone(),
        commit: gauntlet.provenance.commit.clone(),
        partial: gauntlet.partial,
    })
}
