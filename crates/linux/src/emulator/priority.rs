//! How the emulator gets the processor when it needs it.

use std::num::NonZeroU64;

use joulepath_model::scenario::Scenario;
use rustix::thread::set_current_timer_slack;

use super::messages::LineSpec;

/// Total rate up to which real-time priority helps, bit/s. At Gbit/s it starves the network stack that it serves.
const MODEST_BPS: f64 = 300e6;
/// The lowest real-time priority: above every ordinary process, below whatever else is real-time.
const PRIORITY: libc::c_int = 1;

/// Whether all lines together, both ways, stay below the rate at which real-time priority would do harm.
pub(super) fn is_modest(scenario: &Scenario, lines: &[LineSpec]) -> bool {
    let slowest = |route: &[usize]| {
        let rates = route.iter().map(|&link| scenario.links[link].rate.mean_bps(scenario.duration));
        rates.fold(f64::INFINITY, f64::min)
    };
    // What comes down is answered by little: the larger of the two counts.
    let rate = |line: &LineSpec| slowest(&line.down).max(slowest(&line.up));
    lines.iter().map(rate).sum::<f64>() < MODEST_BPS
}

/// Timers to the nanosecond, memory that stays, and real-time priority; whether that was to be had. The run says how late it
/// was, so that a refusal shows where it matters.
pub(super) fn acquire() -> bool {
    let precise = set_current_timer_slack(NonZeroU64::new(1)).is_ok();
    // SAFETY: locking pages changes no contents.
    let locked = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } == 0;
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the call reads one structure, which outlives it; 0 is the calling thread.
    let ahead = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0;
    precise && locked && ahead
}
