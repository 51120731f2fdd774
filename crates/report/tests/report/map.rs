//! Page of a map.

use crate::markup::{assert_loads_nothing, assert_well_formed};
use joulepath_report::table::{Cell, Column, Line, Table};
use joulepath_report::{MapAxis, MapPage, map_html};

/// Table of the regions of two policies.
fn regions(first: &str) -> Table {
    let columns = [
        Column::words("policy"),
        Column::numbers("best", "%"),
        Column::numbers("tied", "%"),
    ];
    let line = |(place, (name, cells)): (usize, (&str, [u64; 2]))| {
        let cells = [Cell::text(name)].into_iter().chain(cells.map(Cell::count));
        Line::new(cells)
            .swatch(place)
            .badge(["A", "B"][place], true)
    };
    Table::new(columns).with(
        [(first, [25, 25]), ("MPTCP", [26, 27])]
            .into_iter()
            .enumerate()
            .map(line),
    )
}

fn map() -> MapPage {
    let axis = |title: &str, values: [&str; 2]| MapAxis {
        title: title.into(),
        values: values.map(str::to_owned).to_vec(),
    };
    MapPage {
        title: "WiFi + LTE".into(),
        answer: "Best bits per joule: uncoupled at 50 % of the points.".into(),
        chips: vec!["quick".into()],
        metric: "bits per joule".into(),
        more_is_better: true,
        x: axis("path.wifi.loss", ["0.1 %", "1 %"]),
        y: axis("path.lte.delay", ["5 ms", "50 ms"]),
        policies: vec!["uncoupled".into(), "MPTCP".into()],
        values: vec![
            vec![Some(1.0), Some(2.0), Some(3.0), None],
            vec![Some(1.234_567), Some(1.0), Some(3.0), None],
        ],
        best: vec![Some(1), Some(0), Some(0), None],
        clear: vec![true, true, false, false],
        all_tie: vec![false, false, true, false],
        checked: vec![(1, Some(0))],
        regions: regions("uncoupled"),
        notes: vec!["Capital: the best.".into()],
        command: "joulepath map quick".into(),
        version: "0.1.0".into(),
        commit: "33b56abc0ffee".into(),
        partial: false,
    }
}

#[test]
fn a_page_is_well_formed() {
    assert_well_formed(&map_html(&map()).unwrap());
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = map_html(&map()).unwrap();
    assert_loads_nothing(&page);
}

#[test]
fn the_page_has_regions_notes_and_command_without_scripts() {
    let page = map_html(&map()).unwrap();
    let map = map();
    for text in [
        &map.title,
        &map.answer,
        &map.notes[0],
        &map.command,
        &map.commit,
    ] {
        assert!(page.contains(text.as_str()), "{text}");
    }
    assert!(page.contains("</i>MPTCP <span") && page.contains("</th><td>26</td><td>27</td>"));
    assert!(!page.contains("Some runs are missing"));
    assert!(
        map_html(&MapPage {
            partial: true,
            ..map
        })
        .unwrap()
        .contains("Some runs are missing")
    );
}

#[test]
fn the_script_gets_every_value_with_five_digits() {
    let page = map_html(&map()).unwrap();
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        data["values"][1],
        serde_json::json!([1.2346, 1.0, 3.0, null])
    );
    assert_eq!(data["best"], serde_json::json!([1, 0, 0, null]));
}

/// Winners: MPTCP at the first point, uncoupled at the second; the third ties, the fourth has none.
/// MPTCP has 23 % more, then half.
#[test]
fn maps_show_winners_and_differences() {
    let page = map_html(&map()).unwrap();
    let (_, maps) = page.split_once("<svg class=\"heat\"").unwrap();
    let (winners, differences) = maps.split_once("<svg class=\"heat\"").unwrap();
    assert!(
        winners.contains("uncoupled at 1 of 4 points, MPTCP at 1 of 4 points"),
        "{winners}"
    );
    assert!(
        winners.contains("<path class=\"policy-0\" fill-opacity=\"1\" d=\"M1 1h1v1h-1z\"/>"),
        "{winners}"
    );
    assert!(
        winners.contains("<path class=\"none\" fill-opacity=\"1\" d=\"M0 0h2v1h-2z\"/>"),
        "{winners}"
    );
    assert_eq!(
        winners
            .matches("<circle class=\"checked policy-0\"")
            .count(),
        1
    );
    for letter in [">B</text>", ">A</text>", ">·</text>", ">?</text>"] {
        assert!(winners.contains(letter), "{letter}");
    }
    assert!(
        differences.contains("from −50 % to +23.5 %"),
        "{differences}"
    );
    // log 1.2346 / log 2 is 0.304: 30 % of the colour; half has all of it.
    assert!(
        differences.contains("class=\"better\" fill-opacity=\"0.3\" d=\"M0 1h1v1h-1z\""),
        "{differences}"
    );
    assert!(
        differences.contains("class=\"worse\" fill-opacity=\"1\" d=\"M1 1h1v1h-1z\""),
        "{differences}"
    );
}

#[test]
fn hostile_names_are_escaped() {
    let hostile = "</script><script>alert(1)</script>\"'&<img onerror=alert(1)>";
    let clean = map_html(&map()).unwrap();
    let mut map = map();
    map.title = hostile.into();
    map.chips[0] = hostile.into();
    map.policies[0] = hostile.into();
    map.regions = regions(hostile);
    map.x.title = hostile.into();
    map.x.values[0] = hostile.into();
    map.notes[0] = hostile.into();
    map.command = hostile.into();
    let page = map_html(&map).unwrap();
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
