//! Outages and variation of the delay after the transmitter.

use std::sync::Arc;

use joulepath_model::network::{DelaySteps, JitterSpec, Outage};

use joulepath_model::random::{Normals, Stream};
use joulepath_model::units::Nanos;

/// Periods in which every packet is lost.
#[derive(Clone, Debug)]
pub(crate) struct Outages {
    /// Ascending and disjoint, ns.
    periods: Vec<(u64, u64)>,
    /// Index of the first period that is not over.
    next: usize,
}

impl Outages {
    pub(crate) fn new(outages: &[Outage]) -> Self {
        let mut sorted: Vec<_> = outages
            .iter()
            .map(|outage| (outage.from.0, outage.until.0))
            .collect();
        sorted.sort_unstable();
        let mut periods: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
        for (from, until) in sorted {
            match periods.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => periods.push((from, until)),
            }
        }
        Outages { periods, next: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.periods.is_empty()
    }

    /// True if a transmission in [start, finish), or at `start` if it takes no time, overlaps an
    /// outage. `start` must not decrease.
    pub(crate) fn meet(&mut self, start: u64, finish: u64) -> bool {
        while self
            .periods
            .get(self.next)
            .is_some_and(|&(_, until)| until <= start)
        {
            self.next += 1;
        }
        self.periods
            .get(self.next)
            .is_some_and(|&(from, _)| from <= start || from < finish)
    }
}

/// The delay as steps.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    steps: Arc<DelaySteps>,
    /// Arrival of the previous packet, which none overtakes.
    last_arrival: u64,
}

impl Delays {
    pub(crate) fn new(steps: Arc<DelaySteps>) -> Self {
        Delays {
            steps,
            last_arrival: 0,
        }
    }

    /// The delay at a departure, ns.
    pub(crate) fn at(&self, departure: u64) -> u64 {
        self.steps.at(Nanos(departure)).0
    }

    /// Arrival of a packet that departs now: not before the previous packet.
    pub(crate) fn arrival(&mut self, departure: u64) -> u64 {
        self.last_arrival = self.last_arrival.max(departure + self.at(departure));
        self.last_arrival
    }
}

/// The delay as a Gaussian process with exponential autocorrelation (Ornstein–Uhlenbeck), sampled
/// at departures.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    deviation_ns: f64,
    correlation_ns: f64,
    /// The process at `sampled_at`, as a standard normal variable.
    x: f64,
    sampled_at: u64,
    /// Arrival of the previous packet.
    last_arrival: u64,
    normals: Normals,
}

impl Jitter {
    pub(crate) fn new(spec: JitterSpec, stream: Stream) -> Self {
        let mut normals = Normals::new(stream);
        Jitter {
            deviation_ns: spec.deviation.0 as f64,
            correlation_ns: spec.correlation.0 as f64,
            x: normals.draw(),
            sampled_at: 0,
            last_arrival: 0,
            normals,
        }
    }

    /// Arrival of a packet that departs now: not before its departure, and not before the previous
    /// packet.
    pub(crate) fn arrival(&mut self, departure: u64, delay_ns: u64) -> u64 {
        self.sample(departure);
        let total_ns = delay_ns as f64 + self.deviation_ns * self.x;
        // The conversion turns a negative total into 0.
        let arrival = departure + (total_ns + 0.5) as u64;
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_arrival
    }

    /// x(t + Δ) = ρ·x(t) + √(1 − ρ²)·n, ρ = exp(−Δ/correlation): exact for any Δ.
    fn sample(&mut self, at: u64) {
        let elapsed_ns = (at - self.sampled_at) as f64;
        let independent = self.correlation_ns == 0.0;
        let rho = if independent {
            0.0
        } else {
            libm::exp(-elapsed_ns / self.correlation_ns)
        };
        self.x = rho * self.x + libm::sqrt(1.0 - rho * rho) * self.normals.draw();
        self.sampled_at = at;
    }
}
