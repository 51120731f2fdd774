//! Page of one paper: each of its experiments with figures, the paper's numbers and ours, the
//! kernel's verdict, where the claim holds, and the origin of every value.

use askama::Template;

use super::assets::Assets;
use super::figures::figure_html;
use super::reproduction::{Row, class, rows, sign};
use crate::machine::ReportError;
use crate::reproduction::{
    Agreement, Figure, Made, Paper, Plot, Report, Reproduction, SecondMeasurement, SetUp, Verdict,
};
use crate::search::{Claim, Search};
use crate::text::count;

/// One self-contained page with the experiments of `paper` in `all`. The kernel's verdicts come
/// from `full` and the regions where claims hold from `search`, if `all` lacks them.
///
/// # Errors
/// If the template fails.
pub fn paper_html(
    all: &Reproduction,
    paper: &Paper,
    full: &Reproduction,
    search: &Search,
) -> Result<String, ReportError> {
    let is_of = |report: &&Report| report.paper() == paper.id;
    let section = |report| Section::of(report, all, full, search);
    let set_ups = all
        .set_ups
        .iter()
        .filter(|set_up| set_up.name.starts_with(&paper.id));
    let page = Page {
        all,
        paper,
        sections: all.experiments.iter().filter(is_of).map(section).collect(),
        set_ups: set_ups.collect(),
        assets: Assets::new(&[include_str!("../../assets/reproduction.css")], &())?,
    };
    Ok(page.render()?)
}

/// Data of the template, which escapes text unless it says `safe`.
#[derive(Template)]
#[template(path = "paper.html")]
struct Page<'a> {
    all: &'a Reproduction,
    paper: &'a Paper,
    sections: Vec<Section<'a>>,
    set_ups: Vec<&'a SetUp>,
    assets: Assets,
}

impl Page<'_> {
    fn chips(&self) -> Vec<String> {
        let mut chips = vec![
            count(self.sections.len(), "experiment"),
            self.all.extent.clone(),
        ];
        chips.extend(self.all.cost());
        chips
    }

    /// Number of experiments for each verdict.
    fn counts(&self) -> [(Verdict, usize); Verdict::ALL.len()] {
        let count = |verdict| {
            self.sections
                .iter()
                .filter(|section| section.report.verdict == verdict)
                .count()
        };
        Verdict::ALL.map(|verdict| (verdict, count(verdict)))
    }

    /// Numbers of experiments by the kernel's agreement and by its verdict, in words; empty without
    /// any.
    fn kernel_counts(&self) -> String {
        let kernels = || self.sections.iter().filter_map(|section| section.kernel);
        let count = |name: &str, is_it: &dyn Fn(&SecondMeasurement) -> bool| match kernels()
            .filter(|of| is_it(of))
            .count()
        {
            0 => None,
            n => Some(format!("{name} {n}")),
        };
        let agreements = Agreement::ALL
            .iter()
            .filter_map(|&wanted| count(wanted.name(), &|of| of.agreement == wanted));
        let verdicts = Verdict::ALL
            .iter()
            .filter_map(|&wanted| count(wanted.name(), &|of| of.verdict == wanted));
        let [agreements, verdicts] =
            [agreements.collect::<Vec<_>>(), verdicts.collect()].map(|all| all.join(", "));
        match kernels().count() {
            0 => String::new(),
            n => format!(
                "{n} of them also ran in the kernel. Compared with the simulator: {agreements}. \
                 Verdicts there: {verdicts}."
            ),
        }
    }
}

struct Section<'a> {
    report: &'a Report,
    rows: Vec<Row<'a>>,
    figures: Vec<Drawn>,
    /// The kernel's measurement, of this run or stored.
    kernel: Option<&'a SecondMeasurement>,
    is_kernel_stored: bool,
    /// The stored verdict with all seeds, for a run with fewer.
    with_all_seeds: Option<Verdict>,
    /// What made the stored row.
    made: Option<&'a Made>,
    /// Where the claim holds.
    claim: Option<&'a Claim>,
}

/// A figure as an element of the page.
struct Drawn {
    html: String,
    /// Whether it contains numbers of the paper.
    has_stated: bool,
}

impl<'a> Section<'a> {
    fn of(
        report: &'a Report,
        all: &Reproduction,
        full: &'a Reproduction,
        search: &'a Search,
    ) -> Self {
        let stored = full.experiments.iter().find(|other| other.id == report.id);
        let drawn = |figure: &Figure| Drawn {
            html: figure_html(figure),
            has_stated: has_stated(figure),
        };
        Section {
            report,
            rows: rows(report),
            figures: report.figures.iter().map(drawn).collect(),
            kernel: report
                .kernel
                .as_ref()
                .or(stored.and_then(|stored| stored.kernel.as_ref())),
            is_kernel_stored: report.kernel.is_none(),
            with_all_seeds: stored
                .filter(|_| all.extent != full.extent)
                .map(|stored| stored.verdict),
            made: stored.and_then(|stored| stored.made.as_ref()),
            claim: search.claims.iter().find(|claim| claim.id == report.id),
        }
    }

    /// What made the stored row, after a comma.
    fn stored_by(&self) -> String {
        self.made
            .map_or(String::new(), |made| format!(", {}", made.words()))
    }
}

/// Whether a figure has the paper's values.
fn has_stated(figure: &Figure) -> bool {
    match &figure.plot {
        Plot::Lines { lines, .. } => lines.iter().any(|line| line.stated),
        Plot::Bars { bars, .. } => bars.iter().any(|of| of.stated.iter().any(Option::is_some)),
        Plot::Boxes { .. } => false,
    }
}
