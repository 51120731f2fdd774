//! Features that mainline Linux lacks are refused by name before a run.

use joulepath_kernel::Error;
use joulepath_lab::engine;

use super::{TWO_PATHS, changed, scenario, setup};

/// The refused feature of a policy, and the reason.
fn refused(policy: &str) -> String {
    let scenario = scenario(TWO_PATHS);
    match engine::check(&scenario, &[setup(policy, &scenario)]) {
        Err(error @ Error::Unsupported { .. }) => format!("{error}; {}", error.remedy().unwrap()),
        other => panic!("{policy}: {other:?}"),
    }
}

#[test]
fn requested_schedulers_are_refused() {
    for (policy, name) in [
        ("mptcp[scheduler=round-robin]", "`round-robin`"),
        ("mptcp[scheduler=minrtt]", "`minrtt`"),
        ("mptcp[penalise=off]", "`minrtt`"),
        ("redundant", "`redundant`"),
        ("mptcp[scheduler=allotted,allocator=so-mptcp]", "`allotted`"),
    ] {
        let error = refused(policy);
        assert!(
            error.contains(name) && error.contains("one packet scheduler"),
            "{error}"
        );
        assert!(error.contains("--engine packet"), "{error}");
    }
}

#[test]
fn policies_without_a_scheduler_use_the_kernels_and_get_a_note() {
    let scenario = scenario(TWO_PATHS);
    for policy in [
        "mptcp",
        "uncoupled",
        "dts",
        "eemptcp",
        "olia",
        "single:wifi",
        "backup",
        "mptcp[cc=balia]",
    ] {
        let notes = engine::notes(&scenario, &[setup(policy, &scenario)]);
        assert!(
            notes[0].contains("kernel's own") && notes[0].contains("`minrtt`"),
            "{policy}: {notes:?}"
        );
    }
    let notes = engine::notes(&scenario, &[setup("linux", &scenario)]);
    assert!(
        notes.iter().all(|note| !note.contains("scheduler")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("modelled")),
        "{notes:?}"
    );
}

#[test]
fn scenarios_beyond_this_machine_are_refused() {
    let check = |scenario: &joulepath_model::scenario::Scenario| {
        let error = engine::check(scenario, &[setup("mptcp", scenario)]).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        error.to_string()
    };
    let fast = changed(TWO_PATHS, &[("path.wifi.rate", "\"2 Gbit/s\"")]);
    assert!(check(&fast).contains("2010 Mbit/s in all"));
    let small = changed(TWO_PATHS, &[("transport.mss", "\"100 B\"")]);
    assert!(check(&small).contains("segments of 100 B"));
    let channel = "[[channel]]\nname = \"c\"\nrate = \"11 Mbit/s\"\n";
    let relayed = changed(
        &format!("{TWO_PATHS}{channel}"),
        &[("path.wifi.relay", "{ kind = \"ip\", channel = \"c\" }")],
    );
    assert!(check(&relayed).contains("the relay of the path `wifi`"));
    let many = scenario(&format!(
        "{TWO_PATHS}[[connection]]\nname = \"a\"\ncount = 600\n"
    ));
    assert!(check(&many).contains("600 connections"));
}

#[test]
fn differences_of_the_kernels_tcp_are_noted() {
    let scenario = changed(TWO_PATHS, &[("transport.rto_initial", "\"3 s\"")]);
    let notes = engine::notes(&scenario, &[setup("mptcp", &scenario)]);
    assert!(
        notes.iter().any(|note| note.contains("rto_initial is 3 s")),
        "{notes:?}"
    );
}
