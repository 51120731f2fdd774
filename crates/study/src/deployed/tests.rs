use std::collections::BTreeMap;
use std::fs;

use joulepath_live::decide::Overrides;
use joulepath_live::record::Traffic;
use joulepath_live::snapshot::{Families, Interface, Snapshot};
use joulepath_model::scenario::{read_live, show_live};
use serde_json::json;

use super::*;

/// Time between two polls, s.
const EVERY_S: u64 = 2;

fn radio(index: u32, name: &str, mbps: f64) -> Interface {
    Interface {
        index,
        name: name.into(),
        kind: None,
        usable: true,
        routed: true,
        addresses: vec![[198, 18, 0, index as u8].into()],
        rate_bps: 0.0,
        capacity_bps: Some(mbps * 1e6),
        rtt: Some(Nanos::from_millis(40)),
        first: index == 2,
        subflows: 1,
        healthy: 1,
        lost: 0,
        silent: None,
        stalled: false,
        mute: false,
        sole: 0,
        only: 0,
        missing: 0,
        refused: 0,
        carried_bytes: 100_000_000,
        used: None,
        under_way: 0,
        remembered: None,
        strength: None,
    }
}

/// A record of a daemon on ideal paths: traffic is offered at a rate that depends on the time and
/// fills the paths in use in order. `change` adds other events.
fn record(
    config: &str,
    length_s: u64,
    mbps: impl Fn(u64) -> f64,
    change: impl Fn(u64, &mut Snapshot),
) -> String {
    let config = read_live(config).unwrap();
    let begin =
        json!({ "what": "begin", "schema": 1, "version": "0.1.0", "config": show_live(&config) });
    let (mut decider, mut text) = (Decider::default(), format!("{begin}\n"));
    let mut carries: Vec<String> = vec![];
    for s in (0..length_s).step_by(EVERY_S as usize) {
        let interfaces = vec![radio(2, "wlan0", 10.0), radio(3, "wwan0", 20.0)];
        let now = Nanos::from_secs(1000 + s);
        let mut snapshot = Snapshot {
            now,
            battery: None,
            families: Families::default(),
            most_endpoints: None,
            interfaces,
        };
        change(s, &mut snapshot);
        let mut left = mbps(s) * 1e6;
        let mut traffic = BTreeMap::new();
        for one in &mut snapshot.interfaces {
            let room = one.capacity_bps.unwrap_or(0.0) * 0.97;
            let works = one.usable && carries.contains(&one.name);
            one.rate_bps = if works { left.min(room) } else { 0.0 };
            left -= one.rate_bps;
            traffic.insert(
                one.name.clone(),
                Traffic {
                    received_bps: one.rate_bps,
                    ..Traffic::default()
                },
            );
        }
        let overrides = Overrides::default();
        let decision = decider.decide(&config, &overrides, &snapshot);
        let regular = decision
            .interfaces
            .iter()
            .filter(|told| told.role == Role::Regular);
        carries = regular.map(|told| told.name.clone()).collect();
        let look = Look {
            snapshot,
            overrides,
            decision,
            traffic,
        };
        let mut line = serde_json::to_value(&look).unwrap();
        line["what"] = "look".into();
        text += &format!("{line}\n");
    }
    text
}

fn decided_again(text: &str) -> Simulated {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    fs::write(&path, text).unwrap();
    replay(&path, 1).unwrap_or_else(|error| panic!("{error}"))
}

const RADIOS: &str = "[[interface]]\nname = \"wlan0\"\ncost = 1\nrate = \"10 Mbit/s\"\n\
                      [[interface]]\nname = \"wwan0\"\ncost = 2\nrate = \"20 Mbit/s\"\n";

#[test]
fn decisions_are_repeated_without_events_and_at_an_outage() {
    let config = format!("intent = \"interactive\"\n{RADIOS}");
    // WiFi is down from 60 s to 100 s.
    let text = record(
        &config,
        180,
        |_| 4.0,
        |s, snapshot| snapshot.interfaces[0].usable = !(60..100).contains(&s),
    );
    let told = decided_again(&text);
    assert_eq!(
        (told.looks, told.roles, told.stretches, told.simulated),
        (90, 180, 6, 6)
    );
    assert_eq!(
        (told.agree, told.roles_agree),
        (90, 180),
        "{:?}",
        told.differences
    );
    assert_eq!(told.length_s, 178.0);
}

#[test]
fn overflow_uses_the_second_path_when_it_did_in_the_record() {
    let config = format!("intent = \"overflow\"\n{RADIOS}");
    // More than WiFi's rate from 60 s to 180 s.
    let text = record(
        &config,
        300,
        |s| if (60..180).contains(&s) { 16.0 } else { 4.0 },
        |_, _| {},
    );
    let told = decided_again(&text);
    let both = told.looks as f64;
    // The steps come some polls earlier or later: rates are measured, and a stretch has one mean.
    assert!(told.agree as f64 >= 0.85 * both, "{told:?}");
    // After 180 s traffic falls below its usual level, which causes trials some polls apart.
    let is_late = |one: &String| one.contains("wwan0: was ") || one.contains("a trial without ");
    assert!(told.differences.iter().all(is_late), "{told:?}");
    // Not by chance: with traffic that always fits, the replay does not find the record's use of
    // the second path.
    let calm = text.replace("\"received_bps\":9700000.0", "\"received_bps\":4000000.0");
    let calm = calm.replace("\"received_bps\":6300000.0", "\"received_bps\":0.0");
    assert!(decided_again(&calm).agree < told.agree, "{told:?}");
}

#[test]
fn a_different_decision_is_reported_with_its_time_both_roles_and_reasons() {
    let config = format!("intent = \"interactive\"\n{RADIOS}");
    let text = record(&config, 60, |_| 4.0, |_, _| {});
    let lines: Vec<&str> = text.lines().collect();
    let other = lines[6].replacen("\"role\":\"backup\"", "\"role\":\"regular\"", 1);
    let told = decided_again(&text.replace(lines[6], &other));
    assert_eq!((told.looks - told.agree, told.differences.len()), (1, 1));
    // The sixth poll is at 10 s.
    let said = &told.differences[0];
    assert!(
        said.starts_with("10.0 s: wwan0: was regular: an open backup: "),
        "{said}"
    );
    assert!(said.contains("; is backup: an open backup: "), "{said}");
}

#[test]
fn idle_times_need_no_run_and_other_files_are_refused() {
    let config = format!("intent = \"frugal\"\n{RADIOS}");
    let told = decided_again(&record(&config, 120, |_| 0.0, |_, _| {}));
    assert_eq!(
        (told.simulated, told.stretches, told.agree),
        (0, 4, told.looks)
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    for (text, why) in [("", "the record is empty"), ("{}\n", "record:1: ")] {
        fs::write(&path, text).unwrap();
        let error = replay(&path, 1).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
