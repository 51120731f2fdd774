//! Creates the traffic's spec from a scenario and a lab.

use std::net::IpAddr;

use joulepath_link::writes::start_within;
use joulepath_model::scenario::{
    Competitor, ConnectionGroup, Direction, PathIndex, Scenario, Workload,
};
use joulepath_model::units::{Bytes, Nanos};

use crate::error::{Error, Result};
use crate::hosts::Tunnel;
use joulepath_kernel::mptcp::socket::Protocol;

use super::spec::{ConnectionSpec, Further, PathSpec, Spec};

/// How long a subflow may take to open, unless its path has outages, ns: time for four SYNs.
const JOIN_WITHIN_NS: u64 = 30_000_000_000;
/// Buffers of competitors, large enough for the rates of radios.
const COMPETITOR_BUFFER: Bytes = Bytes(8 << 20);

/// Properties of a policy that the traffic needs.
#[derive(Clone)]
pub struct Stack<'a> {
    /// MPTCP, or plain TCP for policies of one path.
    pub protocol: Protocol,
    /// Kernel name of the congestion controller of connections under test.
    pub congestion: String,
    /// The only path in use; `None`: all paths.
    pub only_path: Option<PathIndex>,
    /// Maps a competitor's controller in the scenario to its kernel name.
    pub kernel_name: &'a dyn Fn(&str) -> String,
}

impl Spec {
    /// The traffic of a scenario over a lab's tunnels, with the simulator's random numbers for
    /// `seed`. The client's address identifies the path of a subflow.
    ///
    /// # Errors
    /// If a connection has no path left, or a tunnel is missing.
    pub fn of(
        scenario: &Scenario,
        seed: u64,
        stack: &Stack<'_>,
        tunnels: &[Tunnel],
        server: IpAddr,
    ) -> Result<Self> {
        let mut paths: Vec<PathSpec> = vec![];
        let mut connections = vec![];
        let place_of = |path: PathIndex| {
            let found = tunnels.iter().position(|tunnel| tunnel.path == Some(path));
            found.ok_or_else(|| {
                Error::Run(format!(
                    "the lab has no tunnel for {}",
                    scenario.paths[path].name
                ))
            })
        };
        for tunnel in tunnels {
            let of_scenario = tunnel.path.map(|path| &scenario.paths[path]);
            paths.push(PathSpec {
                name: tunnel.name.clone(),
                client: tunnel.client_address,
                interface: tunnel.client_device,
                server,
                start_ns: of_scenario.map_or(0, |path| path.start.0),
                backup: of_scenario.is_some_and(|path| path.backup),
            });
        }
        let starts = |index: usize, start: Nanos, spread: Nanos| {
            start_within(seed, index as u64, start, spread).0
        };
        // The lab lets send buffers grow with the windows up to this size. Only a smaller size is
        // set, which then stays fixed.
        let largest = Largest {
            receive: match scenario.receive_memory() {
                Some(_) => None,
                None => scenario
                    .connections
                    .iter()
                    .map(|group| group.receive_buffer)
                    .max(),
            },
            send: scenario
                .connections
                .iter()
                .map(|group| group.send_buffer)
                .max()
                .unwrap_or_default(),
        };
        let mss = scenario.transport.mss;
        for group in &scenario.connections {
            let used = group
                .paths
                .iter()
                .copied()
                .filter(|path| stack.only_path.is_none_or(|only| only == *path));
            let places = used.map(place_of).collect::<Result<Vec<usize>>>()?;
            for _ in 0..group.count {
                let start_ns = starts(connections.len(), group.start, group.spread);
                connections.push(under_test(group, stack, &places, start_ns, (largest, mss))?);
            }
        }
        let competitors = tunnels
            .iter()
            .enumerate()
            .filter(|(_, tunnel)| tunnel.path.is_none())
            .map(|(place, _)| place);
        for (competitor, place) in scenario.competitors.iter().zip(competitors) {
            for _ in 0..competitor.count {
                let start_ns = starts(connections.len(), competitor.start, competitor.spread);
                connections.push(competing(competitor, stack, place, start_ns, mss));
            }
        }
        let spec = Spec {
            seed,
            duration_ns: scenario.duration.0,
            warm_up_ns: scenario.warm_up.0,
            sample_every_ns: Self::sample_period_ns(connections.len()),
            series: false,
            join_within_ns: scenario
                .links
                .iter()
                .all(|link| link.outages.is_empty())
                .then_some(JOIN_WITHIN_NS),
            further: Further::Client,
            paths,
            connections,
        };
        spec.check()?;
        Ok(spec)
    }
}

/// The buffers that the lab is set up for.
#[derive(Clone, Copy)]
struct Largest {
    /// `None` if the lab's receive buffers grow: then a fixed one is set on its socket.
    receive: Option<Bytes>,
    send: Bytes,
}

fn under_test(
    group: &ConnectionGroup,
    stack: &Stack<'_>,
    places: &[usize],
    start_ns: u64,
    (largest, mss): (Largest, Bytes),
) -> Result<ConnectionSpec> {
    let grows = group.receive_memory.is_some();
    let of_lab = stack.protocol == Protocol::Mptcp
        && !grows
        && Some(group.receive_buffer) == largest.receive;
    let first = places
        .first()
        .ok_or_else(|| Error::Run(format!("{} has no path", group.name)))?;
    Ok(ConnectionSpec {
        name: group.name.clone(),
        under_test: true,
        protocol: stack.protocol,
        congestion: stack.congestion.clone(),
        paths: if stack.protocol == Protocol::Tcp {
            vec![*first]
        } else {
            places.to_vec()
        },
        workload: group.workload.into(),
        download: group.direction == Direction::Download,
        start_ns,
        receive_buffer_bytes: (!of_lab && !grows).then_some(group.receive_buffer.0),
        lab_window_bytes: of_lab.then_some(group.receive_buffer.0),
        mss_bytes: mss.0,
        send_buffer_bytes: (group.send_buffer < largest.send).then_some(group.send_buffer.0),
    })
}

fn competing(
    competitor: &Competitor,
    stack: &Stack<'_>,
    place: usize,
    start_ns: u64,
    mss: Bytes,
) -> ConnectionSpec {
    ConnectionSpec {
        name: competitor.name.clone(),
        under_test: false,
        protocol: Protocol::Tcp,
        congestion: (stack.kernel_name)(&competitor.cc),
        paths: vec![place],
        workload: competitor
            .size
            .map_or(Workload::Bulk, |size| Workload::File { size })
            .into(),
        download: true,
        start_ns,
        receive_buffer_bytes: Some(COMPETITOR_BUFFER.0),
        lab_window_bytes: None,
        mss_bytes: mss.0,
        send_buffer_bytes: None,
    }
}
