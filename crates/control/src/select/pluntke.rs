//! The scheduler of Pluntke, Eggert and Kiukkonen (MobiArch 2011), reconstructed: a Markov decision
//! process over the radios' states, the channels' rates and the application's demand, solved for
//! the least long-run cost.
//!
//! ```text
//!   state:   radio of WiFi and of cellular (idle, active, tail) × channel class of each × application class
//!   action:  WiFi, cellular (or both, `both=on`) for the next slot of 1 s
//!   cost:    energy of the slot, with promotion and tail  +  μ · bits that were not carried
//! ```
//! Transitions of channels and application are counted, each count starting at one. Relative value
//! iteration finds the average-cost optimum, again every ten slots. The path that is not chosen
//! becomes a backup.
//!
//! Deviations: only the abstract was available; the formulation, its classes and μ are this
//! project's. The paper solves once, offline, from a user's history; here the history is the
//! connection's own.

use joulepath_model::energy::Confidence;
use joulepath_model::units::Nanos;

use super::selector::PathSelector;
use super::snapshot::{Demand, Snapshot};
use super::uses::{Use, Uses, only};
use crate::energy::PathEnergy;
use crate::options::{self, OptionError, PartInfo};

/// Length of a slot.
const SLOT: Nanos = Nanos::from_secs(1);
/// Slots between two solutions.
const RENEWAL: u32 = 10;
/// Relative value iteration stops when no difference changes by more than this, J.
const TOLERANCE: f64 = 1e-6;
/// Maximum of steps of relative value iteration.
const MAX_STEPS: usize = 2_000;
/// Classes of channels and of the application.
const CLASSES: usize = 3;
/// Rate of each channel class, and the edges between classes, bit/s.
const CHANNEL_BPS: [f64; CLASSES] = [0.3e6, 2.5e6, 10e6];
const CHANNEL_EDGES_BPS: [f64; CLASSES - 1] = [1e6, 5e6];
/// Demand of each application class, and the edges between classes, bit/s.
const DEMAND_BPS: [f64; CLASSES] = [0.0, 0.5e6, 10e6];
const DEMAND_EDGES_BPS: [f64; CLASSES - 1] = [1e3, 1e6];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Radio {
    Idle,
    Active,
    Tail,
}

const RADIOS: [Radio; 3] = [Radio::Idle, Radio::Active, Radio::Tail];
/// Combinations of the radios' states, and of classes.
const PAIRS: usize = RADIOS.len() * RADIOS.len();
const MIXES: usize = CLASSES * CLASSES * CLASSES;
const STATES: usize = PAIRS * MIXES;

/// Transition counts of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
struct History([[f64; CLASSES]; CLASSES]);

impl History {
    const NONE: History = History([[1.0; CLASSES]; CLASSES]);

    fn probability(&self, from: usize, to: usize) -> f64 {
        self.0[from][to] / self.0[from].iter().sum::<f64>()
    }
}

/// The components of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    radio: [Radio; 2],
    channel: [usize; 2],
    demand: usize,
}

impl State {
    fn index(self) -> usize {
        let [w, c] = self.radio.map(|radio| radio as usize);
        (((w * 3 + c) * CLASSES + self.channel[0]) * CLASSES + self.channel[1]) * CLASSES
            + self.demand
    }

    fn at(index: usize) -> Self {
        let (rest, demand) = (index / CLASSES, index % CLASSES);
        let (rest, second) = (rest / CLASSES, rest % CLASSES);
        let (rest, first) = (rest / CLASSES, rest % CLASSES);
        State {
            radio: [RADIOS[rest / 3], RADIOS[rest % 3]],
            channel: [first, second],
            demand,
        }
    }
}

/// An action in a state.
struct Step {
    /// Cost of the slot, J.
    cost_j: f64,
    /// Probabilities and indices of the states that may follow, with the present classes.
    followers: Vec<(f64, usize)>,
}

/// The selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Pluntke {
    /// μ: cost of a bit that was not carried, J.
    pub unserved_j_per_bit: f64,
    /// Whether both interfaces at once is an action.
    pub both: bool,
    history: [History; 3],
    state: State,
    /// The best action in each state, as mask of WiFi and cellular.
    table: Vec<u8>,
    slots: u32,
    pair: Option<[usize; 2]>,
    delivered_bytes: u64,
}

impl Default for Pluntke {
    fn default() -> Self {
        Pluntke {
            unserved_j_per_bit: 1e-6,
            both: false,
            history: [History::NONE; 3],
            state: State {
                radio: [Radio::Idle; 2],
                channel: [CLASSES - 1; 2],
                demand: CLASSES - 1,
            },
            table: vec![],
            slots: 0,
            pair: None,
            delivered_bytes: 0,
        }
    }
}

fn class(value: f64, edges: [f64; CLASSES - 1]) -> usize {
    edges.iter().filter(|&&edge| value >= edge).count()
}

impl PathSelector for Pluntke {
    const INFO: PartInfo = PartInfo {
        confidence: Confidence::Reconstruction,
        ..PartInfo::verified(
            "pluntke",
            "one of the two cheapest paths for each second, by a Markov decision process",
            &["unserved", "both"],
            "Pluntke et al. 2011",
        )
    };

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let Some(pair) = self.pair.or_else(|| cheapest_two(snapshot)) else {
            return only(&[0], Use::Closed);
        };
        self.pair = Some(pair);
        self.observe(snapshot, pair);
        let energies = pair.map(|i| snapshot.paths[i].energy);
        if self.slots.is_multiple_of(RENEWAL) {
            self.table = self.solve(&energies);
        }
        self.slots += 1;
        let action = self.table[self.state.index()];
        let idle = self.state.demand == 0;
        for (side, radio) in self.state.radio.iter_mut().enumerate() {
            *radio = match (action >> side & 1 == 1 && !idle, *radio) {
                (true, _) => Radio::Active,
                (false, Radio::Idle) => Radio::Idle,
                (false, _) => Radio::Tail,
            };
        }
        let chosen: Vec<usize> = (0..2)
            .filter(|side| action >> side & 1 == 1)
            .map(|side| pair[side])
            .collect();
        let dead = chosen.iter().all(|&i| !snapshot.paths[i].usable);
        let mut uses = only(&[], Use::Closed);
        for i in pair {
            uses[i] = if dead || chosen.contains(&i) {
                Use::Regular
            } else {
                Use::Backup
            };
        }
        uses
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        SLOT
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "unserved" => self.unserved_j_per_bit = options::positive("unserved", value)? * 1e-6,
            "both" => self.both = options::switch("both", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl Pluntke {
    /// Updates the classes, and counts one transition of each.
    fn observe(&mut self, snapshot: &Snapshot, pair: [usize; 2]) {
        let before = self.state;
        for (side, &i) in pair.iter().enumerate() {
            if let Some(rate) = snapshot.paths[i].busy_bps {
                self.state.channel[side] = class(rate, CHANNEL_EDGES_BPS);
                self.history[side].0[before.channel[side]][self.state.channel[side]] += 1.0;
            }
        }
        let delivered: u64 = snapshot.paths.iter().map(|path| path.delivered_bytes).sum();
        let carried = (delivered - std::mem::replace(&mut self.delivered_bytes, delivered)) as f64;
        self.state.demand = match snapshot.demand {
            Demand::Endless => CLASSES - 1,
            Demand::Bytes(bytes) => class(
                (bytes + carried) * 8.0 / SLOT.as_secs_f64(),
                DEMAND_EDGES_BPS,
            ),
        };
        self.history[2].0[before.demand][self.state.demand] += 1.0;
    }

    /// Relative value iteration: the best action in each state.
    fn solve(&self, energies: &[PathEnergy; 2]) -> Vec<u8> {
        let actions: &[u8] = if self.both {
            &[0b01, 0b10, 0b11]
        } else {
            &[0b01, 0b10]
        };
        let step = |index, action| self.step(State::at(index), action, energies);
        let steps_in = |index| actions.iter().map(|&action| step(index, action)).collect();
        let steps: Vec<Vec<Step>> = (0..STATES).map(steps_in).collect();
        let chances = self.chances();
        let mut value = vec![0.0; STATES];
        let mut table = vec![actions[0]; STATES];
        for _ in 0..MAX_STEPS {
            let expected = expected_over_classes(&chances, &value);
            let cost = |step: &Step| {
                let followers = step.followers.iter();
                followers.fold(step.cost_j, |cost_j, &(chance, next)| {
                    cost_j + chance * expected[next]
                })
            };
            let mut next = vec![0.0; STATES];
            for (index, steps) in steps.iter().enumerate() {
                let costs = steps.iter().map(cost);
                let (best, cost) = costs
                    .enumerate()
                    .fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a });
                (table[index], next[index]) = (actions[best], cost);
            }
            let reference = next[0];
            let moved = next
                .iter()
                .zip(&value)
                .map(|(a, b)| (a - reference - b).abs())
                .fold(0.0, f64::max);
            value = next.into_iter().map(|cost| cost - reference).collect();
            if moved < TOLERANCE {
                break;
            }
        }
        table
    }

    /// The probability of each combination of classes in the next slot, by the present combination.
    fn chances(&self) -> [[f64; MIXES]; MIXES] {
        let classes = |mix: usize| [mix / 9, mix / 3 % 3, mix % 3];
        let chance = |from: [usize; 3], to: [usize; 3]| {
            self.history[0].probability(from[0], to[0])
                * self.history[1].probability(from[1], to[1])
                * self.history[2].probability(from[2], to[2])
        };
        std::array::from_fn(|from| std::array::from_fn(|to| chance(classes(from), classes(to))))
    }

    fn step(&self, state: State, action: u8, energies: &[PathEnergy; 2]) -> Step {
        let mut left_bps = DEMAND_BPS[state.demand];
        let mut cost_j = 0.0;
        // Next state of each radio, and the probability that it falls idle instead.
        let mut radio = state.radio;
        let mut falls_idle = [0.0; 2];
        for side in 0..2 {
            let energy = &energies[side];
            if action >> side & 1 == 1 && DEMAND_BPS[state.demand] > 0.0 {
                let rate_bps = left_bps.min(CHANNEL_BPS[state.channel[side]]);
                left_bps -= rate_bps;
                cost_j += energy.power_w(rate_bps) * SLOT.as_secs_f64();
                cost_j += if state.radio[side] == Radio::Idle {
                    energy.wake_j
                } else {
                    0.0
                };
                radio[side] = Radio::Active;
            } else if state.radio[side] != Radio::Idle {
                cost_j += energy.tail_w * energy.tail_s.min(SLOT.as_secs_f64());
                radio[side] = Radio::Tail;
                falls_idle[side] = 1.0 / energy.tail_s.max(SLOT.as_secs_f64());
            }
        }
        cost_j += self.unserved_j_per_bit * left_bps * SLOT.as_secs_f64();
        let follower = |combination: u8| {
            let mut probability = 1.0;
            let mut next = radio;
            for side in 0..2 {
                let idle = combination >> side & 1 == 1;
                probability *= if idle {
                    falls_idle[side]
                } else {
                    1.0 - falls_idle[side]
                };
                if idle {
                    next[side] = Radio::Idle;
                }
            }
            (
                probability,
                State {
                    radio: next,
                    ..state
                }
                .index(),
            )
        };
        Step {
            cost_j,
            followers: (0..4)
                .map(follower)
                .filter(|&(chance, _)| chance > 0.0)
                .collect(),
        }
    }
}

/// For each pair of radio states and present classes, the mean of `value` over the next slot's
/// classes.
fn expected_over_classes(chances: &[[f64; MIXES]; MIXES], value: &[f64]) -> Vec<f64> {
    let mut expected = vec![0.0; STATES];
    for (from, chances) in chances.iter().enumerate() {
        // One sum for each pair of radio states: the processor computes them at once.
        let mut means = [0.0; PAIRS];
        for (to, chance) in chances.iter().enumerate() {
            for (pair, mean) in means.iter_mut().enumerate() {
                *mean += chance * value[pair * MIXES + to];
            }
        }
        for (pair, mean) in means.into_iter().enumerate() {
            expected[pair * MIXES + from] = mean;
        }
    }
    expected
}

/// The two cheapest paths, the cheaper one first; `None` if there is only one.
fn cheapest_two(snapshot: &Snapshot) -> Option<[usize; 2]> {
    match snapshot.by_cost()[..] {
        [first, second, ..] => Some([first, second]),
        _ => None,
    }
}
