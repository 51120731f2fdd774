//! The page of a scoreboard: every experiment with its verdict, then a section for each with its findings and figures.

use askama::Template;

use super::assets::Assets;
use super::figures::drawn;
use crate::machine::ReportError;
use crate::reproduction::{Figure, Finding, Report, Reproduction, Verdict};

/// The page's scripts, in the order in which they need each other.
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/js/format.js"),
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/card.js"),
    include_str!("../../assets/js/tip.js"),
    include_str!("../../assets/js/figure.js"),
    include_str!("../../assets/js/figure-lines.js"),
    include_str!("../../assets/js/figure-groups.js"),
    include_str!("../../assets/js/filter.js"),
    include_str!("../../assets/js/reproduction.js"),
];

/// One self-contained page, as [`crate::html`]: the scoreboard, and all figures with ours beside the stated numbers.
///
/// # Errors
/// If a number fits no JSON.
pub fn reproduction_html(all: &Reproduction) -> Result<String, ReportError> {
    let figures: Vec<_> = all.experiments.iter().flat_map(|report| &report.figures).map(drawn).collect();
    let page = Page {
        all,
        sections: sections(all),
        papers: all.papers(),
        assets: Assets::new(&[include_str!("../../assets/reproduction.css")], &SCRIPTS, &figures)?,
    };
    Ok(page.render()?)
}

/// What the template shows. Text is escaped by the template unless it says `safe`.
#[derive(Template)]
#[template(path = "reproduction.html")]
struct Page<'a> {
    all: &'a Reproduction,
    sections: Vec<Section<'a>>,
    /// `000`, `001`, each once.
    papers: Vec<&'a str>,
    assets: Assets,
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let all = self.all;
        let mut chips = vec![
            format!("{} experiments", all.experiments.len()),
            all.extent.clone(),
            format!("{} runs", all.runs),
            time_of_one_core(&all.run_s),
        ];
        // A commit is known by its first digits.
        chips.push(format!("commit {}", all.commit.chars().take(12).collect::<String>()));
        chips
    }

    fn counts(&self) -> [(Verdict, usize); 4] {
        Verdict::ALL.map(|verdict| (verdict, self.all.count(verdict)))
    }
}

/// `85 min of one core`.
fn time_of_one_core(run_s: &f64) -> String {
    format!("{:.0} min of one core", (run_s / 60.0).ceil())
}

/// One experiment.
struct Section<'a> {
    report: &'a Report,
    rows: Vec<Row<'a>>,
    /// With their places in the payload.
    figures: Vec<(usize, &'a Figure)>,
}

/// A line of the table of findings.
struct Row<'a> {
    finding: &'a Finding,
    /// Whether it was measured in the real stack.
    is_kernel: bool,
}

fn sections(all: &Reproduction) -> Vec<Section<'_>> {
    let mut place = 0..;
    let mut section = |report| Section {
        report,
        rows: rows(report),
        figures: place.by_ref().zip(&report.figures).collect(),
    };
    all.experiments.iter().map(&mut section).collect()
}

/// Each finding, and beneath it what the kernel says of the same; then what only the kernel says.
fn rows(report: &Report) -> Vec<Row<'_>> {
    let second = report.kernel.as_ref().map_or(&[][..], |kernel| &kernel.findings);
    let simulated = |finding| Row { finding, is_kernel: false };
    let real = |finding| Row { finding, is_kernel: true };
    let mut rows = Vec::new();
    for finding in &report.findings {
        rows.push(simulated(finding));
        rows.extend(second.iter().filter(|other| other.what == finding.what).map(real));
    }
    let alone = |other: &&Finding| report.findings.iter().all(|finding| finding.what != other.what);
    rows.extend(second.iter().filter(alone).map(real));
    rows
}

/// For style sheets and filters.
fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::DirectionOnly => "direction",
        Verdict::NotReproduced => "not",
        Verdict::CannotBe => "cannot",
    }
}

/// For those who do not see the colour.
fn sign(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "✓",
        Verdict::DirectionOnly => "↗",
        Verdict::NotReproduced => "✗",
        Verdict::CannotBe => "–",
    }
}

/// Mean, and the interval if there is one.
fn measured(finding: &Finding) -> (String, Option<String>) {
    let number = crate::reproduction::number;
    match finding.measured {
        None => ("–".to_owned(), None),
        Some(ours) if ours.lo == ours.hi => (number(ours.mean), None),
        Some(ours) => (number(ours.mean), Some(format!("[{}, {}]", number(ours.lo), number(ours.hi)))),
    }
}
