//! Page of a search: for each claim a sentence, the region where it holds, and the open parameters.

use askama::Template;

use super::assets::Assets;
use super::papers::{Group, Judged, by_paper};
use crate::machine::ReportError;
use crate::search::{Claim, Count, Holds, Search, commits, counts, region};

const VERDICTS: [Holds; Holds::ALL.len()] = Holds::ALL;

/// One self-contained page, like [`crate::html`].
///
/// # Errors
/// If the template fails.
pub fn search_html(all: &Search) -> Result<String, ReportError> {
    let section = |claim| {
        let open = all
            .box_of(claim)
            .filter(|searched| !searched.parameters.is_empty());
        let label = format!("Tested range of {}", claim.id);
        let open = open
            .map(|searched| searched.what_was_open().labelled_html(&label))
            .transpose()?;
        Ok(Section {
            claim,
            open,
            picture: region(all, claim).map(|plot| plot.html()),
        })
    };
    let page = Page {
        all,
        groups: by_paper(
            all.claims
                .iter()
                .map(section)
                .collect::<Result<Vec<_>, ReportError>>()?,
        ),
        assets: Assets::new(&[include_str!("../../assets/reproduction.css")], &())?,
    };
    Ok(page.render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "search.html")]
struct Page<'a> {
    all: &'a Search,
    groups: Vec<Group<Section<'a>>>,
    assets: Assets,
}

struct Section<'a> {
    claim: &'a Claim,
    /// Table of the parameters that the paper leaves open.
    open: Option<String>,
    /// Plot of the region.
    picture: Option<String>,
}

impl Judged for Section<'_> {
    type Verdict = Holds;

    fn id(&self) -> &str {
        &self.claim.id
    }

    fn paper(&self) -> &str {
        self.claim.paper()
    }

    fn verdict(&self) -> Holds {
        self.claim.verdict
    }
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let all = self.all;
        let mut chips = vec![format!("{} claims", all.claims.len() + all.left_out.len())];
        if !all.merged {
            chips.push(format!("{} runs", all.runs));
        }
        chips.push(format!("seed {}", all.seed));
        chips.extend(commits(all.claims.iter()));
        chips
    }

    /// Number of claims, in total and by verdict.
    fn answer(&self) -> String {
        format!(
            "Of {} claims: {}.",
            self.all.claims.len() + self.all.left_out.len(),
            counts(self.all)
        )
    }

    fn counts(&self) -> Vec<(Holds, Count)> {
        let count = |verdict: Holds| {
            (
                verdict,
                self.all
                    .counts
                    .get(verdict.name())
                    .copied()
                    .unwrap_or_default(),
            )
        };
        Holds::ALL
            .map(count)
            .into_iter()
            .filter(|(_, count)| count.rows > 0)
            .collect()
    }
}

/// Class for style sheets: the colours of the scoreboard.
fn class(verdict: &Holds) -> &'static str {
    match verdict {
        Holds::Throughout => "reproduced",
        Holds::When => "direction",
        Holds::Nowhere => "not",
        Holds::Undetermined => "cannot",
        Holds::Erratum => "erratum",
    }
}

/// Sign for readers who do not see the colour.
fn sign(verdict: &Holds) -> &'static str {
    match verdict {
        Holds::Throughout => "✓",
        Holds::When => "↗",
        Holds::Nowhere => "✗",
        Holds::Undetermined => "–",
        Holds::Erratum => "!",
    }
}
