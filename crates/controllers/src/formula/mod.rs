//! Every controller's increase in floating point, from its definition and in the paper's symbols.
//!
//! It checks the fixed-point code of `cc/` independently and shares nothing with it. Windows are in
//! packets, times in seconds. With fewer than two established subflows every coupled controller is
//! NewReno.
//!
//! [`Law`] is the definition for [`Path`]s of real numbers; the fluid engine integrates it.
//! [`evaluate`] applies it to the integer code's state.

mod law;

pub use law::{EnergyRatio, Law, Shape, WindowFloor, linked, rate_term, total_rate, total_window};

use crate::{Connection, Controller, MAX_SUBFLOWS, Subflow};

/// One subflow in the papers' symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// `w_r`: window, packets (in fast recovery the ssthresh).
    pub w: f64,
    /// `τ_r`: smoothed RTT, s.
    pub tau: f64,
    /// Latest RTT, s.
    pub tau_last: f64,
    /// `τ⁰_r`: base RTT, s.
    pub tau_base: f64,
    /// `ℓ_r`: packets acknowledged since the last loss or between the last two, the larger.
    pub l: f64,
    /// `p_r`: loss probability, 1e-5 to 0.5.
    pub p: f64,
    /// `e_r`: energy per delivered bit, any common unit; 0 = unknown.
    pub e: f64,
    /// `α_r`: target share of the traffic.
    pub alpha: f64,
    /// `U_r`: price of the path.
    pub u: f64,
    /// Subflows with equal numbers share a bottleneck (DWC).
    pub group: usize,
}

impl Path {
    /// `x_r = w_r / τ_r`, packets/s.
    pub fn x(&self) -> f64 {
        self.w / self.tau
    }

    fn of(subflow: &Subflow) -> Self {
        let own = &subflow.own;
        let window = if subflow.flags & Subflow::RECOVERY != 0 {
            subflow.ssthresh
        } else {
            subflow.cwnd
        };
        let or_smoothed = |rtt_us: u32| seconds(if rtt_us == 0 { subflow.srtt_us } else { rtt_us });
        let l = f64::from(own.acked_since_loss.max(own.acked_between_losses));
        let told = own.loss();
        Self {
            w: f64::from(window.max(1)),
            tau: seconds(subflow.srtt_us),
            tau_last: or_smoothed(own.last_rtt_us),
            tau_base: or_smoothed(own.base_rtt_us),
            l,
            p: if told > 0.0 { told } else { 1.0 / l.max(1.0) }.clamp(1e-5, 0.5),
            e: own.energy_cost(),
            alpha: own.target_share(),
            u: own.path_price(),
            group: 0,
        }
    }
}

fn seconds(us: u32) -> f64 {
    f64::from(us) * 1e-6
}

/// A controller's definition, evaluated in a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The formula of `increase`, and whether it is per ACK or per round.
    pub text: &'static str,
    /// Change of each established subflow's window, packets.
    pub increase: Vec<f64>,
    /// Each established subflow's window after a fast retransmit, packets, before rounding.
    pub window_after_loss: Vec<f64>,
}

/// Evaluates the definition of `controller` for the established subflows of `connection`, in order.
/// `None` for a controller without a [`Law`].
pub fn evaluate(controller: Controller, connection: &Connection) -> Option<Formula> {
    let in_use = (connection.n as usize).min(MAX_SUBFLOWS);
    let mut paths: Vec<Path> = connection.subflows[..in_use]
        .iter()
        .filter(|subflow| subflow.flags & Subflow::ESTABLISHED != 0 && subflow.srtt_us > 0)
        .map(Path::of)
        .collect();
    let law = Law::of(controller, connection)?;
    if let Law::Dwc { all_in_one: false } = law {
        // No detection has happened yet: each subflow is a group of its own.
        paths
            .iter_mut()
            .enumerate()
            .for_each(|(own, path)| path.group = own);
    }
    Some(Formula {
        text: law.text(),
        increase: (0..paths.len()).map(|r| law.increase(&paths, r)).collect(),
        window_after_loss: (0..paths.len())
            .map(|r| law.window_after_loss(&paths, r))
            .collect(),
    })
}
