//! Rates of several subflows of one connection in the long run.

use std::str::FromStr;

use super::course::Flow;
use crate::select::{LossyPath, lia_rates_pps};

/// How a connection's congestion control couples the windows of its subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coupling {
    /// Each subflow is a TCP of its own, as in Linux.
    #[default]
    Uncoupled,
    /// RFC 6356: all together are as fast as a TCP on the best path.
    Lia,
    /// Khalili et al. 2013: as LIA, and only the best paths carry data.
    Olia,
}

impl Coupling {
    /// All couplings.
    pub const ALL: [Coupling; 3] = [Coupling::Uncoupled, Coupling::Lia, Coupling::Olia];

    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Coupling::Uncoupled => "uncoupled",
            Coupling::Lia => "lia",
            Coupling::Olia => "olia",
        }
    }

    /// The policy that uses it on all paths.
    pub const fn policy(self) -> &'static str {
        match self {
            Coupling::Uncoupled => "uncoupled",
            Coupling::Lia => "mptcp",
            Coupling::Olia => "mptcp[cc=olia]",
        }
    }

    /// `flows`, the subflows of one connection, at the rates that the coupling leaves them.
    pub(super) fn couple(self, flows: &mut [Flow]) {
        if flows.len() < 2 {
            return;
        }
        match self {
            Coupling::Uncoupled => {}
            Coupling::Lia => lia(flows),
            Coupling::Olia => olia(flows),
        }
    }
}

impl FromStr for Coupling {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Coupling::ALL
            .into_iter()
            .find(|coupling| coupling.word() == word)
            .ok_or(())
    }
}

/// The closed form has the window √(2/p) of the mean field; the flows have Mathis' √(3/(2p)), and
/// stalls.
fn lia(flows: &mut [Flow]) {
    let path = |flow: &Flow| LossyPath {
        loss: flow.events,
        rtt_s: flow.rtt_s,
        capacity_pps: flow.link_pps / MATHIS,
    };
    let rates = lia_rates_pps(&flows.iter().map(path).collect::<Vec<_>>());
    for (flow, pps) in flows.iter_mut().zip(rates) {
        let alone_pps = (2.0 / flow.events).sqrt() / flow.rtt_s;
        // A full link loses packets of its queue, too: its rate is its capacity.
        if flow.events > 0.0 && flow.rtt_s > 0.0 {
            flow.steady_pps *= (pps / alone_pps).min(1.0);
        }
    }
}

/// The least window of a path that a coupling leaves unused, packets (RFC 5681).
const LEAST_WINDOW: f64 = 2.0;
/// Mathis' window over that of the mean field, √(3/4).
const MATHIS: f64 = 0.866_025_403_784_438_6;

/// In equilibrium all used paths are equally good, √(3/(2p))/τ = X, and together carry X; a path
/// that could be better is full, one that is worse is unused. Stalls and links do not count for how
/// good a path is.
fn olia(flows: &mut [Flow]) {
    let good_pps: Vec<f64> = flows
        .iter()
        .map(|flow| (1.5 / flow.events).sqrt() / flow.rtt_s)
        .collect();
    let mut best_first: Vec<usize> = (0..flows.len()).collect();
    best_first.sort_by(|&a, &b| good_pps[b].total_cmp(&good_pps[a]));
    let mut total_pps = 0.0;
    for r in best_first {
        let flow = &mut flows[r];
        let left_pps = (good_pps[r] - total_pps).max(0.0);
        total_pps += flow.lasting_pps().min(left_pps);
        if flow.events > 0.0 && flow.rtt_s > 0.0 {
            flow.steady_pps = flow.steady_pps.min(left_pps.max(LEAST_WINDOW / flow.rtt_s));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(coupling: Coupling, alone_pps: &[f64], link_pps: f64) -> Vec<f64> {
        let flow = |&steady_pps: &f64| {
            let window: f64 = 0.1 * steady_pps;
            Flow {
                rtt_s: 0.1,
                link_pps,
                steady_pps,
                events: 1.5 / (window * window),
                stalled: 0.0,
            }
        };
        let mut flows: Vec<Flow> = alone_pps.iter().map(flow).collect();
        coupling.couple(&mut flows);
        flows.iter().map(Flow::lasting_pps).collect()
    }

    fn assert_close(actual: &[f64], expected: &[f64]) {
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 * b;
        assert!(
            actual.iter().zip(expected).all(is_close),
            "{actual:?} ≠ {expected:?}"
        );
    }

    /// RFC 6356: all together as fast as the best, shares by 1/p, that is by the square of the
    /// rates.
    #[test]
    fn lia_shares_the_rate_of_the_best_path() {
        assert_close(&rates(Coupling::Lia, &[100.0, 100.0], 1e6), &[50.0, 50.0]);
        assert_close(&rates(Coupling::Lia, &[100.0, 200.0], 1e6), &[40.0, 160.0]);
        assert_close(
            &rates(Coupling::Uncoupled, &[100.0, 200.0], 1e6),
            &[100.0, 200.0],
        );
        assert_close(&rates(Coupling::Lia, &[100.0], 1e6), &[100.0]);
    }

    /// The worse path keeps two packets per round trip; if the better one is full, it adds what is
    /// left. Of the better one's link it is used(4/3) = 1 − 0.42 e^(−5 · 0.4097) = 0.9459.
    #[test]
    fn olia_uses_the_best_path_alone_unless_it_is_full() {
        assert_close(&rates(Coupling::Olia, &[100.0, 200.0], 1e6), &[20.0, 200.0]);
        assert_close(
            &rates(Coupling::Olia, &[190.0, 200.0], 150.0),
            &[190.0 - 141.88, 141.88],
        );
    }

    /// The link, not its few losses, limits the better path.
    #[test]
    fn olia_prefers_the_path_with_fewer_losses_even_if_its_link_is_slower() {
        let flow = |events: f64, steady_pps, link_pps| Flow {
            rtt_s: 0.1,
            link_pps,
            steady_pps,
            events,
            stalled: 0.0,
        };
        let mut flows = [flow(1.5e-4, 1000.0, 50.0), flow(1.5e-2, 100.0, 1e6)];
        Coupling::Olia.couple(&mut flows);
        assert_close(&flows.map(|flow| flow.lasting_pps()), &[50.0, 50.0]);
    }

    #[test]
    fn words_name_couplings() {
        for coupling in Coupling::ALL {
            assert_eq!(coupling.word().parse(), Ok(coupling));
        }
        assert_eq!("reno".parse::<Coupling>(), Err(()));
    }
}
