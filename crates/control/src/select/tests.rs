use joulepath_model::energy::{DeviceEnergy, Traffic, profile};
use joulepath_model::units::Nanos;

use super::uses::only;
use super::*;

const MB: u64 = 1_000_000;

fn energy(name: &str) -> PathEnergy {
    PathEnergy::of(&profile(name).unwrap().model, Traffic::Down)
}

/// An open, regular path that has carried 1 MB at its capacity.
fn open(name: &str, capacity_mbps: f64) -> PathSnapshot {
    PathSnapshot {
        state: PathState::Open,
        usable: true,
        srtt_s: 0.05,
        cwnd: 20.0,
        rate_bps: capacity_mbps * 1e6,
        busy_bps: Some(capacity_mbps * 1e6),
        capacity_bps: capacity_mbps * 1e6,
        delivered_bytes: MB,
        energy: energy(name),
        ..PathSnapshot::default()
    }
}

fn closed(name: &str) -> PathSnapshot {
    PathSnapshot {
        usable: true,
        energy: energy(name),
        ..PathSnapshot::default()
    }
}

/// A snapshot with segments of 1460 B, a receive buffer that binds nothing and no energy besides
/// the paths.
pub(super) fn at(seconds: f64, demand: Demand, paths: &[PathSnapshot]) -> Snapshot<'_> {
    Snapshot {
        now: Nanos::from_secs_f64(seconds),
        mss_bytes: 1460.0,
        initial_window: 10.0,
        receive_window: f64::INFINITY,
        device: &DeviceEnergy::ADDITIVE,
        demand,
        paths,
    }
}

fn selector(name: &str, options: &[(&str, &str)]) -> Selector {
    let mut spec = SelectorSpec::by_name(name).unwrap();
    spec.options = options
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    spec.bind(&["wifi", "lte"]).unwrap()
}

fn want(selector: &mut Selector, snapshot: &Snapshot) -> [Use; 2] {
    let uses = selector.want(snapshot);
    [uses[0], uses[1]]
}

const WIFI_ONLY: [Use; 2] = [Use::Regular, Use::Closed];
const LTE_BACKUP: [Use; 2] = [Use::Regular, Use::Backup];
const WIFI_BACKUP: [Use; 2] = [Use::Backup, Use::Regular];
const BOTH: [Use; 2] = [Use::Regular, Use::Regular];

#[test]
fn a_path_opens_before_another_closes() {
    let wanted = only(&[1], Use::Closed);
    let wifi = open("wifi-huang2012", 10.0);
    let mut paths = [wifi, closed("lte-huang2012")];
    assert_eq!(differences(&paths, &wanted), [Action::Open(1)]);
    paths[1].state = PathState::Opening;
    assert_eq!(differences(&paths, &wanted), []);
    paths[1].state = PathState::Open;
    assert_eq!(differences(&paths, &wanted), [Action::Close(0)]);
    // It must stay open while the remaining path does not answer or is only a backup.
    paths[1].usable = false;
    assert_eq!(differences(&paths, &wanted), []);
    paths[1] = PathSnapshot {
        usable: true,
        backup: true,
        ..paths[1]
    };
    assert_eq!(differences(&paths, &wanted), [Action::SetBackup(1, false)]);
    paths[0].state = PathState::Closing;
    paths[1].backup = false;
    assert_eq!(differences(&paths, &wanted), []);
}

#[test]
fn a_backup_is_told_before_it_opens() {
    let paths = [open("wifi-huang2012", 10.0), closed("lte-huang2012")];
    let acts = differences(&paths, &only(&[0], Use::Backup));
    assert_eq!(acts, [Action::SetBackup(1, true), Action::Open(1)]);
}

#[test]
fn the_single_best_path_is_kept_until_another_is_clearly_cheaper_or_it_fails() {
    let mut best = selector("single-best", &[]);
    let cold = [closed("wifi-huang2012"), closed("lte-huang2012")];
    assert_eq!(want(&mut best, &at(0.0, Demand::Endless, &cold)), WIFI_ONLY);
    // 137 + 133/1.5 = 226 mJ/Mbit against LTE's 52 + 129 = 181 at 10 Mbit/s: 25 % more.
    let slow = [open("wifi-huang2012", 1.5), closed("lte-huang2012")];
    assert_eq!(want(&mut best, &at(4.9, Demand::Endless, &slow)), WIFI_ONLY);
    assert_eq!(
        want(&mut best, &at(5.0, Demand::Endless, &slow)),
        [Use::Closed, Use::Regular]
    );
    // A path that does not answer is dropped at once.
    let mut best = selector("single-best", &[]);
    want(&mut best, &at(0.0, Demand::Endless, &cold));
    let dead = [
        PathSnapshot {
            usable: false,
            ..open("wifi-huang2012", 10.0)
        },
        closed("lte-huang2012"),
    ];
    assert_eq!(
        want(&mut best, &at(0.1, Demand::Endless, &dead)),
        [Use::Closed, Use::Regular]
    );
}

#[test]
fn a_fixed_set_stays_whatever_happens_to_its_paths() {
    let dead = [
        PathSnapshot {
            usable: false,
            ..open("wifi-huang2012", 10.0)
        },
        closed("lte-huang2012"),
    ];
    let endless = at(0.0, Demand::Endless, &dead);
    assert_eq!(
        want(&mut selector("only", &[("paths", "wifi")]), &endless),
        WIFI_ONLY
    );
    assert_eq!(
        want(&mut selector("only", &[("paths", "lte+wifi")]), &endless),
        BOTH
    );
    assert_eq!(want(&mut selector("only", &[]), &endless), BOTH);
}

#[test]
fn backup_and_quota_take_the_paths_that_they_are_told() {
    let paths = [open("wifi-huang2012", 10.0), open("lte-huang2012", 10.0)];
    let endless = at(0.0, Demand::Endless, &paths);
    assert_eq!(want(&mut selector("backup", &[]), &endless), LTE_BACKUP);
    assert_eq!(
        want(&mut selector("backup", &[("primary", "lte")]), &endless),
        WIFI_BACKUP
    );
    // Each has carried 1 MB. LTE is the most expensive.
    assert_eq!(want(&mut selector("quota", &[]), &endless), BOTH);
    assert_eq!(
        want(&mut selector("quota", &[("bytes", "1 MB")]), &endless),
        LTE_BACKUP
    );
    assert_eq!(
        want(&mut selector("quota", &[("bytes", "1001 kB")]), &endless),
        BOTH
    );
    assert_eq!(
        want(
            &mut selector("quota", &[("on", "wifi"), ("bytes", "1MB")]),
            &endless
        ),
        WIFI_BACKUP
    );
}

#[test]
fn overflow_opens_the_next_path_when_the_first_is_full_and_closes_it_when_the_load_fits_again() {
    let mut overflow = selector("overflow", &[]);
    let wifi = open("wifi-huang2012", 8.0);
    let one = [wifi, closed("lte-huang2012")];
    // 8 Mbit/s drain 500 kB in half a second.
    let (little, much) = (Demand::Bytes(499e3), Demand::Bytes(501e3));
    assert_eq!(want(&mut overflow, &at(0.0, little, &one)), WIFI_ONLY);
    assert_eq!(want(&mut overflow, &at(1.0, much, &one)), WIFI_ONLY);
    assert_eq!(want(&mut overflow, &at(1.9, much, &one)), WIFI_ONLY);
    assert_eq!(want(&mut overflow, &at(2.0, much, &one)), BOTH);
    // No data waits for five seconds: LTE becomes a backup on trial.
    let two = [wifi, open("lte-huang2012", 2.0)];
    let more = Demand::Bytes(626e3);
    for (seconds, demand, expected) in [
        (3.0, little, BOTH),
        (7.9, little, BOTH),
        (8.0, little, LTE_BACKUP),
        // WiFi alone is full for a second: LTE returns, and the next trial comes after ten seconds.
        (9.0, more, LTE_BACKUP),
        (9.9, more, LTE_BACKUP),
        (10.0, more, BOTH),
        (11.0, little, BOTH),
        (20.9, little, BOTH),
        (21.0, little, LTE_BACKUP),
        // Two seconds without waiting data: LTE closes.
        (22.9, little, LTE_BACKUP),
        (23.0, little, WIFI_ONLY),
    ] {
        assert_eq!(
            want(&mut overflow, &at(seconds, demand, &two)),
            expected,
            "{seconds} s"
        );
    }
}

#[test]
fn emptcp_opens_the_cellular_subflow_late_and_makes_it_a_backup_when_wifi_is_enough() {
    let bytes = |wifi: PathSnapshot, delivered_bytes| PathSnapshot {
        delivered_bytes,
        ..wifi
    };
    // P0 = 0: with LTE at 10 Mbit/s WiFi alone pays above 3.03 Mbit/s, plus 10 %.
    let (good, bad) = (open("wifi-huang2012", 20.0), open("wifi-huang2012", 2.0));
    let lte = closed("lte-huang2012");
    let look = |emptcp: &mut Selector, seconds, wifi| {
        want(emptcp, &at(seconds, Demand::Endless, &[wifi, lte]))
    };
    let mut emptcp = selector("emptcp", &[]);
    assert_eq!(look(&mut emptcp, 0.0, closed("wifi-huang2012")), WIFI_ONLY);
    assert_eq!(look(&mut emptcp, 0.3, bytes(good, MB - 1)), WIFI_ONLY);
    assert_eq!(look(&mut emptcp, 0.6, bytes(good, MB)), LTE_BACKUP);
    // With `check`, κ alone is not enough.
    let mut checked = selector("emptcp", &[("check", "on")]);
    assert_eq!(look(&mut checked, 0.3, bytes(good, MB)), WIFI_ONLY);
    // τ opens it when WiFi is slow.
    let mut slow = selector("emptcp", &[]);
    assert_eq!(look(&mut slow, 0.0, bytes(bad, 0)), WIFI_ONLY);
    assert_eq!(look(&mut slow, 2.9, bytes(bad, 1000)), WIFI_ONLY);
    // Cellular alone below 3.03 Mbit/s without base power.
    assert_eq!(look(&mut slow, 3.0, bytes(bad, 1000)), WIFI_BACKUP);
}

#[test]
fn pluntke_stays_on_wifi_with_the_constants_of_huang() {
    // 002 reports that it picks WiFi only.
    let mut pluntke = selector("pluntke", &[]);
    let cold = [closed("wifi-huang2012"), closed("lte-huang2012")];
    assert_eq!(
        want(&mut pluntke, &at(0.0, Demand::Endless, &cold)),
        LTE_BACKUP
    );
    let paths = [
        open("wifi-huang2012", 10.0),
        PathSnapshot {
            busy_bps: None,
            ..open("lte-huang2012", 10.0)
        },
    ];
    for second in 1..40 {
        assert_eq!(
            want(
                &mut pluntke,
                &at(f64::from(second), Demand::Endless, &paths)
            ),
            LTE_BACKUP
        );
    }
    // Unless WiFi carries almost nothing, and unserved bits cost more than the other radio.
    let mut strict = selector("pluntke", &[("unserved", "100")]);
    let slow = [open("wifi-huang2012", 0.2), paths[1]];
    let last = (0..40)
        .map(|second| want(&mut strict, &at(f64::from(second), Demand::Endless, &slow)))
        .last();
    assert_eq!(last, Some(WIFI_BACKUP));
}

#[test]
fn es_tries_what_it_does_not_know_and_keeps_what_it_has_while_nothing_waits() {
    let mut es = selector("es-mptcp", &[]);
    let cold = [closed("wifi-huang2012"), closed("lte-huang2012")];
    assert_eq!(want(&mut es, &at(0.0, Demand::Bytes(0.0), &cold)), BOTH);
    let known = PathSnapshot {
        loss: 0.01,
        ..open("wifi-huang2012", 10.0)
    };
    let one = [
        known,
        PathSnapshot {
            state: PathState::Opening,
            ..closed("lte-huang2012")
        },
    ];
    assert_eq!(want(&mut es, &at(0.1, Demand::Bytes(1e6), &one)), BOTH);
    let two = [
        known,
        PathSnapshot {
            loss: 0.01,
            srtt_s: 0.03,
            ..open("lte-huang2012", 10.0)
        },
    ];
    assert_eq!(want(&mut es, &at(0.2, Demand::Bytes(0.0), &two)), BOTH);
    assert_eq!(want(&mut es, &at(0.3, Demand::Bytes(1e6), &two)), WIFI_ONLY);
    let mut lenient = selector("es-mptcp", &[("unused", "backup"), ("mu", "0.01")]);
    assert_eq!(want(&mut lenient, &at(0.3, Demand::Bytes(1e6), &two)), BOTH);
}

#[test]
fn an_observer_estimates_rate_loss_and_capacity() {
    let mut observer = Observer::new(&[PathEnergy::default()], 1000.0);
    let mut look = |ms: u64, delivered_bytes, loss_events, demand| {
        let counters = Counters {
            state: PathState::Open,
            delivered_bytes,
            loss_events,
            ..Counters::default()
        };
        observer.observe(Nanos::from_millis(ms), &[counters], demand);
        observer.paths()[0]
    };
    look(500, 0, 0, Demand::Endless);
    // 100 kB in 500 ms are 1.6 Mbit/s; weight 0.5/(0.5 + 0.5).
    let first = look(1000, 100_000, 0, Demand::Endless);
    assert_eq!(
        (first.rate_bps, first.busy_bps, first.capacity_bps),
        (0.8e6, Some(1.6e6), 1.6e6)
    );
    assert_eq!(first.loss, 0.0);
    // Two losses in 100 packets: one in 50. Then no loss in 150: the present interval is longer.
    assert_eq!(look(1500, 200_000, 2, Demand::Endless).loss, 1.0 / 100.0);
    assert_eq!(look(2000, 300_000, 2, Demand::Endless).loss, 1.0 / 100.0);
    assert_eq!(look(2500, 350_000, 2, Demand::Bytes(0.0)).loss, 1.0 / 150.0);
    // No data waited, so the rate does not measure the path's capacity.
    let idle = look(3000, 350_001, 2, Demand::Bytes(0.0));
    assert_eq!(idle.busy_bps, None);
}

#[test]
fn a_path_that_stalls_is_left_alone_for_a_while() {
    let mut observer = Observer::new(&[PathEnergy::default()], 1000.0);
    let mut usable = |seconds, stalled, delivered_bytes| {
        let counters = Counters {
            state: PathState::Open,
            stalled,
            delivered_bytes,
            ..Counters::default()
        };
        observer.observe(Nanos::from_secs(seconds), &[counters], Demand::Endless);
        observer.paths()[0].usable
    };
    assert_eq!(
        [
            usable(1, false, 0),
            usable(2, true, 0),
            usable(11, false, 0),
            usable(12, false, 0)
        ],
        [true, false, false, true]
    );
    // Once it answers it is usable again.
    assert_eq!(
        [
            usable(13, true, 0),
            usable(14, true, 1000),
            usable(15, false, 2000)
        ],
        [false, false, true]
    );
}

#[test]
fn a_radio_is_described_by_its_states() {
    // Huang et al.: 1210.7 mW for 260.1 ms; 1060 mW for 11.576 s.
    let lte = energy("lte-huang2012");
    assert!((lte.wake_j - 0.3149).abs() < 1e-4 && (lte.tail_w - 1.06).abs() < 1e-9);
    assert!((lte.tail_s - 11.576).abs() < 1e-9 && (lte.sunk_w - 1.28804).abs() < 1e-9);
}

#[test]
fn a_wrong_option_is_told_the_right_one() {
    let fails = |name: &str, key: &str, value: &str| {
        let spec = SelectorSpec {
            options: vec![(key.to_owned(), value.to_owned())],
            ..SelectorSpec::by_name(name).unwrap()
        };
        spec.bind(&["wifi", "lte"]).unwrap_err().to_string()
    };
    assert!(
        SelectorSpec::by_name("emptpc")
            .unwrap_err()
            .to_string()
            .contains("did you mean `emptcp`")
    );
    assert!(fails("quota", "on", "umts").contains("it has wifi, lte"));
    assert!(fails("only", "paths", "wifi+umts").contains("no path `umts`"));
    assert!(fails("quota", "bytes", "10").contains("as `50 MB`"));
    assert!(fails("overflow", "full_after", "1 h").contains("as `3 s`"));
    assert!(fails("es-mptcp", "objective", "mW").contains("`literal_mW`"));
    assert!(fails("backup", "on", "wifi").contains("accepts primary"));
}

/// A registry entry must not list an option that its selector refuses.
#[test]
fn every_listed_option_is_taken_by_its_selector() {
    let values = [
        ("paths", "wifi+lte"),
        ("plan", "0:wifi;2:lte"),
        ("primary", "wifi"),
        ("on", "wifi"),
        ("bytes", "50 MB"),
        ("objective", "normalised"),
        ("subsets", "all"),
        ("mu", "1"),
        ("unused", "close"),
        ("open_bytes", "1 MB"),
        ("open_after", "3 s"),
        ("check", "on"),
        ("unserved", "1"),
        ("both", "on"),
        ("full_after", "1 s"),
        ("close_after", "1 s"),
        ("size", "unknown"),
        ("history", "off"),
        ("bottlenecks", "off"),
        ("patience", "0"),
        ("delay_price", "500 mW"),
        ("deadline", "3 s"),
        ("slowest", "1.5"),
        ("preset", "saver"),
    ];
    for info in SELECTORS {
        for option in info.options {
            let (_, value) = values
                .iter()
                .find(|(name, _)| name == option)
                .expect("a value for each option");
            selector(info.name, &[(option, value)]);
        }
    }
}
