//! Whether an interface may be used at all, and what speaks against it.

use joulepath_control::advise::significant;
use joulepath_model::live::{Intent, LiveConfig, Quota};
use joulepath_model::units::{Bytes, Nanos, Probability};

use crate::snapshot::{Battery, Interface};

/// A battery that was low must have so much more charge before it is not.
const RECOVERED: f64 = 0.05;

/// What speaks against an interface that may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its bytes are paid for.
    metered: bool,
    /// Its soft quota is reached, or the battery is low: in words.
    restrained: Vec<String>,
    /// Until when it is given up.
    pub(super) trouble: Option<Nanos>,
}

/// Whether a battery is low, with hysteresis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BatteryLow(bool);

impl BatteryLow {
    /// Takes in a look.
    pub(super) fn observe(&mut self, below: Option<Probability>, battery: Option<Battery>) -> bool {
        let (Some(below), Some(battery)) = (below, battery) else {
            self.0 = false;
            return false;
        };
        let bound = if self.0 { below.get() + RECOVERED } else { below.get() };
        self.0 = battery.discharging && battery.level < bound;
        self.0
    }
}

/// Whether an interface may be used: it is hardware, or named in the configuration.
pub(super) fn is_allowed(config: &LiveConfig, interface: &Interface) -> bool {
    interface.kind.is_none() || config.allows(&interface.name)
}

/// Whether it has carried all that it may.
pub(crate) fn is_over_hard_quota(config: &LiveConfig, interface: &Interface) -> bool {
    let quota = config.interface(&interface.name).and_then(|known| known.quota);
    reached(quota, |quota| quota.hard, interface.used).is_some()
}

/// How an interface stands, or why it may not be used.
pub(super) fn of(
    config: &LiveConfig,
    own: Option<Intent>,
    interface: &Interface,
    battery: Option<Battery>,
    low: &mut BatteryLow,
    trouble: Option<Nanos>,
) -> Result<Standing, String> {
    let known = config.interface(&interface.name);
    if let (Some(kind), false) = (&interface.kind, is_allowed(config, interface)) {
        return Err(format!("it is virtual (`{kind}`) and not named in the configuration"));
    }
    if own == Some(Intent::Off) {
        return Err("its intent is `off`".into());
    }
    let quota = known.and_then(|known| known.quota);
    if let Some(text) = reached(quota, |quota| quota.hard, interface.used) {
        return Err(format!("its hard quota is used up: {text}"));
    }
    if !interface.usable {
        return Err("it is down, or has no carrier".into());
    }
    if interface.addresses.is_empty() {
        return Err("it has no address that can be used".into());
    }
    if !interface.routed {
        return Err("no default route leads through it".into());
    }
    let mut restrained = vec![];
    if let Some(text) = reached(quota, |quota| quota.soft, interface.used) {
        restrained.push(format!("its soft quota is used up: {text}"));
    }
    let below = known.and_then(|known| known.battery_below);
    if let (true, Some(below), Some(battery)) = (low.observe(below, battery), below, battery) {
        restrained.push(format!("the battery is at {:.0} %, below {below}", battery.level * 100.0));
    }
    Ok(Standing { metered: known.is_some_and(|known| known.metered), restrained, trouble })
}

/// `8.1 of 8 GB`, if a bound of a quota is reached.
fn reached(
    quota: Option<Quota>,
    bound: impl Fn(Quota) -> Option<Bytes>,
    used: Option<Bytes>,
) -> Option<String> {
    let (bound, used) = bound(quota?).zip(used)?;
    (used >= bound).then(|| format!("{} of {} GB", significant(gb(used)), significant(gb(bound))))
}

fn gb(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1e9
}

impl Standing {
    /// The less, the better: trouble weighs more than what is restrained.
    pub(super) fn rank(&self) -> u8 {
        let restrained = u8::from(self.metered) + 2 * u8::from(!self.restrained.is_empty());
        restrained + 4 * u8::from(self.trouble.is_some())
    }

    /// Nothing speaks against it.
    pub(super) fn is_clear(&self) -> bool {
        self.rank() == 0
    }

    /// Nothing but the bill.
    pub(super) fn is_metered_only(&self) -> bool {
        self.rank() == 1
    }

    /// Its bytes are paid for.
    pub(super) fn is_metered(&self) -> bool {
        self.metered
    }

    /// As [`rank`](Self::rank) if it were not in trouble.
    pub(super) fn rank_at_best(&self) -> u8 {
        self.rank() % 4
    }

    /// Whether it may carry what another one should, for as long as that cannot.
    pub(super) fn may_stand_in(&self) -> bool {
        self.trouble.is_none() && self.restrained.is_empty()
    }

    /// What speaks against it, in words.
    pub(super) fn why(&self) -> String {
        let trouble = self.trouble.map(|_| "its subflows get no answer".to_owned());
        let metered = self.metered.then(|| "it is metered".to_owned());
        let all: Vec<String> = trouble.into_iter().chain(self.restrained.clone()).chain(metered).collect();
        all.join("; ")
    }

    /// The same, or what is said if there is nothing.
    pub(super) fn or(&self, otherwise: &str) -> String {
        if self.is_clear() { otherwise.to_owned() } else { self.why() }
    }
}
