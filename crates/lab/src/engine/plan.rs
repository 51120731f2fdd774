//! Converts the scenario's connections to the traffic's.

use joulepath_control::Setup;
use joulepath_control::allocate::Paced;
use joulepath_control::select::{Demand, Observer, PathEnergy, Selector, SelectorSpec, Use};
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{ConnectionGroup, Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::controllers::Controllers;
use super::steer::{PathPlan, Steered, SubflowPolicy, Surroundings, local};
use crate::hosts::Lab;
use crate::traffic::{Further, PathSpec, Spec, Stack};
use joulepath_kernel::error::{Error, Result};
use joulepath_kernel::mptcp::socket::Protocol;

/// The traffic of a run, and the connections that a selector steers, with their numbers.
pub(super) type Planned = (Spec, Vec<(usize, Steered)>);

/// The traffic of a run, and its connections that a selector steers.
pub(super) fn traffic(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    series: bool,
    lab: &Lab,
    controllers: &Controllers,
) -> crate::error::Result<Planned> {
    let stack = Stack {
        protocol: Protocol::Mptcp,
        congestion: controllers.under_test().to_owned(),
        only_path: None,
        kernel_name: &|name| controllers.kernel_name(name).to_owned(),
    };
    let mut spec = Spec::of(scenario, seed, &stack, lab.tunnels(), lab.server_address())?;
    spec.series = series;
    let mut all_steered = vec![];
    let mut index = 0;
    for group in &scenario.connections {
        let paths = chosen(scenario, setup, group)?;
        let place = |path: &PathIndex| {
            lab.tunnels()
                .iter()
                .position(|tunnel| tunnel.path == Some(*path))
        };
        let places: Vec<usize> = paths.iter().filter_map(place).collect();
        for connection in index..index + group.count as usize {
            spec.connections[connection].paths.clone_from(&places);
            let policy = subflow_policy(scenario, setup, group)?.filter(|_| places.len() > 1);
            if let Some(policy) = policy {
                all_steered.push((
                    connection,
                    steered(scenario, group, policy, &mut spec, connection),
                ));
            }
        }
        index += group.count as usize;
    }
    if !all_steered.is_empty() {
        spec.further = Further::Parent;
        // A path that is not selected has no subflow.
        spec.join_within_ns = None;
    }
    Ok((spec, all_steered))
}

/// The same traffic, with endpoints that another program sets.
///
/// # Errors
/// If the policy or the scenario decides which paths are used.
pub(super) fn managed((mut traffic, steered): Planned) -> crate::error::Result<Planned> {
    let decides = |path: &PathSpec| path.start_ns > 0 || path.backup;
    if !steered.is_empty() || traffic.paths.iter().any(decides) {
        let why = "the policy or the scenario determines the subflows, and so do endpoints: \
            remove one of the two";
        return Err(crate::Error::Run(why.into()));
    }
    traffic.further = Further::Endpoints;
    // A path without an endpoint has no subflow.
    traffic.join_within_ns = None;
    Ok((traffic, steered))
}

/// The paths of a group that the policy may use.
pub(super) fn chosen(
    scenario: &Scenario,
    setup: &Setup,
    group: &ConnectionGroup,
) -> Result<Vec<PathIndex>> {
    if let Some(spec) = setup.selector() {
        bind(scenario, group, spec)?;
    }
    let is_chosen = |path: &PathIndex| setup.only_path().is_none_or(|only| only == *path);
    let chosen: Vec<PathIndex> = group.paths.iter().copied().filter(is_chosen).collect();
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
    let names: Vec<&str> = group
        .paths
        .iter()
        .map(|&path| scenario.paths[path].name.as_str())
        .collect();
    spec.bind(&names)
        .map_err(|error| Error::Run(error.to_string()))
}

/// The policy that decides which subflows a connection has; `None` if the kernel decides.
fn subflow_policy(
    scenario: &Scenario,
    setup: &Setup,
    group: &ConnectionGroup,
) -> Result<Option<SubflowPolicy>> {
    if let Some(options) = setup.slots() {
        return Ok(Some(SubflowPolicy::Paced(Box::new(Paced::new(options)))));
    }
    let bound = setup
        .selector()
        .map(|spec| bind(scenario, group, spec))
        .transpose()?;
    Ok(bound.map(SubflowPolicy::Selector))
}

/// A connection after the first decision of its policy: it begins on the first path that should be
/// regular.
fn steered(
    scenario: &Scenario,
    group: &ConnectionGroup,
    mut policy: SubflowPolicy,
    traffic: &mut Spec,
    index: usize,
) -> Steered {
    let surroundings = Surroundings {
        mss_bytes: scenario.transport.mss.0 as f64,
        initial_window: f64::from(scenario.transport.initial_window),
        receive_window: group.receive_buffer.0 as f64,
        device: scenario.device.clone(),
    };
    let observer = Observer::new(
        &energies(scenario, group.direction, &group.paths),
        surroundings.mss_bytes,
    );
    let histories = group.paths.iter().map(|&path| scenario.paths[path].history);
    let observer = observer.remembering(histories);
    let before = surroundings.snapshot(Nanos::ZERO, Demand::before(group.workload), &observer);
    let uses = policy.want(&before);
    let paths = uses[..group.paths.len()].iter();
    let first = paths
        .clone()
        .position(|&wanted| wanted == Use::Regular)
        .unwrap_or(0);
    let connection = &mut traffic.connections[index];
    connection.paths[..=first].rotate_right(1);
    // The first path moves to place 0, and the paths before it move back by one.
    let place = |i: usize| {
        if i == first {
            0
        } else {
            i + usize::from(i < first)
        }
    };
    let start_ns = connection.start_ns;
    let plan = |i: usize| {
        let path = &traffic.paths[traffic.connections[index].paths[place(i)]];
        let from = Nanos(start_ns + path.start_ns);
        let local = local(place(i), path.client, path.interface);
        PathPlan {
            path: group.paths[i],
            place: place(i),
            local,
            from,
        }
    };
    let plans = (0..group.paths.len()).map(plan).collect();
    let remote = traffic.ends(index).1;
    Steered::new(
        policy,
        observer,
        surroundings,
        plans,
        remote,
        Nanos(start_ns),
        &uses,
    )
}

/// Energy costs of the paths' interfaces for data in one direction.
pub(super) fn energies(
    scenario: &Scenario,
    direction: Direction,
    paths: &[PathIndex],
) -> Vec<PathEnergy> {
    let energy = |&path: &PathIndex| {
        PathEnergy::of(&scenario.paths[path].energy.model, traffic_of(direction))
    };
    paths.iter().map(energy).collect()
}

/// The direction in which data passes the device's interfaces.
fn traffic_of(direction: Direction) -> Traffic {
    match direction {
        Direction::Download => Traffic::Down,
        Direction::Upload => Traffic::Up,
    }
}
