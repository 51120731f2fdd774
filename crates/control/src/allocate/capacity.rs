//! A path's capacity for allocators: from the scenario alone, or from measured loss and RTT.

use joulepath_model::scenario::{Direction, PathIndex, Scenario};
use joulepath_model::units::Nanos;

use super::eemptcp::CostedPath;
use super::rate::pftk_pps;
use crate::bursts::{Losses, losses, most_window};
use crate::path::{Window, base_rtt_s, links_of, slowest_bps, traffic_of};

/// Model of the capacities C_r in the EEMPTCP allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapacityModel {
    /// Mathis et al. 1997, as in 000.
    #[default]
    Mathis,
    /// Padhye et al. 1998, which includes timeouts: lower on very lossy paths (defect 000-13).
    Pftk,
}

/// b, θ and C of one path for the EEMPTCP allocator. C is the closed form of `capacity` at the
/// path's random loss and propagation RTT, limited to the slowest link's payload rate.
pub fn costed_path(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
    capacity: CapacityModel,
) -> CostedPath {
    let window = Window {
        from: Nanos::ZERO,
        until: scenario.duration,
    };
    let model = &scenario.paths[path].energy.model;
    let tcp = tcp_bps(scenario, direction, path, capacity);
    CostedPath {
        slope_j_per_bit: model.slope(traffic_of(direction)).0,
        sunk_w: model.sunk_power().0,
        capacity_bps: tcp.min(slowest_bps(scenario, direction, path, window)),
    }
}

/// The losses of one TCP connection on the path, and the payload rate of its links, bit/s.
fn met(scenario: &Scenario, direction: Direction, path: PathIndex) -> (Losses, f64) {
    let (data, _) = links_of(scenario, direction, path);
    let rtt_s = base_rtt_s(scenario, path);
    let whole = Window {
        from: Nanos::ZERO,
        until: scenario.duration,
    };
    let link_bps = slowest_bps(scenario, direction, path, whole);
    let most = most_window(scenario, data, rtt_s);
    (losses(scenario, data, rtt_s, most), link_bps)
}

/// [`Losses::head_start`] of one TCP connection on the path.
pub(crate) fn head_start(scenario: &Scenario, direction: Direction, path: PathIndex) -> f64 {
    let (losses, link_bps) = met(scenario, direction, path);
    losses.head_start(
        link_bps / (scenario.transport.mss.0 as f64 * 8.0),
        base_rtt_s(scenario, path),
        scenario.duration.as_secs_f64(),
    )
}

/// Rate of one TCP connection under the path's random loss alone, bit/s of payload; infinite
/// without loss. The closed form takes loss events; lost retransmissions stop the connection in
/// addition.
pub(crate) fn tcp_bps(
    scenario: &Scenario,
    direction: Direction,
    path: PathIndex,
    capacity: CapacityModel,
) -> f64 {
    let rtt_s = base_rtt_s(scenario, path);
    let mss = scenario.transport.mss.0 as f64;
    let (losses, link_bps) = met(scenario, direction, path);
    let loss = losses.events;
    match capacity {
        _ if loss <= 0.0 => f64::INFINITY,
        CapacityModel::Mathis => losses.mathis_bps(mss, rtt_s, link_bps),
        CapacityModel::Pftk => {
            let timeout_s = rtt_s.max(scenario.transport.rto_min.as_secs_f64());
            let per_ack = if scenario.transport.delayed_ack.is_some() {
                2.0
            } else {
                1.0
            };
            losses.slow(
                pftk_pps(rtt_s, timeout_s, loss, per_ack) * mss * 8.0,
                mss,
                link_bps,
            )
        }
    }
}
