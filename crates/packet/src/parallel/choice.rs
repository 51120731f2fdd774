//! Which runs are divided into parts, and into how many.

use std::sync::Arc;

use joulepath_control::Setup;
use joulepath_model::scenario::{Scenario, Workload};
use joulepath_topology::Network as Topology;

use crate::parallel::border::Map;
use crate::run::options::RunOptions;

/// Minimum number of packets per part and window on fully used host links. With fewer, the threads
/// wait longer than they work.
const PACKETS_A_WINDOW: f64 = 16.0;

/// A full Ethernet packet, bits.
const FULL_PACKET_BITS: f64 = 12_000.0;

/// The number of parts that the engine chooses for a run: 1 if parts gain nothing or the scenario
/// cannot be divided.
pub(crate) fn parts_for(scenario: &Scenario, setup: &Setup, options: &RunOptions) -> usize {
    let Some(spec) = scenario
        .topology
        .as_ref()
        .filter(|_| can_be_cut(scenario, setup, options))
    else {
        return 1;
    };
    let hosts = f64::from(spec.kind.hosts().unwrap_or(0));
    let packets = hosts * spec.rate.bps() as f64 * spec.delay.as_secs_f64() / FULL_PACKET_BITS;
    let worthwhile = (packets / PACKETS_A_WINDOW) as usize;
    options
        .cores
        .map_or(1, |cores| cores.most.get().min(worthwhile))
        .max(1)
}

/// Whether a run can be divided: events that concern both ends of a connection must be known a
/// window in advance.
fn can_be_cut(scenario: &Scenario, setup: &Setup, options: &RunOptions) -> bool {
    // The end of a file, the next request, and the end of a subflow that a selector closes depend
    // on data that has just arrived. Link counters are for networks whose scenario lists each link.
    let by_data = |workload| matches!(workload, Workload::File { .. } | Workload::Requests { .. });
    let is_calm = scenario
        .connections
        .iter()
        .all(|group| !by_data(group.workload));
    // Two timeouts of a subflow must not fall into one window.
    let is_patient = scenario
        .topology
        .as_ref()
        .is_some_and(|spec| scenario.transport.rto_max > spec.delay);
    let is_alone = scenario.competitors.is_empty()
        && scenario.cross.is_empty()
        && scenario.channels.is_empty();
    is_calm && is_patient && is_alone && setup.selector().is_none() && !options.links
}

/// Divides the network into at most `parts` parts; `None` if that leaves one part or a crossing
/// link has no delay.
pub(crate) fn cut(topology: &Topology, parts: usize) -> Option<Map> {
    let of_node = topology.partition(parts);
    let parts = usize::from(of_node.iter().copied().max()?) + 1;
    let arcs = topology.arcs();
    let ends = |node: fn(&joulepath_topology::Arc) -> u32| -> Arc<[u8]> {
        arcs.iter().map(|arc| of_node[node(arc) as usize]).collect()
    };
    let (tails, heads) = (ends(|arc| arc.from), ends(|arc| arc.to));
    // Events that concern both ends of a connection are known when a packet enters the last link,
    // to a host.
    let matters = |link: usize| tails[link] != heads[link] || arcs[link].to < topology.hosts;
    let delays = topology
        .links
        .iter()
        .enumerate()
        .filter(|(link, _)| matters(*link));
    let lookahead_ns = delays.map(|(_, spec)| spec.delay.0).min()?;
    (parts > 1 && lookahead_ns > 0).then_some(Map {
        parts,
        tails,
        heads,
        lookahead_ns,
    })
}
