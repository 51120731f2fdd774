//! Delays that change: forms, the other direction, errors.

use joulepath_model::scenario::{self, Beside, Scenario, show};
use joulepath_model::units::Nanos;

fn text(delay: &str, more: &str) -> String {
    format!(
        "title = \"t\"\nduration = \"60 s\"\n[[path]]\nname = \"leo\"\nrate = \"50 Mbit/s\"\n\
         delay = {delay}\nenergy = \"free\"\n{more}"
    )
}

/// Loads a scenario next to one file of values over time.
pub(super) fn load(scenario: &str, file: &str) -> Result<Scenario, String> {
    let series = |_: &str| Ok(file.to_owned());
    let (traces, profiles) = (|_: &str| Err("none".into()), |_: &str| Err("none".into()));
    let beside = Beside {
        traces: &traces,
        series: &series,
        profiles: &profiles,
    };
    scenario::load_beside(scenario, &[], &beside).map_err(|errors| errors.to_string())
}

fn steps(scenario: &Scenario, link: usize) -> Vec<(u64, u64)> {
    let delays = scenario.links[link].delays.as_ref().unwrap();
    let millis = |time: Nanos| time.0 / 1_000_000;
    let both = |&(at, delay): &(Nanos, Nanos)| (millis(at), millis(delay));
    delays.steps.iter().map(both).collect()
}

#[test]
fn a_delay_has_steps_in_both_directions_and_counts_with_its_least() {
    let written = r#"{ steps = [["0 s", "27 ms"], ["15 s", "20 ms"], ["30 s", "41 ms"]] }"#;
    let scenario = load(&text(written, ""), "").unwrap();
    for link in [0, 1] {
        assert_eq!(
            steps(&scenario, link),
            [(0, 27), (15_000, 20), (30_000, 41)]
        );
        let link = &scenario.links[link];
        assert_eq!(link.delay, Nanos::from_millis(20));
        assert_eq!(link.greatest_delay(), Nanos::from_millis(41));
        let delays = link.delays.as_ref().unwrap();
        let at = |ms| delays.at(Nanos::from_millis(ms)).0 / 1_000_000;
        assert_eq!([0, 14_999, 15_000, 90_000].map(at), [27, 27, 20, 41]);
    }
    assert_eq!(load(&show(&scenario), "").unwrap(), scenario);
    let constant = load(&text(written, "[path.up]\ndelay = \"9 ms\"\n"), "").unwrap();
    assert_eq!(constant.links[1].delays, None);
    assert_eq!(constant.links[1].delay, Nanos::from_millis(9));
    assert_eq!(load(&show(&constant), "").unwrap(), constant);
}

#[test]
fn a_delay_is_recorded_in_a_file_and_shown_by_its_name() {
    let written = text(r#"{ trace = "leo.csv" }"#, "");
    let file = "# s, ms\n0, 27\n15 20.5\n30\t41\n";
    let scenario = load(&written, file).unwrap();
    let delays = scenario.links[0].delays.as_ref().unwrap();
    assert_eq!(delays.at(Nanos::from_secs(20)), Nanos(20_500_000));
    assert!(show(&scenario).contains("delay = { trace = \"leo.csv\" }"));
    assert_eq!(load(&show(&scenario), file).unwrap(), scenario);
    for (file, says) in [
        ("", "`leo.csv` cannot be used: it is empty"),
        (
            "0 -1",
            "line 1 has no delay from 0 to 60000; write it in ms",
        ),
        ("5 20", "line 1 is after 0 s"),
    ] {
        let said = load(&written, file).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn wrong_delays_are_refused_with_an_example() {
    for (delay, says) in [
        (r#"{ steps = [] }"#, "steps ascend in time"),
        (r#"{ steps = [["1 s", "20 ms"]] }"#, "steps ascend in time"),
        (
            r#"{ steps = [["0 s", "20 ms"], ["0 s", "30 ms"]] }"#,
            "steps ascend in time",
        ),
        (r#"{ mean = "20 ms" }"#, "this table is not a delay"),
        (r#"{ steps = [["0 s", "20"]] }"#, "`20` has no unit"),
    ] {
        let said = load(&text(delay, ""), "").unwrap_err();
        assert!(said.contains(says), "{delay}: {said}");
    }
}
