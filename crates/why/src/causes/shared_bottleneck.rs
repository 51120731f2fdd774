//! Subflows without coupling share one bottleneck, where they take several TCPs' shares.

use crate::finding::{Cost, Finding, Fix};
use crate::subject::{Flow, Subject};
use crate::words::ms;

pub(super) const NAME: &str = "shared-bottleneck";

/// Controllers without coupling.
const UNCOUPLED: [&str; 8] = [
    "bbr", "bbr1", "bbr3", "copa", "cubic", "emreno", "reno", "westwood",
];
/// Fewer samples, such as those of the daemon's listings, correlate by chance.
const LEAST_SAMPLES: usize = 16;
/// Correlations of the queueing delays and of their changes: each, and their sum. Sawtooths of
/// separate queues correlate in one of both by chance.
const CORRELATED: f64 = 0.45;
const BOTH: f64 = 1.15;
/// A shorter queue is noise: time, s, and part of the minimum RTT. This host's other work delays
/// all subflows.
const LEAST_S: f64 = 0.003;
const LEAST: f64 = 0.1;
/// The network is the limit in this part of the time.
const OFTEN: f64 = 0.6;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    subject.multipath()?;
    if !subject.uploads() || subject.is_idle() || subject.waits().network < OFTEN {
        return None;
    }
    let active = subject.active(0.1);
    let uncoupled = active.iter().filter(|flow| {
        let name = flow.socket.congestion.as_deref().unwrap_or("");
        UNCOUPLED.contains(&name.trim_start_matches("jp_"))
    });
    let flows: Vec<&&Flow<'_>> = uncoupled.collect();
    let pairs = || (0..flows.len()).flat_map(|a| (a + 1..flows.len()).map(move |b| (a, b)));
    let (a, b, shared) = pairs().find_map(|(a, b)| Some((a, b, shared(flows[a], flows[b])?)))?;
    let names = [a, b].map(|index| flows[index].name(subject.host));
    let controller = flows[a].socket.congestion.as_deref().unwrap_or("unknown");
    Some(Finding {
        cause: NAME,
        verdict: format!("{} and {} share one bottleneck without coupling", names[0], names[1]),
        evidence: vec![
            format!(
                "their queueing delays differ by {} at a mean of {}",
                ms(shared.difference_s),
                ms(shared.mean_s)
            ),
            format!(
                "correlation {:.2}, of changes {:.2}; controller {controller}",
                shared.levels, shared.changes
            ),
        ],
        cost: Cost::new(
            0.1,
            "to other connections of this bottleneck: they get a share less for each subflow",
        ),
        fix: Fix::commands(["joulepath cc load lia", "joulepath cc default lia"]).or(
            "a second path through the same bottleneck adds no rate: `intent = \"frugal\"` leaves it out",
        ),
        // It gains nothing: it leaves others their share.
        remedy: None,
        gain: None,
    })
}

struct Shared {
    levels: f64,
    changes: f64,
    difference_s: f64,
    mean_s: f64,
}

/// One queue delays both equally, however different their paths are otherwise.
fn shared(a: &Flow<'_>, b: &Flow<'_>) -> Option<Shared> {
    let queues = |flow: &Flow<'_>| {
        let least_s = flow.min_rtt_s()?;
        Some(
            flow.rtts_s(true)
                .iter()
                .map(|rtt_s| rtt_s - least_s)
                .collect::<Vec<f64>>(),
        )
    };
    let (mut x, mut y) = (queues(a)?, queues(b)?);
    let length = x.len().min(y.len());
    // From the end: one may have joined later.
    (x, y) = (x.split_off(x.len() - length), y.split_off(y.len() - length));
    if length < LEAST_SAMPLES {
        return None;
    }
    let steps = |all: &[f64]| {
        all.windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect::<Vec<f64>>()
    };
    let mean_s = (mean(&x) + mean(&y)) / 2.0;
    let apart: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (x - y).abs()).collect();
    let shared = Shared {
        levels: correlation(&x, &y),
        // Ranks: a stall of this host lengthens both at once.
        changes: correlation(&ranks(&steps(&x)), &ranks(&steps(&y))),
        difference_s: mean(&apart),
        mean_s,
    };
    let Shared {
        levels, changes, ..
    } = shared;
    let is_shared = levels.min(changes) >= CORRELATED && levels + changes >= BOTH;
    let rtt_s = a.min_rtt_s()?.min(b.min_rtt_s()?);
    (is_shared && mean_s >= LEAST_S.max(LEAST * rtt_s)).then_some(shared)
}

/// The place of each value among all.
fn ranks(all: &[f64]) -> Vec<f64> {
    all.iter()
        .map(|value| all.iter().filter(|other| *other < value).count() as f64)
        .collect()
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Pearson's correlation; 0 without variance.
fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        x.iter()
            .zip(y)
            .map(|(x, y)| of(x - mx, y - my))
            .sum::<f64>()
    };
    let variance = sum(&|x, _| x * x) * sum(&|_, y| y * y);
    if variance > 0.0 {
        sum(&|x, y| x * y) / variance.sqrt()
    } else {
        0.0
    }
}
