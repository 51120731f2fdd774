//! Advice for a transfer before it starts: which interfaces, what split, how many joules and
//! seconds.
//!
//! It is the optimum of the energy model, including sunk power, promotion, tail and shared base: a
//! linear programme for each set of interfaces. Handshakes, slow start and losses give each path
//! its mean rate in the transfer. Downloads only. Model, scope and deviations: docs/advise.md.

mod answer;
mod chain;
mod coupling;
mod course;
mod device;
mod programme;
mod question;
mod radio;
mod reason;
mod stalling;
mod waiting;

use joulepath_model::preset::Preset;
use joulepath_model::units::{BitRate, Nanos, Watts};

use self::answer::LEAST_SHARE;
use self::chain::{Chain, EQUAL, Envelope, LITTLE, TOLERANCE};
use self::device::{Device, Devices, Load, Point, members};
use self::programme::{Bounds, Weights};
pub use answer::{Advice, BreakEven, Part, Plan};
pub use coupling::Coupling;
pub use course::QUEUE_PACKETS;
pub use question::{Impossible, MOST_PATHS, Path, Question, Within};
pub use reason::significant;
pub use stalling::Stalling;
pub use waiting::{Batches, Waiting, waiting};

/// Sizes considered for break-even, bits: from, to, and the ratio of successive ones.
const SIZES: (f64, f64) = (8e3, 8e11);
const SIZE_STEP: f64 = 1.2;
/// Precision of break-even sizes.
const SIZE_PRECISION: f64 = 1e-6;

/// Answers `question`.
///
/// # Errors
/// If no plan meets it.
pub fn advise(question: &Question) -> Result<Advice, Impossible> {
    let is_sound = |path: &Path| path.rate.bps() > 0 && path.loss.mean() < 1.0;
    let sound = (1..=MOST_PATHS).contains(&question.paths.len())
        && question.paths.iter().all(is_sound)
        && question.size.0 > 0
        && question.within != Within::Rate(BitRate::from_bps(0));
    if !sound {
        return Err(Impossible::Degenerate);
    }
    let bits = question.size.0 as f64 * 8.0;
    Solver {
        question,
        bits,
        devices: Devices::of(question, bits),
    }
    .advice()
}

/// Time in which the fastest path alone carries the data, s; `None` if no path does.
pub fn fastest_alone_s(question: &Question) -> Option<f64> {
    let bits = question.size.0 as f64 * 8.0;
    let whenever = Question {
        within: Within::Whenever,
        ..question.clone()
    };
    let alone_s = members(question.usable()).map(|path| {
        Device::of(&whenever, 1 << path, bits)
            .fastest(1 << path, bits)
            .seconds
    });
    alone_s
        .filter(|seconds| seconds.is_finite())
        .reduce(f64::min)
}

impl Question {
    /// The same question with the balance of a preset. Its longest time is a further deadline.
    #[must_use]
    pub fn with(self, preset: Preset) -> Self {
        let priced = Question {
            delay_price: Watts(preset.delay_price_w()),
            ..self
        };
        match preset.slowest_file() {
            Some(multiple) => priced.at_most(multiple),
            None => priced,
        }
    }

    /// The same question, to be complete within `multiple` times the time of the fastest path
    /// alone. A stream stays as it is.
    #[must_use]
    pub fn at_most(self, multiple: f64) -> Self {
        let Some(alone_s) = fastest_alone_s(&self) else {
            return self;
        };
        // Rounded up, so that a multiple of 1 is possible.
        let limit = Nanos::from_millis((1e3 * multiple * alone_s).ceil() as u64);
        let within = match self.within {
            Within::Deadline(deadline) => Within::Deadline(deadline.min(limit)),
            Within::Whenever => Within::Deadline(limit),
            Within::Rate(rate) => Within::Rate(rate),
        };
        Question { within, ..self }
    }
}

struct Solver<'a> {
    question: &'a Question,
    bits: f64,
    /// For these bits.
    devices: Devices,
}

impl Solver<'_> {
    fn advice(&self) -> Result<Advice, Impossible> {
        let (over_time, beaten) = self.all_over_time();
        let envelope = Envelope::of(&over_time);
        let front = envelope.descent(&self.devices);
        let all = self
            .devices
            .sets()
            .last()
            .map(|&all| self.devices.using(all));
        let most_bps = all
            .iter()
            .flat_map(|all| &all.radios)
            .map(|radio| radio.rate_bps)
            .sum();
        let (Some((_, fastest)), Some(cheapest)) = (front.corners.first(), front.corners.last())
        else {
            return Err(Impossible::Rate { most_bps });
        };
        let best = match self.question.within {
            Within::Deadline(deadline) if cheapest.1.seconds > deadline.as_secs_f64() => {
                let x = deadline.as_secs_f64() * (1.0 + TOLERANCE);
                let late = Impossible::Deadline {
                    fastest_s: fastest.seconds,
                };
                let chain = envelope.lowest(x).ok_or(late)?;
                (
                    chain.set,
                    chain.point(x, self.devices.using(chain.set)).ok_or(late)?,
                )
            }
            _ => cheapest.clone(),
        };
        // A front falls in steps, so each corner in time may have the least sum of energy and
        // price.
        let in_time = front
            .corners
            .iter()
            .filter(|(_, point)| point.seconds <= self.most_s());
        let best = in_time.fold(best, |best, corner| {
            let is_better = self.cost_j(&corner.1) < self.cost_j(&best.1) * (1.0 - TOLERANCE);
            if is_better { corner.clone() } else { best }
        });
        let (best, cheapest, fastest) = (
            self.plan(&best.1),
            self.plan(&cheapest.1),
            self.plan(fastest),
        );
        let reason = reason::Reason {
            paths: &self.question.paths,
            best: &best,
            cheapest: &cheapest,
            fastest: &fastest,
            rival: self.rival(&over_time, &beaten, &best),
            within: self.question.within,
            price_w: self.question.price_w(),
        };
        Ok(Advice {
            reason: reason.sentence(),
            next_best: reason.rival.map(|(plan, _)| plan),
            front: front
                .corners
                .iter()
                .map(|(_, point)| self.plan(point))
                .collect(),
            line: front.line,
            break_even: self.break_even(),
            best,
        })
    }

    fn device(&self, set: u32) -> &Device {
        self.devices.using(set)
    }

    /// Energy and the price of the time, J.
    fn cost_j(&self, point: &Point) -> f64 {
        self.question.cost_j(point.joules, point.seconds)
    }

    /// The least energy of every set over its transfer time, and, with a lower bound in J, the sets
    /// that cost more than a smaller set at any time.
    fn all_over_time(&self) -> (Vec<Chain>, Vec<(u32, f64)>) {
        let (mut chains, mut beaten): (Vec<Chain>, _) = (vec![], vec![]);
        for set in self.devices.sets() {
            let fastest_s = self.device(set).fastest(set, self.bits).seconds;
            let beaten_at = |least_j: f64| {
                let beats = |chain: &Chain| {
                    chain
                        .joules(fastest_s)
                        .is_some_and(|joules| joules <= least_j)
                };
                chains.iter().any(beats).then_some((set, least_j))
            };
            let is_free = !matches!(self.question.within, Within::Rate(_));
            // The cheap bound first, then the tight one.
            let bounds = [
                |s: &Self, set| s.device(set).least_joules(set, s.bits),
                Self::cheapest_joules,
            ];
            let found = bounds
                .iter()
                .filter(|_| is_free)
                .find_map(|bound| beaten_at(bound(self, set)));
            match found {
                Some(found) => beaten.push(found),
                None => chains.extend(self.over_time(set)),
            }
        }
        (chains, beaten)
    }

    /// The least energy of `set` at any time, J.
    fn cheapest_joules(&self, set: u32) -> f64 {
        if set.count_ones() == 1 {
            return self.device(set).fastest(set, self.bits).joules;
        }
        let cheapest = self.device(set).solve(
            set,
            Weights {
                energy: 1.0,
                time: 0.0,
            },
            self.all_bits(),
        );
        cheapest.map_or(f64::INFINITY, |point| point.joules)
    }

    /// All of the data, without a time limit.
    fn all_bits(&self) -> Bounds {
        Bounds {
            bits: self.bits,
            most_s: f64::INFINITY,
            most_j: f64::INFINITY,
        }
    }

    /// The least energy of `set` over its transfer time.
    fn over_time(&self, set: u32) -> Option<Chain> {
        if let Within::Rate(rate) = self.question.within {
            let point = self.at_rate(set, rate, self.bits)?;
            return Some(Chain {
                set,
                points: vec![(point.seconds, point)],
            });
        }
        let fastest = self.device(set).fastest(set, self.bits);
        if set.count_ones() == 1 {
            // A single path has no choice.
            return Some(Chain {
                set,
                points: vec![(fastest.seconds, fastest)],
            });
        }
        let free = self.all_bits();
        let solve = |energy, time, bounds| {
            self.device(set)
                .solve(set, Weights { energy, time }, bounds)
        };
        let cheapest = solve(1.0, 0.0, free)?;
        // The fastest of the equally cheap plans.
        let most_j = cheapest.joules * (1.0 + TOLERANCE);
        let cheapest = solve(0.0, 1.0, Bounds { most_j, ..free }).unwrap_or(cheapest);
        let ends = [fastest, cheapest].map(|point| (point.seconds, point));
        let corner = |slope: f64| solve(1.0, -slope, free).map(|point| (point.seconds, point));
        let mut chain = Chain::between(set, ends, &corner);
        for (x, point) in &mut chain.points {
            *point = self.device(set).in_full(set, point);
            self.raise(set, point);
            *x = point.seconds;
        }
        chain.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(chain)
    }

    /// Makes a plan that leaves paths of `set` unused cost as much as the best plan of the others,
    /// which the lines of the larger set only approximate.
    fn raise(&self, set: u32, point: &mut Point) {
        let is_idle = |r: &usize| point.loads[*r].bits <= LITTLE * point.bits;
        let rest = members(set)
            .filter(is_idle)
            .fold(set, |rest, r| rest & !(1 << r));
        if rest != set && rest != 0 {
            let of_rest = self
                .over_time(rest)
                .into_iter()
                .flat_map(|chain| chain.points);
            let least_j = of_rest
                .map(|(_, point)| point.joules)
                .fold(f64::INFINITY, f64::min);
            point.joules = point.joules.max(least_j);
        }
    }

    /// Time limit, s.
    fn most_s(&self) -> f64 {
        match self.question.within {
            Within::Deadline(deadline) => deadline.as_secs_f64(),
            Within::Whenever | Within::Rate(_) => f64::INFINITY,
        }
    }

    /// `set` at a given total rate, the cheapest bits first; `None` if its rate is lower.
    fn at_rate(&self, set: u32, rate: BitRate, bits: f64) -> Option<Point> {
        let device = self.device(set);
        let mut members: Vec<usize> = members(set).collect();
        let slope = |r: &usize| device.radios[*r].slope_j_per_bit;
        members.sort_by(|a, b| slope(a).total_cmp(&slope(b)));
        let rate = rate.bps() as f64;
        let mut left = rate;
        let mut loads = vec![Load::default(); device.radios.len()];
        for r in members {
            let part = left.min(device.radios[r].rate_bps);
            left -= part;
            loads[r] = Load {
                bits: bits * part / rate,
                busy_s: bits / rate,
            };
        }
        (left <= rate * TOLERANCE).then(|| Point::of(device, set, loads))
    }

    fn plan(&self, point: &Point) -> Plan {
        let parts = point.loads.iter().enumerate().map(|(path, load)| Part {
            path,
            share: load.bits / point.bits,
            rate_bps: load.bits / load.busy_s,
        });
        Plan {
            energy_j: point.joules,
            seconds: point.seconds,
            paths: parts.filter(|part| part.share > LEAST_SHARE).collect(),
        }
    }

    /// The plan in time with the least energy and price on another set of paths than `best`, and
    /// its energy for promotions and tails, J.
    fn rival(&self, chains: &[Chain], beaten: &[(u32, f64)], best: &Plan) -> Option<(Plan, f64)> {
        let of_best = best.set();
        let mut cheapest: Option<(Plan, f64)> = None;
        let cost_j = |(plan, _): &(Plan, f64)| self.question.cost_j(plan.energy_j, plan.seconds);
        let mut offer = |rival: Option<(Plan, f64)>| {
            let least_j = cheapest.as_ref().map_or(f64::INFINITY, cost_j);
            if let Some(rival) = rival.filter(|rival| cost_j(rival) < least_j) {
                cheapest = Some(rival);
            }
            cheapest.as_ref().map_or(f64::INFINITY, cost_j)
        };
        let mut most_j = f64::INFINITY;
        for chain in chains.iter().filter(|chain| chain.set != of_best) {
            most_j = offer(self.in_time(chain));
        }
        for &(set, least_j) in beaten {
            if set != of_best && least_j < most_j {
                most_j = offer(self.over_time(set).and_then(|chain| self.in_time(&chain)));
            }
        }
        cheapest
    }

    /// The plan in time with the least energy and price on all paths of `chain`, and its energy for
    /// promotions and tails, J.
    fn in_time(&self, chain: &Chain) -> Option<(Plan, f64)> {
        let most_s = self.most_s();
        let last = &chain.points.last()?.1;
        let latest = if last.seconds <= most_s {
            last.clone()
        } else {
            chain.point(most_s, self.devices.using(chain.set))?
        };
        let in_time = chain
            .points
            .iter()
            .map(|(_, point)| point)
            .filter(|point| point.seconds <= most_s);
        let point = in_time.fold(latest, |best, point| {
            if self.cost_j(point) < self.cost_j(&best) {
                point.clone()
            } else {
                best
            }
        });
        let plan = self.plan(&point);
        let uses_j = members(chain.set)
            .map(|r| self.device(chain.set).radios[r].use_j)
            .sum();
        (plan.set() == chain.set).then_some((plan, uses_j))
    }

    /// The set with the least energy and price in time; `None` if no set carries the data in time.
    fn best_set(&self) -> Option<u32> {
        let mut best: Option<(u32, f64)> = None;
        for set in self.devices.sets() {
            let most_j = best.map_or(f64::INFINITY, |(_, least_j)| least_j * (1.0 - EQUAL));
            let device = self.device(set);
            let plans = match self.question.within {
                Within::Rate(rate) => [self.at_rate(set, rate, self.bits), None],
                _ if device.least_joules(set, self.bits) >= most_j => [None, None],
                Within::Deadline(_) | Within::Whenever => {
                    let weights = Weights {
                        energy: 1.0,
                        time: self.question.price_w(),
                    };
                    let bounds = Bounds {
                        most_s: self.most_s(),
                        ..self.all_bits()
                    };
                    // A single path has no choice.
                    let has_choice = set.count_ones() > 1;
                    let cheapest = has_choice
                        .then(|| device.solve(set, weights, bounds))
                        .flatten();
                    [cheapest, Some(device.fastest(set, self.bits))]
                }
            };
            let is_whole = |point: &Point| {
                let is_used = |r: usize| point.loads[r].bits > LEAST_SHARE * point.bits;
                point.seconds <= self.most_s() * (1.0 + TOLERANCE) && members(set).all(is_used)
            };
            let plans = plans
                .into_iter()
                .flatten()
                .map(|point| device.in_full(set, &point));
            let cost_j = plans
                .filter(is_whole)
                .map(|point| self.cost_j(&point))
                .reduce(f64::min);
            best = cost_j
                .filter(|&cost_j| cost_j < most_j)
                .map(|cost_j| (set, cost_j))
                .or(best);
        }
        best.map(|(set, _)| set)
    }

    /// Break-even sizes.
    fn break_even(&self) -> Vec<BreakEven> {
        let best = |bits: f64| {
            Solver {
                bits,
                devices: Devices::of(self.question, bits),
                ..*self
            }
            .best_set()
        };
        let paths = |set: u32| members(set).collect();
        let mut changes = vec![];
        let (mut low, mut high) = (SIZES.0, SIZES.0 * SIZE_STEP);
        let Some(mut below) = best(low) else {
            return changes;
        };
        while high <= SIZES.1 {
            let Some(above) = best(high) else {
                return changes;
            };
            while above != below {
                // Of several changes between two sizes, the first that bisection meets.
                let (mut from, mut to, mut next) = (low, high, above);
                while to > from * (1.0 + SIZE_PRECISION) {
                    let middle = (from * to).sqrt();
                    match best(middle) {
                        Some(set) if set != below => (to, next) = (middle, set),
                        _ => from = middle,
                    }
                }
                changes.push(BreakEven {
                    size_bytes: to / 8.0,
                    below: paths(below),
                    above: paths(next),
                });
                (low, below) = (to, next);
            }
            (low, high) = (high, high * SIZE_STEP);
        }
        changes
    }
}

#[cfg(test)]
mod tests;
