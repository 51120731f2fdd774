//! Every controller's increase in floating point, straight from its definition and in the paper's symbols.
//!
//! An independent witness for the fixed-point code of `cc/`: it shares nothing with it. Windows in packets, times in
//! seconds. With fewer than two established subflows every coupled controller is NewReno.

use crate::{Connection, Controller, MAX_SUBFLOWS, ParamValue, Subflow};

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
    /// `α_r`: share of the traffic that the path shall carry.
    pub alpha: f64,
    /// `U_r`: price of the path.
    pub u: f64,
}

impl Path {
    /// `x_r = w_r / τ_r`, packets/s.
    fn x(&self) -> f64 {
        self.w / self.tau
    }

    fn of(subflow: &Subflow) -> Self {
        let own = &subflow.own;
        let window = if subflow.flags & Subflow::RECOVERY != 0 { subflow.ssthresh } else { subflow.cwnd };
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
        }
    }
}

fn seconds(us: u32) -> f64 {
    f64::from(us) * 1e-6
}

/// What a controller's definition says about a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// What the numbers of `increase` are: the formula, and per ACK or per what.
    pub text: &'static str,
    /// Change of each established subflow's window, packets.
    pub increase: Vec<f64>,
    /// Each established subflow's window after a fast retransmit, packets, before rounding.
    pub window_after_loss: Vec<f64>,
}

/// Evaluates the definition of `controller` for the established subflows of `connection`, in their order.
pub fn evaluate(controller: Controller, connection: &Connection) -> Formula {
    let in_use = (connection.n as usize).min(MAX_SUBFLOWS);
    let paths: Vec<Path> = connection.subflows[..in_use]
        .iter()
        .filter(|subflow| subflow.flags & Subflow::ESTABLISHED != 0 && subflow.srtt_us > 0)
        .map(Path::of)
        .collect();
    let parameters = Parameters { controller, connection };
    let (text, increase, decrease) = definition(controller.name());
    let (increase, decrease) = match (paths.len(), controller.name()) {
        (0 | 1, name) if !matches!(name, "cubic" | "wvegas") => (reno as Increase, half as Decrease),
        _ => (increase, decrease),
    };
    Formula {
        text,
        increase: (0..paths.len()).map(|r| increase(&paths, r, &parameters)).collect(),
        window_after_loss: (0..paths.len()).map(|r| decrease(&paths, r, &parameters)).collect(),
    }
}

type Increase = fn(&[Path], usize, &Parameters<'_>) -> f64;
type Decrease = fn(&[Path], usize, &Parameters<'_>) -> f64;

fn definition(name: &str) -> (&'static str, Increase, Decrease) {
    match name {
        "cubic" => (
            "at the start of an epoch without a maximum above w: min(C τ_r³, w_r/2) / w_r per ACK",
            cubic,
            cubic_loss,
        ),
        "dctcp" => ("1/w_r per ACK; after a loss w_r/2, after a mark w_r (1 − α/2)", reno, half),
        "ewtcp" => ("a/w_r per ACK", ewtcp, half),
        "coupled" => ("1/W, or w_r^(1−ε)/W^(2−ε), per ACK", coupled, coupled_loss),
        "lia" => ("min(A, 1/w_r) per ACK, A = max_k(w_k/τ_k²)/X²", lia, half),
        "olia" => ("(w_r/τ_r²)/X² + α_r/w_r per ACK", olia, half_to_one),
        "balia" => ("x_r/(τ_r X²) · (1+α_r)/2 · (4+α_r)/5 per ACK, α_r = max_k x_k/x_r", balia, balia_loss),
        "dwc" => ("τ_r/min_g τ / (n_g W_g) per ACK, for all subflows as one group; alone 1/w_r", dwc, half),
        "wvegas" => {
            ("at the end of the next RTT round: +1, 0 or −1 by the backlog against α_r", wvegas, half)
        }
        "mveno" => ("min(A, 1/w_r) per ACK, half of it where the backlog is β or more", mveno, mveno_loss),
        "ecmtcp" => ("min(A e_min/e_r, 1/w_r) per ACK", ecmtcp, half),
        "emreno" => ("e_min/e_r · (w_r/τ_r²)/X² per ACK", emreno, half),
        "eemptcp" => ("min(A, 1/w_r) + β_r/w_r per ACK, β_r = ω_r/Σω − w_r/W", eemptcp, half),
        "dts" => ("c ε_r (w_r/τ_r²)/X² per ACK", dts, half),
        "edts" => ("c ε_r (w_r/τ_r²)/X² − κ w_r U_r per ACK", edts, half),
        "cwa" => {
            ("min(A, 1/w_r) per ACK as LIA; each period the slowest path also divides w by θ", lia, half)
        }
        _ => ("1/w_r per ACK", reno, half),
    }
}

/// The parameters of the controller in this connection.
struct Parameters<'a> {
    controller: Controller,
    connection: &'a Connection,
}

impl Parameters<'_> {
    fn value(&self, name: &str) -> ParamValue {
        self.controller
            .param_value(self.connection, name)
            .expect("the formula names parameters of its controller")
    }

    fn is(&self, name: &str, word: &'static str) -> bool {
        self.value(name) == ParamValue::Word(word)
    }

    fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            ParamValue::Number(number) => number,
            ParamValue::Word(word) => panic!("parameter {name} is the word {word}"),
        }
    }
}

/// `W`
fn total_window(paths: &[Path]) -> f64 {
    paths.iter().map(|path| path.w).sum()
}

/// `X`
fn total_rate(paths: &[Path]) -> f64 {
    paths.iter().map(Path::x).sum()
}

fn maximum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

fn minimum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// `A = max_k(w_k/τ_k²) / X²` (RFC 6356)
fn linked(paths: &[Path]) -> f64 {
    maximum(paths.iter().map(|path| path.w / path.tau.powi(2))) / total_rate(paths).powi(2)
}

fn reno(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    1.0 / paths[r].w
}

fn half(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    (paths[r].w / 2.0).max(2.0)
}

fn half_to_one(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    (paths[r].w / 2.0).max(1.0)
}

/// RFC 9438 with `t = 0`, `K = 0`, `W_max = w`.
fn cubic(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    let Path { w, tau, .. } = paths[r];
    (0.4 * tau.powi(3)).min(w / 2.0) / w
}

fn cubic_loss(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    (0.7 * paths[r].w).max(2.0)
}

fn ewtcp(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let n = paths.len() as f64;
    let a = match parameters.value("a") {
        ParamValue::Word("1/n^2") => n.powi(-2),
        ParamValue::Word(_) => n.sqrt().recip(),
        ParamValue::Number(a) => a,
    };
    a / paths[r].w
}

fn coupled(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let total = total_window(paths);
    let epsilon = match parameters.value("epsilon") {
        ParamValue::Word("seed") => 0.0,
        ParamValue::Word("uncoupled") => 2.0,
        ParamValue::Word(_) => 1.0,
        ParamValue::Number(epsilon) => epsilon,
    };
    paths[r].w.powf(1.0 - epsilon) / total.powf(2.0 - epsilon)
}

fn coupled_loss(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    if parameters.is("epsilon", "classic") {
        (paths[r].w - total_window(paths) / 2.0).max(1.0)
    } else {
        half(paths, r, parameters)
    }
}

fn lia(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    linked(paths).min(1.0 / paths[r].w)
}

/// `(w_r/τ_r²)/X²`
fn rate_term(paths: &[Path], r: usize) -> f64 {
    paths[r].w / paths[r].tau.powi(2) / total_rate(paths).powi(2)
}

fn olia(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    let quality = |path: &Path| path.l / path.tau.powi(2);
    let best_quality = maximum(paths.iter().map(quality));
    let best: Vec<bool> = paths.iter().map(|path| quality(path) >= best_quality * (1.0 - EQUAL)).collect();
    let largest_window = maximum(paths.iter().map(|path| path.w));
    let largest: Vec<bool> = paths.iter().map(|path| path.w == largest_window).collect();
    let collected = (0..paths.len()).filter(|&k| best[k] && !largest[k]).count() as f64;
    let n = paths.len() as f64;
    let alpha = if collected == 0.0 {
        0.0
    } else if best[r] && !largest[r] {
        1.0 / (n * collected)
    } else if largest[r] {
        -1.0 / (n * largest.iter().filter(|&&largest| largest).count() as f64)
    } else {
        0.0
    };
    rate_term(paths, r) + alpha / paths[r].w
}

fn balia(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    let alpha = maximum(paths.iter().map(Path::x)) / paths[r].x();
    paths[r].x() / (paths[r].tau * total_rate(paths).powi(2)) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
}

fn balia_loss(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let exact = maximum(paths.iter().map(Path::x)) / paths[r].x();
    let alpha = if parameters.is("kernel_quirk", "on") { (exact * (1.0 + EQUAL)).floor() } else { exact };
    (paths[r].w - paths[r].w / 2.0 * alpha.min(1.5)).max(1.0)
}

fn dwc(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    if parameters.is("groups", "all") {
        let n = paths.len() as f64;
        paths[r].tau / minimum(paths.iter().map(|path| path.tau)) / (n * total_window(paths))
    } else {
        1.0 / paths[r].w
    }
}

/// Relative difference below which two sides of a comparison count as equal: the integers compare exactly.
const EQUAL: f64 = 1e-9;

/// Packets queued on the path by its RTT.
fn backlog(path: &Path, rtt: f64) -> f64 {
    path.w * (rtt - path.tau_base).max(0.0) / rtt
}

fn wvegas(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let queued = backlog(&paths[r], paths[r].tau_last);
    let mut alpha = 2.0;
    if queued >= alpha {
        let share = paths[r].x() / total_rate(paths);
        alpha = (share * parameters.number("total_alpha")).floor().max(2.0);
    }
    if queued > alpha {
        -1.0
    } else if queued < alpha {
        1.0
    } else {
        0.0
    }
}

fn mveno(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let congested = backlog(&paths[r], paths[r].tau) >= parameters.number("beta") * (1.0 - EQUAL);
    lia(paths, r, parameters) * if congested { 0.5 } else { 1.0 }
}

fn mveno_loss(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let congested = backlog(&paths[r], paths[r].tau) >= parameters.number("beta") * (1.0 - EQUAL);
    (paths[r].w * if congested { 0.5 } else { parameters.number("random_keep") }).max(2.0)
}

/// `e_min/e_r`; 1 where the cost is unknown.
fn energy_ratio(paths: &[Path], r: usize) -> f64 {
    let cheapest = minimum(paths.iter().map(|path| path.e).filter(|&e| e > 0.0));
    if paths[r].e > 0.0 { cheapest / paths[r].e } else { 1.0 }
}

fn ecmtcp(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let ratio = match parameters.value("ratio") {
        ParamValue::Word("delivery") => (1.0 - paths[r].p) / maximum(paths.iter().map(|path| 1.0 - path.p)),
        ParamValue::Word("seed002") => {
            let fastest = maximum(paths.iter().map(Path::x));
            let h = paths.iter().position(|path| path.x() >= fastest * (1.0 - EQUAL)).unwrap_or(r);
            paths[r].p / paths[h].p
        }
        _ => energy_ratio(paths, r),
    };
    (linked(paths) * ratio).min(1.0 / paths[r].w)
}

fn emreno(paths: &[Path], r: usize, _: &Parameters<'_>) -> f64 {
    energy_ratio(paths, r) * rate_term(paths, r)
}

fn eemptcp(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let literal = parameters.is("g", "inv_p");
    let g = |path: &Path| if literal { 1.0 / path.p } else { 1.0 / (1.0 - path.p) };
    let omega = |path: &Path| path.tau * path.alpha * g(path);
    let targets: f64 = paths.iter().map(omega).sum();
    let beta =
        if targets > 0.0 { omega(&paths[r]) / targets - paths[r].w / total_window(paths) } else { 0.0 };
    let total = lia(paths, r, parameters) + beta / paths[r].w;
    if parameters.is("cap_total", "on") { total.min(1.0 / paths[r].w) } else { total }
}

/// `ε(u)` by shape, `u = τ⁰/τ`
fn epsilon(u: f64, parameters: &Parameters<'_>) -> f64 {
    let z = 10.0 * u - 5.0;
    let fraction = |n: f64| 2.0 * n / (100.0 + n);
    let intended = |z: f64| fraction(100.0 * (1.0 + z) + 50.0 * z * z + 17.0 * z.powi(3));
    match parameters.value("shape") {
        ParamValue::Word("intended") if z < 0.0 => 2.0 - intended(-z),
        ParamValue::Word("intended") => intended(z),
        ParamValue::Word("literal") => fraction(100.0 * (1.0 + z + 50.0 * z * z + 17.0 * z.powi(3))),
        _ => 2.0 / (1.0 + (-z).exp()),
    }
}

fn dts(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    let path = &paths[r];
    let tau = if parameters.is("rtt", "latest") { path.tau_last } else { path.tau };
    let u = (path.tau_base / tau).min(1.0);
    parameters.number("c") * epsilon(u, parameters) * path.w / tau.powi(2) / total_rate(paths).powi(2)
}

fn edts(paths: &[Path], r: usize, parameters: &Parameters<'_>) -> f64 {
    dts(paths, r, parameters) - parameters.number("kappa") * paths[r].w * paths[r].u
}
