//! Trajectories: integration of the dynamics from a given state.
//!
//! The method is Dormand and Prince's of 5th order with adaptive steps. Equations that it finds too
//! stiff are an error, because the implicit methods of the library need states of constant length.
//!
//! Full queues are stiff, so constant windows cost as many steps as changing ones. With
//! [`RunOptions::settles`](crate::RunOptions::settles) the integration stops where windows and
//! queues have settled, and counters continue at their rates.

use std::cell::RefCell;

use differential_equations::control::ControlFlag;
use differential_equations::error::Error;
use differential_equations::interpolate::Interpolation;
use differential_equations::methods::ExplicitRungeKutta;
use differential_equations::ode::{ODE, solve_ode};
use differential_equations::solout::{Solout, TEvalSolout};
use differential_equations::solution::Solution;
use joulepath_model::cancel::Cancel;

use crate::dynamics::{Dynamics, Flow};

/// Relative error tolerance of a step. States are logarithms of windows, and packets.
const RELATIVE: f64 = 1e-7;
/// Absolute error tolerance of a step: e-folds of windows, packets.
const ABSOLUTE: f64 = 1e-7;
/// Windows and queues have settled if they would change by less than this until the end, at the
/// rate of the last [`WATCHED_S`]: e-folds, packets per packet.
const SETTLED: f64 = 3e-3;
/// Time over which windows and queues are watched, s.
const WATCHED_S: f64 = 2.0;
/// Most steps of a run; then the solver gives up.
pub(crate) const MOST_STEPS: usize = 200_000;

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
#[error(
    "the equations could not be integrated beyond {reached_s:.6} s: {why}. Use --engine packet"
)]
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

/// Whether windows and queues have settled.
struct Settling {
    /// End of the integration, s.
    until_s: f64,
    /// Start of the watched time, s.
    since_s: f64,
    /// Least and largest value of each window and queue in that time.
    ranges: Vec<(f64, f64)>,
}

impl Settling {
    /// Takes `state` at `t`. True once the states of the last [`WATCHED_S`] show that windows and
    /// queues have settled.
    fn is_reached(&mut self, t: f64, state: &[f64]) -> bool {
        let bound = SETTLED * WATCHED_S / (self.until_s - t).max(WATCHED_S);
        let mut moves = false;
        for ((low, high), &value) in self.ranges.iter_mut().zip(state) {
            (*low, *high) = (low.min(value), high.max(value));
            moves |= *high - *low > bound * high.abs().max(1.0);
        }
        if moves {
            self.since_s = t;
            self.ranges
                .iter_mut()
                .zip(state)
                .for_each(|(range, &value)| *range = (value, value));
        }
        t - self.since_s >= WATCHED_S && t < self.until_s
    }
}

/// Keeps the states at the wanted times. Ends the integration at the first state for which `ends`
/// is true, which it also keeps, where windows and queues have settled, or once the token is set.
struct Wanted<'a> {
    instants: TEvalSolout<f64>,
    ends: Ends<'a>,
    /// `None` if the integration does not stop where they have settled.
    settling: Option<Settling>,
    /// When they had settled, s, and the state then.
    settled: Option<(f64, Vec<f64>)>,
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
            let flag = self
                .instants
                .solout(t_curr, t_prev, y_curr, y_prev, interpolator, solution);
            if self
                .settling
                .as_mut()
                .is_some_and(|settling| settling.is_reached(t_curr, y_curr))
            {
                self.settled = Some((t_curr, y_curr.clone()));
                return ControlFlag::Terminate;
            }
            return flag;
        }
        let at = |t| interpolator.interpolate(t).ok();
        let (t_end, y_end) = first_end(self.ends, t_prev, (t_curr, y_curr.clone()), at);
        self.instants
            .solout(t_end, t_prev, &y_end, y_prev, interpolator, solution);
        if solution.t.last().is_none_or(|&last| last < t_end) {
            solution.push(t_end, y_end);
        }
        ControlFlag::Terminate
    }
}

/// The first time after `before` at which the integration ends, to the last bit, and its state. It
/// has ended at `end`; `at` returns the state at a time before.
fn first_end(
    ends: Ends<'_>,
    mut before: f64,
    mut end: (f64, Vec<f64>),
    mut at: impl FnMut(f64) -> Option<Vec<f64>>,
) -> (f64, Vec<f64>) {
    loop {
        let middle = f64::midpoint(before, end.0);
        if middle <= before || middle >= end.0 {
            return end;
        }
        match at(middle) {
            Some(state) if ends(&state) => end = (middle, state),
            _ => before = middle,
        }
    }
}

impl Dynamics<'_> {
    /// The states at `times_s` (ascending), starting from `start` at the first of them.
    ///
    /// # Errors
    /// [`Stuck`] if the solver gives up before the last time.
    pub fn trajectory(&mut self, start: &[f64], times_s: &[f64]) -> Result<Trajectory, Stuck> {
        let whole = self.trajectory_until(
            &|_| false,
            false,
            &Cancel::new(),
            MOST_STEPS,
            start,
            times_s,
        )?;
        Ok(whole.expect("the default token is never set"))
    }

    /// Like [`Dynamics::trajectory`], but only up to the first state for which `ends` is true;
    /// `None` if `cancel` was set before the end. Takes at most `most_steps`. If `settles`, windows
    /// and queues are constant once they have settled.
    pub(crate) fn trajectory_until(
        &mut self,
        ends: Ends<'_>,
        settles: bool,
        cancel: &Cancel,
        most_steps: usize,
        start: &[f64],
        times_s: &[f64],
    ) -> Result<Option<Trajectory>, Stuck> {
        let (&[from_s, ..], &[.., until_s]) = (times_s, times_s) else {
            return Ok(Some(Trajectory::default()));
        };
        let mut start = start.to_vec();
        self.project(&mut start);
        if until_s <= from_s {
            return Ok(Some(Trajectory {
                times_s: vec![from_s],
                states: vec![start],
                steps: 0,
            }));
        }
        let watched = &start[..self.queues().end];
        let settling = || Settling {
            until_s,
            since_s: from_s,
            ranges: watched.iter().map(|&value| (value, value)).collect(),
        };
        let mut outcome = Wanted {
            instants: TEvalSolout::new(times_s, from_s, until_s),
            ends,
            settling: settles.then(settling),
            settled: None,
            cancel,
        };
        let system = System(RefCell::new(&mut *self));
        let mut method = ExplicitRungeKutta::dopri5()
            .rtol(RELATIVE)
            .atol(ABSOLUTE)
            .max_steps(most_steps);
        let solved = solve_ode(&mut method, &system, from_s, until_s, &start, &mut outcome);
        if cancel.is_set() {
            return Ok(None);
        }
        let mut trajectory = Trajectory::from(solved.map_err(|error| stuck(&error))?);
        if let Some(settled) = outcome.settled {
            self.continue_settled(&mut trajectory, settled, ends, times_s);
        }
        Ok(Some(trajectory))
    }

    /// Continues a trajectory from the state in which windows and queues `settled`: only counters
    /// change.
    fn continue_settled(
        &mut self,
        trajectory: &mut Trajectory,
        settled: (f64, Vec<f64>),
        ends: Ends<'_>,
        times_s: &[f64],
    ) {
        let (from_s, start) = settled;
        let mut rates = vec![0.0; start.len()];
        self.evaluate(&start, &mut rates);
        rates[..self.queues().end].fill(0.0);
        let at = |t: f64| -> Vec<f64> {
            start
                .iter()
                .zip(&rates)
                .map(|(value, rate)| value + (t - from_s) * rate)
                .collect()
        };
        let mut before = from_s;
        for &time_s in times_s.iter().filter(|&&time_s| time_s > from_s) {
            let (mut time_s, mut state) = (time_s, at(time_s));
            let is_over = ends(&state);
            if is_over {
                (time_s, state) = first_end(ends, before, (time_s, state), |t| Some(at(t)));
            }
            trajectory.times_s.push(time_s);
            trajectory.states.push(state);
            if is_over {
                return;
            }
            before = time_s;
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
        Trajectory {
            times_s: solution.t,
            states: solution.y,
            steps: solution.steps.total(),
        }
    }
}

fn stuck(error: &Error<f64, Vec<f64>>) -> Stuck {
    match error {
        Error::MaxSteps { t, .. } => Stuck {
            reached_s: *t,
            why: "too many steps",
        },
        Error::StepSize { t, .. } => Stuck {
            reached_s: *t,
            why: "the step became too small",
        },
        Error::Stiffness { t, .. } => Stuck {
            reached_s: *t,
            why: "too stiff",
        },
        Error::LinearAlgebra { t, .. } => Stuck {
            reached_s: *t,
            why: "a singular matrix",
        },
        _ => Stuck {
            reached_s: 0.0,
            why: "bad input",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stiff_equations_are_an_error_with_the_time_reached() {
        let (t, y) = (3.0, vec![0.0]);
        let errors = [
            (Error::Stiffness { t, y: y.clone() }, "too stiff"),
            (Error::StepSize { t, y }, "the step became too small"),
        ];
        for (error, why) in errors {
            assert_eq!(
                stuck(&error),
                Stuck {
                    reached_s: 3.0,
                    why
                }
            );
        }
    }

    fn settles_at(state: impl Fn(f64) -> f64) -> Option<f64> {
        let mut settling = Settling {
            until_s: 100.0,
            since_s: 0.0,
            ranges: vec![(state(0.0), state(0.0))],
        };
        (1..1000)
            .map(|step| f64::from(step) / 10.0)
            .find(|&t| settling.is_reached(t, &[state(t)]))
    }

    /// 0.3 % in 100 s are 6e-5 in 2 s.
    #[test]
    fn only_what_rests_for_two_seconds_has_settled() {
        assert_eq!(settles_at(|_| 1.0), Some(2.0));
        // It moves until 10 s.
        assert_eq!(settles_at(|t| t.min(10.0)), Some(12.0));
        // A drift of 1e-5 in 2 s is 0.05 % until the end, one of 1e-3 is 5 %.
        assert!(settles_at(|t| 1.0 + 5e-6 * t).is_some_and(|t| t < 3.0));
        assert!(settles_at(|t| 1.0 + 5e-4 * t).is_none_or(|t| t > 90.0));
        // An oscillation passes the same value once per second.
        assert!(
            settles_at(|t| 1.0 + 1e-3 * libm::sin(std::f64::consts::TAU * t))
                .is_none_or(|t| t > 90.0)
        );
    }
}
