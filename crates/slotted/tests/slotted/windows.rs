//! Evolving windows: known properties of congestion control.

use joulepath_controllers::Controller;
use joulepath_model::units::{BitRate, Nanos, Probability};
use joulepath_slotted::{Params, Policy, Windows};

use crate::ran;

/// WiFi alone, with more data than its window carries.
fn saturated(loss: f64, controller: &str) -> Params {
    let mut params = Params::three_radios(200);
    params.paths.truncate(1);
    params.paths[0].loss = Probability::new(loss).unwrap();
    params.windows = Windows::Controlled(Controller::by_name(controller).unwrap());
    params.duration = Nanos::from_secs(300);
    params
}

#[test]
fn a_single_window_follows_the_square_root_law() {
    // Random losses at p per packet: w = k/√p with k between √(3/2), for periodic losses, and √2,
    // for the fluid limit (Misra and Ott 1999: 1.31 on average). One reduction for all losses of a
    // window raises it slightly.
    for (loss, controller) in [(0.0005, "reno"), (0.0005, "lia"), (0.002, "lia")] {
        let means = ran(&saturated(loss, controller), Policy::Mptcp, 1).means;
        let k = means.window_packets[0] * loss.sqrt();
        assert!((1.15..1.45).contains(&k), "{controller} at {loss}: k = {k}");
        // It carries its window per RTT.
        let mbps = (1.0 - loss) * means.window_packets[0] / 0.02 * 12e3 / 1e6;
        assert!(
            (means.throughput_mbps / mbps - 1.0).abs() < 0.03,
            "{mbps} {means:?}"
        );
    }
}

#[test]
fn without_loss_the_link_is_the_limit() {
    let mut params = saturated(0.0, "reno");
    params.paths[0].rate = BitRate::from_bps(20_000_000);
    let means = ran(&params, Policy::Mptcp, 1).means;
    // A buffer of one bandwidth-delay product keeps Reno's link busy.
    assert!(
        (means.throughput_mbps / 20.0 - 1.0).abs() < 0.02,
        "{means:?}"
    );
    // BDP 33.3 packets, buffer as much: the window swings between one and two BDP.
    assert!((34.0..67.0).contains(&means.window_packets[0]), "{means:?}");
}

#[test]
fn lia_takes_less_in_total_than_uncoupled_reno() {
    let total = |controller: &str| {
        let mut params = Params::three_radios(1000);
        params.windows = Windows::Controlled(Controller::by_name(controller).unwrap());
        params.duration = Nanos::from_secs(200);
        ran(&params, Policy::Mptcp, 1).means.throughput_mbps
    };
    let (lia, reno) = (total("lia"), total("reno"));
    // √(2/p)/τ of the paths: 37.9, 107 and 179 Mbit/s; LIA aims at the largest.
    assert!(lia < 0.6 * reno, "{lia} {reno}");
    assert!((0.65..1.0).contains(&(lia / 179.0)), "{lia}");
    assert!((0.8..1.1).contains(&(reno / 324.0)), "{reno}");
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut params = saturated(0.0, "reno");
    // The window allows five packets in a slot; only one slot in twelve has any.
    params.load = BitRate::from_bps(100_000);
    let means = ran(&params, Policy::Mptcp, 1).means;
    assert_eq!(means.window_packets[0], 10.0);
}

#[test]
fn emptcp_uses_wifi_alone_where_energy_is_linear() {
    // Without sunk power, no rate makes a more expensive radio worthwhile.
    let means = ran(&Params::three_radios(20), Policy::Emptcp, 1).means;
    assert!((means.given_mbps[0] - 20.0).abs() < 0.5, "{means:?}");
    assert_eq!(means.given_mbps[1..], [0.0, 0.0]);
    assert!((means.j_per_mbit.unwrap() - 5.0).abs() < 0.05, "{means:?}");
}

#[test]
fn so_mptcp_moves_load_from_mmwave_to_cheaper_radios() {
    let params = Params::three_radios(35);
    let (so, all) = (
        ran(&params, Policy::SO_MPTCP, 1).means,
        ran(&params, Policy::Mptcp, 1).means,
    );
    assert!(so.power_w < 0.9 * all.power_w, "{so:?} {all:?}");
    assert!(so.given_mbps[2] < 0.6 * all.given_mbps[2], "{so:?} {all:?}");
    // Data waits until the backlog is worth 100 · 5: at least that long.
    assert!(so.delay_s.unwrap() > 500.0 * 12e3 / 35e6, "{so:?}");
}

#[test]
fn in_turn_all_paths_carry_as_many_packets_as_the_slowest() {
    // Fixed windows of 20, 30 and 60 packets per slot, and more data than they carry.
    let mut params = Params::fixed_windows(1_000);
    params.load = BitRate::from_bps(200_000_000);
    let (turns, all) = (
        ran(&params, Policy::RoundRobin, 1).means,
        ran(&params, Policy::Mptcp, 1).means,
    );
    for mbps in &turns.given_mbps {
        assert!((mbps - 20.0).abs() < 0.1, "{turns:?}");
    }
    assert!((all.throughput_mbps - 110.0).abs() < 1.0, "{all:?}");
}
