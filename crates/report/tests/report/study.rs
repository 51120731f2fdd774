//! Page of a study.

use crate::markup::{assert_loads_nothing, assert_well_formed};
use joulepath_model::metric::{EFFICIENCY, ENERGY_PER_BIT, GOODPUT, Quantity};
use joulepath_model::result::Estimate;
use joulepath_report::study::{Along, AlongLine, Places, Study, StudyRow, html};

fn estimate(mean: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        lo: 0.9 * mean,
        hi: 1.1 * mean,
    })
}

fn study() -> Study {
    let row = |policy: &str, engine: &str, efficiency: f64| StudyRow {
        engine: engine.into(),
        policy: policy.into(),
        runs: 12,
        failed: 1,
        estimates: [
            (&GOODPUT, estimate(7.5e6)),
            (&ENERGY_PER_BIT, estimate(1.0 / efficiency)),
            (&EFFICIENCY, estimate(efficiency)),
        ]
        .into_iter()
        .collect(),
        ratio: Some((efficiency / 2e6, estimate(efficiency / 2e6))),
    };
    let line = |policy: &str| AlongLine {
        policy: policy.into(),
        estimates: [(Some(4e-7), 8e6), (None, 7e6), (Some(6e-7), 6e6)]
            .map(|(joules_per_bit, goodput_bps)| {
                [
                    (&ENERGY_PER_BIT, joules_per_bit.and_then(estimate)),
                    (&GOODPUT, estimate(goodput_bps)),
                ]
                .into_iter()
                .collect()
            })
            .to_vec(),
    };
    let along = |key: &str, places: Places| Along {
        engine: "packet".into(),
        keys: vec![key.into()],
        places,
        lines: vec![line("mptcp"), line("single:<wifi>")],
    };
    Study {
        title: "Loss & rate".into(),
        scenario: "quick".into(),
        design: "grid",
        points: 6,
        runs: 36,
        done: 30,
        rows: vec![
            row("mptcp", "packet", 2e6),
            row("single:<wifi>", "packet", 3e6),
            row("mptcp", "fluid", 2.5e6),
        ],
        along: vec![
            along(
                "path.wifi.loss",
                Places::Numbers {
                    quantity: Quantity::Share,
                    log: true,
                    values: vec![0.001, 0.01, 0.1],
                },
            ),
            along(
                "workload.kind",
                Places::Texts(vec!["bulk".into(), "file".into(), "stream".into()]),
            ),
        ],
        failures: vec![("`fish` is not a unit of probability".into(), 3)],
        command: "joulepath study report sweep".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
    }
}

#[test]
fn a_page_is_well_formed_and_loads_nothing() {
    let page = html(&study()).unwrap();
    assert_well_formed(&page);
    assert_loads_nothing(&page);
}

#[test]
fn the_table_holds_the_numbers_without_scripts() {
    let page = html(&study()).unwrap();
    for text in [
        "Loss &#38; rate",
        "grid, 6 points",
        "6 of 36 runs are not done yet",
        "33b56abc0ffee",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // 1/(2 Mbit/J) = 0.5 µJ/bit = 500 nJ/bit ± 10 %; 3/2 = 1.5.
    assert!(page.contains("<small>nJ/bit</small>"));
    assert!(
        page.contains("<td>500 <span class=\"pm\">±50</span></td>"),
        "{page}"
    );
    assert!(page.contains("<td>1.50 <span class=\"pm\">±0.15</span></td>"));
    assert_eq!(
        page.matches("has the most data per joule in the packet engine")
            .count(),
        1
    );
    // One best row in an engine with two policies; none in an engine with one.
    assert_eq!(page.matches(">best<").count(), 1);
    assert!(page.contains("single:&#60;wifi&#62; · packet <span class=\"badge\">best"));
    assert!(page.contains("<code>fish</code> is not a unit of probability"));
}

#[test]
fn figures_use_the_units_of_their_axes() {
    let page = html(&study()).unwrap();
    assert!(page.contains(">path.wifi.loss, %</p>") && page.contains(" data-log"));
    for group in ["bulk", "file", "stream"] {
        assert!(
            page.contains(&format!(
                "<li class=\"group\"><span class=\"name\">{group}</span>"
            )),
            "{group}"
        );
    }
    assert!(page.contains("<p class=\"axis-y\">Mbit/s"));
    assert_eq!(page.matches("<figure class=\"chart").count(), 4);
    // Without energy there is no figure of energy.
    let mut idle = study();
    for along in &mut idle.along {
        let places = along.lines.iter_mut().flat_map(|line| &mut line.estimates);
        places.for_each(|place| place.set(&ENERGY_PER_BIT, None));
    }
    assert_eq!(
        html(&idle)
            .unwrap()
            .matches("<figure class=\"chart")
            .count(),
        2
    );
}
