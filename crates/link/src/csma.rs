//! A channel shared by CSMA/CA: the distributed coordination function of IEEE 802.11, basic access.
//!
//! ```text
//!            origin                 start              end       free
//!   … busy │DIFS│slot│slot│slot│slot│█████ frame █████│SIFS│ACK│ DIFS │slot│ …
//!                └ counters run ────┘      counters stand still
//! ```
//!
//! Each station has a FIFO queue and a backoff counter. Counters run in idle slots. A station whose
//! counter reaches 0 sends its frame; two stations that reach 0 in the same slot collide. Slots are
//! not simulated one by one: the lowest counter gives the start and end of the next transmission,
//! and a frame that arrives before this start may move it forward. Time and seed are arguments. The
//! equations are in docs/models/csma.md.

use std::collections::VecDeque;

use joulepath_model::network::ChannelSpec;
use joulepath_model::units::Nanos;

use joulepath_model::random::{Domain, Stream};

/// State of a station's backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backoff {
    /// The backoff is over: a frame that finds the channel idle is sent in the next slot.
    Done,
    /// The backoff ends in this slot of the current idle period.
    Ends(u64),
    /// The backoff takes this many slots of the next idle period.
    Later(u64),
}

/// One station.
#[derive(Clone, Debug)]
struct Station {
    /// Sizes of the frames, the oldest first, bytes.
    queue: VecDeque<u32>,
    backoff: Backoff,
    /// Failed transmissions of the oldest frame.
    failures: u32,
    /// Time since which the current oldest frame is the oldest, ns.
    head_since_ns: u64,
}

/// The next transmission. A frame that arrives before its start may change it.
#[derive(Clone, Copy, Debug)]
struct Plan {
    slot: u64,
    start_ns: u64,
    end_ns: u64,
}

/// Counters of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// Transmissions of frames.
    pub transmissions: u64,
    /// Transmissions that collided.
    pub collided: u64,
    /// Transmissions that did not collide but were lost.
    pub corrupted: u64,
    /// Frames that reached their receiver.
    pub delivered: u64,
    /// Frames given up after the last retry.
    pub given_up: u64,
    /// Frames dropped because the queue was full.
    pub queue_drops: u64,
    /// Sum of the access delays of all frames that arrived, ns: from the time a frame became its
    /// station's oldest to the start of its successful transmission.
    pub access_ns: u64,
    /// Time with frames and ACKs on the air, ns.
    pub busy_ns: u64,
}

/// A frame that arrived at the end of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The station that sent it.
    pub station: usize,
    /// Its size, bytes.
    pub size: u32,
}

/// A channel as a state machine.
#[derive(Clone, Debug)]
pub struct Channel {
    spec: ChannelSpec,
    stations: Vec<Station>,
    /// Time from which counters run, ns.
    origin_ns: u64,
    plan: Option<Plan>,
    given_up: Vec<usize>,
    random: Stream,
    counters: ChannelCounters,
}

impl Channel {
    /// Channel number `index` of a scenario, idle at time 0. Its random numbers depend only on
    /// `seed` and `index`.
    pub fn new(spec: &ChannelSpec, stations: usize, seed: u64, index: u64) -> Self {
        let mut channel = Channel {
            spec: spec.clone(),
            stations: vec![],
            origin_ns: 0,
            plan: None,
            given_up: vec![],
            random: Stream::new(seed, Domain::Channel, index),
            counters: ChannelCounters::default(),
        };
        for _ in 0..stations {
            channel.add_station();
        }
        channel
    }

    /// Adds a station and returns its number.
    pub fn add_station(&mut self) -> usize {
        let station = Station {
            queue: VecDeque::new(),
            backoff: Backoff::Done,
            failures: 0,
            head_since_ns: 0,
        };
        self.stations.push(station);
        self.stations.len() - 1
    }

    /// Offers a frame of `size` bytes, without PHY and MAC headers, to the queue of `station`.
    /// Returns false if the queue is full.
    ///
    /// Calls of this function and of [`Self::end`] must be in the order of time.
    pub fn offer(&mut self, now: Nanos, station: usize, size: u32) -> bool {
        let sender = &mut self.stations[station];
        if sender.queue.len() >= self.spec.queue as usize {
            self.counters.queue_drops += 1;
            return false;
        }
        sender.queue.push_back(size);
        if sender.queue.len() == 1 {
            sender.head_since_ns = now.0;
            self.contend(now.0, station);
        }
        true
    }

    /// Starts the backoff of a station whose empty queue got a frame.
    fn contend(&mut self, now_ns: u64, station: usize) {
        let sending = self.plan.filter(|plan| now_ns > plan.start_ns);
        let over = match self.stations[station].backoff {
            Backoff::Done => true,
            Backoff::Ends(slot) => sending.is_some_and(|plan| slot <= plan.slot),
            Backoff::Later(_) => false,
        };
        if sending.is_some() {
            if over {
                self.stations[station].backoff = Backoff::Later(self.draw(0));
            }
            return;
        }
        if now_ns < self.origin_ns {
            if over {
                self.stations[station].backoff = Backoff::Ends(self.draw(0));
            }
        } else {
            let present = (now_ns - self.origin_ns).div_ceil(self.spec.timing.slot.0);
            let sender = &mut self.stations[station];
            sender.backoff = match sender.backoff {
                Backoff::Ends(slot) => Backoff::Ends(slot.max(present)),
                _ => Backoff::Ends(present),
            };
        }
        self.replan();
    }

    /// Draws the backoff after `failures` consecutive failed transmissions: uniform in 0 …
    /// min(2^failures (CWmin + 1) − 1, CWmax) (IEEE 802.11, DCF).
    fn draw(&mut self, failures: u32) -> u64 {
        let timing = &self.spec.timing;
        let doubled = (u64::from(timing.cw_min) + 1) << failures.min(32);
        self.random.below(doubled.min(u64::from(timing.cw_max) + 1))
    }

    /// Plans the next transmission: the one of the station with a frame whose counter ends first.
    fn replan(&mut self) {
        let slots = self
            .stations
            .iter()
            .filter(|station| !station.queue.is_empty());
        let ends = slots.filter_map(|station| match station.backoff {
            Backoff::Ends(slot) => Some((slot, station.queue[0])),
            _ => None,
        });
        let first = ends.clone().map(|(slot, _)| slot).min();
        self.plan = first.map(|slot| {
            let longest = ends
                .filter(|&(of, _)| of == slot)
                .map(|(_, size)| size)
                .max()
                .unwrap_or(0);
            let start_ns = self.origin_ns + slot * self.spec.timing.slot.0;
            Plan {
                slot,
                start_ns,
                end_ns: start_ns + self.spec.airtime(longest).0,
            }
        });
    }

    /// End of the current or next transmission. [`Self::offer`] and [`Self::end`] may change it.
    pub fn next_end(&self) -> Option<Nanos> {
        self.plan.map(|plan| Nanos(plan.end_ns))
    }

    /// Ends the transmission of [`Self::next_end`]. Returns the frame that arrived; `None` if
    /// frames collided or the frame was lost. The oldest frames of the stations in
    /// [`Self::given_up`] have then left their queues, too.
    ///
    /// # Panics
    /// If no transmission is planned.
    pub fn end(&mut self) -> Option<Arrival> {
        let plan = self.plan.take().expect("a transmission is planned");
        let sends = |station: &Station| {
            !station.queue.is_empty() && station.backoff == Backoff::Ends(plan.slot)
        };
        let senders: u64 = self
            .stations
            .iter()
            .map(|station| u64::from(sends(station)))
            .sum();
        let corrupted = senders == 1 && self.random.uniform() < self.spec.frame_error.get();
        self.counters.transmissions += senders;
        self.counters.corrupted += u64::from(corrupted);
        self.counters.collided += if senders > 1 { senders } else { 0 };
        let arrives = senders == 1 && !corrupted;
        self.given_up.clear();
        let mut arrival = None;
        for at in 0..self.stations.len() {
            if !sends(&self.stations[at]) {
                self.stand_still(at, plan.slot);
            } else if arrives {
                arrival = Some(self.deliver(at, plan));
            } else {
                self.fail(at, plan.end_ns);
            }
        }
        let timing = &self.spec.timing;
        let reply_ns = timing.sifs.0 + timing.ack.0 + timing.propagation.0;
        let free_ns = plan.end_ns + if arrives { reply_ns } else { timing.unread.0 };
        self.counters.busy_ns += plan.end_ns - plan.start_ns + if arrives { reply_ns } else { 0 };
        self.origin_ns = free_ns + timing.difs.0;
        self.replan();
        arrival
    }

    /// Stations whose oldest frame was given up when the last transmission ended.
    pub fn given_up(&self) -> &[usize] {
        &self.given_up
    }

    /// Counters so far.
    pub fn counters(&self) -> ChannelCounters {
        self.counters
    }

    /// Number of frames in the queue of a station.
    pub fn queued(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// Stops the counter of a station that did not send. The rest is for the next idle period.
    fn stand_still(&mut self, at: usize, slot: u64) {
        let station = &mut self.stations[at];
        station.backoff = match station.backoff {
            Backoff::Ends(ends) if ends > slot => Backoff::Ends(ends - slot),
            Backoff::Later(left) => Backoff::Ends(left),
            Backoff::Ends(_) | Backoff::Done => Backoff::Done,
        };
    }

    fn deliver(&mut self, at: usize, plan: Plan) -> Arrival {
        self.counters.delivered += 1;
        self.counters.access_ns += plan.start_ns - self.stations[at].head_since_ns;
        Arrival {
            station: at,
            size: self.release(at, plan.end_ns),
        }
    }

    fn fail(&mut self, at: usize, now_ns: u64) {
        self.stations[at].failures += 1;
        let failures = self.stations[at].failures;
        if failures >= self.spec.retry_limit {
            self.counters.given_up += 1;
            self.given_up.push(at);
            self.release(at, now_ns);
        } else {
            self.stations[at].backoff = Backoff::Ends(self.draw(failures));
        }
    }

    /// Removes a station's oldest frame, returns its size, and draws the next backoff, even if the
    /// queue is now empty.
    fn release(&mut self, at: usize, now_ns: u64) -> u32 {
        self.stations[at].backoff = Backoff::Ends(self.draw(0));
        let station = &mut self.stations[at];
        station.failures = 0;
        station.head_since_ns = now_ns;
        station
            .queue
            .pop_front()
            .expect("a station that sends has a frame")
    }
}
