//! Traffic that may wait: a path that replaces a failed one stays closed until the tolerance has
//! passed, unless the failed or a better path works before, or other traffic has woken its radio.
//!
//! The same word as in scenarios, where messages wait for each other. A path manager cannot hold
//! back data: it only leaves the further radio asleep, so that the data waits in the sockets.

use std::collections::BTreeMap;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;

use super::decision::Role;
use super::eligible::Eligible;
use super::memory::Memory;
use super::silence::BRINGS_BPS;
use super::want::{Plan, Want};
use crate::reason::Reason;

/// A path's place in the order of preference.
type Place = (u8, bool, u32, String);

/// What a decider remembers of a failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tolerance {
    /// The best path that carried data when one last did.
    had: Option<Place>,
    /// Since when another path has been wanted.
    since: Option<Nanos>,
}

impl Tolerance {
    /// Keeps paths closed that replace a failed one too early. Returns when they may open.
    pub(super) fn hold_back(
        &mut self,
        config: &LiveConfig,
        intent: Intent,
        eligible: &[Eligible],
        memory: &BTreeMap<String, Memory>,
        plan: &mut Plan,
        now: Nanos,
    ) -> Option<Nanos> {
        let Some(tolerance) = config.tolerance.filter(|_| intent.may_wait()) else {
            *self = Self::default();
            return None;
        };
        let role = |one: &Eligible| memory[&one.interface.name].role;
        let works = |one: &&Eligible| {
            role(one) == Role::Regular && one.standing.trouble.is_none() && one.watched.is_none()
        };
        let place = |one: &Eligible| one.place_at_best(config, intent);
        if let Some(best) = eligible.iter().filter(works).map(place).min() {
            *self = Tolerance {
                had: Some(best),
                since: None,
            };
            return None;
        }
        // At the start no path has failed.
        let had = self.had.as_ref()?;
        let is_early = |one: &&Eligible| {
            let name = &one.interface.name;
            let rises = role(one) == Role::Unused && plan[name].role != Role::Unused;
            // The promotion and the tail of a radio that is awake are paid for.
            rises && place(one) > *had && one.interface.rate_bps < BRINGS_BPS
        };
        let early: Vec<String> = eligible
            .iter()
            .filter(is_early)
            .map(|one| one.interface.name.clone())
            .collect();
        if early.is_empty() {
            self.since = None;
            return None;
        }
        let until = self.since.get_or_insert(now).saturating_add(tolerance);
        if now >= until {
            return None;
        }
        for name in early {
            let reason = Reason::MayWait {
                path: had.3.clone(),
                tolerance_s: tolerance.as_secs_f64(),
            };
            plan.insert(
                name,
                Want {
                    held_back: true,
                    ..Want::new(Role::Unused, reason)
                },
            );
        }
        Some(until)
    }
}
