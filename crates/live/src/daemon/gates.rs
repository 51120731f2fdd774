//! Bounds that the kernel enforces: it stops an interface within a packet of the limit, however
//! late this daemon is. The limits leave room for the bytes that are under way then.

use std::collections::BTreeMap;

use joulepath_kernel::Result;
use joulepath_kernel::gate::{Gates as Kernel, Stops};
use joulepath_model::units::Nanos;

use super::bounds::{BUDGET, Bounds};
use crate::decide::Bound;
use crate::machine::Look;

/// A limit is changed if it differs by more than this share of what remains.
const STEP: u64 = 8;
/// Time after which the initial windows of the subflows that have opened have passed, or will not.
const ADMIT_EVERY: Nanos = Nanos::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Gates {
    /// `None` until the first bound, and where the kernel has none.
    kernel: Option<Kernel>,
    /// The last attempt to open a gate failed.
    failed: bool,
    /// By the name of the bound.
    gates: BTreeMap<String, Gate>,
}

#[derive(Debug)]
struct Gate {
    /// Bytes since it was opened.
    limit: u64,
    /// The kernel has stopped the interfaces.
    closed: bool,
    /// When subflows were admitted last.
    admitted: Nanos,
}

/// The name of a gate in the kernel.
fn table(bound: &str) -> String {
    format!("joulepath-{bound}")
}

fn is_budget(name: &str) -> bool {
    name.starts_with(BUDGET)
}

/// A hard quota is for everything; the daemon decides what MPTCP does with a budget.
fn stops(name: &str, bound: &Bound, bounds: &Bounds) -> Stops {
    if is_budget(name) {
        Stops::Mptcp {
            joins: bounds.joins(bound),
        }
    } else {
        Stops::All
    }
}

impl Gates {
    /// Puts a gate at each bound that is near. To be called before paths open. Returns why the
    /// kernel refuses, unless it refused the last time, too.
    pub(super) fn open(&mut self, bounds: &Bounds, look: &Look) -> Option<String> {
        let mut failure = None;
        for (name, bound) in bounds.near() {
            if self.gates.contains_key(name) {
                continue;
            }
            let devices = look
                .interfaces
                .iter()
                .filter(|one| bound.interfaces.contains(&one.index));
            let devices: Vec<&str> = devices.map(|one| one.name.as_str()).collect();
            let limit = bounds.limit(bound);
            let stops = stops(name, bound, bounds);
            match self
                .kernel()
                .and_then(|kernel| kernel.add(&table(name), &devices, limit, stops))
            {
                Ok(()) => drop(self.gates.insert(
                    name.clone(),
                    Gate {
                        limit,
                        closed: false,
                        admitted: bounds.read_at(),
                    },
                )),
                Err(error) => failure = Some(error.with_remedy()),
            }
        }
        let is_new = !std::mem::replace(&mut self.failed, failure.is_some());
        failure.filter(|_| is_new)
    }

    fn kernel(&mut self) -> Result<&mut Kernel> {
        if self.kernel.is_none() {
            self.kernel = Some(Kernel::open()?);
        }
        Ok(self.kernel.as_mut().expect("opened above"))
    }

    /// Removes gates whose bounds have gone. To be called after paths close.
    pub(super) fn keep(&mut self, bounds: &Bounds) {
        let Some(kernel) = &mut self.kernel else {
            return;
        };
        let wanted: Vec<&String> = bounds.near().map(|(name, _)| name).collect();
        // After a failure the next round tries again.
        self.gates
            .retain(|name, _| wanted.contains(&name) || kernel.remove(&table(name)).is_err());
    }

    /// Removes all gates.
    pub(super) fn clear(&mut self) {
        *self = Gates {
            failed: self.failed,
            ..Gates::default()
        };
    }

    /// Reads what has passed, and moves the limits.
    pub(super) fn follow(&mut self, bounds: &Bounds) {
        let Some(kernel) = &mut self.kernel else {
            return;
        };
        for (name, gate) in &mut self.gates {
            let Some((_, bound)) = bounds.near().find(|(near, _)| *near == name) else {
                continue;
            };
            let Ok(passed) = kernel.passed(&table(name)) else {
                continue;
            };
            gate.closed |= passed >= gate.limit;
            let left = bounds.limit(bound);
            let limit = passed.saturating_add(left);
            let is_changed = limit.abs_diff(gate.limit) > left / STEP;
            if is_changed && !gate.closed && kernel.set(&table(name), limit).is_ok() {
                gate.limit = limit;
            }
            let now = bounds.read_at();
            let is_due = is_budget(name) && now >= gate.admitted.saturating_add(ADMIT_EVERY);
            if is_due && kernel.admit(&table(name), bounds.joins(bound)).is_ok() {
                gate.admitted = now;
            }
        }
    }

    /// Names of the bounds at which the kernel has stopped the interfaces.
    pub(super) fn closed(&self) -> impl Iterator<Item = &String> {
        self.gates
            .iter()
            .filter(|(_, gate)| gate.closed)
            .map(|(name, _)| name)
    }

    /// True if the kernel enforces the bounds that are near.
    pub(super) fn is_on(&self) -> bool {
        !self.gates.is_empty()
    }
}
