//! README.md is short and has the program's numbers; docs/report.md names the fields of a
//! comparison.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::run::joulepath;

const MOST_WORDS: usize = 800;

fn read(file: &str) -> String {
    fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_readmes_first_numbers_are_what_the_demo_computes() {
    let shown = [
        ("single:wifi", "WiFi alone, NewReno", None),
        (
            "single:wifi[cc=cubic]",
            "WiFi alone, CUBIC",
            Some("WiFi alone"),
        ),
        ("mptcp", "Multipath TCP, LIA", Some("MPTCP, LIA")),
        (
            "linux",
            "Multipath TCP, Linux default",
            Some("MPTCP, Linux"),
        ),
        ("joule", "Joulepath's policy `joule`", Some("Joulepath")),
    ];
    let policies = shown.map(|(policy, ..)| policy).join(",");
    let arguments = [
        "compare",
        "home-wifi-lte",
        "--seeds",
        "30",
        "--json",
        "--policies",
        &policies,
    ];
    let result = joulepath(&arguments).json();
    let of_radios =
        joulepath(&[&arguments[..], &["--set", "device.shared_base=0 W"]].concat()).json();
    let of_2012 = joulepath(&[&arguments[..], &["--variant", "radios2012"]].concat()).json();
    let (readme, picture) = (read("README.md"), read("docs/img/demo.svg"));
    for (k, (policy, in_text, in_picture)) in shown.into_iter().enumerate() {
        let mean = |result: &Value, key: &str| {
            let row = &result["rows"][k];
            assert_eq!(row["policy"], policy);
            row[key]["mean"].as_f64().unwrap()
        };
        let (energy, time) = (mean(&result, "energy_j"), mean(&result, "completion_s"));
        let line = format!(
            "| {in_text} | {energy:.1} J | {time:.1} s | {:.2} J | {:.1} J |",
            mean(&of_radios, "energy_j"),
            mean(&of_2012, "energy_j")
        );
        assert!(readme.contains(&line), "README.md lacks `{line}`");
        if let Some(in_picture) = in_picture {
            let said = format!("{in_picture}: {energy:.1} J, {time:.1} s");
            assert!(
                picture.contains(&said),
                "run scripts/pictures.py: demo.svg lacks `{said}`"
            );
        }
    }
}

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words, at most {MOST_WORDS}");
}

#[test]
fn the_page_on_reports_names_the_fields_of_a_comparison() {
    let page = read("docs/report.md");
    let (_, json) = page.split_once("```json\n").unwrap();
    let described: Value = serde_json::from_str(json.split_once("```").unwrap().0).unwrap();
    let compared = joulepath(&["compare", "quick", "--seeds", "2", "--json"]).json();
    for (described, compared) in [
        (&described, &compared),
        (&described["rows"][0], &compared["rows"][0]),
        (
            &described["rows"][0]["paths"][0],
            &compared["rows"][0]["paths"][0],
        ),
    ] {
        let fields = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<BTreeSet<String>>()
        };
        let missing: Vec<String> = fields(described)
            .difference(&fields(compared))
            .cloned()
            .collect();
        assert!(
            missing.is_empty(),
            "docs/report.md describes {missing:?}, which a comparison lacks"
        );
    }
}
