//! The daemon's latest events, for `status`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use joulepath_model::units::Nanos;

use crate::status::Event;

/// Events kept.
const MOST: usize = 50;
/// Characters kept of each event.
const LONGEST: usize = 300;

/// The latest events; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Rc<RefCell<VecDeque<(Nanos, String)>>>);

impl Events {
    pub(crate) fn note(&self, now: Nanos, text: &str) {
        let mut kept = self.0.borrow_mut();
        if kept.len() == MOST {
            kept.pop_front();
        }
        kept.push_back((now, text.chars().take(LONGEST).collect()));
    }

    /// All events, latest first.
    pub(crate) fn latest(&self, now: Nanos) -> Vec<Event> {
        let told = |(at, text): &(Nanos, String)| Event {
            ago_s: now.saturating_sub(*at).as_secs_f64(),
            text: text.clone(),
        };
        self.0.borrow().iter().rev().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_events_are_kept_with_bounded_length() {
        let events = Events::default();
        let other = events.clone();
        for second in 0..60 {
            other.note(
                Nanos::from_secs(second),
                &format!("{second}: {}", "ä".repeat(1000)),
            );
        }
        let told = events.latest(Nanos::from_secs(61));
        // The first 10 of 60 events are gone. The last one happened 61 s − 59 s ago.
        assert_eq!((told.len(), told[0].ago_s), (50, 2.0));
        assert!(told[0].text.starts_with("59: ") && told[49].text.starts_with("10: "));
        assert!(
            told.iter()
                .all(|event| event.text.chars().count() == LONGEST)
        );
    }
}
