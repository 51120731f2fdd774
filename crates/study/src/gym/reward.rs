//! The reward in joules: the value of delivered data minus the costs of energy and lateness.
//!
//! ```text
//!   r = price · Δdata − Δenergy − lateness · Δtime after the deadline
//!       − unfinished · the rest of the file at the end of the scenario
//! ```
//! At the price of the exact limit, no policy without a deadline earns more than 0 (Dinkelbach,
//! 1967: a ratio is maximal where the difference at its price is 0). Twice that price, the default,
//! rewards more data as much as less energy.

use joulepath_model::result::Reference;
use joulepath_model::units::Nanos;
use joulepath_packet::Status;

use crate::error::{Error, Result};

/// Default price of data, as a multiple of its cost at the limit.
const MARKUP: f64 = 2.0;
/// Default cost of undelivered data, as a multiple of the price.
const UNFINISHED: f64 = 1.0;
const MEGABIT: f64 = 1e6;

/// Terms of the reward.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reward {
    /// Value of a delivered megabit, J; default: twice its cost at the exact limit of the links.
    pub price: Option<f64>,
    /// Time by which the work should be complete, from the start of the episode; `None`: never.
    pub deadline: Option<Nanos>,
    /// Cost of each second after the deadline until the work is complete, J; default 1.
    pub lateness: Option<f64>,
    /// Cost of each megabit of a file that has not arrived at the end of the scenario, J; default:
    /// the price.
    pub unfinished: Option<f64>,
}

impl Reward {
    /// Checks all terms.
    ///
    /// # Errors
    /// If a term is negative or not finite, or lateness has no deadline.
    pub(super) fn check(&self) -> Result<()> {
        let terms = [
            ("price", self.price),
            ("lateness", self.lateness),
            ("unfinished", self.unfinished),
        ];
        for (name, value) in terms {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                return Err(Error::usage(format!("`{name}` is {value}"))
                    .with_help("write joules, from 0 on"));
            }
        }
        if self.lateness.is_some() && self.deadline.is_none() {
            return Err(
                Error::usage("lateness has a cost, but there is no deadline")
                    .with_help("write for example deadline=\"12 s\""),
            );
        }
        Ok(())
    }

    /// Rates of one episode.
    ///
    /// # Errors
    /// If no price is given and the scenario has no limit.
    pub(super) fn rates(&self, limit: Option<&Reference>, name: &str) -> Result<Rates> {
        let of_limit = || {
            let limit = limit.filter(|limit| limit.bits_per_joule > 0.0);
            limit.map(|limit| MARKUP * MEGABIT / limit.bits_per_joule)
        };
        let price = self.price.or_else(of_limit).ok_or_else(|| {
            Error::usage(format!("`{name}` has no link bound to price data by"))
                .with_help("tell a price, joules for each megabit: price=1.0")
        })?;
        Ok(Rates {
            price,
            deadline: self.deadline,
            lateness: self.lateness.unwrap_or(1.0),
            unfinished: self.unfinished.unwrap_or(UNFINISHED * price),
        })
    }
}

/// Rates of an episode's reward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// J/Mbit.
    pub(super) price: f64,
    deadline: Option<Nanos>,
    /// W.
    lateness: f64,
    /// J/Mbit.
    unfinished: f64,
}

impl Rates {
    /// Reward of the step from `before` to `now`, J. `size` is the file's, bytes.
    pub(super) fn of(&self, before: &Status, now: &Status, size: Option<u64>) -> f64 {
        let megabits = |bytes: u64| bytes as f64 * 8.0 / MEGABIT;
        let data = megabits(now.delivered_bytes.saturating_sub(before.delivered_bytes));
        let mut earned = self.price * data - (now.energy_j - before.energy_j);
        if let Some(deadline) = self.deadline {
            let late_ns = now.now.0.saturating_sub(before.now.0.max(deadline.0));
            earned -= self.lateness * late_ns as f64 / 1e9;
        }
        if let Some(size) = size.filter(|_| now.over && !now.done) {
            earned -= self.unfinished * megabits(size.saturating_sub(now.delivered_bytes));
        }
        earned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(now_s: u64, bytes: u64, energy_j: f64, over: bool) -> Status {
        let now = Nanos::from_secs(now_s);
        Status {
            now,
            delivered_bytes: bytes,
            energy_j,
            over,
            ..Status::default()
        }
    }

    /// 250 kB are 2 Mbit at 3 J each; the step uses 1.5 J; 2 s of it are after the deadline, at
    /// 0.25 W; 125 kB of 375 kB are missing at the end, 1 Mbit at 7 J.
    #[test]
    fn a_step_earns_its_data_minus_energy_lateness_and_missing_data() {
        let reward = Reward {
            price: Some(3.0),
            deadline: Some(Nanos::from_secs(6)),
            lateness: Some(0.25),
            unfinished: Some(7.0),
        };
        let rates = reward.rates(None, "x").unwrap();
        let (before, now) = (status(4, 0, 1.0, false), status(8, 250_000, 2.5, false));
        assert_eq!(rates.of(&before, &now, Some(375_000)), 6.0 - 1.5 - 0.5);
        let last = Status {
            over: true,
            ..now.clone()
        };
        assert_eq!(
            rates.of(&before, &last, Some(375_000)),
            6.0 - 1.5 - 0.5 - 7.0
        );
        assert_eq!(
            rates.of(&before, &Status { done: true, ..last }, Some(375_000)),
            6.0 - 1.5 - 0.5
        );
        assert_eq!(rates.of(&now, &now, None), 0.0);
    }

    /// 2 Mbit/J at the limit: a megabit costs 0.5 J and is worth 1 J.
    #[test]
    fn data_is_worth_twice_what_it_costs_at_the_limit() {
        let limit = Reference {
            bits_per_joule: 2e6,
            ..limit()
        };
        assert_eq!(
            Reward::default().rates(Some(&limit), "x").unwrap().price,
            1.0
        );
        let error = Reward::default().rates(None, "x").unwrap_err();
        assert!(
            error.to_string().contains("no link bound")
                && error.help().unwrap().contains("price=1.0")
        );
    }

    fn limit() -> Reference {
        Reference {
            kind: String::new(),
            label: String::new(),
            paths: vec![],
            rates_bps: vec![],
            capacities_bps: vec![],
            goodput_bps: 0.0,
            power_w: 0.0,
            bits_per_joule: 0.0,
            energy_j: None,
            delivers: None,
        }
    }

    #[test]
    fn nonsensical_terms_are_refused() {
        let wrong = |reward: Reward| reward.check().unwrap_err().to_string();
        assert!(
            wrong(Reward {
                price: Some(-1.0),
                ..Reward::default()
            })
            .contains("`price` is -1")
        );
        assert!(
            wrong(Reward {
                unfinished: Some(f64::NAN),
                ..Reward::default()
            })
            .contains("unfinished")
        );
        assert!(
            wrong(Reward {
                lateness: Some(1.0),
                ..Reward::default()
            })
            .contains("no deadline")
        );
        assert!(Reward::default().check().is_ok());
    }
}
