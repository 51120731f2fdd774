//! The windows and stretches of a run in parts, and the threads that run them.

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

/// Events of a part for which a window is worth while: about as much work as it is to wait for each other. If
/// less is left until all have to wait, they wait at once.
const EVENTS_A_WINDOW: u64 = 32;

/// In a stretch each part lets the others know after such a fraction of a window how far it is.
const SHARES_OF_A_WINDOW: u64 = 2;

/// What a step of all parts leaves for the next one. There are two of each, in turn: the next step writes the
/// other one while a slow thread still reads this one.
struct Left {
    /// Where the next step begins, ns.
    from_ns: AtomicU64,
    /// The first instant for which all have to wait, as each part knows it, ns.
    instants_ns: Vec<CachePadded<AtomicU64>>,
    /// The shortest window that is worth while, ns.
    shortest_ns: AtomicU64,
    /// One thread does the next steps alone.
    alone: AtomicBool,
    /// The longest windows after which parts meet that run side by side.
    windows: AtomicU64,
    /// The run was cancelled.
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

    /// Becomes what another step has left for the next one.
    fn take_from(&self, other: &Self) {
        let copy =
            |to: &AtomicU64, from: &AtomicU64| to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        copy(&self.from_ns, &other.from_ns);
        copy(&self.shortest_ns, &other.shortest_ns);
        self.instants_ns.iter().zip(&other.instants_ns).for_each(|(to, from)| copy(to, from));
    }

    /// Notes where part `me` ended, which began at `from_ns`, and the first instant from there on for which
    /// all have to wait. One part says for all of them how far they are, and with how many `events`.
    fn note(&self, me: usize, [from_ns, until_ns]: [u64; 2], instant_ns: u64, events: Option<u64>) {
        if let Some(events) = events {
            self.from_ns.store(until_ns, Ordering::Relaxed);
            self.note_events(until_ns - from_ns, events);
        }
        self.instants_ns[me].store(instant_ns, Ordering::Relaxed);
    }

    /// Notes that a part had so many events in this time. If the next ones come as the last ones came, the
    /// shortest window that is worth while follows.
    fn note_events(&self, time_ns: u64, events: u64) {
        let shortest_ns = time_ns.saturating_mul(EVENTS_A_WINDOW) / events.max(1);
        // An instant that has come must not be taken for a window without length.
        self.shortest_ns.store(shortest_ns.max(1), Ordering::Relaxed);
    }
}

/// How far a part is in a stretch.
#[derive(Default)]
struct Progress {
    /// Its events before this instant are done, and what they hand over is in the mail, ns.
    clock_ns: AtomicU64,
    /// The first instant from there on for which all have to wait, as far as this part knows, ns. It is
    /// written before the clock, so that who reads it after the clock knows no less.
    instant_ns: AtomicU64,
}

/// What all parts do next.
enum Step {
    /// Nothing: the run is over.
    End,
    /// Each part runs its events before this instant, ns. Side by side they go on after it.
    Window(u64),
    /// One thread does what happens up to this instant inclusive, ns.
    Instant(u64),
}

/// What the threads share.
struct Run<'a> {
    map: Arc<Map>,
    parts: Vec<CachePadded<Mutex<Engine>>>,
    left: [Left; 2],
    /// The same between steps of one thread alone.
    between: [Left; 2],
    progress: Vec<CachePadded<Progress>>,
    /// What each part (first index) has for each other one.
    mail: Vec<Vec<CachePadded<Mutex<Outbox>>>>,
    barrier: Barrier,
    /// Nothing happens after this instant.
    end_ns: u64,
    cancel: &'a Cancel,
}

/// What the thread has that has the whole engine, too.
struct Leader<'a> {
    whole: &'a mut Engine,
    staging: EventQueue,
    pace: Pace,
}

/// Runs an engine that has been built for several parts until the end, on as many cores or on one.
///
/// # Errors
/// [`RunError::Cancelled`] soon after `cancel` has been set.
///
/// # Panics
/// If the engine has not been built for several parts.
pub(crate) fn run(whole: &mut Engine, cores: Cores, cancel: &Cancel) -> Result<(), RunError> {
    let map = whole.net.border.as_ref().expect("the engine is built for several parts").map.clone();
    // Everything that has been set up so far concerns both ends of connections, or the whole network.
    let first_ns = whole.net.queue.peek().map_or(u64::MAX, |(time_ns, _)| time_ns);
    // SAFETY: the parts are gone when this function returns. The whole engine is used by one thread, and only
    // while that thread has the locks of all parts.
    let part = |number| CachePadded::new(Mutex::new(unsafe { whole.part(number, &map) }));
    let parts = (0..map.parts).map(part).collect();
    // The parts have queues like the one of the whole engine, which stays small from now on.
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
    run.left[0].instants_ns.iter().for_each(|instant_ns| instant_ns.store(first_ns, Ordering::Relaxed));
    thread::scope(|scope| {
        for me in 1..run.parts.len() {
            let run = &run;
            scope.spawn(move || run.work(me, None));
        }
        run.work(
            0,
            Some(Leader { whole, staging: EventQueue::heap(), pace: Pace::new(cores, run.map.lookahead_ns) }),
        );
    });
    for part in run.parts {
        let part = part.into_inner().into_inner().expect("a thread that panicked has ended this one, too");
        whole.net.counts.add(&part.net.counts);
        #[cfg(test)]
        {
            whole.fast_path_hits += part.fast_path_hits;
        }
    }
    whole.now_ns = whole.end_ns;
    match run.left.iter().any(|left| left.stop.load(Ordering::Relaxed)) {
        true => Err(RunError::Cancelled),
        false => Ok(()),
    }
}

impl Run<'_> {
    /// Runs part `me` until the end. One thread has the whole engine, too.
    fn work(&self, me: usize, mut leader: Option<Leader<'_>>) {
        let _guard = BreakIfPanicking(&self.barrier);
        for round in 0.. {
            let (now, next) = (&self.left[round % 2], &self.left[(round + 1) % 2]);
            match (self.step(now), &mut leader) {
                (Step::End, _) => return,
                (_, Some(leader)) if now.alone.load(Ordering::Relaxed) => self.alone(now, next, leader),
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

    /// Does steps alone while the other threads wait, as if it were one, until they shall run side by side
    /// again. What is between two of them the others do not see: one that is late still reads `first`. They
    /// sleep meanwhile; on busy cores it would take long to wake them.
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

    /// What to do after a step that has left `left`. All threads find the same.
    fn step(&self, left: &Left) -> Step {
        let from_ns = left.from_ns.load(Ordering::Relaxed);
        let instants = left.instants_ns.iter().map(|instant_ns| instant_ns.load(Ordering::Relaxed));
        let instant_ns = instants.min().unwrap_or(u64::MAX);
        if from_ns > self.end_ns || left.stop.load(Ordering::Relaxed) {
            Step::End
        } else if instant_ns <= self.end_ns && instant_ns - from_ns < self.shortest_ns(left) {
            Step::Instant(instant_ns)
        } else {
            Step::Window(instant_ns.min(from_ns + self.map.lookahead_ns).min(self.end_ns + 1))
        }
    }

    /// The shortest window that is worth while, ns; no longer than any window is.
    fn shortest_ns(&self, left: &Left) -> u64 {
        left.shortest_ns.load(Ordering::Relaxed).min(self.map.lookahead_ns)
    }

    /// Runs the events of part `me` before `until_ns`.
    fn window(&self, me: usize, until_ns: u64, now: &Left, next: &Left, whole: Option<&Engine>) {
        let mut part = self.part(me);
        let (from_ns, before) = (now.from_ns.load(Ordering::Relaxed), part.net.counts.events());
        let instant_ns = self.piece(me, &mut part, until_ns, whole);
        let events = whole.map(|_| part.net.counts.events() - before);
        next.note(me, [from_ns, until_ns], instant_ns, events);
    }

    /// Runs the events of part `me` until the first instant for which all have to wait, or for some windows,
    /// while the others do the same. No part gets further ahead of another one than the length of a window.
    /// Returns false if another thread has panicked.
    ///
    /// All stop at the same instant, because a part never passes one that it knows of, and knows before it
    /// gets there of all that there are.
    fn stretch(&self, me: usize, now: &Left, next: &Left, whole: Option<&Engine>) -> bool {
        let mut part = self.part(me);
        let (from_ns, before) = (now.from_ns.load(Ordering::Relaxed), part.net.counts.events());
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

    /// How far part `me`, whose clock shows `clock_ns`, may go as far as the others are concerned; no further
    /// than a share of a window. That is where it is if all stop there. None if it has to wait for others.
    fn goal(&self, me: usize, clock_ns: u64, now: &Left) -> Option<u64> {
        let mut goal_ns = clock_ns + self.map.lookahead_ns.div_ceil(SHARES_OF_A_WINDOW);
        let others = self.progress.iter().enumerate().filter(|(other, _)| *other != me);
        let mut safe_ns = u64::MAX;
        for (other, progress) in others {
            let mut its_clock_ns = progress.clock_ns.load(Ordering::Acquire);
            let mut its_instant_ns = progress.instant_ns.load(Ordering::Relaxed);
            let from_ns = now.from_ns.load(Ordering::Relaxed);
            if its_clock_ns <= from_ns {
                // It has done nothing yet in this stretch.
                (its_clock_ns, its_instant_ns) = (from_ns, now.instants_ns[other].load(Ordering::Relaxed));
            }
            if its_instant_ns <= clock_ns {
                // Unless it is there, it may still find that nothing happens then: a timer moves.
                return (its_clock_ns == its_instant_ns).then_some(clock_ns);
            }
            goal_ns = goal_ns.min(its_instant_ns);
            safe_ns = safe_ns.min(its_clock_ns + self.map.lookahead_ns);
        }
        (safe_ns >= goal_ns).then_some(goal_ns)
    }

    /// Runs the events of part `me` before `until_ns`, to which no other part can add any more but by mail
    /// that is there. Returns the first instant from then on for which all have to wait.
    fn piece(&self, me: usize, part: &mut Engine, until_ns: u64, whole: Option<&Engine>) -> u64 {
        self.collect(me, part);
        part.fence(until_ns - 1);
        part.run_window();
        let instant_ns = part.next_instant(until_ns);
        if let Some(border) = &mut part.net.border {
            for (outbox, mailbox) in border.outboxes.iter_mut().zip(&self.mail[me]) {
                if !outbox.is_empty() {
                    outbox.empty_into(&mut mailbox.lock().expect("nobody panics here"));
                }
            }
        }
        let of_whole = whole.and_then(|whole| whole.net.queue.peek());
        of_whole.map_or(instant_ns, |(time_ns, _)| instant_ns.min(time_ns))
    }

    /// Does what happens up to `last_ns` while all other threads wait.
    fn instant(&self, last_ns: u64, now: &Left, next: &Left, leader: &mut Leader<'_>) {
        let mut parts: Vec<MutexGuard<'_, Engine>> = (0..self.parts.len()).map(|me| self.part(me)).collect();
        for (me, part) in parts.iter_mut().enumerate() {
            self.collect(me, part);
        }
        let Leader { whole, staging, .. } = leader;
        let mut everything = Everything { whole, parts: &mut parts, map: &self.map, staging };
        let from_ns = now.from_ns.load(Ordering::Relaxed);
        let (done_ns, events) = everything.run(last_ns, self.shortest_ns(now), self.end_ns);
        let instant_ns = everything.next_instant(done_ns + 1);
        next.from_ns.store(done_ns + 1, Ordering::Relaxed);
        next.note_events(done_ns + 1 - from_ns, events / self.parts.len() as u64);
        next.instants_ns.iter().for_each(|part| part.store(instant_ns, Ordering::Relaxed));
    }

    fn part(&self, me: usize) -> MutexGuard<'_, Engine> {
        self.parts[me].lock().expect("a thread that panicked has ended this one, too")
    }

    /// Takes what the other parts have handed over, which arrives later than now.
    fn collect(&self, me: usize, part: &mut Engine) {
        let from_others = self.mail.iter().enumerate().filter(|(other, _)| *other != me);
        from_others.for_each(|(_, mail)| part.receive(&mut mail[me].lock().expect("nobody panics here")));
    }
}
