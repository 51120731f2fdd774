//! Behaviour of a network around an equilibrium: linear stability, and time to return.

use nalgebra::Complex;

use crate::dynamics::Dynamics;
use crate::equilibrium::{Equilibrium, jacobian_at};
use crate::network::Network;
use crate::trajectory::Stuck;

/// Number of samples of a trajectory while it settles.
const LOOKS: u32 = 4000;

/// The dynamics linearised at an equilibrium, without windows and queues on a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// Eigenvalues of the Jacobian, 1/s, the slowest first.
    pub eigenvalues: Vec<Complex<f64>>,
}

impl Stability {
    /// Largest real part of an eigenvalue, 1/s. If it is positive, small deviations grow. −∞ if all
    /// windows and queues are on a bound.
    pub fn abscissa(&self) -> f64 {
        self.eigenvalues
            .first()
            .map_or(f64::NEG_INFINITY, |value| value.re)
    }

    /// True if small deviations vanish.
    pub fn is_stable(&self) -> bool {
        self.abscissa() < 0.0
    }

    /// Time in which a small deviation eventually falls to 1/e, s; infinite if it does not.
    pub fn time_constant_s(&self) -> f64 {
        if self.is_stable() {
            -1.0 / self.abscissa()
        } else {
            f64::INFINITY
        }
    }
}

impl Network {
    /// Linear stability of `equilibrium`.
    pub fn stability(&self, equilibrium: &Equilibrium) -> Stability {
        let jacobian = jacobian_at(self, equilibrium);
        let mut eigenvalues: Vec<_> = match jacobian.nrows() {
            0 => vec![],
            _ => jacobian.complex_eigenvalues().iter().copied().collect(),
        };
        eigenvalues.sort_by(|a, b| b.re.total_cmp(&a.re).then(b.im.total_cmp(&a.im)));
        Stability { eigenvalues }
    }

    /// Responsiveness: the time after which every rate stays within `tolerance` times the total
    /// rate of its equilibrium, for windows that start at `windows` and empty queues, s. `None` if
    /// it exceeds `patience_s`.
    ///
    /// # Errors
    /// [`Stuck`] if the equations cannot be integrated.
    pub fn settling_time_s(
        &self,
        equilibrium: &Equilibrium,
        windows: &[f64],
        tolerance: f64,
        patience_s: f64,
    ) -> Result<Option<f64>, Stuck> {
        let mut dynamics = Dynamics::new(self);
        let times_s: Vec<f64> = (0..=LOOKS)
            .map(|i| patience_s * f64::from(i) / f64::from(LOOKS))
            .collect();
        let start = dynamics.state(windows);
        let trajectory = dynamics.trajectory(&start, &times_s)?;
        let margin_pps = tolerance * equilibrium.total_pps();
        let mut is_near = |state: &Vec<f64>| {
            let pairs = dynamics.flows_at(state).iter().zip(&equilibrium.flows);
            pairs
                .into_iter()
                .all(|(now, then)| (now.rate_pps - then.rate_pps).abs() <= margin_pps)
        };
        let near: Vec<bool> = trajectory.states.iter().map(&mut is_near).collect();
        let last_away = near.iter().rposition(|near| !near);
        Ok(match last_away {
            None => Some(0.0),
            Some(last) => trajectory.times_s.get(last + 1).copied(),
        })
    }
}
