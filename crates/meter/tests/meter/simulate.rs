//! A simulated radio with known values: the energy model of `joulepath_model`, read through a meter
//! with its own period, step and noise, on a device that drifts and has other consumers.

use joulepath_meter::calibrate::{Action, Flow, Passed, Record, Rig, Sample};
use joulepath_meter::{Result, Unit};
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::energy::{DeviceEnergy, InterfaceModel, RrcModel, Traffic};
use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::Nanos;

/// Time covered by one reported portion of traffic.
const PORTION: Nanos = Nanos::from_millis(10);
/// Size of a probe and of its echo, bytes on the wire.
const PROBE: u32 = 60;

/// The true values of the device and its meter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Truth {
    /// The radio to calibrate.
    pub(crate) radio: RrcModel,
    /// A second radio.
    pub(crate) second: Option<RrcModel>,
    /// κ of the device.
    pub(crate) sharing_factor: f64,
    /// Energy of a packet in addition to its bits, J.
    pub(crate) packet_j: f64,
    /// Power of a busy processor, W.
    pub(crate) core_w: f64,
    /// Busy processors per Mbit/s of traffic.
    pub(crate) cores_per_mbps: f64,
    /// Power of the rest of the device, W.
    pub(crate) base_w: f64,
    /// True if the radio can be switched off.
    pub(crate) can_switch_off: bool,
    /// RTT of a probe, s, and its standard deviation.
    pub(crate) rtt_s: [f64; 2],
    /// The meter.
    pub(crate) meter: MeterTruth,
    /// Linear drift of the device's power, W/s.
    pub(crate) drift_w_per_s: f64,
    /// Random walk of the power: standard deviation after one second, W.
    pub(crate) walk_w: f64,
    /// Another consumer that switches on and off.
    pub(crate) consumer: Option<Consumer>,
    /// Other programs' bytes per own byte.
    pub(crate) foreign: f64,
    /// Signal at the start, dBm, and its change, dB/s.
    pub(crate) signal: Option<[f64; 2]>,
}

/// The simulated meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeterTruth {
    /// Quantity reported; power is the mean since the last update.
    pub(crate) unit: Unit,
    /// Time between two updates.
    pub(crate) period: Nanos,
    /// Standard deviation of the power, W.
    pub(crate) noise_w: f64,
    /// Smallest difference between two values, W or J; 0 for a continuous meter.
    pub(crate) step: f64,
    /// Fraction of the radio's power that it measures: 0 for a meter of something else.
    pub(crate) sees: f64,
}

/// A consumer that switches on and off at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Consumer {
    /// Power while on, W.
    pub(crate) power_w: f64,
    /// Mean time on and off, s.
    pub(crate) on_off_s: [f64; 2],
}

/// A simulated device with its meter.
pub(crate) struct Simulated {
    truth: Truth,
    stream: Stream,
    now: Nanos,
    device: DeviceMeter,
    reading: EnergyReading,
    off: bool,
    work: f64,
    /// Totals so far.
    packets: f64,
    bits: f64,
    next_sample: Nanos,
    /// Energy of the device at the last sample, J.
    last_j: f64,
    /// Energies and states of other consumers.
    idle_off_j: f64,
    consumer_j: f64,
    consumer_on: bool,
    consumer_until: Nanos,
    /// Time up to which `idle_off_j`, `consumer_j` and `cpu_s` are counted.
    counted: Nanos,
    counted_bits: f64,
    cpu_s: f64,
    walk_w: f64,
    noise_j: f64,
    record: Record,
    foreign: f64,
    /// Time of the last packet, by interface.
    last_packet: [Nanos; 2],
}

impl Simulated {
    /// The device `truth`, with random numbers from `seed`.
    pub(crate) fn new(truth: Truth, seed: u64) -> Self {
        let radios = std::iter::once(&truth.radio).chain(&truth.second);
        let radios: Vec<InterfaceModel> = radios.cloned().map(InterfaceModel::Rrc).collect();
        let energy = DeviceEnergy {
            sharing_factor: truth.sharing_factor,
            ..DeviceEnergy::ADDITIVE
        };
        let device = DeviceMeter::new(&radios, &energy, Nanos::ZERO);
        let next_sample = truth.meter.period;
        Simulated {
            stream: Stream::new(seed, Domain::Calibration, 100),
            now: Nanos::ZERO,
            device,
            reading: EnergyReading::default(),
            off: false,
            work: 0.0,
            packets: 0.0,
            bits: 0.0,
            next_sample,
            last_j: 0.0,
            idle_off_j: 0.0,
            consumer_j: 0.0,
            consumer_on: false,
            consumer_until: Nanos::ZERO,
            counted: Nanos::ZERO,
            counted_bits: 0.0,
            cpu_s: 0.0,
            walk_w: 0.0,
            noise_j: 0.0,
            record: Record::default(),
            foreign: 0.0,
            last_packet: [Nanos::ZERO; 2],
            truth,
        }
    }

    /// Advances time and samples the meter.
    fn pass(&mut self, to: Nanos) {
        while self.next_sample <= to {
            let at = self.next_sample;
            self.count(at);
            self.sample(at);
            self.next_sample = at + self.truth.meter.period;
        }
        self.count(to);
        self.now = to;
    }

    /// Counts everything except the radio up to `to`.
    fn count(&mut self, to: Nanos) {
        let seconds = to.saturating_sub(self.counted).as_secs_f64();
        if self.off {
            self.idle_off_j += self.truth.radio.idle.0 * seconds;
        }
        // Background activity of the system.
        let background = 0.02 * seconds * self.stream.exponential(1.0).min(10.0);
        let traffic = (self.bits - self.counted_bits) * 1e-6 * self.truth.cores_per_mbps;
        self.counted_bits = self.bits;
        self.cpu_s += background + traffic + self.work * seconds;
        let Some(consumer) = self.truth.consumer else {
            self.counted = to;
            return;
        };
        let mut at = self.counted;
        while at < to {
            let until = self.consumer_until.min(to);
            if self.consumer_on {
                self.consumer_j += consumer.power_w * until.saturating_sub(at).as_secs_f64();
            }
            at = until.max(at);
            if at >= self.consumer_until {
                self.consumer_on = !self.consumer_on;
                let mean = consumer.on_off_s[usize::from(!self.consumer_on)];
                let lasts = self.stream.exponential(mean).max(1e-3);
                self.consumer_until = at + Nanos::from_secs_f64(lasts);
            }
        }
        self.counted = to;
    }

    fn sample(&mut self, at: Nanos) {
        let truth = &self.truth;
        let period = truth.meter.period.as_secs_f64();
        self.device.snapshot_into(at, &mut self.reading);
        let radio_j = self.reading.total_j() - self.idle_off_j + self.packets * truth.packet_j;
        self.walk_w += truth.walk_w * period.sqrt() * self.stream.normal();
        let drift_w = truth.drift_w_per_s * at.as_secs_f64() + self.walk_w;
        let device_j = truth.meter.sees * radio_j + self.consumer_j + truth.core_w * self.cpu_s;
        self.noise_j +=
            (truth.base_w + drift_w + truth.meter.noise_w * self.stream.normal()) * period;
        let total_j = device_j + self.noise_j;
        let value = match truth.meter.unit {
            Unit::Joules => total_j,
            Unit::Watts => (total_j - self.last_j) / period,
        };
        self.last_j = total_j;
        let step = truth.meter.step;
        let value = if step > 0.0 {
            (value / step).floor() * step
        } else {
            value
        };
        self.record.samples.push(Sample {
            at,
            value,
            cpu_s: self.cpu_s,
        });
    }

    fn packets(&mut self, interface: usize, direction: Traffic, bytes: u32, packets: u32) {
        self.device
            .on_packet(interface, self.now, bytes, direction, Nanos::ZERO);
        self.last_packet[interface] = self.now;
        self.packets += f64::from(packets);
        self.bits += f64::from(bytes) * 8.0;
        self.foreign += f64::from(bytes) * self.truth.foreign;
        let at = self.now;
        self.record.passed.push(Passed {
            at,
            interface,
            direction,
            bytes,
            packets,
        });
    }

    fn flows(&mut self, flows: &[(usize, Flow)], lasts: Nanos) {
        let until = self.now + lasts;
        let mut sent = vec![(0u64, 0u64); flows.len()];
        let begin = self.now;
        while self.now + PORTION <= until {
            self.pass(self.now + PORTION);
            let seconds = (self.now - begin).as_secs_f64();
            for ((interface, flow), (bytes, packets)) in flows.iter().zip(&mut sent) {
                let due = (flow.rate.bps() as f64 * seconds / 8.0) as u64;
                let due_packets = due / u64::from(flow.packet);
                let due = due_packets * u64::from(flow.packet);
                if due > *bytes {
                    let (more, more_packets) =
                        ((due - *bytes) as u32, (due_packets - *packets) as u32);
                    (*bytes, *packets) = (due, due_packets);
                    self.packets(*interface, flow.direction, more, more_packets);
                }
            }
        }
        self.pass(until);
    }

    fn probe(&mut self, interface: usize, gap: Nanos) {
        self.pass(self.now + gap);
        let sent = self.now;
        let quiet = sent.saturating_sub(self.last_packet[interface]);
        let ready = self.device.wake(interface, sent);
        self.packets(interface, Traffic::Up, PROBE, 1);
        let [mean, deviation] = self.truth.rtt_s;
        let rtt = (mean + deviation * self.stream.normal()).max(0.5 * mean);
        self.pass(ready + Nanos::from_secs_f64(rtt));
        self.packets(interface, Traffic::Down, PROBE, 1);
        self.record.echoes.push((quiet, self.now - sent));
    }
}

impl Rig for Simulated {
    fn unit(&self) -> Unit {
        self.truth.meter.unit
    }

    fn interfaces(&self) -> usize {
        1 + usize::from(self.truth.second.is_some())
    }

    fn can_switch_off(&self) -> bool {
        self.truth.can_switch_off
    }

    /// Samples come once per update from the start.
    fn pace(&mut self, _: Nanos) {}

    fn run(&mut self, action: &Action) -> Result<Record> {
        self.record = Record {
            start: self.now,
            ..Record::default()
        };
        match action {
            Action::Idle(lasts) => self.pass(self.now + *lasts),
            Action::Off(lasts) => {
                self.off = true;
                self.pass(self.now + *lasts);
                self.off = false;
            }
            Action::Steady {
                interface,
                flow,
                lasts,
            } => self.flows(&[(*interface, *flow)], *lasts),
            Action::Together([first, second], lasts) => {
                self.flows(&[(0, *first), (1, *second)], *lasts)
            }
            Action::Probes { interface, gaps } => {
                gaps.iter().for_each(|gap| self.probe(*interface, *gap));
            }
            Action::Work { cores, lasts } => {
                self.work = *cores;
                self.pass(self.now + *lasts);
                self.work = 0.0;
            }
            Action::Bursts(bursts) => {
                for (flow, lasts, quiet) in bursts {
                    self.flows(&[(0, *flow)], *lasts);
                    self.pass(self.now + *quiet);
                }
            }
        }
        self.record.end = self.now;
        self.record.foreign_bytes = self.foreign as u64;
        self.foreign = 0.0;
        let signal = |[start, per_s]: [f64; 2]| start + per_s * self.now.as_secs_f64();
        self.record.signal_dbm = self.truth.signal.map(signal);
        Ok(std::mem::take(&mut self.record))
    }
}
