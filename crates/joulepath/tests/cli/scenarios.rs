//! Shipped scenarios: shown, checked by the schema, and run with every controller.

use std::fs;

use joulepath_controllers::Controller;
use serde_json::Value;

use crate::run::{Said, command, folder, joulepath, joulepath_in};
use crate::schema::errors;

fn shipped() -> Vec<String> {
    let json = joulepath(&["list", "scenarios", "--json"]).json();
    let names: Vec<String> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        names.len() >= 14 && names.contains(&"papers/000-table1".to_owned()),
        "{names:?}"
    );
    names
}

#[test]
fn every_shipped_scenario_runs_with_every_controller() {
    let controllers: Vec<&str> = Controller::all()
        .map(|controller| controller.name())
        .collect();
    for name in shipped() {
        // A data centre has hundreds of connections and round trips of 2 ms; they begin within 100
        // ms.
        let is_network = !joulepath(&["show", &name, "--json"]).json()["topology"].is_null();
        // The messages of `telemetry` wait for two minutes.
        let duration = match name.as_str() {
            "telemetry" => "300 s",
            _ if is_network => "300 ms",
            _ => "2 s",
        };
        let json = joulepath(&[
            "compare",
            &name,
            "--seeds",
            "1",
            "--duration",
            duration,
            "--set",
            "warm_up=0 s",
            "--policies",
            &controllers.join(","),
            "--json",
        ])
        .json();
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), controllers.len(), "{name}");
        let has_free_path = joulepath(&["show", &name])
            .ok()
            .contains("profile = \"free\"");
        for row in rows {
            let [goodput, energy] =
                ["goodput_bps", "energy_j"].map(|key| row[key]["mean"].as_f64().unwrap());
            let is_plausible = goodput > 0.0 && (energy > 0.0 || has_free_path);
            assert!(
                is_plausible,
                "{name}, {}: {goodput} bit/s, {energy} J",
                row["policy"]
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_scenario_s_file_name_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = folder();
    let file = OsStr::from_bytes(b"caf\xe9.toml");
    let text = joulepath(&["show", "home-wifi-lte"]).ok();
    fs::write(folder.path().join(file), &text).unwrap();
    let said = |arguments: &[&str]| {
        let output = command(folder.path(), &[])
            .args(arguments)
            .arg(file)
            .output();
        Said::of(output.unwrap()).ok()
    };
    assert_eq!(said(&["show"]), text);
    let compared = said(&[
        "compare",
        "--seeds",
        "1",
        "--duration",
        "5 s",
        "-p",
        "cubic",
        "--report",
        "report",
        "--quiet",
    ]);
    assert!(compared.contains("cubic"), "{compared}");
    assert!(
        folder
            .path()
            .join("report")
            .read_dir()
            .is_ok_and(|mut files| files.next().is_some())
    );
}

#[test]
fn a_shown_scenario_loads_as_the_same_scenario() {
    let folder = folder();
    let traces = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/fidelity/cellular.trace"
    );
    fs::copy(traces, folder.path().join("cellular.trace")).unwrap();
    for name in shipped() {
        let shown = joulepath(&["show", &name]).ok();
        fs::write(folder.path().join("again.toml"), &shown).unwrap();
        assert_eq!(
            joulepath_in(folder.path(), &["show", "again.toml"]).ok(),
            shown,
            "{name}"
        );
    }
}

#[test]
fn show_takes_variants_and_changes_and_speaks_json() {
    let shown = joulepath(&[
        "show",
        "papers/001-3g-wlan",
        "--variant",
        "64kB",
        "--set",
        "duration=7 s",
        "--json",
    ]);
    let json = shown.json();
    assert_eq!(json["connections"][0]["workload"]["kind"], "file");
    assert_eq!(json["connections"][0]["workload"]["size"], "64 kB");
    assert_eq!(json["paths"].as_array().unwrap().len(), 2);
    assert_eq!(json["duration"], "7 s");
}

#[test]
fn the_schema_is_valid_and_every_shipped_scenario_and_what_is_shown_of_it_conform() {
    let schema = joulepath(&["schema"]).json();
    let as_json = |text: &str| toml::from_str::<Value>(text).expect("TOML");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/");
    for name in shipped() {
        let written = fs::read_to_string(format!("{root}{name}.toml")).unwrap();
        for text in [written, joulepath(&["show", &name]).ok()] {
            let errors = errors(&schema, &as_json(&text));
            assert!(errors.is_empty(), "{name}: {errors:#?}");
        }
    }
    let wrong = as_json("title = \"x\"\nduration = 2\npath = []\n");
    let errors = errors(&schema, &wrong);
    assert!(
        errors.iter().any(|error| error.contains("at /duration")),
        "a bare number is no duration: {errors:?}"
    );
}

#[test]
fn a_trace_is_found_beside_the_scenario_and_counts_in_the_hash() {
    let folder = folder();
    let text = crate::QUICK.replacen(
        "rate = \"10 Mbit/s\"",
        "rate = { trace = \"wifi.down\" }",
        1,
    );
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/traced.toml"), text).unwrap();
    let hash_with = |trace: &str| {
        fs::write(folder.path().join("sub/wifi.down"), trace).unwrap();
        let said = joulepath_in(
            folder.path(),
            &["compare", "sub/traced.toml", "--seeds", "1", "--json"],
        );
        said.json()["manifest"]["scenario_sha256"].to_string()
    };
    // 1500 bytes every 2 ms and every 3 ms: 6 and 4 Mbit/s.
    assert_eq!(hash_with("2\n"), hash_with("2\n"));
    assert_ne!(hash_with("2\n"), hash_with("3\n"));
}

#[test]
fn a_trace_of_signals_is_found_beside_the_scenario_counts_in_the_hash_and_sets_the_joules() {
    let folder = folder();
    let path = "rate = \"20 Mbit/s\"\nsignal = { trace = \"walk.csv\" }\ndelay = \"20 ms\"\n\
                energy = \"5g-mmwave-2021\"\n";
    let text = format!(
        "title = \"t\"\nduration = \"20 s\"\n[[path]]\nname = \"5g\"\n{path}[workload]\nkind = \"bulk\"\n\
         [compare]\npolicies = [\"single:5g\"]\n"
    );
    fs::write(folder.path().join("traced.toml"), text).unwrap();
    let with = |trace: &str, engine: &str| {
        fs::write(folder.path().join("walk.csv"), trace).unwrap();
        let arguments = [
            "compare",
            "traced.toml",
            "--seeds",
            "1",
            "--json",
            "--engine",
            engine,
        ];
        let json = joulepath_in(folder.path(), &arguments).json();
        let joules = json["rows"][0]["energy_j"]["mean"]
            .as_f64()
            .unwrap_or_else(|| panic!("{json}"));
        (json["manifest"]["scenario_sha256"].to_string(), joules)
    };
    for engine in ["packet", "fluid"] {
        let [strong, weak] = ["0 -80\n", "0 -80\n4 -110\n"].map(|trace| with(trace, engine));
        assert_ne!(strong.0, weak.0);
        // 20 Mbit/s need 2.3 W at -80 dBm and 3.0 W at -110 dBm, for 16 s of the 20.
        assert!(
            (8.0..14.0).contains(&(weak.1 - strong.1)),
            "{engine}: {weak:?} {strong:?}"
        );
    }
    fs::write(folder.path().join("walk.csv"), "5 -80\n").unwrap();
    let said = joulepath_in(folder.path(), &["compare", "traced.toml"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("after 0 s"),
        "{}",
        said.stderr
    );
}
