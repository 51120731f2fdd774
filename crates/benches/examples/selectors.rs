//! Measures selectors on random scenarios with two radios: files, endless data and messages.
//! Reports the fraction of both limits, and the delay of messages.
//!
//! `selectors FAMILY FIRST COUNT POLICY…`, for example `selectors file 1001 64 joule overflow
//! single:wifi`. FAMILY is `file` (30 kB to 40 MB), `bulk` (60 s), `messages` (60 s), or one of
//! them with the prefix `warm-` or `link-`: the same scenarios, where every path has a history
//! whose rate is wrong by a factor of at most 1.3. With `warm-` it is the rate of TCP under the
//! path's loss, as earlier runs of such a controller would have measured, with `link-` the link's
//! rate. Scenarios are numbered; 1 to 1000 are for tuning. `cheapest` is the better of the two
//! single paths with NewReno, per scenario, in hindsight. One line per policy: median, tenth
//! percentile and worst, in per cent of the TCP-friendly limit and of the link limit; for messages
//! also the 95th percentile of their delay as a multiple of `uncoupled`'s, median and 90th
//! percentile.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use joulepath_control::Setup;
use joulepath_control::limit::limits;
use joulepath_model::quantile::nearest;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, load};
use joulepath_packet::{RunOptions, run};

/// Seeds of each policy on each scenario.
const SEEDS: [u64; 2] = [1, 2];
/// Parallel runs.
const JOBS: usize = 2;
const CELLULAR: [&str; 4] = [
    "lte-huang2012",
    "3g-huang2012",
    "lte-2021",
    "5g-lowband-2021",
];
const LOSSES_PERCENT: [f64; 6] = [0.0, 0.0, 0.05, 0.3, 1.0, 3.0];
/// Largest error of a history, as a factor.
const ERROR: f64 = 1.3;

struct Dice(Stream);

impl Dice {
    fn log(&mut self, least: f64, most: f64) -> f64 {
        least * power(most / least, self.0.uniform())
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.0.below(all.len() as u64) as usize]
    }
}

fn power(base: f64, exponent: f64) -> f64 {
    (base.ln() * exponent).exp()
}

/// A path, its rate in Mbit/s, and the error factor of its history.
fn path(dice: &mut Dice, name: &str, energy: &str, rtt_ms: (f64, f64)) -> (String, f64, f64) {
    let mbps = dice.log(1.5, 80.0);
    let rtt_ms = dice.log(rtt_ms.0, rtt_ms.1);
    let loss = dice.one_of(&LOSSES_PERCENT);
    let packets = (dice.log(0.25, 4.0) * mbps * 1e3 * rtt_ms / 12_000.0).max(5.0) as u32;
    let wrong = dice.log(1.0 / ERROR, ERROR);
    let text = format!(
        "[[path]]\nname = \"{name}\"\nrate = \"{mbps:.4} Mbit/s\"\ndelay = \"{:.3} ms\"\n\
         jitter = \"0.2 ms\"\n\
         loss = \"{loss} %\"\nqueue = \"{packets} packets\"\nenergy = \"{energy}\"\n",
        rtt_ms / 2.0
    );
    (text, mbps, wrong)
}

/// Scenario `number`. Only the history differs between warm and cold.
fn draw(family: &str, number: u64) -> Option<String> {
    let warm = family.strip_prefix("warm-");
    let link = family.strip_prefix("link-");
    let family = warm.or(link).unwrap_or(family);
    let mut dice = Dice(Stream::new(number, Domain::Benchmark, 1 << 32));
    let (wifi, wifi_mbps, wifi_wrong) = path(&mut dice, "wifi", "wifi-huang2012", (10.0, 50.0));
    let cellular = dice.one_of(&CELLULAR);
    let (cellular, cellular_mbps, cellular_wrong) =
        path(&mut dice, "cellular", cellular, (30.0, 200.0));
    let (workload, seconds) = match family {
        "file" => {
            let bytes = dice.log(30e3, 40e6) as u64;
            (format!("kind = \"file\"\nsize = \"{bytes} B\""), 600)
        }
        "bulk" => ("kind = \"bulk\"".to_owned(), 60),
        "messages" => {
            let (bytes, load) = (dice.log(1e4, 1e6), dice.log(0.1, 1.1));
            let gap_ms = (bytes * 8.0 / (load * wifi_mbps * 1e3)).clamp(10.0, 10_000.0);
            (
                format!(
                    "kind = \"messages\"\nsize = \"{bytes:.0} B\"\nmean_gap = \"{gap_ms:.2} ms\""
                ),
                60,
            )
        }
        _ => return None,
    };
    let text = |histories: [String; 2]| {
        let [of_wifi, of_cellular] = histories;
        format!(
            "title = \"draw {number}\"\nduration = \"{seconds} s\"\n{wifi}{of_wifi}{cellular}{of_cellular}\
             [receiver]\nbuffer = \"6 MiB\"\n[sender]\nbuffer = \"6 MiB\"\n[workload]\n{workload}\n"
        )
    };
    let cold = text([String::new(), String::new()]);
    let known = |mbps: [f64; 2]| {
        let line = |mbps: f64, wrong: f64| {
            format!("history = {{ rate = \"{:.4} Mbit/s\" }}\n", mbps * wrong)
        };
        text([line(mbps[0], wifi_wrong), line(mbps[1], cellular_wrong)])
    };
    Some(match (warm, link) {
        (Some(_), _) => {
            let friendly =
                &limits(&load(&cold, &|_| Err("no traces".to_owned())).ok()?)[0].capacities_bps;
            known([friendly[0] / 1e6, friendly[1] / 1e6])
        }
        (None, Some(_)) => known([wifi_mbps, cellular_mbps]),
        (None, None) => cold,
    })
}

/// Result of a policy on one scenario; `of_tcp` and `of_link` in per cent of the limits.
#[derive(Clone, Copy)]
struct Reached {
    of_tcp: f64,
    of_link: f64,
    p95_s: Option<f64>,
}

fn one(scenario: &Scenario, policy: &str) -> Result<Reached, String> {
    let setup = policy
        .parse()
        .map_err(|error| format!("{policy}: {error}"))?;
    let setup = Setup::of(&setup, scenario).map_err(|error| format!("{policy}: {error}"))?;
    let results: Vec<RunResult> = SEEDS
        .iter()
        .map(|&seed| {
            run(scenario, &setup, seed, RunOptions::default()).map_err(|error| error.to_string())
        })
        .collect::<Result<_, _>>()?;
    let mean =
        |of: &dyn Fn(&RunResult) -> f64| results.iter().map(of).sum::<f64>() / results.len() as f64;
    let efficiency = mean(&|result| result.bits_per_joule);
    let of = |kind: usize, limits: &[joulepath_model::result::Reference]| {
        efficiency / limits[kind].bits_per_joule
    };
    let limits = limits(scenario);
    Ok(Reached {
        of_tcp: 100.0 * of(0, &limits),
        of_link: 100.0 * of(1, &limits),
        p95_s: results
            .iter()
            .map(|result| result.delay.map(|delay| delay.p95_s))
            .sum::<Option<f64>>(),
    })
}

fn reached(scenario: &Scenario, policy: &str) -> Result<Reached, String> {
    if policy != "cheapest" {
        return one(scenario, policy);
    }
    let all = ["single:wifi", "single:cellular"].map(|single| one(scenario, single));
    let [a, b] = all;
    let (a, b) = (a?, b?);
    Ok(if a.of_tcp >= b.of_tcp { a } else { b })
}

fn measure(family: &str, first: u64, count: usize, policies: &[String]) -> Result<(), String> {
    let texts: Option<Vec<String>> = (0..count as u64).map(|i| draw(family, first + i)).collect();
    let texts = texts
        .ok_or("FAMILY is file, bulk or messages, optionally with the prefix warm- or link-")?;
    let mut all: Vec<String> = policies.to_vec();
    if family.ends_with("messages") && !all.iter().any(|policy| policy == "uncoupled") {
        all.push("uncoupled".to_owned());
    }
    let work = |text: &String| -> Result<Vec<Reached>, String> {
        let scenario =
            load(text, &|_| Err("no traces".to_owned())).map_err(|error| error.to_string())?;
        all.iter()
            .map(|policy| reached(&scenario, policy))
            .collect()
    };
    let next = AtomicUsize::new(0);
    let mut rows: Vec<(usize, Vec<Reached>)> = vec![];
    std::thread::scope(|scope| {
        let worker = || {
            let mut done = vec![];
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(text) = texts.get(i) else {
                    return Ok::<_, String>(done);
                };
                done.push((i, work(text)?));
            }
        };
        let workers: Vec<_> = (0..JOBS).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            rows.extend(
                worker
                    .join()
                    .map_err(|_| "a worker panicked".to_owned())??,
            );
        }
        Ok::<_, String>(())
    })?;
    rows.sort_by_key(|(i, _)| *i);
    if std::env::args().any(|argument| argument == "--each") {
        for (i, row) in &rows {
            let cells: Vec<String> = row
                .iter()
                .map(|one| format!("{:6.1}", one.of_tcp))
                .collect();
            println!("{:5} {}", first + *i as u64, cells.join(" "));
        }
    }
    let reference = all.iter().position(|policy| policy == "uncoupled");
    println!(
        "{family}, scenarios {first} to {}",
        first + count as u64 - 1
    );
    println!(
        "{:36} {:>17}   {:>17}   {:>11}",
        "policy", "% of TCP limit", "% of link limit", "p95 delay ×"
    );
    for (k, policy) in all.iter().enumerate() {
        let of = |value: &dyn Fn(&Reached) -> f64| -> Vec<f64> {
            rows.iter().map(|(_, row)| value(&row[k])).collect()
        };
        let (tcp, link) = (of(&|one| one.of_tcp), of(&|one| one.of_link));
        let three = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            let parts = [0.5, 0.1, 0.0].map(|part| format!("{:5.1}", nearest(&values, part)));
            parts.join(" ")
        };
        let ratio = |(_, row): &(usize, Vec<Reached>)| Some(row[k].p95_s? / row[reference?].p95_s?);
        let delays: Option<Vec<f64>> = rows.iter().map(ratio).collect();
        let delays = delays.map_or(String::new(), |mut delays| {
            delays.sort_by(f64::total_cmp);
            format!(
                "{:5.2} {:5.2}",
                nearest(&delays, 0.5),
                nearest(&delays, 0.9)
            )
        });
        println!("{policy:36} {}   {}   {delays}", three(tcp), three(link));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--each")
        .collect();
    let numbers = |text: &str| text.parse::<u64>().ok();
    let (Some(family), Some(first), Some(count)) = (
        arguments.first(),
        arguments.get(1).and_then(|text| numbers(text)),
        arguments
            .get(2)
            .and_then(|text| numbers(text))
            .filter(|&count| count > 0),
    ) else {
        eprintln!("usage: selectors FAMILY FIRST COUNT POLICY… [--each]");
        return ExitCode::from(2);
    };
    match measure(family, first, count as usize, &arguments[3..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("selectors: {message}");
            ExitCode::FAILURE
        }
    }
}
