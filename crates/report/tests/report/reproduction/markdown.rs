//! Tables for the papers' pages.

use joulepath_report::{Finding, Rule, Verdict, reproduction_markdown, reproduction_summary};

use super::fixture::{scoreboard, with_text_everywhere};

#[test]
fn the_results_of_a_paper_contain_only_its_experiments() {
    insta::assert_snapshot!(reproduction_markdown(&scoreboard(), "000"));
}

#[test]
fn a_paper_without_experiments_has_no_results() {
    assert_eq!(reproduction_markdown(&scoreboard(), "009"), "");
}

#[test]
fn a_judged_finding_is_not_shown_a_second_time() {
    let mut all = scoreboard();
    let findings = &mut all.experiments[0].findings;
    let judged = findings.iter().find(|of| of.verdict.is_some()).unwrap();
    let again = Finding {
        rule: Rule::Shown,
        verdict: None,
        ..judged.clone()
    };
    findings.push(again);
    let paper = all.experiments[0].id[..3].to_owned();
    assert_eq!(
        reproduction_markdown(&all, &paper),
        reproduction_markdown(&scoreboard(), &paper)
    );
}

#[test]
fn every_line_of_a_table_has_as_many_cells_as_its_head() {
    let text = reproduction_markdown(&with_text_everywhere("a | b"), "a | b");
    let mut cells = 0;
    let mut tables = 0;
    for line in text.lines() {
        let now = if line.starts_with('|') {
            line.replace("\\|", "").matches('|').count()
        } else {
            0
        };
        if cells > 0 && now > 0 {
            assert_eq!(now, cells, "{line}");
        }
        tables += usize::from(cells == 0 && now > 0);
        cells = now;
    }
    assert_eq!(tables, 1 + scoreboard().experiments.len());
}

/// The row that the simulator confirms, judged again with a kernel that measured `mean` ± `half`.
fn with_kernel(mean: f64, half: f64, is_part: bool) -> (Verdict, String, String) {
    let mut all = scoreboard();
    let is_it = |report: &&mut joulepath_report::Report| report.id == "001-fig8c";
    let report = all.experiments.iter_mut().find(is_it).unwrap();
    let kernel = report.kernel.as_mut().unwrap();
    kernel.is_part = is_part;
    kernel.findings[0].measured = Some(joulepath_model::result::Estimate {
        mean,
        lo: mean - half,
        hi: mean + half,
    });
    let judged = report.clone().judged();
    *report = judged.clone();
    (
        judged.verdict,
        judged.reason,
        reproduction_markdown(&all, "001"),
    )
}

#[test]
fn nothing_is_reproduced_that_the_kernel_does_not_confirm() {
    for (mean, half, is_part, end) in [
        (0.995, 0.004, false, "; in the kernel: not reproduced"),
        (
            0.995,
            0.004,
            true,
            "; in the kernel, which ran a part of it: not reproduced",
        ),
        (0.95, 0.1, false, "; in the kernel: inconclusive"),
    ] {
        let (verdict, reason, page) = with_kernel(mean, half, is_part);
        assert_eq!(verdict, Verdict::InSimulation);
        assert!(reason.ends_with(end), "{reason}");
        assert!(page.contains("| simulated only |"), "{page}");
    }
    let (verdict, reason, page) = with_kernel(0.8, 0.01, false);
    assert_eq!(verdict, Verdict::Reproduced);
    assert!(!reason.contains("in the kernel"), "{reason}");
    assert!(page.contains("| reproduced |"), "{page}");
}

#[test]
fn a_cause_with_two_verdicts_counts_once_in_all() {
    let mut all = scoreboard();
    for report in &mut all.experiments {
        "one question".clone_into(&mut report.cause);
    }
    let text = reproduction_summary(&all);
    assert!(
        text.contains("| independent causes, 1 in all | 1 | 1 |"),
        "{text}"
    );
}
