//! Scoreboard in a terminal.

use joulepath_report::{Report, Reproduction, Verdict, reproduction_markdown, reproduction_table};

use super::fixture::scoreboard;

/// Display width of the widest line; every character of these tables is one column wide.
fn width_of(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

#[test]
fn a_scoreboard_reads_well_at_80_columns() {
    insta::assert_snapshot!(reproduction_table(&scoreboard(), 80, false));
}

#[test]
fn a_scoreboard_reads_well_at_120_columns() {
    insta::assert_snapshot!(reproduction_table(&scoreboard(), 120, false));
}

#[test]
fn a_scoreboard_without_a_width_limit_has_its_natural_width() {
    let text = reproduction_table(&scoreboard(), usize::MAX, false);
    assert!(width_of(&text) < 140, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_line_exceeds_the_requested_width() {
    for width in 75..200 {
        let text = reproduction_table(&scoreboard(), width, false);
        assert!(width_of(&text) <= width, "at {width}:\n{text}");
    }
}

#[test]
fn every_experiment_is_shown_at_any_width() {
    let all = scoreboard();
    for width in [1, 60, 80, 100, usize::MAX] {
        let text = reproduction_table(&all, width, false);
        for report in &all.experiments {
            let line = text
                .lines()
                .find(|line| line.starts_with(&report.id))
                .unwrap();
            assert!(line.contains(report.verdict.name()), "{line}");
        }
    }
}

/// The experiment under two readings.
fn of_two_readings(all: &mut Reproduction) -> &mut Report {
    let of = |report: &&mut Report| report.id == "003-fig2a";
    all.experiments.iter_mut().find(of).unwrap()
}

#[test]
fn a_finding_of_another_reading_does_not_decide() {
    let mut all = scoreboard();
    let report = of_two_readings(&mut all);
    report.findings[1].verdict = report.findings[0].verdict;
    report.findings.swap(0, 1);
    let text = reproduction_table(&all, usize::MAX, false);
    let line = text.lines().find(|line| line.contains("003-fig2a"));
    assert!(line.unwrap().contains("deep queue"), "{text}");
}

#[test]
fn a_claim_that_holds_as_far_as_it_is_judged_says_so() {
    let mut all = scoreboard();
    let report = of_two_readings(&mut all);
    report.verdict = Verdict::Reproduced;
    report.findings[0].verdict = Some(Verdict::Reproduced);
    report.findings[1].rival = true;
    let says_so = |all: &Reproduction| {
        let table = reproduction_table(all, usize::MAX, false);
        let page = reproduction_markdown(all, "003");
        assert_eq!(
            table.contains("a part is not judged"),
            page.contains("reproduced (deep queue), a part is not judged")
        );
        table.contains("a part is not judged")
    };
    assert!(!says_so(&all), "the other reading lacks it");
    of_two_readings(&mut all).findings[0].rival = true;
    assert!(says_so(&all));
}

#[test]
fn shown_findings_decide_nothing() {
    let mut all = scoreboard();
    let shown = all.experiments[0].findings.pop().unwrap();
    assert!(shown.what.contains("retransmissions"));
    all.experiments[1].findings.insert(0, shown);
    let text = reproduction_table(&all, 120, false);
    assert!(
        !text.contains("retransmissions") && text.contains("EEMPTCP's efficiency"),
        "{text}"
    );
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let coloured = reproduction_table(&scoreboard(), 120, true);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed = plain
        .lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
        + "\n";
    assert_eq!(trimmed, reproduction_table(&scoreboard(), 120, false));
}

#[test]
fn the_table_reports_missing_runs() {
    let all = Reproduction {
        partial: true,
        ..scoreboard()
    };
    let text = reproduction_table(&all, 80, false);
    assert!(
        text.contains("PARTIAL: some runs are missing") && text.contains("3 missing"),
        "{text}"
    );
}

#[test]
fn an_empty_scoreboard_is_a_valid_table() {
    let all = Reproduction {
        experiments: Vec::new(),
        ..scoreboard()
    };
    assert!(reproduction_table(&all, 80, false).contains("no experiment"));
}
