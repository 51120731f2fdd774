//! Pending events in the order of their time.

use super::circle::Slots;
use super::few::{Few, MOST_LINKS};
use super::heap::Heap;
use super::key::{MAX_TIME_NS, NO_KEY, Source, key, parts};
use super::wheel::Wheel;

/// With at least this many links, the state of a network exceeds the nearest cache of the
/// processor.
const LARGE: usize = 256;

/// Number of next events known in advance in a large network.
const AHEAD: usize = 6;

/// Mean number of packets that arrive per slot of a wheel when all links are busy. Packets come in
/// groups, so slots must be narrow for most keys to have a slot of their own.
const PACKETS_PER_SLOT: f64 = 0.125;
/// The same, where narrower slots would be too many.
const MOST_PACKETS_PER_SLOT: f64 = 0.5;
/// More slots than this do not fit the caches.
const MANY_SLOTS: f64 = (1 << 17) as f64;
/// A wheel covers this multiple of [`Traffic::reach_ns`].
const REACHES: f64 = 2.0;

/// Rate and delay of a network's packets, which set the size of a wheel.
#[derive(Clone, Copy)]
pub(crate) struct Traffic {
    /// Most packets that all links carry together; 0 if unknown.
    pub(crate) packets_per_s: f64,
    /// Mean time of a packet over a link with an empty queue.
    pub(crate) reach_ns: f64,
}

impl Traffic {
    /// log₂ of the slots' width, ns, and of their number.
    fn wheel_slots(self) -> Slots {
        let gap_ns = 1e9 / self.packets_per_s;
        let mut width_bits = ((PACKETS_PER_SLOT * gap_ns) as u64)
            .clamp(1, 1 << 30)
            .ilog2();
        let count = |width_bits: u32| REACHES * self.reach_ns / f64::from(1u32 << width_bits);
        while count(width_bits) > MANY_SLOTS
            && f64::from(2u32 << width_bits) < MOST_PACKETS_PER_SLOT * gap_ns
        {
            width_bits += 1;
        }
        let count = (count(width_bits) as u64)
            .clamp(1, 1 << 30)
            .next_power_of_two();
        Slots {
            width_bits,
            count_bits: count.ilog2(),
        }
    }
}

/// Kinds of queues, each with its own copy of the main loop: for few links, for more, and for
/// networks so large that the loop prefetches.
pub(crate) const FEW: u8 = 0;
pub(crate) const NEAR: u8 = 1;
pub(crate) const FAR: u8 = 2;

/// Pending events, earliest first. All kinds return the same sequence.
pub(crate) struct EventQueue {
    /// The least key; [`NO_KEY`] if there is none.
    least: u64,
    /// [`Self::next`] returns only keys below this one.
    end: u64,
    keys: Keys,
}

/// Where the keys are. An explicit tag is cheaper to read than a niche in a pointer.
#[repr(u8)]
enum Keys {
    /// For a few links.
    Few(Few),
    /// For links of unknown speed.
    Heap(Heap),
    /// For all other networks.
    Wheel(Box<Wheel<1, 1>>),
    /// For large networks.
    FarWheel(Box<FarWheel>),
}

/// A wheel that knows the next events in advance.
type FarWheel = Wheel<AHEAD, { AHEAD.next_power_of_two() }>;

impl EventQueue {
    fn of(keys: Keys) -> Self {
        EventQueue {
            least: NO_KEY,
            end: NO_KEY,
            keys,
        }
    }

    /// An empty queue for a network of `links` links.
    pub(crate) fn for_links(links: usize, traffic: Traffic) -> Self {
        match links {
            0..=MOST_LINKS => Self::few(links),
            _ if traffic.packets_per_s > 0.0 => Self::wheel(traffic.wheel_slots(), links >= LARGE),
            _ => Self::heap(),
        }
    }

    /// An empty queue of the same kind.
    pub(crate) fn empty_like(&self) -> Self {
        Self::of(match &self.keys {
            Keys::Few(few) => Keys::Few(few.empty_like()),
            Keys::Heap(_) => Keys::Heap(Heap::default()),
            Keys::Wheel(wheel) => Keys::Wheel(Box::new(wheel.empty_like())),
            Keys::FarWheel(wheel) => Keys::FarWheel(Box::new(wheel.empty_like())),
        })
    }

    pub(crate) fn few(links: usize) -> Self {
        Self::of(Keys::Few(Few::new(links)))
    }

    pub(crate) fn heap() -> Self {
        Self::of(Keys::Heap(Heap::default()))
    }

    pub(crate) fn wheel(slots: Slots, shows_ahead: bool) -> Self {
        Self::of(match shows_ahead {
            false => Keys::Wheel(Box::new(Wheel::new(slots))),
            true => Keys::FarWheel(Box::new(Wheel::new(slots))),
        })
    }

    /// Time and source of the earliest event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(u64, Source)> {
        (self.least != NO_KEY).then(|| parts(self.least))
    }

    /// Lets [`Self::next`] return events up to an instant.
    pub(crate) fn open(&mut self, until_ns: u64) {
        self.end = if until_ns < MAX_TIME_NS {
            key(until_ns + 1, 0)
        } else {
            NO_KEY
        };
    }

    /// Makes [`Self::next`] return nothing.
    pub(crate) fn close(&mut self) {
        self.end = 0;
    }

    /// Time and source of the earliest event, if it is before the end.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<(u64, Source)> {
        (self.least < self.end).then(|| parts(self.least))
    }

    /// The next events of a large network; `None` for other kinds.
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<Due<'_>> {
        match &self.keys {
            Keys::FarWheel(wheel) => Some(Due(wheel)),
            Keys::Few(_) | Keys::Heap(_) | Keys::Wheel(_) => None,
        }
    }

    /// Adds an event. An event after the end of the longest run is dropped.
    #[inline]
    pub(crate) fn push(&mut self, time_ns: u64, source: Source) {
        if time_ns > MAX_TIME_NS {
            return;
        }
        let key = key(time_ns, source);
        match &mut self.keys {
            Keys::Few(few) => few.push(key),
            Keys::Heap(heap) => heap.push(key),
            Keys::Wheel(wheel) => wheel.push(key),
            Keys::FarWheel(wheel) => wheel.push(key),
        }
        self.least = self.least.min(key);
    }

    /// Removes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.least = match &mut self.keys {
            Keys::Few(few) => {
                few.pop(self.least);
                few.least()
            }
            Keys::Heap(heap) => {
                heap.pop();
                heap.least()
            }
            Keys::Wheel(wheel) => {
                wheel.pop();
                wheel.least()
            }
            Keys::FarWheel(wheel) => {
                wheel.pop();
                wheel.least()
            }
        };
    }

    /// Replaces the earliest event by a later one of the same source: half the work of a pop and a
    /// push.
    #[inline(always)]
    pub(crate) fn replace_top(&mut self, time_ns: u64, source: Source) {
        self.replace_top_of::<FEW>(time_ns, source);
    }

    /// [`Self::replace_top`] for a queue whose expected [kind](Self::kind) is `KIND`.
    #[inline(always)]
    pub(crate) fn replace_top_of<const KIND: u8>(&mut self, time_ns: u64, source: Source) {
        let key = key(time_ns, source);
        self.least = match &mut self.keys {
            Keys::Few(few) if KIND == FEW => {
                few.replace_least(self.least, key);
                few.least()
            }
            Keys::Wheel(wheel) if KIND == NEAR => wheel.replace_least(key),
            Keys::FarWheel(wheel) if KIND == FAR => wheel.replace_least(key),
            _ => self.replace_anyhow(key),
        };
    }

    /// [`FEW`], [`NEAR`] or [`FAR`].
    pub(crate) fn kind(&self) -> u8 {
        match &self.keys {
            Keys::Few(_) => FEW,
            Keys::Heap(_) | Keys::Wheel(_) => NEAR,
            Keys::FarWheel(_) => FAR,
        }
    }

    /// [`Self::replace_top`] for an unexpected kind.
    #[inline(never)]
    fn replace_anyhow(&mut self, key: u64) -> u64 {
        match &mut self.keys {
            Keys::Few(few) => {
                few.replace_least(self.least, key);
                few.least()
            }
            Keys::Heap(heap) => {
                heap.replace_least(key);
                heap.least()
            }
            Keys::Wheel(wheel) => wheel.replace_least(key),
            Keys::FarWheel(wheel) => wheel.replace_least(key),
        }
    }
}

/// The next events of a large network. A few are unknown.
#[derive(Clone, Copy)]
pub(crate) struct Due<'a>(&'a FarWheel);

impl Due<'_> {
    /// The source of the event `after` places after the first; if unknown, a number that no source
    /// has.
    #[inline(always)]
    pub(crate) fn source(self, after: usize) -> Source {
        parts(self.0.next(after)).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel((width_bits, count_bits): (u32, u32), shows_ahead: bool) -> EventQueue {
        EventQueue::wheel(
            Slots {
                width_bits,
                count_bits,
            },
            shows_ahead,
        )
    }

    #[test]
    fn events_come_out_by_time_then_source() {
        let mut queue = EventQueue::heap();
        for (time, source) in [(5, 1), (3, 7), (3, 2), (9, 0), (1, 4)] {
            queue.push(time, source);
        }
        let mut out = vec![];
        while let Some(event) = queue.peek() {
            out.push(event);
            queue.pop();
        }
        assert_eq!(out, [(1, 4), (3, 2), (3, 7), (5, 1), (9, 0)]);
    }

    /// A key has 46 bits for the time: an unchecked event would come at the start of the run.
    #[test]
    fn an_event_after_the_end_of_time_is_dropped() {
        for mut queue in [
            EventQueue::few(8),
            EventQueue::few(3),
            EventQueue::heap(),
            wheel((10, 12), true),
        ] {
            queue.push(MAX_TIME_NS + 5, 1);
            assert_eq!(queue.peek(), None);
            queue.push(MAX_TIME_NS, 2);
            assert_eq!(queue.peek(), Some((MAX_TIME_NS, 2)));
        }
    }

    #[test]
    fn replacing_the_top_keeps_the_order() {
        let mut queue = EventQueue::heap();
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 40
        };
        for source in 0..100 {
            queue.push(next(), source);
        }
        let mut last = (0, 0);
        for _ in 0..10_000 {
            let (time, source) = queue.peek().unwrap();
            assert!((time, source) >= last);
            last = (time, source);
            queue.replace_top(time + next(), source);
        }
    }

    /// Wheels with many slots and with few, and all other kinds.
    fn all_kinds() -> Vec<EventQueue> {
        let wheels = [(3, 18), (10, 12), (13, 7), (0, 7)]
            .into_iter()
            .flat_map(|bits| [true, false].map(|shows_ahead| wheel(bits, shows_ahead)));
        [EventQueue::heap(), EventQueue::few(8), EventQueue::few(3)]
            .into_iter()
            .chain(wheels)
            .collect()
    }

    /// Pseudo-random numbers below the argument.
    fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        }
    }

    /// Random pushes, pops and replacements, at most `most` pending, up to one of `spans` ahead,
    /// for one of `sources` sources.
    fn compare(
        mut queues: Vec<EventQueue>,
        seed: u64,
        most: usize,
        spans: &[u64],
        sources: &[u64],
    ) {
        let mut next = random(seed);
        let (mut now, mut len) = (0, 0);
        for _ in 0..20_000 {
            let first = same_first(&queues);
            let span = spans[next(spans.len() as u64) as usize];
            let time = now + next(span);
            let below = sources[next(sources.len() as u64) as usize];
            let source = next(below) as Source;
            match (first, next(5)) {
                (Some((at, _)), action) if action < 2 || len == most => {
                    now = at;
                    len -= 1;
                    queues.iter_mut().for_each(EventQueue::pop);
                }
                (Some((at, source)), 2) => {
                    now = at;
                    queues
                        .iter_mut()
                        .for_each(|queue| queue.replace_top(time.max(at), source));
                }
                _ => {
                    len += 1;
                    queues.iter_mut().for_each(|queue| queue.push(time, source));
                }
            }
        }
        while same_first(&queues).is_some() {
            queues.iter_mut().for_each(EventQueue::pop);
        }
    }

    /// Near, far and beyond the wheel's circle. With few links, some have several events.
    #[test]
    fn all_queues_return_the_same_events() {
        let spans = [1, 100, 10_000, 524_288, 3_000_000, 1 << 30];
        for seed in 0..20 {
            compare(all_kinds(), seed, usize::MAX, &spans, &[2, 10, 1000]);
        }
    }

    /// A nearly empty wheel restarts often and goes around many times.
    #[test]
    fn all_queues_return_the_same_events_when_nearly_empty() {
        for seed in 0..20 {
            compare(
                all_kinds(),
                seed,
                1 + seed as usize,
                &[2, 300, 5_000, 200_000],
                &[1000],
            );
        }
    }

    /// Keys that crowd in few slots, many at the same instant.
    #[test]
    fn all_queues_return_the_same_events_with_crowded_slots() {
        for seed in 0..20 {
            compare(all_kinds(), seed, 500, &[20, 100, 120, 150], &[1000]);
            compare(all_kinds(), seed, 500, &[120_000], &[1000]);
        }
    }

    /// Each event is replaced by a later one, as on busy links: there are no pushes.
    #[test]
    fn all_queues_return_the_same_events_after_replacements() {
        for links in [5, 100, 1000] {
            let (mut queues, mut next) = (all_kinds(), random(links));
            for link in 0..links {
                let time = next(240);
                queues
                    .iter_mut()
                    .for_each(|queue| queue.push(time, link as Source));
            }
            for _ in 0..50_000 {
                let (now, source) = same_first(&queues).unwrap();
                let later = [120, 120, 5, 1 + next(240)];
                let time = now + later[next(4) as usize];
                queues
                    .iter_mut()
                    .for_each(|queue| queue.replace_top(time, source));
            }
        }
    }

    /// All events at one instant, far more than a circle has slots.
    #[test]
    fn all_queues_return_the_same_events_after_a_burst() {
        let mut queues = all_kinds();
        for source in (0..3000).rev() {
            queues.iter_mut().for_each(|queue| queue.push(777, source));
        }
        for source in 0..3000 {
            assert_eq!(same_first(&queues), Some((777, source)));
            let next = 777 + u64::from(source % 2);
            queues
                .iter_mut()
                .for_each(|queue| queue.replace_top(next + 5000, source));
        }
        while same_first(&queues).is_some() {
            queues.iter_mut().for_each(EventQueue::pop);
        }
    }

    /// On busy links nearly all next events are known.
    #[test]
    fn a_large_network_knows_the_next_events_in_advance() {
        let (mut queue, mut next) = (wheel((5, 12), true), random(1));
        for link in 0..500 {
            queue.push(next(100_000), link);
        }
        let mut foretold = vec![];
        let mut right = 0;
        for at in 0..10_000 {
            let (now, source) = queue.peek().unwrap();
            right += usize::from(foretold.get(at) == Some(&source));
            foretold.resize(at + AHEAD, Source::MAX);
            foretold[at + AHEAD - 1] = queue.due().unwrap().source(AHEAD - 1);
            queue.replace_top(now + 1 + next(100_000), source);
        }
        assert!(
            right > 9_000,
            "{right} of 10,000 events were known in advance"
        );
        assert!(wheel((5, 12), false).due().is_none());
    }

    #[test]
    fn slower_networks_have_wider_slots() {
        let bits = |links: f64| {
            let traffic = Traffic {
                packets_per_s: links * 1e8 / 12e3,
                reach_ns: 220e3,
            };
            let Slots {
                width_bits,
                count_bits,
            } = traffic.wheel_slots();
            (width_bits, count_bits)
        };
        // FatTrees with k = 4, 8, 16 and 32.
        assert_eq!(
            [96.0, 768.0, 6144.0, 49_152.0].map(bits),
            [(7, 12), (4, 15), (2, 17), (0, 19)]
        );
    }

    /// The first event of all queues.
    fn same_first(queues: &[EventQueue]) -> Option<(u64, Source)> {
        let first = queues[0].peek();
        let all: Vec<_> = queues.iter().map(EventQueue::peek).collect();
        assert!(all.iter().all(|&other| other == first), "{all:?}");
        first
    }
}
