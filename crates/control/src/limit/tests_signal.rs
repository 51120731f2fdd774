use joulepath_model::energy::DeviceEnergy;
use joulepath_model::scenario::load;

use super::*;

fn scenario(text: &str) -> Scenario {
    load(text, &|name| Err(format!("no trace {name}"))).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn assert_close(actual: f64, expected: f64, relative: f64) {
    assert!(
        (actual - expected).abs() <= relative * expected.abs(),
        "{actual} ≠ {expected}"
    );
}

/// SA at 30 Mbit/s; `more` are keys of its path and further tables.
fn sa(more: &str) -> Scenario {
    scenario(&format!(
        "title = \"t\"\nduration = \"20 s\"\n[[path]]\nname = \"sa\"\ndelay = \"0 s\"\nenergy = \
         \"5g-sa-2021\"\n{more}"
    ))
}

const RATE: &str = "rate = \"30 Mbit/s\"\n";
const STEPS: &str = "signal = { steps = [[\"0 s\", \"-95 dBm\"], [\"10 s\", \"-50 dBm\"]] }\n";

#[test]
fn a_slot_costs_more_where_its_signal_is_weak() {
    // 1 W and 100 mJ/Mbit at 10 Mbit/s, 0.1 W idle; in the second 5 s 1 W and 50 mJ/Mbit more.
    let device = DeviceEnergy::additive();
    let cost = InterfaceCost {
        slope_j_per_bit: 100e-9,
        used_w: 1.0,
        unused_w: 0.1,
        sleeps: true,
        active_when_used: true,
        ..InterfaceCost::default()
    };
    let excess = Excess {
        used_w: 1.0,
        slope_j_per_bit: 50e-9,
    };
    let slot = |excess: Vec<Excess>| Slot {
        seconds: 5.0,
        peak: vec![],
        mean: vec![],
        excess,
    };
    let problem = DeviceProblem {
        costs: vec![cost],
        capacities_bps: vec![10e6],
        rtts_s: vec![0.05],
        shared: vec![],
        in_order: None,
        start: None,
        slots: vec![slot(vec![Excess::default()]), slot(vec![excess])],
        written: vec![],
        device: &device,
    };
    // Endless data in the first part only: 50 Mbit for 5 + 5 + 0.5 J; in both 100 Mbit for 27.5 J.
    let bulk = problem.solve(Goal::Bulk).unwrap();
    assert_close(bulk.bits_per_joule(), 50e6 / 10.5, 1e-9);
    // 8 Mbit/s are 80 Mbit: 3 s of the second part, so 8 + 8 J, 3 + 1.5 J more, and 2 s idle.
    let rate = problem.solve(Goal::Rate { bps: 8e6 }).unwrap();
    assert_close(rate.power_w, (8.0 + 8.0 + 3.0 + 1.5 + 0.2) / 10.0, 1e-9);
    // A file of 80 Mbit pays no idle power.
    let file = problem.solve(Goal::File { bits: 80e6 }).unwrap();
    assert_close(file.energy_j.unwrap(), 8.0 + 8.0 + 3.0 + 1.5, 1e-9);
    // Both costs take part in sharing.
    let device = DeviceEnergy {
        sharing_factor: 0.5,
        ..DeviceEnergy::additive()
    };
    let always = InterfaceCost {
        active_when_unused: true,
        active_when_used: true,
        ..InterfaceCost::default()
    };
    let slots = [Excess::default(), excess].map(|excess| slot(vec![excess, Excess::default()]));
    let pair = DeviceProblem {
        costs: vec![cost, always],
        capacities_bps: vec![10e6, 0.0],
        rtts_s: vec![0.05; 2],
        slots: slots.into(),
        written: vec![],
        device: &device,
        ..problem
    };
    // While the first interface idles, only the second is active: 0.2 J count whole.
    let shared = pair.solve(Goal::Rate { bps: 8e6 }).unwrap();
    assert_close(
        shared.power_w,
        (0.5 * (8.0 + 8.0 + 3.0 + 1.5) + 0.2) / 10.0,
        1e-9,
    );
}

#[test]
fn a_radio_that_follows_its_signal_costs_what_its_table_says() {
    let scenario = sa(&format!("{RATE}{STEPS}"));
    let problem = device_problem(&scenario, &scenario.connections[0], Capacity::Link);
    let [weak, strong] = [0, 1].map(|slot: usize| problem.slots[slot].excess[0]);
    assert_eq!((problem.slots.len(), problem.slots[0].seconds), (2, 10.0));
    // Idle at -95 dBm (the table ends at -92.5): 938 mW. At up to 31.2 Mbit/s on the wire 1148 + 55
    // · 18.2/22 = 1193.5 mW: (1193.5 − 938)/31.2 = 8.189 mW/Mbps. ACKs: 1019 mW for up to 3 Mbit/s.
    // The last stage of the tail has 20 mW.
    let wire = 1500.0 / 1460.0;
    let acks = scenario.transport.ack_size.0 as f64 / 1460.0;
    let payload_mbps = 30.0 / wire;
    let slope = |down: f64, up: f64, active: f64| {
        wire * down * 1e-9 + acks * up * 1e-9 + (active - 20.0) * 1e-9 / payload_mbps
    };
    let (weak_slope, strong_slope) = (slope(8.189, 1019.0 / 3.0, 938.0), slope(0.0, 0.0, 675.0));
    assert_close(problem.costs[0].slope_j_per_bit, strong_slope, 1e-3);
    assert_close(weak.slope_j_per_bit, weak_slope - strong_slope, 1e-3);
    assert_eq!((problem.costs[0].used_w, weak.used_w), (0.02, 0.0));
    assert_eq!(strong, Excess::default());
    // Endless data waits for the strong signal: 675 mW at the full rate, nothing before.
    let link = limits(&scenario).pop().unwrap();
    assert_close(link.bits_per_joule, payload_mbps * 1e6 / 0.675, 1e-3);
}

#[test]
fn one_signal_and_one_rate_keep_the_model_at_them() {
    let workloads = ["", "[workload]\nkind = \"file\"\nsize = \"5 MB\"\n"];
    let streams = ["[workload]\nkind = \"stream\"\nrate = \"2 Mbit/s\"\ninterval = \"20 ms\"\n"];
    for workload in workloads.iter().chain(&streams) {
        let constant = sa(&format!("{RATE}signal = \"-80 dBm\"\n{workload}"));
        let mut fixed = constant.clone();
        fixed.paths[0].signal = None;
        assert_eq!(limits(&constant), limits(&fixed));
    }
    // A rate that changes takes the line below: the line at the mean rate may be above the power
    // elsewhere.
    let steps = "rate = { steps = [[\"0 s\", \"1 Mbit/s\"], [\"10 s\", \"100 Mbit/s\"]] }\n";
    let changing = sa(&format!("{steps}signal = \"-60 dBm\"\n"));
    let mut fixed = changing.clone();
    fixed.paths[0].signal = None;
    assert_ne!(limits(&changing), limits(&fixed));
}

#[test]
fn an_upload_and_requests_have_the_best_signal_of_the_run() {
    for workload in [
        "[workload]\nkind = \"bulk\"\ndirection = \"upload\"\n",
        "[workload]\nkind = \"requests\"\nsize = \"1 MB\"\nthink = \"1 s\"\n",
    ] {
        let cost = |signal: &str| {
            let scenario = sa(&format!("{RATE}{signal}{workload}"));
            let problem = device_problem(&scenario, &scenario.connections[0], Capacity::Link);
            assert!(problem.slots.iter().all(|slot| slot.excess.is_empty()));
            problem.costs[0]
        };
        let strong = "signal = { steps = [[\"0 s\", \"-50 dBm\"], [\"10 s\", \"-50.1 dBm\"]] }\n";
        let (both, strong) = (cost(STEPS), cost(strong));
        assert_close(both.slope_j_per_bit, strong.slope_j_per_bit, 1e-2);
    }
}

/// The rate follows the signal: each slot has the pace of its own rate.
#[test]
fn a_walk_has_as_many_slots_as_fit_and_each_a_cost() {
    let walk = "rate = { by_signal = [[\"-110 dBm\", \"2 Mbit/s\"], [\"-60 dBm\", \"50 Mbit/s\"]] }\n\
                signal = { distance_m = 10, speed_mps = 10, at_1m = \"-40 dBm\", sigma_db = 4.0 }\n";
    let scenario = sa(walk);
    let problems = [1, 2].map(|seed| {
        let drawn = scenario.drawn(seed).into_owned();
        let problem = device_problem(&drawn, &drawn.connections[0], Capacity::Link);
        (problem.costs.clone(), problem.slots.clone())
    });
    for (costs, slots) in &problems {
        assert!(slots.len() > 30 && slots.len() <= 100, "{}", slots.len());
        assert!(slots.iter().all(|slot| slot.excess[0].used_w >= 0.0));
        let slopes = slots.iter().map(|slot| slot.excess[0].slope_j_per_bit);
        assert_eq!(slopes.clone().fold(f64::INFINITY, f64::min), 0.0);
        // 2 Mbit/s at 938 mW against 50 Mbit/s at a strong signal.
        assert!(slopes.fold(0.0, f64::max) > 5.0 * costs[0].slope_j_per_bit);
    }
    assert_ne!(problems[0], problems[1]);
}
