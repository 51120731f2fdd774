//! Tables for the papers' pages.

use joulepath_report::{Finding, Rule, reproduction_markdown};

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
