//! A scenario with a running clock: links, meter, samples. This module reads no clock and does no
//! I/O: time is an argument.

use joulepath_model::units::{BitRate, Nanos};

use super::lateness::Lateness;
use super::messages::{Anomalies, End, Reading};
use super::network::Network;
use super::recorder::Recorder;

/// Period of the host's energy model, the same as in the simulator's control plane.
const HOST_TICK_NS: u64 = 100_000_000;

/// A running scenario. Times are ns since its time 0.
pub(super) struct Timeline {
    /// Start of the measurement.
    measured_from_ns: u64,
    pub(super) network: Network,
    recorder: Option<Recorder>,
    host: HostSampler,
}

/// Rate and RTT since the last tick, for the host's energy model.
#[derive(Default)]
struct HostSampler {
    due_ns: u64,
    payload: u64,
    packets: [u64; 2],
    transit_ns: [u64; 2],
}

impl Timeline {
    /// A scenario at time 0.
    pub(super) fn new(network: Network, recorder: Option<Recorder>) -> Self {
        let host = HostSampler {
            due_ns: HOST_TICK_NS,
            ..HostSampler::default()
        };
        Timeline {
            measured_from_ns: 0,
            network,
            recorder,
            host,
        }
    }

    /// Time of the next event, ns.
    pub(super) fn next_ns(&self) -> u64 {
        let recorder = self.recorder.as_ref().map_or(u64::MAX, Recorder::due_ns);
        self.network
            .next_ns()
            .unwrap_or(u64::MAX)
            .min(recorder)
            .min(self.host.due_ns)
    }

    /// Processes all events up to `now_ns` in order: links, samples, ticks of the host's model.
    pub(super) fn advance(&mut self, now_ns: u64) {
        loop {
            let recorder_ns = self.recorder.as_ref().map_or(u64::MAX, Recorder::due_ns);
            let tick_ns = recorder_ns.min(self.host.due_ns);
            self.network.advance(tick_ns.min(now_ns));
            if tick_ns > now_ns {
                return;
            }
            if let Some(recorder) = self.recorder.as_mut().filter(|_| recorder_ns == tick_ns) {
                recorder.sample(&mut self.network, tick_ns);
            } else {
                self.host.sample(&mut self.network, tick_ns);
            }
        }
    }

    pub(super) fn begin_measurement(&mut self, now_ns: u64) {
        self.measured_from_ns = now_ns;
        self.network.begin_measurement(now_ns);
        self.host = HostSampler {
            due_ns: self.host.due_ns,
            ..HostSampler::default()
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_measurement();
        }
    }

    pub(super) fn read(&mut self, now_ns: u64, end: End) -> Reading {
        let (energy, services) = self.network.read(now_ns, end);
        Reading {
            time_s: now_ns as f64 / 1e9,
            measured_s: (now_ns - self.measured_from_ns) as f64 / 1e9,
            tunnels: (0..self.network.tunnels())
                .map(|tunnel| self.network.flows(tunnel))
                .collect(),
            energy,
            lateness: Lateness::default(),
            anomalies: Anomalies::default(),
            series: self.recorder.as_ref().map(Recorder::series),
            services,
            uncaptured: None,
        }
    }
}

impl HostSampler {
    /// Passes the delivered payload and the mean RTT to the host's model.
    fn sample(&mut self, network: &mut Network, now_ns: u64) {
        let (payload, packets, transit_ns) = network.device_totals();
        let ways = [0, 1].map(|way| {
            let n = packets[way] - self.packets[way];
            (transit_ns[way] - self.transit_ns[way])
                .checked_div(n)
                .unwrap_or(0)
        });
        let rate = BitRate::from_bps((payload - self.payload) * 8 * (1_000_000_000 / HOST_TICK_NS));
        network
            .device
            .sample_host(now_ns, rate, Nanos(ways[0] + ways[1]));
        *self = HostSampler {
            due_ns: now_ns + HOST_TICK_NS,
            payload,
            packets,
            transit_ns,
        };
    }
}
