//! What there is, and how to call it.

use joulepath_controllers::Controller;
use serde_json::Value;

use crate::run::joulepath;

fn names(what: &str) -> Vec<String> {
    let json = joulepath(&["list", what, "--json"]).json();
    json.as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn everything_that_is_listed_can_be_read_and_parsed() {
    for what in [
        "policies",
        "controllers",
        "schedulers",
        "selectors",
        "allocators",
        "energy",
        "scenarios",
    ] {
        let text = joulepath(&["list", what]).ok();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for name in names(what) {
            assert!(
                text.lines()
                    .any(|line| line.split([' ', ':']).next() == Some(&name)),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn controllers_are_listed_with_paper_confidence_and_parameters() {
    assert_eq!(
        names("controllers"),
        Controller::all()
            .map(|c| c.name().to_owned())
            .collect::<Vec<_>>()
    );
    let json = joulepath(&["list", "controllers", "--json"]).json();
    let ecmtcp = json
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "ecmtcp")
        .unwrap();
    assert_eq!(ecmtcp["confidence"], "recon.");
    assert!(
        ecmtcp["params"]
            .as_array()
            .unwrap()
            .iter()
            .any(|param| param["name"] == "ratio"),
        "{ecmtcp}"
    );
    assert!(
        joulepath(&["list", "controllers"])
            .ok()
            .contains("ecMTCP (recon.)")
    );
}

#[test]
fn selectors_and_allocators_are_listed_with_their_options() {
    for name in [
        "es-mptcp", "emptcp", "pluntke", "overflow", "quota", "backup",
    ] {
        assert!(
            names("selectors").iter().any(|listed| listed == name),
            "{name}"
        );
    }
    let json = joulepath(&["list", "allocators", "--json"]).json();
    let eemptcp = json
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "eemptcp")
        .unwrap();
    assert!(
        eemptcp["policies"]
            .as_array()
            .unwrap()
            .iter()
            .any(|policy| policy == "eemptcp"),
        "{eemptcp}"
    );
}

#[test]
fn policies_are_listed_with_their_parts() {
    let json = joulepath(&["list", "policies", "--json"]).json();
    let find = |name: &str| {
        json.as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    let eemptcp = find("eemptcp");
    assert_eq!(
        ["cc", "scheduler", "allocator", "paper"]
            .map(|key| eemptcp[key].as_str().unwrap().to_owned()),
        ["eemptcp", "minrtt", "eemptcp", "000"]
    );
    assert_eq!(find("mptcp")["allocator"], Value::Null);
    assert_eq!(find("single")["usage"], "single:PATH");
    let es = find("es-mptcp");
    assert_eq!(
        ["selector", "paper", "confidence"].map(|key| es[key].as_str().unwrap()),
        ["es-mptcp", "001", "verified"]
    );
    assert_eq!(
        find("so-mptcp")["parts"],
        "lia + allotted + so-mptcp allocator"
    );
    // The least sure part decides.
    assert_eq!(
        ["emtcp", "pluntke", "emptcp"].map(|name| find(name)["confidence"].clone()),
        ["recon.", "recon.", "literature"]
    );
}

#[test]
fn the_policies_are_these() {
    insta::assert_snapshot!(joulepath(&["list", "policies"]).ok());
}

#[test]
fn energy_profiles_have_constants_and_a_source() {
    let json = joulepath(&["list", "energy", "--json"]).json();
    for entry in json.as_array().unwrap() {
        assert!(
            entry["constants"]
                .as_str()
                .is_some_and(|constants| !constants.is_empty()),
            "{entry}"
        );
        assert!(
            entry["kind"] == "device" || !entry["source"].as_str().unwrap().is_empty(),
            "{entry}"
        );
    }
}

#[test]
fn the_version_names_the_commit_and_help_gives_examples() {
    let version = joulepath(&["--version"]).ok();
    assert!(
        version.starts_with(concat!(
            "joulepath ",
            env!("CARGO_PKG_VERSION"),
            " (commit "
        )),
        "{version}"
    );
    let help = joulepath(&["--help"]).ok();
    assert!(
        help.contains("Examples:") && help.contains("Exit codes: 0 ok"),
        "{help}"
    );
    assert!(
        joulepath(&["compare", "--help"])
            .ok()
            .contains("joulepath compare home-wifi-lte")
    );
    assert!(
        joulepath(&["explain", "--help"])
            .ok()
            .contains("srtt_us are required")
    );
}

#[test]
fn shells_can_complete() {
    for shell in ["bash", "zsh", "fish"] {
        let script = joulepath(&["completions", shell]).ok();
        assert!(
            script.contains("joulepath") && script.contains("JOULEPATH_COMPLETE"),
            "{shell}"
        );
    }
}
