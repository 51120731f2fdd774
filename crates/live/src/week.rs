//! One week of a phone, simulated: decisions and accounts through sleep and the end of a month.

use std::collections::BTreeMap;

use joulepath_model::calendar::Day;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::read_live;
use joulepath_model::units::{Bytes, Nanos};

use crate::decide::{Decider, Overrides, Role};
use crate::ledger::{Ledger, Reading};
use crate::samples::seen;
use crate::snapshot::{Battery, Snapshot};

/// The fifth day begins a new month.
const BEGINS: &str = "2026-11-27";
const LOOK_S: u64 = 5;
/// The machine sleeps from 23:00 to 7:00; its monotonic clock stops.
const AWAKE_S: std::ops::Range<u64> = 7 * 3600..23 * 3600;
const QUOTA: u64 = 150_000_000;
/// Role changes of one interface in an hour, as in the random machines of `decide`'s tests: an
/// optional role waits 10 s, 20 s … 640 s. An urgent role, such as WiFi after the quota is used up,
/// waits a tenth of that.
const MOST_CHANGES: usize = 11 + 2 * 64;

#[test]
fn a_week_with_sleep_and_a_new_month_keeps_the_quota_and_changes_roles_rarely() {
    let lte = format!(
        "quota = {{ hard = \"{} MB\", period_day = 1 }}",
        QUOTA / 1_000_000
    );
    let config = read_live(&format!(
        "intent = \"interactive\"\nbattery_below = \"15 %\"\n[[interface]]\nname = \"wlan0\"\ncost = 1\n\
         energy = \"wifi-huang2012\"\n[[interface]]\nname = \"wwan0\"\ncost = 2\n\
         energy = \"lte-huang2012\"\n{lte}\n"
    ))
    .unwrap();
    let mut snapshot = Snapshot {
        interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
        ..Snapshot::default()
    };
    snapshot.families.v4 = 1;
    let (mut decider, mut ledger) = (Decider::default(), Ledger::default());
    let mut draw = Stream::new(1, Domain::Workload, 0);
    let first = Day(20_784);
    assert_eq!(first.date().to_string(), BEGINS);
    let (mut awake_s, mut counters) = (0, [0_u64; 2]);
    let (mut roles, mut changes) = (
        [Role::Unused; 2],
        [BTreeMap::<u64, usize>::new(), BTreeMap::new()],
    );
    let (mut over_days, mut kept) = (vec![], vec![]);
    for day in 0..7 {
        let today = Day(first.0 + day);
        let mut over = false;
        for second in AWAKE_S.step_by(LOOK_S as usize) {
            awake_s += LOOK_S;
            // WiFi at home and at work; on the way it comes and goes.
            let on_the_way = [8, 17].contains(&(second / 3600));
            snapshot.interfaces[0].usable = if on_the_way {
                draw.below(3) == 0
            } else {
                draw.below(500) > 0
            };
            snapshot.interfaces[0].stalled = draw.below(2000) == 0;
            snapshot.battery = Some(Battery {
                level: 1.0 - (second - AWAKE_S.start) as f64 / (AWAKE_S.end - AWAKE_S.start) as f64,
                discharging: true,
            });
            // 100 kbit/s on the regular interface.
            let carries = roles.iter().position(|role| *role == Role::Regular);
            if let Some(which) = carries {
                counters[which] += 12_500 * LOOK_S;
            }
            for (which, name) in ["wlan0", "wwan0"].into_iter().enumerate() {
                let reading = Reading {
                    boot: "a".into(),
                    device: which as u32,
                    received_bytes: counters[which],
                    sent_bytes: 0,
                };
                let carried = ledger.read(name, reading, today);
                ledger.spend(name, carried.bytes() as f64 * 1e-6, today);
                snapshot.interfaces[which].carried_bytes = counters[which];
            }
            let used = ledger.since("wwan0", today.period_start(1)).bytes();
            snapshot.interfaces[1].used = Some(Bytes(used));
            snapshot.now = Nanos::from_secs(awake_s);
            let decision = decider.decide(&config, &Overrides::default(), &snapshot);
            for (which, name) in ["wlan0", "wwan0"].into_iter().enumerate() {
                let told = decision
                    .interfaces
                    .iter()
                    .find(|told| told.name == name)
                    .unwrap();
                if told.role != roles[which] {
                    *changes[which].entry(awake_s / 3600).or_default() += 1;
                }
                roles[which] = told.role;
            }
            if used >= QUOTA {
                over = true;
                assert_eq!(
                    roles[1],
                    Role::Unused,
                    "day {day}, {second} s: {used} bytes"
                );
            }
        }
        if over {
            over_days.push(day);
        }
        kept.push(format!("{decider:?}").len() + serde_json::to_string(&ledger).unwrap().len());
    }
    // 30 November is the fourth day: the quota is used up by then. The fifth day starts a new
    // quota.
    assert!(
        !over_days.is_empty() && !over_days.contains(&4),
        "{over_days:?}"
    );
    for (name, changes) in ["wlan0", "wwan0"].into_iter().zip(&changes) {
        let most = changes.values().max().copied().unwrap_or(0);
        assert!(most <= MOST_CHANGES, "{name}: {most} changes in an hour");
    }
    assert!(!changes[0].is_empty() && !changes[1].is_empty());
    // Each day adds one line per account. Nothing else may grow.
    let (second, last) = (kept[1], kept[6]);
    assert!(last < second + 5 * 2 * 100 + 500, "{kept:?}");
}
