//! Fixed windows: values of an independent implementation, and theorems 1 and 2.

use joulepath_control::allocate::so_mptcp::{SlotPath, least_energy_j};
use joulepath_model::cancel::Cancel;
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability, Watts};
use joulepath_slotted::{
    BadParams, Feasible, Params, Policy, RunError, SlottedResult, Windows, bounds, run,
};

use crate::ran;

const SLOTS: u64 = 100_000;

/// Minimum energy of a slot at 20, 30 and 60 packets per slot and 5, 10 and 20 J.
fn least_j(rate: f64) -> f64 {
    least_energy_j(
        &[(5.0, 20.0), (10.0, 30.0), (20.0, 60.0)].map(|(c, x)| SlotPath::within(c, x)),
        rate,
    )
}

#[test]
fn a_larger_v_costs_less_energy_and_a_longer_queue() {
    // V, energy per slot, and queue of an independent implementation over 100,000 slots. 003 prints
    // the opposite (003-6).
    for (v, energy, queue) in [
        (0.0, 398.0, 17.0),
        (2.0, 312.0, 22.0),
        (5.0, 254.0, 50.0),
        (10.0, 250.0, 99.0),
        (100.0, 249.0, 998.0),
    ] {
        let means = ran(&Params::fixed_windows(SLOTS), Policy::so_mptcp(v), 7).means;
        assert!(
            (means.power_w / energy - 1.0).abs() < 0.04,
            "V = {v}: {means:?}"
        );
        assert!(
            (means.backlog_packets - queue).abs() < 0.02 * queue + 1.0,
            "V = {v}: {means:?}"
        );
        assert!(
            (means.throughput_mbps - 35.0).abs() < 0.2,
            "V = {v}: {means:?}"
        );
    }
}

#[test]
fn delay_is_backlog_over_load_plus_half_an_rtt() {
    // Little's law: Q/λ from the write to the end of the slot that sends the packet, then τ/2.
    // Within a slot (1 s), because Q is sampled after slots: 100 packets at 35 per second are 2.86
    // s, the half RTT is 0.5 s, and the mean wait for the slot's end another 0.5 s.
    let means = ran(&Params::fixed_windows(SLOTS), Policy::so_mptcp(10.0), 3).means;
    let expected = means.backlog_packets / 35.0 + 0.5 + 0.5;
    assert!(
        (means.delay_s.unwrap() - expected).abs() < 0.03,
        "{means:?}, {expected}"
    );
    let (median, p95) = (means.delay_median_s.unwrap(), means.delay_p95_s.unwrap());
    assert!(median < p95 && (median - expected).abs() < 0.3, "{means:?}");
}

/// Ē of a run in (J/Mbit) packets per slot: 1 Mbit is one packet here.
fn energy(result: &SlottedResult) -> f64 {
    result.means.power_w
}

#[test]
fn backlog_and_energy_keep_the_bounds_of_the_theorems() {
    let slack = 110.0 - 35.0 - 1e-9;
    for v in [1.0, 10.0, 100.0, 1000.0] {
        let result = ran(&Params::fixed_windows(SLOTS), Policy::so_mptcp(v), 11);
        let (b, mean) = (result.means.drift, energy(&result));
        // The mean of Q (a − λ) is omitted: its deviation is Q √(λ/T), a fiftieth of Q here.
        let noise = 0.05 * result.means.backlog_packets;
        assert!(
            mean <= least_j(35.0) + bounds::gap(b + noise, v) + 1.0,
            "V = {v}: {:?}",
            result.means
        );
        let bound = bounds::backlog(b + noise, v, least_j(35.0 + slack), mean, slack);
        assert!(
            result.means.backlog_packets <= bound,
            "V = {v}: {bound} {:?}",
            result.means
        );
    }
}

#[test]
fn the_printed_bound_of_the_gap_grows_with_v_and_the_gap_does_not() {
    let slack = 75.0;
    let at = |v: f64| {
        let result = ran(&Params::fixed_windows(SLOTS), Policy::so_mptcp(v), 5);
        let printed =
            bounds::printed_gap(result.means.drift, v, least_j(110.0), least_j(35.0), slack);
        (energy(&result) - least_j(35.0), printed)
    };
    let ((gap_small, printed_small), (gap_large, printed_large)) = (at(2.0), at(1000.0));
    assert!(
        printed_large > 2.0 * printed_small,
        "{printed_small} {printed_large}"
    );
    assert!(gap_large < 0.2 * gap_small, "{gap_small} {gap_large}");
}

#[test]
fn virtual_queues_grow_only_if_a_path_may_get_more_than_its_window() {
    let within = ran(&Params::three_radios(35), Policy::SO_MPTCP, 1).means;
    assert_eq!(within.virtual_queue_packets, [0.0; 3]);
    assert_eq!(
        within
            .waiting_packets
            .iter()
            .filter(|&&packets| packets > 0.5)
            .count(),
        0,
        "{within:?}"
    );
    let links = ran(
        &Params::three_radios(35),
        Policy::so_mptcp_within_links(100.0),
        1,
    )
    .means;
    // mmWave carries nothing: Q stays below V c.
    assert!(
        links.virtual_queue_packets[..2].iter().all(|&w| w > 10.0),
        "{links:?}"
    );
    // W is the number of packets that wait at the subflow, except for chance: expected losses
    // against actual ones.
    for (w, waiting) in links.virtual_queue_packets[..2]
        .iter()
        .zip(&links.waiting_packets)
    {
        assert!((w / waiting - 1.0).abs() < 0.2, "{links:?}");
    }
}

#[test]
fn idle_slots_cost_the_idle_power() {
    let mut params = Params::fixed_windows(10_000);
    params.paths[2].idle = Watts(3.0);
    let (with, without) = (
        ran(&params, Policy::so_mptcp(10.0), 1).means,
        ran(&Params::fixed_windows(10_000), Policy::so_mptcp(10.0), 1).means,
    );
    // mmWave is never used, so it is always idle: 3 J for an idle slot are less than the 20 J of a
    // packet.
    assert!(
        (with.power_w - without.power_w - 3.0).abs() < 1e-9,
        "{with:?} {without:?}"
    );
}

#[test]
fn invalid_parameters_are_refused() {
    let refused = |change: &dyn Fn(&mut Params)| {
        let mut params = Params::three_radios(35);
        change(&mut params);
        run(&params, Policy::Mptcp, 1, &Cancel::new())
            .expect_err("it cannot run")
            .to_string()
    };
    for (message, part) in [
        (refused(&|p| p.paths.clear()), "0 paths"),
        (refused(&|p| p.slot = Nanos::ZERO), "slot is zero"),
        (refused(&|p| p.mtu = Bytes(0)), "mtu is zero"),
        (refused(&|p| p.load = BitRate::from_bps(0)), "load is zero"),
        (refused(&|p| p.initial_window = 0), "initial_window is zero"),
        (refused(&|p| p.initial_window = u32::MAX), "at most 1048576"),
        (
            refused(&|p| p.warm_up = p.duration),
            "one slot more than the warm-up of 500 s",
        ),
        (
            refused(&|p| p.windows = Windows::Fixed(vec![1.0])),
            "a positive number of packets for each of the 3 paths",
        ),
        (
            refused(&|p| p.paths[1].rate = BitRate::from_bps(0)),
            "rate of path `lte`",
        ),
        (
            refused(&|p| p.paths[0].rtt = Nanos::ZERO),
            "rtt of path `wifi`",
        ),
        (
            refused(&|p| p.paths[2].loss = Probability::new(1.0).unwrap()),
            "path `mmwave`: loss",
        ),
        (
            refused(&|p| p.paths[2].idle = Watts(f64::NAN)),
            "path `mmwave`",
        ),
    ] {
        assert!(message.contains(part), "{message}");
    }
    for v in [-1.0, f64::NAN, f64::INFINITY] {
        let policy = Policy::SoMptcp {
            v,
            shape: Default::default(),
            feasible: Feasible::Window,
            place_holder: false,
        };
        assert!(matches!(
            run(&Params::three_radios(35), policy, 1, &Cancel::new()),
            Err(RunError::Params(BadParams::V { .. }))
        ));
    }
}

#[test]
fn a_cancelled_run_returns_an_error() {
    let cancel = Cancel::new();
    cancel.set();
    assert!(matches!(
        run(&Params::three_radios(35), Policy::Mptcp, 1, &cancel),
        Err(RunError::Cancelled)
    ));
}
