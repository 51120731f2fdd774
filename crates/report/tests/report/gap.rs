//! Difference between simulator and kernel.

use joulepath_model::metric::{ENERGY, GOODPUT};
use joulepath_model::units::Nanos;
use joulepath_report::gap::{Case, Gap, Means, markdown, table};
use joulepath_report::table::View;

fn means(runs: usize, goodput_bps: f64, share: f64) -> Means {
    Means {
        runs,
        deterministic: runs == 3,
        goodput_spread: 0.03,
        shares: vec![share, 1.0 - share],
        rtt_s: vec![Some(0.02), Some(0.05)],
        metrics: [
            (&GOODPUT, Some(goodput_bps)),
            (&ENERGY, Some(40.0 + goodput_bps / 1e6)),
        ]
        .into_iter()
        .collect(),
    }
}

fn case(scenario: &str, policy: &str, runs: usize, packet: (f64, f64), kernel: (f64, f64)) -> Case {
    let means = [packet, kernel].map(|(bps, share)| means(runs, bps, share));
    let [packet, kernel] = means;
    let ratio = |metric| kernel.metrics.of(metric).unwrap() / packet.metrics.of(metric).unwrap();
    let differences = [
        ratio(&GOODPUT) - 1.0,
        kernel.shares[0] - packet.shares[0],
        0.012,
        ratio(&ENERGY) - 1.0,
    ];
    let (scenario, policy) = (scenario.to_owned(), policy.to_owned());
    Case {
        scenario,
        policy,
        full: runs == 3,
        most_bps: None,
        packet,
        kernel,
        differences,
    }
}

fn gap() -> Gap {
    let cases = vec![
        case("home-wifi-lte", "mptcp", 5, (12.345e6, 0.6), (11.9e6, 0.55)),
        case(
            "home-wifi-lte",
            "mptcp[cc=olia,scheduler=blest,selector=all]",
            3,
            (19.2e6, 0.7),
            (19.1e6, 0.7),
        ),
        case(
            "three-radios-far-away",
            "single:wifi",
            1,
            (0.4321e6, 1.0),
            (0.41e6, 1.0),
        ),
    ];
    Gap::of("6.12.57".into(), cases, 3, Some(Nanos(500_000)))
}

/// Width of the widest line, characters.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn the_page_has_its_tables() {
    insta::assert_snapshot!(markdown(&gap()));
}

#[test]
fn a_terminal_of_80_columns_shows_all_cases() {
    let text = table(
        &gap(),
        View {
            width: 80,
            color: false,
        },
    );
    assert!(widest(&text) <= 80, "{text}");
    insta::assert_snapshot!(text);
}
