//! How late timers come: what a test of milliseconds needs of a machine is measured, not assumed.

use std::time::Duration;

use joulepath_kernel::lateness::{Waiting, milliseconds_apart, timer_lateness};
use joulepath_model::units::Nanos;

/// At most so late, for what needs a quiet clock. The kernel engine allows its links as much, or more.
pub const ALLOWED: Nanos = Nanos::from_millis(1);

/// How long to wait for a quiet moment: measures, with a pause after each.
const MEASURES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(500);

/// How late the timers of one measure came: their 99th percentile, for a thread without any privilege. The
/// ends of the traffic and the tests themselves are such threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lateness(pub Nanos);

impl Lateness {
    /// Measures for a third of a second.
    #[must_use]
    pub fn measure() -> Self {
        Lateness(timer_lateness(Waiting::Ordinary))
    }
}

impl std::fmt::Display for Lateness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [late, allowed] = milliseconds_apart(self.0, ALLOWED);
        write!(f, "timers come {late} late (99th percentile; {allowed} are allowed)")
    }
}

/// Waits some seconds for a moment in which timers come in time; the smallest lateness that was measured if
/// there is none.
pub fn quiet() -> Result<(), Lateness> {
    let mut least: Option<Lateness> = None;
    for _ in 0..MEASURES {
        let lateness = Lateness::measure();
        if lateness.0 <= ALLOWED {
            return Ok(());
        }
        least = Some(least.map_or(lateness, |least| least.min(lateness)));
        std::thread::sleep(PAUSE);
    }
    Err(least.expect("measured more than once"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_has_the_lateness_and_what_is_allowed() {
        let text = Lateness(Nanos::from_micros(4520)).to_string();
        assert_eq!(text, "timers come 4.5 ms late (99th percentile; 1.0 ms are allowed)");
    }
}
