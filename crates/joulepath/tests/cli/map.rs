//! `joulepath map`.

use std::fs;

use crate::run::{folder, joulepath, joulepath_in};

const RATE: &str = "path.lte.rate=1..10 Mbit/s:4";
const DELAY: &str = "path.lte.delay=5 ms..80 ms:3log";

#[test]
fn a_map_names_the_winner_of_every_point_and_checks_some() {
    let arguments = [
        "map",
        "quick",
        "--set",
        "duration=5 s",
        "--x",
        RATE,
        "--y",
        DELAY,
        "--policies",
    ];
    let policies = [
        "uncoupled,single:wifi,single:lte",
        "--spot-check",
        "2",
        "--seeds",
        "1",
    ];
    let map = joulepath(&[&arguments[..], &policies, &["--json"]].concat()).json();
    assert_eq!(
        (&map["engine"], &map["partial"]),
        (&"fluid".into(), &false.into())
    );
    assert_eq!(map["x"]["values"], serde_json::json!([1.0, 4.0, 7.0, 10.0]));
    assert_eq!(map["y"]["values"], serde_json::json!([5.0, 20.0, 80.0]));
    let winners = map["winners"].as_array().unwrap();
    assert_eq!(winners.len(), 12);
    for (point, winner) in winners.iter().enumerate() {
        let best = map["policies"].as_array().unwrap().iter().max_by(|a, b| {
            a["values"][point]
                .as_f64()
                .unwrap()
                .total_cmp(&b["values"][point].as_f64().unwrap())
        });
        assert_eq!(winner["best"], best.unwrap()["policy"], "{point}");
    }
    let check = &map["spot_check"];
    assert_eq!(check["points"].as_array().unwrap().len(), 2);
    let agreeing = check["same_winner"].as_u64().unwrap() + check["tied_winner"].as_u64().unwrap();
    assert_eq!(agreeing, 2, "one radio is cheaper than two by far: {check}");

    // The same as a drawing and as lines.
    let text = joulepath(&[&arguments[..], &policies].concat()).ok();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains("80 ms ┤") && text.contains("Spot check: at") && !text.contains('\x1b'),
        "{text}"
    );
    let csv = joulepath(&[&arguments[..], &policies, &["--csv", "-"]].concat()).ok();
    assert_eq!(csv.lines().count(), 1 + 12 * 3, "{csv}");
    assert!(csv.starts_with(
        "\"path.lte.rate [Mbit/s]\",\"path.lte.delay [ms]\",policy,bits_per_joule,best,tied\n"
    ));
}

#[test]
fn the_page_has_the_maps_and_loads_nothing() {
    let folder = folder();
    let arguments = ["map", "quick", "--x", RATE, "--y", DELAY, "--report", "out"];
    let said = joulepath_in(folder.path(), &arguments).stderr;
    assert!(said.ends_with("report: out/quick-map.html\n"), "{said}");
    let page = fs::read_to_string(folder.path().join("out/quick-map.html")).unwrap();
    assert!(page.contains("path.lte.delay (log)") && page.contains("default-src 'none'"));
}

#[test]
fn one_thread_and_all_give_the_same_bytes() {
    let map = |jobs| {
        joulepath(&[
            "map", "quick", "--x", RATE, "--y", DELAY, "--csv", "-", "--jobs", jobs,
        ])
        .ok()
    };
    assert_eq!(map("1"), map("2"));
}

#[test]
fn few_points_may_be_drawn_by_the_packet_engine() {
    let buffer = "receiver.buffer=16 KiB..64 KiB:2log";
    let arguments = [
        "map",
        "quick",
        "--x",
        buffer,
        "--y",
        DELAY,
        "--engine",
        "packet",
        "--seeds",
        "1",
        "--metric",
        "goodput_bps",
    ];
    let text = joulepath(&arguments).ok();
    assert!(text.contains("goodput · packet engine"), "{text}");
}

/// What is wrong, with which exit code, and what it says.
#[test]
fn a_wrong_map_is_refused_with_place_and_fix() {
    let cases: [(i32, &[&str], &[&str]); 10] = [
        (
            2,
            &["--x", RATE, "--y", "path.1.rate=1..9 Mbit/s"],
            &["both axes set `path.1.rate`"],
        ),
        (
            2,
            &["--x", "path.wifi.los=1 %..2 %", "--y", DELAY],
            &["los", "did you mean"],
        ),
        (
            2,
            &["--x", "path.lte.rate=9..2 Mbit/s", "--y", DELAY],
            &["--x", "from 9 down to 2", "lower end first"],
        ),
        (
            2,
            &["--x", "path.lte.rate=9..9 Mbit/s", "--y", DELAY],
            &["an axis needs two points", "--set"],
        ),
        (
            2,
            &["--x", RATE, "--y", "path.lte.delay=1..9 ms:1"],
            &["--y", "an axis needs two points"],
        ),
        (
            2,
            &["--x", "workload.kind=bulk..file", "--y", DELAY],
            &["`bulk` is not a number", "compare --set"],
        ),
        (
            2,
            &["--x", "workload.kind=1..2:2", "--y", DELAY],
            &["workload.kind"],
        ),
        (
            2,
            &["--x", RATE, "--y", DELAY, "--engine", "kernel"],
            &["hundreds of points", "--engine fluid"],
        ),
        (
            3,
            &["--x", RATE, "--y", DELAY, "--policies", "redundant"],
            &["`redundant` uses the redundant scheduler"],
        ),
        (
            3,
            &["--x", RATE, "--y", DELAY, "--policies", "es-mptcp"],
            &["a selector", "--engine packet"],
        ),
    ];
    for (code, arguments, words) in cases {
        let said = joulepath(&[&["map", "quick"], arguments].concat());
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{arguments:?}");
        for word in words {
            assert!(
                said.stderr.contains(word),
                "{arguments:?} does not say {word:?}: {}",
                said.stderr
            );
        }
    }
    let said = joulepath(&[
        "map",
        "video-wifi-5g",
        "--x",
        "path.wifi.loss=0.1 %..1 %",
        "--y",
        "path.5g.loss=0.1 %..1 %",
    ]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("carries a stream"), "{}", said.stderr);
}
