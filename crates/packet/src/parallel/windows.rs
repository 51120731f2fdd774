//! The windows and stretches of a run in parts, and their threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use crossbeam_utils::CachePadded;
use joulepath_model::cancel::Cancel;

use super::barrier::{Barrier, BreakIfPanicking};
use super::instant::Everything;
use super::pace::{Pace, STEPS_A_LOOK, Way};
use crate::event::EventQueue;
use crate::parallel::border::{Map, Outbox};
use crate::run::engine::Engine;
use crate::run::error::RunError;
use crate::run::options::Cores;

/// Minimum number of events of a part for a window: about the cost of a wait. With fewer events
/// until the next instant for all, the parts wait at once.
const EVENTS_A_WINDOW: u64 = 32;

/// In a stretch each part publishes its progress this many times per window.
const SHARES_OF_A_WINDOW: u64 = 2;

/// The output of a step for the next one. There are two, used in turn: the next step writes one
/// while a slow thread still reads the other.
struct Left {
    /// Start of the next step, ns.
    from_ns: AtomicU64,
    /// The first instant for which all must wait, according to each part, ns.
    instants_ns: Vec<CachePadded<AtomicU64>>,
    /// The shortest window worth running, ns.
    shortest_ns: AtomicU64,
    /// One thread does the next steps alone.
    alone: AtomicBool,
    /// Number of longest windows after which parallel parts meet.
    windows: AtomicU64,
    stop: AtomicBool,
}

impl Left {
    fn new(parts: usize) -> Self {
        Left {
            from_ns: AtomicU64::new(0),
            instants_ns: (0..parts).map(|_| CachePadded::default()).collect(),
            shortest_ns: AtomicU64::new(u64::MAX),
            alone: AtomicBool::new(false),
            windows: AtomicU64::new(1),
            stop: AtomicBool::new(false),
        }
    }

    /// Copies the output of another step.
    fn take_from(&self, other: &Self) {
        let copy = |to: &AtomicU64, from: &AtomicU64| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed)
        };
        copy(&self.from_ns, &other.from_ns);
        copy(&self.shortest_ns, &other.shortest_ns);
        self.instants_ns
            .iter()
            .zip(&other.instants_ns)
            .for_each(|(to, from)| copy(to, from));
    }

    /// Records the end of part `me`'s step, which began at `from_ns`, and the next instant for
    /// which all must wait. The part that passes `events` records the progress for all.
    fn note(&self, me: usize, [from_ns, until_ns]: [u64; 2], instant_ns: u64, events: Option<u64>) {
        if let Some(events) = events {
            self.from_ns.store(until_ns, Ordering::Relaxed);
            self.note_events(until_ns - from_ns, events);
        }
        self.instants_ns[me].store(instant_ns, Ordering::Relaxed);
    }

    /// Records a part's number of events in this time. From their rate follows the shortest window
    /// worth running.
    fn note_events(&self, time_ns: u64, events: u64) {
        let shortest_ns = time_ns.saturating_mul(EVENTS_A_WINDOW) / events.max(1);
        // Otherwise an instant that has come would be taken for an empty window.
        self.shortest_ns
            .store(shortest_ns.max(1), Ordering::Relaxed);
    }
}

/// The progress of a part in a stretch.
#[derive(Default)]
struct Progress {
    /// All its events before this instant are done, and their packets are in the mail, ns.
    clock_ns: AtomicU64,
    /// The next instant for which all must wait, known to this part, ns. It is written before the
    /// clock, so that a reader of the clock sees at least this value.
    instant_ns: AtomicU64,
}

/// The next step of all parts.
enum Step {
    /// The run is over.
    End,
    /// Each part runs its events before this instant, ns. Parallel parts continue beyond it.
    Window(u64),
    /// One thread handles all events up to this instant inclusive, ns.
    Instant(u64),
}

/// The state that the threads share.
struct Run<'a> {
    map: Arc<Map>,
    parts: Vec<CachePadded<Mutex<Engine>>>,
    left: [Left; 2],
    /// The same, between the steps of a lone thread.
    between: [Left; 2],
    progress: Vec<CachePadded<Progress>>,
    /// The packets from each part (first index) to each other part.
    mail: Vec<Vec<CachePadded<Mutex<Outbox>>>>,
    barrier: Barrier,
    /// Nothing happens after this instant.
    end_ns: u64,
    cancel: &'a Cancel,
}

/// The additional state of the thread with the whole engine.
struct Leader<'a> {
    whole: &'a mut Engine,
    staging: EventQueue,
    pace: Pace,
}

/// Runs an engine that was built for several parts to the end, on as many cores or on one.
///
/// # Errors
/// [`RunError::Cancelled`] soon after `cancel` is set.
///
/// # Panics
/// If the engine was not built for several parts.
pub(crate) fn run(whole: &mut Engine, cores: Cores, cancel: &Cancel) -> Result<(), RunError> {
    let map = whole
        .net
        .border
        .as_ref()
        .expect("the engine is built for several parts")
        .map
        .clone();
    // All events so far concern both ends of connections, or the whole network.
    let first_ns = whole
        .net
        .queue
        .peek()
        .map_or(u64::MAX, |(time_ns, _)| time_ns);
    // SAFETY: the parts are dropped when this function returns. One thread uses the whole engine,
    // and only while it holds the locks of all parts.
    let part = |number| CachePadded::new(Mutex::new(unsafe { whole.part(number, &map) }));
    let parts = (0..map.parts).map(part).collect();
    // The parts have queues of the whole engine's kind; its own queue stays small.
    let mut all = std::mem::replace(&mut whole.net.queue, EventQueue::heap());
    while let Some((time_ns, source)) = all.peek() {
        all.pop();
        whole.net.queue.push(time_ns, source);
    }
    let mailboxes = |_| (0..map.parts).map(|_| CachePadded::default()).collect();
    let run = Run {
        parts,
        progress: (0..map.parts).map(|_| CachePadded::default()).collect(),
        mail: (0..map.parts).map(mailboxes).collect(),
        left: [Left::new(map.parts), Left::new(map.parts)],
        between: [Left::new(map.parts), Left::new(map.parts)],
        barrier: Barrier::new(map.parts),
        end_ns: whole.end_ns,
        cancel,
        map,
    };
    run.left[0]
        .instants_ns
        .iter()
        .for_each(|instant_ns| instant_ns.store(first_ns, Ordering::Relaxed));
    thread::scope(|scope| {
        for me in 1..run.parts.len() {
            let run = &run;
            scope.spawn(move || run.work(me, None));
        }
        run.work(
            0,
            Some(Leader {
                whole,
                staging: EventQueue::heap(),
                pace: Pace::new(cores, run.map.lookahead_ns),
            }),
        );
    });
    for part in run.parts {
        let part = part
            .into_inner()
            .into_inner()
            .expect("a panic in another thread ends this one");
        whole.net.counts.add(&part.net.counts);
        #[cfg(test)]
        {
            whole.fast_path_hits += part.fast_path_hits;
        }
    }
    whole.now_ns = whole.end_ns;
    match run
        .left
        .iter()
        .any(|left| left.stop.load(Ordering::Relaxed))
    {
        true => Err(RunError::Cancelled),
        false => Ok(()),
    }
}

impl Run<'_> {
    /// Runs part `me` until the end. The leader also has the whole engine.
    fn work(&self, me: usize, mut leader: Option<Leader<'_>>) {
        let _guard = BreakIfPanicking(&self.barrier);
        for round in 0.. {
            let (now, next) = (&self.left[round % 2], &self.left[(round + 1) % 2]);
            match (self.step(now), &mut leader) {
                (Step::End, _) => return,
                (_, Some(leader)) if now.alone.load(Ordering::Relaxed) => {
                    self.alone(now, next, leader)
                }
                (_, None) if now.alone.load(Ordering::Relaxed) => {}
                (Step::Window(_), leader) => {
                    if !self.stretch(me, now, next, leader.as_ref().map(|leader| &*leader.whole)) {
                        return;
                    }
                }
                (Step::Instant(last_ns), Some(leader)) => self.instant(last_ns, now, next, leader),
                (Step::Instant(_), None) => {}
            }
            if let Some(leader) = &mut leader {
                let way = leader.pace.next(next.from_ns.load(Ordering::Relaxed));
                next.alone.store(way == Way::Alone, Ordering::Relaxed);
                next.windows.store(leader.pace.windows(), Ordering::Relaxed);
                next.stop.store(self.cancel.is_set(), Ordering::Relaxed);
            }
            if !self.barrier.wait() {
                return;
            }
        }
    }

    /// Does steps alone, until the next parallel step, while the other threads wait as if for one
    /// step. They do not see the outputs in between, because a late thread still reads `first`.
    /// They sleep, because waking them takes long on busy cores.
    fn alone(&self, first: &Left, last: &Left, leader: &mut Leader<'_>) {
        let mut now = first;
        for step in 0.. {
            let next = &self.between[step % 2];
            match self.step(now) {
                Step::End => break,
                Step::Window(until_ns) => {
                    for me in 0..self.parts.len() {
                        let whole = (me == 0).then_some(&*leader.whole);
                        self.window(me, until_ns, now, next, whole);
                    }
                }
                Step::Instant(last_ns) => self.instant(last_ns, now, next, leader),
            }
            now = next;
            if step % STEPS_A_LOOK == STEPS_A_LOOK - 1 {
                let way = leader.pace.next(now.from_ns.load(Ordering::Relaxed));
                if way == Way::SideBySide || self.cancel.is_set() {
                    break;
                }
            }
        }
        last.take_from(now);
    }

    /// The step after the output `left`, the same for all threads.
    fn step(&self, left: &Left) -> Step {
        let from_ns = left.from_ns.load(Ordering::Relaxed);
        let instants = left
            .instants_ns
            .iter()
            .map(|instant_ns| instant_ns.load(Ordering::Relaxed));
        let instant_ns = instants.min().unwrap_or(u64::MAX);
        if from_ns > self.end_ns || left.stop.load(Ordering::Relaxed) {
            Step::End
        } else if instant_ns <= self.end_ns && instant_ns - from_ns < self.shortest_ns(left) {
            Step::Instant(instant_ns)
        } else {
            Step::Window(
                instant_ns
                    .min(from_ns + self.map.lookahead_ns)
                    .min(self.end_ns + 1),
            )
        }
    }

    /// The shortest window worth running, ns; at most the longest window.
    fn shortest_ns(&self, left: &Left) -> u64 {
        left.shortest_ns
            .load(Ordering::Relaxed)
            .min(self.map.lookahead_ns)
    }

    /// Runs the events of part `me` before `until_ns`.
    fn window(&self, me: usize, until_ns: u64, now: &Left, next: &Left, whole: Option<&Engine>) {
        let mut part = self.part(me);
        let (from_ns, before) = (
            now.from_ns.load(Ordering::Relaxed),
            part.net.counts.events(),
        );
        let instant_ns = self.piece(me, &mut part, until_ns, whole);
        let events = whole.map(|_| part.net.counts.events() - before);
        next.note(me, [from_ns, until_ns], instant_ns, events);
    }

    /// Runs the events of part `me` in parallel with the other parts, until the first instant for
    /// which all must wait, or for some windows. No part gets more than a window ahead of another.
    /// Returns false if another thread has panicked.
    ///
    /// All parts stop at the same instant, because a part never passes an instant that it knows of,
    /// and knows all of them before it gets there.
    fn stretch(&self, me: usize, now: &Left, next: &Left, whole: Option<&Engine>) -> bool {
        let mut part = self.part(me);
        let (from_ns, before) = (
            now.from_ns.load(Ordering::Relaxed),
            part.net.counts.events(),
        );
        let longest_ns = now.windows.load(Ordering::Relaxed) * self.map.lookahead_ns;
        let until_ns = (from_ns + longest_ns).min(self.end_ns + 1);
        let (mut clock_ns, mut instant_ns) = (from_ns, now.instants_ns[me].load(Ordering::Relaxed));
        while clock_ns < until_ns.min(instant_ns) {
            let goal = || self.goal(me, clock_ns, now);
            let Some(goal_ns) = goal() else {
                if !self.barrier.wait_for(|| goal().is_some()) {
                    return false;
                }
                continue;
            };
            if goal_ns == clock_ns {
                break;
            }
            clock_ns = goal_ns.min(until_ns).min(instant_ns);
            instant_ns = self.piece(me, &mut part, clock_ns, whole);
            let progress = &self.progress[me];
            progress.instant_ns.store(instant_ns, Ordering::Relaxed);
            progress.clock_ns.store(clock_ns, Ordering::Release);
            self.barrier.wake();
        }
        let events = whole.map(|_| part.net.counts.events() - before);
        next.note(me, [from_ns, clock_ns], instant_ns, events);
        true
    }

    /// How far part `me`, at `clock_ns`, may run, given the others' progress; at most a share of a
    /// window. `clock_ns` if all stop there; `None` if it must wait for others.
    fn goal(&self, me: usize, clock_ns: u64, now: &Left) -> Option<u64> {
        let mut goal_ns = clock_ns + self.map.lookahead_ns.div_ceil(SHARES_OF_A_WINDOW);
        let others = self
            .progress
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != me);
        let mut safe_ns = u64::MAX;
        for (other, progress) in others {
            let mut its_clock_ns = progress.clock_ns.load(Ordering::Acquire);
            let mut its_instant_ns = progress.instant_ns.load(Ordering::Relaxed);
            let from_ns = now.from_ns.load(Ordering::Relaxed);
            if its_clock_ns <= from_ns {
                // It has done nothing yet in this stretch.
                (its_clock_ns, its_instant_ns) =
                    (from_ns, now.instants_ns[other].load(Ordering::Relaxed));
            }
            if its_instant_ns <= clock_ns {
                // Until it is there, it may find that nothing happens then, because the timer has
                // moved.
                return (its_clock_ns == its_instant_ns).then_some(clock_ns);
            }
            goal_ns = goal_ns.min(its_instant_ns);
            safe_ns = safe_ns.min(its_clock_ns + self.map.lookahead_ns);
        }
        (safe_ns >= goal_ns).then_some(goal_ns)
    }

    /// Runs the events of part `me` before `until_ns`, to which other parts can add only the mail
    /// that is already there. Returns the next instant for which all must wait.
    fn piece(&self, me: usize, part: &mut Engine, until_ns: u64, whole: Option<&Engine>) -> u64 {
        self.collect(me, part);
        part.fence(until_ns - 1);
        part.run_window();
        let instant_ns = part.next_instant(until_ns);
        if let Some(border) = &mut part.net.border {
            for (outbox, mailbox) in border.outboxes.iter_mut().zip(&self.mail[me]) {
                if !outbox.is_empty() {
                    outbox.empty_into(
                        &mut mailbox
                            .lock()
                            .expect("no panic while the mailbox is locked"),
                    );
                }
            }
        }
        let of_whole = whole.and_then(|whole| whole.net.queue.peek());
        of_whole.map_or(instant_ns, |(time_ns, _)| instant_ns.min(time_ns))
    }

    /// Handles all events up to `last_ns` while all other threads wait.
    fn instant(&self, last_ns: u64, now: &Left, next: &Left, leader: &mut Leader<'_>) {
        let mut parts: Vec<MutexGuard<'_, Engine>> =
            (0..self.parts.len()).map(|me| self.part(me)).collect();
        for (me, part) in parts.iter_mut().enumerate() {
            self.collect(me, part);
        }
        let Leader { whole, staging, .. } = leader;
        let mut everything = Everything {
            whole,
            parts: &mut parts,
            map: &self.map,
            staging,
        };
        let from_ns = now.from_ns.load(Ordering::Relaxed);
        let (done_ns, events) = everything.run(last_ns, self.shortest_ns(now), self.end_ns);
        let instant_ns = everything.next_instant(done_ns + 1);
        next.from_ns.store(done_ns + 1, Ordering::Relaxed);
        next.note_events(done_ns + 1 - from_ns, events / self.parts.len() as u64);
        next.instants_ns
            .iter()
            .for_each(|part| part.store(instant_ns, Ordering::Relaxed));
    }

    fn part(&self, me: usize) -> MutexGuard<'_, Engine> {
        self.parts[me]
            .lock()
            .expect("a panic in another thread ends this one")
    }

    /// Takes the packets from other parts, which all arrive later.
    fn collect(&self, me: usize, part: &mut Engine) {
        let from_others = self
            .mail
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != me);
        from_others.for_each(|(_, mail)| {
            part.receive(
                &mut mail[me]
                    .lock()
                    .expect("no panic while the mailbox is locked"),
            )
        });
    }
}
