//! The table in a terminal.

use crate::common::Fake;
use joulepath_model::metric::COMPLETION;
use joulepath_model::result::{Comparison, RunResult};
use joulepath_report::{PolicyRuns, html, summarise, table, to_csv};

/// Display width of the widest line; every character of these tables is one column wide.
fn width_of(text: &str) -> usize {
    text.lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0)
}

#[test]
fn a_download_reads_well_at_80_columns() {
    insta::assert_snapshot!(table(&Fake::default().comparison(), 80, false));
}

#[test]
fn a_download_reads_well_at_120_columns() {
    insta::assert_snapshot!(table(&Fake::default().comparison(), 120, false));
}

#[test]
fn wide_shows_everything() {
    let text = table(&Fake::default().comparison(), usize::MAX, false);
    assert!(!text.contains("hidden"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_file_shows_joules_and_completion() {
    let mut comparison = Fake {
        workload: "file",
        seeds: 5,
        policies: 3,
        ..Fake::default()
    }
    .comparison();
    let row = &mut comparison.rows[1];
    row.completed = Some(4);
    insta::assert_snapshot!(table(&comparison, 100, false));
}

#[test]
fn messages_show_their_delay() {
    let comparison = Fake {
        workload: "messages",
        seeds: 12,
        policies: 3,
        ..Fake::default()
    }
    .comparison();
    insta::assert_snapshot!(table(&comparison, 100, false));
}

/// Two policies with three seeds; the first `same` of them have the same run with every seed.
fn without_chance(same: usize) -> Comparison {
    let mut comparison = Fake {
        seeds: 3,
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    let policies = comparison
        .rows
        .iter()
        .enumerate()
        .map(|(index, row)| PolicyRuns {
            policy: row.policy.clone(),
            label: row.label.clone(),
            parts: row.parts.clone(),
            uncoupled: row.uncoupled,
            runs: match index < same {
                true => (1..=3)
                    .map(|seed| RunResult {
                        seed,
                        ..row.runs[0].clone()
                    })
                    .collect(),
                false => row.runs.clone(),
            },
        });
    comparison.rows = summarise(
        &comparison.scenario,
        &comparison.references,
        policies.collect(),
    );
    comparison
}

/// Identical runs are not a sample: "± 0.0, 3 seeds" would claim a certainty that was not tested.
#[test]
fn deterministic_rows_have_a_note_instead_of_an_interval() {
    let both = without_chance(2);
    assert!(both.rows.iter().all(|row| row.deterministic));
    let text = table(&both, 200, false);
    assert!(!text.contains('±'), "{text}");
    assert!(
        text.contains("All 3 seeds give the same run: no confidence intervals."),
        "{text}"
    );
    let page = html(&both).unwrap();
    assert!(
        page.contains("All 3 seeds give the same run") && !page.contains("±0"),
        "the page says it, too"
    );

    let one = without_chance(1);
    assert_eq!(
        [one.rows[0].deterministic, one.rows[1].deterministic],
        [true, false]
    );
    let text = table(&one, 200, false);
    assert!(
        text.contains("uncoupled: all 3 seeds give the same run, so no confidence interval."),
        "{text}"
    );
    assert!(text.contains("interval over 3 seeds"), "{text}");
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(
        !line("uncoupled").contains('±') && line("mptcp").contains('±'),
        "{text}"
    );
    let csv = to_csv(&one).unwrap();
    assert!(
        csv.contains("deterministic") && csv.contains(",true,"),
        "{csv}"
    );

    assert!(without_chance(0).rows.iter().all(|row| !row.deterministic));
}

#[test]
fn a_single_run_does_not_count_as_deterministic() {
    let comparison = Fake {
        seeds: 1,
        policies: 1,
        ..Fake::default()
    }
    .comparison();
    assert!(!comparison.rows[0].deterministic);
    let text = table(&comparison, 200, false);
    assert!(
        text.contains("One seed") && !text.contains("chance"),
        "{text}"
    );
}

#[test]
fn no_line_exceeds_the_requested_width() {
    for workload in ["bulk", "file", "messages"] {
        let comparison = Fake {
            workload,
            ..Fake::default()
        }
        .comparison();
        for width in 60..200 {
            let text = table(&comparison, width, false);
            assert!(width_of(&text) <= width, "{workload} at {width}:\n{text}");
        }
    }
}

#[test]
fn the_efficiency_is_shown_at_any_width() {
    let comparison = Fake::default().comparison();
    for width in 60..200 {
        assert!(table(&comparison, width, false).contains("1.45"), "{width}");
    }
}

#[test]
fn hidden_columns_are_counted() {
    let comparison = Fake::default().comparison();
    let units = |text: &str| {
        text.lines()
            .nth(3)
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let intervals = |text: &str| text.lines().nth(5).unwrap().matches('±').count();
    let (wide, text) = (
        table(&comparison, usize::MAX, false),
        table(&comparison, 80, false),
    );
    assert_eq!(units(&wide), "Mbit/s W J Mbit/J % of data % % %");
    assert_eq!(units(&text), "Mbit/s W Mbit/J % of data %");
    // The first policy has no interval for × first, and the hidden columns had two.
    assert_eq!((intervals(&wide), intervals(&text)), (5, 1));
    assert!(
        text.ends_with("3 columns and 3 intervals hidden; `--wide` shows them.\n"),
        "{text}"
    );
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let comparison = Fake::default().comparison();
    let coloured = table(&comparison, 120, true);
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
    assert_eq!(trimmed, table(&comparison, 120, false));
}

#[test]
fn one_seed_has_no_intervals_and_a_note() {
    let text = table(
        &Fake {
            seeds: 1,
            policies: 2,
            ..Fake::default()
        }
        .comparison(),
        120,
        false,
    );
    assert!(
        text.contains("One seed: no confidence intervals."),
        "{text}"
    );
    assert!(!text.contains('±'), "{text}");
}

#[test]
fn a_comparison_without_runs_is_a_valid_table() {
    let mut comparison = Fake {
        policies: 0,
        ..Fake::default()
    }
    .comparison();
    comparison.partial = true;
    let text = table(&comparison, 80, false);
    assert!(
        text.contains("link bound") && text.contains("Interrupted"),
        "{text}"
    );
}

#[test]
fn unknown_values_are_dashes() {
    let mut comparison = Fake {
        workload: "file",
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    comparison.rows[1].estimates.set(&COMPLETION, None);
    comparison.rows[1].completed = Some(0);
    let text = table(&comparison, 80, false);
    let line = text.lines().find(|line| line.starts_with("mptcp")).unwrap();
    assert!(line.contains('–') && line.contains("0/30"), "{text}");
    assert!(
        text.contains("mptcp (LIA): no run had every file complete."),
        "{text}"
    );
}

#[test]
fn the_table_reports_missing_runs() {
    let mut comparison = Fake {
        seeds: 12,
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    comparison.seeds = 30;
    comparison.partial = true;
    let text = table(&comparison, 80, false);
    assert!(
        text.contains("Interrupted or failed: some runs are missing."),
        "{text}"
    );
    assert!(text.contains("uncoupled: 12 of 30 runs."), "{text}");
}
