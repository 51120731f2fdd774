//! Named numbers from arithmetic, without a run: theorems, closed forms, and the genetic algorithm
//! compared with the exact solver.
//!
//! A name can have arguments: `genetic share(B, 0)`.

use std::sync::LazyLock;

use joulepath_control::allocate::{
    CapacityModel, CostedPath, Genetic, Problem, Reading, Solution, costed_path,
};
use joulepath_controllers::formula::{Law, Path, Shape, total_rate};
use joulepath_model::names::suggest;
use joulepath_model::random::{Domain, Stream};
use joulepath_model::result::Estimate;
use joulepath_report::{estimate, interval};
use serde::Deserialize;

use crate::source::Source;

/// Runs of the genetic algorithm on 000's problem.
const GENETIC_RUNS: u64 = 20;
/// Random instances for testing a theorem.
const INSTANCES: usize = 2000;
/// Random problems for the genetic algorithm, which takes milliseconds for each.
const PROBLEMS: usize = 100;

/// An estimate and the number of values behind it.
type Sample = (Option<Estimate>, usize);

/// Arguments that a name expects in parentheses.
#[derive(Clone, Copy)]
enum Of {
    Nothing(fn() -> Sample),
    Number(fn(f64) -> Sample),
    Reading(fn(Reading) -> Sample),
    ReadingAndPath(fn(Reading, usize) -> Sample),
}

const NUMBERS: &[(&str, Of)] = &[
    (
        "genetic efficiency ÷ exact",
        Of::Reading(genetic_efficiency),
    ),
    (
        "exact share",
        Of::ReadingAndPath(|reading, path| exactly(splits(reading).0.shares()[path])),
    ),
    ("genetic share", Of::ReadingAndPath(genetic_share)),
    (
        "packets within a block",
        Of::Number(|delay_difference| exactly(packets_within(delay_difference))),
    ),
    (
        "block rate",
        Of::Number(|delay_difference| exactly(block_rate(delay_difference))),
    ),
    (
        "long-run rate",
        Of::Number(|delay_difference| exactly(long_run_rate(delay_difference))),
    ),
    (
        "equation (2)",
        Of::Number(|delay_difference| exactly(equation_2(delay_difference))),
    ),
    (
        "both links",
        Of::Nothing(|| exactly(1.0 + 1.0 / RATIO as f64)),
    ),
    (
        "equation (5), ms",
        Of::Number(|theta| exactly(blocking_ms(100.0, theta, 5.0))),
    ),
    ("ψ_h of DTS", Of::Number(|u| exactly(dts_psi(1.0, u)))),
    (
        "ψ_h of DTS with c = 1/2",
        Of::Number(|u| exactly(dts_psi(0.5, u))),
    ),
    (
        "asymmetry of DTS' utility",
        Of::Number(|rtts| exactly(dts_asymmetry(rtts, false))),
    ),
    (
        "asymmetry of DTS' utility, steps by RTT",
        Of::Number(|rtts| exactly(dts_asymmetry(rtts, true))),
    ),
    (
        "mixed derivative of ee",
        Of::Nothing(|| exactly(mixed_derivative())),
    ),
    ("equation (12)", Of::Nothing(|| exactly(equation_12(1.0)))),
    (
        "equation (12) with a minus",
        Of::Nothing(|| exactly(equation_12(-1.0))),
    ),
    (
        "pairs that beat both members",
        Of::Number(pairs_that_beat_both),
    ),
    (
        "genetic better than exact",
        Of::Nothing(|| genetic_on_random_problems().0),
    ),
    (
        "genetic efficiency ÷ exact, random problems",
        Of::Nothing(|| genetic_on_random_problems().1),
    ),
];

/// A named number with its arguments.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Computed {
    of: Of,
    number: f64,
    reading: Reading,
    path: usize,
}

impl TryFrom<String> for Computed {
    type Error = String;

    fn try_from(written: String) -> Result<Self, String> {
        let known: Vec<&str> = NUMBERS.iter().map(|(name, _)| *name).collect();
        let matching = NUMBERS
            .iter()
            .filter_map(|(name, of)| Some((of, written.strip_prefix(name)?)));
        // The longest match, because one name may be a prefix of another.
        let found = matching.min_by_key(|(_, rest)| rest.len());
        let Some((&of, rest)) = found.filter(|(_, rest)| rest.is_empty() || rest.starts_with('('))
        else {
            return Err(format!(
                "there is no computed number `{written}`; {}",
                suggest(&written, &known)
            ));
        };
        let arguments = rest.trim_start_matches('(').trim_end_matches(')');
        let mut found = Computed {
            of,
            number: 0.0,
            reading: Reading::B,
            path: 0,
        };
        found.set(arguments).ok_or_else(|| {
            let wanted = match of {
                Of::Nothing(_) => "nothing",
                Of::Number(_) => "a number, as in (3)",
                Of::Reading(_) => "a reading that has a solution: (B), (C) or (D)",
                Of::ReadingAndPath(_) => "a reading and a path, as in (B, 0)",
            };
            format!("`{written}` has the wrong arguments; write {wanted}")
        })?;
        Ok(found)
    }
}

impl Computed {
    fn set(&mut self, arguments: &str) -> Option<()> {
        let reading = |word: &str| match word {
            "B" => Some(Reading::B),
            "C" => Some(Reading::C),
            "D" => Some(Reading::D),
            _ => None,
        };
        match self.of {
            Of::Nothing(_) => return arguments.is_empty().then_some(()),
            // A line over numbers supplies the argument later.
            Of::Number(_) if arguments.is_empty() => {}
            Of::Number(_) => self.number = arguments.parse().ok()?,
            Of::Reading(_) => self.reading = reading(arguments)?,
            Of::ReadingAndPath(_) => {
                let (word, path) = arguments.split_once(", ")?;
                (self.reading, self.path) = (reading(word)?, path.parse().ok()?);
                return (self.path < costed_paths().len()).then_some(());
            }
        }
        Some(())
    }

    /// The same number with another argument.
    pub(super) fn at(self, number: f64) -> Self {
        Computed { number, ..self }
    }

    pub(super) fn sample(self) -> Sample {
        match self.of {
            Of::Nothing(sample) => sample(),
            Of::Number(sample) => sample(self.number),
            Of::Reading(sample) => sample(self.reading),
            Of::ReadingAndPath(sample) => sample(self.reading, self.path),
        }
    }

    pub(super) fn value(self) -> f64 {
        self.sample().0.map_or(f64::NAN, |ours| ours.mean)
    }

    /// The quotient of two deterministic numbers.
    pub(super) fn over(self, other: Computed) -> Sample {
        exactly(self.value() / other.value())
    }
}

/// A deterministic number, whose interval has no width.
fn exactly(value: f64) -> Sample {
    (
        Some(Estimate {
            mean: value,
            lo: value,
            hi: value,
        }),
        1,
    )
}

/// The radios of 000's table 1 in its problem (4)-(7).
fn costed_paths() -> &'static [CostedPath] {
    static PATHS: LazyLock<Vec<CostedPath>> = LazyLock::new(|| {
        let scenario = Source::named("papers/000-table1").and_then(|source| source.load(&[]));
        let scenario = scenario.expect("a shipped scenario loads");
        let direction = scenario.connections[0].direction;
        let costed = |path| costed_path(&scenario, direction, path, CapacityModel::Mathis);
        (0..scenario.paths.len()).map(costed).collect()
    });
    &PATHS
}

/// The exact split, and the splits of the genetic algorithm.
fn splits(reading: Reading) -> (Solution, Vec<Solution>) {
    let problem = Problem::of_paper(costed_paths(), reading);
    let exact = problem
        .solve()
        .expect("these readings have a solution (algorithms sheet, 6.1)");
    let genetic = |seed| {
        let mut random = Stream::new(seed, Domain::Allocator, 0);
        Genetic::default().solve(&problem, &mut random).ok()
    };
    (exact, (0..GENETIC_RUNS).filter_map(genetic).collect())
}

fn genetic_efficiency(reading: Reading) -> Sample {
    let (exact, genetic) = splits(reading);
    let gaps: Vec<f64> = genetic
        .iter()
        .map(|found| found.bits_per_joule() / exact.bits_per_joule())
        .collect();
    (interval(&gaps), gaps.len())
}

fn genetic_share(reading: Reading, path: usize) -> Sample {
    let shares: Vec<f64> = splits(reading)
        .1
        .iter()
        .map(|found| found.shares()[path])
        .collect();
    (interval(&shares), shares.len())
}

/// τ2/τ1 in 004's figure 3.
const RATIO: usize = 3;

/// Arrival times at the sink, in units of τ1 after the first packet. Every block has τ2/τ1 packets
/// on path 1 and one on path 2; the second DSN of each block uses path 2 and takes
/// `delay_difference` longer.
fn arrivals(blocks: usize, per_block: usize, delay_difference: f64) -> Vec<f64> {
    let mut times = vec![];
    for block in 0..blocks {
        let start = (block * per_block) as f64;
        times.push(start);
        times.push(start + delay_difference);
        times.extend((1..per_block).map(|packet| start + packet as f64));
    }
    times
}

/// Number of packets of path 1 that arrive between packets 1 and 2 of a block.
fn packets_within(delay_difference: f64) -> f64 {
    let between = |at: &&f64| 0.0 < **at && **at < delay_difference;
    arrivals(1, RATIO + 1, delay_difference)
        .iter()
        .filter(between)
        .count() as f64
}

/// 004, equation (2), packets per τ1.
fn equation_2(delay_difference: f64) -> f64 {
    (RATIO as f64 + 1.0) / delay_difference
}

/// Packets of a block per τ1. The block lasts until its last arrival, and at least for the packet
/// of path 2.
fn block_rate(delay_difference: f64) -> f64 {
    let last = arrivals(1, RATIO, delay_difference)
        .into_iter()
        .fold(RATIO as f64, f64::max);
    (RATIO as f64 + 1.0) / last
}

/// In-order packets per τ1 over many blocks.
fn long_run_rate(delay_difference: f64) -> f64 {
    let all = arrivals(100_000, RATIO, delay_difference);
    all.len() as f64 / all.iter().copied().fold(0.0, f64::max)
}

/// ΔT = (w − w/θ) τ, 004, eq. (5).
fn blocking_ms(window: f64, theta: f64, interval_ms: f64) -> f64 {
    (window - window / theta) * interval_ms
}

/// DTS with `c` on two paths of `rates` (packets/s) and `rtts` (s), base RTT ÷ RTT = `u` on both: ψ
/// of each path in 002's equation (3).
fn dts_psis(c: f64, u: f64, rates: [f64; 2], rtts: [f64; 2]) -> [f64; 2] {
    let path = |r: usize| Path {
        w: rates[r] * rtts[r],
        tau: rtts[r],
        tau_last: rtts[r],
        tau_base: u * rtts[r],
        l: 1.0,
        p: 1e-3,
        e: 1.0,
        alpha: 0.5,
        u: 0.0,
        group: 0,
    };
    let paths = [path(0), path(1)];
    let law = Law::Dts {
        c,
        shape: Shape::Sigmoid,
        latest: true,
        kappa: 0.0,
    };
    // (3) per ACK: δ = ψ w/(τ X)².
    let psi = |r: usize| {
        let full = total_rate(&paths) * paths[r].tau;
        law.increase(&paths, r) * full * full / paths[r].w
    };
    [psi(0), psi(1)]
}

/// ψ on DTS' best path; the same on both, as RTT and queueing are.
fn dts_psi(c: f64, u: f64) -> f64 {
    dts_psis(c, u, [200.0, 100.0], [0.05, 0.05])[0]
}

/// ∂²U/∂x_1∂x_2 ÷ ∂²U/∂x_2∂x_1 by differences, where 002's condition 2 gives the gradient of U:
/// ψ_r/(τ_r X)² for steps θ_r = x_r², τ_r² times that for steps that also follow 1/τ_r². A utility
/// exists only if it is 1.
fn dts_asymmetry(rtt_ratio: f64, steps_by_rtt: bool) -> f64 {
    let rtts = [0.05, 0.05 * rtt_ratio];
    let slope = |r: usize, rates: [f64; 2]| {
        let steps = if steps_by_rtt { rtts[r] * rtts[r] } else { 1.0 };
        let full = (rates[0] + rates[1]) * rtts[r];
        steps * dts_psis(1.0, 1.0, rates, rtts)[r] / (full * full)
    };
    let mixed = |r: usize, by: usize| {
        let moved = |distance: f64| {
            let mut rates = [200.0, 100.0];
            rates[by] += distance;
            slope(r, rates)
        };
        moved(0.1) - moved(-0.1)
    };
    mixed(0, 1) / mixed(1, 0)
}

/// Rates for 000's equations (10) to (12): a tenth of a Mbit/s on each of its radios.
const RATES_MBPS: [f64; 3] = [0.1; 3];

/// ∂²ee/∂x_1∂x_2 by differences, ee = Σx/Σ(θ + b x), on 000's radios; Mbit/s and W.
fn mixed_derivative() -> f64 {
    const WIDTH: f64 = 1e-3;
    let efficiency = |by: [f64; 2]| {
        let rates = [
            RATES_MBPS[0] + by[0] * WIDTH,
            RATES_MBPS[1] + by[1] * WIDTH,
            RATES_MBPS[2],
        ];
        rates.iter().sum::<f64>() / power_w(rates)
    };
    let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    corners
        .map(|by| by[0] * by[1] * efficiency(by))
        .iter()
        .sum::<f64>()
        / (4.0 * WIDTH * WIDTH)
}

/// Slopes of 000's radios, W per Mbit/s.
fn slopes() -> [f64; 3] {
    std::array::from_fn(|r| costed_paths()[r].slope_j_per_bit * 1e6)
}

fn power_w(rates: [f64; 3]) -> f64 {
    slopes()
        .iter()
        .zip(rates)
        .zip(costed_paths())
        .map(|((slope, rate), of)| of.sunk_w + slope * rate)
        .sum()
}

/// 000, equation (12), with `sign` 1 before its second term as printed.
fn equation_12(sign: f64) -> f64 {
    let ([r, s, _], power) = (slopes(), power_w(RATES_MBPS));
    let both = 2.0 * r * s * RATES_MBPS.iter().sum::<f64>();
    -((r + s) * power + sign * both) / (power * power * power)
}

/// A log-uniform number between the bounds.
fn log_uniform(random: &mut Stream, low: f64, high: f64) -> f64 {
    low * libm::pow(high / low, random.uniform())
}

/// Interfaces with the range of real ones: slopes of 1 to 500 mW per Mbit/s, θ of 0.05 to 5 W,
/// capacities of 0.1 to 100 Mbit/s.
fn interfaces(random: &mut Stream, n: usize) -> Vec<CostedPath> {
    (0..n)
        .map(|_| CostedPath {
            slope_j_per_bit: log_uniform(random, 1e-9, 5e-7),
            sunk_w: log_uniform(random, 0.05, 5.0),
            capacity_bps: log_uniform(random, 1e5, 1e8),
        })
        .collect()
}

/// Energy per bit of both interfaces at capacity with a shared base power, minus that of the
/// cheaper one alone, J/bit.
fn surplus(paths: &[CostedPath], base_w: f64) -> f64 {
    let alone = |path: &CostedPath| {
        (base_w + path.sunk_w + path.slope_j_per_bit * path.capacity_bps) / path.capacity_bps
    };
    let power: f64 = paths
        .iter()
        .map(|path| path.sunk_w + path.slope_j_per_bit * path.capacity_bps)
        .sum();
    let rate: f64 = paths.iter().map(|path| path.capacity_bps).sum();
    (base_w + power) / rate - paths.iter().map(alone).fold(f64::INFINITY, f64::min)
}

/// Number of random pairs that use less energy per bit together than the cheaper one alone, with a
/// shared base power.
fn pairs_that_beat_both(base_w: f64) -> Sample {
    let mut random = Stream::new(7, Domain::Allocator, 0);
    let wins = (0..INSTANCES).filter(|_| {
        let paths = interfaces(&mut random, 2);
        // Rounding errors are far below a millionth of any energy per bit here.
        surplus(&paths, base_w) < -1e-15
    });
    (exactly(wins.count() as f64).0, INSTANCES)
}

/// Number of random problems where the genetic algorithm beats the exact solution, and its
/// efficiency relative to the exact one.
fn genetic_on_random_problems() -> (Sample, Sample) {
    static BOTH: LazyLock<(Sample, Sample)> = LazyLock::new(|| {
        let mut random = Stream::new(8, Domain::Allocator, 0);
        let (mut solved, mut better, mut gaps) = (0, 0.0, vec![]);
        for _ in 0..PROBLEMS {
            let paths = interfaces(&mut random, 3);
            let problem = Problem::of_paper(&paths, Reading::C);
            let Ok(exact) = problem.solve() else { continue };
            solved += 1;
            let Ok(genetic) = Genetic::default().solve(&problem, &mut random) else {
                continue;
            };
            let ratio = genetic.bits_per_joule() / exact.bits_per_joule();
            better += f64::from(ratio > 1.0 + 1e-9);
            gaps.push(ratio);
        }
        ((exactly(better).0, solved), (estimate(&gaps), gaps.len()))
    });
    *BOTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psi_of_dts_is_its_sigmoid() {
        // ε(u) = 2/(1 + e^(5 − 10 u)): 2/(1 + e^−5) and 1.
        assert!(
            (dts_psi(1.0, 1.0) - 1.986_614).abs() < 1e-6,
            "{}",
            dts_psi(1.0, 1.0)
        );
        assert!((dts_psi(1.0, 0.5) - 1.0).abs() < 1e-9);
        assert!((dts_psi(0.5, 1.0) - 0.993_307).abs() < 1e-6);
    }

    #[test]
    fn dts_has_a_utility_only_if_its_steps_follow_the_rtts() {
        // ψ_r/(τ_r X)² with equal ψ: the mixed derivatives differ by (τ_2/τ_1)².
        assert!((dts_asymmetry(1.0, false) - 1.0).abs() < 1e-6);
        assert!((dts_asymmetry(3.0, false) - 9.0).abs() < 1e-4);
        assert!((dts_asymmetry(3.0, true) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn equation_12_has_the_mixed_derivative_only_with_a_minus() {
        assert!((equation_12(-1.0) / mixed_derivative() - 1.0).abs() < 1e-5);
        assert!((equation_12(1.0) / mixed_derivative() - 1.0).abs() > 1e-3);
    }
}
