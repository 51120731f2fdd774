//! Random scenarios against the limits of `joulepath_control::limit`: no run is more efficient than
//! its link bound, and the TCP-rate reference is not above it. All workloads, all shipped radios,
//! slow and fast links, long and short round trips, small buffers.

use std::fmt::Write as _;

use joulepath_control::limit::{Capacity, limits, link_bound_at, waited_s};
use joulepath_link::realised;
use joulepath_model::energy::{InterfaceModel, profiles};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::{Reference, RunResult};
use joulepath_model::scenario::{Scenario, Workload, load};
use joulepath_model::units::Nanos;
use joulepath_packet::{RunOptions, run};

use super::draw::Dice;
use crate::common::setup;

const POLICIES: &[&str] = &[
    "single:p0",
    "single:p0",
    "mptcp",
    "uncoupled",
    "linux",
    "joule",
    "redundant",
    "bbr3",
];
/// Wire bits of a run on all links, which limits the time for it.
const MOST_BITS: f64 = 60e6;

/// The scenario of a seed, and a policy.
fn drawn(seed: u64) -> (String, &'static str) {
    let mut dice = Dice(Stream::new(seed, Domain::Study, 54));
    let paths = dice.one(&[1, 1, 1, 2, 2, 3]);
    let radios: Vec<&str> = profiles().map(|profile| profile.name).collect();
    let (mut text, mut sum_bps) = (String::new(), 0.0);
    let via = dice.chance(0.25);
    let mut sides = Dice(Stream::new(seed, Domain::Study, 541));
    let asymmetric = sides.chance(0.3);
    for i in 0..paths {
        let bps = dice.scale(12e3, 30e6);
        let own_bps = if via {
            bps * dice.scale(1.0, 100.0)
        } else {
            bps
        };
        sum_bps += own_bps;
        let rate = match dice.one(&[0, 0, 0, 1]) {
            0 => format!("\"{own_bps:.0} bit/s\""),
            _ => format!(
                "{{ steps = [[\"0 s\", \"{own_bps:.0} bit/s\"], [\"{:.1} s\", \"{:.0} bit/s\"]] }}",
                dice.between(1.0, 10.0),
                own_bps * dice.scale(0.2, 1.0)
            ),
        };
        let radio = dice.one(&radios);
        let _ = write!(
            text,
            "[[path]]\nname = \"p{i}\"\nrate = {rate}\ndelay = \"{:.1} ms\"\nqueue = \"{} packets\"\n\
             energy = \"{radio}\"\n",
            dice.scale(1.0, 740.0),
            dice.one(&[10, 50, 200]),
        );
        if asymmetric {
            let up_bps = own_bps * sides.scale(0.01, 30.0);
            let _ = writeln!(text, "up = {{ rate = \"{up_bps:.0} bit/s\" }}");
        }
        if via {
            let _ = write!(
                text,
                "via = [\"line{i}\"]\n[[link]]\nname = \"line{i}\"\nrate = \"{bps:.0} bit/s\"\n\
                 delay = \"5 ms\"\n"
            );
        }
    }
    let _ = writeln!(
        text,
        "[receiver]\nbuffer = \"{:.0} B\"",
        dice.scale(16e3, 4e6)
    );
    if dice.chance(0.4) {
        let _ = writeln!(
            text,
            "[device]\nshared_base = \"{:.0} mW\"",
            dice.scale(50.0, 2000.0)
        );
    }
    let duration_s = dice.between(10.0, 60.0).min(MOST_BITS / sum_bps).max(4.0);
    let load_bps = (sum_bps * dice.scale(0.01, 1.2)).max(1e3);
    let workload = match dice.one(&[0, 1, 2, 3, 3, 4, 4]) {
        0 => "kind = \"bulk\"\n".to_owned(),
        1 => format!(
            "kind = \"file\"\nsize = \"{:.0} B\"\n",
            sum_bps / 8.0 * duration_s * dice.scale(0.002, 0.3)
        ),
        2 => {
            let (bytes, think_ms) = (
                (sum_bps / 8.0 * dice.scale(0.01, 2.0)).max(100.0),
                dice.scale(10.0, 5000.0),
            );
            // Half of the think times end with the tail of a radio, or shortly after it.
            let tails = radios.iter().filter_map(|name| tail_s(name));
            let tails: Vec<f64> = tails.filter(|tail_s| *tail_s < 5.0).collect();
            let think_ms = match sides.chance(0.5) {
                true => 1e3 * sides.one(&tails) + sides.one(&[0.0, 0.0, 1.0, 10.0, 50.0]),
                false => think_ms,
            };
            format!("kind = \"requests\"\nsize = \"{bytes:.0} B\"\nthink = \"{think_ms:.0} ms\"\n")
        }
        3 => {
            let mut text = format!(
                "kind = \"stream\"\nrate = \"{load_bps:.0} bit/s\"\ninterval = \"{:.0} ms\"\n",
                dice.scale(20.0, 1000.0)
            );
            if dice.chance(0.5) {
                let (on, off) = (dice.scale(0.5, 10.0), dice.scale(0.5, 20.0));
                let _ = write!(text, "on = \"{on:.2} s\"\noff = \"{off:.2} s\"\n");
            }
            text
        }
        _ => {
            let gap_s = dice.scale(0.05, 10.0);
            let bytes = (load_bps / 8.0 * gap_s).max(40.0);
            format!(
                "kind = \"messages\"\nsize = \"{bytes:.0} B\"\nmean_gap = \"{:.0} ms\"\n",
                1e3 * gap_s
            )
        }
    };
    let direction = if !workload.contains("requests") && dice.chance(0.25) {
        "direction = \"upload\"\n"
    } else {
        ""
    };
    let _ = write!(text, "[workload]\n{workload}{direction}");
    // The limit of a file is for all of it.
    let warm_up = if workload.contains("file") {
        "0 s".to_owned()
    } else {
        match dice.one(&[0, 0, 1]) {
            0 => "0 s".to_owned(),
            _ if sides.chance(0.5) => "1 s".to_owned(),
            _ => format!("{:.2} s", sides.scale(0.1, 0.5 * duration_s)),
        }
    };
    let head =
        format!("title = \"{seed}\"\nduration = \"{duration_s:.2} s\"\nwarm_up = \"{warm_up}\"\n");
    (head + &text, dice.one(POLICIES))
}

/// Length of the tail of a shipped radio; `None` without one.
fn tail_s(name: &str) -> Option<f64> {
    let profile = profiles().find(|profile| profile.name == name)?;
    match profile.model() {
        InterfaceModel::Rrc(radio) => {
            let stages = radio.tail.iter().map(|stage| stage.duration.as_secs_f64());
            Some(stages.sum::<f64>()).filter(|tail_s| *tail_s > 0.0)
        }
        _ => None,
    }
}

/// Data that may have come before the measured time and be delivered within it, bits: a buffer.
fn early_bits(met: &Scenario) -> f64 {
    if met.warm_up == Nanos::ZERO {
        0.0
    } else {
        8.0 * met.connections[0].receive_buffer.0 as f64
    }
}

fn measured_s(met: &Scenario) -> f64 {
    met.duration.as_secs_f64() - met.warm_up.as_secs_f64()
}

/// Efficiency that the limits allow a run; `None` without a limit, or if the workload is
/// incomplete. Energy of data that came early, perhaps over the most expensive radio, was spent
/// before.
fn allowed(met: &Scenario, all: &[Reference], result: &RunResult) -> Option<f64> {
    let link = all.iter().find(|limit| limit.kind == Capacity::Link.name());
    match met.connections[0].workload {
        Workload::Messages { .. } | Workload::Stream { .. } => {
            let delay_s = result.delay?.mean_s;
            let within_bps = result.goodput_bps - early_bits(met) / measured_s(met);
            if within_bps <= 0.0 {
                return None;
            }
            let bound = link_bound_at(met, within_bps, waited_s(met, delay_s))?;
            Some(bound * result.goodput_bps / within_bps)
        }
        Workload::File { .. } if result.completion_s.is_none() => None,
        _ => Some(link?.bits_per_joule),
    }
}

#[test]
fn no_run_beats_the_link_bound() {
    let (mut beaten, mut tried, mut near) = (vec![], 0, 0);
    for seed in super::seeds() {
        let (text, policy) = drawn(seed);
        let scenario = match load(&text, &|name| Err(format!("no trace {name}"))) {
            Ok(scenario) => scenario,
            Err(errors) => panic!("{seed}: {errors}\n{text}"),
        };
        let met = realised(&scenario, seed).unwrap_or_else(|| scenario.clone());
        let all = limits(&met);
        if let [tcp, link] = all.as_slice()
            && tcp.bits_per_joule > link.bits_per_joule * (1.0 + 1e-9)
        {
            beaten.push(format!(
                "seed {seed}: the TCP-rate reference is above the link bound\n{text}"
            ));
        }
        let Ok(result) = run(
            &scenario,
            &setup(&scenario, policy),
            seed,
            RunOptions::default(),
        ) else {
            continue;
        };
        let Some(allowed) = allowed(&met, &all, &result).filter(|_| result.bits_per_joule > 0.0)
        else {
            continue;
        };
        let is_endless = met.connections[0].workload == Workload::Bulk;
        // Data that arrived during the warm-up and was delivered later does not count.
        let link = all.iter().find(|limit| limit.kind == Capacity::Link.name());
        let in_time = match link.filter(|_| is_endless) {
            Some(link) => {
                let carried = result.paths.iter().zip(&link.capacities_bps);
                let carried_bps = carried.map(|(path, most)| path.goodput_bps.min(*most));
                carried_bps.sum::<f64>() / result.goodput_bps
            }
            None => 1.0,
        };
        let share = result.bits_per_joule / allowed * in_time;
        let packets = result
            .paths
            .iter()
            .map(|path| path.segments)
            .sum::<u64>()
            .max(1) as f64;
        // A packet on each path may be in transmission at the start and at the end of the measured
        // time.
        let early = early_bits(&met) / (result.goodput_bps * measured_s(&met));
        let tolerance = 1e-6 + 2.0 * scenario.paths.len() as f64 / packets + early;
        tried += 1;
        near += u32::from(share > 0.8);
        if share > 1.0 + tolerance {
            let kinds: Vec<&str> = scenario
                .paths
                .iter()
                .map(|path| kind(&path.energy.model))
                .collect();
            beaten.push(format!(
                "seed {seed}: {share:.4} of the link bound, {policy}, {kinds:?}\n{text}"
            ));
        }
    }
    println!(
        "{tried} runs, {near} above 0.8 of the link bound, {} above it",
        beaten.len()
    );
    assert!(beaten.is_empty(), "{}", beaten.join("\n"));
    assert!(
        10 * near >= tried,
        "only {near} of {tried} runs come near: the bound says nothing"
    );
}

fn kind(model: &InterfaceModel) -> &'static str {
    match model {
        InterfaceModel::Linear { .. } => "linear",
        InterfaceModel::Rrc(_) => "radio",
        InterfaceModel::Slotted { .. } => "slotted",
    }
}
