//! Results of one paper, for its page in `docs/papers`.

use super::{Finding, Report, Reproduction, Verdict};

/// The tables of the experiments whose id starts with `paper`; empty if there are none.
pub fn reproduction_markdown(all: &Reproduction, paper: &str) -> String {
    let reports: Vec<&Report> =
        all.experiments.iter().filter(|report| report.id.starts_with(paper)).collect();
    if reports.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "`{}`, {} runs, {:.0} minutes of one core. Intervals are 95 %, by bootstrap over seeds.\n\n\
         | experiment | claim | verdict |\n|---|---|---|\n",
        all.command,
        all.runs,
        (all.run_s / 60.0).ceil()
    );
    for report in &reports {
        text += &format!("| `{}` | {} | {} |\n", cell(&report.id), cell(&report.claim), verdict(report));
    }
    for report in reports {
        text += &section(report);
    }
    text
}

/// All experiments by paper: how many have which verdict, and each with its claim. Links lead to the papers'
/// pages.
pub fn reproduction_summary(all: &Reproduction) -> String {
    let mut text = format!(
        "`{}`: {} runs, {:.0} minutes of one core.\n\n| paper | {} |\n|---|{}\n",
        all.command,
        all.runs,
        (all.run_s / 60.0).ceil(),
        Verdict::ALL.map(Verdict::name).join(" | "),
        "---:|".repeat(Verdict::ALL.len())
    );
    let count = |wanted: Option<&str>| {
        let of_paper =
            |report: &&Report| !report.is_ours && wanted.is_none_or(|wanted| report.paper() == wanted);
        let many = |verdict| {
            all.experiments
                .iter()
                .filter(of_paper)
                .filter(|report| report.verdict == verdict)
                .count()
                .to_string()
        };
        Verdict::ALL.map(many).join(" | ")
    };
    for name in all.papers() {
        let page = if name == "claim" { "claims" } else { name };
        text += &format!("| [{page}]({page}.md) | {} |\n", count(Some(name)));
    }
    let causes = Verdict::ALL.map(|verdict| all.causes(verdict).to_string()).join(" | ");
    text += &format!(
        "| all | {} |\n| independent causes | {causes} |\n\n| experiment | claim | verdict | kernel |\n\
         |---|---|---|---|\n",
        count(None)
    );
    for report in &all.experiments {
        let kernel = report.kernel.as_ref().map_or(String::new(), |second| {
            let far =
                second.farthest.as_ref().map_or(String::new(), |far| format!(" ({})", cell(&far.words())));
            format!("{}{far}", second.agreement.name())
        });
        let (id, claim) = (cell(&report.id), cell(&report.claim));
        text += &format!("| `{id}` | {claim} | {} | {kernel} |\n", verdict(report));
    }
    text
}

/// With the reading that has it, and whether it is no paper's.
fn verdict(report: &Report) -> String {
    let reading = report.reading.as_ref().map_or(String::new(), |reading| format!(" ({})", cell(reading)));
    let ours = if report.is_ours { ", our own statement" } else { "" };
    format!("{}{reading}{ours}", report.verdict.name())
}

fn section(report: &Report) -> String {
    let text = format!(
        "\n### `{}`: {}\n\n{}. {} **{}.** {}",
        report.id,
        report.title,
        report.source,
        sentence(&report.claim),
        capital(&verdict(report)),
        sentence(&report.reason)
    );
    let mut text = text.trim_end().to_owned() + "\n";
    if report.missing > 0 {
        text += &format!("\n{} of its runs are missing.\n", report.missing);
    }
    if !report.findings.is_empty() {
        text += "\n| | stated | measured | n | verdict |\n|---|---|---|---|---|\n";
        text.extend(report.findings.iter().map(|finding| row(finding, "")));
        if let Some(kernel) = &report.kernel {
            text.extend(kernel.findings.iter().map(|finding| row(finding, " (kernel)")));
        }
    }
    if let Some(kernel) = &report.kernel {
        let far =
            kernel.farthest.as_ref().map_or(String::new(), |far| format!("; farthest: {}", far.words()));
        text += &format!("\nIn the real stack: {}{far}.\n", kernel.agreement.name());
    }
    if !report.set_up.is_empty() {
        text += "\nRuns:\n\n";
        text.extend(report.set_up.iter().map(|line| format!("- {line}\n")));
    }
    text
}

fn row(finding: &Finding, where_from: &str) -> String {
    let unit = if finding.unit.is_empty() { String::new() } else { format!(", {}", cell(&finding.unit)) };
    let verdict = finding.verdict.map_or("not judged", Verdict::name);
    let shown = finding.shown();
    format!(
        "| {}{unit}{where_from} | {} | {} | {} | {verdict} |\n",
        cell(&finding.what_and_where()),
        shown.stated,
        shown.measured(" "),
        finding.n,
    )
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn sentence(text: &str) -> String {
    let text = capital(text);
    if text.is_empty() || text.ends_with('.') { text } else { text + "." }
}

/// With a capital as its first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
