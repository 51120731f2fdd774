//! Tiers: groups of policies that are not significantly different.
//!
//! Two policies differ if their mean log scores differ by more than `q` standard errors, with one
//! `q` for all pairs: the 95 % quantile, over the resamples, of the largest studentised deviation
//! of any pair (single-step max-T; Westfall and Young, *Resampling-Based Multiple Testing*, 1993,
//! section 2.5). The probability that any two equal policies appear different is 5 % in total,
//! however many there are.

use joulepath_model::quantile::linear;

use crate::bootstrap::CONFIDENCE;

/// Numbers of scenarios behind the scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    /// Size of the smallest family with several scenarios; `None` if every family has one.
    pub(super) least: Option<usize>,
    /// Degrees of freedom of a standard error: scenarios beyond the first of each family.
    pub(super) freedom: usize,
}

impl Sizes {
    /// Corrects for few scenarios. n draws of n vary by √((n − 1)/n) less than the mean of n, and
    /// the quantile of resamples is normal where Student's t, with ν degrees of freedom, has longer
    /// tails: t ≈ z + (z³ + z)/4ν + (5z⁵ + 16z³ + 3z)/96ν² (Abramowitz and Stegun, 26.7.5).
    fn widened(self, z: f64) -> f64 {
        let Some(least) = self.least else { return z };
        let (n, nu) = (least as f64, self.freedom as f64);
        let z2 = z * z;
        let t = z
            + z * (z2 + 1.0) / (4.0 * nu)
            + z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / (96.0 * nu * nu);
        t * libm::sqrt(n / (n - 1.0))
    }
}

/// The tier of each policy, from 1. `scores` must descend; `drawn` has the scores of each resample
/// in the same order of policies.
///
/// From the best on, a policy starts a new tier if it differs from any member of the current tier.
/// So no two members of a tier differ, but neighbours across a border may be equal.
pub(super) fn tiers(scores: &[f64], drawn: &[Vec<f64>], sizes: Sizes) -> Vec<usize> {
    let pairs = Pairs::of(scores, drawn);
    let critical = sizes.widened(pairs.critical());
    let mut tiers: Vec<usize> = vec![];
    let mut first = 0;
    for policy in 0..scores.len() {
        if (first..policy).any(|member| pairs.are_apart(member, policy, critical)) {
            first = policy;
        }
        let tier = match tiers.last() {
            None => 1,
            Some(&last) if first == policy => last + 1,
            Some(&last) => last,
        };
        tiers.push(tier);
    }
    tiers
}

struct Pairs<'a> {
    scores: &'a [f64],
    drawn: &'a [Vec<f64>],
    /// Standard error of the difference by pair; 0 if the resamples do not differ.
    errors: Vec<Vec<f64>>,
}

impl<'a> Pairs<'a> {
    fn of(scores: &'a [f64], drawn: &'a [Vec<f64>]) -> Self {
        let mut pairs = Pairs {
            scores,
            drawn,
            errors: vec![],
        };
        let error = |a: usize, b: usize| {
            let square = |deviation: f64| deviation * deviation;
            let squares: f64 = drawn
                .iter()
                .map(|sample| square(pairs.deviation(sample, a, b)))
                .sum();
            libm::sqrt(squares / drawn.len().max(1) as f64)
        };
        let errors = (0..scores.len())
            .map(|b| (0..b).map(|a| error(a, b)).collect())
            .collect();
        pairs.errors = errors;
        pairs
    }

    /// Studentised deviation of a resample's difference.
    fn deviation(&self, sample: &[f64], a: usize, b: usize) -> f64 {
        (sample[a] - sample[b]) - (self.scores[a] - self.scores[b])
    }

    /// Number of standard errors that the largest deviation of all pairs exceeds in 5 % of the
    /// resamples.
    fn critical(&self) -> f64 {
        let largest = |sample: &Vec<f64>| {
            let of_pair = |b: usize, a: usize| match self.errors[b][a] {
                error if is_some_error(error) => self.deviation(sample, a, b).abs() / error,
                _ => 0.0,
            };
            (0..self.scores.len())
                .flat_map(|b| (0..b).map(move |a| (b, a)))
                .map(|(b, a)| of_pair(b, a))
                .fold(0.0, f64::max)
        };
        let mut all: Vec<f64> = self.drawn.iter().map(largest).collect();
        all.sort_by(f64::total_cmp);
        if all.is_empty() {
            f64::INFINITY
        } else {
            linear(&all, CONFIDENCE)
        }
    }

    /// Whether `a`, the better policy, differs from `b`. With one scenario and one seed there is no
    /// variation, and they never differ.
    fn are_apart(&self, a: usize, b: usize, critical: f64) -> bool {
        let error = self.errors[b][a];
        is_some_error(error) && self.scores[a] - self.scores[b] > critical * error
    }
}

/// Whether it exceeds rounding errors.
fn is_some_error(error: f64) -> bool {
    error > 1e-12
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{below, generator};

    const SIZES: Sizes = Sizes {
        least: Some(40),
        freedom: 39,
    };

    /// Mean scores of policies on `n` scenarios, and 500 resamples of the scenarios. A policy's
    /// score on a scenario is its level plus independent noise, uniform within ±1/2 (standard
    /// deviation 0.289).
    fn resampled(levels: &[f64], n: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut random = generator();
        let mut noise = || below(&mut random, 10_001) as f64 / 10_000.0 - 0.5;
        let on: Vec<Vec<f64>> = (0..n)
            .map(|_| levels.iter().map(|level| level + noise()).collect())
            .collect();
        let mean = |chosen: &[usize]| -> Vec<f64> {
            let of = |policy: usize| chosen.iter().map(|&s| on[s][policy]).sum::<f64>() / n as f64;
            (0..levels.len()).map(of).collect()
        };
        let drawn =
            (0..500).map(|_| mean(&(0..n).map(|_| below(&mut random, n)).collect::<Vec<_>>()));
        let drawn: Vec<Vec<f64>> = drawn.collect();
        (mean(&(0..n).collect::<Vec<_>>()), drawn)
    }

    fn sorted(levels: &[f64], n: usize) -> Vec<usize> {
        let (scores, drawn) = resampled(levels, n);
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let pick = |all: &Vec<f64>| order.iter().map(|&i| all[i]).collect::<Vec<f64>>();
        tiers(
            &pick(&scores),
            &drawn.iter().map(pick).collect::<Vec<_>>(),
            SIZES,
        )
    }

    #[test]
    fn without_a_difference_there_is_one_tier() {
        assert_eq!(sorted(&[0.0; 12], 60), [1; 12]);
    }

    /// A difference of 1 has a standard error of 0.289 · √(2/60) = 0.053.
    #[test]
    fn a_clear_difference_makes_two_tiers() {
        assert_eq!(sorted(&[1.0, 0.0, 1.0, 0.0, 1.0], 60), [1, 1, 1, 2, 2]);
    }

    /// A hundred benchmarks of six equal policies each: about 5 % may show a difference (five
    /// expected, standard deviation 2.2).
    #[test]
    fn equal_policies_rarely_differ_however_many_pairs_there_are() {
        let mut random = generator();
        let mut wrong = 0;
        for _ in 0..100 {
            let mut noise = || below(&mut random, 10_001) as f64 / 10_000.0;
            let on: Vec<[f64; 6]> = (0..40).map(|_| [(); 6].map(|()| noise())).collect();
            let mean = |chosen: &[usize]| -> Vec<f64> {
                (0..6)
                    .map(|p| chosen.iter().map(|&s| on[s][p]).sum::<f64>() / 40.0)
                    .collect()
            };
            let scores = mean(&(0..40).collect::<Vec<_>>());
            let mut order: Vec<usize> = (0..6).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            let pick = |all: Vec<f64>| order.iter().map(|&i| all[i]).collect::<Vec<f64>>();
            let drawn: Vec<Vec<f64>> = (0..300)
                .map(|_| {
                    pick(mean(
                        &(0..40).map(|_| below(&mut random, 40)).collect::<Vec<_>>(),
                    ))
                })
                .collect();
            wrong += usize::from(tiers(&pick(scores.clone()), &drawn, SIZES).last() != Some(&1));
        }
        assert!(wrong <= 14, "{wrong} of 100");
    }

    /// Student's t with 15 degrees of freedom has the tail of 3.5 normal standard errors at 4.44
    /// (0.023 %, one side), and 16 draws of 16 vary by √(15/16) less: 4.44 · 1.0328 = 4.59.
    #[test]
    fn few_scenarios_require_a_larger_difference() {
        let widened = Sizes {
            least: Some(16),
            freedom: 15,
        }
        .widened(3.5);
        assert!((widened - 4.59).abs() < 0.03, "{widened}");
        assert_eq!(
            Sizes {
                least: None,
                freedom: 0
            }
            .widened(3.5),
            3.5
        );
    }

    #[test]
    fn without_variation_no_policies_differ() {
        assert_eq!(
            tiers(&[3.0, 2.0, 1.0], &vec![vec![3.0, 2.0, 1.0]; 50], SIZES),
            [1, 1, 1]
        );
        assert_eq!(tiers(&[2.0, 1.0], &[], SIZES), [1, 1]);
    }

    /// The second varies by ±1.5, the first by ±0.1. Standard errors: first and second √(0.1² +
    /// 1.5²) = 1.503, second and third 1.5, first and third 0.1; the largest deviation of a
    /// resample is 1 or 1.6/1.503 = 1.064 errors. So differences of 1 from the second are not
    /// significant, and the difference of 2 between first and third is.
    #[test]
    fn no_two_members_of_a_tier_differ() {
        let sign = |bit: i32| if bit == 0 { 1.0 } else { -1.0 };
        let sample = |i: i32| vec![2.0 + 0.1 * sign(i & 1), 1.0 + 1.5 * sign(i & 2), 0.0];
        assert_eq!(
            tiers(
                &[2.0, 1.0, 0.0],
                &(0..100).map(sample).collect::<Vec<_>>(),
                SIZES
            ),
            [1, 1, 2]
        );
    }
}
