//! Page of an advice.

use crate::markup::{assert_loads_nothing, assert_well_formed};
use joulepath_report::table::{Cell, Column, Line, Table};
use joulepath_report::{AdvicePage, AdviceRange, AdviceWay, advice_html};

fn way(interfaces: &str, split: &str, seconds: f64, joules: f64, is_best: bool) -> AdviceWay {
    AdviceWay {
        interfaces: interfaces.into(),
        split: split.into(),
        rates: "19.5/9.73".into(),
        time: format!("{seconds:.2}"),
        energy: format!("{joules:.1}"),
        seconds,
        joules,
        is_best,
    }
}

fn paths(name: &str, rate: &str) -> Table {
    let columns = [Column::words("path"), Column::numbers("rate", "Mbit/s")];
    Table::new(columns).with([Line::new([name, rate].map(Cell::text))])
}

fn advice() -> AdvicePage {
    AdvicePage {
        title: "10 MB over wifi, lte".into(),
        chips: vec!["within 3 s".into()],
        reason: "Use wifi and lte together: 18.3 J within the deadline of 3 s.".into(),
        ways: vec![
            way("wifi + lte", "67.8/32.2", 2.86, 18.6, false),
            way("wifi + lte", "71.1/28.9", 3.0, 18.3, true),
            way("wifi alone", "100", 4.19, 11.7, false),
        ],
        line: vec![[2.86, 18.6], [4.19, 15.7], [4.19, 11.7]],
        deadline_s: Some(3.0),
        ranges: vec![
            AdviceRange {
                sizes: "below 7.14 MB".into(),
                interfaces: "wifi alone".into(),
            },
            AdviceRange {
                sizes: "above".into(),
                interfaces: "wifi + lte".into(),
            },
        ],
        paths: paths("wifi", "20.0"),
        notes: vec!["Joules are modelled, not measured.".into()],
        command: "joulepath advise --size 10MB".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
    }
}

#[test]
fn a_page_is_well_formed() {
    assert_well_formed(&advice_html(&advice()).unwrap());
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = advice_html(&advice()).unwrap();
    assert_loads_nothing(&page);
}

#[test]
fn the_page_has_reason_plans_ranges_and_command_without_scripts() {
    let page = advice_html(&advice()).unwrap();
    let advice = advice();
    for text in [
        &advice.title,
        &advice.reason,
        &advice.command,
        &advice.commit,
        &advice.notes[0],
    ] {
        assert!(page.contains(text.as_str()), "{text}");
    }
    for way in &advice.ways {
        let cells = [&way.energy, &way.time, &way.split, &way.rates]
            .map(|cell| format!("<td>{cell}</td>"))
            .concat();
        assert!(page.contains(&cells), "{cells}");
    }
    for range in &advice.ranges {
        assert!(
            page.contains(&format!(
                "{}</th><td class=\"text\">{}</td>",
                range.sizes, range.interfaces
            )),
            "{range:?}"
        );
    }
    assert_eq!(
        page.matches("<tr class=\"best\">").count(),
        1,
        "the advice is marked, and it alone"
    );
}

#[test]
fn the_plot_has_every_corner_the_line_and_the_deadline() {
    let page = advice_html(&advice()).unwrap();
    assert_eq!(page.matches("<circle class=\"dot").count(), 3);
    assert_eq!(
        page.matches("<circle class=\"halo").count(),
        1,
        "a ring around the best"
    );
    assert!(
        page.contains("split 67.8/32.2 %\n"),
        "a corner's description"
    );
    assert_eq!(
        page.matches("<path class=\"guide").count(),
        2,
        "the line, and where it goes on"
    );
    assert!(page.contains("<line class=\"upright\"") && page.contains(">deadline</text>"));
}

#[test]
fn hostile_names_are_escaped() {
    let hostile = "</script><script>alert(1)</script>\"'&<img onerror=alert(1)>";
    let clean = advice_html(&advice()).unwrap();
    let mut advice = advice();
    advice.title = hostile.into();
    advice.chips[0] = hostile.into();
    advice.reason = hostile.into();
    advice.ways[0].interfaces = hostile.into();
    advice.ranges[0].interfaces = hostile.into();
    advice.paths = paths(hostile, hostile);
    advice.notes[0] = hostile.into();
    advice.command = hostile.into();
    let page = advice_html(&advice).unwrap();
    assert_eq!(
        page.matches("<script").count(),
        clean.matches("<script").count()
    );
    assert_eq!(
        page.matches("</script").count(),
        clean.matches("</script").count()
    );
    assert!(!page.contains("<img"));
}

#[test]
fn without_a_deadline_the_plot_has_no_deadline_line() {
    let page = advice_html(&AdvicePage {
        deadline_s: None,
        ..advice()
    })
    .unwrap();
    assert!(!page.contains("<line class=\"upright\""));
}
