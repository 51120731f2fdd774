//! Paths that still answer, and have become too slow for what is sent: a radio at the edge of its cell, a
//! plan that is throttled. Under `interactive` such a path counts as one in trouble, and the next one stands
//! in for it.
//!
//! From one end a path that has become slow looks like an application that has less to send. So it is tried:
//!
//! ```text
//!   the first path carries ── less than LOW of the usual, for LOW_AFTER ──► the next one stands in
//!        ▲                                                                            │ for TRIAL
//!        ├── no gain: the usual is less now; the next trial after PAUSE · 2ⁿ ◄─────────┤
//!        └── it stands in for PAUSE · 2ⁿ ◄── GAIN more than before ───────────────────┘
//! ```

use joulepath_model::units::Nanos;

use super::lately::{Lately, lasted};
use super::mean::Mean;

/// Part of what is usual.
const LOW: f64 = 0.7;
const LOW_AFTER: Nanos = Nanos::from_secs(3);
/// What is usual follows what is carried with this time constant.
const USUAL_S: f64 = 10.0;
/// Less than this is no traffic, bit/s; after so long without traffic nothing is usual.
const LEAST_BPS: f64 = 20e3;
const REST: Nanos = Nanos::from_secs(10);
const TRIAL: Nanos = Nanos::from_secs(8);
/// What was on its way counts as the gain of nothing.
const SETTLE: Nanos = Nanos::from_secs(2);
const GAIN: f64 = 1.25;
/// Roles that cannot change for so long end a trial.
const LONGEST: Nanos = Nanos::from_secs(60);
const PAUSE: Nanos = Nanos::from_secs(60);
const MOST_DOUBLINGS: u32 = 5;
/// One trial, or one time for which another path stood in, is forgotten after this time.
const FORGET: Nanos = Nanos::from_secs(3600);

/// What is carried as a rule, and whether it is less now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    bps: Option<f64>,
    looked: Option<Nanos>,
    resting_since: Option<Nanos>,
    low_since: Option<Nanos>,
    /// What was carried since then.
    low: Mean,
}

impl Usual {
    /// Takes in what is carried; if that is low and was for `time`, what it was meanwhile, bit/s.
    pub(super) fn observe(&mut self, now: Nanos, carried_bps: f64, time: Nanos) -> Option<f64> {
        let passed = self.looked.map_or(Nanos::ZERO, |looked| now.saturating_sub(looked));
        self.looked = Some(now);
        let rests = carried_bps < LEAST_BPS;
        if lasted(&mut self.resting_since, rests, now, REST) {
            self.bps = None;
        }
        let is_low = !rests && self.bps.is_some_and(|usual| carried_bps < LOW * usual);
        let is_faded = lasted(&mut self.low_since, is_low, now, time);
        if is_low {
            self.low.add(carried_bps);
            return self.low.get().filter(|_| is_faded);
        }
        self.low = Mean::default();
        if !rests {
            let usual = self.bps.unwrap_or(carried_bps);
            let weight = 1.0 - (-passed.as_secs_f64() / USUAL_S).exp();
            self.bps = Some(usual + weight * (carried_bps - usual));
        }
        None
    }

    /// Less is carried than is usual, if not for long yet.
    pub(super) fn is_low(&self) -> bool {
        self.low_since.is_some()
    }

    /// So much is usual from now on.
    pub(super) fn becomes(&mut self, bps: f64) {
        *self = Usual { bps: Some(bps), looked: self.looked, ..Usual::default() };
    }
}

/// What is tried, or was found.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// Another path stands in to see whether that helps: since when it was asked for, since when it does,
    /// what was carried before and after.
    Trial { asked: Nanos, since: Option<Nanos>, before_bps: f64, after: Mean },
    /// It helped.
    Found { until: Nanos, reason: String },
}

/// Whether the first path has become too slow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fade {
    /// The first path, and the one that would stand in.
    pair: Option<(String, String)>,
    usual: Usual,
    stage: Option<Stage>,
    pause_until: Nanos,
    times: Lately,
}

/// The paths at one look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look<'a> {
    /// The first path in the order of preference.
    pub(super) first: &'a str,
    /// The one that would stand in.
    pub(super) stand_in: &'a str,
    /// What all paths carry, bit/s.
    pub(super) carried_bps: f64,
    /// Whether the one stands in for the other already.
    pub(super) stands_in: bool,
    /// Whether there is something to move: connections with a subflow on the first path.
    pub(super) has_subflows: bool,
}

impl Fade {
    /// Why the other path is to stand in; none if it is not.
    pub(super) fn observe(&mut self, now: Nanos, look: Look) -> Option<String> {
        let is_pair = |(first, stand_in): &(String, String)| first == look.first && stand_in == look.stand_in;
        if !self.pair.as_ref().is_some_and(is_pair) {
            // What is usual stays: it is the applications'.
            self.pair = Some((look.first.to_owned(), look.stand_in.to_owned()));
            self.stage = None;
        }
        let faded = self.usual.observe(now, look.carried_bps, LOW_AFTER);
        match &mut self.stage {
            None => {
                let before_bps = faded.filter(|_| look.has_subflows && now >= self.pause_until)?;
                self.stage =
                    Some(Stage::Trial { asked: now, since: None, before_bps, after: Mean::default() });
                Some(trial(look.first, before_bps))
            }
            Some(Stage::Trial { asked, since, before_bps, after }) => {
                let before_bps = *before_bps;
                if look.stands_in {
                    since.get_or_insert(now);
                }
                let tried = since.map_or(Nanos::ZERO, |since| now.saturating_sub(since));
                if tried >= SETTLE {
                    after.add(look.carried_bps);
                }
                if tried < TRIAL && now.saturating_sub(*asked) < LONGEST {
                    return Some(trial(look.first, before_bps));
                }
                let after_bps = after.get().unwrap_or(0.0);
                self.end_trial(now, look.first, before_bps, after_bps)
            }
            Some(Stage::Found { until, reason }) => {
                if now >= *until {
                    self.stage = None;
                    return None;
                }
                Some(reason.clone())
            }
        }
    }

    /// Whether the next look should come soon.
    pub(super) fn is_watched(&self) -> bool {
        self.usual.is_low() || matches!(self.stage, Some(Stage::Trial { .. }))
    }

    fn end_trial(&mut self, now: Nanos, first: &str, before_bps: f64, after_bps: f64) -> Option<String> {
        let until = now.saturating_add(Nanos(PAUSE.0 << self.times.times(now, FORGET)));
        self.times.add(now, FORGET, MOST_DOUBLINGS);
        if after_bps < GAIN * before_bps {
            self.stage = None;
            self.pause_until = until;
            self.usual.becomes(before_bps.max(after_bps));
            return None;
        }
        let (before, after) = (before_bps / 1e6, after_bps / 1e6);
        let reason = format!("{first} has become slow: {before:.1} Mbit/s with it, {after:.1} without");
        self.usual.becomes(after_bps);
        self.stage = Some(Stage::Found { until, reason: reason.clone() });
        Some(reason)
    }
}

fn trial(first: &str, before_bps: f64) -> String {
    format!("a trial: {first} carries {:.1} Mbit/s, less than is usual", before_bps / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks each second; `carried` says what is carried at a second by whether the other path stands in.
    /// Seconds in which it does.
    fn stands_in(
        fade: &mut Fade,
        seconds: std::ops::Range<u64>,
        carried: impl Fn(u64, bool) -> f64,
    ) -> Vec<u64> {
        let mut stands_in = false;
        let mut all = vec![];
        for s in seconds {
            let carried_bps = carried(s, stands_in);
            let look = Look { first: "wifi", stand_in: "lte", carried_bps, stands_in, has_subflows: true };
            stands_in = fade.observe(Nanos::from_secs(s), look).is_some();
            all.extend(stands_in.then_some(s));
        }
        all
    }

    #[test]
    fn a_path_that_has_become_slow_is_left_and_tried_again() {
        // A stream of 5 Mbit/s, of which WiFi carries 2 from 20 s on.
        let carried = |s: u64, over: bool| if over || s < 20 { 5e6 } else { 2e6 };
        let mut fade = Fade::default();
        let at = stands_in(&mut fade, 0..30, carried);
        assert_eq!(at, (23..30).collect::<Vec<_>>());
        // A trial from 23 s to 32 s, and it stands in for 60 s; then 3 s for WiFi, and for 120 s.
        let at = stands_in(&mut fade, 30..300, |s, over| carried(s, over || s == 30));
        let gaps: Vec<u64> = at.windows(2).filter(|pair| pair[1] > pair[0] + 1).map(|pair| pair[0]).collect();
        assert!(gaps.len() == 2 && gaps[0].abs_diff(92) <= 1 && gaps[1].abs_diff(92 + 133) <= 3, "{gaps:?}");
        let Some(Stage::Found { reason, .. }) = &fade.stage else { panic!("{fade:?}") };
        assert_eq!(reason, "wifi has become slow: 2.0 Mbit/s with it, 5.0 without");
    }

    #[test]
    fn an_application_with_less_to_send_costs_a_trial_now_and_then() {
        // Half an hour of 5 and 2 Mbit/s, a minute each, whoever carries them.
        let mut fade = Fade::default();
        let at = stands_in(&mut fade, 0..1800, |s, _| if s / 60 % 2 == 0 { 5e6 } else { 2e6 });
        // After pauses of 60, 120, 240, 480, 960 s.
        assert!((4 * 8..=6 * 10).contains(&at.len()), "{}", at.len());
    }

    #[test]
    fn rests_and_bursts_are_no_fading() {
        let film = |s: u64, _| if s % 10 < 4 { 8e6 } else { 5e3 };
        assert_eq!(stands_in(&mut Fade::default(), 0..600, film), [0; 0]);
        // A call after a download, and a rest between them.
        let call = |s: u64, _| match s {
            0..60 => 20e6,
            60..75 => 0.0,
            _ => 90e3,
        };
        assert_eq!(stands_in(&mut Fade::default(), 0..300, call), [0; 0]);
    }

    #[test]
    fn an_outage_is_none_and_what_follows_it_may_be() {
        let carried = |s: u64, over: bool| match s {
            0..9 => 5e6,
            9..12 => 0.0,
            _ if over => 5e6,
            _ => 2.9e6,
        };
        assert_eq!(stands_in(&mut Fade::default(), 0..18, carried), [15, 16, 17]);
    }

    #[test]
    fn without_connections_to_move_there_is_no_trial() {
        let mut fade = Fade::default();
        for s in 0..60 {
            let carried_bps = if s < 20 { 5e6 } else { 1e6 };
            let look =
                Look { first: "wifi", stand_in: "lte", carried_bps, stands_in: false, has_subflows: false };
            assert_eq!(fade.observe(Nanos::from_secs(s), look), None);
        }
    }

    #[test]
    fn roles_that_cannot_change_end_a_trial() {
        let mut fade = Fade::default();
        let mut asked = 0;
        for s in 0..200 {
            let carried_bps = if s < 20 { 5e6 } else { 1e6 };
            let look =
                Look { first: "wifi", stand_in: "lte", carried_bps, stands_in: false, has_subflows: true };
            asked += usize::from(fade.observe(Nanos::from_secs(s), look).is_some());
        }
        assert!(asked <= 61, "{asked}");
    }
}
