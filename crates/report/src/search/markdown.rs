//! The search for the papers' pages in `docs/papers`.

use super::picture::has_region;
use super::table::counts;
use super::{Claim, Fit, Holds, Search, SearchedBox, commits};
use crate::Since;
use crate::table::{Cell, Column, Line, Table};

/// One sentence for each claim of a paper, with pictures of the regions from the folder `pictures`
/// next to the page; empty if the search has no claim of the paper.
pub fn search_markdown(all: &Search, paper: &str, pictures: &str) -> String {
    let claims: Vec<&Claim> = all
        .claims
        .iter()
        .filter(|claim| claim.paper() == paper)
        .collect();
    if claims.is_empty() {
        return String::new();
    }
    let mut text: String = claims.iter().map(|claim| line(claim)).collect();
    let is_of = |id: &&String| id.split('-').next() == Some(paper);
    text += &left_out(all.left_out.iter().filter(is_of));
    for (place, fit) in all
        .fits
        .iter()
        .filter(|fit| fit.in_box.starts_with(paper))
        .enumerate()
    {
        text += if place == 0 { "\n" } else { "" };
        text += &format!("{}\n", fit.words());
    }
    text += &format!("\n{}", provenance(all, &claims));
    for claim in claims.iter().filter(|claim| has_region(all, claim)) {
        let file = format!("{pictures}/{}.svg", file_name(&claim.id));
        text += &format!("\n![`{}`: where it holds]({file})\n", claim.id);
    }
    let commands: Vec<&&Claim> = claims
        .iter()
        .filter(|claim| claim.verdict == Holds::When)
        .collect();
    if !commands.is_empty() {
        text += "\nCommands for the nearest points:\n\n```\n";
        text.extend(commands.iter().map(|claim| format!("{}\n", claim.command)));
        text += "```\n";
    }
    text + &what_was_open(all, paper)
}

/// All claims in one list, with the numbers of rows and causes by verdict.
pub fn search_summary(all: &Search) -> String {
    let claims: Vec<&Claim> = all.claims.iter().collect();
    let mut text = format!("{}.\n\n", counts(all));
    for claim in &all.claims {
        text += &line(claim);
    }
    text += &left_out(all.left_out.iter());
    text + "\n" + &provenance(all, &claims)
}

/// Number of claims by verdict, for a page that links to the sentences.
pub fn search_short_markdown(all: &Search) -> String {
    format!(
        "Of {} claims: {}.\n",
        all.claims.len() + all.left_out.len(),
        counts(all)
    )
}

/// What made `claims`, and what the numbers in their sentences are.
fn provenance(all: &Search, claims: &[&Claim]) -> String {
    let made = match all.merged {
        false => {
            let minutes = (all.run_s / 60.0).ceil();
            format!(
                "`{}`: {} runs, {minutes:.0} minutes of one core.",
                all.command, all.runs
            )
        }
        true => {
            let commits: Vec<String> = commits(claims.iter().copied()).into_iter().collect();
            format!("Searched by {}.", commits.join(", "))
        }
    };
    format!("{made} Percentages have 95 % intervals.\n")
}

/// Names the rows that were not searched, one line; empty without any.
fn left_out<'a>(ids: impl Iterator<Item = &'a String>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("`{id}`")).collect();
    if ids.is_empty() {
        String::new()
    } else {
        format!("- Not searched: {}.\n", ids.join(", "))
    }
}

fn line(claim: &Claim) -> String {
    let since = match &claim.made {
        Some(made) if made.since != Since::Same => format!(" ({})", made.words()),
        _ => String::new(),
    };
    format!(
        "- `{}`, {}: **{}**{since}\n",
        claim.id, claim.claim, claim.sentence
    )
}

/// Parameters of a paper's boxes, with their reasons.
fn what_was_open(all: &Search, paper: &str) -> String {
    let mut text = String::new();
    for searched in all
        .boxes
        .iter()
        .filter(|searched| searched.name.starts_with(paper))
    {
        if searched.parameters.is_empty() {
            continue;
        }
        text += &format!(
            "\n<details><summary>Tested range of {}: {} settings, {} seeds each</summary>\n\n\
             {}\n</details>\n",
            searched.name,
            searched.points.len(),
            searched.seeds,
            searched.what_was_open().markdown()
        );
    }
    text
}

impl SearchedBox {
    /// Table of the parameters that the paper leaves open, with the reasons for their ranges.
    pub(crate) fn what_was_open(&self) -> Table {
        let columns = ["open", "from … to", "default", "why"].map(Column::words);
        Table::new(columns).with(self.parameters.iter().map(|open| {
            let key = format!("`{}`", open.key);
            Line::new([&key, &open.values, &open.usual, &open.reason].map(Cell::text))
        }))
    }
}

/// The id as a file name: `002-fig5a/6` contains a slash.
pub(super) fn file_name(id: &str) -> String {
    id.replace('/', "-")
}

impl Fit {
    /// Whether a setting fits the paper's numbers, in a sentence.
    pub fn words(&self) -> String {
        let values: Vec<String> = self
            .changed
            .iter()
            .map(|key| format!("{key} = {}", self.at.get(key).map_or("", String::as_str)))
            .collect();
        let place = if values.is_empty() {
            "the default setting".to_owned()
        } else {
            values.join(", ")
        };
        let verdict = match self.fits {
            true => "A setting fits all of them".to_owned(),
            false => format!("None of {} settings fits all of them", self.points),
        };
        let usual = self.usual_loss.map_or(String::new(), |loss| {
            format!(", at the default setting {loss:.2}")
        });
        format!(
            "Best-fitting setting, {}: {} printed numbers. {verdict}. The best, {place}, has an RMS error of \
             {:.2} tolerances{usual}. The largest error is {:.1} tolerances: {}.",
            self.in_box, self.numbers, self.loss, self.worst, self.worst_number
        )
    }
}
