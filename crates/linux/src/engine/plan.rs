//! From the scenario's connections to the traffic's.

use joulepath_control::allocate::Paced;
use joulepath_control::select::{Demand, Observer, PathEnergy, Selector, SelectorSpec, Use};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{ConnectionGroup, Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::controllers::Controllers;
use super::setup::{Selection, Setup};
use super::steer::{Chooser, Road, Steered, Surroundings, local};
use crate::error::{Error, Result};
use crate::lab::Lab;
use crate::mptcp::socket::Protocol;
use crate::traffic::{Spec, Stack};

/// The traffic of a run, and its connections that a selector steers.
pub(super) fn traffic(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    series: bool,
    lab: &Lab,
    controllers: &Controllers,
) -> Result<(Spec, Vec<(usize, Steered)>)> {
    let stack = Stack {
        protocol: Protocol::Mptcp,
        congestion: controllers.under_test().to_owned(),
        only_path: None,
        kernel_name: &|name| controllers.kernel_name(name).to_owned(),
    };
    let mut spec = Spec::of(scenario, seed, &stack, lab.lines(), lab.server_address())?;
    spec.series = series;
    let mut all_steered = vec![];
    let mut index = 0;
    for group in &scenario.connections {
        let paths = chosen(scenario, setup, group)?;
        let place = |path: &PathIndex| lab.lines().iter().position(|line| line.path == Some(*path));
        let places: Vec<usize> = paths.iter().filter_map(place).collect();
        for connection in index..index + group.count as usize {
            spec.connections[connection].paths.clone_from(&places);
            let chooser = chooser(scenario, setup, group)?.filter(|_| places.len() > 1);
            if let Some(chooser) = chooser {
                all_steered.push((connection, steered(scenario, group, chooser, &mut spec, connection)));
            }
        }
        index += group.count as usize;
    }
    if !all_steered.is_empty() {
        spec.steered = true;
        // A path that is not chosen has no subflow.
        spec.join_within_ns = None;
    }
    Ok((spec, all_steered))
}

/// The paths of a group that the policy may use.
pub(super) fn chosen(scenario: &Scenario, setup: &Setup, group: &ConnectionGroup) -> Result<Vec<PathIndex>> {
    let all = group.paths.iter().copied();
    let chosen: Vec<PathIndex> = match &setup.selection {
        Selection::All => all.collect(),
        Selection::Only(only) => all.filter(|path| path == only).collect(),
        Selection::Dynamic(spec) => {
            bind(scenario, group, spec)?;
            all.collect()
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

fn bind(scenario: &Scenario, group: &ConnectionGroup, spec: &SelectorSpec) -> Result<Selector> {
    let names: Vec<&str> = group.paths.iter().map(|&path| scenario.paths[path].name.as_str()).collect();
    spec.bind(&names).map_err(|error| Error::Run(error.to_string()))
}

/// Who opens and closes the subflows of a connection, if that is not the kernel.
fn chooser(scenario: &Scenario, setup: &Setup, group: &ConnectionGroup) -> Result<Option<Chooser>> {
    if let Some(options) = setup.paced {
        return Ok(Some(Chooser::Paced(Box::new(Paced::new(options)))));
    }
    match &setup.selection {
        Selection::Dynamic(spec) => Ok(Some(Chooser::Selector(bind(scenario, group, spec)?))),
        Selection::All | Selection::Only(_) => Ok(None),
    }
}

/// A connection whose selector has been asked for the first time: it begins on the first path that is to be regular.
fn steered(
    scenario: &Scenario,
    group: &ConnectionGroup,
    mut chooser: Chooser,
    traffic: &mut Spec,
    index: usize,
) -> Steered {
    let surroundings = Surroundings {
        mss_bytes: scenario.transport.mss.0 as f64,
        initial_window: f64::from(scenario.transport.initial_window),
        base_w: scenario.device.shared_base.0,
    };
    let observer = Observer::new(&energies(scenario, group.direction, &group.paths), surroundings.mss_bytes);
    let before = surroundings.snapshot(Nanos::ZERO, Demand::before(group.workload), &observer);
    let uses = chooser.want(&before);
    let paths = uses[..group.paths.len()].iter();
    let first = paths.clone().position(|&wanted| wanted == Use::Regular).unwrap_or(0);
    let connection = &mut traffic.connections[index];
    connection.paths[..=first].rotate_right(1);
    // The first one has moved to place 0, those before it one further.
    let place = |i: usize| if i == first { 0 } else { i + usize::from(i < first) };
    let start_ns = connection.start_ns;
    let road = |i: usize| {
        let path = &traffic.paths[traffic.connections[index].paths[place(i)]];
        let from = Nanos(start_ns + path.start_ns);
        Road {
            path: group.paths[i],
            place: place(i),
            local: local(place(i), path.client, path.interface),
            from,
        }
    };
    let roads = (0..group.paths.len()).map(road).collect();
    let remote = traffic.ends(index).1;
    Steered::new(chooser, observer, surroundings, roads, remote, Nanos(start_ns), &uses)
}

/// What the interfaces of some paths cost for data in one direction.
pub(super) fn energies(scenario: &Scenario, direction: Direction, paths: &[PathIndex]) -> Vec<PathEnergy> {
    let energy =
        |&path: &PathIndex| PathEnergy::of(&scenario.paths[path].energy.model, traffic_of(direction));
    paths.iter().map(energy).collect()
}

/// Which way the data passes the device's interfaces.
fn traffic_of(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}
