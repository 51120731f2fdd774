//! Trajectories: integration of the dynamics from a given state.
//!
//! The method is Dormand and Prince's of 5th order with adaptive steps. If it reports stiffness, Radau IIA
//! takes over.

use std::cell::RefCell;

use differential_equations::control::ControlFlag;
use differential_equations::error::Error;
use differential_equations::interpolate::Interpolation;
use differential_equations::methods::{ExplicitRungeKutta, ImplicitRungeKutta};
use differential_equations::ode::{ODE, solve_ode};
use differential_equations::solout::{Solout, TEvalSolout};
use differential_equations::solution::Solution;
use joulepath_model::cancel::Cancel;

use crate::dynamics::{Dynamics, Flow};

/// Relative error tolerance of a step. States are logarithms of windows, and packets.
const RELATIVE: f64 = 1e-7;
/// Absolute error tolerance of a step: e-folds of windows, packets.
const ABSOLUTE: f64 = 1e-7;
/// Most steps between two output times; then the solver gives up.
const MOST_STEPS: usize = 2_000_000;

/// States at given times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Times, s.
    pub times_s: Vec<f64>,
    /// State at each time.
    pub states: Vec<Vec<f64>>,
    /// Number of steps of the solver.
    pub steps: usize,
}

/// The solver gave up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the equations could not be integrated beyond {reached_s:.6} s: {why}")]
pub struct Stuck {
    /// Time reached, s.
    pub reached_s: f64,
    /// Message of the solver.
    pub why: &'static str,
}

/// The equations in the form that the solver calls.
struct System<'d, 'n>(RefCell<&'d mut Dynamics<'n>>);

impl ODE<f64, Vec<f64>> for System<'_, '_> {
    fn diff(&self, _: f64, state: &Vec<f64>, derivative: &mut Vec<f64>) {
        self.0.borrow_mut().evaluate(state, derivative);
    }
}

/// True if the integration ends at a state. Once true, it stays true at all later states.
pub(crate) type Ends<'a> = &'a dyn Fn(&[f64]) -> bool;

/// Keeps the states at the wanted times. Ends the integration at the first state for which `ends` is true,
/// which it also keeps, or once the token is set.
struct Wanted<'a> {
    instants: TEvalSolout<f64>,
    ends: Ends<'a>,
    cancel: &'a Cancel,
}

impl Solout<f64, Vec<f64>> for Wanted<'_> {
    fn solout<I>(
        &mut self,
        t_curr: f64,
        t_prev: f64,
        y_curr: &Vec<f64>,
        y_prev: &Vec<f64>,
        interpolator: &mut I,
        solution: &mut Solution<f64, Vec<f64>>,
    ) -> ControlFlag<f64, Vec<f64>>
    where
        I: Interpolation<f64, Vec<f64>> + ?Sized,
    {
        if self.cancel.is_set() {
            return ControlFlag::Terminate;
        }
        if t_curr == t_prev || !(self.ends)(y_curr) {
            return self.instants.solout(t_curr, t_prev, y_curr, y_prev, interpolator, solution);
        }
        let (t_end, y_end) = self.end(t_curr, t_prev, y_curr, interpolator);
        self.instants.solout(t_end, t_prev, &y_end, y_prev, interpolator, solution);
        if solution.t.last().is_none_or(|&last| last < t_end) {
            solution.push(t_end, y_end);
        }
        ControlFlag::Terminate
    }
}

impl Wanted<'_> {
    /// The first time of a step at which the integration ends, to the last bit, and its state.
    fn end<I>(&self, t_curr: f64, t_prev: f64, y_curr: &[f64], interpolator: &mut I) -> (f64, Vec<f64>)
    where
        I: Interpolation<f64, Vec<f64>> + ?Sized,
    {
        let (mut before, mut end) = (t_prev, (t_curr, y_curr.to_vec()));
        loop {
            let middle = f64::midpoint(before, end.0);
            if middle <= before || middle >= end.0 {
                return end;
            }
            match interpolator.interpolate(middle) {
                Ok(state) if (self.ends)(&state) => end = (middle, state),
                _ => before = middle,
            }
        }
    }
}

impl Dynamics<'_> {
    /// The states at `times_s` (ascending), starting from `start` at the first of them.
    ///
    /// # Errors
    /// [`Stuck`] if the solver gives up before the last time.
    pub fn trajectory(&mut self, start: &[f64], times_s: &[f64]) -> Result<Trajectory, Stuck> {
        let whole = self.trajectory_until(&|_| false, &Cancel::new(), start, times_s)?;
        Ok(whole.expect("the default token is never set"))
    }

    /// Like [`Dynamics::trajectory`], but only up to the first state for which `ends` is true; `None` if
    /// `cancel` was set before the end.
    pub(crate) fn trajectory_until(
        &mut self,
        ends: Ends<'_>,
        cancel: &Cancel,
        start: &[f64],
        times_s: &[f64],
    ) -> Result<Option<Trajectory>, Stuck> {
        let (&[from_s, ..], &[.., until_s]) = (times_s, times_s) else {
            return Ok(Some(Trajectory::default()));
        };
        let mut start = start.to_vec();
        self.project(&mut start);
        if until_s <= from_s {
            return Ok(Some(Trajectory { times_s: vec![from_s], states: vec![start], steps: 0 }));
        }
        let system = System(RefCell::new(self));
        let wanted = || Wanted { instants: TEvalSolout::new(times_s, from_s, until_s), ends, cancel };
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
        match solved {
            _ if cancel.is_set() => Ok(None),
            Ok(solution) => Ok(Some(Trajectory::from(solution))),
            Err(error) => Err(stuck(&error)),
        }
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
