//! The search for a terminal: one sentence for each claim.

use std::collections::BTreeSet;

use super::{Holds, Search};

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Claims with their sentences, at most `width` characters wide; `color` highlights verdicts.
pub fn search_table(all: &Search, width: usize, color: bool) -> String {
    let strong = |text: &str| {
        if color {
            format!("{BOLD}{text}{PLAIN}")
        } else {
            text.to_owned()
        }
    };
    let title = format!(
        "Where the papers' claims hold · {} claims · {} runs · seed {}",
        all.claims.len(),
        all.runs,
        all.seed
    );
    let mut text = strong(&title) + "\n\n";
    if all.partial {
        text += "PARTIAL: some runs are missing; the same command resumes them.\n\n";
    }
    let widest = all
        .claims
        .iter()
        .map(|claim| claim.id.chars().count())
        .max()
        .unwrap_or(0);
    let indent = " ".repeat(widest + 2);
    for claim in &all.claims {
        let line = format!("{:widest$}  {}", claim.id, claim.sentence);
        let options = textwrap::Options::new(width.max(widest + 30)).subsequent_indent(&indent);
        text += &textwrap::fill(&line, options).replacen(&claim.id, &strong(&claim.id), 1);
        text += "\n";
        if claim.verdict == Holds::When {
            text += &format!("{indent}{}\n", claim.command);
        }
    }
    for fit in &all.fits {
        text += "\n";
        text += &textwrap::fill(
            &fit.words(),
            textwrap::Options::new(width.max(40)).subsequent_indent("  "),
        );
    }
    text + "\n\n" + &textwrap::fill(&counts(all), width.max(40)) + "\n"
}

/// Such as `3 hold throughout, 25 hold in a part of the tested range (19 independent causes), …; 40
/// independent causes in all`. A cause can have rows with different verdicts.
pub(crate) fn counts(all: &Search) -> String {
    let count = |verdict: Holds| {
        let count = all.counts.get(verdict.name()).copied().unwrap_or_default();
        let causes = match count.causes {
            causes if causes == count.rows => String::new(),
            1 => " (1 independent cause)".to_owned(),
            causes => format!(" ({causes} independent causes)"),
        };
        let words = match (verdict, count.rows) {
            (Holds::Throughout, 1) => "holds throughout",
            (Holds::Throughout, _) => "hold throughout",
            (Holds::When, 1) => "holds in a part of the tested range",
            (Holds::When, _) => "hold in a part of the tested range",
            (Holds::Nowhere, _) => "contradicted throughout",
            (Holds::Undetermined, _) => "undetermined",
            (Holds::Erratum, 1) => "erratum",
            (Holds::Erratum, _) => "errata",
        };
        // Of the settings that were drawn first, none.
        let added = all
            .claims
            .iter()
            .filter(|claim| verdict == Holds::When && claim.verdict == verdict)
            .filter(|claim| claim.in_box.is_some() && claim.part_holds == 0.0)
            .count();
        let added = match added {
            0 => String::new(),
            added => format!(", {added} of them only at settings added by refinement"),
        };
        (count.rows > 0).then(|| format!("{} {words}{added}{causes}", count.rows))
    };
    let left_out = (!all.left_out.is_empty()).then(|| {
        let ids = all.left_out.join(", ");
        format!("{} not searched ({ids})", all.left_out.len())
    });
    let causes: BTreeSet<&str> = all
        .claims
        .iter()
        .map(|claim| claim.cause.as_str())
        .collect();
    let parts: Vec<String> = Holds::ALL
        .into_iter()
        .filter_map(count)
        .chain(left_out)
        .collect();
    let causes = match causes.len() {
        1 => "1 independent cause".to_owned(),
        causes => format!("{causes} independent causes"),
    };
    format!("{}; {causes} in all", parts.join(", "))
}
