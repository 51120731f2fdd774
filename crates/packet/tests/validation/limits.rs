//! No policy beats the limit of the links, in shortened shipped scenarios and in random ones.
//!
//! The reference is the limit for the rates that the run had (`joulepath_link::realised`) or, for
//! workloads with a rate, the limit at the delivered rate.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use joulepath_control::limit::{Capacity, limits, link_bound_at, waited_s};
use joulepath_control::policy::POLICIES;
use joulepath_link::{realised, trace};
use joulepath_model::network::{LinkSpec, LossSpec};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{Scenario, Workload, load};
use joulepath_model::units::{Bytes, Nanos};
use joulepath_packet::{RunOptions, run};

use crate::common::setup;

/// Standard deviations by which random loss may favour a run.
const LUCK: f64 = 5.0;

/// The reference for a seed of a scenario.
struct Bound {
    /// The scenario with the rates of the seed.
    met: Scenario,
    bits_per_joule: Option<f64>,
}

impl Bound {
    fn of(scenario: &Scenario, seed: u64) -> Self {
        let met = realised(scenario, seed).unwrap_or_else(|| scenario.clone());
        let link = limits(&met)
            .into_iter()
            .find(|limit| limit.kind == Capacity::Link.name());
        Bound {
            bits_per_joule: link.map(|limit| limit.bits_per_joule),
            met,
        }
    }

    /// Efficiency of a run over the limit's; `None` without a limit, or if the workload is
    /// incomplete.
    fn share(&self, result: &RunResult) -> Option<f64> {
        let group = &self.met.connections[0];
        let best = match group.workload {
            Workload::Messages { .. } | Workload::Stream { .. } => {
                let bps = result.goodput_bps / f64::from(group.count);
                link_bound_at(&self.met, bps, waited_s(&self.met, result.delay?.mean_s))?
            }
            _ => self.bits_per_joule?,
        };
        let is_whole =
            !matches!(group.workload, Workload::File { .. }) || result.completion_s.is_some();
        is_whole.then_some(result.bits_per_joule / best)
    }
}

/// By how much a run may exceed the limit: its loss may be below the mean by five standard
/// deviations of the number of lost packets (bursts of n packets weigh like n times fewer packets);
/// a link may have a packet in transmission at the start and at the end.
fn tolerance(scenario: &Scenario, result: &RunResult) -> f64 {
    let packets = result
        .paths
        .iter()
        .map(|path| path.segments)
        .sum::<u64>()
        .max(1) as f64;
    let burst = |spec: &LossSpec| match *spec {
        LossSpec::GilbertElliott { leave_bad, .. } => 2.0 / leave_bad.get(),
        _ => 1.0,
    };
    let variance = |link: &LinkSpec| {
        let p = link.loss.mean();
        p / (1.0 - p) * burst(&link.loss) / packets
    };
    let luck = scenario
        .links
        .iter()
        .map(variance)
        .fold(0.0, f64::max)
        .sqrt();
    1e-6 + LUCK * luck + scenario.paths.len() as f64 / packets
}

/// A run and its fraction of the limit.
struct Tried {
    what: String,
    share: f64,
    tolerance: f64,
}

/// Runs all policies on each scenario with its seed, on all cores. Refused policies are skipped.
fn try_all(cases: &[(String, Scenario, u64)]) -> Vec<Tried> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tried = vec![];
        while let Some((name, scenario, seed)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let bound = Bound::of(scenario, *seed);
            for policy in policies(scenario) {
                let result = run(
                    scenario,
                    &setup(scenario, &policy),
                    *seed,
                    RunOptions::default(),
                );
                let Ok(result) = result else { continue };
                let what = format!("{name}, {policy}, seed {seed}");
                let tolerance = tolerance(scenario, &result);
                tried.extend(bound.share(&result).map(|share| Tried {
                    what,
                    share,
                    tolerance,
                }));
            }
        }
        tried
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("no run panics"))
            .collect()
    })
}

/// Fails if a run beats its limit, or if fewer than ten runs come close to it (to `near` of it):
/// then a wrong limit would not be detected.
#[track_caller]
fn assert_unbeaten(tried: &[Tried], least_tried: usize, near: f64) {
    let beaten: Vec<String> = tried
        .iter()
        .filter(|run| run.share > 1.0 + run.tolerance)
        .map(|run| {
            format!(
                "{}: {:.4} of the limit, {:.4} allowed",
                run.what,
                run.share,
                1.0 + run.tolerance
            )
        })
        .collect();
    let close = tried
        .iter()
        .filter(|run| run.share > near + run.tolerance)
        .count();
    println!(
        "{} runs, {close} of them above {near} of the limit",
        tried.len()
    );
    assert!(
        beaten.is_empty(),
        "{} runs beat the limit:\n{}",
        beaten.len(),
        beaten.join("\n")
    );
    assert!(
        tried.len() >= least_tried && close >= 10,
        "{} runs, {close} close",
        tried.len()
    );
}

/// The shipped scenarios, except the ones for speed.
fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let folders = [root.clone(), root.join("papers"), root.join("fidelity")];
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the folder is there"));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    files
}

fn open(file: &Path) -> Scenario {
    let text = std::fs::read_to_string(file).expect("the scenario is there");
    let folder = file.parent().expect("a file is in a folder");
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())?;
        trace::parse(text, name).map_err(|error| error.to_string())
    };
    load(&text, &read).unwrap_or_else(|errors| panic!("{}: {errors}", file.display()))
}

/// Shortened, so that a run takes milliseconds: 2 s, or files of 500 kB within 20 s; and without a
/// warm-up, during which data may arrive.
fn cut_short(mut scenario: Scenario) -> Scenario {
    scenario.warm_up = Nanos::ZERO;
    let mut most = Nanos::from_secs(2);
    for group in &mut scenario.connections {
        group.count = group.count.min(4);
        if let Workload::File { size } = &mut group.workload {
            *size = Bytes(size.0.min(500_000));
            most = Nanos::from_secs(20);
        }
    }
    scenario.duration = scenario.duration.min(most);
    scenario
}

fn policies(scenario: &Scenario) -> Vec<String> {
    let single = scenario
        .paths
        .iter()
        .take(2)
        .map(|path| format!("single:{}", path.name));
    let named = POLICIES
        .iter()
        .filter(|info| info.name != "single")
        .map(|info| info.name.to_owned());
    single.chain(named).collect()
}

#[test]
fn no_policy_beats_the_limit_of_a_shipped_scenario() {
    let mut cases = vec![];
    for file in shipped() {
        let name = file
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let scenario = cut_short(open(&file));
        // A data centre has no limit: its hosts share links that no path names.
        if scenario.topology.is_some() {
            continue;
        }
        cases.extend([1, 2].map(|seed| (name.clone(), scenario.clone(), seed)));
    }
    assert_unbeaten(&try_all(&cases), 500, 0.96);
}

/// Two paths with any energy, any rate changes, any workload; no loss, so that luck plays no role.
fn random(index: u64) -> Scenario {
    let mut draws = Stream::new(7, Domain::Workload, index);
    let mut between = |least: f64, most: f64| least + (most - least) * draws.uniform();
    let mut text = format!("title = \"random {index}\"\nduration = \"6 s\"\nwarm_up = \"0 s\"\n");
    for name in ["a", "b"] {
        let mbps = between(2.0, 15.0);
        let (at, later) = (between(0.5, 5.0), between(0.2, 2.0) * mbps);
        let rate = match between(0.0, 4.0) as u32 {
            0 => format!("\"{mbps:.3} Mbit/s\""),
            1 => format!(
                "{{ mean = \"{mbps:.3} Mbit/s\", deviation = \"40 %\", correlation = \"1 s\" }}"
            ),
            _ => format!(
                "{{ steps = [[\"0 s\", \"{mbps:.3} Mbit/s\"], [\"{at:.3} s\", \"{later:.3} Mbit/s\"]] }}"
            ),
        };
        let outages = match between(0.0, 3.0) as u32 {
            0 => format!(
                "outages = [[\"{at:.3} s\", \"{:.3} s\"]]\n",
                at + between(0.1, 2.0)
            ),
            _ => String::new(),
        };
        let energy = match between(0.0, 4.0) as u32 {
            0 => "\"wifi-huang2012\"".to_owned(),
            1 => "\"lte-huang2012\"".to_owned(),
            kind => format!(
                "{{ per_mbps = \"{:.1} mW\", active = \"{:.1} mW\", sunk_while = \"{}\" }}",
                between(5.0, 200.0),
                between(10.0, 1500.0),
                if kind == 2 { "open" } else { "always" }
            ),
        };
        let delay = between(2.0, 40.0);
        text += &format!(
            "[[path]]\nname = \"{name}\"\nrate = {rate}\ndelay = \"{delay:.3} ms\"\nqueue = \"100 packets\"\n\
             {outages}energy = {energy}\n"
        );
    }
    text += &workload(between(0.0, 6.0) as u32, "1500 kB");
    if between(0.0, 2.0) < 1.0 {
        text += "[device]\nshared_base = \"400 mW\"\n";
    }
    loaded(&text)
}

/// One of four kinds of workload; half of the draws below 6 are bulk data.
fn workload(draw: u32, file: &str) -> String {
    let keys = match draw {
        0 => format!("kind = \"file\"\nsize = \"{file}\""),
        1 => "kind = \"stream\"\nrate = \"2 Mbit/s\"\ninterval = \"20 ms\"".to_owned(),
        2 => "kind = \"requests\"\nsize = \"100 kB\"\nthink = \"300 ms\"".to_owned(),
        _ => "kind = \"bulk\"".to_owned(),
    };
    format!("[workload]\n{keys}\n")
}

fn loaded(text: &str) -> Scenario {
    load(text, &|name| Err(format!("no trace {name}")))
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

#[test]
fn no_policy_beats_the_limit_of_a_random_scenario() {
    let cases = (0..40).map(random).zip(1..);
    let cases: Vec<_> = cases
        .map(|(scenario, seed)| (scenario.title.clone(), scenario, seed))
        .collect();
    assert_unbeaten(&try_all(&cases), 700, 0.96);
}

/// One or two radios whose power follows a signal with steps, or a walk with shadowing, or stays;
/// rates that stay, have steps or follow the signal; any workload, in both directions.
fn random_signal(index: u64) -> Scenario {
    let mut draws = Stream::new(27, Domain::Workload, index);
    let mut between = |least: f64, most: f64| least + (most - least) * draws.uniform();
    let mut text = format!("title = \"signal {index}\"\nduration = \"12 s\"\nwarm_up = \"0 s\"\n");
    let second = between(0.0, 3.0) as u32;
    for (path, name) in ["a", "b"].into_iter().enumerate() {
        let mbps = between(2.0, 25.0);
        let (at, later) = (between(1.0, 8.0), between(0.2, 2.0) * mbps);
        let by_signal = path == 0 || second == 0;
        let steps = format!(
            "{{ steps = [[\"0 s\", \"{mbps:.3} Mbit/s\"], [\"{at:.3} s\", \"{later:.3} Mbit/s\"]] }}"
        );
        let rate = match between(0.0, 4.0) as u32 {
            0 => steps,
            1 if by_signal => format!(
                "{{ by_signal = [[\"-110 dBm\", \"{:.3} Mbit/s\"], [\"-70 dBm\", \"{mbps:.3} Mbit/s\"]] }}",
                mbps / between(1.0, 20.0)
            ),
            _ => format!("\"{mbps:.3} Mbit/s\""),
        };
        let kind = between(0.0, 3.0) as usize;
        let energy = match by_signal {
            true => ["5g-sa-2021", "5g-nsa-2021", "5g-mmwave-2021"][kind],
            false => ["wifi-huang2012", "wifi-huang2012", "lte-huang2012"][kind],
        };
        let signal = match between(0.0, 5.0) as u32 {
            _ if !by_signal => String::new(),
            0 => format!("signal = \"{:.1} dBm\"\n", between(-120.0, -50.0)),
            1 | 2 => format!(
                "signal = {{ steps = [[\"0 s\", \"{:.1} dBm\"], [\"{:.2} s\", \"{:.1} dBm\"], [\"9.1 s\", \
                 \"{:.1} dBm\"]] }}\n",
                between(-120.0, -50.0),
                between(0.5, 9.0),
                between(-120.0, -50.0),
                between(-120.0, -50.0)
            ),
            _ => format!(
                "signal = {{ distance_m = {:.1}, speed_mps = {:.1}, at_1m = \"-35 dBm\", sigma_db = {:.1}, \
                 correlation_m = {:.1} }}\n",
                between(5.0, 200.0),
                between(-30.0, 30.0),
                between(0.0, 8.0),
                between(2.0, 50.0)
            ),
        };
        text += &format!(
            "[[path]]\nname = \"{name}\"\nrate = {rate}\ndelay = \"{:.2} ms\"\nqueue = \"100 packets\"\n\
             energy = \"{energy}\"\n{signal}",
            between(2.0, 30.0)
        );
    }
    text += &workload(between(0.0, 6.0) as u32, "3 MB");
    if between(0.0, 4.0) < 1.0 {
        text += "direction = \"upload\"\n";
    }
    if between(0.0, 3.0) < 1.0 {
        text += "[device]\nshared_base = \"400 mW\"\nsharing_factor = 0.8\n";
    }
    loaded(&text)
}

#[test]
fn no_policy_beats_the_limit_of_a_random_scenario_with_signals() {
    let cases = (0..40).map(random_signal).zip(1..);
    let cases: Vec<_> = cases
        .map(|(scenario, seed)| (scenario.title.clone(), scenario, seed))
        .collect();
    assert_unbeaten(&try_all(&cases), 700, 0.8);
}

/// Runs of random searches that came above earlier bounds: what they show, path, workload, seed.
const CLOSE: [(&str, &str, &str, u64); 7] = [
    (
        "a slow link of the ACKs, whose queue drops most of them",
        "rate = \"500 kbit/s\"\nup = { rate = \"50 Mbit/s\" }\ndelay = \"20 ms\"\nenergy = \"wlan-seed001\"",
        "kind = \"bulk\"\ndirection = \"upload\"\n",
        1,
    ),
    (
        "a busy link of the ACKs",
        "rate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nenergy = \"wlan-seed001\"",
        "kind = \"bulk\"\ndirection = \"upload\"\n[[cross]]\npath = \"a\"\nkind = \"constant\"\nrate = \
         \"19.9 Mbit/s\"",
        1,
    ),
    (
        "ACKs under way at the end of the messages",
        "rate = \"78962662 bit/s\"\ndelay = \"3.6 ms\"\nqueue = \"200 packets\"\nenergy = \
         \"wlan-seed001\"\nvia = [\"line\"]\n[[link]]\nname = \"line\"\nrate = \"13375121 bit/s\"\ndelay = \
         \"5 ms\"",
        "kind = \"messages\"\nsize = \"3348601 B\"\nmean_gap = \"481 ms\"\ndirection = \
         \"upload\"\n[receiver]\nbuffer = \"43661 B\"",
        55_914,
    ),
    (
        "ACKs under way at the end of a file",
        "rate = \"6319442 bit/s\"\ndelay = \"271.7 ms\"\nqueue = \"200 packets\"\nenergy = \"lte-seed003\"",
        "kind = \"file\"\nsize = \"1241157 B\"\ndirection = \"upload\"\n[receiver]\nbuffer = \"2038224 B\"",
        93_214,
    ),
    (
        "ACKs under way at the end of endless data",
        "rate = \"20456246 bit/s\"\ndelay = \"338.6 ms\"\nqueue = \"200 packets\"\nenergy = \"lte-seed003\"",
        "kind = \"bulk\"\ndirection = \"upload\"\n[receiver]\nbuffer = \"3201442 B\"",
        391_107,
    ),
    (
        "packets of a slow link at uneven times: the radio is in its tail between some of them",
        "rate = \"3942962 bit/s\"\ndelay = \"2.1 ms\"\nqueue = \"50 packets\"\nenergy = \
         \"wifi-huang2012\"\nvia = [\"line\"]\n[[link]]\nname = \"line\"\nrate = \"147329 bit/s\"\n\
         delay = \"5 ms\"",
        "kind = \"requests\"\nsize = \"791342 B\"\nthink = \"1669 ms\"\n[receiver]\nbuffer = \"79940 B\"",
        113_021,
    ),
    (
        "DATA_ACKs that come back over the faster path",
        "rate = \"17097651 bit/s\"\ndelay = \"102.8 ms\"\nqueue = \"200 packets\"\nenergy = \
         \"3g-huang2012-linear\"\n[[path]]\nname = \"b\"\nrate = \"1209619 bit/s\"\ndelay = \"1.8 \
         ms\"\nqueue = \"200 packets\"\nenergy = \"wlan-seed001\"",
        "kind = \"bulk\"\n[receiver]\nbuffer = \"220814 B\"",
        214_507,
    ),
];

#[test]
fn no_policy_beats_the_limit_of_a_close_scenario() {
    let cases = CLOSE.map(|(what, path, workload, seed)| {
        let text = format!(
            "title = \"close\"\nduration = \"10 s\"\nwarm_up = \"0 s\"\n[[path]]\nname = \
             \"a\"\n{path}\n[workload]\n{workload}\n"
        );
        (what.to_owned(), loaded(&text), seed)
    });
    assert_unbeaten(&try_all(&cases), 100, 0.9);
}
