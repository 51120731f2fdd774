//! Samples of a run over time.

use joulepath_control::path::slowest_link;
use joulepath_model::result::Series;
use joulepath_model::samples::Samples;
use joulepath_model::scenario::{ConnectionGroup, Direction, Scenario, Workload};

/// The first sampling interval is the duration divided by this, but at least 1 ms.
const FINEST: u64 = 1 << 16;

/// Time series of a run.
pub(crate) struct Recorder {
    pub(crate) enabled: bool,
    pub(crate) samples: Samples<Sample>,
    /// Samples at instants that are no multiple of this will be thinned out, ns.
    lasting_ns: u64,
    /// The slowest link of each path in the data's direction.
    pub(crate) bottlenecks: Vec<usize>,
}

/// Totals at an instant.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) time_ns: u64,
    pub(crate) paths: Vec<PathSample>,
    /// Segments of all connections that wait for an earlier one.
    pub(crate) held: u32,
}

/// Totals of one path.
#[derive(Clone, Copy, Default)]
pub(crate) struct PathSample {
    pub(crate) bytes: u64,
    pub(crate) energy_j: f64,
    pub(crate) cwnd: u32,
    pub(crate) srtt_us: u32,
    pub(crate) queue: u32,
}

impl Recorder {
    pub(crate) fn new(scenario: &Scenario, enabled: bool) -> Self {
        let downloads = scenario
            .connections
            .first()
            .is_none_or(|group| group.direction == Direction::Download);
        let slowest = |links: &[usize]| slowest_link(scenario, links.iter().copied()).unwrap_or(0);
        let samples = Samples::every((scenario.duration.0 / FINEST).max(1_000_000));
        // Other workloads may end early, and then keep more samples than at the end of the
        // duration.
        let lasts = |group: &ConnectionGroup| group.workload == Workload::Bulk;
        let known = enabled && scenario.connections.iter().all(lasts);
        Recorder {
            enabled,
            lasting_ns: if known {
                samples.last_interval_ns(scenario.duration.0)
            } else {
                1
            },
            samples,
            bottlenecks: scenario
                .paths
                .iter()
                .map(|path| slowest(if downloads { &path.down } else { &path.up }))
                .collect(),
        }
    }

    /// A recorder without samples.
    pub(crate) fn idle() -> Self {
        Recorder {
            enabled: false,
            samples: Samples::every(1),
            lasting_ns: 1,
            bottlenecks: vec![],
        }
    }

    /// Whether a sample of this instant survives thinning. If not, its content is irrelevant.
    pub(crate) fn lasts(&self, time_ns: u64) -> bool {
        time_ns.is_multiple_of(self.lasting_ns)
    }

    /// A sample with zeros for every path.
    pub(crate) fn blank(&mut self, time_ns: u64) -> Sample {
        let mut sample = self.samples.recycle().unwrap_or_default();
        sample.paths.clear();
        sample
            .paths
            .resize(self.bottlenecks.len(), PathSample::default());
        Sample {
            time_ns,
            held: 0,
            ..sample
        }
    }

    pub(crate) fn first_ns(&self) -> Option<u64> {
        self.enabled.then_some(self.samples.interval_ns())
    }

    pub(crate) fn series(&self, paths: usize) -> Series {
        let samples = self.samples.kept();
        debug_assert!(
            samples.iter().all(|sample| self.lasts(sample.time_ns)),
            "a sample is blank"
        );
        let mut series = Series {
            time_s: samples
                .iter()
                .map(|sample| sample.time_ns as f64 / 1e9)
                .collect(),
            receive_buffer: samples
                .iter()
                .map(|sample| f64::from(sample.held))
                .collect(),
            ..Series::default()
        };
        let plain = |value: fn(&PathSample) -> f64, p: usize| {
            samples
                .iter()
                .map(|sample| value(&sample.paths[p]))
                .collect()
        };
        let rate = |value: fn(&PathSample) -> f64, p: usize| {
            let mut last = (0.0, 0);
            let per_second = |sample: &Sample| {
                let now = (value(&sample.paths[p]), sample.time_ns);
                let (before, since_ns) = std::mem::replace(&mut last, now);
                (now.0 - before) / ((now.1 - since_ns) as f64 / 1e9)
            };
            samples.iter().map(per_second).collect()
        };
        for p in 0..paths {
            series
                .goodput_bps
                .push(rate(|path| path.bytes as f64 * 8.0, p));
            series.power_w.push(rate(|path| path.energy_j, p));
            series.cwnd.push(plain(|path| f64::from(path.cwnd), p));
            series
                .rtt_s
                .push(plain(|path| f64::from(path.srtt_us) / 1e6, p));
            series.queue.push(plain(|path| f64::from(path.queue), p));
        }
        series
    }
}
