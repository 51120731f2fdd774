//! Measures how late this machine's timers fire, which bounds the accuracy of emulated links.

use std::num::NonZeroU64;
use std::panic::resume_unwind;
use std::thread;

use joulepath_model::units::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

use crate::reactor::monotonic_ns;

/// Timers per measurement, and the time between two.
const TIMERS: usize = 300;
const APART_NS: u64 = 1_000_000;
/// The lowest real-time priority: above every ordinary process, below all other real-time threads.
const PRIORITY: libc::c_int = 1;
const NS_PER_S: u64 = 1_000_000_000;

/// The kind of thread that waits for the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// As the emulator: exact timers, and real-time priority if permitted.
    Preferred,
    /// As any other program.
    Ordinary,
}

/// Sleeps 300 times until the next millisecond. Returns the lateness that one timer in a hundred
/// exceeds. Takes 0.3 s.
pub fn timer_lateness(waiting: Waiting) -> Nanos {
    // Priority and timer slack belong to the thread and end with it.
    let late = thread::scope(|scope| {
        scope
            .spawn(|| measure(waiting))
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    });
    percentile_99(late)
}

fn measure(waiting: Waiting) -> Vec<u64> {
    if waiting == Waiting::Preferred {
        // If either is refused, the timers fire later, and the result shows it.
        let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        prefer_current_thread();
    }
    let mut due_ns = monotonic_ns();
    let late = |_| {
        due_ns = monotonic_ns().max(due_ns) + APART_NS;
        sleep_until(due_ns);
        monotonic_ns().saturating_sub(due_ns)
    };
    (0..TIMERS).map(late).collect()
}

/// Gives the calling thread real-time priority. Returns true if that is permitted.
pub fn prefer_current_thread() -> bool {
    // The kernel's `sched_param`. musl's library call always fails, so this makes the system call.
    let parameters = PRIORITY;
    // SAFETY: the call reads one `c_int`, which outlives it. 0 is the calling thread.
    unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO,
            &raw const parameters,
        ) == 0
    }
}

fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / NS_PER_S) as i64,
        tv_nsec: (at_ns % NS_PER_S) as i64,
    };
    // A signal ends the sleep early, so sleep again. A valid time allows no other error.
    while clock_nanosleep_absolute(ClockId::Monotonic, &at).is_err() {}
}

/// The lowest lateness that at most one in a hundred exceeds.
fn percentile_99(mut late_ns: Vec<u64>) -> Nanos {
    late_ns.sort_unstable();
    let exceeding = late_ns.len() / 100;
    Nanos(late_ns[late_ns.len() - 1 - exceeding])
}

/// Two different times, with enough decimals to show that they differ and that neither is zero.
pub fn milliseconds_apart(one: Nanos, other: Nanos) -> [String; 2] {
    // Six decimals of a millisecond are nanoseconds.
    const MOST_DECIMALS: usize = 6;
    let tells = |decimals: &usize| {
        let unit_ns = 10_f64.powi((MOST_DECIMALS - decimals) as i32);
        let [a, b] = [one, other].map(|time| (time.0 as f64 / unit_ns).round());
        a != b && a > 0.0 && b > 0.0
    };
    let decimals = (1..MOST_DECIMALS).find(tells).unwrap_or(MOST_DECIMALS);
    [one, other].map(|time| format!("{:.decimals$} ms", time.0 as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_allows_one_later_timer_in_a_hundred() {
        // 198 on time and two late: the two are one in a hundred.
        let mut late = vec![0; 198];
        late.extend([9, 7]);
        assert_eq!(percentile_99(late.clone()), Nanos(0));
        late[0] = 5;
        assert_eq!(percentile_99(late), Nanos(5));
    }

    #[test]
    fn timers_fire_late() {
        for waiting in [Waiting::Preferred, Waiting::Ordinary] {
            let late = timer_lateness(waiting);
            assert!(
                late > Nanos::ZERO && late < Nanos::from_secs(10),
                "{waiting:?}: {late}"
            );
        }
    }

    #[test]
    fn two_different_times_are_shown_differently() {
        let shown = |late, allowed| milliseconds_apart(Nanos(late), Nanos(allowed));
        assert_eq!(shown(4_520_000, 1_000_000), ["4.5 ms", "1.0 ms"]);
        // Rounded to a tenth of a millisecond, both would be 1.0 ms.
        assert_eq!(shown(1_032_000, 1_000_000), ["1.03 ms", "1.00 ms"]);
        // Rounded to a tenth, the second would be zero.
        assert_eq!(shown(300_000, 20_000), ["0.30 ms", "0.02 ms"]);
        assert_eq!(shown(1_000_001, 1_000_000), ["1.000001 ms", "1.000000 ms"]);
    }
}
