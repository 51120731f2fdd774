//! The page of a search: one sentence a claim, the region where it holds, and what was open.

use askama::Template;

use super::assets::Assets;
use crate::machine::ReportError;
use crate::search::{Claim, Count, Holds, Search, counts, region_svg};

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/scroll.js"),
    include_str!("../../assets/js/filter.js"),
    include_str!("../../assets/js/search.js"),
];

/// One self-contained page, as [`crate::html`].
///
/// # Errors
/// If a number fits no JSON.
pub fn search_html(all: &Search) -> Result<String, ReportError> {
    let styles = [include_str!("../../assets/reproduction.css"), include_str!("../../assets/search.css")];
    let section = |claim| {
        let open = all.box_of(claim).filter(|searched| !searched.parameters.is_empty());
        let label = format!("The box of {}", claim.id);
        let open = open.map(|searched| searched.what_was_open().labelled_html(&label)).transpose()?;
        Ok(Section { claim, open, picture: region_svg(all, claim) })
    };
    let page = Page {
        all,
        groups: groups(all.claims.iter().map(section).collect::<Result<_, ReportError>>()?),
        assets: Assets::new(&styles, &SCRIPTS, &())?,
    };
    Ok(page.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "search.html")]
struct Page<'a> {
    all: &'a Search,
    groups: Vec<Group<'a>>,
    assets: Assets,
}

/// The claims of one paper.
struct Group<'a> {
    paper: &'a str,
    sections: Vec<Section<'a>>,
}

impl Group<'_> {
    /// By verdict: how many, and the first of them.
    fn counts(&self) -> [(Holds, usize, Option<&str>); Holds::ALL.len()] {
        Holds::ALL.map(|verdict| {
            let of = || self.sections.iter().filter(|section| section.claim.verdict == verdict);
            (verdict, of().count(), of().next().map(|section| section.claim.id.as_str()))
        })
    }
}

fn groups(sections: Vec<Section<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for section in sections {
        match groups.last_mut() {
            Some(group) if group.paper == section.claim.paper() => group.sections.push(section),
            _ => groups.push(Group { paper: section.claim.paper(), sections: vec![section] }),
        }
    }
    groups
}

/// For headings.
fn name(paper: &str) -> String {
    if paper == "claim" { "Headline claims".into() } else { format!("Paper {paper}") }
}

/// One claim.
struct Section<'a> {
    claim: &'a Claim,
    /// What the paper leaves open, as a table.
    open: Option<String>,
    /// As SVG; its texts are escaped.
    picture: Option<String>,
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let all = self.all;
        vec![
            format!("{} claims", all.claims.len()),
            format!("{} runs", all.runs),
            format!("seed {}", all.seed),
            // A commit is known by its first digits.
            format!("commit {}", all.commit.chars().take(12).collect::<String>()),
        ]
    }

    /// How many claims there are, and how many have which verdict.
    fn answer(&self) -> String {
        format!("Of {} claims: {}.", self.all.claims.len(), counts(self.all))
    }

    fn counts(&self) -> Vec<(Holds, Count)> {
        let count =
            |verdict: Holds| (verdict, self.all.counts.get(verdict.name()).copied().unwrap_or_default());
        Holds::ALL.map(count).into_iter().filter(|(_, count)| count.rows > 0).collect()
    }
}

/// For style sheets: the colours of the scoreboard.
fn class(verdict: &Holds) -> &'static str {
    match verdict {
        Holds::Throughout => "reproduced",
        Holds::When => "direction",
        Holds::Nowhere => "not",
        Holds::Undetermined => "cannot",
        Holds::Erratum => "erratum",
    }
}

/// For those who do not see the colour.
fn sign(verdict: &Holds) -> &'static str {
    match verdict {
        Holds::Throughout => "✓",
        Holds::When => "↗",
        Holds::Nowhere => "✗",
        Holds::Undetermined => "–",
        Holds::Erratum => "!",
    }
}
