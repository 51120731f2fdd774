//! The same scenario, policy and seed give the same bytes of result.

use crate::simulate_with_series;

/// All sources of randomness at once: bursts of loss, a varying rate, jitter, Pareto cross traffic,
/// messages.
const RESTLESS: &str = r#"
    duration = "20 s"
    [[path]]
    name = "a"
    rate = { mean = "8 Mbit/s", deviation = "30 %" }
    delay = "20 ms"
    jitter = { deviation = "2 ms", correlation = "100 ms" }
    loss = { enter_bad = "0.1 %", leave_bad = "20 %", loss_bad = "30 %" }
    energy = "wifi-huang2012"
    [[path]]
    name = "b"
    rate = "5 Mbit/s"
    delay = "40 ms"
    loss = "0.5 %"
    energy = "lte-huang2012"
    [[cross]]
    path = "b"
    kind = "pareto"
    rate = "4 Mbit/s"
    mean_burst = "300 ms"
    mean_gap = "500 ms"
    [workload]
    kind = "messages"
    mean_gap = "10 ms"
    size = "10 kB"
"#;

const POLICIES: [&str; 8] = [
    "lia",
    "olia",
    "dts",
    "linux",
    "es-mptcp",
    "so-mptcp",
    "pluntke",
    "mptcp[scheduler=sttf]",
];

fn bytes(policy: &str, seed: u64) -> String {
    serde_json::to_string(&simulate_with_series(RESTLESS, policy, seed))
        .expect("a result is plain data")
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_and_on_two_threads() {
    let jobs: Vec<(&str, u64)> = POLICIES
        .iter()
        .flat_map(|&policy| [(policy, 1), (policy, 2)])
        .collect();
    let run = |jobs: &[(&str, u64)]| -> Vec<String> {
        jobs.iter()
            .map(|&(policy, seed)| bytes(policy, seed))
            .collect()
    };
    let alone = run(&jobs);
    let together: Vec<String> = std::thread::scope(|scope| {
        let halves: Vec<_> = jobs
            .chunks(jobs.len() / 2)
            .map(|half| scope.spawn(move || run(half)))
            .collect();
        halves
            .into_iter()
            .flat_map(|half| half.join().expect("a run does not panic"))
            .collect()
    });
    assert_eq!(alone, together);
    assert_eq!(alone, run(&jobs));
}

#[test]
fn different_seeds_give_different_results() {
    for policy in POLICIES {
        assert_ne!(
            bytes(policy, 1).replace("\"seed\":1", ""),
            bytes(policy, 2).replace("\"seed\":2", "")
        );
    }
}

/// PIE's drops, FQ-CoDel's hash, reordering and the phase of aggregation have random streams of
/// their own.
#[test]
fn managed_links_are_reproducible() {
    let managed = RESTLESS
        .replacen(
            "energy",
            "aqm = \"fq-codel\"\naggregate = { period = \"4 ms\" }\nenergy",
            1,
        )
        .replace(
            "loss = \"0.5 %\"",
            "aqm = \"pie\"\nreorder = { share = \"1 %\", depth = \"3 packets\" }",
        );
    let bytes = |seed| {
        let result = simulate_with_series(&managed, "lia", seed);
        serde_json::to_string(&result).expect("a result is plain data")
    };
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(
        bytes(1).replace("\"seed\":1", ""),
        bytes(2).replace("\"seed\":2", "")
    );
}
