//! Time series of queues and power, thinned out as in the simulator.

use joulepath_model::energy::meter::EnergyReading;
use joulepath_model::result::EnergySplit;
use joulepath_model::samples::Samples;
use joulepath_model::scenario::{Direction, LinkIndex, Scenario};

use super::messages::{End, Series};
use super::network::{Network, Route};

/// The initial sample interval is the duration divided by this, but at least 10 ms.
const FINEST: u64 = 1 << 13;
const LEAST_INTERVAL_NS: u64 = 10_000_000;

/// Totals at one time.
struct Sample {
    time_ns: u64,
    energy_j: Vec<f64>,
    queue: Vec<u32>,
}

pub(super) struct Recorder {
    due_ns: u64,
    samples: Samples<Sample>,
    /// The slowest link of each tunnel, in the data's direction.
    bottlenecks: Vec<LinkIndex>,
}

impl Recorder {
    pub(super) fn new(scenario: &Scenario, routes: &[Route]) -> Self {
        let group = scenario.connections.first();
        let direction =
            usize::from(group.is_some_and(|group| group.direction == Direction::Upload));
        let slowest = |route: &Route| {
            let rate = |&link: &LinkIndex| scenario.links[link].rate.mean_bps(scenario.duration);
            let links = route.links[direction].iter().copied();
            links
                .min_by(|a, b| rate(a).total_cmp(&rate(b)))
                .unwrap_or(0)
        };
        let interval_ns = (scenario.duration.0 / FINEST).max(LEAST_INTERVAL_NS);
        Recorder {
            due_ns: interval_ns,
            samples: Samples::every(interval_ns),
            bottlenecks: routes.iter().map(slowest).collect(),
        }
    }

    /// Time of the next sample, ns.
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    pub(super) fn sample(&mut self, network: &mut Network, now_ns: u64) {
        let EnergyReading { interfaces, .. } = network.device.energy(now_ns, End::Running);
        self.samples.push(Sample {
            time_ns: now_ns,
            energy_j: interfaces.iter().map(EnergySplit::total_j).collect(),
            queue: self
                .bottlenecks
                .iter()
                .map(|&link| network.queue_packets(link, now_ns))
                .collect(),
        });
        self.due_ns = now_ns + self.samples.interval_ns();
    }

    /// Drops the samples of the warm-up: energy restarts at 0, so they do not continue.
    pub(super) fn begin_measurement(&mut self) {
        self.samples.clear();
    }

    pub(super) fn series(&self) -> Series {
        let samples = self.samples.kept();
        let interfaces = samples.first().map_or(0, |sample| sample.energy_j.len());
        let power = |i: usize| {
            let pair = |pair: &[Sample]| {
                let joules = pair[1].energy_j[i] - pair[0].energy_j[i];
                joules / ((pair[1].time_ns - pair[0].time_ns) as f64 / 1e9)
            };
            samples.windows(2).map(pair).collect()
        };
        let later = || samples.iter().skip(1);
        Series {
            time_s: later().map(|sample| sample.time_ns as f64 / 1e9).collect(),
            power_w: (0..interfaces).map(power).collect(),
            queue: (0..self.bottlenecks.len())
                .map(|tunnel| {
                    later()
                        .map(|sample| f64::from(sample.queue[tunnel]))
                        .collect()
                })
                .collect(),
        }
    }
}
