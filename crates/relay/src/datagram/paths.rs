//! Which paths carry the next datagram. Pure.
//!
//! While datagrams pass, each path in use is pinged. A path that leaves pings without an answer is
//! silent: others are used, and it is pinged more rarely until it answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::wire::{PATHS, Replies};

/// Time between two pings of a path in use.
const PING: Duration = Duration::from_millis(200);
/// The same for a silent one.
const PING_SILENT: Duration = Duration::from_secs(1);
/// A ping that is unanswered for so long shows a silent path: three pings, or four RTTs.
const PATIENCE: Duration = Duration::from_millis(600);
const RTTS: u32 = 4;
/// The same before the first answer.
const FIRST_PATIENCE: Duration = Duration::from_millis(1500);
/// Paths that carry copies.
const COPIES: usize = 2;

/// An interface that may carry datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// `None`: the system's route.
    pub(super) interface: Option<String>,
    /// False: only while no regular one answers.
    pub(super) is_regular: bool,
    /// Nothing speaks against copies on it, such as money.
    pub(super) may_copy: bool,
}

/// All of them, the preferred first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offers {
    /// Each datagram of a small flow goes over two paths.
    pub(super) copies: bool,
    pub(super) all: Vec<Offer>,
}

impl Offers {
    /// The system's route.
    pub(super) fn system() -> Self {
        Offers {
            copies: false,
            all: vec![Offer {
                interface: None,
                is_regular: true,
                may_copy: true,
            }],
        }
    }
}

#[derive(Debug)]
struct Path {
    offer: Offer,
    /// Times of pings without an answer, by sequence number.
    asked: BTreeMap<u64, Instant>,
    last_ping: Option<Instant>,
    rtt: Option<Duration>,
    is_silent: bool,
}

impl Path {
    fn patience(&self) -> Duration {
        self.rtt
            .map_or(FIRST_PATIENCE, |rtt| PATIENCE.max(RTTS * rtt))
    }
}

/// The paths by number.
#[derive(Debug, Default)]
pub(super) struct Paths {
    all: BTreeMap<u8, Path>,
    /// The preferred first.
    order: Vec<u8>,
    copies: bool,
}

impl Paths {
    /// Takes in the daemon's roles. A path keeps its number.
    pub(super) fn update(&mut self, offers: Offers) {
        let mut before = std::mem::take(&mut self.all);
        self.copies = offers.copies;
        self.order.clear();
        let mut new = vec![];
        for offer in offers.all.into_iter().take(PATHS) {
            let known = before
                .iter()
                .find(|(_, path)| path.offer.interface == offer.interface);
            match known.map(|(&number, _)| number) {
                Some(number) => {
                    let path = before.remove(&number).expect("found above");
                    self.order.push(number);
                    self.all.insert(number, Path { offer, ..path });
                }
                None => {
                    new.push((self.order.len(), offer));
                    self.order.push(u8::MAX);
                }
            }
        }
        for (place, offer) in new {
            let number = (0..).find(|number| !self.all.contains_key(number));
            let number = number.expect("there are at most PATHS");
            self.order[place] = number;
            let path = Path {
                offer,
                asked: BTreeMap::new(),
                last_ping: None,
                rtt: None,
                is_silent: false,
            };
            self.all.insert(number, path);
        }
    }

    /// Numbers and interfaces.
    pub(super) fn interfaces(&self) -> impl Iterator<Item = (u8, Option<&str>)> {
        self.all
            .iter()
            .map(|(&number, path)| (number, path.offer.interface.as_deref()))
    }

    /// The paths in use: regular ones that answer, else a backup that answers, else all. With copies,
    /// a backup may be the second.
    fn used(&self) -> Vec<u8> {
        let of = |is_regular: bool| -> Vec<u8> {
            let fits = |number: &&u8| {
                let path = &self.all[*number];
                !path.is_silent && path.offer.is_regular == is_regular
            };
            self.order.iter().filter(fits).copied().collect()
        };
        let mut used = of(true);
        if self.copies {
            let may_copy = |number: &u8| self.all[number].offer.may_copy;
            used.extend(of(false).into_iter().filter(may_copy));
            used.truncate(COPIES);
        }
        if used.is_empty() {
            used = of(false);
            used.truncate(1);
        }
        if used.is_empty() {
            used.clone_from(&self.order);
        }
        used
    }

    /// How the far end shall answer.
    pub(super) fn replies(&self) -> Replies {
        Replies {
            paths: self
                .used()
                .iter()
                .fold(0, |paths, number| paths | 1 << number),
            copies: self.copies,
        }
    }

    /// The paths of a datagram of this flow.
    pub(super) fn of(&self, flow: u32, is_small: bool) -> Vec<u8> {
        of(self.replies(), self.used(), flow, is_small)
    }

    /// Paths that need a ping now, while datagrams pass; [`Self::pinged`] says that one was sent.
    pub(super) fn due_pings(&mut self, now: Instant) -> Vec<u8> {
        for path in self.all.values_mut() {
            let oldest = path.asked.values().next();
            if oldest.is_some_and(|&then| now.saturating_duration_since(then) > path.patience()) {
                path.is_silent = true;
                path.asked.clear();
            }
        }
        let used = self.used();
        let is_due = |(number, path): (&u8, &Path)| {
            let pause = match path.is_silent {
                true => PING_SILENT,
                false if used.contains(number) => PING,
                false => return None,
            };
            let last = path.last_ping;
            last.is_none_or(|then| now.saturating_duration_since(then) >= pause)
                .then_some(*number)
        };
        self.all.iter().filter_map(is_due).collect()
    }

    pub(super) fn pinged(&mut self, number: u8, sequence: u64, now: Instant) {
        if let Some(path) = self.all.get_mut(&number) {
            path.last_ping = Some(now);
            path.asked.insert(sequence, now);
        }
    }

    /// The ping with this sequence number has its answer.
    pub(super) fn answered(&mut self, number: u8, sequence: u64, now: Instant) {
        let Some(path) = self.all.get_mut(&number) else {
            return;
        };
        if let Some(&then) = path.asked.get(&sequence) {
            path.rtt = Some(now.saturating_duration_since(then));
            path.is_silent = false;
        }
        path.asked.retain(|&asked, _| asked > sequence);
    }

    /// No datagrams pass: later silence says nothing about pings before it.
    pub(super) fn rest(&mut self) {
        self.all.values_mut().for_each(|path| path.asked.clear());
    }
}

/// The paths of a flow's datagram, among `used`, the preferred first.
pub(super) fn of(replies: Replies, used: Vec<u8>, flow: u32, is_small: bool) -> Vec<u8> {
    match replies.copies {
        true if is_small => used,
        true => used.into_iter().take(1).collect(),
        false => {
            let one = used.get(flow as usize % used.len().max(1));
            one.copied().into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(copies: bool, all: &[(&str, bool)]) -> Offers {
        let offer = |&(name, is_regular): &(&str, bool)| Offer {
            interface: Some(name.to_owned()),
            is_regular,
            may_copy: name != "costly",
        };
        Offers {
            copies,
            all: all.iter().map(offer).collect(),
        }
    }

    /// Paths with these offers, and what happens to pings: those on `answering` paths are answered
    /// after 50 ms.
    struct World {
        paths: Paths,
        now: Instant,
        sequence: u64,
    }

    impl World {
        fn new(copies: bool, all: &[(&str, bool)]) -> Self {
            let mut paths = Paths::default();
            paths.update(offers(copies, all));
            World {
                paths,
                now: Instant::now(),
                sequence: 0,
            }
        }

        fn pass(&mut self, ms: u64, answering: &[u8]) {
            for _ in 0..ms / 50 {
                let mut answers = vec![];
                for number in self.paths.due_pings(self.now) {
                    self.sequence += 1;
                    self.paths.pinged(number, self.sequence, self.now);
                    answers.push((number, self.sequence));
                }
                self.now += Duration::from_millis(50);
                for (number, sequence) in answers {
                    if answering.contains(&number) {
                        self.paths.answered(number, sequence, self.now);
                    }
                }
            }
        }

        fn used(&self) -> u8 {
            self.paths.replies().paths
        }
    }

    #[test]
    fn a_silent_path_is_left_within_a_second_and_used_again_when_it_answers() {
        let mut world = World::new(false, &[("wlan0", true), ("wwan0", false)]);
        world.pass(1000, &[0, 1]);
        assert_eq!(world.used(), 0b01);
        world.pass(600, &[1]);
        assert_eq!(world.used(), 0b01);
        world.pass(100, &[1]);
        assert_eq!(world.used(), 0b10);
        // Both are silent: both are tried.
        world.pass(2000, &[]);
        assert_eq!(world.used(), 0b11);
        world.pass(1100, &[0]);
        assert_eq!(world.used(), 0b01);
    }

    #[test]
    fn without_datagrams_nothing_is_silent() {
        let mut world = World::new(false, &[("wlan0", true), ("wwan0", false)]);
        world.pass(50, &[]);
        world.paths.rest();
        world.now += Duration::from_secs(60);
        world.pass(50, &[]);
        assert_eq!(world.used(), 0b01);
    }

    #[test]
    fn flows_are_spread_over_regular_paths_and_copied_where_nothing_may_interrupt_them() {
        let all = [("a", true), ("b", true), ("c", true), ("d", false)];
        let spread = World::new(false, &all).paths;
        assert_eq!(
            [0, 1, 2, 3].map(|flow| spread.of(flow, true)),
            [[0], [1], [2], [0]]
        );
        let copied = World::new(true, &all).paths;
        assert_eq!(copied.of(1, true), [0, 1]);
        assert_eq!(copied.of(1, false), [0]);
        let expected = Replies {
            paths: 0b11,
            copies: true,
        };
        assert_eq!(copied.replies(), expected);
        let backups = [("a", true), ("costly", false), ("c", false)];
        assert_eq!(World::new(true, &backups).paths.of(0, true), [0, 2]);
        assert!(World::new(false, &[]).paths.of(1, true).is_empty());
    }

    #[test]
    fn a_path_keeps_its_number_while_others_come_and_go() {
        let mut paths = World::new(false, &[("a", true), ("b", true)]).paths;
        paths.update(offers(false, &[("c", true), ("b", false), ("d", true)]));
        let numbers: Vec<_> = paths.interfaces().collect();
        assert_eq!(numbers, [(0, Some("c")), (1, Some("b")), (2, Some("d"))]);
        assert_eq!(paths.replies().paths, 0b101);
    }

    #[test]
    fn a_satellite_of_700_ms_is_not_silent() {
        let mut paths = World::new(false, &[("sat", true), ("lte", false)]).paths;
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for step in 0..100_u64 {
            for number in paths.due_pings(at(step * 100)) {
                paths.pinged(number, step, at(step * 100));
            }
            if let Some(asked) = step.checked_sub(7) {
                paths.answered(0, asked, at(step * 100));
            }
            assert_eq!(paths.replies().paths, 1);
        }
    }
}
