//! Closed forms: equilibria of one user on routes of fixed loss p_r and RTT τ_r.
//!
//! | controllers | condition for the equilibrium |
//! |---|---|
//! | Reno, DCTCP, EWTCP | w_r = √(a/(β p_r)) |
//! | CUBIC | the response function |
//! | LIA, ecMTCP, mVeno | w_r = min(A f_r/(β p_r), √(1/(β p_r))), A in [`linked_windows`] |
//! | DWC, Coupled's family | total window W of the group from Σ w_r = W |
//! | OLIA, emReno, DTS, Coupled | one route takes all; the other windows are at their minimum |
//!
//! Each of these controllers has exactly this equilibrium. The search starts from it and certifies
//! it like any other point. If a bound is missing here, such as the buffer, the search restarts
//! elsewhere.

use joulepath_controllers::formula::{EnergyRatio, Law, Path, linked};

use crate::form::{Form, RAMP, cubic_window};

/// Below this relative difference of two routes the closed form does not decide which of them takes
/// all.
const TIE: f64 = 1e-6;

/// Writes the windows at which `form` settles on `paths`, if there is a closed form, and returns
/// true if there is. The windows in `paths` are one packet; `least` is the minimum window, packets.
pub(crate) fn windows(form: Form, paths: &[Path], least: f64, windows: &mut [f64]) -> bool {
    match form.law().acting(paths, 0) {
        Law::Cubic => each(windows, |r| cubic_window(&paths[r])),
        // Without queueing it gives nothing back.
        Law::Westwood | Law::Wvegas { .. } => false,
        _ if paths.len() < 2 => each(windows, |r| uncoupled(form, paths, r)),
        Law::Reno | Law::Dctcp | Law::Ewtcp { .. } => each(windows, |r| uncoupled(form, paths, r)),
        // Without queueing no loss counts as congestion.
        Law::Mveno { beta, .. } if beta < 0.5 * RAMP => false,
        Law::Lia | Law::Hybrid | Law::Mveno { .. } => linked_windows(form, paths, windows),
        Law::Ecmtcp {
            ratio: EnergyRatio::Energy | EnergyRatio::Delivery,
        } => linked_windows(form, paths, windows),
        Law::Dwc { all_in_one } => {
            let weight = |path: &Path| path.tau / path.p;
            each(windows, |r| {
                let group = || {
                    paths
                        .iter()
                        .filter(|path| all_in_one || path.group == paths[r].group)
                };
                let (n, fastest) = group().fold((0.0, f64::INFINITY), |(n, least), path| {
                    (n + 1.0, path.tau.min(least))
                });
                // τ_r/(τ_min n W) = p_r w_r/2, summed: W² = 2 Σ (τ_k/p_k)/(τ_min n).
                let scale = 2.0 / (fastest * n);
                let total = (scale * group().map(weight).sum::<f64>()).sqrt();
                scale * weight(&paths[r]) / total
            })
        }
        Law::Coupled {
            epsilon,
            takes_total: false,
        } if epsilon > 0.0 && epsilon <= 2.0 => {
            // w_r^(1−ε)/W^(2−ε) = p_r w_r/2: w_r^ε = 2/p_r · W^(ε−2), summed: W^(2/ε) = Σ
            // (2/p_k)^(1/ε).
            let root = |path: &Path| libm::pow(2.0 / path.p, 1.0 / epsilon);
            let sum: f64 = paths.iter().map(root).sum();
            let factor = libm::pow(sum, (epsilon - 2.0) / 2.0);
            each(windows, |r| root(&paths[r]) * factor)
        }
        Law::Coupled {
            epsilon,
            takes_total,
        } if epsilon == f64::from(u8::from(takes_total)) => {
            takes_all(form, paths, least, |_| 1.0, windows)
        }
        Law::Olia | Law::Emreno | Law::Dts { .. } => {
            takes_all(form, paths, least, |path| path.tau, windows)
        }
        Law::Balia { .. }
        | Law::Coupled { .. }
        | Law::Cwa { .. }
        | Law::Ecmtcp { .. }
        | Law::Eemptcp { .. } => false,
    }
}

/// Writes all windows and returns true.
fn each(windows: &mut [f64], window: impl Fn(usize) -> f64) -> bool {
    windows
        .iter_mut()
        .enumerate()
        .for_each(|(r, place)| *place = window(r));
    true
}

/// a/w = β p w
fn uncoupled(form: Form, paths: &[Path], r: usize) -> f64 {
    let forces = form.forces(paths, r);
    (forces.growth / (forces.decrease * paths[r].p)).sqrt()
}

/// LIA with a factor f_r ≤ 1 for each route: min(A f_r, 1/w_r) = β p_r w_r, A = max_k(w_k/τ_k²)/X².
///
/// Let L be the routes where A f_r is less than 1/w_r. There w_r = A q_r with q_r = f_r/(β p_r); on
/// the others w_r = c_r = √(1/(β p_r)). The route with the largest w/τ² is in L, since A w = x²/X²
/// < 1 there. So with S = Σ_L q/τ, M = max_L q/τ² and C = Σ c/τ of the others
///
/// ```text
///   A (C + A S)² = A M,   A = (√M − C)/S
/// ```
/// A route is in L if A q_r < c_r. The function tries sets, starting from all routes, until one is
/// consistent with its A.
fn linked_windows(form: Form, paths: &[Path], windows: &mut [f64]) -> bool {
    // With windows of one packet A is less than 1, so no 1/w bounds the growth.
    let unit = linked(paths);
    let decrease = form.forces(paths, 0).decrease;
    let cap = |path: &Path| (1.0 / (decrease * path.p)).sqrt();
    // Temporarily store q_r in place of w_r.
    each(windows, |r| {
        form.forces(paths, r).growth / (unit * decrease * paths[r].p)
    });
    let mut a = 0.0;
    for _ in 0..=paths.len() {
        let before = a;
        let (mut sum, mut most, mut capped) = (0.0, 0.0f64, 0.0);
        for (path, &q) in paths.iter().zip(&*windows) {
            let cap = cap(path);
            if before * q < cap {
                sum += q / path.tau;
                most = most.max(q / (path.tau * path.tau));
            } else {
                capped += cap / path.tau;
            }
        }
        a = (most.sqrt() - capped) / sum;
        if a == before {
            windows
                .iter_mut()
                .zip(paths)
                .for_each(|(w, path)| *w = (a * *w).min(cap(path)));
            return true;
        }
    }
    false
}

/// The growth is ψ_r w_r/Z², Z = Σ w_k/m_k, with m = τ (Z is the total rate) or m = 1 (the total
/// window), times a constant of the route. The route that balances at the largest Z takes all.
fn takes_all(
    form: Form,
    paths: &[Path],
    least: f64,
    measure: impl Fn(&Path) -> f64,
    windows: &mut [f64],
) -> bool {
    let unit: f64 = paths.iter().map(|path| 1.0 / measure(path)).sum();
    let (mut best, mut second, mut winner) = (0.0, 0.0, 0);
    for (r, path) in paths.iter().enumerate() {
        let forces = form.forces(paths, r);
        // (Z/Z of windows of one packet)²
        let square = forces.growth / (forces.decrease * path.p + forces.drain);
        if square > best {
            (best, second, winner) = (square, best, r);
        } else {
            second = second.max(square);
        }
    }
    if second >= best * (1.0 - TIE) {
        return false;
    }
    let of_winner = 1.0 / measure(&paths[winner]);
    let left = unit * best.sqrt() - least * (unit - of_winner);
    each(
        windows,
        |r| if r == winner { left / of_winner } else { least },
    )
}
