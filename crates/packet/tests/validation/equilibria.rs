//! Equilibrium of each controller on paths with random loss and no queue (002, section IV; RFC
//! 6356; 001, eq. 7).

use joulepath_model::result::RunResult;

use crate::ideal::{IdealPath, ideal_rates};
use crate::{MSS_BITS, WIRE_BITS, assert_between, assert_near, exact, simulate};

/// Mean-field TCP on the best path of the pair below: √(2/0.001)/0.05 s.
const BEST_TCP_PPS: f64 = 894.427;

/// p = (0.001, 0.002), τ = (0.05, 0.1) s; energy 1 : 2 per bit.
const PAIR: [IdealPath; 2] = [
    IdealPath {
        loss: 0.001,
        rtt_s: 0.05,
        cost: 1.0,
    },
    IdealPath {
        loss: 0.002,
        rtt_s: 0.1,
        cost: 2.0,
    },
];

fn scenario(paths: &[IdealPath], duration_s: u64) -> String {
    let mut toml = format!("duration = \"{duration_s} s\"\nwarm_up = \"100 s\"\n");
    for (i, path) in paths.iter().enumerate() {
        toml += &format!(
            r#"
            [[path]]
            name = "p{i}"
            rate = "10 Gbit/s"
            delay = "{} ms"
            loss = "{} %"
            queue = "100000 packets"
            energy = {{ per_mbps = "{} mW", active = "0 mW" }}
            "#,
            path.rtt_s * 500.0,
            path.loss * 100.0,
            path.cost * 100.0,
        );
    }
    toml + "[workload]\nkind = \"bulk\"\n"
}

/// Packets/s that each path sends.
fn rates_pps(result: &RunResult, paths: &[IdealPath]) -> Vec<f64> {
    let sent = |(path, ideal): (&joulepath_model::result::PathResult, &IdealPath)| {
        path.goodput_bps / MSS_BITS / (1.0 - ideal.loss)
    };
    result.paths.iter().zip(paths).map(sent).collect()
}

/// A controller with its fluid rates on [`PAIR`] and the engine's largest deviation from the
/// witness, relative to the total.
struct Case {
    policy: &'static str,
    controller: &'static str,
    params: &'static [(&'static str, &'static str)],
    fluid_pps: [f64; 2],
    tolerance: f64,
}

const fn case(
    policy: &'static str,
    controller: &'static str,
    fluid_pps: [f64; 2],
    tolerance: f64,
) -> Case {
    Case {
        policy,
        controller,
        params: &[],
        fluid_pps,
        tolerance,
    }
}

/// The fluid equilibria follow from 002's model: the test prints them next to the engine's and the
/// witness's rates. Under Bernoulli loss a window that grows by 1/w reaches 0.926 of them (see
/// reno.rs); one that grows by a constant A only E[w] = A/(p ln 2) = 0.72 · 2A/p, from the
/// generator applied to ln w. A coupled controller is in between, and its windows feed back. Hence
/// the witness of ideal.rs, which computes the definition under the same losses.
///
/// The rest: the engine's timeouts (a lost retransmission costs an RTO and slow start: 0.1 % of the
/// losses), whole packets in A's cache, slow start, statistics. 2 % of the total covers that; 3 %
/// where traffic flaps between the paths, because a single excursion lasts many loss events. A
/// wrong factor in a formula moves a rate by at least 5 %: √ε, √2, n^(3/4).
#[test]
fn every_controller_settles_at_the_equilibrium_of_its_definition() {
    let cases = [
        case("uncoupled", "reno", [894.4, 316.2], 0.02),
        case("ewtcp", "ewtcp", [447.2, 158.1], 0.02),
        Case {
            params: &[("a", "1/sqrt(n)")],
            ..case("ewtcp[a=1/sqrt(n)]", "ewtcp", [752.1, 265.9], 0.02)
        },
        Case {
            params: &[("epsilon", "semicoupled")],
            ..case(
                "coupled[epsilon=semicoupled]",
                "coupled",
                [730.3, 182.6],
                0.02,
            )
        },
        case("coupled", "coupled", [894.0, 0.0], 0.03),
        case("lia", "lia", [715.5, 178.9], 0.02),
        case("hybrid", "hybrid", [715.5, 178.9], 0.02),
        case("olia", "olia", [894.0, 0.0], 0.03),
        case("balia", "balia", [800.8, 93.6], 0.02),
        // No queue: every loss counts as random and reduces the window to 0.8; LIA's shares of
        // √(1/(0.2 p))/τ = 1414.2.
        case("mveno", "mveno", [1131.4, 282.8], 0.02),
        case("ecmtcp", "ecmtcp", [795.0, 99.4], 0.02),
        case("emreno", "emreno", [894.0, 0.0], 0.03),
        Case {
            params: &[("groups", "all")],
            ..case("dwc[groups=all]", "dwc", [447.2, 223.6], 0.02)
        },
        // No queue: u = 1 on both paths, ε = 1.98661, total √ε = 1.40948 TCPs on the best path.
        case("dts", "dts", [1260.7, 0.0], 0.03),
    ];
    let toml = scenario(&PAIR, 6000);
    for Case {
        policy,
        controller,
        params,
        fluid_pps,
        tolerance,
    } in cases
    {
        let engine = rates_pps(&simulate(&toml, policy, 1), &PAIR);
        let ideal = ideal_rates(controller, params, &PAIR, 4_000_000);
        let (total, expected): (f64, f64) = (engine.iter().sum(), ideal.iter().sum());
        println!(
            "{policy}: engine {engine:.1?}, witness {ideal:.1?}, fluid {fluid_pps:.1?}; TCPs {:.3}",
            total / BEST_TCP_PPS
        );
        assert_near(&format!("{policy}, total"), total, expected, tolerance);
        for r in 0..2 {
            let deviation = (engine[r] - ideal[r]) / expected;
            assert_between(
                &format!("{policy}, path {r}, of the total"),
                deviation,
                -tolerance,
                tolerance,
            );
        }
    }
}

/// LIA (RFC 6356; 001, eq. 7): w_r = (1/p_r) max_k(√(2/p_k)/τ_k) / Σ_k 1/(τ_k p_k). Where A is
/// below every 1/w_r, all windows grow alike per ACK, so w_r p_r is the same on all paths for any
/// A: the shares are exact, also under random loss. In the fluid the sum of the rates is that of
/// one TCP on the best path; the factor of random loss is between 0.72 and 0.926 (see above).
#[test]
fn lia_shares_the_paths_by_its_fixed_point() {
    let two = vec![PAIR[0], PAIR[1]];
    let three = vec![
        IdealPath {
            loss: 0.001,
            rtt_s: 0.06,
            cost: 1.0,
        },
        IdealPath {
            loss: 0.002,
            rtt_s: 0.08,
            cost: 1.0,
        },
        IdealPath {
            loss: 0.004,
            rtt_s: 0.12,
            cost: 1.0,
        },
    ];
    for paths in [two, three] {
        let best = paths
            .iter()
            .map(|path| (2.0 / path.loss).sqrt() / path.rtt_s)
            .fold(0.0, f64::max);
        let pull: f64 = paths
            .iter()
            .map(|path| 1.0 / (path.rtt_s * path.loss))
            .sum();
        let rates = rates_pps(&simulate(&scenario(&paths, 12_000), "lia", 1), &paths);
        let total: f64 = rates.iter().sum();
        for (path, rate) in paths.iter().zip(&rates) {
            let share = 1.0 / (path.loss * path.rtt_s) / pull;
            assert_between(
                &format!("LIA, {} paths, share minus {share:.4}", paths.len()),
                rate / total - share,
                -0.03,
                0.03,
            );
        }
        assert_between(
            &format!("LIA, {} paths, total / best TCP in the fluid", paths.len()),
            total / best,
            0.72,
            0.926,
        );
    }
}

/// wVegas aims at a queueing delay of α_total/X on all paths: on 10 and 20 Mbit/s (833.3 and 1666.7
/// packets/s) the weights are 1/3 and 2/3, α = ⌊10/3⌋ = 3 and ⌊20/3⌋ = 6 packets, 3.6 ms on both,
/// and no queue ever overflows. On an otherwise idle link the window does not stay there: the delay
/// of a new queue soon is twice its minimum, and the draining rule halves the window. So the queue
/// is a bound, and the window a sawtooth from B/2 to slightly above B: between 3/4 and all of the
/// link.
#[test]
fn wvegas_keeps_its_queues_below_its_weights() {
    let toml = r#"
        duration = "400 s"
        warm_up = "50 s"
        [[path]]
        name = "slow"
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = "30 packets"
        energy = "free"
        [[path]]
        name = "fast"
        rate = "20 Mbit/s"
        delay = "40 ms"
        queue = "30 packets"
        energy = "free"
        [workload]
        kind = "bulk"
    "#;
    let result = simulate(&exact(toml), "wvegas", 1);
    for (path, rate_bps, rtt_s) in [(0, 10e6, 0.04), (1, 20e6, 0.08)] {
        // Base RTT: propagation, one data packet, one ACK.
        let base_s = rtt_s + (WIRE_BITS + 40.0 * 8.0) / rate_bps;
        let queueing_ms = (result.paths[path].mean_rtt_s.expect("samples") - base_s) * 1e3;
        assert_between(
            &format!("wVegas, queueing delay on path {path}, ms"),
            queueing_ms,
            0.1,
            3.6,
        );
        let utilisation = result.paths[path].goodput_bps / MSS_BITS * WIRE_BITS / rate_bps;
        assert_between(
            &format!("wVegas, utilisation of path {path}"),
            utilisation,
            0.75,
            1.0,
        );
        assert_eq!(result.paths[path].retransmissions, 0);
    }
}
