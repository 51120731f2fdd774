//! Sizes, routes and draws of each topology compared with its paper.

use std::collections::BTreeSet;

use joulepath_model::network::QueueLimit;
use joulepath_model::topology::{Routing, SwitchPower, TopologyKind, TopologySpec, TrafficPattern};
use joulepath_model::units::{BitRate, Nanos, Probability, Watts};
use joulepath_topology::{Connection, Network, Node};

const FAT_TREE: TopologyKind = TopologyKind::FatTree { k: 8 };
const VL2: TopologyKind = TopologyKind::Vl2 {
    d_a: 8,
    d_i: 8,
    hosts_per_tor: 8,
};
const BCUBE: TopologyKind = TopologyKind::Bcube { n: 5, k: 2 };
const VPC: TopologyKind = TopologyKind::Vpc {
    hosts: 40,
    interfaces: 4,
};
const ALL: [TopologyKind; 6] = [
    FAT_TREE,
    TopologyKind::FatTree { k: 2 },
    VL2,
    TopologyKind::Vl2 {
        d_a: 4,
        d_i: 6,
        hosts_per_tor: 2,
    },
    BCUBE,
    VPC,
];

fn spec(kind: TopologyKind) -> TopologySpec {
    TopologySpec {
        kind,
        rate: BitRate::from_bps(100_000_000),
        switch_rate: BitRate::from_bps(1_000_000_000),
        delay: Nanos::from_micros(100),
        queue: QueueLimit::Packets(100),
        ecn_threshold: None,
        subflows: 8,
        routing: Routing::Distinct,
        traffic: TrafficPattern::Permutation,
        switch: SwitchPower {
            port: Watts(1.0),
            idle: Probability::new(0.1).unwrap(),
        },
    }
}

fn network(kind: TopologyKind) -> Network {
    Network::new(&spec(kind))
}

#[test]
fn each_topology_has_the_hosts_switches_and_links_that_its_paper_says() {
    // k³/4 hosts, 5k²/4 switches; k³/4 host links, as many from edge to aggregation and from
    // aggregation to core; two directions.
    for (kind, hosts, switches, links) in [
        (FAT_TREE, 128, 80, 2 * 3 * 128),
        (TopologyKind::FatTree { k: 16 }, 1024, 320, 2 * 3 * 1024),
        // 128 hosts, 16 racks with 2 uplinks, 8 aggregation switches with 4 uplinks.
        (VL2, 128, 16 + 8 + 4, 2 * (128 + 32 + 32)),
        // 5³ hosts with 3 interfaces, 3 · 5² switches.
        (BCUBE, 125, 75, 2 * 375),
        (VPC, 40, 4, 2 * 160),
    ] {
        let network = network(kind);
        assert_eq!(
            (network.hosts, network.switches),
            (hosts, switches),
            "{kind:?}"
        );
        assert_eq!(network.links.len(), links, "{kind:?}");
        let nodes: BTreeSet<Node> = network
            .arcs()
            .iter()
            .flat_map(|arc| [arc.from, arc.to])
            .collect();
        assert_eq!(
            nodes,
            (0..hosts + switches).collect(),
            "{kind:?}: every node has a cable"
        );
    }
}

/// Number of used ports of each switch.
fn ports(network: &Network) -> Vec<usize> {
    let of = |node: Node| network.arcs().iter().filter(|arc| arc.from == node).count();
    (network.hosts..network.hosts + network.switches)
        .map(of)
        .collect()
}

#[test]
fn switches_use_the_ports_of_their_kind() {
    assert!(ports(&network(FAT_TREE)).iter().all(|&ports| ports == 8));
    assert!(ports(&network(BCUBE)).iter().all(|&ports| ports == 5));
    let vl2 = ports(&network(VL2));
    assert!(vl2[..16].iter().all(|&ports| ports == 8 + 2));
    assert!(
        vl2[16..].iter().all(|&ports| ports == 8),
        "D_A and D_I are 8"
    );
}

/// The nodes on a route.
fn nodes(network: &Network, links: &[usize]) -> Vec<Node> {
    let arcs: Vec<_> = links.iter().map(|&link| network.arcs()[link]).collect();
    assert!(
        arcs.windows(2).all(|pair| pair[0].to == pair[1].from),
        "{arcs:?} is connected"
    );
    std::iter::once(arcs[0].from)
        .chain(arcs.iter().map(|arc| arc.to))
        .collect()
}

fn all_routes(connection: &Connection) -> Vec<&Vec<usize>> {
    connection.paths.iter().map(|route| &route.up).collect()
}

#[test]
fn routes_are_connected_without_loops_and_acks_use_the_same_nodes() {
    for kind in ALL {
        for routing in [Routing::Distinct, Routing::Ecmp] {
            let network = Network::new(&TopologySpec {
                routing,
                ..spec(kind)
            });
            for connection in network.draw(7, 8) {
                assert!(!connection.paths.is_empty());
                for route in &connection.paths {
                    let up = nodes(&network, &route.up);
                    assert_eq!(
                        (up[0], *up.last().unwrap()),
                        (connection.device, connection.peer)
                    );
                    assert_eq!(
                        up.iter().collect::<BTreeSet<_>>().len(),
                        up.len(),
                        "{kind:?}: {up:?} has a loop"
                    );
                    let down: Vec<Node> = nodes(&network, &route.down).into_iter().rev().collect();
                    assert_eq!(up, down);
                    let hosts = up[1..up.len() - 1]
                        .iter()
                        .filter(|&&node| node < network.hosts)
                        .count();
                    assert_eq!(route.relays as usize, hosts);
                }
            }
        }
    }
}

#[test]
fn distinct_routes_are_distinct_and_as_many_as_there_are() {
    for kind in ALL {
        let network = network(kind);
        for connection in network.draw(3, 8) {
            let routes = all_routes(&connection);
            let different: BTreeSet<_> = routes.iter().collect();
            assert_eq!(different.len(), routes.len(), "{kind:?}");
            let there_are = network.choices(connection.device, connection.peer).min(8) as usize;
            match kind {
                TopologyKind::Bcube { .. } => assert!((there_are..=8).contains(&routes.len())),
                _ => assert_eq!(routes.len(), there_are, "{kind:?}"),
            }
        }
    }
}

#[test]
fn a_fat_tree_has_one_path_below_an_edge_switch_four_in_a_pod_and_sixteen_between_pods() {
    let network = network(FAT_TREE);
    // Edge switches have 4 hosts, pods 16.
    for (b, choices, links) in [(1, 1, 2), (4, 4, 4), (16, 16, 6), (127, 16, 6)] {
        assert_eq!(network.choices(0, b), choices);
        let connection = network
            .draw(1, 8)
            .into_iter()
            .find(|connection| network.choices(connection.device, connection.peer) == choices);
        if let Some(connection) = connection {
            assert!(
                all_routes(&connection)
                    .iter()
                    .all(|route| route.len() == links),
                "{connection:?}"
            );
        }
    }
}

#[test]
fn vl2_goes_over_every_intermediate_switch_by_two_aggregation_switches_at_each_end() {
    let network = network(VL2);
    // Racks 0 and 1 have the same pair of aggregation switches: the switch used upwards is not used
    // downwards.
    assert_eq!(
        [1, 8, 127].map(|b| network.choices(0, b)),
        [1, 2 * 4, 4 * 4]
    );
}

#[test]
fn the_first_paths_of_a_bcube_leave_and_enter_by_different_interfaces() {
    let network = network(BCUBE);
    for connection in network.draw(5, 3) {
        let routes = all_routes(&connection);
        assert_eq!(routes.len(), 3);
        let ends: BTreeSet<_> = routes
            .iter()
            .flat_map(|route| [route[0], *route.last().unwrap()])
            .collect();
        assert_eq!(
            ends.len(),
            6,
            "parallel paths share neither first nor last link"
        );
        let interfaces: BTreeSet<_> = connection
            .paths
            .iter()
            .map(|route| route.interface)
            .collect();
        assert_eq!(interfaces, BTreeSet::from([0, 1, 2]));
    }
}

#[test]
fn the_shortest_paths_of_a_bcube_have_two_links_for_each_digit_that_differs() {
    let network = Network::new(&TopologySpec {
        routing: Routing::Ecmp,
        ..spec(BCUBE)
    });
    for connection in network.draw(2, 4) {
        let digits = |host: Node| [host % 5, host / 5 % 5, host / 25];
        let differ = digits(connection.device)
            .iter()
            .zip(digits(connection.peer))
            .filter(|(a, b)| **a != *b)
            .count();
        assert!(
            all_routes(&connection)
                .iter()
                .all(|route| route.len() == 2 * differ)
        );
    }
}

#[test]
fn a_permutation_has_every_host_once_and_none_in_its_place() {
    for kind in ALL {
        for seed in 0..20 {
            let connections = network(kind).draw(seed, 1);
            assert!(
                connections
                    .iter()
                    .all(|connection| connection.device != connection.peer)
            );
            let peers: BTreeSet<_> = connections
                .iter()
                .map(|connection| connection.peer)
                .collect();
            assert_eq!(peers.len(), connections.len(), "{kind:?}");
        }
    }
}

#[test]
fn random_traffic_reaches_all_other_hosts_equally() {
    let network = Network::new(&TopologySpec {
        traffic: TrafficPattern::Random,
        ..spec(VPC)
    });
    let mut met = [0u32; 40];
    for seed in 0..1000 {
        let peer = network.draw(seed, 1)[0].peer;
        met[peer as usize] += 1;
    }
    assert_eq!(met[0], 0, "no host talks to itself");
    // 1000/39 = 25.6 each, deviation 5: within five deviations.
    assert!(
        met[1..].iter().all(|&count| (1..=51).contains(&count)),
        "{met:?}"
    );
}

#[test]
fn a_seed_gives_the_same_network_and_fewer_subflows_use_the_first_routes() {
    for kind in ALL {
        let network = network(kind);
        assert_eq!(network.draw(4, 8), network.draw(4, 8));
        let two_hosts = network.hosts == 2;
        assert!(
            two_hosts || network.draw(4, 8) != network.draw(5, 8),
            "{kind:?}"
        );
        for (few, many) in network.draw(4, 2).iter().zip(network.draw(4, 8)) {
            assert_eq!(few.peer, many.peer);
            assert_eq!(few.paths[..], many.paths[..few.paths.len()], "{kind:?}");
        }
    }
}
