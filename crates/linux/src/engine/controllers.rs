//! The congestion controllers of one run, by names that no other run has.

use std::sync::atomic::{AtomicU32, Ordering};

use joulepath_controllers::{Connection, Controller};
use joulepath_model::scenario::Scenario;

use super::setup::Setup;
use crate::cc::{Registered, pinned};
use crate::error::{Error, Result};

/// Those of the kernel that are the same algorithm, where it has them.
const KERNELS_OWN: [&str; 2] = ["reno", "cubic"];

/// Every controller that the run uses; dropped, they leave the kernel.
pub(super) struct Controllers {
    under_test: Name,
    /// By their names in the scenario.
    competitors: Vec<(String, Name)>,
    registered: Vec<Registered>,
}

/// What a socket is told.
struct Name {
    kernel: String,
    /// Place in the list of those that we brought; none for the kernel's own.
    ours: Option<usize>,
}

impl Controllers {
    pub(super) fn register(scenario: &Scenario, setup: &Setup) -> Result<Self> {
        let mut registered = vec![];
        // The kernel's own take no pacing rate from us.
        let is_ours = setup.is_tuned || setup.paced.is_some();
        let under_test = name(&mut registered, setup.controller, &setup.parameters, is_ours)?;
        let mut competitors: Vec<(String, Name)> = vec![];
        for competitor in &scenario.competitors {
            if competitors.iter().any(|(known, _)| *known == competitor.cc) {
                continue;
            }
            let controller = Controller::by_name(&competitor.cc)
                .map_err(|error| Error::Run(format!("the competitor {}: {error}", competitor.name)))?;
            let name = name(&mut registered, controller, &Connection::new(1), false)?;
            competitors.push((competitor.cc.clone(), name));
        }
        Ok(Controllers { under_test, competitors, registered })
    }

    /// What the connections under test use.
    pub(super) fn under_test(&self) -> &str {
        &self.under_test.kernel
    }

    /// What competitors use whose controller the scenario calls `name`.
    pub(super) fn kernel_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.competitors.iter().find(|(known, _)| known == name).map_or(name, |(_, name)| &name.kernel)
    }

    /// The one under test, if we brought it: the kernel's own listen to nobody.
    pub(super) fn registered(&self) -> Option<&Registered> {
        self.under_test.ours.map(|place| &self.registered[place])
    }
}

fn name(
    registered: &mut Vec<Registered>,
    controller: Controller,
    parameters: &Connection,
    is_tuned: bool,
) -> Result<Name> {
    let is_theirs = KERNELS_OWN.contains(&controller.name()) && !is_tuned;
    if is_theirs && pinned::built_in(controller)? {
        return Ok(Name { kernel: controller.name().to_owned(), ours: None });
    }
    let new = Registered::new(controller, parameters, &unique())?;
    let name = Name { kernel: new.name().to_owned(), ours: Some(registered.len()) };
    registered.push(new);
    Ok(name)
}

/// A name of at most 15 bytes: no process has two, and no two processes share a number.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // A process number has 22 bits at most: 5 digits. That leaves 7 digits for the counter, more than 32 bits.
    format!("jp{}_{}", base36(std::process::id()), base36(NEXT.fetch_add(1, Ordering::Relaxed)))
}

fn base36(mut number: u32) -> String {
    let mut digits = vec![];
    loop {
        digits.push(char::from_digit(number % 36, 36).expect("a digit"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_36_digits() {
        assert_eq!([0, 35, 36, 1295, 1296].map(base36), ["0", "z", "10", "zz", "100"]);
    }

    #[test]
    fn no_name_comes_twice_and_all_fit_the_kernel() {
        let (first, second) = (unique(), unique());
        assert_ne!(first, second);
        // pid_max is 2^22 at most: 2hwi8 in base 36 has five digits, and 2^32 has seven.
        assert!("jp".len() + base36(1 << 22).len() + 1 + base36(u32::MAX).len() <= 15);
    }
}
