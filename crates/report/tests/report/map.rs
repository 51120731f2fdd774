//! Page of a map.

use crate::markup::{assert_loads_nothing, assert_well_formed};
use joulepath_report::table::{Cell, Column, Line, Table};
use joulepath_report::{MapAxis, MapPage, map_html};

/// Table of the regions of two policies.
fn regions(first: &str) -> Table {
    let columns = [Column::words("policy"), Column::numbers("best", "%"), Column::numbers("tied", "%")];
    let line = |(place, (name, cells)): (usize, (&str, [u64; 2]))| {
        let cells = [Cell::text(name)].into_iter().chain(cells.map(Cell::count));
        Line::new(cells).swatch("policy", place).mark("letter", place)
    };
    Table::new(columns).with([(first, [25, 25]), ("MPTCP", [26, 27])].into_iter().enumerate().map(line))
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
    for text in [&map.title, &map.answer, &map.notes[0], &map.command, &map.commit] {
        assert!(page.contains(text.as_str()), "{text}");
    }
    assert!(page.contains("</i>MPTCP <span") && page.contains("</th><td>26</td><td>27</td>"));
    assert!(!page.contains("Some runs are missing"));
    assert!(map_html(&MapPage { partial: true, ..map }).unwrap().contains("Some runs are missing"));
}

#[test]
fn every_value_is_drawn_with_five_digits() {
    let page = map_html(&map()).unwrap();
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["values"][1], serde_json::json!([1.2346, 1.0, 3.0, null]));
    assert_eq!(data["best"], serde_json::json!([1, 0, 0, null]));
    assert_eq!(data["all_tie"], serde_json::json!([false, false, true, false]));
    assert_eq!(data["checked"], serde_json::json!([[1, 0]]));
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
    assert_eq!(page.matches("<script").count(), clean.matches("<script").count());
    assert_eq!(page.matches("</script").count(), clean.matches("</script").count());
    assert!(!page.contains("<img"));
}
