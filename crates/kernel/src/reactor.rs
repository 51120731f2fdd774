//! One thread that waits for many files and a deadline, with epoll and a timerfd.
//!
//! ```text
//! loop {
//!     reactor.wait(timers.next_ns())?;            // sleeps
//!     while let Some(event) = reactor.take() {    // events in the kernel's order
//!         match event {
//!             Event::Due => {}                    // the deadline has passed
//!             Event::Ready { key, readiness } => …
//!         }
//!     }
//!     while let Some((at_ns, timer)) = timers.pop(monotonic_ns()) { … }
//! }
//! ```
//!
//! The caller identifies each file by a key of its own type, usually an enum. Deadlines are
//! absolute, in nanoseconds of `CLOCK_MONOTONIC`, which all processes and network namespaces of a
//! machine share: a late loop does not drift. An event needs no allocation. A new deadline costs
//! one system call.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::error::{Doing, Error, Result};

const NS_PER_S: u64 = 1_000_000_000;
/// Events that one system call returns at most; the next call returns the rest.
const BATCH: usize = 256;
/// Number of the timer; files have smaller numbers.
const TIMER: u64 = u64::MAX;

/// The machine's monotonic clock, ns.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// Time since boot, ns. Unlike [`monotonic_ns`] it includes suspended time.
pub fn since_boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

/// The readiness to watch for. End of file and errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Only end of file.
    End,
    /// Something to read.
    Read,
    /// Room to write.
    Write,
    /// Both.
    ReadWrite,
}

/// What a file can do without blocking. End of file and errors set both; the following read or
/// write returns which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// There is something to read.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
}

/// Result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<K> {
    /// The deadline of [`Reactor::wait`] has passed.
    Due,
    /// A file is ready.
    Ready {
        /// The key of the file.
        key: K,
        /// What it can do.
        readiness: Readiness,
    },
}

/// Handle of a watched file, returned by [`Reactor::add`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(u64);

/// Waits for files with keys of type `K`, and for a deadline.
pub struct Reactor<K> {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// The time that the timer is set to; `None` if it is off or has expired.
    armed_ns: Option<u64>,
    places: Vec<Place<K>>,
    /// Unused places.
    free: Vec<usize>,
    /// Events of the last wait, and how many of them were taken.
    events: Vec<epoll::Event>,
    taken: usize,
}

/// A watched file. When a place is reused, its generation changes, so that an event of a removed
/// file is not taken for the new file's.
struct Place<K> {
    key: Option<K>,
    generation: u32,
}

impl<K: Copy> Reactor<K> {
    /// A reactor that watches nothing yet.
    ///
    /// # Errors
    /// [`Error::Io`] if the process or the machine has no file descriptors left.
    pub fn new() -> Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).doing("creating an epoll instance")?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).doing("creating a timer")?;
        // Edge-triggered: one event per expiry, and no read of the timer's count.
        let once = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), once).doing("watching a timer")?;
        Ok(Reactor {
            epoll,
            timer,
            armed_ns: None,
            places: vec![],
            free: vec![],
            events: Vec::with_capacity(BATCH),
            taken: 0,
        })
    }

    /// Watches a file until [`Self::remove`]. Every wait reports a file that is still ready.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be watched (a regular file), or is watched already.
    pub fn add(&mut self, file: impl AsFd, interest: Interest, key: K) -> Result<Source> {
        let index = self.free.last().copied().unwrap_or(self.places.len());
        let generation = self.places.get(index).map_or(0, |place| place.generation);
        let source = Source(index as u64 | u64::from(generation) << 32);
        epoll::add(
            &self.epoll,
            file,
            EventData::new_u64(source.0),
            interest.flags(),
        )
        .doing("watching a file")?;
        if self.free.pop().is_none() {
            self.places.push(Place {
                key: None,
                generation,
            });
        }
        self.places[index].key = Some(key);
        Ok(source)
    }

    /// Changes what a file is watched for.
    ///
    /// # Errors
    /// [`Error::Io`] if the file is not watched.
    pub fn change(&self, file: impl AsFd, source: Source, interest: Interest) -> Result<()> {
        epoll::modify(
            &self.epoll,
            file,
            EventData::new_u64(source.0),
            interest.flags(),
        )
        .doing("watching a file")
    }

    /// Stops watching a file, and drops its events that were not taken yet. Call it before the file
    /// is closed: otherwise a copy of the descriptor, for example in a child process, keeps it
    /// watched.
    ///
    /// # Errors
    /// [`Error::Io`] if the file is not watched.
    pub fn remove(&mut self, file: impl AsFd, source: Source) -> Result<()> {
        if self.key_of(source.0).is_some() {
            let index = index_of(source.0);
            let place = &mut self.places[index];
            place.key = None;
            place.generation = place.generation.wrapping_add(1);
            self.free.push(index);
        }
        epoll::delete(&self.epoll, file).doing("removing a watched file")
    }

    /// Sleeps until a file is ready or the deadline passes; returns at once if either is already
    /// the case. After a signal it returns without events, so that the caller can check if it
    /// should stop. Events of the last wait that were not taken are dropped; files that are still
    /// ready are reported again.
    ///
    /// # Errors
    /// [`Error::Io`] if the kernel cannot wait.
    pub fn wait(&mut self, until_ns: Option<u64>) -> Result<()> {
        self.arm(until_ns)?;
        self.events.clear();
        self.taken = 0;
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::io("waiting for events", errno)),
        }
    }

    /// The next event of the last wait.
    pub fn take(&mut self) -> Option<Event<K>> {
        loop {
            let event = *self.events.get(self.taken)?;
            self.taken += 1;
            let number = event.data.u64();
            if number == TIMER {
                self.armed_ns = None;
                return Some(Event::Due);
            }
            // `None` if the file was removed after the wait.
            if let Some(key) = self.key_of(number) {
                return Some(Event::Ready {
                    key,
                    readiness: Readiness::of(event.flags),
                });
            }
        }
    }

    fn key_of(&self, number: u64) -> Option<K> {
        let place = self.places.get(index_of(number))?;
        place
            .key
            .filter(|_| u64::from(place.generation) == number >> 32)
    }

    fn arm(&mut self, until_ns: Option<u64>) -> Result<()> {
        if until_ns == self.armed_ns {
            return Ok(());
        }
        let off = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // A timer that is set to 0 is off.
        let at = until_ns.map_or(off, |ns| timespec(ns.max(1)));
        let spec = Itimerspec {
            it_interval: off,
            it_value: at,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec).doing("setting a timer")?;
        self.armed_ns = until_ns;
        Ok(())
    }
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Interest::End => EventFlags::empty(),
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
            Interest::ReadWrite => EventFlags::IN | EventFlags::OUT,
        }
    }
}

impl Readiness {
    fn of(flags: EventFlags) -> Self {
        let ended = EventFlags::HUP | EventFlags::ERR;
        Readiness {
            readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | ended),
            writable: flags.intersects(EventFlags::OUT | ended),
        }
    }
}

fn index_of(number: u64) -> usize {
    (number & u64::from(u32::MAX)) as usize
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / NS_PER_S) as i64,
        tv_nsec: (ns % NS_PER_S) as i64,
    }
}

/// A queue of tasks and their times, earliest first. At the same time the smallest task comes
/// first.
#[derive(Clone, Debug)]
pub struct Timers<T> {
    heap: BinaryHeap<Reverse<(u64, T)>>,
}

impl<T: Ord> Timers<T> {
    /// Adds a task.
    pub fn add(&mut self, at_ns: u64, what: T) {
        self.heap.push(Reverse((at_ns, what)));
    }

    /// Time of the first task.
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the first task that is due at `now_ns`, with its time.
    pub fn pop(&mut self, now_ns: u64) -> Option<(u64, T)> {
        let due = self.next_ns().is_some_and(|at_ns| at_ns <= now_ns);
        due.then(|| self.heap.pop())
            .flatten()
            .map(|Reverse(timer)| timer)
    }
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Timers {
            heap: BinaryHeap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;
    /// Longer than any test takes.
    const LATE_NS: u64 = 3600 * NS_PER_S;

    fn write(mut file: &PipeWriter) {
        file.write_all(b"x").unwrap();
    }

    fn read(mut file: &PipeReader) {
        file.read_exact(&mut [0]).unwrap();
    }

    /// All events of one wait.
    fn wait<K: Copy>(reactor: &mut Reactor<K>, until_ns: u64) -> Vec<Event<K>> {
        reactor.wait(Some(until_ns)).unwrap();
        std::iter::from_fn(|| reactor.take()).collect()
    }

    fn readable<K>(key: K) -> Event<K> {
        Event::Ready {
            key,
            readiness: Readiness {
                readable: true,
                writable: false,
            },
        }
    }

    #[test]
    fn a_deadline_is_reported_once_and_not_too_early() {
        let mut reactor = Reactor::<()>::new().unwrap();
        let at_ns = monotonic_ns() + 3 * MS;
        assert_eq!(wait(&mut reactor, at_ns), [Event::Due]);
        assert!(monotonic_ns() >= at_ns);
        // The same deadline has already passed.
        assert_eq!(wait(&mut reactor, at_ns), [Event::Due]);
        assert_eq!(wait(&mut reactor, 0), [Event::Due]);
    }

    #[test]
    fn a_postponed_deadline_is_not_reported_at_its_old_time() {
        let (end, other) = pipe().unwrap();
        let mut reactor = Reactor::new().unwrap();
        reactor.add(&end, Interest::Read, 'p').unwrap();
        write(&other);
        assert_eq!(wait(&mut reactor, monotonic_ns() + MS), [readable('p')]);
        std::thread::sleep(Duration::from_millis(3));
        // The timer has expired unnoticed meanwhile.
        assert_eq!(
            wait(&mut reactor, monotonic_ns() + LATE_NS),
            [readable('p')]
        );
    }

    #[test]
    fn without_a_deadline_the_timer_is_off() {
        let (end, other) = pipe().unwrap();
        let mut reactor = Reactor::new().unwrap();
        reactor.add(&end, Interest::Read, 'p').unwrap();
        write(&other);
        wait(&mut reactor, monotonic_ns() + MS);
        std::thread::sleep(Duration::from_millis(3));
        reactor.wait(None).unwrap();
        assert_eq!(reactor.take(), Some(readable('p')));
        assert_eq!(reactor.take(), None);
    }

    #[test]
    fn a_ready_file_is_reported_again_and_end_of_file_is_readable() {
        let (end, other) = pipe().unwrap();
        let mut reactor = Reactor::new().unwrap();
        reactor.add(&end, Interest::Read, 7).unwrap();
        write(&other);
        for _ in 0..2 {
            assert_eq!(wait(&mut reactor, monotonic_ns() + LATE_NS), [readable(7)]);
        }
        read(&end);
        drop(other);
        let ended = Event::Ready {
            key: 7,
            readiness: Readiness {
                readable: true,
                writable: true,
            },
        };
        assert_eq!(wait(&mut reactor, monotonic_ns() + LATE_NS), [ended]);
    }

    #[test]
    fn room_to_write_is_reported_only_while_it_is_watched() {
        let (end, other) = pipe().unwrap();
        let mut reactor = Reactor::new().unwrap();
        let source = reactor.add(&other, Interest::ReadWrite, 1).unwrap();
        let writable = Event::Ready {
            key: 1,
            readiness: Readiness {
                readable: false,
                writable: true,
            },
        };
        assert_eq!(wait(&mut reactor, monotonic_ns() + LATE_NS), [writable]);
        reactor.change(&other, source, Interest::End).unwrap();
        assert_eq!(wait(&mut reactor, monotonic_ns()), [Event::Due]);
        drop(end);
        let Event::Ready { key: 1, .. } = wait(&mut reactor, monotonic_ns() + LATE_NS)[0] else {
            panic!()
        };
    }

    #[test]
    fn an_event_of_a_removed_file_is_not_reported_for_its_successor() {
        let ((first, to_first), (second, to_second)) = (pipe().unwrap(), pipe().unwrap());
        let mut reactor = Reactor::new().unwrap();
        let sources = [
            reactor.add(&first, Interest::Read, 1).unwrap(),
            reactor.add(&second, Interest::Read, 2).unwrap(),
        ];
        write(&to_first);
        write(&to_second);
        reactor.wait(None).unwrap();
        let Some(Event::Ready { key, .. }) = reactor.take() else {
            panic!("two are ready")
        };
        // The handler of one file removes the other and watches a third in its place.
        let (gone, source) = if key == 1 {
            (&second, sources[1])
        } else {
            (&first, sources[0])
        };
        reactor.remove(gone, source).unwrap();
        let (third, _to_third) = pipe().unwrap();
        let new = reactor.add(&third, Interest::Read, 3).unwrap();
        assert_eq!(index_of(new.0), index_of(source.0));
        assert_eq!(reactor.take(), None);
    }

    #[test]
    fn all_files_are_reported_if_they_exceed_one_batch() {
        let pipes: Vec<_> = (0..BATCH + 10).map(|_| pipe().unwrap()).collect();
        let mut reactor = Reactor::new().unwrap();
        for (index, (end, other)) in pipes.iter().enumerate() {
            reactor.add(end, Interest::Read, index).unwrap();
            write(other);
        }
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < pipes.len() {
            for event in wait(&mut reactor, monotonic_ns() + LATE_NS) {
                let Event::Ready { key, .. } = event else {
                    panic!("{event:?}")
                };
                read(&pipes[key].0);
                assert!(seen.insert(key));
            }
            assert_eq!(reactor.events.capacity(), BATCH);
        }
    }

    #[test]
    fn timers_are_due_in_order_and_not_before_their_time() {
        let mut timers = Timers::default();
        for (at_ns, what) in [(30, 'c'), (10, 'b'), (20, 'x'), (10, 'a')] {
            timers.add(at_ns, what);
        }
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop(9), None);
        assert_eq!(
            [timers.pop(25), timers.pop(25), timers.pop(25)],
            [Some((10, 'a')), Some((10, 'b')), Some((20, 'x'))]
        );
        assert_eq!((timers.pop(25), timers.next_ns()), (None, Some(30)));
    }
}
