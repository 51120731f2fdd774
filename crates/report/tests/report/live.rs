//! Comparison of the daemon with alternatives.

use joulepath_model::live::Intent;
use joulepath_model::metric::{COMPLETION, DELAY_P95, EFFICIENCY, ENERGY, GOODPUT};
use joulepath_report::live::{Case, Chooser, Contender, Judged, Work, markdown, table};
use joulepath_report::table::View;

fn contender(
    name: &str,
    chooser: Chooser,
    energy_j: f64,
    goodput_bps: f64,
    part: f64,
) -> Contender {
    let bytes = goodput_bps * 10.0 / 8.0;
    Contender {
        name: name.into(),
        chooser,
        runs: 3,
        metrics: [
            (&ENERGY, Some(energy_j)),
            (&EFFICIENCY, Some(goodput_bps * 10.0 / energy_j)),
            (&GOODPUT, Some(goodput_bps)),
            (&COMPLETION, (chooser != Chooser::Policy).then_some(12.345)),
            (&DELAY_P95, (chooser == Chooser::Daemon).then_some(0.1234)),
        ]
        .into_iter()
        .collect(),
        bytes: vec![bytes * part, bytes * (1.0 - part)],
    }
}

fn case(scenario: &str, intent: Intent, daemon: (f64, f64)) -> Case {
    Case {
        scenario: scenario.into(),
        title: "A phone at home".into(),
        intent,
        work: Work::Bulk,
        paths: vec!["wifi".into(), "lte".into()],
        contenders: vec![
            contender("live:frugal", Chooser::Daemon, daemon.0, daemon.1, 1.0),
            contender(
                "linux: all endpoints from the beginning",
                Chooser::Plain,
                40.0,
                20e6,
                0.7,
            ),
            contender("single:wifi", Chooser::Policy, 10.0, 12e6, 1.0),
        ],
        link_bound_bits_per_joule: Some(14.2e6),
        verdict: None,
    }
    .judged()
}

fn judged() -> Judged {
    let without = Case {
        verdict: None,
        link_bound_bits_per_joule: None,
        ..case("live/two", Intent::Aggregate, (9.0, 1e6))
    };
    let cases = vec![
        case("live/one", Intent::Frugal, (10.5, 12.1e6)),
        case("live/one", Intent::Interactive, (50.0, 7e6)),
        without,
    ];
    Judged {
        release: "6.12.57".into(),
        seeds: 3,
        cases,
    }
}

/// Width of the widest line, characters.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn the_page_has_its_tables() {
    insta::assert_snapshot!(markdown(&judged()));
}

#[test]
fn a_terminal_of_80_columns_shows_all_contenders() {
    let text = table(
        &judged(),
        View {
            width: 80,
            color: false,
        },
    );
    assert!(widest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
}
