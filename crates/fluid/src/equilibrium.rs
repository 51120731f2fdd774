//! Equilibria: roots of the dynamics, each with a certificate.
//!
//! Pseudo-transient continuation (Kelley and Keyes 1998): implicit Euler steps that get longer as
//! the imbalance falls. So the search first follows the dynamics and then becomes Newton's method.
//! It leaves out windows and queues that their bounds keep from falling.
//!
//! If a controller gives everything to one path, the windows of the others decay, dw/dt ∝ −w², and
//! Newton's method in ln w takes one step per e-fold. So the first search is hasty: it sets a
//! window that would still fall at its minimum to the minimum at once.
//!
//! If there is a closed form, the search starts there and needs no step.

use joulepath_controllers::formula::Path;
use nalgebra::{Const, DMatrix, DVector, DimMin, Dyn, LU, SMatrix, SVector};

use crate::closed;
use crate::dynamics::{Dynamics, Flow};
use crate::network::{LinkIndex, Network};

/// A root is found if the relative imbalance is below this.
const TOLERANCE: f64 = 1e-10;
/// A search stops without result after this many steps.
const MOST_STEPS: usize = 1000;
/// Most steps of a hasty search; a patient search uses central differences after this many steps.
const PATIENT_STEPS: usize = 60;
/// A step of this length is a Newton step, s.
const NEWTON_S: f64 = 1e12;
/// Longest step after the search has jumped back and forth for the first time, s; half of it after
/// the second time, and so on.
const LONGEST_AFTER_LEAP_S: f64 = 1e4;
/// If a step leaves more than this share of the imbalance, a window is decaying.
const STALLED: f64 = 0.8;
/// Longest move of a window in one step, e-folds. Moves of queues have the same bound.
const LONGEST: f64 = 1.5;
/// Time for which the search follows the dynamics if no step length leads to a root, s.
const PATIENCE_S: f64 = 300.0;
/// Relative step of the differences that approximate the derivatives.
const DIFFERENCE: f64 = 1e-7;
/// Two equilibria are the same if their windows differ by less than this, e-folds.
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
    /// Largest relative imbalance between a window's gains and losses, or a queue's arrivals and
    /// departures.
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
    /// Total sending rate of all routes, packets/s.
    pub fn total_pps(&self) -> f64 {
        self.flows.iter().map(|flow| flow.rate_pps).sum()
    }

    /// The paths of user `u` of `network` in this state.
    pub fn paths(&self, network: &Network, u: usize) -> Vec<Path> {
        Dynamics::new(network).paths_of(u, &self.state)
    }
}

/// Equilibria of several networks in the same memory. The results are those of
/// [`Network::equilibrium`], but computed faster for many small networks.
pub fn equilibria_of(networks: &[Network]) -> impl Iterator<Item = Result<Equilibrium, NotFound>> {
    let mut search: Option<Search<'_>> = None;
    networks.iter().map(move |network| match &mut search {
        Some(search) => {
            search.turn_to(network);
            search.equilibrium()
        }
        None => search.insert(Search::new(network)).equilibrium(),
    })
}

impl Network {
    /// The equilibrium that the network reaches from moderate windows.
    ///
    /// # Errors
    /// [`NotFound`] if the network does not settle, or if the search does not find its equilibrium.
    pub fn equilibrium(&self) -> Result<Equilibrium, NotFound> {
        Search::new(self).equilibrium()
    }

    /// All equilibria found from many starts: moderate, small and large windows, and each route's
    /// window far above the others. The first is that of [`Self::equilibrium`].
    pub fn equilibria(&self) -> Vec<Equilibrium> {
        let mut search = Search::new(self);
        let moderate: Vec<f64> = self.moderate_windows().collect();
        let scaled = |factor: f64| moderate.iter().map(|w| w * factor).collect::<Vec<_>>();
        let favoured = |favourite: usize| {
            let one = |(r, w): (usize, &f64)| if r == favourite { w * 30.0 } else { w / 30.0 };
            moderate.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let mut found: Vec<Equilibrium> = search.equilibrium().into_iter().collect();
        let starts = [scaled(0.05), scaled(20.0)]
            .into_iter()
            .chain((0..moderate.len()).map(favoured));
        for windows in starts {
            if let Ok(equilibrium) = search.settle(&windows)
                && !found.iter().any(|known| known.is_near(&equilibrium))
            {
                found.push(equilibrium);
            }
        }
        found
    }

    /// Windows of a TCP with the fixed loss of each route; 20 packets for a route without loss.
    fn moderate_windows(&self) -> impl Iterator<Item = f64> {
        let window = |loss: f64| {
            if loss > 0.0 {
                (2.0 / loss).sqrt()
            } else {
                20.0
            }
        };
        self.users
            .iter()
            .flat_map(move |user| user.routes.iter().map(move |route| window(route.loss)))
    }
}

impl Equilibrium {
    fn is_near(&self, other: &Equilibrium) -> bool {
        self.state
            .iter()
            .zip(&other.state)
            .all(|(a, b)| (a - b).abs() <= SAME * (1.0 + a.abs()))
    }
}

/// How a search treats decaying windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    /// Sets decaying windows to their minimum.
    Hasty,
    /// Follows all windows.
    Patient,
}

/// A search, and its memory.
struct Search<'n> {
    dynamics: Dynamics<'n>,
    state: Vec<f64>,
    derivative: Vec<f64>,
    /// A state near `state`, and its derivative.
    nearby: Vec<f64>,
    moved: Vec<f64>,
    /// Positions of the state that are not on a bound.
    free: Vec<usize>,
    /// Jacobian of the free positions, by columns.
    jacobian: Vec<f64>,
    /// Next move of the free positions.
    step: Vec<f64>,
    /// True if differences are central.
    central: bool,
}

impl<'n> Search<'n> {
    fn new(network: &'n Network) -> Self {
        let mut this = Search {
            dynamics: Dynamics::new(network),
            state: vec![],
            derivative: vec![],
            nearby: vec![],
            moved: vec![],
            free: vec![],
            jacobian: vec![],
            step: vec![],
            central: false,
        };
        this.resize();
        this
    }

    /// Switches to another network.
    fn turn_to(&mut self, network: &'n Network) {
        self.dynamics.turn_to(network);
        self.resize();
    }

    fn resize(&mut self) {
        let n = self.dynamics.dimension();
        for numbers in [
            &mut self.state,
            &mut self.derivative,
            &mut self.nearby,
            &mut self.moved,
        ] {
            numbers.clear();
            numbers.resize(n, 0.0);
        }
    }

    /// Starts from the closed form if there is one and it is an equilibrium; otherwise from
    /// moderate windows.
    fn equilibrium(&mut self) -> Result<Equilibrium, NotFound> {
        if self.start_at_closed_form() {
            self.dynamics.project(&mut self.state);
            self.central = false;
            let residual = self.look();
            if residual <= TOLERANCE {
                return Ok(self.certified(residual, 0));
            }
        }
        let windows: Vec<f64> = self.dynamics.network.moderate_windows().collect();
        self.settle(&windows)
    }

    fn start_at_closed_form(&mut self) -> bool {
        let network = self.dynamics.network;
        let mut first = 0;
        for user in &network.users {
            let own = first..first + user.routes.len();
            first = own.end;
            let windows = &mut self.nearby[own.clone()];
            let is_closed = self
                .dynamics
                .unit_paths(user)
                .is_some_and(|paths| closed::windows(user.form, paths, user.least_window, windows));
            if !is_closed {
                return false;
            }
            for (log, window) in self.state[own].iter_mut().zip(windows) {
                *log = libm::log(*window);
            }
        }
        true
    }

    /// Searches from `windows` and empty queues. If the steps do not converge, for example between
    /// thresholds, it follows the dynamics for a while and then continues.
    fn settle(&mut self, windows: &[f64]) -> Result<Equilibrium, NotFound> {
        let start = self.dynamics.state(windows);
        self.state.copy_from_slice(&start);
        if let Ok(found) = self.search(Haste::Hasty) {
            return Ok(found);
        }
        self.state.copy_from_slice(&start);
        let missed = match self.search(Haste::Patient) {
            Ok(found) => return Ok(found),
            Err(missed) => missed,
        };
        let later = self
            .dynamics
            .trajectory(&start, &[0.0, PATIENCE_S])
            .map_err(|_| missed)?;
        let Some(state) = later.states.last() else {
            return Err(missed);
        };
        self.state.copy_from_slice(state);
        self.search(Haste::Patient)
    }

    /// Searches an equilibrium from the current state.
    fn search(&mut self, haste: Haste) -> Result<Equilibrium, NotFound> {
        self.central = false;
        self.dynamics.project(&mut self.state);
        let mut residual = self.look();
        // The first step is the time in which the fastest window changes by half.
        let fastest = self.derivative[self.dynamics.windows()]
            .iter()
            .fold(1e-9, |most: f64, d| most.max(d.abs()));
        let mut time_s = 0.5 / fastest;
        let mut longest_s = NEWTON_S;
        let most_steps = if haste == Haste::Hasty {
            PATIENT_STEPS
        } else {
            MOST_STEPS
        };
        for steps in 0..most_steps {
            if residual <= TOLERANCE {
                return Ok(self.certified(residual, steps));
            }
            self.central = steps >= PATIENT_STEPS;
            let before = residual;
            if self.find_step(time_s) {
                self.advance();
                residual = self.look();
            }
            if haste == Haste::Hasty
                && residual > (STALLED * before).max(TOLERANCE)
                && let Some(loser) = self.loser()
            {
                self.state[loser] = self.dynamics.least_of(loser);
                residual = self.look();
            }
            if self.central && residual > before {
                // The steps jump back and forth between the branches of a maximum. From now on they
                // follow the dynamics more closely.
                longest_s = 0.5 * longest_s.min(LONGEST_AFTER_LEAP_S);
            }
            let faster = (before / residual).clamp(0.3, 10.0);
            time_s *= if residual < 1e-2 {
                faster * 4.0
            } else {
                faster.max(1.3)
            };
            time_s = time_s.min(longest_s);
            if !residual.is_finite() {
                break;
            }
        }
        Err(NotFound {
            residual,
            steps: most_steps,
        })
    }

    /// Evaluates the dynamics, finds the free positions, and returns the residual.
    fn look(&mut self) -> f64 {
        self.dynamics.evaluate(&self.state, &mut self.derivative);
        let residual = self.dynamics.residual(&self.derivative);
        let (dynamics, state, derivative) = (&self.dynamics, &self.state, &self.derivative);
        self.free.clear();
        self.free
            .extend((0..state.len()).filter(|&i| !dynamics.is_held(state, derivative, i)));
        residual
    }

    /// Among the windows that fall and would also fall at their minimum, the window with the lowest
    /// ratio of gain to loss.
    fn loser(&mut self) -> Option<usize> {
        let (flows, derivative) = (&self.dynamics.flows, &self.derivative);
        let part_gained = |&i: &usize| flows[i].gain / flows[i].loss_rate;
        let windows = self.dynamics.windows();
        let falling = self
            .free
            .iter()
            .copied()
            .filter(|i| windows.contains(i) && derivative[*i] < 0.0);
        let loser = falling.min_by(|a, b| part_gained(a).total_cmp(&part_gained(b)))?;
        self.nearby.copy_from_slice(&self.state);
        self.nearby[loser] = self.dynamics.least_of(loser);
        self.dynamics.evaluate(&self.nearby, &mut self.moved);
        let Flow {
            gain, loss_rate, ..
        } = self.dynamics.flows[loser];
        (gain < loss_rate).then_some(loser)
    }

    /// Computes the step d of (1/h − J) d = f. Returns false if there is none.
    fn find_step(&mut self, time_s: f64) -> bool {
        self.differentiate();
        let n = self.free.len();
        self.jacobian.iter_mut().for_each(|entry| *entry = -*entry);
        self.jacobian
            .iter_mut()
            .step_by(n + 1)
            .for_each(|diagonal| *diagonal += 1.0 / time_s);
        self.step.clear();
        self.step
            .extend(self.free.iter().map(|&i| self.derivative[i]));
        solve(&self.jacobian, &mut self.step)
    }

    /// Derivatives of the free positions by the free positions, with forward or central
    /// differences. Between the branches of a maximum only central differences are right if both
    /// its arguments change.
    fn differentiate(&mut self) {
        self.jacobian.clear();
        self.jacobian.reserve(self.free.len() * self.free.len());
        self.nearby.copy_from_slice(&self.state);
        for &j in &self.free {
            let width = DIFFERENCE * (1.0 + self.state[j].abs());
            self.nearby[j] = self.state[j] + width;
            self.dynamics.evaluate(&self.nearby, &mut self.moved);
            let first = self.jacobian.len();
            let above = |&i: &usize| (self.moved[i] - self.derivative[i]) / width;
            self.jacobian.extend(self.free.iter().map(above));
            if self.central {
                self.nearby[j] = self.state[j] - width;
                self.dynamics.evaluate(&self.nearby, &mut self.moved);
                for (entry, &i) in self.jacobian[first..].iter_mut().zip(&self.free) {
                    let below = (self.derivative[i] - self.moved[i]) / width;
                    *entry = 0.5 * (*entry + below);
                }
            }
            self.nearby[j] = self.state[j];
        }
    }

    /// Moves the state along the step, at most as far as allowed, and back onto the bounds.
    fn advance(&mut self) {
        let windows = self.dynamics.windows();
        for (&i, &change) in self.free.iter().zip(&self.step) {
            let longest = if windows.contains(&i) {
                LONGEST
            } else {
                LONGEST * (10.0 + self.state[i])
            };
            self.state[i] += change.clamp(-longest, longest);
        }
        self.dynamics.project(&mut self.state);
    }

    fn certified(&mut self, residual: f64, steps: usize) -> Equilibrium {
        // Differences evaluate the dynamics at other states.
        let flows = self.dynamics.flows().to_vec();
        let longest = |step: &[f64]| step.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let distance = if self.find_step(f64::INFINITY) {
            longest(&self.step)
        } else {
            f64::INFINITY
        };
        let queues = self.dynamics.queues();
        Equilibrium {
            flows,
            queues: queues
                .map(|i| (self.dynamics.link_at(i), self.state[i]))
                .collect(),
            certificate: Certificate {
                residual,
                distance,
                held: self.state.len() - self.free.len(),
                steps,
            },
            state: self.state.clone(),
        }
    }
}

/// Solves `matrix` (by columns) times x = `right` in place. Returns false if there is no solution.
fn solve(matrix: &[f64], right: &mut [f64]) -> bool {
    match right.len() {
        1 => solve_small::<1>(matrix, right),
        2 => solve_small::<2>(matrix, right),
        3 => solve_small::<3>(matrix, right),
        4 => solve_small::<4>(matrix, right),
        n => {
            let mut solution = DVector::from_column_slice(right);
            let is_solved = LU::<f64, Dyn, Dyn>::new(DMatrix::from_column_slice(n, n, matrix))
                .solve_mut(&mut solution);
            right.copy_from_slice(solution.as_slice());
            is_solved
        }
    }
}

/// Like [`solve`], without allocation.
fn solve_small<const N: usize>(matrix: &[f64], right: &mut [f64]) -> bool
where
    Const<N>: DimMin<Const<N>, Output = Const<N>>,
{
    let mut solution = SVector::<f64, N>::from_column_slice(right);
    let is_solved =
        LU::new(SMatrix::<f64, N, N>::from_column_slice(matrix)).solve_mut(&mut solution);
    right.copy_from_slice(solution.as_slice());
    is_solved
}

/// Jacobian of the dynamics at an equilibrium, for the positions that are not on a bound.
pub(crate) fn jacobian_at(network: &Network, equilibrium: &Equilibrium) -> DMatrix<f64> {
    let mut search = Search::new(network);
    search.central = true;
    search.state.copy_from_slice(&equilibrium.state);
    search.look();
    search.differentiate();
    DMatrix::from_column_slice(search.free.len(), search.free.len(), &search.jacobian)
}

#[cfg(test)]
mod tests {
    use joulepath_controllers::formula::{EnergyRatio, Shape};
    use joulepath_controllers::{Connection, Controller, formula::Law};
    use joulepath_model::units::JoulesPerBit;
    use proptest::prelude::*;

    use super::*;
    use crate::network::{Cost, Route};

    fn any_route() -> impl Strategy<Value = Route> {
        let energy = (0.1..10.0f64, 0.0..2.0f64).prop_map(|(slope, relative_energy)| Cost {
            slope: JoulesPerBit(slope),
            relative_energy,
            ..Cost::default()
        });
        (
            (1e-4f64.ln()..3e-2f64.ln()),
            (5e-3f64.ln()..0.3f64.ln()),
            energy,
            0usize..2,
        )
            .prop_map(|(loss, rtt, cost, group)| Route {
                cost,
                group,
                ..Route::fixed(loss.exp(), rtt.exp())
            })
    }

    /// All laws with a closed form.
    fn laws() -> Vec<Law> {
        let with = |name: &str, params: &[(&str, &str)]| {
            let controller = Controller::by_name(name).expect("a controller");
            let mut connection = Connection::new(2);
            for (param, value) in params {
                controller
                    .set_param(&mut connection, param, value)
                    .expect("a parameter");
            }
            Law::of(controller, &connection).expect("a controller with a law")
        };
        let plain = [
            "reno", "cubic", "ewtcp", "coupled", "lia", "hybrid", "olia", "mveno", "ecmtcp",
            "emreno", "dwc",
        ];
        let mut laws: Vec<Law> = plain.iter().map(|name| with(name, &[])).collect();
        laws.extend([
            with("coupled", &[("epsilon", "semicoupled")]),
            with("coupled", &[("epsilon", "seed")]),
            with("coupled", &[("epsilon", "0.7")]),
            with("dwc", &[("groups", "all")]),
            with("edts", &[("kappa", "0.0001")]),
            Law::Ecmtcp {
                ratio: EnergyRatio::Delivery,
            },
            Law::Dts {
                c: 0.5,
                shape: Shape::Intended,
                latest: true,
                kappa: 0.0,
            },
        ]);
        laws
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 100, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// The search, which does not use the closed form, reaches the same windows by the
        /// dynamics.
        #[test]
        fn closed_forms_are_where_the_search_settles(
            routes in proptest::collection::vec(any_route(), 1..=5),
        ) {
            for law in laws() {
                let network = Network::of_one(law, routes.clone());
                let mut search = Search::new(&network);
                prop_assert!(search.start_at_closed_form(), "{law:?} has no closed form");
                let closed = search.equilibrium().expect("an equilibrium");
                prop_assert_eq!(closed.certificate.steps, 0, "{:?} is not at rest in its closed form", law);
                prop_assert!(closed.certificate.distance < 1e-8, "{law:?}: {:?}", closed.certificate);
                let windows: Vec<f64> = network.moderate_windows().collect();
                let settled = search.settle(&windows).expect("an equilibrium");
                for (a, b) in closed.flows.iter().zip(&settled.flows) {
                    prop_assert!((a.window / b.window - 1.0).abs() < 1e-6, "{law:?}: {a:?}, not {b:?}");
                }
            }
        }
    }

    /// LIA's windows on these routes are 715.5 · 0.05 and 178.9 · 0.1, 53.7 packets in total; the
    /// buffer of 40 limits them. The closed form ignores buffers, so the search must start
    /// elsewhere.
    #[test]
    fn a_closed_form_that_is_no_equilibrium_is_rejected() {
        let routes = vec![Route::fixed(0.001, 0.05), Route::fixed(0.002, 0.1)];
        let mut network = Network::of_one(Law::Lia, routes);
        assert_eq!(
            network.equilibrium().map(|found| found.certificate.steps),
            Ok(0)
        );
        network.users[0].buffer = 40.0;
        let bounded = network.equilibrium().expect("an equilibrium");
        assert!(bounded.certificate.steps > 0, "{:?}", bounded.certificate);
        let under_way: f64 = bounded
            .flows
            .iter()
            .map(|flow| flow.rate_pps * flow.rtt_s)
            .sum();
        assert!(under_way < 40.000_01, "{under_way}");
    }
}
