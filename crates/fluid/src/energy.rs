//! Energy of a run: the meter of the packet engine with the mean rates of the fluid.
//!
//! In every tick the meter gets the tick's bytes as one burst per interface and direction, of at
//! least one packet. So a radio is active, idle or in its tail as with packets. Below one packet
//! per tick the meter gets each packet separately. Ticks are shorter than any gap that the models
//! distinguish from continuous traffic.

use joulepath_control::path::{base_rtt_s, links_of};
use joulepath_model::energy::InterfaceModel;
use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{ConnectionGroup, Direction, LinkIndex, Scenario};
use joulepath_model::units::{BitRate, Nanos};

use crate::represent::Member;
use crate::transit::Sample;

/// Longest tick, s: the tick of the packet engine's control plane.
const LONGEST_TICK_S: f64 = 0.1;
/// Shortest tick, s.
const SHORTEST_TICK_S: f64 = 1e-3;

/// How far delays and recoveries spread a train, round trips: a fit to the packet engine, where it is
/// 0.01 to 0.5 and grows with the length of the run.
const SPREAD: f64 = 0.125;

/// One device of a group, and the traffic for its meter.
pub(crate) struct Metering<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) group: &'a ConnectionGroup,
    pub(crate) member: &'a Member<'a>,
    /// Position of the user's first route in a sample.
    pub(crate) first: usize,
    /// Completion time of its file, s.
    pub(crate) completed_s: Option<f64>,
    /// The scenario's link of each queue in the samples.
    pub(crate) links: &'a [LinkIndex],
}

/// One route between two samples.
struct Pace {
    sent_pps: f64,
    delivered_pps: f64,
    rtt_s: f64,
    /// Time that a window takes to pass its slowest link, if its radio leaves ACTIVE before the next
    /// one comes.
    train_s: Option<f64>,
    /// True if it is in use.
    is_open: bool,
}

/// Bytes accumulated on one interface, by direction.
#[derive(Clone, Copy, Default)]
struct Pending {
    down: f64,
    up: f64,
    /// Time of the last burst, s.
    train_s: f64,
}

/// Bytes that pass an interface together.
struct Burst {
    interface: usize,
    now: Nanos,
    bytes: u32,
    traffic: Traffic,
    air: Nanos,
}

/// One sentence about the paths whose radios leave ACTIVE within a round trip if a window does not
/// fill the links.
pub(crate) fn notes(scenario: &Scenario) -> Vec<String> {
    let rests = |group: &ConnectionGroup, path: &usize| {
        let InterfaceModel::Rrc(rrc) = &scenario.paths[*path].energy.model else {
            return false;
        };
        let over = links_of(scenario, group.direction, *path).0;
        let rtt_s = base_rtt_s(scenario, *path);
        let loses = over
            .iter()
            .any(|&link| scenario.links[link].loss.mean() > 0.0);
        let rates = over
            .iter()
            .map(|&link| scenario.links[link].rate.mean_bps(scenario.duration));
        let most_bps = 8.0 * group.receive_buffer.0.min(group.send_buffer.0) as f64 / rtt_s;
        (loses || most_bps < rates.fold(f64::INFINITY, f64::min))
            && rtt_s > rrc.inactivity.as_secs_f64()
    };
    let of = |group: &ConnectionGroup| {
        let paths = group.paths.iter().filter(|path| rests(group, path));
        paths.copied().collect::<Vec<_>>()
    };
    let mut paths: Vec<usize> = scenario.connections.iter().flat_map(of).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        return vec![];
    }
    let names: Vec<String> = paths
        .iter()
        .map(|&path| format!("`{}`", scenario.paths[path].name))
        .collect();
    vec![format!(
        "Where a window does not fill a round trip, the radio of {} rests between windows: how long \
         depends on delays that the equations lack, so power may be half or twice the packet engine's.",
        names.join(", ")
    )]
}

impl Metering<'_> {
    /// The energy of one device, and its energy up to each sample by path of the group, J.
    pub(crate) fn run(
        &self,
        samples: &[Sample],
        each: bool,
    ) -> (EnergyReading, Vec<EnergyReading>) {
        let specs = &self.scenario.paths;
        let model = |&path: &usize| specs[path].energy.model.clone();
        let models: Vec<InterfaceModel> = self.group.paths.iter().map(model).collect();
        let start = Nanos::from_secs_f64(self.member.start_s);
        let mut meter = DeviceMeter::new(&models, &self.scenario.device, start);
        self.scenario.follow_signals(&mut meter, &self.group.paths);
        let tick_s = self.tick_s(&meter);
        let mut opened = vec![false; self.member.paths.len()];
        let mut pending = vec![Pending::default(); self.member.paths.len()];
        let mut began = false;
        let mut readings = vec![];
        let end_s = self
            .completed_s
            .unwrap_or(self.scenario.duration.as_secs_f64());
        for pair in samples.windows(2) {
            let seconds = pair[1].time_s.min(end_s) - pair[0].time_s;
            let ticks = (seconds / tick_s).ceil().max(1.0);
            let flows = self.paces(pair);
            for tick in 0..ticks as u32 {
                let at_s = pair[0].time_s + seconds * (f64::from(tick) + 1.0) / ticks;
                if seconds <= 0.0 || at_s < self.member.start_s {
                    continue;
                }
                if !began && at_s > self.scenario.warm_up.as_secs_f64() {
                    meter.begin_measurement(self.scenario.warm_up.max(start));
                    began = true;
                }
                self.open(&mut meter, &mut opened, at_s);
                let mut bursts = vec![];
                for (i, flow) in flows.iter().enumerate() {
                    self.pass(
                        &mut bursts,
                        &mut pending[i],
                        i,
                        flow,
                        [at_s, seconds / ticks],
                    );
                }
                bursts.sort_by_key(|burst| burst.now);
                for burst in bursts {
                    meter.on_packet(
                        burst.interface,
                        burst.now,
                        burst.bytes,
                        burst.traffic,
                        burst.air,
                    );
                }
                self.sample_host(&mut meter, &flows, at_s);
            }
            if each {
                let now = Nanos::from_secs_f64(pair[1].time_s.min(end_s).max(self.member.start_s));
                readings.push(meter.snapshot(now));
            }
        }
        let end = Nanos::from_secs_f64(end_s);
        let total = match self.completed_s {
            Some(_) => meter.finish_with_tails(end),
            None => meter.finish(end),
        };
        (total, readings)
    }

    fn interface(&self, route: usize) -> usize {
        let of_path = |path: &usize| *path == self.member.paths[route];
        self.group
            .paths
            .iter()
            .position(of_path)
            .expect("selected from the group's paths")
    }

    fn tick_s(&self, meter: &DeviceMeter) -> f64 {
        let patience = |i: usize| match &self.scenario.paths[self.group.paths[i]].energy.model {
            InterfaceModel::Slotted { slot, .. } => *slot,
            InterfaceModel::Rrc(rrc) if meter.patience(i) == Nanos::ZERO => rrc.inactivity,
            _ => meter.patience(i),
        };
        let of = |i: usize| match patience(i) {
            Nanos::ZERO => LONGEST_TICK_S,
            patience => patience.as_secs_f64() / 2.0,
        };
        let least = (0..self.group.paths.len())
            .map(of)
            .fold(LONGEST_TICK_S, f64::min);
        least.max(SHORTEST_TICK_S)
    }

    /// Wakes the radios of the subflows that start their handshakes now.
    fn open(&self, meter: &mut DeviceMeter, opened: &mut [bool], at_s: f64) {
        for (route, opened) in opened.iter_mut().enumerate() {
            let path = self.member.paths[route];
            let begins_s = self.member.start_s + self.scenario.paths[path].start.as_secs_f64();
            if !*opened && at_s >= begins_s {
                meter.open(self.interface(route), Nanos::from_secs_f64(begins_s));
                meter.wake(self.interface(route), Nanos::from_secs_f64(begins_s));
                *opened = true;
            }
        }
    }

    fn paces(&self, pair: &[Sample]) -> Vec<Pace> {
        let seconds = pair[1].time_s - pair[0].time_s;
        let pace = |r: usize| {
            let carried = pair[1].carried[r].since(&pair[0].carried[r]);
            let rtt_s = pair[1].flows[r].rtt_s;
            Pace {
                sent_pps: carried.sent / seconds,
                delivered_pps: carried.delivered / seconds,
                rtt_s,
                train_s: self.train_s(r - self.first, rtt_s, pair),
                is_open: pair[1].flows[r].rate_pps > 0.0,
            }
        };
        (self.first..self.first + self.member.paths.len())
            .map(pace)
            .collect()
    }

    /// [`Pace::train_s`] of a route: all traffic on its busiest link passes in one part of a round
    /// trip, longer by [`SPREAD`].
    fn train_s(&self, route: usize, rtt_s: f64, pair: &[Sample]) -> Option<f64> {
        let path = &self.scenario.paths[self.member.paths[route]];
        let InterfaceModel::Rrc(rrc) = &path.energy.model else {
            return None;
        };
        let over = match self.group.direction {
            Direction::Download => &path.down,
            Direction::Upload => &path.up,
        };
        let now = Nanos::from_secs_f64(pair[1].time_s);
        let seconds = pair[1].time_s - pair[0].time_s;
        let busy = |(i, link): (usize, &LinkIndex)| {
            let packets = pair[1].served[i] - pair[0].served[i];
            match self.scenario.links[*link].rate {
                _ if !over.contains(link) => 0.0,
                RateSpec::Trace(_) => 1.0,
                _ => self.air_s(*link, now, packets * self.segment()) / seconds,
            }
        };
        let busiest = self.links.iter().enumerate().map(busy).fold(0.0, f64::max);
        let stays_s = rrc.inactivity.as_secs_f64();
        let train_s = rtt_s * (busiest + SPREAD);
        (rtt_s - train_s > stays_s).then_some(train_s)
    }

    /// A packet on the wire, bytes.
    fn segment(&self) -> f64 {
        (self.scenario.transport.mss.0 + self.scenario.transport.header.0) as f64
    }

    /// Adds the data and ACKs of the tick that ends at `at_s`.
    fn pass(
        &self,
        bursts: &mut Vec<Burst>,
        pending: &mut Pending,
        route: usize,
        flow: &Pace,
        [at_s, tick_s]: [f64; 2],
    ) {
        let transport = &self.scenario.transport;
        let segment = self.segment();
        let acks = if transport.delayed_ack.is_some() {
            0.5
        } else {
            1.0
        };
        let ack_bytes = flow.delivered_pps * acks * transport.ack_size.0 as f64 * tick_s;
        let least_ack = transport.ack_size.0 as f64;
        let (least_down, least_up) = match self.group.direction {
            // If the device receives, lost packets did not pass its interface.
            Direction::Download => {
                pending.down += flow.delivered_pps * segment * tick_s;
                pending.up += ack_bytes;
                (segment, least_ack)
            }
            Direction::Upload => {
                pending.up += flow.sent_pps * segment * tick_s;
                pending.down += ack_bytes;
                (least_ack, segment)
            }
        };
        let mut now_s = at_s;
        if flow.train_s.is_some() {
            // The trains since the last one before this tick, at their own times.
            let next_s = (pending.train_s + flow.rtt_s).max(at_s - tick_s);
            if next_s > at_s {
                return;
            }
            now_s = next_s;
        }
        pending.train_s = now_s;
        let (interface, now) = (self.interface(route), Nanos::from_secs_f64(now_s));
        let links = self.scenario.paths[self.member.paths[route]].radio;
        let is_data = |traffic| match self.group.direction {
            Direction::Download => traffic == Traffic::Down,
            Direction::Upload => traffic == Traffic::Up,
        };
        let mut burst = |bytes: &mut f64, least: f64, traffic| {
            if *bytes >= least {
                // A tick of 0.1 s holds less than 4 GB up to 300 Gbit/s.
                let whole = bytes.floor().min(f64::from(u32::MAX));
                let link = if traffic == Traffic::Down {
                    links.0
                } else {
                    links.1
                };
                let air_s = self.air_s(link, now, whole);
                let train_s = flow.train_s.filter(|_| is_data(traffic));
                let air_s = air_s.max(train_s.unwrap_or(0.0));
                bursts.push(Burst {
                    interface,
                    now,
                    bytes: whole as u32,
                    traffic,
                    air: Nanos::from_secs_f64(air_s),
                });
                *bytes -= whole;
            }
        };
        burst(&mut pending.down, least_down, Traffic::Down);
        burst(&mut pending.up, least_up, Traffic::Up);
    }

    /// Time that `bytes` take on a link at the rate of `now`, s.
    fn air_s(&self, link: LinkIndex, now: Nanos, bytes: f64) -> f64 {
        let bps = match self.scenario.links.get(link).map(|link| &link.rate) {
            Some(RateSpec::Constant(rate)) => rate.bps() as f64,
            Some(RateSpec::Steps(steps)) => {
                let next = steps.partition_point(|(at, _)| *at <= now);
                next.checked_sub(1)
                    .map_or(0.0, |at| steps[at].1.bps() as f64)
            }
            Some(RateSpec::LogNormal { mean, .. }) => mean.bps() as f64,
            Some(RateSpec::Unlimited | RateSpec::Trace(_)) | None => 0.0,
        };
        if bps > 0.0 { bytes * 8.0 / bps } else { 0.0 }
    }

    fn sample_host(&self, meter: &mut DeviceMeter, flows: &[Pace], at_s: f64) {
        if self.scenario.device.host.is_none() {
            return;
        }
        let packet_bits = self.scenario.transport.mss.0 as f64 * 8.0;
        let rate_bps: f64 = flows
            .iter()
            .map(|flow| flow.delivered_pps * packet_bits)
            .sum();
        let open = || flows.iter().filter(|flow| flow.is_open);
        let count = open().count() as u32;
        let rtt_s = open().map(|flow| flow.rtt_s).sum::<f64>() / f64::from(count.max(1));
        let rate = BitRate::from_bps(rate_bps as u64);
        meter.host_sample(
            Nanos::from_secs_f64(at_s),
            rate,
            Nanos::from_secs_f64(rtt_s),
            count,
        );
    }
}
