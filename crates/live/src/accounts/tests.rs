use joulepath_kernel::mptcp::info::ByteCounters;
use joulepath_kernel::route::Counters;
use joulepath_model::scenario::read_live;

use super::*;
use crate::samples::{connection, seen};

/// `s` seconds after noon of `day`, and an hour more after the boot.
fn at(day: i64, s: u64) -> Times {
    let unix_s = day * 86_400 + 43_200 + s as i64;
    Times {
        unix_s,
        since_boot: Nanos::from_secs(3600 + s),
    }
}

const QUOTA: &str = "intent = \"interactive\"\n[[interface]]\nname = \"wwan0\"\ncost = 1\n";

fn quota(period_day: u32) -> LiveConfig {
    let quota = format!("quota = {{ hard = \"5 MB\", period_day = {period_day} }}");
    read_live(&format!("{QUOTA}{quota}\n")).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Quota use when the interface has carried `received_bytes` since its creation.
fn used(accounts: &mut Accounts, config: &LiveConfig, received_bytes: u64, times: Times) -> u64 {
    let counters = Counters {
        received_bytes,
        ..Counters::default()
    };
    let mut look = Look {
        interfaces: vec![seen(3, "wwan0")],
        counters: [("wwan0".to_owned(), counters)].into(),
        ..Look::default()
    };
    accounts.take(config, &mut look, Nanos(times.since_boot.0), times);
    let used = look.interfaces[0].used.unwrap().0;
    assert_eq!(accounts.quota(config, "wwan0").unwrap().used_bytes, used);
    used
}

/// 2026-11-27.
const TODAY: i64 = 20_784;

/// A look at an interface that carries `rate` bytes/s and has carried `received_bytes` since
/// its creation.
fn carrying(rate: f64, received_bytes: u64) -> Look {
    let counters = Counters {
        received_bytes,
        ..Counters::default()
    };
    Look {
        interfaces: vec![seen(3, "wwan0")],
        counters: [("wwan0".to_owned(), counters)].into(),
        rates: [(3, rate)].into(),
        reaction: Nanos::from_millis(30),
        ..Look::default()
    }
}

#[test]
fn bytes_under_way_use_up_a_hard_quota_until_its_period_or_the_quota_changes() {
    let config = quota(1);
    let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
    let mut used = |config: &LiveConfig, rate: f64, received_bytes: u64, times: Times| {
        let mut look = carrying(rate, received_bytes);
        accounts.take(config, &mut look, times.since_boot, times);
        look.interfaces[0].used.unwrap().0
    };
    assert_eq!(used(&config, 0.0, 0, at(TODAY, 1)), 0);
    assert_eq!(used(&config, 10e6, 3_200_000, at(TODAY, 2)), 3_200_000);
    // 1.8 MB follow in 180 ms; 0.1 MB of them do not count.
    assert_eq!(used(&config, 10e6, 3_300_000, at(TODAY, 3)), 5_000_000);
    assert_eq!(used(&config, 0.0, 4_500_000, at(TODAY, 4)), 5_000_000);
    let more = read_live(&format!(
        "{QUOTA}quota = {{ hard = \"6 MB\", period_day = 1 }}\n"
    ))
    .unwrap();
    assert_eq!(used(&more, 0.0, 4_500_000, at(TODAY, 5)), 4_500_000);
    assert_eq!(used(&config, 0.0, 4_500_000, at(TODAY, 6)), 5_000_000);
    let december = at(TODAY, 4 * 86_400);
    // A daemon that starts now keeps it closed.
    let text = serde_json::to_string(&accounts.ledger).unwrap();
    let mut next = Accounts::of(
        serde_json::from_str(&text).unwrap(),
        "a".into(),
        Nanos::ZERO,
        at(TODAY, 7),
    );
    let mut look = carrying(0.0, 4_500_000);
    next.take(&config, &mut look, Nanos::from_secs(7), at(TODAY, 7));
    assert_eq!(look.interfaces[0].used, Some(Bytes(5_000_000)));
    // 1 December.
    let mut look = carrying(0.0, 4_500_000);
    next.take(&config, &mut look, december.since_boot, december);
    assert_eq!(look.interfaces[0].used, Some(Bytes(0)));
}

#[test]
fn traffic_after_the_first_poll_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let config = quota(1);
    for kill in 0..10 {
        let times = at(TODAY, kill);
        let mut accounts = Accounts::open(folder, times.since_boot, times).unwrap();
        let mut look = carrying(0.0, kill * 400_000);
        accounts.take(&config, &mut look, times.since_boot, times);
        accounts.save(times.since_boot, false);
        assert_eq!(look.interfaces[0].used, Some(Bytes(kill * 400_000)));
        // It carries more before the kill.
        let mut look = carrying(0.0, kill * 400_000 + 200_000);
        accounts.take(&config, &mut look, times.since_boot, times);
    }
}

/// Polls of a machine whose WiFi carries an MPTCP connection, while LTE sleeps or has a
/// subflow.
struct Polls {
    config: LiveConfig,
    accounts: Accounts,
    wifi_bytes: u64,
}

impl Polls {
    fn new() -> Self {
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nrate = \"20 Mbit/s\"\n\
                    energy = \"wifi-huang2012\"\n[[interface]]\nname = \"wwan0\"\n\
                    rate = \"10 Mbit/s\"\nenergy = \"lte-huang2012\"\n";
        let accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
        Polls {
            config: read_live(text).unwrap(),
            accounts,
            wifi_bytes: 0,
        }
    }

    /// One poll a second. In all, MPTCP has moved this many bytes a second since second 0.
    fn pass(
        &mut self,
        seconds: std::ops::Range<u64>,
        a_second: Option<u64>,
        lte: usize,
        chooses: bool,
    ) -> Spared {
        for second in seconds {
            self.wifi_bytes += a_second.unwrap_or(1000);
            let packets = self.wifi_bytes / 1000;
            let wifi = Counters {
                received_bytes: self.wifi_bytes,
                received_packets: packets,
                ..Counters::default()
            };
            let mut look = Look {
                interfaces: vec![seen(2, "wlan0"), seen(3, "wwan0")],
                counters: [
                    ("wlan0".to_owned(), wifi),
                    ("wwan0".to_owned(), Counters::default()),
                ]
                .into(),
                ..Look::default()
            };
            (look.interfaces[0].subflows, look.interfaces[1].subflows) = (1, lte);
            let listing = a_second.map(|a_second| {
                let mut one = connection(1, &[[192, 0, 2, 1].into()]);
                let received = a_second * second;
                let counters = ByteCounters {
                    sent: 0,
                    received,
                    acked: 0,
                    reinjected: 0,
                    timeouts: 0,
                };
                one.info.counters = Some(counters);
                Listing {
                    connections: vec![one],
                    ..Listing::default()
                }
            });
            self.accounts.list(listing.as_ref(), false, chooses);
            self.accounts.take(
                &self.config,
                &mut look,
                Nanos::from_secs(second),
                at(TODAY, second),
            );
        }
        self.accounts.all_paths().unwrap().today
    }
}

/// LTE, awake for 60 s and its tail of 11.6 s, uses 1.06 W or more; idle it uses 0.02 W.
#[test]
fn a_sleeping_radio_is_spared_while_mptcp_moves_data() {
    let mut polls = Polls::new();
    // Plain TCP spares nothing.
    assert_eq!(polls.pass(0..20, None, 0, true).spared_j, 0.0);
    let first = polls.pass(20..21, Some(10_000), 0, true);
    let spared = polls.pass(21..81, Some(10_000), 0, true);
    assert_eq!(spared.mptcp_bytes - first.mptcp_bytes, 600_000);
    assert!(
        (50.0..63.0).contains(&(spared.spared_j - first.spared_j)),
        "{spared:?}"
    );
    // The tail follows, and nothing more.
    let tail = polls.pass(81..121, None, 0, true).spared_j - spared.spared_j;
    assert!((9.0..14.0).contains(&tail), "{tail}");
    // A paused daemon spares nothing.
    let paused = polls.pass(121..181, Some(10_000), 0, false).spared_j - spared.spared_j - tail;
    assert!(paused.abs() < 0.1, "{paused}");
}

#[test]
fn an_interface_with_an_open_subflow_spares_nothing() {
    assert_eq!(Polls::new().pass(0..60, Some(200), 1, true).spared_j, 0.0);
}

/// 20 MB at 20 Mbit/s take 8 s over WiFi, and 5.33 s with LTE. By Huang et al., table 3, LTE
/// then needs 5.33 s · 1.288 W + 53.3 Mbit · 0.052 J + 0.3 J of promotion + 12.3 J of tail =
/// 22.2 J, and WiFi needs a third less than 160 Mbit · 0.137 J + 8 s · 0.133 W = 23.0 J. The sum
/// is below the difference of 14.5 J.
#[test]
fn a_transfer_at_full_rate_would_end_sooner_with_all_paths() {
    let mut polls = Polls::new();
    polls.pass(0..1, Some(2_500_000), 0, true);
    polls.pass(1..9, Some(2_500_000), 0, true);
    let spared = polls.pass(9..60, None, 0, true).spared_j;
    assert!((11.0..14.0).contains(&spared), "{spared}");
}

#[test]
fn a_quota_counts_from_the_day_its_period_begins() {
    let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
    used(&mut accounts, &quota(1), 0, at(TODAY, 0));
    // 1 MB on the 27th, 2 MB on the 28th.
    used(&mut accounts, &quota(1), 1_000_000, at(TODAY, 1));
    let next = Times {
        since_boot: Nanos::from_secs(3600 + 86_400),
        ..at(TODAY + 1, 0)
    };
    for (period_day, since, bytes) in [
        (28, "2026-11-28", 2_000_000),
        (27, "2026-11-27", 3_000_000),
        (29, "2026-10-29", 3_000_000),
    ] {
        let config = quota(period_day);
        assert_eq!(
            used(&mut accounts, &config, 3_000_000, next),
            bytes,
            "{period_day}"
        );
        assert_eq!(accounts.quota(&config, "wwan0").unwrap().since, since);
    }
}

#[test]
fn the_ledger_is_written_at_once_each_minute_after_each_percent_of_a_quota_and_at_the_end() {
    let (folder, s) = (tempfile::tempdir().unwrap(), Nanos::from_secs);
    let kept = || -> Option<Ledger> {
        versioned::read(
            &State::lasting(folder.path()).unwrap(),
            NAME,
            SCHEMA,
            REMEDY,
        )
        .unwrap()
    };
    let mut accounts = Accounts {
        state: Some(State::lasting(folder.path()).unwrap()),
        ..Accounts::of(Ledger::default(), "a".into(), s(100), at(TODAY, 0))
    };
    used(&mut accounts, &quota(1), 0, at(TODAY, 0));
    accounts.save(s(100), false);
    let first = kept();
    assert!(first.is_some());
    used(&mut accounts, &quota(1), 10_000, at(TODAY, 1));
    accounts.save(s(159), false);
    assert_eq!(kept(), first);
    accounts.save(s(160), false);
    let second = kept();
    assert_ne!(second, first);
    used(&mut accounts, &quota(1), 1_000_000, at(TODAY, 2));
    accounts.save(s(161), false);
    let third = kept();
    assert_ne!(third, second);
    used(&mut accounts, &quota(1), 1_010_000, at(TODAY, 3));
    accounts.save(s(162), false);
    assert_eq!(kept(), third);
    accounts.save(s(162), true);
    assert_ne!(kept(), third);
    assert_eq!(accounts.trouble, None);
}

/// A used-up quota stays used up, whatever the clock shows for a while, also after a restart.
#[test]
fn a_jumping_clock_gives_no_quota_back() {
    let config = quota(1);
    for off in [100, -100, 4, -27, -TODAY, 5000] {
        let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
        used(&mut accounts, &config, 0, at(TODAY, 0));
        assert_eq!(
            used(&mut accounts, &config, 5_200_000, at(TODAY, 1)),
            5_200_000
        );
        for s in 2..7 {
            assert_eq!(
                used(&mut accounts, &config, 5_200_000, at(TODAY + off, s)),
                5_200_000,
                "{off}"
            );
            assert!(accounts.clock_trouble().is_some());
        }
        // A daemon that starts now reads the record, in this boot or the next.
        let text = serde_json::to_string(&accounts.ledger).unwrap();
        for (boot, bytes) in [("a", 5_200_000), ("b", 0)] {
            let kept = serde_json::from_str(&text).unwrap();
            let mut next = Accounts::of(kept, boot.into(), Nanos::ZERO, at(TODAY + off, 8));
            assert_eq!(
                used(&mut next, &config, bytes, at(TODAY + off, 9)),
                5_200_000,
                "{off}"
            );
            assert!(next.clock_trouble().is_some());
        }
        assert_eq!(
            used(&mut accounts, &config, 5_300_000, at(TODAY, 10)),
            5_300_000,
            "{off}"
        );
        assert_eq!(accounts.clock_trouble(), None);
    }
}

#[test]
fn correcting_a_trusted_wrong_clock_gives_no_quota_back() {
    let config = quota(1);
    for off in [100, -100, 5000] {
        let mut accounts = Accounts::of(Ledger::default(), "a".into(), Nanos::ZERO, at(TODAY, 0));
        used(&mut accounts, &config, 0, at(TODAY, 0));
        used(&mut accounts, &config, 5_200_000, at(TODAY, 1));
        for s in (2..1200).step_by(2) {
            used(&mut accounts, &config, 5_200_000, at(TODAY + off, s));
        }
        assert_eq!(accounts.clock_trouble(), None);
        used(&mut accounts, &config, 5_300_000, at(TODAY + off, 1200));
        for s in (1202..2400).step_by(2) {
            used(&mut accounts, &config, 5_300_000, at(TODAY, s));
        }
        assert_eq!(
            used(&mut accounts, &config, 5_300_000, at(TODAY, 2400)),
            5_300_000,
            "{off}"
        );
    }
}

/// A record of version 0.1.0, which measured nothing.
#[test]
fn an_older_ledger_is_continued_and_a_newer_one_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(NAME);
    let old = include_str!("ledger-0.1.0.json");
    std::fs::write(&file, old).unwrap();
    let open =
        || Accounts::open(folder.path().to_str().unwrap(), Nanos::ZERO, at(20_780, 0)).unwrap();
    let mut accounts = open();
    accounts.keep_time(at(20_780, 1), Nanos::ZERO);
    assert_eq!(accounts.trouble, None);
    let [_, month] = accounts.spent("wwan0");
    assert_eq!((month.received_bytes, month.energy_j), (7_000, Some(1.5)));
    accounts.save(Nanos::ZERO, true);
    let new = std::fs::read_to_string(&file).unwrap();
    assert!(
        new.contains("\"schema\":3") && open().spent("wwan0")[1] == month,
        "{new}"
    );

    let newer = new.replace("\"schema\":3", "\"schema\":4");
    std::fs::write(&file, &newer).unwrap();
    let mut accounts = open();
    let trouble = accounts.trouble.clone().unwrap();
    assert!(
        trouble.contains("a newer version") && trouble.contains("move the file away"),
        "{trouble}"
    );
    accounts.save(Nanos::ZERO, true);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
}
