//! The genetic algorithm of 000, section III-C, kept for comparison with the exact solution.
//!
//! ```text
//!   random population ─▶ drop infeasible ─▶ empty? ─▶ roulette ─▶ one-point crossover ─▶ bit mutation ─┐
//!         ▲                                  │ yes: re-seed                                            │
//!         └──────────────────────────────────┘                    ◀── next generation ────────────────┘
//! ```
//! Deviations: a code has ⌈log₂(C_r/unit)⌉ bits, since ⌈log₂ x_r⌉ would need the unknown (000-7);
//! an empty population is drawn again, which 000 does not mention; the best individual of all
//! generations is returned.

use rand_core::Rng;

use super::eemptcp::{Infeasible, Problem, Solution};

/// Parameters. 000 prints only the operators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Genetic {
    /// M: individuals.
    pub population: usize,
    /// gn: generations.
    pub generations: usize,
    /// P_c: probability that a pair is crossed.
    pub crossover: f64,
    /// P_m: probability that a bit flips.
    pub mutation: f64,
    /// Rate of the lowest bit, bit/s.
    pub unit_bps: f64,
}

impl Default for Genetic {
    fn default() -> Self {
        Genetic {
            population: 100,
            generations: 200,
            crossover: 0.8,
            mutation: 0.01,
            unit_bps: 1e3,
        }
    }
}

/// Bits of all paths' codes, concatenated.
type Chromosome = Vec<bool>;

impl Genetic {
    /// The best feasible individual of the run.
    ///
    /// # Errors
    /// If no individual was ever feasible.
    pub fn solve(&self, problem: &Problem, random: &mut impl Rng) -> Result<Solution, Infeasible> {
        let lengths: Vec<usize> = problem
            .paths
            .iter()
            .map(|p| code_bits(p.capacity_bps, self.unit_bps))
            .collect();
        let mut population = self.seed(&lengths, random);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..self.generations {
            let parents: Vec<(f64, &Chromosome)> = population
                .iter()
                .filter_map(|genes| {
                    let rates = self.decode(genes, &lengths);
                    let fitness = problem.evaluate(&rates)?;
                    if best.as_ref().is_none_or(|(most, _)| fitness > *most) {
                        best = Some((fitness, rates));
                    }
                    Some((fitness, genes))
                })
                .collect();
            population = if parents.is_empty() {
                self.seed(&lengths, random)
            } else {
                self.breed(&parents, random)
            };
        }
        let (_, rates_bps) = best.ok_or_else(|| problem.infeasible())?;
        Ok(Solution {
            power_w: problem.power_w(&rates_bps),
            rates_bps,
        })
    }

    fn seed(&self, lengths: &[usize], random: &mut impl Rng) -> Vec<Chromosome> {
        let bits: usize = lengths.iter().sum();
        (0..self.population)
            .map(|_| (0..bits).map(|_| random.next_u32() >> 31 == 1).collect())
            .collect()
    }

    fn decode(&self, genes: &Chromosome, lengths: &[usize]) -> Vec<f64> {
        let mut rest = genes.as_slice();
        lengths
            .iter()
            .map(|&bits| {
                let (code, tail) = rest.split_at(bits);
                rest = tail;
                let value = code
                    .iter()
                    .fold(0u64, |value, &bit| value << 1 | u64::from(bit));
                value as f64 * self.unit_bps
            })
            .collect()
    }

    fn breed(&self, parents: &[(f64, &Chromosome)], random: &mut impl Rng) -> Vec<Chromosome> {
        let total: f64 = parents.iter().map(|(fitness, _)| fitness).sum();
        let mut children = Vec::with_capacity(self.population + 1);
        while children.len() < self.population {
            let mut pair = [
                roulette(parents, total, random),
                roulette(parents, total, random),
            ];
            if uniform(random) < self.crossover {
                cross(&mut pair, random);
            }
            for mut child in pair {
                for bit in &mut child {
                    *bit ^= uniform(random) < self.mutation;
                }
                children.push(child);
            }
        }
        children.truncate(self.population);
        children
    }
}

/// ⌈log₂(C/unit)⌉, at least 1.
fn code_bits(capacity_bps: f64, unit_bps: f64) -> usize {
    let steps = (capacity_bps / unit_bps).ceil().max(2.0) as u64;
    (u64::BITS - (steps - 1).leading_zeros()) as usize
}

/// Uniform on [0, 1), 53 bits.
fn uniform(random: &mut impl Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Draws a parent with probability proportional to its fitness.
fn roulette(parents: &[(f64, &Chromosome)], total: f64, random: &mut impl Rng) -> Chromosome {
    let mut ball = uniform(random) * total;
    let landed = parents.iter().find(|(fitness, _)| {
        ball -= fitness;
        ball < 0.0
    });
    let (_, genes) = landed.unwrap_or(&parents[parents.len() - 1]);
    (*genes).clone()
}

/// Exchanges the tails after a random point.
fn cross([a, b]: &mut [Chromosome; 2], random: &mut impl Rng) {
    let point = (uniform(random) * a.len() as f64) as usize;
    a[point..].swap_with_slice(&mut b[point..]);
}
