//! Whether an interface may be used, and what speaks against it.

use joulepath_model::live::{Intent, LiveConfig, Quota};
use joulepath_model::units::{Bytes, Nanos, Probability};

use crate::reason::Reason;
use crate::snapshot::{Battery, Interface};

/// Extra charge above the threshold before a low battery counts as recovered.
const RECOVERED: f64 = 0.05;

/// What speaks against a usable interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Standing {
    metered: bool,
    /// Soft quota used up, or battery low.
    restrained: Vec<Reason>,
    /// If it is in trouble: until when it is avoided.
    pub(super) trouble: Option<Nanos>,
}

/// Whether the battery is low, with hysteresis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BatteryLow(bool);

impl BatteryLow {
    pub(super) fn observe(&mut self, below: Option<Probability>, battery: Option<Battery>) -> bool {
        let (Some(below), Some(battery)) = (below, battery) else {
            self.0 = false;
            return false;
        };
        let bound = if self.0 {
            below.get() + RECOVERED
        } else {
            below.get()
        };
        self.0 = battery.discharging && battery.level < bound;
        self.0
    }
}

/// True if the interface is hardware or named in the configuration.
pub(super) fn is_allowed(config: &LiveConfig, interface: &Interface) -> bool {
    interface.kind.is_none() || config.allows(&interface.name)
}

/// True if its hard quota is used up.
pub(crate) fn is_over_hard_quota(config: &LiveConfig, interface: &Interface) -> bool {
    let quota = config
        .interface(&interface.name)
        .and_then(|known| known.quota);
    reached(quota, |quota| quota.hard, interface.used).is_some()
}

/// The standing of an interface, or why it may not be used.
pub(super) fn of(
    config: &LiveConfig,
    own: Option<Intent>,
    interface: &Interface,
    battery: Option<Battery>,
    low: &mut BatteryLow,
    trouble: Option<Nanos>,
) -> Result<Standing, Reason> {
    let known = config.interface(&interface.name);
    if let (Some(kind), false) = (&interface.kind, is_allowed(config, interface)) {
        return Err(Reason::Virtual { kind: kind.clone() });
    }
    if own == Some(Intent::Off) {
        return Err(Reason::InterfaceOff);
    }
    let quota = known.and_then(|known| known.quota);
    if let Some((used_bytes, quota_bytes)) = reached(quota, |quota| quota.hard, interface.used) {
        return Err(Reason::HardQuota {
            used_bytes,
            quota_bytes,
        });
    }
    if !interface.usable {
        return Err(Reason::Down);
    }
    if interface.addresses.is_empty() {
        return Err(Reason::NoAddress);
    }
    if !interface.routed {
        return Err(Reason::NoRoute);
    }
    let mut restrained = vec![];
    if let Some((used_bytes, quota_bytes)) = reached(quota, |quota| quota.soft, interface.used) {
        restrained.push(Reason::SoftQuota {
            used_bytes,
            quota_bytes,
        });
    }
    let below = known.and_then(|known| known.battery_below);
    if let (true, Some(below), Some(battery)) = (low.observe(below, battery), below, battery) {
        restrained.push(Reason::BatteryLow {
            battery_percent: battery.level * 100.0,
            below_percent: below.get() * 100.0,
        });
    }
    Ok(Standing {
        metered: known.is_some_and(|known| known.metered),
        restrained,
        trouble,
    })
}

/// The used bytes and the limit, if the limit is reached.
fn reached(
    quota: Option<Quota>,
    bound: impl Fn(Quota) -> Option<Bytes>,
    used: Option<Bytes>,
) -> Option<(u64, u64)> {
    let (bound, used) = bound(quota?).zip(used)?;
    (used >= bound).then_some((used.0, bound.0))
}

impl Standing {
    /// Lower is better. Trouble outweighs restraints; restraints outweigh the bill.
    pub(super) fn rank(&self) -> u8 {
        let restrained = u8::from(self.metered) + 2 * u8::from(!self.restrained.is_empty());
        restrained + 4 * u8::from(self.trouble.is_some())
    }

    /// True if nothing speaks against it.
    pub(super) fn is_clear(&self) -> bool {
        self.rank() == 0
    }

    /// True if only the bill speaks against it.
    pub(super) fn is_metered_only(&self) -> bool {
        self.rank() == 1
    }

    pub(super) fn is_metered(&self) -> bool {
        self.metered
    }

    /// The rank it would have without trouble.
    pub(super) fn rank_at_best(&self) -> u8 {
        self.rank() % 4
    }

    /// True if it may temporarily replace another path.
    pub(super) fn may_stand_in(&self) -> bool {
        self.trouble.is_none() && self.restrained.is_empty()
    }

    pub(super) fn against(&self) -> Vec<Reason> {
        let trouble = self.trouble.map(|_| Reason::NoAnswer);
        let metered = self.metered.then_some(Reason::Metered);
        trouble
            .into_iter()
            .chain(self.restrained.clone())
            .chain(metered)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_outweighs_a_quota_and_a_quota_outweighs_the_bill() {
        let standing = |metered: bool, quota: bool, trouble: bool| Standing {
            metered,
            restrained: quota
                .then_some(Reason::SoftQuota {
                    used_bytes: 2,
                    quota_bytes: 1,
                })
                .into_iter()
                .collect(),
            trouble: trouble.then_some(Nanos::from_secs(9)),
        };
        let all = [false, true].map(|trouble| {
            [false, true]
                .map(|quota| [false, true].map(|metered| standing(metered, quota, trouble)))
        });
        let all: Vec<Standing> = all.into_iter().flatten().flatten().collect();
        assert!(all.is_sorted_by_key(Standing::rank) && all[0].rank() < all[7].rank());
        let which = |holds: fn(&Standing) -> bool| -> Vec<usize> {
            (0..8).filter(|&one| holds(&all[one])).collect()
        };
        assert_eq!(which(Standing::is_clear), [0]);
        assert_eq!(which(Standing::is_metered_only), [1]);
        assert_eq!(which(Standing::is_metered), [1, 3, 5, 7]);
        assert_eq!(which(Standing::may_stand_in), [0, 1]);
        // Without the trouble it equals a path that never had any.
        assert!((0..4).all(|one| all[4 + one].rank_at_best() == all[one].rank()));
    }
}
