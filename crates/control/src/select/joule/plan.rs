//! The selector: it finds the demand's goal, the cheapest set for it, and the time to change to
//! that set.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::preset::Preset;
use joulepath_model::units::Nanos;

use super::super::selector::{LOOK, PathSelector};
use super::super::snapshot::{Demand, PathSnapshot, PathState, Snapshot};
use super::super::uses::{Use, Uses, only};
use super::bottleneck::Bottlenecks;
use super::capacity::{self, Capacity};
use super::cost::{Costs, Load, Radio, Set};
use super::delays::Delays;
use super::ledger::Ledger;
use super::offered::Offered;
use crate::options::{self, OptionError, PartInfo};
use crate::schedule::members;

/// A change must reduce the cost to at most this part.
const BETTER: f64 = 0.95;
/// A change that only closes paths must reduce the cost to at most this part.
const BETTER_LESS: f64 = 0.99;
/// A change of a file's set must reduce the rest's cost to at most this part: nothing repays it
/// later.
const BETTER_FILE: f64 = 0.9;
/// A smaller rest of a file is not worth a change, bits.
const LEAST_FILE_BITS: f64 = 8.0 * 64e3;
/// Minimum time for which a set is kept, unless it fails.
const HOLD: Nanos = Nanos::from_secs(2);
/// A path that messages needed again is kept for this many doublings of that time at most.
const MOST_DOUBLINGS: u32 = 5;
/// A backlog that takes longer than this to drain is late, s.
const LATE_S: f64 = 0.3;
/// Factor on the offered load, for its variation.
const HEADROOM: f64 = 1.05;
/// φ: for messages the phases k φ mod 1 of decision k are spread evenly. Decisions in step with a
/// stream's writes would see each write wait, or none.
const GOLDEN_SECTION: f64 = 0.618_033_988_749_894_9;
/// Data of unknown size counts as messages after this time without a write.
const QUIET: Nanos = Nanos::from_millis(500);

/// The application's goal, as observed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    Endless,
    /// One file of known size.
    File,
    /// Data with an unknown end.
    Unknown,
    Messages,
}

/// The selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Joule {
    /// Whether the size of a file is known.
    pub knows_size: bool,
    /// Whether the networks' history is used.
    pub remembers: bool,
    /// Whether to detect shared bottlenecks.
    pub seeks_bottlenecks: bool,
    /// Part of the cost of opening a set that must be regretted first: with 1 a change costs at
    /// most twice the better choice in hindsight, with 0 it happens at once.
    pub patience: f64,
    /// π: price of a second in which a file or a message waits, W.
    pub delay_price_w: f64,
    /// Deadline of a file or a message.
    pub deadline: Option<Nanos>,
    /// Longest time of a file, in multiples of the time of the fastest path.
    pub slowest_file: Option<f64>,
    /// The same for a message.
    pub slowest_message: Option<f64>,
    goal: Option<Goal>,
    /// The paths in use; empty before the first decision.
    set: Set,
    changed_at: Nanos,
    looked_at: Nanos,
    started_at: Option<Nanos>,
    quiet_since: Option<Nanos>,
    /// New paths that must be measured before others close.
    trial: Set,
    /// Bytes that the paths had delivered, and that waited, at the last decision.
    delivered_bytes: u64,
    waiting_bytes: f64,
    capacities: [Capacity; MAX_SUBFLOWS],
    ledger: Ledger,
    offered: Offered,
    delays: Delays,
    bottlenecks: Bottlenecks,
    /// Number of decisions.
    looks: u32,
}

impl Default for Joule {
    fn default() -> Self {
        Joule {
            knows_size: true,
            remembers: true,
            seeks_bottlenecks: true,
            patience: 1.0,
            delay_price_w: Preset::Balanced.delay_price_w(),
            deadline: None,
            slowest_file: Preset::Balanced.slowest_file(),
            slowest_message: Preset::Balanced.slowest_message(),
            goal: None,
            set: 0,
            changed_at: Nanos::ZERO,
            looked_at: Nanos::ZERO,
            started_at: None,
            quiet_since: None,
            trial: 0,
            delivered_bytes: 0,
            waiting_bytes: 0.0,
            capacities: [Capacity::default(); MAX_SUBFLOWS],
            ledger: Ledger::default(),
            offered: Offered::default(),
            delays: Delays::default(),
            bottlenecks: Bottlenecks::default(),
            looks: 0,
        }
    }
}

impl PathSelector for Joule {
    const INFO: PartInfo = PartInfo::verified(
        "joule",
        "the paths with the fewest joules; promotions and tails are the price of a change, paid by regret",
        &[
            "size",
            "history",
            "bottlenecks",
            "patience",
            "delay_price",
            "deadline",
            "slowest",
            "preset",
        ],
        "Joulepath",
    );

    fn want(&mut self, snapshot: &Snapshot) -> Uses {
        self.learn(snapshot);
        let allowed = self.allowed(snapshot);
        let radios = self.radios(snapshot, self.set != 0);
        let window_bits = 8.0 * snapshot.initial_window * snapshot.mss_bytes;
        let buffer_bits = 8.0 * snapshot.receive_window;
        let costs = Costs {
            device: snapshot.device,
            radios: &radios,
            window_bits,
            buffer_bits,
        };
        let set = match self.set & allowed {
            0 => self.first(snapshot, &costs, allowed),
            kept => {
                self.set = kept;
                self.trial &= kept;
                self.next(snapshot, &costs, allowed)
            }
        };
        if set != self.set {
            self.trial = self.unproven(set & !self.set, snapshot);
            self.set = set;
            self.changed_at = snapshot.now;
            self.ledger.clear();
            self.offered.restart();
        }
        self.looked_at = snapshot.now;
        self.looks = self.looks.wrapping_add(1);
        let chosen: Vec<usize> = members(self.set).collect();
        let mut uses = only(&chosen, Use::Closed);
        if let Some(drained) = self.bottlenecks.drained().filter(|_| chosen.len() > 1)
            && self.set & 1 << drained != 0
        {
            uses[drained] = Use::Backup;
        }
        uses
    }

    fn period(&self, _snapshot: &Snapshot) -> Nanos {
        if self.goal != Some(Goal::Messages) {
            return LOOK;
        }
        let phase = |look: u32| (f64::from(look) * GOLDEN_SECTION).fract();
        let (now, next) = (phase(self.looks), phase(self.looks.wrapping_add(1)));
        Nanos::from_secs_f64(LOOK.as_secs_f64() * (1.0 + next - now))
    }

    fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        if !self.seeks_bottlenecks {
            // No pair is ruled out.
            return [1; MAX_SUBFLOWS];
        }
        self.bottlenecks.suspected()
    }

    fn set(
        &mut self,
        option: &str,
        value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        match option {
            "size" => {
                self.knows_size = match value {
                    "known" => true,
                    "unknown" => false,
                    _ => {
                        let (value, expected) = (value.to_owned(), "`known` or `unknown`");
                        return Err(OptionError::BadValue {
                            option: "size",
                            value,
                            expected,
                        });
                    }
                }
            }
            "history" => self.remembers = options::switch("history", value)?,
            "bottlenecks" => self.seeks_bottlenecks = options::switch("bottlenecks", value)?,
            "patience" => self.patience = options::at_least_zero("patience", value)?,
            "delay_price" => self.delay_price_w = options::watts("delay_price", value)?,
            "deadline" => self.deadline = Some(options::time("deadline", value)?),
            "slowest" => {
                let multiple = Some(options::at_least_one("slowest", value)?);
                (self.slowest_file, self.slowest_message) = (multiple, multiple);
            }
            "preset" => {
                let preset = Preset::by_word(value).ok_or_else(|| {
                    let (value, expected) = (value.to_owned(), "`saver`, `balanced` or `fast`");
                    OptionError::BadValue {
                        option: "preset",
                        value,
                        expected,
                    }
                })?;
                self.delay_price_w = preset.delay_price_w();
                (self.slowest_file, self.slowest_message) =
                    (preset.slowest_file(), preset.slowest_message());
            }
            _ => {
                return Err(OptionError::unknown_option(
                    Self::INFO.name,
                    option,
                    Self::INFO.options,
                ));
            }
        }
        Ok(())
    }
}

impl Joule {
    /// Updates the estimates with the snapshot.
    fn learn(&mut self, snapshot: &Snapshot) {
        let seconds = snapshot.now.saturating_sub(self.looked_at).as_secs_f64();
        let is_open = |path: &&PathSnapshot| path.state == PathState::Open;
        let windows: f64 = snapshot
            .paths
            .iter()
            .filter(is_open)
            .map(|path| path.cwnd)
            .sum();
        let is_full = self.waits_for(snapshot, windows * snapshot.mss_bytes);
        let data_waits = !matches!(snapshot.demand, Demand::Bytes(bytes) if bytes <= 0.0);
        for (capacity, path) in self.capacities.iter_mut().zip(snapshot.paths) {
            capacity.observe(path, snapshot.now, seconds, is_full, data_waits);
        }
        self.offered
            .observe(snapshot, seconds, self.is_held(snapshot));
        if self.seeks_bottlenecks {
            self.bottlenecks.observe(snapshot);
        }
        if snapshot
            .paths
            .iter()
            .any(|path| path.state == PathState::Open)
        {
            self.started_at.get_or_insert(snapshot.now);
        }
        let goal = *self.goal.get_or_insert(match snapshot.demand {
            Demand::Endless => Goal::Endless,
            Demand::Bytes(bytes) if bytes > 0.0 && self.knows_size => Goal::File,
            Demand::Bytes(bytes) if bytes > 0.0 => Goal::Unknown,
            Demand::Bytes(_) => Goal::Messages,
        });
        // Data of unknown size that pauses and resumes was a message.
        let is_quiet =
            matches!(snapshot.demand, Demand::Bytes(bytes) if bytes < snapshot.mss_bytes);
        if goal == Goal::Unknown {
            let since = self.quiet_since.filter(|_| !is_quiet);
            if since.is_some_and(|since| snapshot.now.saturating_sub(since) >= QUIET) {
                self.goal = Some(Goal::Messages);
            }
        }
        self.quiet_since = is_quiet.then(|| self.quiet_since.unwrap_or(snapshot.now));
    }

    /// True if more data has waited since the last decision than windows of `window_bytes` admit:
    /// the data waiting then, less the data carried since. Data that waits now may have come a
    /// moment ago.
    fn waits_for(&mut self, snapshot: &Snapshot, window_bytes: f64) -> bool {
        let Demand::Bytes(waiting) = snapshot.demand else {
            return true;
        };
        let delivered: u64 = snapshot.paths.iter().map(|path| path.delivered_bytes).sum();
        let carried =
            delivered.saturating_sub(std::mem::replace(&mut self.delivered_bytes, delivered));
        let waited = std::mem::replace(&mut self.waiting_bytes, waiting);
        waited - carried as f64 > window_bytes
    }

    /// The paths that may be used: usable and not silent; all usable paths if none is left.
    fn allowed(&self, snapshot: &Snapshot) -> Set {
        let mask =
            |paths: &mut dyn Iterator<Item = usize>| paths.fold(0, |mask: Set, i| mask | 1 << i);
        let usable = mask(&mut snapshot.usable().into_iter());
        let silent = mask(&mut (0..snapshot.paths.len()).filter(|&i| {
            let path = &snapshot.paths[i];
            self.capacities[i].is_silent() && path.state != PathState::Closed
        }));
        if usable & !silent != 0 {
            usable & !silent
        } else {
            usable
        }
    }

    fn radios(&self, snapshot: &Snapshot, hoped: bool) -> Vec<Radio> {
        let groups = self.bottlenecks.shared();
        let radio = |i: usize| {
            let path = &snapshot.paths[i];
            let history =
                capacity::remembered(path, snapshot.mss_bytes, hoped).filter(|_| self.remembers);
            Radio {
                energy: path.energy,
                rate_bps: self.capacities[i].rate_bps(history, hoped, i == 0),
                rtt_s: capacity::rtt_s(path, self.remembers, i == 0),
                is_known: history.is_some() || self.capacities[i].is_measured(),
                is_open: path.state != PathState::Closed,
                group: groups[i],
            }
        };
        (0..snapshot.paths.len()).map(radio).collect()
    }

    /// Time since the last decision, at most 1 s.
    fn since_look_s(&self, snapshot: &Snapshot) -> f64 {
        snapshot
            .now
            .saturating_sub(self.looked_at)
            .as_secs_f64()
            .min(1.0)
    }

    /// True if the set in use is so new that it is kept unless it fails.
    fn is_held(&self, snapshot: &Snapshot) -> bool {
        snapshot.now < self.changed_at.saturating_add(HOLD)
    }

    /// The members of `set` that have not been measured.
    fn unproven(&self, set: Set, snapshot: &Snapshot) -> Set {
        let is_tried = |i: usize| self.capacities[i].is_tried(snapshot.paths[i].srtt_s);
        members(set)
            .filter(|&i| !is_tried(i))
            .fold(0, |mask, i| mask | 1 << i)
    }

    /// Time left for the rest of a file, s: until its deadline, and until the longest multiple of
    /// the time in which the fastest path carries the whole file.
    fn left_s(
        &self,
        snapshot: &Snapshot,
        costs: &Costs,
        allowed: Set,
        left_bits: f64,
    ) -> Option<f64> {
        let since = self.started_at.unwrap_or(snapshot.now);
        let passed_s = snapshot.now.saturating_sub(since).as_secs_f64();
        let bits = left_bits + 8.0 * self.delivered_bytes as f64;
        let longest_s = self.longest_s(self.slowest_file, allowed, |path| {
            costs.until_carried_s(path, bits)
        });
        longest_s.map(|longest_s| (longest_s - passed_s).max(0.0))
    }

    /// The deadline, or if that is earlier the multiple `slowest` of the fastest path's `time_s`.
    fn longest_s(
        &self,
        slowest: Option<f64>,
        allowed: Set,
        time_s: impl Fn(Set) -> f64,
    ) -> Option<f64> {
        let fastest_s = || {
            members(allowed)
                .map(|i| time_s(1 << i))
                .fold(f64::INFINITY, f64::min)
        };
        let multiple_s = slowest.map(|multiple| multiple * fastest_s());
        [self.deadline.map(Nanos::as_secs_f64), multiple_s]
            .into_iter()
            .flatten()
            .reduce(f64::min)
    }

    fn load(&self, costs: &Costs, allowed: Set) -> Load {
        let load = Load {
            per_s: self.offered.messages_per_s(),
            bits: HEADROOM * self.offered.message_bits(),
            steady: self.offered.steady(),
            pauses_per_s: self.offered.pauses_per_s(),
            burst_bits: self.offered.burst_bits(),
            price_w: self.delay_price_w,
            deadline_s: None,
        };
        let delay_s = |path: Set| costs.delay_s(path, &load) + self.delays.excess_s(path);
        let deadline_s = self.longest_s(self.slowest_message, allowed, delay_s);
        Load { deadline_s, ..load }
    }

    /// The initial set, or the next set after all paths in use have failed.
    fn first(&self, snapshot: &Snapshot, costs: &Costs, allowed: Set) -> Set {
        match (self.goal, snapshot.demand) {
            (Some(Goal::Endless), _) | (_, Demand::Endless) => {
                costs.cheapest(allowed, |set| costs.bulk(set))
            }
            (Some(Goal::File), Demand::Bytes(left)) => {
                let left_s = self.left_s(snapshot, costs, allowed, 8.0 * left);
                let cost = |set: Set| costs.file(set, 8.0 * left, self.delay_price_w, left_s);
                let best = costs.cheapest(allowed, cost);
                // Further paths must pay off; but two unknown paths are a hedge.
                match costs.cheapest_alone(allowed, cost) {
                    alone if costs.knows(best) && cost(best) > BETTER_FILE * cost(alone) => alone,
                    _ => best,
                }
            }
            (Some(Goal::Messages), _) if self.offered.messages_per_s() > 0.0 => {
                let load = self.load(costs, allowed);
                costs.cheapest(allowed, |set| costs.load(set, &load))
            }
            _ => costs.cheapest(allowed, |set| costs.file(set, costs.window_bits, 0.0, None)),
        }
    }

    /// The next set.
    fn next(&mut self, snapshot: &Snapshot, costs: &Costs, allowed: Set) -> Set {
        // While a new path is measured, it and the paths that it may replace stay.
        self.trial = self.unproven(self.trial, snapshot);
        match (self.goal, snapshot.demand) {
            (Some(Goal::File), Demand::Bytes(left)) => {
                self.for_file(snapshot, costs, allowed, 8.0 * left)
            }
            (Some(Goal::Messages), Demand::Bytes(waiting)) => {
                self.for_messages(snapshot, costs, allowed, 8.0 * waiting)
            }
            _ => {
                let bps: f64 = snapshot.paths.iter().map(|path| path.rate_bps).sum();
                self.by_regret(snapshot, costs, allowed, |_, set| costs.bulk(set), bps)
            }
        }
    }

    /// Changes to the best set when the regret reaches the cost of opening it. `scale` converts the
    /// cost to watts.
    fn by_regret(
        &mut self,
        snapshot: &Snapshot,
        costs: &Costs,
        allowed: Set,
        cost: impl Fn(&Self, Set) -> f64,
        scale: f64,
    ) -> Set {
        let seconds = self.since_look_s(snapshot);
        let here = cost(self, self.set);
        for set in (1..=allowed).filter(|set| set & !allowed == 0) {
            let excess_w = (here - cost(self, set)) * scale;
            self.ledger.charge(set, excess_w, seconds);
        }
        let best = costs.cheapest(allowed, |set| cost(self, set));
        let is_less = best & !self.set == 0;
        let is_better = cost(self, best) < if is_less { BETTER_LESS } else { BETTER } * here
            || (here <= 0.0 && costs.rate_bps(self.set) < BETTER * costs.rate_bps(best));
        let is_paid = self.ledger.regret_j(best) >= self.patience * costs.opening_j(self.set, best);
        let is_held = self.is_held(snapshot) || self.is_needed(snapshot, best);
        if is_better && is_paid && !is_held {
            self.towards(best, snapshot)
        } else {
            self.set
        }
    }

    /// True if `best` closes a path of a message's set that opened again a short while ago. A load
    /// near the capacity of a set would open and close its neighbour all the time, so a path stays
    /// open for twice as long each time.
    fn is_needed(&self, snapshot: &Snapshot, best: Set) -> bool {
        let again = members(self.set & !best)
            .map(|i| self.capacities[i].openings().saturating_sub(1))
            .max();
        let doublings = again.unwrap_or(0).min(MOST_DOUBLINGS);
        self.goal == Some(Goal::Messages)
            && snapshot.now < self.changed_at.saturating_add(Nanos(HOLD.0 << doublings))
    }

    /// `best`, plus the set in use while a path of `best` has not been measured.
    fn towards(&self, best: Set, snapshot: &Snapshot) -> Set {
        match self.unproven(best & !self.set, snapshot) | self.trial {
            0 => best,
            _ => best | self.set,
        }
    }

    fn for_file(&self, snapshot: &Snapshot, costs: &Costs, allowed: Set, bits: f64) -> Set {
        let left_s = self.left_s(snapshot, costs, allowed, bits);
        let cost = |set: Set| costs.file(set, bits, self.delay_price_w, left_s);
        let best = costs.cheapest(allowed, cost);
        let is_worth_it = cost(best) < BETTER_FILE * cost(self.set)
            || (cost(self.set) <= 0.0
                && costs.rate_bps(self.set) < BETTER_FILE * costs.rate_bps(best));
        // While a path's rate grows its capacity is unknown: another path would open for a rate
        // that this one is about to reach.
        let is_early = best & !self.set != 0 && self.unproven(self.set, snapshot) != 0;
        if is_worth_it && !is_early && bits >= LEAST_FILE_BITS {
            self.towards(best, snapshot)
        } else {
            self.set
        }
    }

    fn for_messages(
        &mut self,
        snapshot: &Snapshot,
        costs: &Costs,
        allowed: Set,
        waiting_bits: f64,
    ) -> Set {
        let load = self.load(costs, allowed);
        let rate_bps = costs.rate_bps(self.set);
        if waiting_bits > LATE_S * rate_bps && waiting_bits >= LEAST_FILE_BITS {
            let best = self.against_backlog(costs, allowed, waiting_bits, &load);
            if best != self.set {
                return best;
            }
        }
        if load.per_s <= 0.0 {
            return self.set;
        }
        if let Some(delay_s) = self.offered.delay_s() {
            let excess_s = delay_s - costs.delay_s(self.set, &load);
            self.delays
                .observe(self.set, excess_s, self.since_look_s(snapshot));
        }
        let cost =
            |joule: &Self, set: Set| costs.load_after(set, &load, joule.delays.excess_s(set));
        self.by_regret(snapshot, costs, allowed, cost, 1.0)
    }

    /// Late data counts as a file whose messages each wait half of the time on average. If the
    /// offered load exceeds the set's capacity the backlog only grows: further paths must open
    /// anyway, and waiting for regret is pointless.
    fn against_backlog(&self, costs: &Costs, allowed: Set, waiting_bits: f64, load: &Load) -> Set {
        let rate_bps = costs.rate_bps(self.set);
        if load.per_s * load.bits > rate_bps {
            let best = costs.cheapest(allowed, |set| costs.load(set, load)) | self.set;
            if costs.rate_bps(best) > rate_bps {
                return best;
            }
        }
        let messages = if load.bits > 0.0 {
            (waiting_bits / load.bits / 2.0).max(1.0)
        } else {
            1.0
        };
        let cost = |set: Set| {
            costs.file(
                set,
                waiting_bits,
                self.delay_price_w * messages,
                load.deadline_s,
            )
        };
        let best = costs.cheapest(allowed, cost) | self.set;
        if cost(best) < BETTER_FILE * cost(self.set) {
            best
        } else {
            self.set
        }
    }
}
