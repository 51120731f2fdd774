//! Checks before a run: errors, and notes for the user.

use joulepath_control::Setup;
use joulepath_control::path::slowest_link;
use joulepath_controllers::{Capability, Controller};
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{LinkIndex, Scenario};

use super::control::target_shares;
use super::plan::chosen;
use super::setup::{self, MAINLINE, replaced_scheduler};
use crate::hosts::LabSpec;
use joulepath_kernel::capability::Task;
use joulepath_kernel::cc;
use joulepath_kernel::error::{Error, Result, require};
use joulepath_kernel::mptcp::socket::{self, Protocol};

/// Limit of the total rate, bit/s: up to here the emulator's links keep their rate within 2 %.
const MOST_BPS: f64 = 1e9;
/// Limit of tunnels: each is a pair of TUN devices.
const MOST_TUNNELS: usize = 64;
/// Limit of connections: both ends read every connection's statistics many times a second.
const MOST_CONNECTIONS: u32 = 500;

/// Checks that a run is possible.
///
/// # Errors
/// [`Error::Unsupported`] names a feature of the scenario or of a policy that this kernel or the
/// emulator lacks; [`Error::Permission`] names the missing capabilities.
pub fn check(scenario: &Scenario, setups: &[Setup]) -> Result<()> {
    setups.iter().try_for_each(setup::check)?;
    check_l4s(scenario, setups)?;
    check_size(scenario)?;
    check_rates(scenario)?;
    LabSpec::of(scenario, 0).check()?;
    for setup in setups {
        for group in &scenario.connections {
            chosen(scenario, setup, group)?;
        }
        target_shares(scenario, setup, 0)?;
    }
    require(
        &[Task::Network, Task::Namespaces, Task::Controllers],
        "running the kernel engine",
    )?;
    drop(socket::open(Protocol::Mptcp, [127, 0, 0, 1].into())?);
    cc::probe()
}

/// Notes that a reader of the results needs.
pub fn notes(scenario: &Scenario, setups: &[Setup]) -> Vec<String> {
    let mut notes = vec![];
    let replaced: Vec<&str> = {
        let mut names: Vec<&str> = setups.iter().filter_map(replaced_scheduler).collect();
        names.dedup();
        names
    };
    if !replaced.is_empty() {
        notes.push(format!(
            "The packet scheduler is the kernel's own (`{MAINLINE}`) in place of `{}`; \
             congestion control is the policy's.",
            replaced.join("`, `")
        ));
    }
    notes.push(
        "Joules are modelled by the scenario's energy profiles, from the times of the emulated packets."
            .into(),
    );
    if setups.iter().any(|setup| setup.slots().is_some()) {
        notes.push(
            "so-MPTCP's allotments act as pacing rates and backup flags, from means over a second."
                .into(),
        );
    }
    let connections: u32 = scenario.connections.iter().map(|group| group.count).sum();
    if connections > 1 {
        notes.push(format!(
            "All {connections} connections share one device here; the packet engine gives each its own."
        ));
    }
    let differences = LabSpec::of(scenario, 0).differences();
    if !differences.is_empty() {
        notes.push(format!(
            "This kernel's TCP differs from the scenario's: {}.",
            differences.join("; ")
        ));
    }
    notes
}

/// Linux' congestion controllers cannot send ECT(1), and an L4S sender with ECT(0) would take more
/// than its share of a classic queue.
fn check_l4s(scenario: &Scenario, setups: &[Setup]) -> Result<()> {
    let tested = setups.iter().map(Setup::controller);
    let competing = scenario
        .competitors
        .iter()
        .filter_map(|competitor| Controller::by_name(&competitor.cc).ok());
    let l4s = tested
        .chain(competing)
        .find(|controller| controller.has(Capability::SendsEct1));
    match l4s.filter(|_| scenario.transport.ecn) {
        None => Ok(()),
        Some(controller) => Err(Error::Unsupported {
            what: format!("the controller `{}` with `ecn = true`", controller.name()),
            why: "this kernel's controllers send ECT(0), not ECT(1)".into(),
            remedy: "use `--engine packet`".into(),
        }),
    }
}

fn check_size(scenario: &Scenario) -> Result<()> {
    if scenario.topology.is_some() {
        return Err(Error::Unsupported {
            what: "a [topology]".into(),
            why: "the kernel engine emulates the links of one device, not a data centre".into(),
            remedy: "use `--engine packet`".into(),
        });
    }
    let too_many = |what: String, most: String| {
        Err(Error::Unsupported {
            what,
            why: format!(
                "the kernel engine runs in real time on this machine, with at most {most}"
            ),
            remedy: "use `--engine packet`".into(),
        })
    };
    let tunnels = scenario.paths.len() + scenario.competitors.len();
    if tunnels > MOST_TUNNELS {
        return too_many(
            format!("{tunnels} paths and competitors"),
            format!("{MOST_TUNNELS} of them"),
        );
    }
    let tested = scenario.connections.iter().map(|group| group.count);
    let connections: u32 = tested
        .chain(
            scenario
                .competitors
                .iter()
                .map(|competitor| competitor.count),
        )
        .sum();
    if connections > MOST_CONNECTIONS {
        return too_many(
            format!("{connections} connections"),
            format!("{MOST_CONNECTIONS} of them"),
        );
    }
    Ok(())
}

/// Checks that every route has a rate, and that their sum is within [`MOST_BPS`].
fn check_rates(scenario: &Scenario) -> Result<()> {
    let names = scenario
        .paths
        .iter()
        .map(|path| (&path.name, [&path.down, &path.up]));
    let competitors = scenario
        .competitors
        .iter()
        .map(|c| (&c.name, [&c.down, &c.up]));
    let mut narrowest: Vec<LinkIndex> = vec![];
    for (name, routes) in names.chain(competitors) {
        let limited = |&&link: &&LinkIndex| scenario.links[link].rate != RateSpec::Unlimited;
        let least = slowest_link(
            scenario,
            routes.into_iter().flatten().filter(limited).copied(),
        );
        narrowest.push(least.ok_or_else(|| Error::Unsupported {
            what: format!("the path `{name}` without a rate"),
            why: "it would be as fast as this machine".into(),
            remedy: "give it a rate, for instance with --set, or use `--engine packet`".into(),
        })?);
    }
    narrowest.sort_unstable();
    narrowest.dedup();
    let total: f64 = narrowest
        .iter()
        .map(|&link| scenario.links[link].rate.mean_bps(scenario.duration))
        .sum();
    if total <= MOST_BPS {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("{:.0} Mbit/s in all", total / 1e6),
        why: format!(
            "one process carries every packet, up to about {:.0} Mbit/s",
            MOST_BPS / 1e6
        ),
        remedy: "lower the rates, or use `--engine packet`".into(),
    })
}
