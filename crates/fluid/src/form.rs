//! The fluid form of each controller: its definition ([`Law`]) as a mean field.
//!
//! Most definitions are their own fluid form, ψ = δ τ² X²/w (002, eq. 3). A controller that acts
//! per round, on thresholds, or on the time since a loss has another form:
//!
//! | controller | form |
//! |---|---|
//! | CUBIC | balances losses at RFC 9438's response function (eq. 5), or the Reno-friendly one if larger |
//! | OLIA | ψ = 1: α_r is 0 where the best path has the largest window, and so at every equilibrium |
//! | wVegas | dw/dt = sat(α_r − d_r)/τ_r, α_r = α_total x_r/X, d_r the backlog; no draining, no least α |
//! | mVeno | its threshold on the backlog is a ramp, one packet wide |
//! | CWA | LIA; the slowest path's reductions by θ, m of m + 1 periods, as a continuous drain |

use joulepath_controllers::formula::{EnergyRatio, Law, Path, linked, rate_term, total_rate};

use crate::spread::Varying;

/// RFC 9438, section 4.6: β_cubic = 0.7.
const CUBIC_DECREASE: f64 = 0.3;
/// RFC 9438, eq. 5: (C (3 + β)/(4 (1 − β)))^(1/4) = (0.4 · 3.7/1.2)^(1/4), to the power of 4/3.
const CUBIC_RESPONSE: f64 = 1.0724;
/// RFC 9438, section 4.3: α_cubic = 3 (1 − β)/(1 + β).
const CUBIC_FRIENDLY: f64 = 0.9 / 1.7;
/// Width of the ramp that replaces a threshold on the backlog, packets.
pub(crate) const RAMP: f64 = 1.0;

/// A controller in the fluid model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    law: Law,
}

/// The forces on one window: per packet acknowledged, per packet lost, and per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forces {
    /// `δ_r` without the drain, packets per packet sent.
    pub growth: f64,
    /// `β_r`, share of the window per lost packet.
    pub decrease: f64,
    /// The drain of extended DTS, packets per packet sent.
    pub drain: f64,
    /// Share of the window that CWA gives up per second.
    pub yielding: f64,
}

impl From<Law> for Form {
    fn from(law: Law) -> Self {
        Form { law }
    }
}

impl Form {
    /// The definition of the controller.
    pub fn law(&self) -> Law {
        self.law
    }

    /// True if the controller guesses which subflows share a bottleneck.
    pub(crate) fn detects(&self) -> bool {
        matches!(self.law, Law::Dwc { all_in_one: false })
    }

    /// True if the growth of a path depends on its energy per bit at its rate.
    pub(crate) fn weighs_energy(&self) -> bool {
        matches!(
            self.law,
            Law::Ecmtcp {
                ratio: EnergyRatio::Energy
            }
        )
    }

    /// The forces on the window of `paths[r]`.
    pub fn forces(&self, paths: &[Path], r: usize) -> Forces {
        let path = &paths[r];
        let plain = |growth, decrease| Forces {
            growth,
            decrease,
            drain: 0.0,
            yielding: 0.0,
        };
        match self.law.acting(paths, r) {
            Law::Cubic => plain(cubic(path), CUBIC_DECREASE),
            Law::Wvegas { total_alpha } => plain(wvegas(paths, r, total_alpha), 0.5),
            Law::Olia if paths.len() > 1 => plain(rate_term(paths, r), 0.5),
            Law::Mveno { beta, random_keep } if paths.len() > 1 => {
                let congested = ((backlog(path) - beta) / RAMP + 0.5).clamp(0.0, 1.0);
                let increase = linked(paths).min(1.0 / path.w);
                let random = 1.0 - random_keep;
                plain(
                    increase * (1.0 - 0.5 * congested),
                    random + (0.5 - random) * congested,
                )
            }
            law => Forces {
                growth: law.growth(paths, r),
                decrease: law.decrease(paths, r),
                drain: law.drain(paths, r),
                yielding: self.yielding(paths, r),
            },
        }
    }

    /// How the window of `path` varies under `events` random loss events per packet, each of which
    /// takes the share `decrease`.
    pub(crate) fn varying(&self, path: &Path, decrease: f64, events: f64) -> Varying {
        let varying = Varying::of_window(decrease, events * path.w);
        match self.law {
            // Its queue is constant.
            Law::Wvegas { .. } => Varying::default(),
            // RFC 9438's response function is a mean; the Reno-friendly one balances squares.
            Law::Cubic => {
                let part = (events / path.p).min(1.0);
                let friendly = friendly(path) * varying.growing / (1.0 + varying.unequal * part);
                Varying {
                    unequal: 0.0,
                    growing: response(path).max(friendly) / cubic(path),
                    ..varying
                }
            }
            _ => varying,
        }
    }

    /// `ψ_r` of 002, eq. (3), for this form.
    pub fn psi(&self, paths: &[Path], r: usize) -> f64 {
        self.forces(paths, r).growth / rate_term(paths, r)
    }

    /// Share of its window that the slowest path gives up per second (004, Algorithm 1).
    fn yielding(&self, paths: &[Path], r: usize) -> f64 {
        let Law::Cwa {
            theta_min,
            theta_max,
            beyond,
            m,
            period,
        } = self.law
        else {
            return 0.0;
        };
        let delays = || paths.iter().map(|path| path.tau);
        let (least, most) = (
            delays().fold(f64::INFINITY, f64::min),
            delays().fold(0.0, f64::max),
        );
        let theta = most / least;
        let divisor = match theta {
            _ if theta < theta_min => 1.0,
            _ if theta <= theta_max => theta,
            _ if beyond => theta_max,
            _ => 1.0,
        };
        let is_slowest = delays().position(|tau| tau == most) == Some(r);
        if is_slowest {
            libm::log(divisor) * m / ((m + 1.0) * period)
        } else {
            0.0
        }
    }
}

/// Queued packets on the path, computed from its RTT.
fn backlog(path: &Path) -> f64 {
    path.w * (path.tau - path.tau_base).max(0.0) / path.tau
}

/// `β w p(w)` with p(w) from the response function.
fn cubic(path: &Path) -> f64 {
    response(path).max(friendly(path))
}

fn response(path: &Path) -> f64 {
    CUBIC_DECREASE * CUBIC_RESPONSE * path.tau / libm::cbrt(path.w)
}

fn friendly(path: &Path) -> f64 {
    CUBIC_FRIENDLY / path.w
}

/// The window at which [`cubic`] balances losses, packets: `R τ/∛w = p w`, or `F/w = β p w` if that
/// is larger.
pub(crate) fn cubic_window(path: &Path) -> f64 {
    let response = (CUBIC_RESPONSE * path.tau / path.p).sqrt();
    let friendly = (CUBIC_FRIENDLY / (CUBIC_DECREASE * path.p)).sqrt();
    (response * response.sqrt()).max(friendly)
}

fn wvegas(paths: &[Path], r: usize, total_alpha: f64) -> f64 {
    let path = &paths[r];
    let alpha = total_alpha * path.x() / total_rate(paths);
    ((alpha - backlog(path)) / RAMP).clamp(-1.0, 1.0) / path.w
}
