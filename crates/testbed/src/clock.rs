//! Lateness of timers: a test of milliseconds measures the machine instead of assuming that it is
//! quiet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use joulepath_kernel::lateness::{Waiting, milliseconds_apart, timer_lateness};
use joulepath_model::units::Nanos;

/// Largest lateness for a quiet clock. The kernel engine allows its links at least as much.
pub const ALLOWED: Nanos = Nanos::from_millis(1);

/// How long to wait for a quiet moment: number of measurements, with a pause after each.
const MEASURES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(500);

/// Lateness of the timers in one measurement: the 99th percentile, for an unprivileged thread, like
/// the ends of the traffic and the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lateness(pub Nanos);

impl Lateness {
    /// Whether it is within [`ALLOWED`].
    #[must_use]
    pub fn is_quiet(self) -> bool {
        self.0 <= ALLOWED
    }

    /// Measures for a third of a second.
    #[must_use]
    pub fn measure() -> Self {
        Lateness(timer_lateness(Waiting::Ordinary))
    }
}

impl std::fmt::Display for Lateness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [late, allowed] = milliseconds_apart(self.0, ALLOWED);
        write!(
            f,
            "timers are {late} late (99th percentile; limit {allowed})"
        )
    }
}

/// Waits some seconds for a moment with punctual timers; otherwise the error is the smallest
/// lateness measured.
pub fn quiet() -> Result<(), Lateness> {
    let mut least: Option<Lateness> = None;
    for _ in 0..MEASURES {
        let lateness = Lateness::measure();
        if lateness.is_quiet() {
            return Ok(());
        }
        least = Some(least.map_or(lateness, |least| least.min(lateness)));
        std::thread::sleep(PAUSE);
    }
    Err(least.expect("measured more than once"))
}

/// Measures repeatedly during a test: a machine that was quiet before may become busy.
#[derive(Debug)]
pub struct Watch {
    ends: Arc<AtomicBool>,
    measures: JoinHandle<Lateness>,
}

impl Watch {
    /// Starts measuring.
    #[must_use]
    pub fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = ends.clone();
        let measures = std::thread::spawn(move || {
            let mut worst = Lateness::measure();
            while !seen.load(Ordering::Relaxed) {
                worst = worst.max(Lateness::measure());
            }
            worst
        });
        Watch { ends, measures }
    }

    /// The largest lateness since the start.
    ///
    /// # Panics
    /// If the measuring thread panicked.
    #[must_use]
    pub fn stop(self) -> Lateness {
        self.ends.store(true, Ordering::Relaxed);
        self.measures.join().expect("measuring does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_has_measured_at_least_once() {
        assert!(Watch::start().stop().0 > Nanos::ZERO);
    }

    #[test]
    fn the_reason_has_the_lateness_and_the_limit() {
        let text = Lateness(Nanos::from_micros(4520)).to_string();
        assert_eq!(
            text,
            "timers are 4.5 ms late (99th percentile; limit 1.0 ms)"
        );
    }
}
