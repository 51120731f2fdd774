//! How the emulator gets the processor when it needs it.

use std::num::NonZeroU64;

use joulepath_kernel::lateness::prefer_current_thread;
use joulepath_model::scenario::Scenario;
use rustix::thread::set_current_timer_slack;

use super::messages::TunnelSpec;

/// Total rate up to which real-time priority helps, bit/s. At 1 Gbit/s the emulator would starve the network
/// stack that it serves.
const MODEST_BPS: f64 = 300e6;

/// Whether all tunnels together, both ways, stay below the rate at which real-time priority would do harm.
pub(super) fn is_modest(scenario: &Scenario, tunnels: &[TunnelSpec]) -> bool {
    let slowest = |route: &[usize]| {
        let rates = route.iter().map(|&link| scenario.links[link].rate.mean_bps(scenario.duration));
        rates.fold(f64::INFINITY, f64::min)
    };
    // ACKs are few bytes, so that only the larger of the two directions counts.
    let rate = |tunnel: &TunnelSpec| slowest(&tunnel.down).max(slowest(&tunnel.up));
    tunnels.iter().map(rate).sum::<f64>() < MODEST_BPS
}

/// Asks for timers that are exact to the nanosecond, for memory that is never paged out, and for real-time
/// priority. Returns whether all of it was granted. Without it a run is later, and says by how much.
pub(super) fn acquire() -> bool {
    let precise = set_current_timer_slack(NonZeroU64::new(1)).is_ok();
    // SAFETY: locking pages changes no contents.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } == 0;
    precise && locked && prefer_current_thread()
}
