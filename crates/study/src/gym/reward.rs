//! The reward, in joules: what delivered data is worth, less what it cost, less what lateness costs.
//!
//! ```text
//!   r = price · Δdata − Δenergy − lateness · Δtime after the deadline
//!       − unfinished · what is left of the file when time is up
//! ```
//! At the price of the exact limit no policy without a deadline earns more than nothing (Dinkelbach, 1967: a
//! ratio is at its best where the difference at its price is 0). Twice that, the default, leaves as much to
//! earn by carrying more as by burning less.

use joulepath_model::result::Limit;
use joulepath_model::units::Nanos;
use joulepath_packet::Status;

use crate::error::{Error, Result};

/// Data is worth this many times what it costs at the limit, unless the price is told.
const MARKUP: f64 = 2.0;
/// What is not delivered in time costs this many times its price, unless told otherwise.
const UNFINISHED: f64 = 1.0;
const MEGABIT: f64 = 1e6;

/// What a step earns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reward {
    /// What a delivered megabit is worth, J; twice what it costs at the exact limit of the links if none.
    pub price: Option<f64>,
    /// When the work shall be done, from the start of the episode; never if none.
    pub deadline: Option<Nanos>,
    /// What each second after the deadline costs until the work is done, J; 1 if none.
    pub lateness: Option<f64>,
    /// What each megabit of a file costs that has not arrived at the end of the scenario, J; its price if
    /// none.
    pub unfinished: Option<f64>,
}

impl Reward {
    /// Whether all terms are numbers that make sense.
    ///
    /// # Errors
    /// A term that is negative or not finite, or lateness without a deadline.
    pub(super) fn check(&self) -> Result<()> {
        let terms = [("price", self.price), ("lateness", self.lateness), ("unfinished", self.unfinished)];
        for (name, value) in terms {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                return Err(Error::usage(format!("`{name}` is {value}")).with_help("write joules, from 0 on"));
            }
        }
        if self.lateness.is_some() && self.deadline.is_none() {
            return Err(Error::usage("lateness costs something, but there is no deadline")
                .with_help("write for example deadline=\"12 s\""));
        }
        Ok(())
    }

    /// The rates of one episode.
    ///
    /// # Errors
    /// If no price is told and the scenario has no limit.
    pub(super) fn rates(&self, limit: Option<&Limit>, name: &str) -> Result<Rates> {
        let of_limit = || {
            let limit = limit.filter(|limit| limit.bits_per_joule > 0.0);
            limit.map(|limit| MARKUP * MEGABIT / limit.bits_per_joule)
        };
        let price = self.price.or_else(of_limit).ok_or_else(|| {
            Error::usage(format!("`{name}` has no exact limit that data could be priced by"))
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

/// What an episode is paid by.
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
    /// What the step from `before` to `now` earns, J. `size` is that of the file, bytes.
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
        Status { now, delivered_bytes: bytes, energy_j, over, ..Status::default() }
    }

    /// 250 kB are 2 Mbit at 3 J each; 1.5 J were burnt; 2 s of the step are after the deadline, at 0.25 W;
    /// 125 kB of 375 kB are missing at the end, 1 Mbit at 7 J.
    #[test]
    fn a_step_earns_its_data_less_energy_lateness_and_what_is_missing() {
        let reward = Reward {
            price: Some(3.0),
            deadline: Some(Nanos::from_secs(6)),
            lateness: Some(0.25),
            unfinished: Some(7.0),
        };
        let rates = reward.rates(None, "x").unwrap();
        let (before, now) = (status(4, 0, 1.0, false), status(8, 250_000, 2.5, false));
        assert_eq!(rates.of(&before, &now, Some(375_000)), 6.0 - 1.5 - 0.5);
        let last = Status { over: true, ..now.clone() };
        assert_eq!(rates.of(&before, &last, Some(375_000)), 6.0 - 1.5 - 0.5 - 7.0);
        assert_eq!(rates.of(&before, &Status { done: true, ..last }, Some(375_000)), 6.0 - 1.5 - 0.5);
        assert_eq!(rates.of(&now, &now, None), 0.0);
    }

    /// 2 Mbit/J at the limit: a megabit costs half a joule there and is worth one.
    #[test]
    fn data_is_worth_twice_what_it_costs_at_the_limit() {
        let limit = Limit { bits_per_joule: 2e6, ..limit() };
        assert_eq!(Reward::default().rates(Some(&limit), "x").unwrap().price, 1.0);
        let error = Reward::default().rates(None, "x").unwrap_err();
        assert!(error.to_string().contains("no exact limit") && error.help().unwrap().contains("price=1.0"));
    }

    fn limit() -> Limit {
        Limit {
            kind: String::new(),
            label: String::new(),
            paths: vec![],
            rates_bps: vec![],
            capacities_bps: vec![],
            goodput_bps: 0.0,
            power_w: 0.0,
            bits_per_joule: 0.0,
            energy_j: None,
        }
    }

    #[test]
    fn terms_that_make_no_sense_are_refused() {
        let wrong = |reward: Reward| reward.check().unwrap_err().to_string();
        assert!(wrong(Reward { price: Some(-1.0), ..Reward::default() }).contains("`price` is -1"));
        assert!(wrong(Reward { unfinished: Some(f64::NAN), ..Reward::default() }).contains("unfinished"));
        assert!(wrong(Reward { lateness: Some(1.0), ..Reward::default() }).contains("no deadline"));
        assert!(Reward::default().check().is_ok());
    }
}
