use crate::common::Fake;
use crate::markup::{assert_loads_nothing, assert_well_formed};
use joulepath_model::metric::EFFICIENCY;
use joulepath_model::result::{Comparison, Estimate, Row};
use joulepath_report::html;

/// A page with all optional parts.
fn page() -> String {
    html(
        &Fake {
            samples: 500,
            ..Fake::default()
        }
        .comparison(),
    )
    .unwrap()
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = page();
    assert_loads_nothing(&page);
}

#[test]
fn the_page_has_every_policy_path_and_limit() {
    let comparison = Fake {
        samples: 10,
        ..Fake::default()
    }
    .comparison();
    let page = html(&comparison).unwrap();
    for row in &comparison.rows {
        // In the charts of energy and goodput, of their differences, and of data by path and energy
        // by cause.
        let named = format!("<span class=\"name\">{}</span>", row.label);
        assert_eq!(page.matches(&named).count(), 6, "{}", row.label);
        assert!(
            page.contains(&format!("title=\"{}\">{}", row.parts, row.label)),
            "{}",
            row.label
        );
    }
    for text in [
        "mptcp[cc=ecmtcp] (recon.) · umts",
        "TCP-rate reference",
        "link bound",
        "2.66 <span class=\"pm\">±0.03",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for text in [
        &comparison.manifest.scenario_sha256,
        &comparison.manifest.command,
        &comparison.manifest.commit,
    ] {
        assert!(page.contains(text.as_str()), "{text}");
    }
}

#[test]
fn hostile_texts_are_escaped() {
    let hostile = "</script><script>alert(1)</script>\"'&<img onerror=alert(1)>";
    let mut comparison = Fake {
        policies: 2,
        samples: 3,
        ..Fake::default()
    }
    .comparison();
    let clean = html(&comparison).unwrap();
    comparison.scenario.title = hostile.into();
    comparison.scenario.source = Some(hostile.into());
    comparison.scenario.paths[0] = hostile.into();
    comparison.rows[0].label = hostile.into();
    comparison.rows[0].parts = hostile.into();
    comparison.rows[0].paths[0].name = hostile.into();
    comparison.references[0].label = hostile.into();
    comparison.references[0].kind = hostile.into();
    comparison.manifest.command = hostile.into();
    let page = html(&comparison).unwrap();
    assert_eq!(
        page.matches("<script").count(),
        clean.matches("<script").count()
    );
    assert_eq!(
        page.matches("</script").count(),
        clean.matches("</script").count()
    );
    assert!(!page.contains("<img"));
    assert_well_formed(&page);
    // In an attribute, a quote would end it.
    assert!(!page.contains("title=\"</script>"));
}

/// The charts over time, without the text before the first.
fn series(page: &str) -> Vec<&str> {
    let (_, rest) = page.split_once("<div id=\"series\">").unwrap();
    rest.split("<figure class=\"chart lines\"")
        .skip(1)
        .collect()
}

#[test]
fn a_page_is_well_formed() {
    for workload in ["bulk", "file", "messages"] {
        let fake = Fake {
            samples: 20,
            workload,
            ..Fake::default()
        };
        assert_well_formed(&html(&fake.comparison()).unwrap());
    }
    assert_well_formed(
        &html(
            &Fake {
                policies: 0,
                ..Fake::default()
            }
            .comparison(),
        )
        .unwrap(),
    );
    assert_well_formed(
        &html(
            &Fake {
                policies: 1,
                seeds: 1,
                ..Fake::default()
            }
            .comparison(),
        )
        .unwrap(),
    );
}

#[test]
fn charts_over_time_show_the_best_policy_and_the_reference() {
    let page = page();
    let charts = series(&page);
    assert_eq!(charts.len(), 5 * 8, "each quantity of each policy");
    // 120 s in bins of 2 s.
    let (_, rest) = charts[0].split_once("data-x=\"").unwrap();
    assert_eq!(rest.split_once('"').unwrap().0.split(',').count(), 60);
    // Three paths and their total, each with a band; windows have no sum.
    assert_eq!(
        [charts[0], charts[8]].map(|chart| chart.matches("<path class=\"band").count()),
        [4, 3]
    );
    assert!(charts[0].contains("es-mptcp (recon.)") && charts[2].contains("uncoupled"));
    let shown = |chart: &&&str| {
        !chart.starts_with(" data-policy") || !chart.split_once('>').unwrap().0.ends_with("hidden")
    };
    let shown: Vec<usize> = (0..8).filter(|&place| shown(&&charts[place])).collect();
    assert_eq!(shown, [0, 2]);
}

#[test]
fn one_seed_has_lines_and_no_band() {
    let page = html(
        &Fake {
            policies: 2,
            seeds: 1,
            samples: 100,
            ..Fake::default()
        }
        .comparison(),
    )
    .unwrap();
    assert!(
        series(&page)[0].contains("<path class=\"line all\"")
            && !page.contains("<path class=\"band")
    );
    assert!(page.contains("one seed, so no band"));
}

#[test]
fn the_page_explains_the_lines_over_time() {
    let said = |seeds, text: &str| {
        let page = html(
            &Fake {
                policies: 2,
                seeds,
                samples: 100,
                ..Fake::default()
            }
            .comparison(),
        )
        .unwrap();
        assert!(page.contains(text), "{text}");
    };
    said(30, "means over 2 s of each run; line: median of 30 seeds; ");
    said(30, "band: from their 10th to their 90th percentile");
    said(
        5,
        "line: median of 5 seeds; band: from the lowest to the highest",
    );
}

/// Rows of the chart or table that begins with `title`, without markup.
fn rows<'a>(page: &'a str, title: &str, row: &str) -> Vec<&'a str> {
    let (_, rest) = page
        .split_once(title)
        .unwrap_or_else(|| panic!("no {title}"));
    let end = rest
        .find("</ol>")
        .or_else(|| rest.find("</table>"))
        .unwrap();
    rest[..end].split(row).skip(1).collect()
}

#[test]
fn every_chart_has_a_name_and_its_numbers_as_text() {
    let page = page();
    let charts = page.matches("<figure").count() - series(&page).len();
    assert_eq!(charts, 6);
    assert_eq!(page.matches("<figure class=\"chart rows").count(), charts);
    assert_eq!(
        page.matches(" aria-labelledby=\"chart-").count()
            + page.matches(" aria-labelledby=\"stack-").count(),
        charts
    );
    for title in [
        "Energy per bit <",
        "Goodput <",
        "Energy per bit against uncoupled <",
    ] {
        assert!(rows(&page, title, "<li class").len() >= 8, "{title}");
    }
    let name = "aria-label=\"Goodput of es-mptcp (recon.) over time, ";
    assert!(page.contains(name), "{name}");
}

#[test]
fn energy_per_bit_is_the_inverse_of_efficiency_with_a_swapped_interval() {
    let mut comparison = Fake {
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    comparison.references.clear();
    let of = |row: &mut Row, mean: f64, lo: f64, hi: f64| {
        row.estimates
            .set(&EFFICIENCY, Some(Estimate { mean, lo, hi }));
    };
    // 1/200 = 5 µJ/bit between 1/250 = 4 and 1/160 = 6.25: half of 2.25; 1/100 = 10 between 8 and
    // 12.5.
    of(&mut comparison.rows[0], 200e3, 160e3, 250e3);
    of(&mut comparison.rows[1], 100e3, 80e3, 125e3);
    let page = html(&comparison).unwrap();
    let shown = rows(&page, "Energy per bit <", "<li class");
    assert!(
        shown[0].contains(">5.0 <small>±1.1</small>")
            && shown[1].contains(">10.0 <small>±2.3</small>"),
        "{shown:?}"
    );
    // The longest whisker ends at the right: 5 of 12.5 are 40 %.
    assert!(
        shown[0].contains("left:0.00%;width:40.00%")
            && shown[0].contains("left:32.00%;width:18.00%"),
        "{}",
        shown[0]
    );
}

#[test]
fn the_most_efficient_policy_comes_first_whatever_the_order() {
    let mut comparison: Comparison = Fake {
        policies: 4,
        ..Fake::default()
    }
    .comparison();
    comparison.rows.reverse();
    let page = html(&comparison).unwrap();
    let shown = rows(&page, "<tbody>", "<tr");
    assert!(
        shown[0].contains(">uncoupled <span class=\"badge\">best</span>"),
        "{}",
        shown[0]
    );
    let first = shown
        .iter()
        .position(|row| row.contains("<span class=\"badge dim\">first</span>"));
    assert!(
        first.is_some_and(|place| place > 0 && shown[place].contains(&comparison.rows[0].label))
    );
}

#[test]
fn scrolling_boxes_take_the_focus_and_have_a_name() {
    let page = page();
    let boxes = page.matches("<div class=\"scroll\"").count();
    assert_eq!(boxes, 3);
    assert_eq!(
        page.matches("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label")
            .count(),
        boxes
    );
}

#[test]
fn eight_policies_with_thirty_seeds_stay_below_four_hundred_kilobytes() {
    let size = page().len();
    assert!(size < 400_000, "{size}");
    assert!(size > 200_000, "{size}: the series are missing");
}

#[test]
fn equal_comparisons_give_equal_pages() {
    assert_eq!(page(), page());
}

#[test]
fn without_series_there_is_no_empty_section() {
    assert!(
        !html(&Fake::default().comparison())
            .unwrap()
            .contains("Over time")
    );
}

#[test]
fn the_page_reports_missing_runs() {
    let mut comparison = Fake {
        policies: 2,
        ..Fake::default()
    }
    .comparison();
    comparison.partial = true;
    assert!(
        html(&comparison)
            .unwrap()
            .contains("Interrupted or failed: some runs are missing.")
    );
}

#[test]
fn a_comparison_without_runs_is_a_valid_page() {
    let page = html(
        &Fake {
            policies: 0,
            ..Fake::default()
        }
        .comparison(),
    )
    .unwrap();
    assert!(page.contains("link bound") && !page.contains("<figure"));
}
