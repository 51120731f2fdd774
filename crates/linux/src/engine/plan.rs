//! From the scenario's connections to the traffic's.

use joulepath_control::select::{Demand, PathEnergy, PathSnapshot, Selector, Snapshot, Use};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{ConnectionGroup, Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::controllers::Controllers;
use super::setup::{Selection, Setup};
use crate::error::{Error, Result};
use crate::lab::Lab;
use crate::mptcp::socket::Protocol;
use crate::traffic::{Spec, Stack};

/// The traffic of a run.
pub(super) fn traffic(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    series: bool,
    lab: &Lab,
    controllers: &Controllers,
) -> Result<Spec> {
    let stack = Stack {
        protocol: Protocol::Mptcp,
        congestion: controllers.under_test().to_owned(),
        only_path: None,
        kernel_name: &|name| controllers.kernel_name(name).to_owned(),
    };
    let mut spec = Spec::of(scenario, seed, &stack, lab.lines(), lab.server_address())?;
    spec.series = series;
    let mut connections = spec.connections.iter_mut();
    for group in &scenario.connections {
        let chosen = chosen(scenario, setup, group)?;
        let place = |path: PathIndex| lab.lines().iter().position(|line| line.path == Some(path));
        let places: Vec<usize> = chosen.iter().filter_map(|&(path, _)| place(path)).collect();
        for connection in connections.by_ref().take(group.count as usize) {
            connection.paths.clone_from(&places);
        }
        for place in chosen.iter().filter(|(_, backup)| *backup).filter_map(|&(path, _)| place(path)) {
            spec.paths[place].backup = true;
        }
    }
    Ok(spec)
}

/// The paths of a group that the policy uses, and which of them as backups.
pub(super) fn chosen(
    scenario: &Scenario,
    setup: &Setup,
    group: &ConnectionGroup,
) -> Result<Vec<(PathIndex, bool)>> {
    let all = || group.paths.iter().copied();
    let chosen: Vec<(PathIndex, bool)> = match &setup.selection {
        Selection::All => all().map(|path| (path, false)).collect(),
        Selection::Only(only) => all().filter(|path| path == only).map(|path| (path, false)).collect(),
        Selection::Once(spec) => {
            let names: Vec<&str> = all().map(|path| scenario.paths[path].name.as_str()).collect();
            let selector = spec.bind(&names).map_err(|error| Error::Run(error.to_string()))?;
            once(scenario, group, selector)
        }
    };
    if chosen.is_empty() {
        return Err(Error::Run(format!(
            "the connection {} does not use the path that `{}` selects",
            group.name,
            setup.policy()
        )));
    }
    Ok(chosen)
}

/// What a selector wants before anything is open.
fn once(scenario: &Scenario, group: &ConnectionGroup, mut selector: Selector) -> Vec<(PathIndex, bool)> {
    let traffic = traffic_of(group.direction);
    let closed = |&path: &PathIndex| PathSnapshot {
        usable: true,
        energy: PathEnergy::of(&scenario.paths[path].energy.model, traffic),
        ..PathSnapshot::default()
    };
    let paths: Vec<PathSnapshot> = group.paths.iter().map(closed).collect();
    let uses = selector.want(&Snapshot {
        now: Nanos::ZERO,
        mss_bytes: scenario.transport.mss.0 as f64,
        initial_window: f64::from(scenario.transport.initial_window),
        base_w: 0.0,
        demand: Demand::Endless,
        paths: &paths,
    });
    let used = group.paths.iter().zip(uses).filter(|(_, wanted)| *wanted != Use::Closed);
    used.map(|(&path, wanted)| (path, wanted == Use::Backup)).collect()
}

/// Which way the data passes the device's interfaces.
pub(super) fn traffic_of(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}
