//! LIA's rates on a set of paths, in closed form.

/// Bisection steps for a loss probability.
const BISECTIONS: u32 = 60;
/// Rounds over the paths; each settles one more path that is limited by its capacity.
const SWEEPS: usize = 16;
/// Minimum loss probability: a window of 14 million packets.
const LEAST_LOSS: f64 = 1e-14;

/// A path in the closed form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossyPath {
    /// Loss probability.
    pub loss: f64,
    /// RTT, s.
    pub rtt_s: f64,
    /// Its capacity, packets/s; infinite if unknown.
    pub capacity_pps: f64,
}

/// Rates of LIA's fixed point, packets/s:
///
/// w_r = (1/p_r) max_k(√(2/p_k)/τ_k) / Σ_k 1/(τ_k p_k),  x_r = w_r/τ_r (RFC 6356 in the mean field,
/// cap inactive).
///
/// If x_r exceeds the path's capacity, drop-tail losses raise p_r until they are equal (defect
/// 001-3): 001 would divide by zero on its own lossless 3G path.
pub fn lia_rates_pps(paths: &[LossyPath]) -> Vec<f64> {
    let mut loss: Vec<f64> = paths
        .iter()
        .map(|path| path.loss.clamp(LEAST_LOSS, 1.0))
        .collect();
    for _ in 0..SWEEPS {
        let mut settled = true;
        for i in 0..paths.len() {
            let before = loss[i];
            loss[i] = limited_loss(paths, &mut loss, i);
            settled &= (loss[i] - before).abs() <= 1e-12 * before;
        }
        if settled {
            break;
        }
    }
    fixed_point(paths, &loss)
}

/// The lowest loss of path `i`, at least its own, at which its rate is within its capacity.
fn limited_loss(paths: &[LossyPath], loss: &mut [f64], i: usize) -> f64 {
    let (mut low, mut high) = (paths[i].loss.clamp(LEAST_LOSS, 1.0), 1.0);
    let mut exceeds = |p: f64| {
        loss[i] = p;
        fixed_point(paths, loss)[i] > paths[i].capacity_pps
    };
    if !exceeds(low) {
        return low;
    }
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        if exceeds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn fixed_point(paths: &[LossyPath], loss: &[f64]) -> Vec<f64> {
    let pairs = || paths.iter().zip(loss).map(|(path, &p)| (path.rtt_s, p));
    let best = pairs()
        .map(|(tau, p)| (2.0 / p).sqrt() / tau)
        .fold(0.0, f64::max);
    let sum: f64 = pairs().map(|(tau, p)| 1.0 / (tau * p)).sum();
    pairs().map(|(tau, p)| best / (sum * p * tau)).collect()
}
