//! Data-centre networks: line rate, bisection, conservation, energy.

use joulepath_model::result::RunResult;

use crate::{assert_between, assert_near, simulate};

/// `topology` has the kind and its size as TOML keys. Rate 100 Mbit/s, one second of warm-up, one
/// measured.
fn scenario(topology: &str, more: &str) -> String {
    format!(
        "duration = \"2 s\"\nwarm_up = \"1 s\"\n[topology]\nrate = \"100 Mbit/s\"\n\
         spread = \"50 ms\"\n{topology}\n{more}\n"
    )
}

/// Goodput per host, as a fraction of one interface's capacity next to another connection's ACKs:
/// 1460 of 1540 bytes.
fn part_of_line_rate(run: &RunResult) -> f64 {
    run.goodput_bps / run.connections_bps.len() as f64 / (100e6 * 1460.0 / 1540.0)
}

/// Less than all, because each connection's ACKs wait in the queue behind the other's data (two-way
/// traffic; Zhang, Shenker, Clark, SIGCOMM 1991).
#[test]
fn two_hosts_alone_reach_nearly_the_line_rate_of_each_interface() {
    for (interfaces, policy) in [(1, "uncoupled"), (4, "uncoupled")] {
        let toml = scenario(
            &format!("kind = \"vpc\"\nhosts = 2\ninterfaces = {interfaces}"),
            "",
        );
        let part = part_of_line_rate(&simulate(&toml, policy, 1)) / f64::from(interfaces);
        assert_between(&format!("{interfaces} interfaces"), part, 0.75, 1.001);
    }
}

#[test]
fn eight_subflows_fill_a_fat_tree_and_one_does_not() {
    // Raiciu et al., SIGCOMM 2011: nearly all of the bisection against about half of it.
    let toml = scenario("kind = \"fat-tree\"\nk = 4", "");
    let mean = |policy| {
        let part = |seed| part_of_line_rate(&simulate(&toml, policy, seed));
        (1..=3).map(part).sum::<f64>() / 3.0
    };
    assert_between("8 subflows", mean("mptcp"), 0.88, 1.01);
    assert_between("1 subflow", mean("uncoupled[subflows=1]"), 0.35, 0.75);
}

#[test]
fn link_utilisation_matches_the_goodput_of_the_hosts() {
    for (topology, layers) in [
        ("kind = \"fat-tree\"\nk = 4", 3),
        (
            "kind = \"vl2\"\nd_a = 4\nd_i = 4\nhosts_per_tor = 2\nswitch_rate = \"1 Gbit/s\"",
            3,
        ),
    ] {
        let run = simulate(&scenario(topology, ""), "mptcp", 2);
        let network = run.network.as_ref().expect("there is a topology");
        assert_eq!(network.layers.len(), layers);
        // Each connection crosses two links of hosts in either direction, with 40 bytes of ACK for
        // each 1500 of data.
        let hosts = run.connections_bps.len() as f64;
        let expected = run.goodput_bps * 1540.0 / 1460.0 * 2.0 / (2.0 * hosts * 100e6);
        assert_near(
            "utilisation of the links of hosts",
            network.layers[0].utilisation,
            expected,
            0.03,
        );
        let by_path: f64 = run.paths.iter().map(|path| path.goodput_bps).sum();
        assert_near("first copies by interface", by_path, run.goodput_bps, 0.01);
    }
}

#[test]
fn the_power_of_a_port_is_idle_power_plus_power_by_load() {
    let toml = scenario(
        "kind = \"fat-tree\"\nk = 4\nswitch = { port = \"2 W\", idle = \"25 %\" }",
        "",
    );
    let run = simulate(&toml, "mptcp", 1);
    let network = run.network.expect("there is a topology");
    // 20 switches with 4 ports, 1 s.
    assert_near("idle", network.idle_j, 80.0 * 2.0 * 0.25, 1e-9);
    let [hosts, edge, core] = [0, 1, 2].map(|layer| &network.layers[layer]);
    let sum =
        |layer: &joulepath_model::result::LayerResult| layer.utilisation * f64::from(layer.links);
    // A host's link has one switch port, half of which is one direction; other links have two.
    let expected = 2.0 * 0.75 * (sum(hosts) / 2.0 + sum(edge) + sum(core));
    assert_near("traffic", network.traffic_j, expected, 1e-9);
    assert!(hosts.busiest <= 1.0 && hosts.busiest >= hosts.utilisation);
}

#[test]
fn both_ends_and_relays_of_a_bcube_consume_energy() {
    let energy = "energy = { per_mbps = \"3 mW\", up_per_mbps = \"1 mW\", active = \"0 W\" }";
    let joules_per_mbit = |kind: &str, policy: &str| {
        let run = simulate(&scenario(&format!("{kind}\n{energy}"), ""), policy, 1);
        run.energy_split.transfer_j / (run.goodput_bps / 1e6) // over one second
    };
    // Data and ACKs, 1540 for 1460 bytes, cost 4 mJ per Mbit from one host to the other.
    let direct = joules_per_mbit("kind = \"vpc\"\nhosts = 8\ninterfaces = 1", "uncoupled");
    assert_near("no relays", direct, 4e-3 * 1540.0 / 1460.0, 0.02);
    // In BCube(4, 1) 9 of 15 hosts differ in both digits, with one relay on the shortest path: 1.6
    // transfers between hosts on average.
    let relayed = joules_per_mbit(
        "kind = \"bcube\"\nn = 4\nk = 1\nrouting = \"ecmp\"",
        "uncoupled[subflows=1]",
    );
    assert_between("relays", relayed / direct, 1.2, 1.9);
}

#[test]
fn queues_of_switches_make_extended_dts_back_off() {
    let toml = scenario("kind = \"fat-tree\"\nk = 4", "");
    // The seed decides which flows share a link: the price of a run varies by a third.
    let price = |policy| -> f64 {
        let run = |seed| {
            simulate(&toml, policy, seed)
                .network
                .expect("there is a topology")
                .price_packets
        };
        (1..=10).map(run).sum()
    };
    let (plain, extended) = (price("dts"), price("edts[kappa=0.1]"));
    assert!(extended < plain, "U_ep falls from {plain} to {extended}");
}

#[test]
fn a_policy_sets_the_number_of_subflows_and_a_seed_fixes_the_result() {
    let toml = scenario(
        "kind = \"vpc\"\nhosts = 6\ninterfaces = 2",
        "[device]\npreset = \"host-relative\"",
    );
    let bytes = |policy, seed| serde_json::to_string(&simulate(&toml, policy, seed)).unwrap();
    assert_eq!(bytes("mptcp", 1), bytes("mptcp", 1));
    assert_ne!(bytes("mptcp", 1), bytes("mptcp", 2));
    let goodput = |policy| simulate(&toml, policy, 1).goodput_bps;
    assert!(goodput("mptcp[subflows=2]") > 1.2 * goodput("mptcp[subflows=1]"));
}

/// A host's power grows with its only subflow's present RTT, including queueing: P(R) (1 + η log2(1
/// + RTT / 10 ms)).
#[test]
fn the_power_of_a_host_grows_with_the_rtt_of_its_subflow() {
    let run = |queue: u32| {
        let toml = format!(
            r#"
            duration = "60 s"
            warm_up = "10 s"
            [[path]]
            name = "wire"
            rate = "10 Mbit/s"
            delay = "5 ms"
            queue = "{queue} packets"
            energy = {{ per_mbps = "0 mW", up_per_mbps = "0 mW", active = "0 W" }}
            [device]
            host = {{ medium = "wifi", unit = "10 W", delay_weight = 1.0 }}
            "#
        );
        let run = simulate(&toml, "single:wire", 1);
        (run.power_w, run.paths[0].mean_rtt_s.unwrap())
    };
    let [(short_w, short_s), (long_w, long_s)] = [20, 200].map(run);
    let grown = |rtt_s: f64| 1.0 + (1.0 + rtt_s / 10e-3).log2();
    assert!(long_s > 3.0 * short_s, "{short_s} {long_s}");
    assert_near(
        "power by RTT",
        long_w / short_w,
        grown(long_s) / grown(short_s),
        0.02,
    );
}
