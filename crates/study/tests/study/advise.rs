//! The sets of paths that `advise` chooses, against the packet engine on every set.
//!
//! `JOULEPATH_ADVISE=1000..1300 cargo test -p joulepath-study --test study advise -- --nocapture`
//! asks these questions and prints each.

use std::ops::Range;

use joulepath_control::Setup;
use joulepath_control::advise::{Coupling, Question};
use joulepath_model::energy::profiles;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::scenario::{Scenario, load};
use joulepath_model::units::Nanos;
use joulepath_packet::{RunOptions, run};
use joulepath_study::advise::{Words, answer, question, scenario};

/// The questions of a plain test run.
const QUESTIONS: Range<u64> = 0..60;
/// Runs of each set, and of the choice and the best set if they differ: time-outs that double are
/// rare and long.
const SEEDS: u64 = 4;
const MORE_SEEDS: u64 = 64;
/// A choice is right if it costs as much as the best set, up to this many standard errors and this
/// part.
const ERRORS: f64 = 2.0;
const SAME: f64 = 0.01;
/// Bound on the time of a run; runs end with the file.
const LONGEST: Nanos = Nanos::from_secs(7200);

struct Dice(Stream);

impl Dice {
    /// Between two values; equal ratios are equally probable.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.uniform())
    }

    fn chance(&mut self, p: f64) -> bool {
        self.0.uniform() < p
    }

    fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[((self.0.uniform() * values.len() as f64) as usize).min(values.len() - 1)]
    }
}

/// 20 kB to 50 MB over two or three paths of 0.5 to 100 Mbit/s, 5 to 300 ms and up to 2 % loss,
/// half of it independent, with any shipped radio.
fn drawn(number: u64) -> Words {
    let mut dice = Dice(Stream::new(number, Domain::Study, 9));
    let radios: Vec<&str> = profiles().map(|profile| profile.name).collect();
    let path = |dice: &mut Dice, name: &str| {
        let (rate, rtt) = (dice.scale(0.5, 100.0), dice.scale(5.0, 300.0));
        let loss = match dice.one(&[0, 1, 2, 2]) {
            0 => String::new(),
            kind => {
                let burst = if kind == 1 {
                    format!(",burst={:.1}", dice.scale(1.5, 10.0))
                } else {
                    String::new()
                };
                format!(",loss={:.3}%{burst}", dice.scale(0.02, 2.0))
            }
        };
        format!(
            "{name}:rate={rate:.3}Mbit/s,rtt={rtt:.1}ms{loss},energy={}",
            dice.one(&radios)
        )
    };
    let names = ["a", "b", "c"];
    let count = dice.one(&[2, 2, 2, 3]);
    Words {
        paths: names[..count]
            .iter()
            .map(|name| path(&mut dice, name))
            .collect(),
        size: format!("{:.0}B", dice.scale(20e3, 50e6)),
        device: dice
            .chance(0.4)
            .then(|| format!("{:.0}mW", dice.scale(100.0, 2000.0))),
        cc: Some(dice.one(&Coupling::ALL).word().to_owned()),
        ..Words::default()
    }
}

/// Mean and variance of the mean of a set's energy, J.
#[derive(Clone, Copy, Debug)]
struct Measured {
    set: u32,
    mean_j: f64,
    variance: f64,
    seconds: f64,
}

fn measured(scenario: &Scenario, question: &Question, set: u32, seeds: u64) -> Option<Measured> {
    let names: Vec<&str> = (0..question.paths.len())
        .filter(|r| set >> r & 1 == 1)
        .map(|r| question.paths[r].name.as_str())
        .collect();
    let policy = match names[..] {
        [name] => format!("single:{name}"),
        _ => {
            let cc = question.coupling.policy();
            let (base, more) = cc
                .split_once('[')
                .map_or((cc, String::new()), |(base, cc)| {
                    (base, format!(",{}", cc.trim_end_matches(']')))
                });
            format!("{base}[selector=only,paths={}{more}]", names.join("+"))
        }
    };
    let policy = policy
        .parse()
        .unwrap_or_else(|error| panic!("{policy}: {error:?}"));
    let setup = Setup::of(&policy, scenario).unwrap_or_else(|error| panic!("{error:?}"));
    let runs: Option<Vec<[f64; 2]>> = (0..seeds)
        .map(|seed| {
            let result =
                run(scenario, &setup, seed, RunOptions::default()).expect("the scenario runs");
            result
                .completion_s
                .map(|seconds| [result.energy_j, seconds])
        })
        .collect();
    let runs = runs?;
    let n = runs.len() as f64;
    let mean = |k: usize| runs.iter().map(|run| run[k]).sum::<f64>() / n;
    let mean_j = mean(0);
    let squares: f64 = runs.iter().map(|run| (run[0] - mean_j).powi(2)).sum();
    Some(Measured {
        set,
        mean_j,
        variance: squares / (n - 1.0) / n,
        seconds: mean(1),
    })
}

/// Whether the runs do not tell the chosen set from a better one.
fn is_right((own, best): (Measured, Measured)) -> bool {
    own.mean_j <= best.mean_j * (1.0 + SAME) + ERRORS * (own.variance + best.variance).sqrt()
}

#[test]
fn advice_names_the_set_of_paths_that_costs_least_in_the_packet_engine() {
    let questions = std::env::var("JOULEPATH_ADVISE")
        .ok()
        .map_or(QUESTIONS, |text| {
            let (from, to) = text.split_once("..").expect("JOULEPATH_ADVISE=FROM..TO");
            from.parse().expect("a number")..to.parse().expect("a number")
        });
    let (mut regrets, mut right, mut beyond) = (vec![], 0, 0);
    for number in questions {
        let words = drawn(number);
        let question = question(&words).unwrap();
        let advice = answer(&question).unwrap();
        let text = scenario(&question, &advice).unwrap();
        let mut scenario = load(&text, &|_| Err(String::new()))
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        scenario.duration = LONGEST;
        // What advice says to be beyond its formula is not compared.
        let stalling: Vec<usize> = question
            .stalling()
            .iter()
            .map(|stalling| stalling.path)
            .collect();
        beyond += u32::from(!stalling.is_empty());
        if stalling.len() == question.paths.len() {
            continue;
        }
        let covered = |set: &u32| stalling.iter().all(|path| set >> path & 1 == 0);
        let chosen = advice
            .best
            .paths
            .iter()
            .fold(0, |set, part| set | 1 << part.path);
        let sets: Vec<Measured> = (1..1 << question.paths.len())
            .filter(covered)
            .filter_map(|set| measured(&scenario, &question, set, SEEDS))
            .collect();
        let least = |sets: &[Measured]| -> Measured {
            *sets
                .iter()
                .min_by(|a, b| a.mean_j.total_cmp(&b.mean_j))
                .expect("a set carries the file")
        };
        // A choice that does not carry the file costs more than any other.
        let never = Measured {
            set: chosen,
            mean_j: f64::INFINITY,
            variance: 0.0,
            seconds: f64::INFINITY,
        };
        let own = sets
            .iter()
            .find(|one| one.set == chosen)
            .copied()
            .unwrap_or(never);
        let mut pair = (own, least(&sets));
        if pair.0.mean_j > pair.1.mean_j * (1.0 + SAME) {
            let again = |set| measured(&scenario, &question, set, MORE_SEEDS);
            if let (Some(own), Some(best)) = (again(pair.0.set), again(pair.1.set)) {
                pair = (own, least(&[own, best]));
            }
        }
        let (own, best) = pair;
        let (regret, is_right) = (own.mean_j / best.mean_j - 1.0, is_right(pair));
        right += u32::from(is_right);
        regrets.push(regret);
        if !is_right {
            println!(
                "{number}: {} regret {regret:.3}\n  {words:?}",
                advice.reason
            );
            for Measured {
                set,
                mean_j,
                variance,
                seconds,
            } in &sets
            {
                println!(
                    "  set {set:b}: {mean_j:.3} ± {:.3} J, {seconds:.2} s",
                    variance.sqrt()
                );
            }
        }
    }
    regrets.sort_by(f64::total_cmp);
    let (median, worst) = (regrets[regrets.len() / 2], regrets[regrets.len() - 1]);
    println!(
        "{right} of {} right, median regret {median:.3}, worst {worst:.3}; {beyond} with a path left out",
        regrets.len()
    );
    assert!(
        6 * beyond as usize <= regrets.len(),
        "{beyond} of {} beyond the formula",
        regrets.len()
    );
    assert!(
        100 * right as usize >= 95 * regrets.len(),
        "{right} of {} right",
        regrets.len()
    );
    assert!(
        median == 0.0 && worst <= 0.15,
        "median regret {median:.3}, worst {worst:.3}"
    );
}
