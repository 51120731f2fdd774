//! All rates were recorded: a client with two uplinks shaped by tbf to 20 and 10 Mbit/s, a router,
//! a server, one poll per second. Each file describes its traffic and events.

use super::*;

/// One poll of a recording.
struct Look {
    at_s: f64,
    rates_bps: [f64; 2],
    most_bps: [f64; 2],
    regular: [bool; 2],
    /// True if the path has been left since at least one poll.
    left: [bool; 2],
}

/// The recordings, with the fraction of the usual rate below which the second path is tried.
const RECORDED: [(&str, f64, &str); 16] = [
    (
        "frugal-stream-down",
        0.5,
        include_str!("recorded/frugal-stream-down.txt"),
    ),
    (
        "handover-stream-down",
        0.5,
        include_str!("recorded/handover-stream-down.txt"),
    ),
    (
        "frugal-bulk-down",
        0.5,
        include_str!("recorded/frugal-bulk-down.txt"),
    ),
    (
        "frugal-stream-up",
        0.5,
        include_str!("recorded/frugal-stream-up.txt"),
    ),
    (
        "interactive-stream-up",
        0.7,
        include_str!("recorded/interactive-stream-up.txt"),
    ),
    (
        "overflow-stream-down",
        0.7,
        include_str!("recorded/overflow-stream-down.txt"),
    ),
    (
        "aggregate-bulk-down",
        0.7,
        include_str!("recorded/aggregate-bulk-down.txt"),
    ),
    (
        "aggregate-bulk-up",
        0.7,
        include_str!("recorded/aggregate-bulk-up.txt"),
    ),
    (
        "aggregate-bulk-up-second",
        0.7,
        include_str!("recorded/aggregate-bulk-up-second.txt"),
    ),
    (
        "aggregate-bulk-up-second-late",
        0.7,
        include_str!("recorded/aggregate-bulk-up-second-late.txt"),
    ),
    (
        "aggregate-both",
        0.7,
        include_str!("recorded/aggregate-both.txt"),
    ),
    ("frugal-both", 0.5, include_str!("recorded/frugal-both.txt")),
    ("frugal-less", 0.5, include_str!("recorded/frugal-less.txt")),
    (
        "aggregate-less",
        0.7,
        include_str!("recorded/aggregate-less.txt"),
    ),
    (
        "frugal-recovers",
        0.5,
        include_str!("recorded/frugal-recovers.txt"),
    ),
    (
        "interactive-again",
        0.7,
        include_str!("recorded/interactive-again.txt"),
    ),
];

fn recorded(name: &str) -> (f64, Vec<Look>) {
    let (_, low, text) = RECORDED.iter().find(|(one, ..)| *one == name).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut before = [false; 2];
    let look = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let kbps = |at: usize| words[at].parse::<f64>().unwrap() * 1e3;
        let roles: Vec<bool> = words[5].chars().map(|role| role == 'r').collect();
        let regular = [roles[0], roles[1]];
        let left = [0, 1].map(|path| before[path] && !regular[path]);
        before = regular.map(|is_regular| !is_regular);
        let (rates_bps, most_bps) = ([kbps(1), kbps(2)], [kbps(3), kbps(4)]);
        Look {
            at_s: words[0].parse().unwrap(),
            rates_bps,
            most_bps,
            regular,
            left,
        }
    };
    (*low, lines.map(look).collect())
}

fn paths(low: f64, look: &Look) -> [Path; 2] {
    [0, 1].map(|path| Path {
        name: format!("c{path}"),
        rate_bps: look.rates_bps[path],
        most_bps: Some(look.most_bps[path]).filter(|&most| most > 0.0),
        is_regular: look.regular[path],
        may_stand_in: true,
        is_open: look.most_bps[path] > 0.0,
        is_left: look.left[path],
        low,
    })
}

/// The path that should carry no data, at each poll.
fn held(slow: &mut Slow, name: &str) -> Vec<(f64, Option<Held>)> {
    let (low, looks) = recorded(name);
    let one = |look: &Look| {
        let now = Nanos((look.at_s * 1e9) as u64);
        (look.at_s, slow.observe(now, &paths(low, look)))
    };
    looks.iter().map(one).collect()
}

/// Start and path of the first trial.
fn first(name: &str) -> (f64, String) {
    let all = held(&mut Slow::default(), name);
    let found = all
        .into_iter()
        .find_map(|(at_s, held)| Some((at_s, held?.name)));
    found.unwrap_or_else(|| panic!("{name}: nothing was tried"))
}

/// The periods in which a path was left: `(begin, end, path)`.
fn times(name: &str) -> Vec<(f64, f64, String)> {
    let mut times: Vec<(f64, f64, String)> = vec![];
    let mut open = false;
    for (at_s, held) in held(&mut Slow::default(), name) {
        match (held, open) {
            (Some(_), true) => times.last_mut().unwrap().1 = at_s,
            (Some(held), false) => times.push((at_s, at_s, held.name)),
            (None, _) => {}
        }
        open = times.last().is_some_and(|(_, end, _)| *end == at_s);
    }
    times
}

#[test]
fn a_throttled_path_is_suspected_within_seconds_for_all_traffic_in_both_directions() {
    // Each path was throttled 16.4 s after the first poll; data in the queue arrives for some
    // seconds more.
    for (name, latest_s) in [
        ("frugal-stream-down", 21.0),
        ("handover-stream-down", 21.0),
        ("frugal-bulk-down", 22.0),
        ("frugal-stream-up", 22.0),
        ("interactive-stream-up", 21.0),
    ] {
        let (at_s, path) = first(name);
        assert!(
            path == "c0" && (17.0..latest_s).contains(&at_s),
            "{name}: {path} at {at_s}"
        );
    }
}

#[test]
fn the_path_that_delays_the_other_is_suspected() {
    // The other path fills the receiver's buffer for up to 15 s before it waits.
    for (name, slow, earliest_s, latest_s) in [
        ("overflow-stream-down", "c0", 29.0, 36.0),
        ("aggregate-bulk-down", "c0", 17.0, 23.0),
        ("aggregate-bulk-up", "c0", 24.0, 29.0),
        ("aggregate-bulk-up-second", "c1", 23.0, 27.0),
        ("aggregate-bulk-up-second-late", "c1", 31.0, 34.5),
    ] {
        let (at_s, path) = first(name);
        assert!(
            path == slow && (earliest_s..latest_s).contains(&at_s),
            "{name}: {path} at {at_s}"
        );
    }
}

#[test]
fn a_program_that_sends_less_costs_one_trial_per_far_lower_rate() {
    for name in ["frugal-less", "aggregate-less"] {
        let times = times(name);
        assert!((1..=3).contains(&times.len()), "{name}: {times:?}");
        assert!(
            times.iter().all(|(begin, end, _)| end - begin <= 12.0),
            "{name}: {times:?}"
        );
    }
}

#[test]
fn a_formerly_slow_path_is_used_again_and_stays_if_it_has_recovered() {
    let times = times("frugal-recovers");
    let [(begin, end, path)] = &times[..] else {
        panic!("{times:?}")
    };
    // A trial of 8 s; then the path is left for a minute.
    assert!(path == "c0" && (17.0..22.0).contains(begin), "{times:?}");
    assert!((66.0..76.0).contains(&(end - begin)), "{times:?}");
}

#[test]
fn a_still_slow_path_is_left_again_within_three_seconds() {
    let times = times("interactive-again");
    let [(_, end, _), (again, ..)] = &times[..] else {
        panic!("{times:?}")
    };
    // Periods end at polls: after the poll that uses the path again, two polls see a low rate.
    assert!(again - end <= 4.0, "{times:?}");
}

#[test]
fn a_second_slow_path_is_tried_and_restored() {
    let times = times("frugal-both");
    assert!((1..=4).contains(&times.len()), "{times:?}");
    assert!(
        times.iter().all(|(begin, end, _)| end - begin <= 16.0),
        "{times:?}"
    );
}

#[test]
fn no_path_is_tried_if_both_are_slow() {
    // Data waiting on a closed subflow would be retransmitted after the other path's queue of 16 s.
    assert_eq!(times("aggregate-both"), []);
}

/// Whether a path is held, per second, while both paths carry `rates`.
fn held_at(
    slow: &mut Slow,
    from: u64,
    rates: &[[f64; 2]],
    regular: [bool; 2],
    left: [bool; 2],
) -> Vec<bool> {
    let one = |(s, &rates_bps): (usize, &[f64; 2])| {
        let look = Look {
            at_s: 0.0,
            rates_bps,
            most_bps: [20e6, 10e6],
            regular,
            left,
        };
        slow.observe(Nanos::from_secs(from + s as u64), &paths(0.7, &look))
            .is_some()
    };
    rates.iter().enumerate().map(one).collect()
}

#[test]
fn when_one_of_two_slow_paths_recovers_the_other_is_left_within_seconds() {
    let mut slow = Slow::default();
    let mut seconds = vec![[18e6, 9e6]; 30];
    seconds.extend([[50e3, 48e3]; 3600]);
    assert!(!held_at(&mut slow, 0, &seconds, [true; 2], [false; 2]).contains(&true));
    // The second path has recovered: its queue drains, then it waits for the first.
    let waits = [
        [50e3, 2e6],
        [48e3, 0.0],
        [50e3, 0.0],
        [48e3, 0.0],
        [50e3, 0.0],
        [48e3, 0.0],
        [50e3, 0.0],
    ];
    let held = held_at(&mut slow, 3630, &waits, [true; 2], [false; 2]);
    assert!(held.last() == Some(&true), "{held:?}");
}

#[test]
fn data_still_arriving_on_the_left_path_is_no_gain() {
    let mut slow = Slow::default();
    let mut seconds = vec![[4e6, 0.0]; 30];
    seconds.extend([[50e3, 0.0]; 5]);
    assert!(held_at(&mut slow, 0, &seconds, [true, false], [false; 2]).last() == Some(&true));
    // Its queue drains for 16 s, and the other path is as slow.
    let held = held_at(
        &mut slow,
        35,
        &[[55e3, 50e3]; 10],
        [false, true],
        [true, false],
    );
    assert!(held.last() == Some(&false), "{held:?}");
}

#[test]
fn the_path_furthest_below_its_capacity_is_suspected() {
    let mut slow = Slow::default();
    held_at(&mut slow, 0, &[[18e6, 9e6]; 30], [true; 2], [false; 2]);
    // A tenth of 20 Mbit/s, and more than a tenth of 10 Mbit/s.
    let held = held_at(&mut slow, 30, &[[2e6, 1.5e6]; 5], [true; 2], [false; 2]);
    assert!(held.last() == Some(&true), "{held:?}");
    assert_eq!(slow.stage.as_ref().map(Stage::name), Some("c0"));
}

#[test]
fn the_next_poll_comes_soon_during_a_trial_and_after_a_path_is_used_again() {
    let mut slow = Slow::default();
    let mut seconds = vec![[4e6, 0.0]; 30];
    seconds.extend([[50e3, 0.0]; 5]);
    assert!(held_at(&mut slow, 0, &seconds, [true, false], [false; 2]).last() == Some(&true));
    assert!(slow.is_waiting());
    let is_held = |slow: &mut Slow, s: u64| {
        held_at(slow, s, &[[0.0, 4e6]], [false, true], [true, false]) == [true]
    };
    assert!((35..38).all(|s| is_held(&mut slow, s)));
    assert!(slow.is_watched(Nanos::from_secs(38)) && !slow.is_waiting());
    let again = (38..300).find(|&s| !is_held(&mut slow, s)).unwrap();
    assert!(
        slow.is_watched(Nanos::from_secs(again + 9))
            && !slow.is_watched(Nanos::from_secs(again + 10))
    );
}

#[test]
fn the_next_path_is_another_that_may_stand_in() {
    let look = Look {
        at_s: 0.0,
        rates_bps: [4e6, 0.0],
        most_bps: [20e6, 10e6],
        regular: [true, false],
        left: [false; 2],
    };
    let mut all = paths(0.7, &look);
    assert_eq!(next(&all, "c0").map(|path| path.name.as_str()), Some("c1"));
    all[1].may_stand_in = false;
    assert_eq!(next(&all, "c0"), None);
}

#[test]
fn a_trial_ends_if_its_path_disappears() {
    let mut slow = Slow::default();
    let mut seconds = vec![[4e6, 0.0]; 30];
    seconds.extend([[50e3, 0.0]; 5]);
    assert!(held_at(&mut slow, 0, &seconds, [true, false], [false; 2]).last() == Some(&true));
    let look = Look {
        at_s: 0.0,
        rates_bps: [0.0, 4e6],
        most_bps: [20e6, 10e6],
        regular: [false, true],
        left: [true, false],
    };
    assert_eq!(
        slow.observe(Nanos::from_secs(35), &paths(0.7, &look)[1..]),
        None
    );
}

#[test]
fn a_path_that_mostly_rests_waits_for_the_other() {
    let mut slow = Slow::default();
    held_at(&mut slow, 0, &[[18e6, 9e6]; 30], [true; 2], [false; 2]);
    // On average the rates are alike.
    let waits = [[50e3, 90e3], [50e3, 0.0], [50e3, 0.0], [50e3, 0.0]];
    let held = held_at(&mut slow, 30, &waits, [true; 2], [false; 2]);
    assert!(held.contains(&true), "{held:?}");
}

#[test]
fn a_trial_without_data_ends_after_two_seconds() {
    let mut slow = Slow::default();
    let mut seconds = vec![[4e6, 0.0]; 30];
    seconds.extend([[50e3, 0.0]; 5]);
    assert!(held_at(&mut slow, 0, &seconds, [true, false], [false; 2]).last() == Some(&true));
    let held = held_at(&mut slow, 35, &[[0.0; 2]; 4], [false, true], [true, false]);
    assert_eq!(held, [true, true, false, false]);
}

/// Number of trials on a machine that prefers the first path; each path carries up to its rate.
fn trials(
    seconds: u64,
    sent_bps: impl Fn(u64) -> f64,
    rates_bps: impl Fn(u64) -> [f64; 2],
) -> usize {
    let mut slow = Slow::default();
    let (mut is_held, mut trials) = (false, 0);
    for s in 0..seconds {
        let path = usize::from(is_held);
        let mut carried = [0.0; 2];
        carried[path] = sent_bps(s).min(rates_bps(s)[path]);
        let (regular, left) = ([!is_held, is_held], [is_held, false]);
        let look = Look {
            at_s: 0.0,
            rates_bps: carried,
            most_bps: [20e6, 10e6],
            regular,
            left,
        };
        let held = slow
            .observe(Nanos::from_secs(s), &paths(0.7, &look))
            .is_some();
        trials += usize::from(held && !is_held);
        is_held = held;
    }
    trials
}

/// Most trials in an hour: after 60, 120 … 1920 s, a few because of far lower rates, and those
/// after a path is used again.
const MOST_TRIALS_AN_HOUR: usize = 16;

#[test]
fn a_program_with_a_varying_rate_switches_rarely() {
    for period in [5, 20, 60, 300] {
        for low in [1e6, 100e3, 30e3] {
            let sent = |s: u64| {
                if (s / period).is_multiple_of(2) {
                    5e6
                } else {
                    low
                }
            };
            let day = trials(24 * 3600, sent, |_| [20e6, 10e6]);
            assert!(day <= 24 * 4, "{period} s, {low} bit/s: {day} in a day");
            let hour = trials(3600, sent, |_| [20e6, 10e6]);
            assert!(
                hour <= MOST_TRIALS_AN_HOUR,
                "{period} s, {low} bit/s: {hour} in an hour"
            );
        }
    }
}

#[test]
fn an_occasionally_slow_path_switches_rarely() {
    for period in [15, 60, 300, 3600] {
        let rates = |s: u64| {
            [
                if (s / period).is_multiple_of(2) {
                    20e6
                } else {
                    50e3
                },
                10e6,
            ]
        };
        let hour = trials(3600, |_| 4e6, rates);
        assert!(
            (usize::from(period < 3600)..=MOST_TRIALS_AN_HOUR).contains(&hour),
            "{period} s: {hour}"
        );
    }
}

#[test]
fn pauses_and_bursts_do_not_look_slow() {
    assert_eq!(
        trials(
            3600,
            |s| if s % 10 < 4 { 8e6 } else { 5e3 },
            |_| [20e6, 10e6]
        ),
        0
    );
    let call = |s: u64| match s {
        0..60 => 20e6,
        60..75 => 0.0,
        _ => 90e3,
    };
    assert_eq!(trials(3600, call, |_| [20e6, 10e6]), 0);
}

#[test]
fn a_left_path_reports_its_rate_relative_to_the_present_one() {
    let mut parts = vec![];
    for (name, ..) in RECORDED {
        let ((low, looks), mut slow) = (recorded(name), Slow::default());
        let part = |look: &Look| {
            slow.observe(Nanos((look.at_s * 1e9) as u64), &paths(low, look))?
                .part
        };
        parts.extend(looks.iter().filter_map(part));
    }
    assert!(
        !parts.is_empty() && parts.iter().all(|part| (0.0..1.0 / GAIN).contains(part)),
        "{parts:?}"
    );
}

#[test]
fn short_polls_are_averaged_over_time() {
    let mut window = Window::default();
    let mut mean_bps = |ms: u64, rate_bps: f64| {
        let look = Look {
            at_s: 0.0,
            rates_bps: [rate_bps, 0.0],
            most_bps: [8e6, 0.0],
            regular: [true, false],
            left: [false; 2],
        };
        window
            .take(Nanos::from_millis(ms), &paths(0.7, &look))
            .map(|all| all[0].rate_bps)
    };
    assert_eq!(mean_bps(0, 8e6), Some(8e6));
    // 8 Mbit/s for a quarter of a second and 4 Mbit/s for three quarters: 2 Mbit and 3 Mbit in a
    // second.
    assert_eq!(mean_bps(250, 8e6), None);
    assert_eq!(mean_bps(1000, 4e6), Some(5e6));
}

#[test]
fn polls_every_200_ms_give_the_same_result() {
    // At 50 kbit/s a packet of 1500 bytes arrives every 240 ms: a poll sees one or none.
    let mut slow = Slow::default();
    let mut first = None;
    for k in 0..150_u64 {
        let rate = match k {
            0..75 => 4e6,
            _ => [60e3, 60e3, 60e3, 60e3, 0.0][k as usize % 5],
        };
        let look = Look {
            at_s: 0.0,
            rates_bps: [rate, 0.0],
            most_bps: [4e6, 4e6],
            regular: [true, false],
            left: [false; 2],
        };
        let held = slow.observe(Nanos::from_millis(200 * k), &paths(0.7, &look));
        first = first.or(held.map(|_| k / 5));
    }
    assert!(first.is_some_and(|s| (17..21).contains(&s)), "{first:?}");
}
