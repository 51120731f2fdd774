//! Trajectories: the dynamics from a state onwards.
//!
//! Dormand and Prince's 5th-order method with adaptive steps; where it reports stiffness, Radau IIA takes over.

use std::cell::RefCell;

use differential_equations::error::Error;
use differential_equations::methods::{ExplicitRungeKutta, ImplicitRungeKutta};
use differential_equations::ode::{ODE, solve_ode};
use differential_equations::solout::TEvalSolout;
use differential_equations::solution::Solution;

use crate::dynamics::{Dynamics, Flow};

/// Error of a step, relative; states are logarithms of windows, and packets.
const RELATIVE: f64 = 1e-7;
/// Error of a step, absolute: e-folds of windows, packets.
const ABSOLUTE: f64 = 1e-7;
/// More steps than this between two instants lead nowhere.
const MOST_STEPS: usize = 2_000_000;

/// States at instants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Instants, s.
    pub times_s: Vec<f64>,
    /// The state at each.
    pub states: Vec<Vec<f64>>,
    /// Steps of the solver.
    pub steps: usize,
}

/// The solver gave up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the equations could not be integrated beyond {reached_s:.6} s: {why}")]
pub struct Stuck {
    /// How far it got, s.
    pub reached_s: f64,
    /// What the solver says.
    pub why: &'static str,
}

/// The equations as the solver calls them.
struct System<'d, 'n>(RefCell<&'d mut Dynamics<'n>>);

impl ODE<f64, Vec<f64>> for System<'_, '_> {
    fn diff(&self, _: f64, state: &Vec<f64>, derivative: &mut Vec<f64>) {
        self.0.borrow_mut().evaluate(state, derivative);
    }
}

impl Dynamics<'_> {
    /// The states at `times_s` (ascending), beginning with `start` at the first of them.
    ///
    /// # Errors
    /// If the solver does not get through.
    pub fn trajectory(&mut self, start: &[f64], times_s: &[f64]) -> Result<Trajectory, Stuck> {
        let (&[from_s, ..], &[.., until_s]) = (times_s, times_s) else { return Ok(Trajectory::default()) };
        let mut start = start.to_vec();
        self.project(&mut start);
        if until_s <= from_s {
            return Ok(Trajectory { times_s: vec![from_s], states: vec![start], steps: 0 });
        }
        let system = System(RefCell::new(self));
        let wanted = || TEvalSolout::new(times_s, from_s, until_s);
        let mut explicit = ExplicitRungeKutta::dopri5().rtol(RELATIVE).atol(ABSOLUTE).max_steps(MOST_STEPS);
        let solved = solve_ode(&mut explicit, &system, from_s, until_s, &start, &mut wanted());
        let solved = match solved {
            Err(Error::Stiffness { .. } | Error::StepSize { .. }) => {
                let mut implicit =
                    ImplicitRungeKutta::radau5().rtol(RELATIVE).atol(ABSOLUTE).max_steps(MOST_STEPS);
                solve_ode(&mut implicit, &system, from_s, until_s, &start, &mut wanted())
            }
            other => other,
        };
        solved.map(Trajectory::from).map_err(|error| stuck(&error))
    }

    /// The routes in `state`.
    pub fn flows_at(&mut self, state: &[f64]) -> &[Flow] {
        let mut derivative = vec![0.0; state.len()];
        self.evaluate(state, &mut derivative);
        self.flows()
    }
}

impl From<Solution<f64, Vec<f64>>> for Trajectory {
    fn from(solution: Solution<f64, Vec<f64>>) -> Self {
        Trajectory { times_s: solution.t, states: solution.y, steps: solution.steps.total() }
    }
}

fn stuck(error: &Error<f64, Vec<f64>>) -> Stuck {
    match error {
        Error::MaxSteps { t, .. } => Stuck { reached_s: *t, why: "too many steps" },
        Error::StepSize { t, .. } => Stuck { reached_s: *t, why: "the step became too small" },
        Error::Stiffness { t, .. } => Stuck { reached_s: *t, why: "too stiff" },
        Error::LinearAlgebra { t, .. } => Stuck { reached_s: *t, why: "a singular matrix" },
        _ => Stuck { reached_s: 0.0, why: "bad input" },
    }
}
