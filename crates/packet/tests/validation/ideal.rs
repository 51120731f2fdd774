//! A controller's definition under random loss, without a network: the witness for the engine's
//! windows.
//!
//! Paths have no queue and a fixed RTT. ACKs of a path are τ/w apart. With probability p an ACK
//! reports a loss: the window is cut, and for one RTT it neither grows nor is cut again (fast
//! recovery). Otherwise it grows by the definition in floating point,
//! `joulepath_controllers::formula`. There are no segments, no scoreboard, no timeouts: whatever
//! the engine adds shows as a difference.

use joulepath_controllers::formula::evaluate;
use joulepath_controllers::{Connection, Controller, Subflow};
use joulepath_model::random::{Domain, Stream};

/// A path of the witness.
#[derive(Clone, Copy)]
pub(crate) struct IdealPath {
    /// Loss probability of a packet.
    pub(crate) loss: f64,
    /// Round-trip time, s.
    pub(crate) rtt_s: f64,
    /// Relative energy cost, for controllers that use it.
    pub(crate) cost: f64,
}

/// Mean rate of each path, packets/s, over `acks` ACKs of the connection.
pub(crate) fn ideal_rates(
    controller: &str,
    params: &[(&str, &str)],
    paths: &[IdealPath],
    acks: u64,
) -> Vec<f64> {
    let controller = Controller::by_name(controller).expect("a controller");
    let mut connection = Connection::new(paths.len());
    for (name, value) in params {
        controller
            .set_param(&mut connection, name, value)
            .expect("a parameter");
    }
    for (subflow, path) in connection.subflows.iter_mut().zip(paths) {
        let rtt_us = (path.rtt_s * 1e6) as u32;
        (subflow.srtt_us, subflow.flags) = (rtt_us, Subflow::ESTABLISHED);
        (subflow.own.last_rtt_us, subflow.own.base_rtt_us) = (rtt_us, rtt_us);
        subflow.own.set_energy_cost(path.cost);
    }
    let mut random = Stream::new(1, Domain::Workload, 0);
    let mut windows = vec![10.0_f64; paths.len()];
    let mut due_s = vec![0.0_f64; paths.len()];
    let mut recovers_until_s = vec![0.0_f64; paths.len()];
    let mut delivered = vec![0_u64; paths.len()];
    let mut now_s = 0.0_f64;
    for _ in 0..acks {
        let earliest = |a: &usize, b: &usize| due_s[*a].total_cmp(&due_s[*b]);
        let r = (0..paths.len()).min_by(earliest).expect("a path");
        now_s = due_s[r];
        for (subflow, window) in connection.subflows.iter_mut().zip(&windows) {
            subflow.cwnd = *window as u32;
        }
        let lost = random.uniform() < paths[r].loss;
        let own = &mut connection.subflows[r].own;
        if now_s < recovers_until_s[r] {
            own.acked_since_loss += 1;
        } else if lost {
            windows[r] = evaluate(controller, &connection)
                .expect("a law")
                .window_after_loss[r]
                .floor();
            let own = &mut connection.subflows[r].own;
            own.acked_between_losses = std::mem::take(&mut own.acked_since_loss);
            recovers_until_s[r] = now_s + paths[r].rtt_s;
        } else {
            own.acked_since_loss += 1;
            let increase = evaluate(controller, &connection).expect("a law").increase[r];
            windows[r] = (windows[r] + increase).max(1.0);
        }
        delivered[r] += 1;
        due_s[r] = now_s + paths[r].rtt_s / windows[r].floor();
    }
    delivered
        .iter()
        .map(|&packets| packets as f64 / now_s)
        .collect()
}
