//! A channel that stations share by CSMA/CA: the distributed coordination function of IEEE 802.11, basic
//! access.
//!
//! ```text
//!            origin                 start              end       free
//!   … busy │DIFS│slot│slot│slot│slot│█████ frame █████│SIFS│ACK│ DIFS │slot│ …
//!                └ counters run ────┘      counters stand still
//! ```
//!
//! Each station has a FIFO queue and a backoff counter. Counters run in idle slots. A station whose counter
//! reaches 0 sends its frame, and two that reach 0 in the same slot collide. No slot is simulated by itself:
//! the least counter says when the next transmission begins and ends, and a frame that arrives before it
//! begins may move it forward. Time and seed are arguments. docs/models/csma.md has the equations.

use std::collections::VecDeque;

use joulepath_model::network::ChannelSpec;
use joulepath_model::units::Nanos;

use joulepath_model::random::{Domain, Stream};

/// Where a station's backoff stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backoff {
    /// The backoff is over: a frame that finds the channel idle is sent at the next slot.
    Done,
    /// The backoff ends in this slot of the present idle period.
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
    /// When the frame that is now the oldest became the oldest, ns.
    head_since_ns: u64,
}

/// The next transmission, unless an arrival before its start changes it.
#[derive(Clone, Copy, Debug)]
struct Plan {
    slot: u64,
    start_ns: u64,
    end_ns: u64,
}

/// What has happened on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounters {
    /// Transmissions of frames.
    pub transmissions: u64,
    /// Transmissions that met another one.
    pub collided: u64,
    /// Transmissions that met no other one and were lost all the same.
    pub corrupted: u64,
    /// Frames that reached their receiver.
    pub delivered: u64,
    /// Frames that were given up after the last retry.
    pub given_up: u64,
    /// Frames that found a full queue.
    pub queue_drops: u64,
    /// Access delay, summed over all frames that arrived, ns: from when a frame became its station's oldest
    /// to the start of the transmission that succeeded.
    pub access_ns: u64,
    /// Time in which frames and ACKs were on the air, ns.
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
    /// Counters run from here on, ns.
    origin_ns: u64,
    plan: Option<Plan>,
    given_up: Vec<usize>,
    random: Stream,
    counters: ChannelCounters,
}

impl Channel {
    /// The `index`-th channel of a scenario, idle at time 0. Its random numbers depend on `seed` and `index`
    /// alone.
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

    /// Adds a station; returns its number.
    pub fn add_station(&mut self) -> usize {
        let station =
            Station { queue: VecDeque::new(), backoff: Backoff::Done, failures: 0, head_since_ns: 0 };
        self.stations.push(station);
        self.stations.len() - 1
    }

    /// Offers a frame of `size` bytes, without PHY and MAC headers, to the queue of `station`. Returns
    /// whether there was room.
    ///
    /// Calls of this function and of [`Self::end`] come in the order of time.
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

    /// Starts the backoff of a station whose queue was empty and now has a frame.
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

    /// The backoff after `failures` failed transmissions in a row: uniform in 0 … min(2^failures (CWmin + 1)
    /// − 1, CWmax) (IEEE 802.11, DCF).
    fn draw(&mut self, failures: u32) -> u64 {
        let timing = &self.spec.timing;
        let doubled = (u64::from(timing.cw_min) + 1) << failures.min(32);
        self.random.below(doubled.min(u64::from(timing.cw_max) + 1))
    }

    /// Finds the next transmission: it is that of the station with a frame whose counter ends first.
    fn replan(&mut self) {
        let slots = self.stations.iter().filter(|station| !station.queue.is_empty());
        let ends = slots.filter_map(|station| match station.backoff {
            Backoff::Ends(slot) => Some((slot, station.queue[0])),
            _ => None,
        });
        let first = ends.clone().map(|(slot, _)| slot).min();
        self.plan = first.map(|slot| {
            let longest = ends.filter(|&(of, _)| of == slot).map(|(_, size)| size).max().unwrap_or(0);
            let start_ns = self.origin_ns + slot * self.spec.timing.slot.0;
            Plan { slot, start_ns, end_ns: start_ns + self.spec.airtime(longest).0 }
        });
    }

    /// When the present or the next transmission ends, as far as is known now. [`Self::offer`] and
    /// [`Self::end`] may change it.
    pub fn next_end(&self) -> Option<Nanos> {
        self.plan.map(|plan| Nanos(plan.end_ns))
    }

    /// Ends the transmission of [`Self::next_end`]. Returns the frame that has arrived; `None` if frames have
    /// collided or the frame was lost. The frames of the stations in [`Self::given_up`] have left their
    /// queues, too.
    ///
    /// # Panics
    /// If no transmission is planned.
    pub fn end(&mut self) -> Option<Arrival> {
        let plan = self.plan.take().expect("a transmission is under way");
        let sends =
            |station: &Station| !station.queue.is_empty() && station.backoff == Backoff::Ends(plan.slot);
        let senders: u64 = self.stations.iter().map(|station| u64::from(sends(station))).sum();
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

    /// What has happened so far.
    pub fn counters(&self) -> ChannelCounters {
        self.counters
    }

    /// Frames in the queue of a station.
    pub fn queued(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// Stops the counter of a station that did not send: what is left of it is for the next idle period.
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
        Arrival { station: at, size: self.release(at, plan.end_ns) }
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

    /// Removes a station's oldest frame, returns its size, and draws the next backoff. There is one even if
    /// the queue is empty now.
    fn release(&mut self, at: usize, now_ns: u64) -> u32 {
        self.stations[at].backoff = Backoff::Ends(self.draw(0));
        let station = &mut self.stations[at];
        station.failures = 0;
        station.head_since_ns = now_ns;
        station.queue.pop_front().expect("a station that sends has a frame")
    }
}
