//! README.md: its numbers are the program's, and it is short.

use std::fs;

use crate::run::joulepath;

const MOST_WORDS: usize = 800;

fn read(file: &str) -> String {
    fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_readmes_first_numbers_are_what_the_demo_computes() {
    let shown = [
        ("single:wifi", "WiFi alone", "WiFi alone"),
        ("mptcp", "Multipath TCP", "Multipath TCP"),
        ("joule", "Joulepath's policy `joule`", "Joulepath"),
    ];
    let policies = shown.map(|(policy, ..)| policy).join(",");
    let arguments = ["compare", "home-wifi-lte", "--seeds", "30", "--json", "--policies", &policies];
    let result = joulepath(&arguments).json();
    let (readme, picture) = (read("README.md"), read("docs/img/demo.svg"));
    for (row, (policy, in_text, in_picture)) in result["rows"].as_array().unwrap().iter().zip(shown) {
        assert_eq!(row["policy"], policy);
        let mean = |key: &str| row[key]["mean"].as_f64().unwrap();
        let (energy, time) = (mean("energy_j"), mean("completion_s"));
        let line = format!("| {in_text} | {energy:.1} J | {time:.1} s |");
        assert!(readme.contains(&line), "README.md lacks `{line}`");
        let said = format!("{in_picture}: {energy:.1} J, {time:.1} s");
        assert!(picture.contains(&said), "run scripts/pictures.py: demo.svg lacks `{said}`");
    }
}

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words, at most {MOST_WORDS}");
}
