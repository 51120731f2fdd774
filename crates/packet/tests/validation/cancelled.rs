//! A run ends soon after its token is set.

use std::sync::mpsc;
use std::time::Duration;

use joulepath_control::Setup;
use joulepath_model::cancel::Cancel;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunError, RunOptions, run};

/// Longer than any machine needs to see the token, and much shorter than the runs.
const PATIENCE: Duration = Duration::from_secs(60);

fn scenario(text: &str) -> Scenario {
    load(text, &|name| Err(format!("no trace {name}"))).unwrap_or_else(|errors| panic!("{errors}"))
}

/// 1024 hosts with eight subflows each, for an hour: days of work.
const DATA_CENTRE: &str = r#"
    title = "FatTree"
    duration = "1 h"
    [topology]
    kind = "fat-tree"
    k = 16
    rate = "100 Mbit/s"
    queue = "20 packets"
    subflows = 8
"#;

/// One path, for nearly the whole range of the engine's clock.
const MESSAGES: &str = r#"
    title = "messages"
    duration = "18 h"
    [[path]]
    name = "wire"
    rate = "10 Mbit/s"
    delay = "10 ms"
    energy = "free"
    [workload]
    kind = "messages"
    mean_gap = "1 ms"
    size = "100 B"
"#;

/// Cancels a run in progress or, with `before`, before its start.
fn cancelled(text: &str, before: bool) -> RunError {
    let scenario = scenario(text);
    let cancel = Cancel::new();
    let options = RunOptions {
        cancel: cancel.clone(),
        ..RunOptions::default()
    };
    if before {
        cancel.set();
    }
    let (done, result) = mpsc::channel();
    let running = std::thread::spawn(move || {
        let setup = Setup::of(&"mptcp".parse().expect("a policy"), &scenario).expect("it fits");
        done.send(run(&scenario, &setup, 1, options))
            .expect("the test waits");
    });
    if !before {
        // The run has begun or is about to; both must end.
        assert!(
            result.recv_timeout(Duration::from_millis(300)).is_err(),
            "the run is longer than this"
        );
        cancel.set();
    }
    let result = result.recv_timeout(PATIENCE).expect("a cancelled run ends");
    running.join().expect("it has sent its result");
    result.expect_err("a cancelled run has no result")
}

#[test]
fn a_cancelled_run_of_any_size_ends_soon() {
    for text in [DATA_CENTRE, MESSAGES] {
        assert!(matches!(cancelled(text, false), RunError::Cancelled));
        assert!(matches!(cancelled(text, true), RunError::Cancelled));
    }
}
