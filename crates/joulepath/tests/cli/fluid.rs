//! `compare --engine fluid`.

use crate::run::{folder, joulepath, joulepath_in};

#[test]
fn the_fluid_engine_gives_the_same_form_from_one_run_of_each_policy() {
    let json = joulepath(&[
        "compare",
        "quick",
        "--duration",
        "60 s",
        "--engine",
        "fluid",
        "--json",
    ])
    .json();
    assert_eq!(
        (&json["engine"], &json["seeds"]),
        (&"fluid".into(), &1.into())
    );
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        // Links of 10 and 5 Mbit/s carry at most 14.6 Mbit/s of payload; queues keep them busy.
        let goodput_bps = row["goodput_bps"]["mean"].as_f64().expect("a mean");
        assert!((13.5e6..14.6e6).contains(&goodput_bps), "{row}");
        assert!(
            (0.0..=1.0).contains(&row["tcp_reference_share"].as_f64().expect("a share")),
            "{row}"
        );
    }
}

#[test]
fn the_fluid_engine_names_what_it_cannot_represent() {
    let refusal = |arguments: &[&str]| {
        let said = joulepath_in(
            folder().path(),
            &[&["compare"], arguments, &["--engine", "fluid"]].concat(),
        );
        assert_eq!(said.code, Some(3), "{}", said.stderr);
        assert!(
            said.stderr.contains("help: use `--engine packet`"),
            "{}",
            said.stderr
        );
        said.stderr
    };
    assert!(refusal(&["video-wifi-5g"]).contains("carries a stream"));
    assert!(
        refusal(&["quick", "--policies", "redundant"])
            .contains("`redundant` uses the redundant scheduler")
    );
    assert!(refusal(&["quick", "--policies", "es-mptcp"]).contains("`es-mptcp` uses a selector"));
}

#[test]
fn every_scenario_in_the_binary_is_run_or_refused() {
    let listed = joulepath(&["list", "scenarios", "--json"]).json();
    for scenario in listed.as_array().expect("a list") {
        let name = scenario["name"].as_str().expect("a name");
        let arguments = [
            "compare",
            name,
            "--engine",
            "fluid",
            "--policies",
            "mptcp",
            "--json",
        ];
        let said = joulepath_in(folder().path(), &arguments);
        let is_schedulers = said
            .stderr
            .contains("the packet scheduler decides the split");
        let is_told = matches!(said.code, Some(0 | 3)) || said.code == Some(1) && is_schedulers;
        assert!(is_told, "{name}: {:?} {}", said.code, said.stderr);
    }
}
