//! ES-MPTCP (001, section IV): the set of paths with the best trade of throughput for energy,
//! chosen again every round.
//!
//! ```text
//!            Σ X̄_i          E_k                     k: the first k paths by b + θ/x
//!   O_k  =  ───────  −  μ ───────     normalised    X̄: what LIA carries on these k paths
//!            X_ref         E_ref                    E_k = T_k Σ (b X̄ + θ),  T_k = r₀ τ_k on the slowest
//! ```
//! X_ref is the largest Σ X̄, E_ref the least E.
//!
//! Deviations:
//! - 001-1: the paper subtracts joules from Mbit/s; the default is the normalised form, `literal_W`
//!   and `literal_mW` are options;
//! - 001-3: the rate carried so far limits a path without losses;
//! - 001-4: O starts at −∞, so some set is always chosen; 001-5: X̄ is of the k chosen paths;
//! - a path without an RTT sample keeps its use; for endless data E is joules per bit;
//! - 001 does not say what happens to the other paths: they are closed (`unused=backup`: MP_PRIO).

use joulepath_model::units::Nanos;

use super::lia::{LossyPath, lia_rates_pps};
use super::selector::PathSelector;
use super::snapshot::{Demand, PathState, Snapshot};
use super::uses::{Use, Uses, only};
use crate::options::{self, OptionError, PartInfo};

/// Minimum time between two decisions.
const SHORTEST_ROUND: Nanos = Nanos::from_millis(10);

/// The maximised objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Throughput and energy relative to the best of the sets.
    #[default]
    Normalised,
    /// Mbit/s less joules.
    LiteralWatts,
    /// Mbit/s less millijoules.
    LiteralMilliwatts,
}

/// The candidate sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subsets {
    /// The first k by cost, as in the paper.
    #[default]
    Prefixes,
    /// Every set of paths.
    All,
}

/// The selector of 001.
#[derive(Clone, Debug, PartialEq)]
pub struct Es {
    /// The maximised objective.
    pub objective: Objective,
    /// The candidate sets.
    pub subsets: Subsets,
    /// Weight of energy in the normalised form.
    pub mu: f64,
    /// Use of the paths that are not chosen.
    pub unused: Use,
}

impl Default for Es {
    fn default() -> Self {
        Es {
            objective: Objective::default(),
            subsets: Subsets::default(),
            mu: 1.0,
            unused: Use::Closed,
        }
    }
}

/// One set with its expected rate and energy.
#[derive(Clone, Debug)]
struct Expectation {
    set: Vec<usize>,
    /// Σ X̄, bit/s.
    rate_bps: f64,
    /// E, J; J/bit for endless data.
    energy_j: f64,
}

impl PathSelector for Es {
    const INFO: PartInfo = PartInfo::verified(
        "es-mptcp",
        "the paths with the best trade of throughput for energy, anew every round",
        &["objective", "subsets", "mu", "unused"],
        "001",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let known = |i: &usize| snapshot.paths[*i].srtt_s > 0.0;
        let (mut known, untried): (Vec<usize>, Vec<usize>) =
            snapshot.usable().into_iter().partition(known);
        if known.is_empty() || snapshot.demand == Demand::Bytes(0.0) {
            return self.keep(snapshot, &untried);
        }
        let rate_bps =
            |i: usize| snapshot.paths[i].cwnd / snapshot.paths[i].srtt_s * snapshot.mss_bytes * 8.0;
        let cost = |i: usize| snapshot.paths[i].energy.per_bit(rate_bps(i));
        known.sort_by(|&i, &j| cost(i).total_cmp(&cost(j)));
        let sets: Vec<Expectation> = self
            .sets(&known)
            .into_iter()
            .map(|set| expectation(snapshot, set))
            .collect();
        let best = self.best(&sets);
        only(&[best.set.as_slice(), &untried].concat(), self.unused)
    }

    /// The RTT of the slowest path.
    fn period(&self, snapshot: &Snapshot) -> Nanos {
        let slowest = snapshot
            .paths
            .iter()
            .map(|path| path.srtt_s)
            .fold(0.0, f64::max);
        Nanos::from_secs_f64(slowest).max(SHORTEST_ROUND)
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        let bad = |option, expected| {
            Err(OptionError::BadValue {
                option,
                value: value.to_owned(),
                expected,
            })
        };
        match (option, value) {
            ("objective", "normalised") => self.objective = Objective::Normalised,
            ("objective", "literal_W") => self.objective = Objective::LiteralWatts,
            ("objective", "literal_mW") => self.objective = Objective::LiteralMilliwatts,
            ("objective", _) => {
                return bad("objective", "`normalised`, `literal_W` or `literal_mW`");
            }
            ("subsets", "prefixes") => self.subsets = Subsets::Prefixes,
            ("subsets", "all") => self.subsets = Subsets::All,
            ("subsets", _) => return bad("subsets", "`prefixes` or `all`"),
            ("unused", "close") => self.unused = Use::Closed,
            ("unused", "backup") => self.unused = Use::Backup,
            ("unused", _) => return bad("unused", "`close` or `backup`"),
            ("mu", _) => self.mu = options::positive("mu", value)?,
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl Es {
    /// Tries the paths without an RTT; the others keep their use.
    fn keep(&self, snapshot: &Snapshot, untried: &[usize]) -> Uses {
        let mut uses = only(untried, self.unused);
        for (wanted, path) in uses.iter_mut().zip(snapshot.paths) {
            if path.state == PathState::Open && !path.backup {
                *wanted = Use::Regular;
            }
        }
        uses
    }

    fn sets(&self, sorted: &[usize]) -> Vec<Vec<usize>> {
        match self.subsets {
            Subsets::Prefixes => (1..=sorted.len()).map(|k| sorted[..k].to_vec()).collect(),
            Subsets::All => {
                let members = |mask: usize| {
                    let bits = sorted
                        .iter()
                        .enumerate()
                        .filter(move |(bit, _)| mask >> bit & 1 == 1);
                    bits.map(|(_, &i)| i).collect()
                };
                (1..1 << sorted.len()).map(members).collect()
            }
        }
    }

    /// The set with the largest objective; the first on a tie. `sets` is not empty.
    fn best<'a>(&self, sets: &'a [Expectation]) -> &'a Expectation {
        let scores = self.objectives(sets);
        let mut best = 0;
        for (k, &score) in scores.iter().enumerate() {
            if score > scores[best] {
                best = k;
            }
        }
        &sets[best]
    }

    fn objectives(&self, sets: &[Expectation]) -> Vec<f64> {
        let reference_bps = sets.iter().map(|set| set.rate_bps).fold(0.0, f64::max);
        let reference_j = sets
            .iter()
            .map(|set| set.energy_j)
            .fold(f64::INFINITY, f64::min);
        let objective = |set: &Expectation| match self.objective {
            Objective::Normalised => {
                set.rate_bps / reference_bps
                    - self.mu * set.energy_j / reference_j.max(f64::MIN_POSITIVE)
            }
            Objective::LiteralWatts => set.rate_bps / 1e6 - set.energy_j,
            Objective::LiteralMilliwatts => set.rate_bps / 1e6 - set.energy_j * 1e3,
        };
        sets.iter().map(objective).collect()
    }
}

fn expectation(snapshot: &Snapshot, set: Vec<usize>) -> Expectation {
    let packet_bits = snapshot.mss_bytes * 8.0;
    let lossy = |&i: &usize| {
        let path = &snapshot.paths[i];
        // A path without losses may lose its next packet.
        let carried = path.delivered_bytes as f64 / snapshot.mss_bytes;
        let loss = if path.loss > 0.0 {
            path.loss
        } else {
            1.0 / carried.max(snapshot.initial_window)
        };
        let capacity_bps = if path.capacity_bps > 0.0 {
            path.capacity_bps
        } else {
            f64::INFINITY
        };
        LossyPath {
            loss,
            rtt_s: path.srtt_s,
            capacity_pps: capacity_bps / packet_bits,
        }
    };
    let lossy: Vec<LossyPath> = set.iter().map(lossy).collect();
    let rates_pps = lia_rates_pps(&lossy);
    let total_pps: f64 = rates_pps.iter().sum();
    let power = |(&i, &x): (&usize, &f64)| snapshot.paths[i].energy.power_w(x * packet_bits);
    let power_w: f64 = set.iter().zip(&rates_pps).map(power).sum();
    let slowest = (0..set.len()).fold(0, |a, b| {
        if lossy[b].rtt_s > lossy[a].rtt_s {
            b
        } else {
            a
        }
    });
    let rate_bps = total_pps * packet_bits;
    let energy_j = match snapshot.demand {
        Demand::Endless => power_w / rate_bps,
        Demand::Bytes(bytes) => {
            let share = bytes / snapshot.mss_bytes * rates_pps[slowest] / total_pps;
            let window = rates_pps[slowest] * lossy[slowest].rtt_s;
            power_w * rounds(share, snapshot.initial_window, window) * lossy[slowest].rtt_s
        }
    };
    Expectation {
        set,
        rate_bps,
        energy_j,
    }
}

/// r₀: number of windows for this many packets. The first window is `initial`, each next one
/// doubles, limited to the whole packets of `most`.
fn rounds(packets: f64, initial: f64, most: f64) -> f64 {
    let most = most.floor().max(1.0);
    let (mut window, mut left, mut rounds) = (initial.min(most), packets, 0.0);
    while window < most && left > 0.0 {
        left -= window;
        rounds += 1.0;
        window = (2.0 * window).min(most);
    }
    (rounds + (left / window).max(0.0).ceil()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::PathSnapshot;
    use super::super::tests::at;
    use super::*;
    use crate::energy::PathEnergy;

    /// Tables 2 and 3 of 001: WLAN 25 Mbit/s, 1 %, 25 ms; 3G 5 Mbit/s, no loss, 65 ms. WLAN alone
    /// carries 6.61 Mbit/s.
    fn paths() -> [PathSnapshot; 2] {
        let energy = |slope_mw, sunk_mw: f64| PathEnergy {
            slope_j_per_bit: slope_mw * 1e-9,
            sunk_w: sunk_mw / 1e3,
            ..PathEnergy::default()
        };
        let path = |energy, srtt_s, loss, capacity_bps| PathSnapshot {
            state: PathState::Open,
            usable: true,
            srtt_s,
            cwnd: 10.0,
            loss,
            capacity_bps,
            delivered_bytes: 1 << 40,
            energy,
            ..PathSnapshot::default()
        };
        [
            path(energy(137.0, 132.9), 0.025, 0.01, 25e6),
            path(energy(122.1, 817.9), 0.065, 0.0, 5e6),
        ]
    }

    fn snapshot(bytes: f64, paths: &[PathSnapshot]) -> Snapshot<'_> {
        at(0.0, Demand::Bytes(bytes), paths)
    }

    fn objectives(objective: Objective, bytes: f64) -> Vec<f64> {
        let paths = paths();
        let snapshot = snapshot(bytes, &paths);
        let sets = [vec![0], vec![0, 1]].map(|set| expectation(&snapshot, set));
        Es {
            objective,
            ..Es::default()
        }
        .objectives(&sets)
    }

    #[test]
    fn the_objectives_of_the_papers_own_paths_are_these() {
        // algorithms.md, 5.11: rates clamped to 6.61, and to 1.81 + 5.00 Mbit/s.
        for (kilobytes, literal, normalised) in [
            (16.0, [6.555, 6.693], [-0.03, -1.27]),
            (64.0, [6.503, 6.457], [-0.03, -2.40]),
            (256.0, [6.270, 6.105], [-0.03, -1.09]),
            (600.0, [5.829, 5.281], [-0.03, -0.96]),
            (1000.0, [5.310, 4.458], [-0.03, -0.81]),
        ] {
            let found = objectives(Objective::LiteralWatts, kilobytes * 1e3);
            assert!(
                found
                    .iter()
                    .zip(literal)
                    .all(|(a, b)| (a - b).abs() < 0.002),
                "{kilobytes}: {found:?}"
            );
            let found = objectives(Objective::Normalised, kilobytes * 1e3);
            assert!(
                found
                    .iter()
                    .zip(normalised)
                    .all(|(a, b)| (a - b).abs() < 0.01),
                "{kilobytes}: {found:?}"
            );
            // In milliwatts energy dominates: every objective is negative (defect 001-4).
            assert!(
                objectives(Objective::LiteralMilliwatts, kilobytes * 1e3)
                    .iter()
                    .all(|&o| o < 0.0)
            );
        }
    }

    #[test]
    fn windows_double_up_to_what_the_path_carries() {
        // 10 + 2 · 14 < 43.8 ≤ 10 + 3 · 14; 10 + 20 < 32.2 ≤ 10 + 20 + 27.
        assert_eq!(rounds(43.8, 10.0, 14.14), 4.0);
        assert_eq!(rounds(32.2, 10.0, 27.8), 3.0);
        assert_eq!(rounds(3.0, 10.0, 27.8), 1.0);
        assert_eq!(rounds(9.0, 10.0, 3.0), 3.0);
    }

    #[test]
    fn the_wlan_alone_is_chosen_for_all_but_what_the_literal_form_makes_of_tiny_files() {
        let want = |objective, bytes| {
            let mut es = Es {
                objective,
                ..Es::default()
            };
            es.want(&snapshot(bytes, &paths()))[..2].to_vec()
        };
        let (wlan, both) = ([Use::Regular, Use::Closed], [Use::Regular, Use::Regular]);
        assert_eq!(want(Objective::Normalised, 16e3), wlan);
        assert_eq!(want(Objective::Normalised, 1e6), wlan);
        assert_eq!(want(Objective::LiteralWatts, 16e3), both);
        assert_eq!(want(Objective::LiteralWatts, 64e3), wlan);
    }
}
