//! Page of a scoreboard: every experiment with its verdict, then a section for each with findings
//! and figures.

use askama::Template;

use super::assets::Assets;
use super::figures::figure_html;
use super::papers::{Group, Judged, by_paper};
use crate::machine::ReportError;
use crate::reproduction::{Agreement, Finding, Report, Reproduction, Shown, Verdict};
use crate::text::count;

const VERDICTS: [Verdict; Verdict::ALL.len()] = Verdict::ALL;

/// One self-contained page, like [`crate::html`]: the scoreboard, and all figures with our numbers
/// and the stated ones.
///
/// # Errors
/// If the template fails.
pub fn reproduction_html(all: &Reproduction) -> Result<String, ReportError> {
    let page = Page {
        all,
        groups: by_paper(sections(all)),
        assets: Assets::new(&[include_str!("../../assets/reproduction.css")], &())?,
    };
    Ok(page.render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "reproduction.html")]
struct Page<'a> {
    all: &'a Reproduction,
    groups: Vec<Group<Section<'a>>>,
    assets: Assets,
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let all = self.all;
        let experiments = self.groups.iter().map(Group::count).sum::<usize>();
        let mut chips = vec![count(experiments, "experiment"), all.extent.clone()];
        chips.extend(all.cost());
        chips
    }

    /// For each verdict: number of experiments, and of their independent causes.
    fn counts(&self) -> [(Verdict, usize, usize); Verdict::ALL.len()] {
        Verdict::ALL.map(|verdict| {
            (
                verdict,
                self.all.count(verdict),
                self.all.causes(Some(verdict)),
            )
        })
    }

    /// Numbers of experiments in which the kernel agrees, differs, and decides nothing.
    fn kernel_counts(&self) -> [usize; Agreement::ALL.len()] {
        self.all.kernel_counts()
    }

    /// Kinds of experiments without repetition, in the order of the experiments.
    fn kinds(&self) -> Vec<&'static str> {
        each_once(self.all.experiments.iter().map(Report::kind))
    }

    /// Engines without repetition, in the order of the experiments.
    fn engines(&self) -> Vec<&str> {
        each_once(
            self.all
                .experiments
                .iter()
                .flat_map(|report| &report.engines)
                .map(String::as_str),
        )
    }
}

fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut known, item| {
        if !known.contains(&item) {
            known.push(item);
        }
        known
    })
}

impl Reproduction {
    /// Runs, time and commit, for the head of a page; nothing for rows of several commands.
    pub(super) fn cost(&self) -> Vec<String> {
        if self.merged {
            return vec![];
        }
        // The first digits identify a commit.
        let commit = self.commit.chars().take(12).collect::<String>();
        vec![
            format!("{} runs", self.runs),
            time_of_one_core(&self.run_s),
            format!("commit {commit}"),
        ]
    }

    /// The commit and the cost of its command, or that there are several.
    pub(super) fn origin(&self) -> String {
        if self.merged {
            return "The rows are of several commands: each names its commit.".to_owned();
        }
        let time = time_of_one_core(&self.run_s);
        format!(
            "commit {}, {} cores, {} runs, {time}",
            self.commit, self.cores, self.runs
        )
    }
}

/// Text such as `85 min of one core`.
fn time_of_one_core(run_s: &f64) -> String {
    format!("{:.0} min of one core", (run_s / 60.0).ceil())
}

struct Section<'a> {
    report: &'a Report,
    rows: Vec<Row<'a>>,
    figures: Vec<String>,
}

impl Judged for Section<'_> {
    type Verdict = Verdict;

    fn id(&self) -> &str {
        &self.report.id
    }

    fn paper(&self) -> &str {
        self.report.paper()
    }

    fn verdict(&self) -> Verdict {
        self.report.verdict
    }

    fn is_counted(&self) -> bool {
        !self.report.is_ours
    }
}

impl Section<'_> {
    /// Words for the filters: the engines, and the kernel's agreement.
    fn engine_words(&self) -> String {
        let kernel = self
            .report
            .kernel
            .as_ref()
            .map(|kernel| match kernel.agreement {
                Agreement::Differs => "kernel kernel-differs",
                Agreement::Agrees | Agreement::Inconclusive => "kernel",
            });
        let none = self.report.engines.is_empty().then_some("none");
        let engines = self.report.engines.iter().map(String::as_str);
        engines
            .chain(none)
            .chain(kernel)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Number of values behind the kernel's findings: `n 5`, `n 3–15`.
    fn kernel_n(&self) -> String {
        let values = self
            .report
            .kernel
            .iter()
            .flat_map(|kernel| &kernel.findings)
            .map(|finding| finding.n);
        match (values.clone().min(), values.max()) {
            (Some(least), Some(most)) if least < most => format!("n {least}–{most}"),
            (Some(n), _) => format!("n {n}"),
            (None, _) => String::new(),
        }
    }
}

/// A line of the table of findings.
pub(super) struct Row<'a> {
    pub(super) finding: &'a Finding,
    pub(super) shown: Shown,
    /// Whether it was measured in the kernel.
    pub(super) is_kernel: bool,
}

impl<'a> Row<'a> {
    fn of(finding: &'a Finding, is_kernel: bool) -> Self {
        Row {
            finding,
            shown: finding.shown(),
            is_kernel,
        }
    }
}

fn sections(all: &Reproduction) -> impl Iterator<Item = Section<'_>> {
    all.experiments.iter().map(|report| Section {
        report,
        rows: rows(report),
        figures: report.figures.iter().map(figure_html).collect(),
    })
}

/// Each finding, followed by the kernel's finding of the same name; then findings of the kernel
/// only.
pub(super) fn rows(report: &Report) -> Vec<Row<'_>> {
    let second = report
        .kernel
        .as_ref()
        .map_or(&[][..], |kernel| &kernel.findings);
    let real = |finding| Row::of(finding, true);
    let mut rows = Vec::new();
    for finding in &report.findings {
        rows.push(Row::of(finding, false));
        rows.extend(
            second
                .iter()
                .filter(|other| other.what == finding.what)
                .map(real),
        );
    }
    let alone = |other: &&Finding| {
        report
            .findings
            .iter()
            .all(|finding| finding.what != other.what)
    };
    rows.extend(second.iter().filter(alone).map(real));
    rows
}

/// Class for style sheets and filters.
pub(super) fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::InSimulation => "simulation",
        Verdict::DirectionOnly => "direction",
        Verdict::Inconclusive => "unsure",
        Verdict::NotReproduced => "not",
        Verdict::Erratum => "erratum",
        Verdict::NotTestable => "cannot",
        Verdict::NotRun => "missing",
    }
}

/// Sign for readers who do not see the colour.
pub(super) fn sign(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "✓",
        Verdict::InSimulation => "~",
        Verdict::DirectionOnly => "↗",
        Verdict::Inconclusive => "?",
        Verdict::NotReproduced => "✗",
        Verdict::Erratum => "!",
        Verdict::NotTestable => "–",
        Verdict::NotRun => "…",
    }
}
