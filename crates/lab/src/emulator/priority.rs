//! Scheduling priority of the emulator.

use std::num::NonZeroU64;

use joulepath_kernel::lateness::prefer_current_thread;
use joulepath_model::scenario::Scenario;
use rustix::thread::set_current_timer_slack;

use super::messages::TunnelSpec;

/// Total rate up to which real-time priority helps, bit/s. At 1 Gbit/s the emulator would starve
/// the network stack.
const MODEST_BPS: f64 = 300e6;

/// True if the total rate of all tunnels is low enough for real-time priority.
pub(super) fn is_modest(scenario: &Scenario, tunnels: &[TunnelSpec]) -> bool {
    let slowest = |route: &[usize]| {
        let rates = route
            .iter()
            .map(|&link| scenario.links[link].rate.mean_bps(scenario.duration));
        rates.fold(f64::INFINITY, f64::min)
    };
    // ACKs are small, so only the larger direction of a tunnel counts.
    let rate = |tunnel: &TunnelSpec| slowest(&tunnel.down).max(slowest(&tunnel.up));
    tunnels.iter().map(rate).sum::<f64>() < MODEST_BPS
}

/// Requests timers with nanosecond resolution, locked memory, and real-time priority. Returns true
/// if all are granted. Otherwise the run is later, and reports its lateness.
pub(super) fn acquire() -> bool {
    let precise = set_current_timer_slack(NonZeroU64::new(1)).is_ok();
    // SAFETY: locking pages changes no contents.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } == 0;
    precise && locked && prefer_current_thread()
}
