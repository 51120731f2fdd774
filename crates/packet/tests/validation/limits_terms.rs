//! No run beats the limits of random families, unless it violates the limit's condition.

use joulepath_control::limit::{Capacity, Terms, attainable};
use joulepath_control::policy::POLICIES;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, Workload, load};
use joulepath_packet::{RunOptions, run};

use crate::common::setup;

/// Deadline of streams, s: one that results count.
const DEADLINE_S: f64 = 0.5;
/// Standard deviations by which random loss may favour a run.
const LUCK: f64 = 5.0;

/// Two paths, most of them lossy, with small windows; half of the paths with rates that change;
/// bulk, a file, a stream or messages.
fn random(index: u64) -> Scenario {
    let mut draws = Stream::new(17, Domain::Workload, index);
    let mut between = |least: f64, most: f64| least + (most - least) * draws.uniform();
    let mut text = format!("title = \"random {index}\"\nduration = \"12 s\"\nwarm_up = \"0 s\"\n");
    let energy = [
        "\"wifi-huang2012\"",
        "{ per_mbps = \"60 mW\", active = \"700 mW\" }",
    ];
    let energy = energy[between(0.0, 2.0) as usize];
    for name in ["a", "b"] {
        let mbps = between(2.0, 15.0);
        let rate = match between(0.0, 2.0) as u32 {
            0 => format!("\"{mbps:.3} Mbit/s\""),
            _ => format!(
                "{{ steps = [[\"0 s\", \"{mbps:.3} Mbit/s\"], [\"{:.2} s\", \"{:.3} Mbit/s\"]] }}",
                between(2.0, 10.0),
                mbps * between(0.1, 2.0)
            ),
        };
        let loss = if between(0.0, 3.0) < 1.0 {
            0.0
        } else {
            between(0.1, 8.0)
        };
        text += &format!(
            "[[path]]\nname = \"{name}\"\nrate = {rate}\ndelay = \"{:.2} ms\"\nqueue = \"60 packets\"\n\
             loss = \"{loss:.2} %\"\nenergy = {energy}\n",
            between(5.0, 60.0)
        );
    }
    let kind = between(0.0, 5.0) as u32;
    let file = format!(
        "[workload]\nkind = \"file\"\nsize = \"{:.0} B\"\n",
        2000.0 * between(0.0, 8.0).exp()
    );
    text += match kind {
        2 => &file,
        0 => "[workload]\nkind = \"stream\"\nrate = \"600 kbit/s\"\ninterval = \"100 ms\"\n",
        1 => "[workload]\nkind = \"messages\"\nsize = \"3 kB\"\nmean_gap = \"40 ms\"\n",
        _ => "[workload]\nkind = \"bulk\"\n",
    };
    text += &format!("[receiver]\nbuffer = \"{:.0} KiB\"\n", between(16.0, 160.0));
    load(&text, &|name| Err(format!("no trace {name}")))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// By how much a run may exceed the limit: the number of lost packets may be below its mean by five
/// standard deviations; a packet may be on each link at either end.
fn tolerance(scenario: &Scenario, result: &RunResult) -> f64 {
    let packets = result
        .paths
        .iter()
        .map(|path| path.segments)
        .sum::<u64>()
        .max(1) as f64;
    let loss = scenario
        .links
        .iter()
        .map(|link| link.loss.mean())
        .fold(0.0, f64::max);
    // The number of messages, and so of bundles, may also be below its mean.
    let messages = match scenario.connections[0].workload {
        Workload::Messages { mean_gap, .. } => result.measured_s / mean_gap.as_secs_f64(),
        _ => f64::INFINITY,
    };
    // A transfer is measured whole: nothing is in flight before it.
    let on_links = match scenario.connections[0].workload {
        Workload::File { .. } => 0.0,
        _ => 2.0 * scenario.paths.len() as f64,
    };
    1e-6 + LUCK * (loss / (1.0 - loss) / packets + 1.0 / messages).sqrt() + on_links / packets
}

/// Whether the run meets the limit's conditions: an endless workload carries what a fixed set of
/// radios does, files are complete, streams and messages are in time.
fn keeps_to_it(scenario: &Scenario, result: &RunResult, least_bps: f64) -> bool {
    match scenario.connections[0].workload {
        Workload::Stream { .. } | Workload::Messages { .. } => {
            let found = result
                .punctuality
                .iter()
                .find(|one| one.deadline_s == DEADLINE_S);
            found.is_some_and(|one| one.in_time == one.offered)
        }
        Workload::File { .. } => result.completion_s.is_some(),
        _ => result.goodput_bps >= least_bps,
    }
}

#[test]
fn no_run_beats_the_limits_of_random_families() {
    let (mut tried, mut close, mut kept, mut files, mut beaten) = (0, 0, 0, 0, vec![]);
    for index in 0..60 {
        let scenario = random(index);
        let terms = Terms::all(Some(DEADLINE_S));
        let limit = attainable(&scenario, &terms)
            .into_iter()
            .find(|l| l.kind == Capacity::Link.name());
        let limit = limit.expect("links have a limit");
        let names = POLICIES
            .iter()
            .filter(|info| info.name != "single")
            .map(|info| info.name.to_owned());
        for policy in ["single:a".to_owned(), "single:b".to_owned()]
            .into_iter()
            .chain(names)
        {
            let result = run(
                &scenario,
                &setup(&scenario, &policy),
                index,
                RunOptions::default(),
            );
            let Ok(result) = result else { continue };
            let share = match scenario.connections[0].workload {
                // The limit knows the mean number of messages.
                Workload::Messages { .. } => limit.power_w / result.power_w,
                _ => result.bits_per_joule / limit.bits_per_joule,
            };
            tried += 1;
            close += u32::from(share > 0.9);
            files += u32::from(share > 0.8 && result.completion_s.is_some());
            if keeps_to_it(&scenario, &result, limit.goodput_bps) {
                kept += 1;
                if share > 1.0 + tolerance(&scenario, &result) {
                    beaten.push(format!("{}, {policy}: {share:.4}", scenario.title));
                }
            }
        }
    }
    println!(
        "{tried} runs, {close} above 90 % of the limit, {files} files above 80 %, {kept} meet its conditions"
    );
    assert!(
        beaten.is_empty(),
        "{} runs beat the limit:\n{}",
        beaten.len(),
        beaten.join("\n")
    );
    assert!(
        tried > 900 && close > 30 && kept > 100 && files > 15,
        "{tried} {close} {kept} {files}"
    );
}
