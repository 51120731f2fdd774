//! Regret: the joules that each other set would have saved so far.
//!
//! ```text
//!   regret(S′) ← max(0, regret(S′) + (power(S) − power(S′)) dt)
//!   S → S′ when regret(S′) ≥ cost of opening S′                       (ski rental)
//! ```
//! With constant powers a and b < a and a price B the online cost is at most twice the better
//! choice in hindsight, min(a T, B + b T), plus one decision interval: a t* with (a − b) t* = B is
//! paid before, B + b (T − t*) after, and a t* + B + b (T − t*) = 2 B + b T. No deterministic rule
//! does better (Karlin, Manasse, Rudolph, Sleator, Algorithmica 1988).

use super::cost::Set;

/// Regrets of all sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ledger {
    joules: Box<[f64; 1 << Set::BITS]>,
}

impl Default for Ledger {
    fn default() -> Self {
        Ledger {
            joules: Box::new([0.0; 1 << Set::BITS]),
        }
    }
}

impl Ledger {
    /// For `seconds` the set in use has burnt `excess_w` more than `set` would have.
    pub(super) fn charge(&mut self, set: Set, excess_w: f64, seconds: f64) {
        let joules = &mut self.joules[usize::from(set)];
        *joules = (*joules + excess_w * seconds).max(0.0);
    }

    /// Savings of `set` since the last change, J.
    pub(super) fn regret_j(&self, set: Set) -> f64 {
        self.joules[usize::from(set)]
    }

    /// Resets the regrets after a change of the set in use.
    pub(super) fn clear(&mut self) {
        self.joules.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Constant powers: the rule costs at most twice the better choice in hindsight, plus one
        /// decision interval.
        #[test]
        fn renting_until_it_bought_costs_at_most_twice(
            a in 0.0..5.0f64,
            b in 0.0..5.0f64,
            price in 0.0..30.0f64,
            looks in 1..3000u32,
            dt in 0.01..1.0f64,
        ) {
            let (mut ledger, mut bought, mut paid) = (Ledger::default(), false, 0.0);
            for _ in 0..looks {
                paid += if bought { b } else { a } * dt;
                if !bought {
                    let before = ledger.regret_j(2);
                    ledger.charge(2, a - b, dt);
                    // With constant powers the regret never falls, or stays 0.
                    prop_assert!(ledger.regret_j(2) >= before || a <= b);
                    if a > b && ledger.regret_j(2) >= price {
                        bought = true;
                        paid += price;
                        ledger.clear();
                    }
                }
            }
            let seconds = f64::from(looks) * dt;
            let hindsight = (a * seconds).min(price + b * seconds);
            prop_assert!(paid <= 2.0 * hindsight + a * dt + 1e-9, "{paid} > 2 · {hindsight}");
        }

        /// For any powers: a set that was never cheaper has no regret.
        #[test]
        fn what_is_never_cheaper_is_never_regretted(excess in prop::collection::vec(-3.0..0.0f64, 1..50)) {
            let mut ledger = Ledger::default();
            excess.iter().for_each(|&watts| ledger.charge(1, watts, 0.1));
            prop_assert_eq!(ledger.regret_j(1), 0.0);
        }
    }

    #[test]
    fn sets_are_regretted_apart() {
        let mut ledger = Ledger::default();
        ledger.charge(1, 2.0, 3.0);
        ledger.charge(2, 1.0, 3.0);
        ledger.charge(2, -4.0, 0.5);
        assert_eq!(
            (ledger.regret_j(1), ledger.regret_j(2), ledger.regret_j(3)),
            (6.0, 1.0, 0.0)
        );
        ledger.clear();
        assert_eq!(ledger.regret_j(1), 0.0);
    }
}
