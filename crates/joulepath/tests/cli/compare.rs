//! What `compare` says of a study.

use serde_json::Value;

use crate::QUICK;
use crate::run::{folder, joulepath, joulepath_in};

/// An estimate has a mean within its interval.
#[track_caller]
fn assert_estimate(value: &Value) {
    let [mean, lo, hi] = ["mean", "lo", "hi"].map(|key| value[key].as_f64().expect(key));
    assert!(lo <= mean && mean <= hi && mean > 0.0, "{value}");
}

/// A policy of the scenario moves to the front, another is added there.
#[test]
fn policies_are_compared_with_the_one_that_the_user_names() {
    let compare = |against: &str| {
        let arguments = ["compare", "quick", "--seeds", "1", "--duration", "2 s"];
        let arguments = [&arguments[..], &["--against", against, "--json"]].concat();
        let rows = joulepath(&arguments).json()["rows"].clone();
        let name = |row: &Value| {
            (
                row["policy"].as_str().unwrap().to_owned(),
                row["ratio"] == 1.0,
            )
        };
        rows.as_array()
            .unwrap()
            .iter()
            .map(name)
            .collect::<Vec<_>>()
    };
    let (known, added) = (compare("mptcp"), compare("olia"));
    assert_eq!(
        (known[0].clone(), added[0].clone()),
        (("mptcp".to_owned(), true), ("olia".to_owned(), true))
    );
    assert_eq!(known.len() + 1, added.len());
    assert_eq!(known.iter().filter(|(name, _)| name == "mptcp").count(), 1);
}

#[test]
fn stored_runs_are_not_run_again_and_give_the_same_numbers() {
    let folder = folder();
    let compare = |seeds: &str| {
        let arguments = ["compare", "quick", "--duration", "2 s", "-n", seeds];
        let arguments = [&arguments[..], &["--runs", "runs.jsonl", "--json"]].concat();
        joulepath_in(folder.path(), &arguments).json()["rows"].clone()
    };
    let stored = || std::fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    let first = compare("2");
    let written = stored();
    assert_eq!(written.lines().count(), 2 * first.as_array().unwrap().len());
    assert_eq!((compare("2"), stored()), (first, written.clone()));
    // A third seed adds a run of each policy.
    let third = compare("3");
    assert!(stored().starts_with(&written));
    assert_eq!(
        stored().lines().count(),
        3 * third.as_array().unwrap().len()
    );
}

#[test]
fn the_json_form_is_the_one_that_scripts_rely_on() {
    let json = joulepath(&[
        "compare",
        "quick",
        "--seeds",
        "3",
        "--duration",
        "20 s",
        "--json",
    ])
    .json();
    assert_eq!(json["scenario"]["title"], "WiFi + LTE, one second");
    assert_eq!(
        (&json["engine"], &json["seeds"], &json["partial"]),
        (&"packet".into(), &3.into(), &false.into())
    );
    let manifest = &json["manifest"];
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/quick.toml");
    let sum = std::process::Command::new("sha256sum")
        .arg(file)
        .output()
        .expect("coreutils are installed");
    let sum = String::from_utf8(sum.stdout).unwrap();
    assert_eq!(manifest["scenario_sha256"].as_str(), sum.split(' ').next());
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(
        manifest["command"],
        "joulepath compare quick --seeds 3 --duration '20 s' --json"
    );
    assert!(
        manifest["commit"]
            .as_str()
            .is_some_and(|commit| !commit.is_empty())
    );
    for limit in json["references"].as_array().unwrap() {
        assert!(
            ["tcp-reference", "link-bound"].contains(&limit["kind"].as_str().unwrap()),
            "{limit}"
        );
        assert!(limit["bits_per_joule"].as_f64().unwrap() > 0.0);
    }
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| row["policy"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["uncoupled", "mptcp"]
    );
    for row in rows {
        for key in ["goodput_bps", "power_w", "energy_j", "bits_per_joule"] {
            assert_estimate(&row[key]);
        }
        assert!(
            row["completion_s"].is_null(),
            "a bulk transfer is never complete"
        );
        // No policy beats the optimum.
        assert!((0.0..=1.0).contains(&row["tcp_reference_share"].as_f64().unwrap()));
        let paths = row["paths"].as_array().unwrap();
        assert_eq!(
            paths
                .iter()
                .map(|path| path["name"].as_str().unwrap())
                .collect::<Vec<_>>(),
            ["wifi", "lte"]
        );
        let sum = |key: &str| {
            paths
                .iter()
                .map(|path| path[key].as_f64().unwrap())
                .sum::<f64>()
        };
        assert!((sum("share") - 1.0).abs() < 1e-9);
        // In order at the connection and first arrivals on the paths: the same bytes but for those
        // still out of order.
        assert!(
            (sum("goodput_bps") / row["goodput_bps"]["mean"].as_f64().unwrap() - 1.0).abs() < 0.02
        );
        assert!(sum("energy_j") <= row["energy_j"]["mean"].as_f64().unwrap() * (1.0 + 1e-9));
    }
}

#[test]
fn a_file_has_a_completion_time() {
    let json = joulepath(&[
        "compare",
        "papers/001-3g-wlan",
        "--variant",
        "64kB",
        "--seeds",
        "2",
        "--policies",
        "mptcp",
        "--json",
    ])
    .json();
    assert_estimate(&json["rows"][0]["completion_s"]);
    assert_eq!(json["scenario"]["file"], "papers/001-3g-wlan#64kB");
}

#[test]
fn the_results_do_not_depend_on_the_number_of_jobs() {
    let rows = |jobs: &str| {
        let arguments = [
            "compare",
            "papers/000-table1",
            "--seeds",
            "3",
            "--duration",
            "5 s",
            "--json",
            "--jobs",
            jobs,
        ];
        joulepath(&arguments).json()["rows"].to_string()
    };
    assert_eq!(rows("1"), rows("2"));
}

#[test]
fn other_seeds_give_other_results_and_the_same_seeds_the_same() {
    let rows = |first: &str| {
        let arguments = [
            "compare",
            "papers/000-table1",
            "--seeds",
            "2",
            "--seed",
            first,
            "--duration",
            "5 s",
            "--json",
        ];
        joulepath(&arguments).json()["rows"].to_string()
    };
    assert_eq!(rows("1"), rows("1"));
    assert_ne!(rows("1"), rows("2"));
}

#[test]
fn an_option_before_the_scenario_does_not_swallow_it() {
    for flag in ["--json", "--report"] {
        let folder = folder();
        std::fs::write(folder.path().join("my.toml"), QUICK).unwrap();
        let said = joulepath_in(folder.path(), &["compare", "--seeds", "1", flag, "my.toml"]);
        assert_eq!(said.code, Some(0), "{flag}: {}", said.stderr);
        assert_eq!(
            std::fs::read_to_string(folder.path().join("my.toml")).unwrap(),
            QUICK
        );
    }
    assert_eq!(
        joulepath(&["compare", "--seeds", "1", "--json", "quick"]).json()["seeds"],
        1
    );
}

#[test]
fn changes_on_the_command_line_count() {
    let json = joulepath(&[
        "compare",
        "quick",
        "--seeds",
        "1",
        "--duration",
        "2 s",
        "--set",
        "path.wifi.rate=1 Mbit/s",
        "--json",
    ])
    .json();
    assert_eq!(json["scenario"]["duration_s"], 2.0);
    let wifi = json["rows"][0]["paths"][0]["goodput_bps"].as_f64().unwrap();
    assert!((0.5e6..1e6).contains(&wifi), "{wifi} bit/s over 1 Mbit/s");
}

#[test]
fn variants_are_compared_one_after_the_other() {
    let arguments = [
        "compare",
        "home-wifi-lte",
        "--all-variants",
        "--seeds",
        "1",
        "--duration",
        "3 s",
    ];
    let with =
        |more: &[&str]| joulepath(&[&arguments[..], &["--policies", "mptcp"], more].concat());
    let json = with(&["--json"]).json();
    let files: Vec<&str> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["scenario"]["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "home-wifi-lte#1MB",
            "home-wifi-lte#200MB",
            "home-wifi-lte#radios2012"
        ]
    );
    let notes = |variant: usize| json[variant]["notes"].to_string();
    assert!(
        notes(2).contains("Energy extrapolated: wifi (wifi-huang2012 holds up to 20 Mbit/s)."),
        "{json}"
    );
    assert!(!notes(0).contains("extrapolated"), "{json}");
    let csv = with(&["--csv", "-"]).ok();
    assert_eq!(
        csv.lines().count(),
        4,
        "one header, one line for each variant: {csv}"
    );
    let tables = with(&[]).ok();
    assert_eq!(tables.matches("· packet engine ·").count(), 3, "{tables}");
}

#[test]
fn the_table_fits_into_80_columns_where_there_is_no_terminal_and_wide_shows_all() {
    let arguments = [
        "compare",
        "papers/000-table1",
        "--seeds",
        "2",
        "--duration",
        "5 s",
    ];
    let table = joulepath(&arguments).ok();
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(!table.contains('\u{1b}'), "no colours: {table}");
    let wide = joulepath(&[&arguments[..], &["--wide"]].concat()).ok();
    assert!(
        wide.lines().any(|line| line.chars().count() > 100) && wide.contains("retrans"),
        "{wide}"
    );
    for policy in [
        "uncoupled",
        "MPTCP [cc=ecmtcp]",
        "(recon.)",
        "EEMPTCP",
        "No link bound",
    ] {
        assert!(table.contains(policy), "{policy}: {table}");
    }
}

/// The video pauses for less time than a 5G tail lasts, so no sender comes near the bound. Messages
/// do.
#[test]
fn reference_values_out_of_reach_are_left_out_with_the_reason() {
    let compared = |scenario: &str, policy: &str| {
        joulepath(&[
            "compare",
            scenario,
            "--policies",
            policy,
            "--seeds",
            "1",
            "--json",
        ])
        .json()
    };
    let video = compared("video-wifi-5g", "single:5g");
    assert_eq!(video["references"].as_array().unwrap().len(), 0, "{video}");
    assert!(
        video["notes"]
            .to_string()
            .contains("No TCP-rate reference, no link bound"),
        "{video}"
    );
    let messages = compared("telemetry", "single:wifi");
    assert_eq!(
        messages["references"].as_array().unwrap().len(),
        2,
        "{messages}"
    );
    assert!(
        messages["rows"][0]["link_bound_share"].as_f64().unwrap() > 0.9,
        "{messages}"
    );
}

#[test]
fn nothing_but_data_goes_to_stdout_and_quiet_keeps_stderr_empty() {
    let folder = folder();
    let arguments = ["compare", "quick", "--seeds", "1", "--json", "--report"];
    let said = joulepath_in(folder.path(), &arguments);
    assert!(
        said.stderr.contains("report: joulepath-report/quick.html"),
        "{}",
        said.stderr
    );
    said.json();
    let said = joulepath_in(folder.path(), &[&arguments[..], &["--quiet"]].concat());
    assert_eq!(said.stderr, "");
}

#[test]
fn packets_are_files_of_both_ends_and_need_the_packet_engine() {
    let folder = folder();
    let arguments = [
        "compare",
        "quick",
        "--policies",
        "mptcp,joule[preset=fast]",
        "--seeds",
        "2",
        "--packets",
        "packets",
    ];
    let said = joulepath_in(folder.path(), &arguments);
    assert!(
        said.stderr.contains("packets: packets (8 files, seed 1)"),
        "{}",
        said.stderr
    );
    for name in [
        "mptcp.client.pcapng",
        "mptcp.server.pcapng",
        "joule_preset=fast.client.pcapng",
        "joule_preset=fast.server.sqlog",
    ] {
        let file = folder.path().join("packets").join(name);
        assert!(std::fs::metadata(&file).unwrap().len() > 1000, "{name}");
    }
    let events = folder.path().join("packets/mptcp.client.sqlog");
    let text = std::fs::read_to_string(events).unwrap();
    for record in text.split('\u{1e}').skip(1) {
        serde_json::from_str::<Value>(record).unwrap();
    }
    let refused = |scenario: &str, engine: &str, says: &str| {
        let packets = ["--packets", "p", "--engine", engine, "--seeds", "1"];
        let arguments = [&["compare", scenario][..], &packets].concat();
        let said = joulepath_in(folder.path(), &arguments);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    };
    refused("quick", "fluid", "--packets needs the packet engine");
    refused("papers/002-bcube", "packet", "a capture has one connection");
}

#[test]
fn the_bill_of_a_simulated_capture_is_that_of_the_engine() {
    let folder = folder();
    let run = [
        "compare",
        "home-wifi-lte",
        "--policies",
        "linux",
        "--seeds",
        "1",
        "--json",
        "--packets",
        "packets",
    ];
    let comparison = joulepath_in(folder.path(), &run).json();
    let radios = ["--radio", "wifi=wifi6-2021", "--radio", "lte=lte-2021"];
    let bill = [
        &["bill", "packets/linux.client.pcapng", "--json"][..],
        &radios,
    ]
    .concat();
    let said = joulepath_in(folder.path(), &bill).json();
    for (path, billed) in said["interfaces"].as_array().unwrap().iter().enumerate() {
        let right = comparison["rows"][0]["paths"][path]["energy_j"]
            .as_f64()
            .unwrap();
        let parts = ["promotion_j", "transfer_j", "tail_j", "idle_j"];
        let found: f64 = parts
            .map(|part| billed[part].as_f64().unwrap())
            .iter()
            .sum();
        assert!(
            (found / right - 1.0).abs() < 0.02,
            "{path}: {found} J, not {right}"
        );
    }
    let refused = joulepath_in(folder.path(), &["bill", "packets/linux.client.pcapng"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("the interface `wifi` has no radio")
            && refused.stderr.contains("--radio wifi=wifi6-2021"),
        "{}",
        refused.stderr
    );
}
