//! The energy of interfaces, from their counters.
//!
//! Counters are read in every round and between rounds, more often while packets pass. In a round
//! the readings since the last one become joules, and what all paths would have needed.

use std::collections::BTreeMap;

use joulepath_kernel::route::Counters;
use joulepath_model::energy::InterfaceEnergy;
use joulepath_model::units::{Dbm, Nanos};

use crate::always::Shortened;
use crate::joules::{Modelled, Quality, Smoothed};
use crate::measure::between;
use crate::placing::{Passed, Placed, Placing};

/// Pause between two readings while packets pass.
const BUSY: Nanos = Nanos::from_millis(50);
/// Pause between two readings while none pass.
const QUIET: Nanos = Nanos::from_millis(500);
/// Bytes between two closer readings give no rate.
const CLOSE: Nanos = Nanos::from_millis(10);

/// Source of an interface's energy.
pub(crate) struct Source {
    pub(crate) profile: String,
    joules: Modelled,
    /// The same interface with all paths at all times.
    awake: Modelled,
    /// The time of `awake`: with all paths, transfers end sooner.
    awake_at: Nanos,
    device: u32,
    counters: Option<Counters>,
    placing: Placing,
    /// Intervals since the last round, with their energy, J.
    placed: Vec<(Placed, f64)>,
    signal: Option<Dbm>,
    looked: Nanos,
    /// Unknown before the second round.
    power: Smoothed,
}

/// Since the last round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// Energy, J.
    pub(crate) joules: f64,
    /// Energy with all paths, J.
    pub(crate) all_j: f64,
}

impl Source {
    fn new(energy: &InterfaceEnergy, now: Nanos) -> Self {
        let quality = if energy.is_calibrated() {
            Quality::Calibrated
        } else {
            Quality::Modelled
        };
        let model = || Modelled::new(energy, quality, now);
        Source {
            profile: energy.profile.clone(),
            joules: model(),
            awake: model(),
            awake_at: now,
            device: 0,
            counters: None,
            placing: Placing::new(now),
            placed: vec![],
            signal: None,
            looked: now,
            power: Smoothed::default(),
        }
    }

    fn read(&mut self, now: Nanos, still: Nanos, counters: Counters) {
        let is_close = now.saturating_sub(self.placing.at()) < CLOSE;
        if is_close && self.placing.is_busy() && self.counters.is_some() {
            // The next reading counts this traffic, too.
            return;
        }
        if still > self.placing.at() {
            self.pass(still, Passed::default());
        }
        let passed = self
            .counters
            .replace(counters)
            .map(|last| between(last, counters))
            .unwrap_or_default();
        self.pass(now, passed);
    }

    fn pass(&mut self, now: Nanos, passed: Passed) {
        let placed = self.placing.next(now, passed);
        let joules = self.joules.advance(placed, self.signal);
        self.placed.push((placed, joules));
    }

    /// Ends a round. With `all_paths`, all paths would have shortened it, and the interface may
    /// have joined.
    fn end(&mut self, now: Nanos, all_paths: Option<&Shortened>) -> Round {
        let placed = std::mem::take(&mut self.placed);
        let joules = placed.iter().map(|(_, joules)| joules).sum();
        let from = placed.first().map_or(now, |(placed, _)| placed.from);
        let until = placed.last().map_or(now, |(placed, _)| placed.until);
        let joining =
            all_paths.and_then(|all| all.interval(self.device, from, until, sum(&placed)));
        let all_j = match joining {
            Some(joining) => self.follow(joining),
            None => {
                let part = all_paths.map_or(1.0, |all| all.part);
                part * placed
                    .iter()
                    .map(|(placed, _)| self.follow(*placed))
                    .sum::<f64>()
            }
        };
        let length_s = now.saturating_sub(self.looked).as_secs_f64();
        if length_s > 0.0 {
            self.power.add(joules / length_s, length_s);
            self.looked = now;
        }
        Round { joules, all_j }
    }

    /// Energy since the last round, J, such as that of a tail. `still`: until then no packet has
    /// passed since the last reading.
    fn pending_j(&self, still: Nanos) -> f64 {
        let (mut joules, mut placing) = (self.joules.clone(), self.placing);
        let until = still.max(placing.at());
        let quiet = [(); 2].map(|()| placing.next(until, Passed::default()));
        let ahead_j = quiet
            .map(|placed| joules.advance(placed, self.signal))
            .iter()
            .sum::<f64>();
        self.placed.iter().map(|(_, joules)| joules).sum::<f64>() + ahead_j
    }

    /// Energy of an interval with all paths, J.
    fn follow(&mut self, placed: Placed) -> f64 {
        let at = |time: Nanos| {
            self.awake_at
                .saturating_add(time.saturating_sub(placed.from))
        };
        let Placed {
            from,
            until,
            first,
            last,
            passed,
        } = placed;
        let here = Placed {
            from: at(from),
            until: at(until),
            first: at(first),
            last: at(last),
            passed,
        };
        self.awake_at = here.until;
        self.awake.advance(here, self.signal)
    }

    pub(crate) fn quality(&self) -> Quality {
        self.joules.quality()
    }

    pub(crate) fn signal(&self) -> Option<Dbm> {
        self.joules.signal()
    }
}

/// The sources of all interfaces that have an energy model, by name.
#[derive(Default)]
pub(crate) struct Sources {
    all: BTreeMap<String, Source>,
    /// Until then no packet has passed since the last reading.
    still: Nanos,
}

impl Sources {
    pub(crate) fn get(&self, name: &str) -> Option<&Source> {
        self.all.get(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.all.remove(name);
    }

    pub(crate) fn retain(&mut self, mut stays: impl FnMut(&String) -> bool) {
        self.all.retain(|name, _| stays(name));
    }

    /// Energy of an interface since the last round, J; `None` without an energy model.
    pub(crate) fn pending_j(&self, name: &str) -> Option<f64> {
        Some(self.all.get(name)?.pending_j(self.still))
    }

    /// The smoothed power of an interface, W.
    pub(crate) fn power_w(&self, name: &str) -> Option<f64> {
        self.all.get(name)?.power.power_w()
    }

    /// The smoothed power of all interfaces, W.
    pub(crate) fn attributed_w(&self) -> f64 {
        self.all
            .values()
            .filter_map(|source| source.power.power_w())
            .sum()
    }

    /// True if counters are read rarely, because no packet passes.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.all.is_empty() && !self.all.values().any(|source| source.placing.is_busy())
    }

    /// When to read counters next; `None`: rounds suffice.
    pub(crate) fn due(&self) -> Option<Nanos> {
        let at = self.all.values().map(|source| source.placing.at()).max()?;
        let is_busy = self.still <= at && self.all.values().any(|source| source.placing.is_busy());
        Some(
            at.max(self.still)
                .saturating_add(if is_busy { BUSY } else { QUIET }),
        )
    }

    /// Notes that no packet has passed since the last reading.
    pub(crate) fn is_still(&mut self, now: Nanos) {
        self.still = now;
    }

    /// Takes in counters between two rounds.
    pub(crate) fn read(&mut self, now: Nanos, counters: &[(u32, Counters)]) {
        for source in self.all.values_mut() {
            if let Some((_, counters)) =
                counters.iter().find(|(device, _)| *device == source.device)
            {
                source.read(now, self.still, *counters);
            }
        }
    }

    /// Takes in the counters of a round. Traffic before a model or a device was known does not
    /// count.
    pub(crate) fn look(
        &mut self,
        now: Nanos,
        (name, device): (&str, u32),
        energy: &InterfaceEnergy,
        counters: Option<Counters>,
        signal: Option<Dbm>,
    ) {
        if self
            .all
            .get(name)
            .is_none_or(|source| source.profile != energy.profile)
        {
            self.all.insert(name.to_owned(), Source::new(energy, now));
        }
        let Some(source) = self.all.get_mut(name) else {
            return;
        };
        source.signal = signal;
        if source.device != device {
            (source.device, source.counters) = (device, None);
        }
        match counters {
            Some(counters) => source.read(now, self.still, counters),
            None => source.pass(now, Passed::default()),
        }
    }

    /// Bytes of an interface since the last round, if it has an energy model.
    pub(crate) fn passed(&self, name: &str) -> Option<Passed> {
        Some(sum(&self.all.get(name)?.placed))
    }

    /// Ends a round of an interface: as [`Source::end`].
    pub(crate) fn end(
        &mut self,
        now: Nanos,
        name: &str,
        all_paths: Option<&Shortened>,
    ) -> Option<Round> {
        Some(self.all.get_mut(name)?.end(now, all_paths))
    }
}

fn sum(placed: &[(Placed, f64)]) -> Passed {
    let mut passed = Passed::default();
    placed
        .iter()
        .for_each(|(placed, _)| passed.add(placed.passed));
    passed
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;

    use super::*;

    fn energy(profile_name: &str) -> InterfaceEnergy {
        InterfaceEnergy {
            profile: profile_name.into(),
            model: profile(profile_name).unwrap().model,
        }
    }

    fn counters(bytes: u64) -> Counters {
        Counters {
            received_bytes: bytes,
            received_packets: bytes / 1000,
            ..Counters::default()
        }
    }

    #[test]
    fn a_model_starts_with_its_second_poll_and_again_with_another_profile_or_device() {
        let mut sources = Sources::default();
        let mut spend = |profile: &str, device: u32, s: u64| {
            let at = Nanos::from_secs(s);
            sources.look(
                at,
                ("wwan0", device),
                &energy(profile),
                Some(counters(s * 1_000_000)),
                None,
            );
            sources.end(at, "wwan0", None).unwrap().joules
        };
        let mut spends = |profile: &str, device: u32, s: u64| {
            (0..3).map(|k| spend(profile, device, s + k)).sum::<f64>()
        };
        assert!(spends("lte-huang2012", 3, 1) > 1.0);
        assert!(spends("wifi-huang2012", 3, 4) > 1.0);
        // The first of three polls counts nothing, the last is not placed yet. What waited is: 2 MB
        // in all, with 1.1 J for the bits of each.
        let renewed = spends("wifi-huang2012", 4, 100);
        assert!((2.3..3.0).contains(&renewed), "{renewed}");
    }

    #[test]
    fn counters_are_read_more_often_while_packets_pass() {
        let mut sources = Sources::default();
        assert_eq!(sources.due(), None);
        let (wifi, ms) = (energy("wifi-huang2012"), Nanos::from_millis);
        sources.look(ms(1000), ("wlan0", 2), &wifi, Some(counters(0)), None);
        assert_eq!(sources.due(), Some(ms(1500)));
        sources.is_still(ms(1500));
        assert_eq!(sources.due(), Some(ms(2000)));
        sources.read(ms(2000), &[(2, counters(5000))]);
        assert_eq!(sources.due(), Some(ms(2050)));
        sources.is_still(ms(2050));
        assert_eq!(sources.due(), Some(ms(2550)));
        // The burst was between 1.5 s and 2 s: 2 s apart, the second reading would spread it over
        // more.
        sources.read(ms(4050), &[(2, counters(5000))]);
        let Placed { first, last, .. } = sources.all["wlan0"].placed[3].0;
        assert_eq!((first, last), (ms(1625), ms(1875)));
    }

    #[test]
    fn two_readings_at_once_do_not_shorten_a_burst() {
        let (wifi, ms) = (energy("wifi-huang2012"), Nanos::from_millis);
        let mut sources = Sources::default();
        sources.look(ms(1000), ("wlan0", 2), &wifi, Some(counters(0)), None);
        // 10 packets in the last 100 ms of an interval, then 2 more before the round reads the
        // counters.
        sources.read(ms(1500), &[(2, counters(10_000))]);
        sources.look(ms(1500), ("wlan0", 2), &wifi, Some(counters(12_000)), None);
        sources.read(ms(1550), &[(2, counters(15_000))]);
        let placed = sources.all["wlan0"].placed.last().unwrap().0;
        assert_eq!(
            (placed.first, placed.last, placed.passed.packets),
            (ms(1400), ms(1500), 10)
        );
        sources.read(ms(1600), &[(2, counters(15_000))]);
        assert_eq!(
            sources.all["wlan0"].placed.last().unwrap().0.passed.packets,
            5
        );
    }

    #[test]
    fn a_tail_counts_before_the_next_round() {
        let lte = energy("lte-huang2012");
        let s = Nanos::from_secs;
        let mut sources = Sources::default();
        let mut counted_j = 0.0;
        for (at, bytes) in [(1, 0), (2, 0), (3, 1000)] {
            sources.look(s(at), ("wwan0", 3), &lte, Some(counters(bytes)), None);
            counted_j += sources.end(s(at), "wwan0", None).unwrap().joules;
        }
        let mut seen_j = vec![];
        for at in 4..9 {
            sources.is_still(s(at));
            seen_j.push(counted_j + sources.pending_j("wwan0").unwrap());
        }
        // The tail takes 1.06 W.
        let grows = |pair: &[f64]| (pair[1] - pair[0] - 1.06).abs() < 0.01;
        assert!(seen_j.windows(2).all(grows), "{seen_j:?}");
        sources.look(s(8), ("wwan0", 3), &lte, Some(counters(1000)), None);
        counted_j += sources.end(s(8), "wwan0", None).unwrap().joules;
        let all_j = counted_j + sources.pending_j("wwan0").unwrap();
        assert!((all_j - seen_j[4]).abs() < 1e-9, "{all_j} {seen_j:?}");
    }

    #[test]
    fn power_is_smoothed_and_a_calibrated_profile_sets_its_quality() {
        // Paper 000, table 1: WiFi 137 mW per Mbit/s and 132.9 mW. 1 MB in 2 s is 4 Mbit/s: 0.6809
        // W.
        let model = profile("wifi-seed000").unwrap().model;
        let energy = InterfaceEnergy {
            profile: "file:mine.toml, calibrated".into(),
            model,
        };
        let mut source = Source::new(&energy, Nanos::ZERO);
        assert_eq!(
            (source.power.power_w(), source.quality()),
            (None, Quality::Calibrated)
        );
        let s = Nanos::from_secs;
        source.pass(
            s(2),
            Passed {
                received_bytes: 1_000_000,
                sent_bytes: 0,
                packets: 700,
            },
        );
        source.pass(s(2), Passed::default());
        source.end(s(2), None);
        assert!(
            (source.power.power_w().unwrap() - 0.6809).abs() < 1e-6,
            "{:?}",
            source.power
        );
        // A second poll at the same instant adds nothing. 5 s without traffic weigh 1 − 1/e: 0.1329
        // W + (0.6809 W − 0.1329 W) / e = 0.3345 W.
        source.pass(s(2), Passed::default());
        source.end(s(2), None);
        source.pass(s(7), Passed::default());
        source.pass(s(7), Passed::default());
        source.end(s(7), None);
        assert!(
            (source.power.power_w().unwrap() - 0.33450).abs() < 1e-4,
            "{:?}",
            source.power
        );
        let named = InterfaceEnergy {
            profile: "wifi-seed000".into(),
            ..energy
        };
        assert_eq!(
            Source::new(&named, Nanos::ZERO).quality(),
            Quality::Modelled
        );
    }
}
