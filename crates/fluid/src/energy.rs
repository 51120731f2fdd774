//! Energy of a run: the meter of the packet engine with the mean rates of the fluid.
//!
//! In every tick the meter gets the tick's bytes as one burst per interface and direction, of at
//! least one packet. So a radio is active, idle or in its tail as with packets. Below one packet
//! per tick the meter gets each packet separately. Ticks are shorter than any gap that the models
//! distinguish from continuous traffic.

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

/// One device of a group, and the traffic for its meter.
pub(crate) struct Metering<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) group: &'a ConnectionGroup,
    pub(crate) member: &'a Member<'a>,
    /// Position of the user's first route in a sample.
    pub(crate) first: usize,
    /// Completion time of its file, s.
    pub(crate) completed_s: Option<f64>,
}

/// One route between two samples.
struct Pace {
    sent_pps: f64,
    delivered_pps: f64,
    rtt_s: f64,
    /// True if it is in use.
    is_open: bool,
}

/// Bytes accumulated on one interface, by direction.
#[derive(Clone, Copy, Default)]
struct Pending {
    down: f64,
    up: f64,
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
                for (i, flow) in flows.iter().enumerate() {
                    self.pass(&mut meter, &mut pending[i], i, flow, at_s, seconds / ticks);
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
            Pace {
                sent_pps: carried.sent / seconds,
                delivered_pps: carried.delivered / seconds,
                rtt_s: pair[1].flows[r].rtt_s,
                is_open: pair[1].flows[r].rate_pps > 0.0,
            }
        };
        (self.first..self.first + self.member.paths.len())
            .map(pace)
            .collect()
    }

    /// Meters the data and ACKs of one tick.
    fn pass(
        &self,
        meter: &mut DeviceMeter,
        pending: &mut Pending,
        route: usize,
        flow: &Pace,
        at_s: f64,
        tick_s: f64,
    ) {
        let transport = &self.scenario.transport;
        let segment = (transport.mss.0 + transport.header.0) as f64;
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
        let (interface, now) = (self.interface(route), Nanos::from_secs_f64(at_s));
        let links = self.scenario.paths[self.member.paths[route]].radio;
        let mut burst = |bytes: &mut f64, least: f64, traffic| {
            if *bytes >= least {
                // A tick of 0.1 s holds less than 4 GB up to 300 Gbit/s.
                let whole = bytes.floor().min(f64::from(u32::MAX));
                let link = if traffic == Traffic::Down {
                    links.0
                } else {
                    links.1
                };
                meter.on_packet(
                    interface,
                    now,
                    whole as u32,
                    traffic,
                    self.air(link, now, whole),
                );
                *bytes -= whole;
            }
        };
        burst(&mut pending.down, least_down, Traffic::Down);
        burst(&mut pending.up, least_up, Traffic::Up);
    }

    /// Time that `bytes` take on a link at the rate of `now`.
    fn air(&self, link: LinkIndex, now: Nanos, bytes: f64) -> Nanos {
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
        Nanos::from_secs_f64(if bps > 0.0 { bytes * 8.0 / bps } else { 0.0 })
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
