//! Explains the advice in one sentence.

use super::answer::Plan;
use super::question::{Path, Within};

/// A rival's promotions and tails are mentioned from this part of its energy on.
const WORTH_NAMING: f64 = 0.1;

/// Input of the sentence.
pub(super) struct Reason<'a> {
    pub(super) paths: &'a [Path],
    pub(super) best: &'a Plan,
    /// The cheapest plan without a deadline.
    pub(super) cheapest: &'a Plan,
    pub(super) fastest: &'a Plan,
    /// The cheapest plan on other paths, and its energy for promotions and tails in J.
    pub(super) rival: Option<(Plan, f64)>,
    pub(super) within: Within,
    /// Price of a second until the last byte, W.
    pub(super) price_w: f64,
}

impl Reason<'_> {
    pub(super) fn sentence(&self) -> String {
        let best = self.best;
        let mut text = format!("Use {}: {} J", self.names(best), significant(best.energy_j));
        match (&self.rival, self.within) {
            (_, Within::Deadline(deadline))
                if self.cheapest.seconds > deadline.as_secs_f64() * (1.0 + 1e-6) =>
            {
                text += &format!(
                    " within the deadline of {deadline}; {} would cost {} J, but take {} s",
                    self.names(self.cheapest),
                    significant(self.cheapest.energy_j),
                    significant(self.cheapest.seconds)
                );
            }
            _ if self.cheapest.energy_j < best.energy_j * (1.0 - 1e-6) => {
                text += &format!(
                    " in {} s; {} would cost {} J, but take {} s, and a second of waiting is worth {} J",
                    significant(best.seconds),
                    self.names(self.cheapest),
                    significant(self.cheapest.energy_j),
                    significant(self.cheapest.seconds),
                    self.price_w
                );
            }
            (Some((rival, uses_j)), _) => {
                text += &format!(
                    "; {} would cost {} J",
                    self.names(rival),
                    significant(rival.energy_j)
                );
                if *uses_j >= WORTH_NAMING * rival.energy_j {
                    text += &format!(
                        ", {} J of them for promotion and tail",
                        significant(*uses_j)
                    );
                }
            }
            (None, Within::Rate(_)) if self.paths.len() > 1 => {
                text += "; nothing else carries the rate"
            }
            (None, Within::Deadline(_)) if self.paths.len() > 1 => {
                text += "; nothing else is in time"
            }
            (None, _) => text += "; there is no other path",
        }
        if self.fastest.seconds < best.seconds * (1.0 - 1e-6) {
            text += &format!(
                ", and the fastest, {}, saves {} s for {} J more",
                self.split(self.fastest),
                significant(best.seconds - self.fastest.seconds),
                significant(self.fastest.energy_j - best.energy_j)
            );
        }
        text + "."
    }

    /// `wifi alone`, `wifi and lte together`.
    fn names(&self, plan: &Plan) -> String {
        let names: Vec<&str> = plan
            .paths
            .iter()
            .map(|part| self.paths[part.path].name.as_str())
            .collect();
        match names.as_slice() {
            [name] => format!("{name} alone"),
            names => format!("{} together", names.join(" and ")),
        }
    }

    /// The paths' names, or the shares if the plan uses the same paths as `best`.
    fn split(&self, plan: &Plan) -> String {
        if plan.set() != self.best.set() {
            return self.names(plan);
        }
        let shares: Vec<String> = plan
            .paths
            .iter()
            .map(|part| format!("{:.0}", part.share * 100.0))
            .collect();
        format!("split {} %", shares.join("/"))
    }
}

/// Three significant digits, and all digits before the point.
pub fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.099_95 => 3,
        v if v > 0.0 => 4,
        _ => 0,
    };
    format!("{value:.decimals$}")
}
