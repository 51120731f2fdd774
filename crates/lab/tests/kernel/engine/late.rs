//! The same facts as the packet engine's tests `dead_paths` and `spurious`, about Linux, in
//! seconds.

use super::{at_once, run, scenario};

fn dying(policy: &str) -> f64 {
    let text = r#"
        title = "a path dies"
        duration = "60 s"
        [[path]]
        name = "lives"
        rate = "600 kbit/s"
        delay = "7 ms"
        queue = "1000 packets"
        energy = "free"
        [[path]]
        name = "dies"
        rate = "700 kbit/s"
        delay = "44 ms"
        queue = "10 packets"
        outages = [["1 s", "60 s"]]
        energy = "free"
        [workload]
        kind = "file"
        size = "300 kB"
    "#;
    run(&scenario(text), policy)
        .unwrap()
        .completion_s
        .expect("the file arrives")
}

/// Retransmissions, timeouts, and the longest stall, s.
fn pausing(policy: &str) -> (u64, u64, f64) {
    let text = r#"
        title = "a pause"
        duration = "6 s"
        [[path]]
        name = "lte"
        rate = { steps = [["0 s", "20 Mbit/s"], ["2 s", "0 bit/s"], ["4 s", "20 Mbit/s"]] }
        delay = "25 ms"
        queue = "1000 packets"
        energy = "free"
        up = { rate = "20 Mbit/s" }
        [receiver]
        buffer = "500 kB"
    "#;
    let result = run(&scenario(text), policy).unwrap();
    let stall = result.longest_stall_s.expect("the engine reports it");
    (
        result.paths[0].retransmissions,
        result.paths[0].timeouts,
        stall,
    )
}

/// The live path alone needs 4.1 s. The window of a path without losses is some hundreds of
/// segments. Nothing arrives in the pause of 2 s.
#[test(needs(ENGINE))]
fn linux_leaves_a_dead_path_and_undoes_a_timeout_in_a_pause() {
    let (completion, pause) = (|| Ok(dying("mptcp")), || Err(pausing("mptcp")));
    type Outcome = Result<f64, (u64, u64, f64)>;
    let work: [Box<dyn FnOnce() -> Outcome + Send>; 2] = [Box::new(completion), Box::new(pause)];
    let [Ok(completion), Err((retransmissions, timeouts, stall))] = at_once(work) else {
        unreachable!()
    };
    assert!(completion < 12.0, "{completion} s");
    assert!((1.9..4.5).contains(&stall), "{stall} s");
    assert!(
        timeouts >= 1 && retransmissions <= 12,
        "{retransmissions} retransmissions, {timeouts} timeouts"
    );
}
