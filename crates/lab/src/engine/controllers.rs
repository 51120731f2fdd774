//! The congestion controllers of one run, registered under unique names.

use joulepath_control::Setup;
use joulepath_controllers::{Connection, Controller};
use joulepath_model::scenario::Scenario;

use crate::error::{Error, Result};
use joulepath_kernel::cc::{Registered, built_in, unique_name};

/// Controllers that the kernel usually has itself, with the same algorithm.
const KERNELS_OWN: [&str; 2] = ["reno", "cubic"];

/// Every controller that the run uses. They are unregistered when the value is dropped.
pub(super) struct Controllers {
    under_test: Name,
    /// The competitors' controllers, with their names in the scenario.
    competitors: Vec<(String, Name)>,
    registered: Vec<Registered>,
}

/// Kernel name of a controller.
struct Name {
    kernel: String,
    /// Its index among the registered controllers; `None` for the kernel's own.
    ours: Option<usize>,
}

impl Controllers {
    pub(super) fn register(scenario: &Scenario, setup: &Setup) -> Result<Self> {
        let mut registered = vec![];
        // The kernel's own controllers do not read pacing rates from the map.
        let is_ours = setup.parts().is_tuned() || setup.slots().is_some();
        let under_test = name(
            &mut registered,
            setup.controller(),
            &setup.connection(1),
            is_ours,
        )?;
        let mut competitors: Vec<(String, Name)> = vec![];
        for competitor in &scenario.competitors {
            if competitors.iter().any(|(known, _)| *known == competitor.cc) {
                continue;
            }
            let controller = Controller::by_name(&competitor.cc).map_err(|error| {
                Error::Run(format!("the competitor {}: {error}", competitor.name))
            })?;
            let name = name(&mut registered, controller, &Connection::new(1), false)?;
            competitors.push((competitor.cc.clone(), name));
        }
        Ok(Controllers {
            under_test,
            competitors,
            registered,
        })
    }

    /// The kernel name of the controller under test.
    pub(super) fn under_test(&self) -> &str {
        &self.under_test.kernel
    }

    /// The kernel name of the competitors' controller `name` of the scenario.
    pub(super) fn kernel_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.competitors
            .iter()
            .find(|(known, _)| known == name)
            .map_or(name, |(_, name)| &name.kernel)
    }

    /// The controller under test if it is ours. The kernel's own controllers have no map.
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
    if is_theirs && built_in(controller)? {
        return Ok(Name {
            kernel: controller.name().to_owned(),
            ours: None,
        });
    }
    let new = Registered::new(controller, parameters, &unique_name())?;
    let name = Name {
        kernel: new.name().to_owned(),
        ours: Some(registered.len()),
    };
    registered.push(new);
    Ok(name)
}
