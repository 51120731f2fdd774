use joulepath_controllers::Controller;
use joulepath_model::cancel::Cancel;

use super::*;

/// One path and one case with these checks.
fn suite_of(case: &str) -> Result<Suite> {
    Suite::parse(
        "mine.toml",
        &format!(
            r#"
            title = "a test"
            source = "none"
            [scenario]
            title = "one path"
            duration = "2 s"
            [[scenario.path]]
            name = "p"
            rate = "10 Mbit/s"
            delay = "10 ms"
            queue = "50 packets"
            energy = "free"
            [scenario.workload]
            kind = "bulk"
            [[case]]
            name = "one"
            title = "a case"
            {case}
            "#
        ),
    )
}

fn judged(case: &str, controller: &str) -> Judged {
    let suite = suite_of(case).unwrap();
    let controller = Controller::by_name(controller).unwrap();
    run(&suite, controller, &[], &Cancel::new())
        .unwrap()
        .remove(0)
}

fn refusal(case: &str, controller: &str) -> String {
    let ran = suite_of(case).and_then(|suite| {
        run(
            &suite,
            Controller::by_name(controller).unwrap(),
            &[],
            &Cancel::new(),
        )
    });
    ran.unwrap_err().to_string()
}

#[test]
fn every_case_of_this_library_holds_for_its_controllers() {
    for suite in shipped() {
        for name in &suite.controllers {
            let controller = Controller::by_name(name).unwrap();
            for judged in run(&suite, controller, &[], &Cancel::new()).unwrap() {
                let wrong: Vec<_> = judged
                    .verdicts
                    .iter()
                    .filter(|verdict| !verdict.holds)
                    .collect();
                assert!(
                    wrong.is_empty(),
                    "{name}, {} {}: {wrong:#?}",
                    judged.suite,
                    judged.case
                );
            }
        }
    }
}

/// Coupled congestion control leaves a TCP its share of a shared link; two NewReno subflows take
/// two.
#[test]
fn the_criteria_of_rfc_9743_hold_for_lia_and_all_but_the_shared_link_for_reno() {
    for (name, misses) in [("lia", &[][..]), ("reno", &["7.10-2"])] {
        let controller = Controller::by_name(name).unwrap();
        let judged = run(&suite("rfc9743").unwrap(), controller, &[], &Cancel::new()).unwrap();
        let missed: Vec<&str> = judged
            .iter()
            .filter(|judged| !judged.holds())
            .map(|judged| judged.case.as_str())
            .collect();
        assert_eq!(missed, misses, "{name}");
    }
}

#[test]
fn a_value_is_judged_by_its_bounds_and_a_state_by_its_sequence() {
    let both = r#"check = [
        { value = "goodput_mbps", stat = "result", at-least = 9, at-most = 10 },
        { value = "goodput_mbps", stat = "result", at-least = 11 },
        { states = ["SLOW_START", "RECOVERY"] },
        { states = ["RECOVERY"] },
        { never = "TIMEOUT" },
        { never = "RECOVERY" },
    ]"#;
    let holds: Vec<bool> = judged(both, "reno")
        .verdicts
        .iter()
        .map(|verdict| verdict.holds)
        .collect();
    assert_eq!(holds, [true, false, true, false, true, false]);
}

#[test]
fn an_instant_that_does_not_come_is_no_success() {
    let case = r#"check = [{ value = "cwnd", from = "enter TIMEOUT", at-least = 0 }]"#;
    let verdict = &judged(case, "reno").verdicts[0];
    assert!(!verdict.holds);
    assert_eq!(verdict.measured, "`enter TIMEOUT` did not happen");
}

#[test]
fn the_scenario_changes_when_the_controller_enters_a_state() {
    let case = r#"
        then = [{ at = "enter RECOVERY", set = { "path.p.outages" = '[["@+100 ms", "@+900 ms"]]' } }]
        check = [
            { value = "time_s", stat = "rise", from = "enter RECOVERY", until = "enter TIMEOUT",
              at-least = 0.1 },
            { never = "TIMEOUT", until = "enter RECOVERY" },
        ]"#;
    assert!(judged(case, "reno").holds());
}

#[test]
fn the_application_pauses_and_resumes() {
    let case = r#"
        then = [{ at = "0.5 s", application = "pause" }, { at = "1 s", application = 2 },
                { at = "1.5 s", application = "resume" }]
        check = [
            { value = "in_flight", stat = "max", from = "0.8 s", until = "1 s", at-most = 0 },
            { value = "delivered_mbit / 2", stat = "rate", from = "1.1 s", until = "1.5 s",
              at-least = 0.9, at-most = 1.1 },
            { value = "delivered_mbit", stat = "rate", from = "1.6 s", at-least = 9 },
        ]"#;
    let judged = judged(case, "reno");
    assert!(judged.holds(), "{judged:#?}");
}

#[test]
fn a_value_is_compared_with_that_of_another_controller() {
    let case = r#"check = [
        { value = "goodput_mbps", stat = "result", against = "reno", at-least = 1, at-most = 1 },
    ]"#;
    assert!(judged(case, "reno").holds());
}

#[test]
fn mistakes_are_named() {
    for (case, controller, message) in [
        (
            r#"check = [{ states = ["STARTUP"] }]"#,
            "reno",
            "checks the state `STARTUP`, which `reno` does not show",
        ),
        (
            r#"check = [{ value = "max_bw", at-least = 1 }]"#,
            "bbr3",
            "checks the value `max_bw`",
        ),
        (
            r#"check = [{ value = "cwnd" }]"#,
            "reno",
            "needs `at-least` or `at-most`",
        ),
        (
            r#"check = [{ value = "cwnd /", at-least = 1 }]"#,
            "reno",
            "`cwnd /` is no value",
        ),
        (
            r#"check = [{ never = "LOSS", value = "cwnd", at-least = 1 }]"#,
            "reno",
            "exactly one of",
        ),
        (
            r#"check = [{ value = "cwnd", from = "soon", at-least = 1 }]"#,
            "reno",
            "`soon` is no instant",
        ),
        ("check = []", "reno", "it has no [[case.check]]"),
        (
            r#"check = [{ vaule = "cwnd" }]"#,
            "reno",
            "unknown field `vaule`",
        ),
        (
            r#"set = { duraton = "1 s" }
            check = [{ never = "TIMEOUT" }]"#,
            "reno",
            "duraton",
        ),
        (
            r#"then = [{ at = "1 s" }]
            check = [{ never = "TIMEOUT" }]"#,
            "reno",
            "changes nothing",
        ),
    ] {
        let said = refusal(case, controller);
        assert!(said.contains(message), "{case}: {said}");
    }
    assert!(
        suite("no-such-suite")
            .unwrap_err()
            .to_string()
            .contains("no suite of cases `no-such-suite`")
    );
}
