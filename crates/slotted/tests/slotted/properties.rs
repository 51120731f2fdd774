//! Properties for any parameters.

use joulepath_control::allocate::EnergyShape;
use joulepath_controllers::Controller;
use joulepath_model::units::{BitRate, Nanos, Probability};
use joulepath_slotted::{Feasible, Params, Policy, SlottedResult, Windows};
use proptest::prelude::*;

use crate::ran;

fn policies() -> impl Strategy<Value = Policy> {
    let so = (0u8..50, any::<[bool; 3]>()).prop_map(|(v, [convex, link, place_holder])| {
        Policy::SoMptcp {
            v: v.into(),
            shape: if convex {
                EnergyShape::Convex
            } else {
                EnergyShape::Linear
            },
            feasible: if link {
                Feasible::Link
            } else {
                Feasible::Window
            },
            place_holder,
        }
    });
    prop_oneof![Just(Policy::Mptcp), Just(Policy::Emptcp), so]
}

fn systems() -> impl Strategy<Value = Params> {
    let path = (1u64..100, 1u64..60, 0.0..0.05f64, 0.0..2.0f64);
    let controllers = prop::sample::select(vec!["lia", "olia", "balia", "reno"]);
    (
        prop::collection::vec(path, 1..=3),
        1u64..40,
        1u64..25,
        controllers,
    )
        .prop_map(|(paths, load, slot_ms, controller)| {
            let mut params = Params::three_radios(load);
            params.paths.truncate(paths.len());
            for (path, (mbps, rtt_ms, loss, buffer_bdp)) in params.paths.iter_mut().zip(paths) {
                path.rate = BitRate::from_bps(mbps * 1_000_000);
                path.rtt = Nanos::from_millis(rtt_ms);
                path.loss = Probability::new(loss).unwrap();
                path.buffer_bdp = buffer_bdp;
            }
            params.slot = Nanos::from_millis(slot_ms);
            params.windows = Windows::Controlled(Controller::by_name(controller).unwrap());
            (params.duration, params.warm_up) = (Nanos::from_millis(5_300), Nanos::from_secs(1));
            params
        })
}

fn sane(result: &SlottedResult, params: &Params) -> Result<(), TestCaseError> {
    let ledger = result.ledger;
    let known = ledger.backlog + ledger.at_subflows + ledger.out_of_order + ledger.in_order;
    prop_assert_eq!(ledger.written, known);
    let series = &result.series;
    let all = series
        .backlog_packets
        .iter()
        .chain(&series.power_w)
        .chain(&series.throughput_mbps);
    prop_assert!(
        all.chain(series.virtual_queue_packets.iter().flatten())
            .all(|&x| x >= 0.0 && x.is_finite())
    );
    prop_assert!(series.window_packets.iter().flatten().all(|&w| w >= 1.0));
    // No packet is faster than half the shortest RTT.
    let shortest = params
        .paths
        .iter()
        .map(|path| path.rtt.as_secs_f64() / 2.0)
        .fold(f64::INFINITY, f64::min);
    prop_assert!(
        series
            .delay_s
            .iter()
            .flatten()
            .all(|&delay| delay >= shortest - 1e-12)
    );
    // No path carries more than its link, except a slot and a buffer at the edges; none costs less
    // than its data.
    let rates: f64 = params
        .paths
        .iter()
        .map(|path| path.rate.bps() as f64 / 1e6)
        .sum();
    prop_assert!(result.means.throughput_mbps <= rates.max(40.0) * 1.5);
    if let Some(j_per_mbit) = result.means.j_per_mbit {
        let waits = matches!(result.policy.as_str(), "so-mptcp");
        // A backlog of the warm-up may be delivered without its energy.
        prop_assert!(waits || j_per_mbit > 2.5, "{}", j_per_mbit);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_nothing_is_negative(
        params in systems(),
        policy in policies(),
        seed in any::<u64>(),
    ) {
        sane(&ran(&params, policy, seed), &params)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_result(params in systems(), policy in policies(), seed in any::<u64>()) {
        prop_assert_eq!(ran(&params, policy, seed), ran(&params, policy, seed));
    }

    /// Fixed windows, stable loads: the direction of the theory, up to noise. With V below 5 the
    /// queue hardly counts, and the bound B/V is meaningless.
    #[test]
    fn a_larger_v_never_costs_more_energy_nor_shortens_the_queue(
        windows in prop::array::uniform3(5.0..60.0f64),
        part in 0.2..0.8f64,
        v in 5.0..20.0f64,
        factor in 1.5..10.0f64,
        seed in any::<u64>(),
    ) {
        let mut params = Params::fixed_windows(5_000);
        let capacity: f64 = windows.iter().sum();
        params.load = BitRate::from_bps((part * capacity * 1e6) as u64);
        params.windows = Windows::Fixed(windows.to_vec());
        let at = |v: f64| ran(&params, Policy::so_mptcp(v), seed).means;
        let (small, large) = (at(v), at(v * factor));
        prop_assert!(
            large.j_per_mbit.unwrap() <= small.j_per_mbit.unwrap() * 1.05,
            "{:?} {:?}",
            small,
            large
        );
        prop_assert!(large.backlog_packets >= small.backlog_packets * 0.95 - 1.0, "{:?} {:?}", small, large);
    }
}

#[test]
fn a_result_survives_json() {
    let mut params = Params::three_radios(35);
    params.duration = Nanos::from_secs(40);
    let result = ran(&params, Policy::SO_MPTCP, 1);
    let text = serde_json::to_string(&result).unwrap();
    let back: SlottedResult = serde_json::from_str(&text).unwrap();
    // Whole numbers survive exactly; others may lose their last bit.
    assert_eq!(
        (back.ledger, &back.policy, back.v),
        (result.ledger, &result.policy, result.v)
    );
    assert_eq!(back.series.backlog_packets, result.series.backlog_packets);
    assert!(
        (back.means.power_w / result.means.power_w - 1.0).abs() < 1e-12,
        "{:?}",
        back.means
    );
}
