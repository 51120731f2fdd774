//! The definitions: the increase per ACK, the decrease per loss, and the drain of some controllers.
//!
//! They give ψ, β and φ in the fluid model of 002, eq. (3): dx_r/dt = ψ_r x_r²/(τ_r² X²) − β_r λ_r
//! x_r² − φ_r.
//!
//! ```text
//!   ψ_r = δ_r τ_r² X² / w_r      β_r = part of the window lost at a loss    φ_r = drain per ACK · x_r/τ_r
//! ```

use super::Path;
use crate::{Capability, Connection, Controller, ParamValue};

/// Values with a smaller relative difference count as equal, because the integer code compares
/// exactly.
const EQUAL: f64 = 1e-9;
/// Initial backlog of wVegas, packets.
const WVEGAS_LEAST_ALPHA: f64 = 2.0;

/// One controller's definition with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// RFC 5681, uncoupled.
    Reno,
    /// RFC 8257 while no packet is marked: the same as NewReno.
    Dctcp,
    /// RFC 9438 at the start of an epoch.
    Cubic,
    /// Grieco and Mascolo 2004, with the used bandwidth w/τ as the estimate.
    Westwood,
    /// Honda et al. 2009; Wischik et al., NSDI 2011.
    Ewtcp {
        /// The weight `a` of a connection with `n` subflows is a n^power.
        a: f64,
        /// See `a`.
        power: f64,
    },
    /// Kelly and Voice; Wischik et al., NSDI 2011: the family w_r^(1−ε)/W^(2−ε).
    Coupled {
        /// 0 Coupled as in 002, 1 Semicoupled, 2 uncoupled.
        epsilon: f64,
        /// Whether a loss takes half of the total window, not half of the subflow's.
        takes_total: bool,
    },
    /// RFC 6356.
    Lia,
    /// [`Cubic`](Self::Cubic) while no other subflow has delivered a packet, [`Lia`](Self::Lia)
    /// otherwise.
    Hybrid,
    /// Khalili et al., CoNEXT 2012.
    Olia,
    /// Peng et al., ToN 2016.
    Balia {
        /// Whether α_r is an integer quotient after a loss.
        kernel_quirk: bool,
    },
    /// Hassayoun et al., ICNP 2011, in the form of 002; the groups come from [`Path::group`].
    Dwc {
        /// Whether all subflows are one group, whatever is detected.
        all_in_one: bool,
    },
    /// Cao et al., ICNP 2012. The increase happens at the end of a round, not per ACK.
    Wvegas {
        /// Packets queued on all paths together.
        total_alpha: f64,
    },
    /// Dong et al. 2016 (recon.).
    Mveno {
        /// Backlog from which a path counts as congested, packets.
        beta: f64,
        /// Part of the window kept after a random loss.
        random_keep: f64,
    },
    /// Le et al. 2012 (recon.).
    Ecmtcp {
        /// The factor of the increase.
        ratio: EnergyRatio,
    },
    /// Pham et al. 2017 (recon.).
    Emreno,
    /// 000, eq. (8).
    Eemptcp {
        /// Whether g(p) = 1/p; otherwise it is 1/(1 − p).
        inverse_loss: bool,
        /// Whether 1/w_r also bounds the sum.
        cap_total: bool,
    },
    /// 002, eq. (5); extended DTS, section V-C, if κ is not 0.
    Dts {
        /// Gain.
        c: f64,
        /// ε(u).
        shape: Shape,
        /// Whether u and 1/τ² use the latest RTT.
        latest: bool,
        /// κ, the weight of the path's price.
        kappa: f64,
    },
    /// 004, Algorithm 1: LIA between its periods.
    Cwa {
        /// Ratio of delays from which the slowest path yields.
        theta_min: f64,
        /// Ratio of delays up to which it yields.
        theta_max: f64,
        /// Whether the slowest path divides by `theta_max` if the ratio is above that; otherwise it
        /// does nothing.
        beyond: bool,
        /// Number of reductions in a row after which one period is skipped.
        m: f64,
        /// Period, s.
        period: f64,
    },
}

/// The factor by which ecMTCP multiplies LIA's increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnergyRatio {
    /// e_min/e_r.
    Energy,
    /// (1 − p_r)/max_k (1 − p_k).
    Delivery,
    /// p_r/p_h of the fastest path h, as in 002.
    Seed002,
}

/// ε(u) of DTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 002, eq. (5).
    Sigmoid,
    /// The corrected cubic.
    Intended,
    /// The polynomial as printed.
    Literal,
}

/// Minimum window after a loss, packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFloor {
    /// RFC 5681.
    Two,
    /// One packet, for coupled algorithms that almost abandon a bad path.
    One,
}

impl WindowFloor {
    /// The window in packets.
    pub fn packets(self) -> f64 {
        match self {
            WindowFloor::Two => 2.0,
            WindowFloor::One => 1.0,
        }
    }
}

impl Law {
    /// The definition of `controller` with the parameters of `connection`. `None` for a controller
    /// that owns its window: it follows measurements and has no increase per ACK.
    pub fn of(controller: Controller, connection: &Connection) -> Option<Self> {
        let value = |name: &str| {
            controller
                .param_value(connection, name)
                .expect("a law names parameters of its controller")
        };
        let is = |name: &str, word: &'static str| value(name) == ParamValue::Word(word);
        let number = |name: &str| match value(name) {
            ParamValue::Number(number) => number,
            ParamValue::Word(word) => panic!("parameter {name} is the word {word}"),
        };
        let dts = |kappa| Law::Dts {
            c: number("c"),
            shape: match value("shape") {
                ParamValue::Word("intended") => Shape::Intended,
                ParamValue::Word("literal") => Shape::Literal,
                _ => Shape::Sigmoid,
            },
            latest: is("rtt", "latest"),
            kappa,
        };
        if controller.has(Capability::OwnsWindow) {
            return None;
        }
        Some(match controller.name() {
            "cubic" => Law::Cubic,
            "dctcp" => Law::Dctcp,
            "westwood" => Law::Westwood,
            "ewtcp" => match value("a") {
                ParamValue::Word("1/n^2") => Law::Ewtcp {
                    a: 1.0,
                    power: -2.0,
                },
                ParamValue::Word(_) => Law::Ewtcp {
                    a: 1.0,
                    power: -0.5,
                },
                ParamValue::Number(a) => Law::Ewtcp { a, power: 0.0 },
            },
            "coupled" => Law::Coupled {
                epsilon: match value("epsilon") {
                    ParamValue::Word("seed") => 0.0,
                    ParamValue::Word("uncoupled") => 2.0,
                    ParamValue::Word(_) => 1.0,
                    ParamValue::Number(epsilon) => epsilon,
                },
                takes_total: is("epsilon", "classic"),
            },
            "lia" => Law::Lia,
            "hybrid" => Law::Hybrid,
            "olia" => Law::Olia,
            "balia" => Law::Balia {
                kernel_quirk: is("kernel_quirk", "on"),
            },
            "dwc" => Law::Dwc {
                all_in_one: is("groups", "all"),
            },
            "wvegas" => Law::Wvegas {
                total_alpha: number("total_alpha"),
            },
            "mveno" => Law::Mveno {
                beta: number("beta"),
                random_keep: number("random_keep"),
            },
            "ecmtcp" => Law::Ecmtcp {
                ratio: match value("ratio") {
                    ParamValue::Word("delivery") => EnergyRatio::Delivery,
                    ParamValue::Word("seed002") => EnergyRatio::Seed002,
                    _ => EnergyRatio::Energy,
                },
            },
            "emreno" => Law::Emreno,
            "eemptcp" => Law::Eemptcp {
                inverse_loss: is("g", "inv_p"),
                cap_total: is("cap_total", "on"),
            },
            "dts" => dts(0.0),
            "edts" => dts(number("kappa")),
            "cwa" => Law::Cwa {
                theta_min: number("theta_min"),
                theta_max: number("theta_max"),
                beyond: is("beyond", "divide"),
                m: number("m"),
                period: number("period"),
            },
            "reno" => Law::Reno,
            other => unreachable!("`{other}` is in cc/all.h and has no law here: write it"),
        })
    }

    /// The formula as text for users.
    pub fn text(&self) -> &'static str {
        match self {
            Law::Reno => "1/w_r per ACK",
            Law::Dctcp => "1/w_r per ACK; after a loss w_r/2, after a mark w_r (1 − α/2)",
            Law::Cubic => {
                "at the start of an epoch without a maximum above w: min(C τ_r³, w_r/2) / w_r per ACK"
            }
            Law::Westwood => "1/w_r per ACK; after a loss the bandwidth in use times the base RTT",
            Law::Ewtcp { .. } => "a/w_r per ACK",
            Law::Coupled { .. } => "1/W, or w_r^(1−ε)/W^(2−ε), per ACK",
            Law::Lia => "min(A, 1/w_r) per ACK, A = max_k(w_k/τ_k²)/X²",
            Law::Hybrid => {
                "while several subflows carry data LIA: min(A, 1/w_r) per ACK; otherwise CUBIC"
            }
            Law::Olia => "(w_r/τ_r²)/X² + α_r/w_r per ACK",
            Law::Balia { .. } => {
                "x_r/(τ_r X²) · (1+α_r)/2 · (4+α_r)/5 per ACK, α_r = max_k x_k/x_r"
            }
            Law::Dwc { .. } => {
                "τ_r/min_g τ / (n_g W_g) per ACK, for all subflows as one group; alone 1/w_r"
            }
            Law::Wvegas { .. } => {
                "at the end of the next RTT round: +1, 0 or −1 by the backlog against α_r"
            }
            Law::Mveno { .. } => "min(A, 1/w_r) per ACK, half of it where the backlog is β or more",
            Law::Ecmtcp { .. } => "min(A e_min/e_r, 1/w_r) per ACK",
            Law::Emreno => "e_min/e_r · (w_r/τ_r²)/X² per ACK",
            Law::Eemptcp { .. } => "min(A, 1/w_r) + β_r/w_r per ACK, β_r = ω_r/Σω − w_r/W",
            Law::Dts { kappa: 0.0, .. } => "c ε_r (w_r/τ_r²)/X² per ACK",
            Law::Dts { .. } => "c ε_r (w_r/τ_r²)/X² − κ w_r U_r per ACK",
            Law::Cwa { .. } => {
                "min(A, 1/w_r) per ACK as LIA; each period the slowest path also divides w by θ"
            }
        }
    }

    /// The definition that applies to `paths[r]`: NewReno if there are no siblings to couple with,
    /// for [`Hybrid`](Self::Hybrid) CUBIC; otherwise `self`.
    pub fn acting(&self, paths: &[Path], r: usize) -> Self {
        match self {
            Law::Hybrid if (0..paths.len()).any(|k| k != r && paths[k].l > 0.0) => Law::Lia,
            Law::Hybrid => Law::Cubic,
            Law::Cubic | Law::Westwood | Law::Wvegas { .. } => *self,
            _ if paths.len() < 2 => Law::Reno,
            _ => *self,
        }
    }

    /// `δ_r` plus the drain: the window's growth per packet acknowledged in congestion avoidance,
    /// packets. For wVegas: per round.
    pub fn growth(&self, paths: &[Path], r: usize) -> f64 {
        match self.acting(paths, r) {
            Law::Reno | Law::Dctcp | Law::Westwood => 1.0 / paths[r].w,
            Law::Cubic => cubic(&paths[r]),
            Law::Ewtcp { a, power } => a * libm::pow(paths.len() as f64, power) / paths[r].w,
            Law::Coupled { epsilon, .. } => {
                libm::pow(paths[r].w, 1.0 - epsilon) / libm::pow(total_window(paths), 2.0 - epsilon)
            }
            Law::Lia | Law::Hybrid | Law::Cwa { .. } => lia(paths, r),
            Law::Olia => rate_term(paths, r) + olia_alpha(paths, r) / paths[r].w,
            Law::Balia { .. } => {
                let alpha = fastest(paths) / paths[r].x();
                rate_term(paths, r) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
            }
            Law::Dwc { all_in_one } => dwc(paths, r, all_in_one),
            Law::Wvegas { total_alpha } => wvegas(paths, r, total_alpha),
            Law::Mveno { beta, .. } => {
                lia(paths, r)
                    * if is_congested(&paths[r], beta) {
                        0.5
                    } else {
                        1.0
                    }
            }
            Law::Ecmtcp { ratio } => (linked(paths) * ratio.of(paths, r)).min(1.0 / paths[r].w),
            Law::Emreno => EnergyRatio::Energy.of(paths, r) * rate_term(paths, r),
            Law::Eemptcp {
                inverse_loss,
                cap_total,
            } => {
                let total = lia(paths, r) + eemptcp_beta(paths, r, inverse_loss) / paths[r].w;
                if cap_total {
                    total.min(1.0 / paths[r].w)
                } else {
                    total
                }
            }
            Law::Dts {
                c, shape, latest, ..
            } => {
                let path = &paths[r];
                let tau = if latest { path.tau_last } else { path.tau };
                let u = (path.tau_base / tau).min(1.0);
                c * shape.epsilon(u) * path.w / (tau * tau) / square(total_rate(paths))
            }
        }
    }

    /// The price term of extended DTS: reduction of the window per packet acknowledged, packets.
    pub fn drain(&self, paths: &[Path], r: usize) -> f64 {
        match self.acting(paths, r) {
            Law::Dts { kappa, .. } => kappa * paths[r].w * paths[r].u,
            _ => 0.0,
        }
    }

    /// `δ_r`: change of the window per packet acknowledged in congestion avoidance, packets. For
    /// wVegas: per round.
    pub fn increase(&self, paths: &[Path], r: usize) -> f64 {
        self.growth(paths, r) - self.drain(paths, r)
    }

    /// `β_r`: part of the window lost at a loss.
    pub fn decrease(&self, paths: &[Path], r: usize) -> f64 {
        match self.acting(paths, r) {
            Law::Cubic => 0.3,
            Law::Westwood => 1.0 - (paths[r].tau_base / paths[r].tau).min(1.0),
            Law::Coupled {
                takes_total: true, ..
            } => total_window(paths) / (2.0 * paths[r].w),
            Law::Balia { kernel_quirk } => {
                let exact = fastest(paths) / paths[r].x();
                let alpha = if kernel_quirk {
                    (exact * (1.0 + EQUAL)).floor()
                } else {
                    exact
                };
                0.5 * alpha.min(1.5)
            }
            Law::Mveno { beta, random_keep } if !is_congested(&paths[r], beta) => 1.0 - random_keep,
            _ => 0.5,
        }
    }

    /// Minimum window after a loss.
    pub fn floor(&self, paths: &[Path], r: usize) -> WindowFloor {
        match self.acting(paths, r) {
            Law::Olia
            | Law::Balia { .. }
            | Law::Coupled {
                takes_total: true, ..
            } => WindowFloor::One,
            _ => WindowFloor::Two,
        }
    }

    /// The window after a fast retransmit, packets, before rounding.
    pub fn window_after_loss(&self, paths: &[Path], r: usize) -> f64 {
        let left = paths[r].w - paths[r].w * self.decrease(paths, r);
        left.max(self.floor(paths, r).packets())
    }

    /// `ψ_r` of 002, eq. (3).
    pub fn psi(&self, paths: &[Path], r: usize) -> f64 {
        let Path { w, tau, .. } = paths[r];
        self.growth(paths, r) * square(tau * total_rate(paths)) / w
    }

    /// `φ_r` of 002, eq. (3), packets/s².
    pub fn phi(&self, paths: &[Path], r: usize) -> f64 {
        self.drain(paths, r) * paths[r].x() / paths[r].tau
    }
}

fn square(value: f64) -> f64 {
    value * value
}

fn maximum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

fn minimum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// `W`, packets.
pub fn total_window(paths: &[Path]) -> f64 {
    paths.iter().map(|path| path.w).sum()
}

/// `X`, packets/s.
pub fn total_rate(paths: &[Path]) -> f64 {
    paths.iter().map(Path::x).sum()
}

/// `max_k x_k`
fn fastest(paths: &[Path]) -> f64 {
    maximum(paths.iter().map(Path::x))
}

/// `A = max_k(w_k/τ_k²) / X²` (RFC 6356), packets.
pub fn linked(paths: &[Path]) -> f64 {
    maximum(paths.iter().map(|path| path.w / square(path.tau))) / square(total_rate(paths))
}

/// `(w_r/τ_r²)/X²`: the increase for ψ = 1, packets.
pub fn rate_term(paths: &[Path], r: usize) -> f64 {
    paths[r].w / square(paths[r].tau) / square(total_rate(paths))
}

fn lia(paths: &[Path], r: usize) -> f64 {
    linked(paths).min(1.0 / paths[r].w)
}

/// RFC 9438 with `t = 0`, `K = 0`, `W_max = w`.
fn cubic(path: &Path) -> f64 {
    (0.4 * path.tau * path.tau * path.tau).min(path.w / 2.0) / path.w
}

fn olia_alpha(paths: &[Path], r: usize) -> f64 {
    let quality = |path: &Path| path.l / square(path.tau);
    let best_quality = maximum(paths.iter().map(quality));
    let is_best = |k: usize| quality(&paths[k]) >= best_quality * (1.0 - EQUAL);
    let largest_window = maximum(paths.iter().map(|path| path.w));
    let is_largest = |k: usize| paths[k].w == largest_window;
    let collected = (0..paths.len())
        .filter(|&k| is_best(k) && !is_largest(k))
        .count() as f64;
    let n = paths.len() as f64;
    if collected == 0.0 {
        0.0
    } else if is_largest(r) {
        -1.0 / (n * (0..paths.len()).filter(|&k| is_largest(k)).count() as f64)
    } else if is_best(r) {
        1.0 / (n * collected)
    } else {
        0.0
    }
}

fn dwc(paths: &[Path], r: usize, all_in_one: bool) -> f64 {
    let group = || {
        paths
            .iter()
            .filter(|path| all_in_one || path.group == paths[r].group)
    };
    let n = group().count() as f64;
    let total: f64 = group().map(|path| path.w).sum();
    paths[r].tau / minimum(group().map(|path| path.tau)) / (n * total)
}

/// Packets queued on the path, by its RTT.
fn backlog(path: &Path, rtt: f64) -> f64 {
    path.w * (rtt - path.tau_base).max(0.0) / rtt
}

fn is_congested(path: &Path, beta: f64) -> bool {
    backlog(path, path.tau) >= beta * (1.0 - EQUAL)
}

fn wvegas(paths: &[Path], r: usize, total_alpha: f64) -> f64 {
    let queued = backlog(&paths[r], paths[r].tau_last);
    let mut alpha = WVEGAS_LEAST_ALPHA;
    if queued >= alpha {
        alpha = (paths[r].x() / total_rate(paths) * total_alpha)
            .floor()
            .max(WVEGAS_LEAST_ALPHA);
    }
    if queued > alpha {
        -1.0
    } else if queued < alpha {
        1.0
    } else {
        0.0
    }
}

impl EnergyRatio {
    /// The factor of path `r`; 1 if the energy cost is unknown.
    fn of(self, paths: &[Path], r: usize) -> f64 {
        match self {
            EnergyRatio::Energy => {
                let cheapest = minimum(paths.iter().map(|path| path.e).filter(|&e| e > 0.0));
                if paths[r].e > 0.0 {
                    cheapest / paths[r].e
                } else {
                    1.0
                }
            }
            EnergyRatio::Delivery => {
                (1.0 - paths[r].p) / maximum(paths.iter().map(|path| 1.0 - path.p))
            }
            EnergyRatio::Seed002 => {
                let fastest = fastest(paths);
                let h = paths
                    .iter()
                    .position(|path| path.x() >= fastest * (1.0 - EQUAL))
                    .unwrap_or(r);
                paths[r].p / paths[h].p
            }
        }
    }
}

/// `β^E_r = ω_r/Σω − w_r/W`, `ω_r = τ_r α_r g(p_r)`
fn eemptcp_beta(paths: &[Path], r: usize, inverse_loss: bool) -> f64 {
    let g = |path: &Path| {
        if inverse_loss {
            1.0 / path.p
        } else {
            1.0 / (1.0 - path.p)
        }
    };
    let omega = |path: &Path| path.tau * path.alpha * g(path);
    let targets: f64 = paths.iter().map(omega).sum();
    if targets > 0.0 {
        omega(&paths[r]) / targets - paths[r].w / total_window(paths)
    } else {
        0.0
    }
}

impl Shape {
    /// `ε(u)`, `u = τ⁰/τ`
    fn epsilon(self, u: f64) -> f64 {
        let z = 10.0 * u - 5.0;
        let fraction = |n: f64| 2.0 * n / (100.0 + n);
        let intended = |z: f64| fraction(100.0 * (1.0 + z) + 50.0 * z * z + 17.0 * z * z * z);
        match self {
            Shape::Intended if z < 0.0 => 2.0 - intended(-z),
            Shape::Intended => intended(z),
            Shape::Literal => fraction(100.0 * (1.0 + z + 50.0 * z * z + 17.0 * z * z * z)),
            Shape::Sigmoid => 2.0 / (1.0 + libm::exp(-z)),
        }
    }
}
