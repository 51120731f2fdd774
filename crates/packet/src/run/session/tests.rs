//! Runs in steps compared with runs at once, and the effect of commands.

use joulepath_model::scenario::load;

use super::*;

pub(super) const RADIOS: &str = r#"
    title = "two radios"
    duration = "6 s"
    [[path]]
    name = "wifi"
    rate = "8 Mbit/s"
    delay = "15 ms"
    loss = "0.5 %"
    queue = "40 packets"
    energy = "wifi-huang2012"
    [[path]]
    name = "lte"
    rate = "4 Mbit/s"
    delay = "35 ms"
    queue = "60 packets"
    energy = "lte-huang2012"
"#;

fn scenario(more: &str) -> Arc<Scenario> {
    loaded(&format!("{RADIOS}{more}"))
}

pub(super) fn loaded(text: &str) -> Arc<Scenario> {
    Arc::new(
        load(text, &|name| Err(format!("no trace {name}")))
            .unwrap_or_else(|errors| panic!("{errors}")),
    )
}

fn setup(policy: &str, scenario: &Scenario) -> Setup {
    Setup::of(&policy.parse().unwrap(), scenario).unwrap()
}

fn session(policy: &str, scenario: &Arc<Scenario>) -> Session {
    Session::new(
        Arc::clone(scenario),
        &setup(policy, scenario),
        1,
        RunOptions::default(),
    )
    .unwrap()
}

fn steered(scenario: &Arc<Scenario>) -> Session {
    let setup = setup("mptcp", scenario).commanded();
    Session::new(Arc::clone(scenario), &setup, 1, RunOptions::default()).unwrap()
}

fn status(session: &mut Session) -> Status {
    let mut status = Status::default();
    session.status(&mut status);
    status
}

const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"3 MB\"\n";

/// Thousands of pauses, on events and between them; each time the status is read.
#[test]
fn a_run_in_steps_gives_the_same_result_as_a_run_at_once() {
    let rival = "[[competitor]]\nname = \"tcp\"\npath = \"wifi\"\ncc = \"cubic\"\n";
    let stream = "[workload]\nkind = \"stream\"\nrate = \"3 Mbit/s\"\n";
    for (more, policy) in [
        ("", "mptcp"),
        ("", "joule"),
        ("", "joule[cc=joule]"),
        ("", "es-mptcp"),
        (rival, "uncoupled"),
        (stream, "overflow"),
        (stream, "eemptcp"),
        (FILE, "mptcp[cc=bbr1]"),
        (FILE, "single:lte"),
        (FILE, "backup"),
    ] {
        let scenario = scenario(more);
        for series in [false, true] {
            let options = || RunOptions {
                series,
                ..RunOptions::default()
            };
            let setup = setup(policy, &scenario);
            let whole = crate::run(&scenario, &setup, 7, options()).unwrap();
            for step_us in [1_377, 40_000] {
                let mut stepped =
                    Session::new(Arc::clone(&scenario), &setup, 7, options()).unwrap();
                let (mut last, mut steps) = (Status::default(), 0);
                while !stepped.is_over() {
                    stepped
                        .advance(stepped.now() + Nanos::from_micros(step_us))
                        .unwrap();
                    let now = status(&mut stepped);
                    assert!(
                        now.energy_j >= last.energy_j
                            && now.delivered_bytes >= last.delivered_bytes
                    );
                    (last, steps) = (now, steps + 1);
                }
                assert!(steps > 20 && last.over, "{policy}: {steps} steps, {last:?}");
                let result = stepped.finish().unwrap();
                assert_eq!(result, whole, "{policy} on {more:?}, steps of {step_us} µs");
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b;
                assert!(
                    close(last.energy_j, whole.energy_j),
                    "{policy}: {} J",
                    last.energy_j
                );
                assert_eq!(last.done, whole.completion_s.is_some());
            }
        }
    }
}

#[test]
fn energy_and_data_count_from_the_end_of_the_warm_up_as_in_the_result() {
    let scenario = scenario("");
    let warm = loaded(&format!("warm_up = \"2 s\"\n{RADIOS}"));
    let (mut cold, mut warm) = (session("mptcp", &scenario), session("mptcp", &warm));
    for session in [&mut cold, &mut warm] {
        session.advance(Nanos::from_millis(1_900)).unwrap();
    }
    assert_eq!(status(&mut warm).energy_j, 0.0);
    assert_eq!(status(&mut warm).delivered_bytes, 0);
    assert!(status(&mut cold).energy_j > 0.0);
    warm.advance(Nanos::from_secs(6)).unwrap();
    let (last, result) = (status(&mut warm), warm.finish().unwrap());
    assert!((last.energy_j - result.energy_j).abs() < 1e-9 * result.energy_j);
    assert_eq!(last.delivered_bytes as f64 * 8.0 / 4.0, result.goodput_bps);
}

/// 25 packets of 1448 bytes per RTT of at least 30 ms on WiFi: at most 9.7 Mbit/s, on a link of 8;
/// 2 packets carry at most 0.8 Mbit/s there.
#[test]
fn a_commanded_window_is_kept_and_bounds_the_rate() {
    let scenario = scenario("");
    let carried = |window| {
        let mut session = steered(&scenario);
        for tenth in 1..=40 {
            assert!(
                session.steer(0, Command::Window(window)) && session.steer(1, Command::Window(1))
            );
            session.advance(Nanos::from_millis(100 * tenth)).unwrap();
        }
        let status = status(&mut session);
        assert_eq!((status.paths[0].cwnd, status.paths[1].cwnd), (window, 1));
        assert!(status.paths[0].in_flight <= window);
        status.paths[0].delivered_bytes as f64 * 8.0 / 4.0
    };
    let (small, large) = (carried(2), carried(25));
    assert!(small < 0.8e6 && small > 0.5e6, "{small} bit/s");
    assert!(large > 5e6, "{large} bit/s");
}

/// 2 Mbit/s of payload is a quarter of the WiFi link, 0.5 Mbit/s an eighth of LTE.
#[test]
fn data_arrives_at_the_commanded_rate() {
    let scenario = scenario("");
    let mut session = steered(&scenario);
    let arrived = |session: &mut Session| -> Vec<f64> {
        status(session)
            .paths
            .iter()
            .map(|path| path.delivered_bytes as f64 * 8.0)
            .collect()
    };
    let mut at_two = vec![];
    for tenth in 1..=60 {
        session.steer(0, Command::Rate(250_000));
        session.steer(1, Command::Rate(62_500));
        session.advance(Nanos::from_millis(100 * tenth)).unwrap();
        if tenth == 20 {
            at_two = arrived(&mut session);
        }
    }
    let rates: Vec<f64> = arrived(&mut session)
        .iter()
        .zip(&at_two)
        .map(|(end, begin)| (end - begin) / 4.0)
        .collect();
    let least = status(&mut session).paths[0].min_rtt.unwrap();
    assert!(
        least > Nanos::from_millis(30) && least < Nanos::from_millis(35),
        "{least}"
    );
    assert!(
        (rates[0] / 2e6 - 1.0).abs() < 0.05 && (rates[1] / 0.5e6 - 1.0).abs() < 0.05,
        "{rates:?}"
    );
}

/// LTE alone from the first packet on: WiFi never wakes, although it is the first path. Then WiFi
/// alone.
#[test]
fn paths_open_and_close_as_commanded() {
    let scenario = scenario("");
    let mut session = session("mptcp", &scenario);
    let step = |session: &mut Session, used: [bool; 2], until_ms| {
        while session.now() < Nanos::from_millis(until_ms) {
            session.use_paths(&used);
            session
                .advance(session.now() + Nanos::from_millis(50))
                .unwrap();
        }
        status(session)
    };
    let first = step(&mut session, [false, true], 2_000);
    assert_eq!(
        (
            first.paths[0].segments,
            first.paths[0].open,
            first.paths[1].open
        ),
        (0, false, true)
    );
    assert!(first.paths[1].delivered_bytes > 300_000, "{first:?}");
    let second = step(&mut session, [true, false], 4_000);
    assert_eq!((second.paths[0].open, second.paths[1].open), (true, false));
    let third = step(&mut session, [true, false], 5_000);
    assert_eq!(
        third.paths[1].delivered_bytes,
        second.paths[1].delivered_bytes
    );
    assert!(third.paths[0].delivered_bytes > second.paths[0].delivered_bytes + 100_000);
    let fourth = step(&mut session, [false, false], 5_500);
    assert!(fourth.paths[0].open, "nothing changes if no path is chosen");
    let result = session.finish().unwrap();
    assert!(result.goodput_bps > 1e6);
}

#[test]
fn more_than_one_connection_is_refused() {
    let scenario = scenario("[[connection]]\nname = \"two\"\ncount = 2\n");
    let refused = Session::new(
        Arc::clone(&scenario),
        &setup("mptcp", &scenario),
        1,
        RunOptions::default(),
    )
    .err();
    assert!(
        matches!(refused, Some(RunError::NotOne { connections: 2 })),
        "{refused:?}"
    );
}

#[test]
fn only_a_controller_that_takes_commands_is_steered() {
    let scenario = scenario("");
    assert!(!session("mptcp", &scenario).steer(0, Command::Window(5)));
    assert!(
        !steered(&scenario).steer(2, Command::Window(5)),
        "there is no third path"
    );
}
