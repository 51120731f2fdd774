//! How late this machine's timers come: what emulated links can be, at best.

use std::num::NonZeroU64;
use std::panic::resume_unwind;
use std::thread;

use joulepath_model::units::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

use crate::reactor::monotonic_ns;

/// Timers of one measurement, and the time between two.
const TIMERS: usize = 300;
const APART_NS: u64 = 1_000_000;
/// The lowest real-time priority: above every ordinary process, below whatever else is real-time.
const PRIORITY: libc::c_int = 1;
const NS_PER_S: u64 = 1_000_000_000;

/// What kind of thread waits for the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// As the emulator does: exact timers, and real-time priority where that is permitted.
    Preferred,
    /// As every other program does.
    Ordinary,
}

/// Sleeps 300 times until the next millisecond. Returns the lateness that one timer in a hundred exceeds. It
/// takes a third of a second.
pub fn timer_lateness(waiting: Waiting) -> Nanos {
    // Priority and timer slack are the thread's, and go with it.
    let late = thread::scope(|scope| {
        scope.spawn(|| measure(waiting)).join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    percentile_99(late)
}

fn measure(waiting: Waiting) -> Vec<u64> {
    if waiting == Waiting::Preferred {
        // Without either the timers come later, and that is what is measured.
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

/// Gives the calling thread real-time priority; whether that is permitted.
pub fn prefer_current_thread() -> bool {
    // The kernel's `sched_param`. Not the library's call: musl's does nothing but fail.
    let parameters = PRIORITY;
    // SAFETY: the call reads one `c_int`, which outlives it; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / NS_PER_S) as i64, tv_nsec: (at_ns % NS_PER_S) as i64 };
    // After a signal it goes on to sleep; no other error is possible with a time that is valid.
    while clock_nanosleep_absolute(ClockId::Monotonic, &at).is_err() {}
}

/// The least lateness that no more than one in a hundred exceeds.
fn percentile_99(mut late_ns: Vec<u64>) -> Nanos {
    late_ns.sort_unstable();
    let exceeding = late_ns.len() / 100;
    Nanos(late_ns[late_ns.len() - 1 - exceeding])
}

/// Two different times with as many decimals as it takes to see that they differ, and that neither is zero.
pub fn milliseconds_apart(one: Nanos, other: Nanos) -> [String; 2] {
    // With six decimals of a millisecond they are nanoseconds.
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
    fn one_timer_in_a_hundred_may_be_later() {
        // 198 in time and two late: the two are one in a hundred.
        let mut late = vec![0; 198];
        late.extend([9, 7]);
        assert_eq!(percentile_99(late.clone()), Nanos(0));
        late[0] = 5;
        assert_eq!(percentile_99(late), Nanos(5));
    }

    #[test]
    fn timers_come_late_by_more_than_nothing() {
        for waiting in [Waiting::Preferred, Waiting::Ordinary] {
            let late = timer_lateness(waiting);
            assert!(late > Nanos::ZERO && late < Nanos::from_secs(10), "{waiting:?}: {late}");
        }
    }

    #[test]
    fn two_times_that_differ_are_shown_apart() {
        let shown = |late, allowed| milliseconds_apart(Nanos(late), Nanos(allowed));
        assert_eq!(shown(4_520_000, 1_000_000), ["4.5 ms", "1.0 ms"]);
        // Rounded to a tenth of a millisecond both would be 1.0 ms.
        assert_eq!(shown(1_032_000, 1_000_000), ["1.03 ms", "1.00 ms"]);
        // Rounded to a tenth the second would be none at all.
        assert_eq!(shown(300_000, 20_000), ["0.30 ms", "0.02 ms"]);
        assert_eq!(shown(1_000_001, 1_000_000), ["1.000001 ms", "1.000000 ms"]);
    }
}
