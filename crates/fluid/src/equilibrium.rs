//! Equilibria: roots of the dynamics, each with a certificate.
//!
//! Pseudo-transient continuation (Kelley and Keyes 1998): implicit Euler steps that become longer as the
//! imbalance falls. So the search follows the dynamics from a start to where they settle, and ends as
//! Newton's method. Windows and queues that their bounds keep from falling are left out.
//!
//! If a controller gives everything to one path, the windows of the others decay, dw/dt ∝ −w², and Newton's
//! method in ln w takes one step for each e-fold. So the first search is a hasty one: a window that would
//! still fall at its minimum is set to its minimum at once.

use nalgebra::{DMatrix, DVector, Dyn, LU};

use crate::dynamics::{Dynamics, Flow};
use crate::network::{LinkIndex, Network};

/// Relative imbalance below which a root counts as found.
const TOLERANCE: f64 = 1e-10;
/// A search with more steps than this is given up.
const MOST_STEPS: usize = 1000;
/// A hasty search has at most so many steps; a patient one takes central differences after so many.
const PATIENT_STEPS: usize = 60;
/// A step of this length is a Newton step, s.
const NEWTON_S: f64 = 1e12;
/// Longest step after the search has jumped forth and back for the first time, s; half of it after the second
/// time, and so on.
const LONGEST_AFTER_LEAP_S: f64 = 1e4;
/// If a step leaves more than this part of the imbalance, a window is decaying.
const STALLED: f64 = 0.8;
/// Longest move of a window in one step, e-folds. The moves of queues are bounded in the same way.
const LONGEST: f64 = 1.5;
/// How long the dynamics are followed if no step length leads to a root, s.
const PATIENCE_S: f64 = 300.0;
/// Relative step of the differences that approximate the derivatives.
const DIFFERENCE: f64 = 1e-7;
/// Equilibria count as one if their windows differ by less than this, e-folds.
const SAME: f64 = 1e-4;

/// A state that does not change.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// Every route, user by user.
    pub flows: Vec<Flow>,
    /// Every link with a queue, and the packets in it.
    pub queues: Vec<(LinkIndex, f64)>,
    /// Evidence that the state is an equilibrium.
    pub certificate: Certificate,
    /// The state of the dynamics.
    pub(crate) state: Vec<f64>,
}

/// Evidence that a state is an equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// Largest relative imbalance between a window's gains and losses, or a queue's arrivals and departures.
    pub residual: f64,
    /// Length of the next Newton step, e-folds or packets: about the distance from the exact root.
    pub distance: f64,
    /// Number of windows and queues that their bounds keep from falling.
    pub held: usize,
    /// Number of steps of the search.
    pub steps: usize,
}

/// No equilibrium was found.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("no equilibrium found: the imbalance is {residual:.2e} after {steps} steps")]
pub struct NotFound {
    /// Relative imbalance of the last state.
    pub residual: f64,
    /// Number of steps of the search.
    pub steps: usize,
}

impl Equilibrium {
    /// Packets/s sent by all routes together.
    pub fn total_pps(&self) -> f64 {
        self.flows.iter().map(|flow| flow.rate_pps).sum()
    }
}

impl Network {
    /// The equilibrium at which the network settles from moderate windows.
    ///
    /// # Errors
    /// [`NotFound`] if the network does not settle, or if the search does not find where.
    pub fn equilibrium(&self) -> Result<Equilibrium, NotFound> {
        let mut dynamics = Dynamics::new(self);
        let state = dynamics.state(&self.moderate_windows());
        settle(&mut dynamics, state)
    }

    /// All equilibria that are reached from one of many starts: moderate, small and large windows, and each
    /// route's window far above the others. The first is that of [`Self::equilibrium`].
    pub fn equilibria(&self) -> Vec<Equilibrium> {
        let mut dynamics = Dynamics::new(self);
        let moderate = self.moderate_windows();
        let scaled = |factor: f64| moderate.iter().map(|w| w * factor).collect::<Vec<_>>();
        let favoured = |favourite: usize| {
            let one = |(r, w): (usize, &f64)| if r == favourite { w * 30.0 } else { w / 30.0 };
            moderate.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let starts = [moderate.clone(), scaled(0.05), scaled(20.0)]
            .into_iter()
            .chain((0..moderate.len()).map(favoured));
        let mut found: Vec<Equilibrium> = vec![];
        for windows in starts {
            let state = dynamics.state(&windows);
            if let Ok(equilibrium) = settle(&mut dynamics, state)
                && !found.iter().any(|known| known.is_near(&equilibrium))
            {
                found.push(equilibrium);
            }
        }
        found
    }

    /// Windows of a TCP under the fixed loss of each route; 20 packets for a route without loss.
    fn moderate_windows(&self) -> Vec<f64> {
        let window = |loss: f64| if loss > 0.0 { (2.0 / loss).sqrt() } else { 20.0 };
        self.users.iter().flat_map(|user| user.routes.iter().map(move |route| window(route.loss))).collect()
    }
}

impl Equilibrium {
    fn is_near(&self, other: &Equilibrium) -> bool {
        self.state.iter().zip(&other.state).all(|(a, b)| (a - b).abs() <= SAME * (1.0 + a.abs()))
    }
}

/// Settles from `state`. If the steps do not converge, as between thresholds, the dynamics are followed for a
/// while before the search goes on.
fn settle(dynamics: &mut Dynamics<'_>, state: Vec<f64>) -> Result<Equilibrium, NotFound> {
    let hasty = Solver { hasty: true, ..Solver::new(dynamics) };
    if let Ok(found) = hasty.settle(state.clone()) {
        return Ok(found);
    }
    let missed = match Solver::new(dynamics).settle(state.clone()) {
        Ok(found) => return Ok(found),
        Err(missed) => missed,
    };
    let later = dynamics.trajectory(&state, &[0.0, PATIENCE_S]).map_err(|_| missed)?;
    match later.states.into_iter().next_back() {
        Some(state) => Solver::new(dynamics).settle(state),
        None => Err(missed),
    }
}

/// One search.
struct Solver<'d, 'n> {
    dynamics: &'d mut Dynamics<'n>,
    derivative: Vec<f64>,
    moved: Vec<f64>,
    /// Positions of the state that no bound holds.
    free: Vec<usize>,
    /// Whether differences are central.
    central: bool,
    /// Whether windows that decay are set to their minimum.
    hasty: bool,
}

impl<'d, 'n> Solver<'d, 'n> {
    fn new(dynamics: &'d mut Dynamics<'n>) -> Self {
        let n = dynamics.dimension();
        Solver {
            dynamics,
            derivative: vec![0.0; n],
            moved: vec![0.0; n],
            free: vec![],
            central: false,
            hasty: false,
        }
    }

    fn settle(mut self, mut state: Vec<f64>) -> Result<Equilibrium, NotFound> {
        self.dynamics.project(&mut state);
        let mut residual = self.look(&state);
        // The first step is as long as the fastest window takes to change by half of itself.
        let fastest =
            self.derivative[self.dynamics.windows()].iter().fold(1e-9, |most: f64, d| most.max(d.abs()));
        let mut time_s = 0.5 / fastest;
        let mut longest_s = NEWTON_S;
        let most_steps = if self.hasty { PATIENT_STEPS } else { MOST_STEPS };
        for steps in 0..most_steps {
            if residual <= TOLERANCE {
                return Ok(self.certified(state, residual, steps));
            }
            self.central = steps >= PATIENT_STEPS;
            let before = residual;
            if let Some(step) = self.implicit_step(&state, time_s) {
                self.advance(&mut state, &step);
                residual = self.look(&state);
            }
            if self.hasty
                && residual > STALLED * before
                && let Some(loser) = self.loser(&state)
            {
                state[loser] = self.dynamics.least_of(loser);
                residual = self.look(&state);
            }
            if self.central && residual > before {
                // The steps jump forth and back between the branches of a maximum: from now on they follow
                // the dynamics more closely.
                longest_s = 0.5 * longest_s.min(LONGEST_AFTER_LEAP_S);
            }
            let faster = (before / residual).clamp(0.3, 10.0);
            time_s *= if residual < 1e-2 { faster * 4.0 } else { faster.max(1.3) };
            time_s = time_s.min(longest_s);
            if !residual.is_finite() {
                break;
            }
        }
        Err(NotFound { residual, steps: most_steps })
    }

    /// Evaluates the dynamics, notes which positions are free, and returns the residual.
    fn look(&mut self, state: &[f64]) -> f64 {
        self.dynamics.evaluate(state, &mut self.derivative);
        let residual = self.dynamics.residual(&self.derivative);
        let (dynamics, derivative) = (&self.dynamics, &self.derivative);
        self.free.clear();
        self.free.extend((0..state.len()).filter(|&i| !dynamics.is_held(state, derivative, i)));
        residual
    }

    /// Among the windows that fall and would fall at their minimum as well, the one that gains the least part
    /// of what it loses.
    fn loser(&mut self, state: &[f64]) -> Option<usize> {
        let (flows, derivative) = (&self.dynamics.flows, &self.derivative);
        let part_gained = |&i: &usize| flows[i].gain / flows[i].loss_rate;
        let windows = self.dynamics.windows();
        let falling = self.free.iter().copied().filter(|i| windows.contains(i) && derivative[*i] < 0.0);
        let loser = falling.min_by(|a, b| part_gained(a).total_cmp(&part_gained(b)))?;
        let mut lower = state.to_vec();
        lower[loser] = self.dynamics.least_of(loser);
        self.dynamics.evaluate(&lower, &mut self.moved);
        let Flow { gain, loss_rate, .. } = self.dynamics.flows[loser];
        (gain < loss_rate).then_some(loser)
    }

    /// The solution d of (1/h − J) d = f.
    fn implicit_step(&mut self, state: &[f64], time_s: f64) -> Option<DVector<f64>> {
        let mut step = DVector::from_iterator(self.free.len(), self.free.iter().map(|&i| self.derivative[i]));
        let mut matrix = -self.jacobian(state);
        for i in 0..self.free.len() {
            matrix[(i, i)] += 1.0 / time_s;
        }
        LU::<f64, Dyn, Dyn>::new(matrix).solve_mut(&mut step).then_some(step)
    }

    /// Derivatives of the free positions by the free positions, by forward or by central differences. Between
    /// the branches of a maximum only central ones say what happens when both its arguments change.
    fn jacobian(&mut self, state: &[f64]) -> DMatrix<f64> {
        let n = self.free.len();
        let mut matrix = DMatrix::zeros(n, n);
        let mut nearby = state.to_vec();
        for (column, &j) in self.free.iter().enumerate() {
            let width = DIFFERENCE * (1.0 + state[j].abs());
            nearby[j] = state[j] + width;
            self.dynamics.evaluate(&nearby, &mut self.moved);
            for (row, &i) in self.free.iter().enumerate() {
                matrix[(row, column)] = (self.moved[i] - self.derivative[i]) / width;
            }
            if self.central {
                nearby[j] = state[j] - width;
                self.dynamics.evaluate(&nearby, &mut self.moved);
                for (row, &i) in self.free.iter().enumerate() {
                    let below = (self.derivative[i] - self.moved[i]) / width;
                    matrix[(row, column)] = 0.5 * (matrix[(row, column)] + below);
                }
            }
            nearby[j] = state[j];
        }
        matrix
    }

    /// Moves `state` along `step`, at most as far as allowed, and back onto the bounds.
    fn advance(&mut self, state: &mut [f64], step: &DVector<f64>) {
        let windows = self.dynamics.windows();
        for (&i, &change) in self.free.iter().zip(step.iter()) {
            let longest = if windows.contains(&i) { LONGEST } else { LONGEST * (10.0 + state[i]) };
            state[i] += change.clamp(-longest, longest);
        }
        self.dynamics.project(state);
    }

    fn certified(mut self, state: Vec<f64>, residual: f64, steps: usize) -> Equilibrium {
        let last = self.implicit_step(&state, f64::INFINITY);
        let distance =
            last.map_or(f64::INFINITY, |step| step.iter().fold(0.0, |most: f64, d| most.max(d.abs())));
        self.dynamics.evaluate(&state, &mut self.derivative);
        let queues = self.dynamics.queues();
        Equilibrium {
            flows: self.dynamics.flows().to_vec(),
            queues: queues.map(|i| (self.dynamics.link_at(i), state[i])).collect(),
            certificate: Certificate { residual, distance, held: state.len() - self.free.len(), steps },
            state,
        }
    }
}

/// The Jacobian of the dynamics at an equilibrium, for the positions that no bound holds.
pub(crate) fn jacobian_at(network: &Network, equilibrium: &Equilibrium) -> DMatrix<f64> {
    let mut dynamics = Dynamics::new(network);
    let mut solver = Solver::new(&mut dynamics);
    solver.central = true;
    solver.look(&equilibrium.state);
    solver.jacobian(&equilibrium.state)
}
