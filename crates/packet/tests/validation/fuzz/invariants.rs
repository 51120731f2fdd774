//! Invariants of every run, and the bounds that a scenario implies.

use joulepath_control::Setup;
use joulepath_model::result::RunResult;
use joulepath_model::scenario::load;
use joulepath_packet::{RunOptions, run};

use super::draw::{Drawn, Others, PACKET_BITS, Path, Workload};

const SEGMENT_BYTES: f64 = 1460.0;
/// More than the initial RTO plus the delay of a lone ACK, s.
const PATIENCE_S: f64 = 2.0;
/// `rto_max`, s.
const LONGEST_RTO_S: f64 = 120.0;

/// Departures of a SYN that is never answered, s (`tcp_syn_retries`, RFC 6298, rule 5.5).
const SYNS_S: [f64; 7] = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0];
/// Probability of events that the number of seeds excludes.
const IMPOSSIBLE: f64 = 1e-8;

/// Checks one scenario.
pub(super) struct Judge {
    seed: u64,
    pub(super) drawn: Drawn,
    bound_s: f64,
    pub(super) findings: Vec<String>,
}

/// Lower bound of the rate under random losses, bit/s.
fn loss_limited_bps(path: &Path) -> f64 {
    if path.loss == 0.0 {
        return f64::INFINITY;
    }
    // Mathis et al. with a far smaller constant: timeouts, burst losses, coupled growth.
    let rtt_s = base_rtt_s(path) + 4.0 * PACKET_BITS / path.least_rate();
    0.2 * SEGMENT_BYTES * 8.0 / (rtt_s + 0.05) / path.loss.sqrt()
}

/// RTT with empty queues, s.
fn base_rtt_s(path: &Path) -> f64 {
    2.0 * path.delay_s + 2.0 * PACKET_BITS / path.least_rate() + 2.0 * 320.0 / path.up_rate
}

impl Judge {
    pub(super) fn of(seed: u64, drawn: Drawn) -> Judge {
        let mut judge = Judge {
            seed,
            drawn,
            bound_s: 0.0,
            findings: vec![],
        };
        judge.bound_s = judge.bound();
        judge
    }

    fn duration_s(&self) -> f64 {
        match self.drawn.workload {
            Workload::File => (1.2 * self.bound_s + 10.0).min(60_000.0),
            Workload::Requests => 20.0_f64.max(1.1 * self.bound_s).min(600.0),
            Workload::Bulk => 12.0,
        }
        .ceil()
    }

    pub(super) fn toml(&self) -> String {
        self.drawn.toml(self.duration_s())
    }

    /// Most segments of a path in its queues and in flight.
    fn held(&self, path: &Path) -> f64 {
        let fastest = path.rates[0].1;
        let flight = f64::from(path.queue) + fastest * 2.0 * path.delay_s / PACKET_BITS + 12.0;
        let file = (self.drawn.bytes as f64 / SEGMENT_BYTES).ceil();
        let most = if self.drawn.workload == Workload::File {
            file
        } else {
            f64::INFINITY
        };
        if path.others != Others::None {
            return flight;
        }
        flight.min(f64::from(self.drawn.window)).min(most)
    }

    /// Time that a path takes to deliver its queues, including ACKs, s.
    fn drain_s(&self, path: &Path) -> f64 {
        let held = self.held(path);
        held * PACKET_BITS / path.least_rate() + held * 320.0 / path.up_rate
    }

    /// When `path` alone would have delivered `bytes` from `start_s` on, s, if each silence lasted
    /// twice as long, because the RTO doubles.
    fn alone_s(&self, path: &Path, bytes: f64, start_s: f64) -> f64 {
        // A full window waits for its part on the slowest path.
        let rtt = |path: &Path| base_rtt_s(path) + self.drain_s(path);
        let rtt_s = self.drawn.paths.iter().map(rtt).fold(0.0, f64::max);
        let window_bps = f64::from(self.drawn.window) * SEGMENT_BYTES * 8.0 / rtt_s;
        let most_bps = loss_limited_bps(path)
            .min(window_bps)
            .min(30.0 * path.up_rate);
        let silences = self.silences(path);
        let silent = |at: f64| silences.iter().any(|&(from, to)| (from..to).contains(&at));
        let mut left = bytes * 8.0 * 1500.0 / SEGMENT_BYTES;
        // Growth by a packet per RTT from a small window.
        let segments = self.drawn.bytes as f64 / SEGMENT_BYTES;
        let mut at = start_s + 16.0 * (base_rtt_s(path) + 0.1) * (2.0 * segments).sqrt();
        let mut step = 0.01;
        while left > 0.0 && at < 100_000.0 {
            let rate = path
                .rates
                .iter()
                .rev()
                .find(|&&(from, _)| from <= at)
                .map_or(0.0, |&(_, bps)| bps);
            if !silent(at) {
                left -= (rate - path.crossing_bps()).clamp(0.0, most_bps) * step;
            }
            at += step;
            step = (at * 0.005).clamp(0.01, 5.0);
        }
        at
    }

    fn silences(&self, path: &Path) -> Vec<(f64, f64)> {
        let pauses = path
            .rates
            .windows(2)
            .filter(|pair| pair[0].1 == 0.0)
            .map(|pair| (pair[0].0, pair[1].0));
        let rto_s = PATIENCE_S + 3.0 * (base_rtt_s(path) + self.drain_s(path));
        // A selector may have closed the subflow, and SYNs also back off: the last one waits for 64
        // s.
        let rto_s = if self.drawn.selects {
            rto_s + 130.0
        } else {
            rto_s
        };
        let doubled = |(from, to): (f64, f64)| (from, to + (to - from).min(LONGEST_RTO_S) + rto_s);
        pauses
            .chain(path.outages.iter().copied())
            .map(doubled)
            .collect()
    }

    /// The time by which a file, or a response, is complete, s. It assumes all delays first and a
    /// quarter of the path's rate: both may push the file into the next outage.
    fn bound(&self) -> f64 {
        let paths = &self.drawn.paths;
        // Data on any path must be delivered or given up: it may have been sent there last.
        let stall = |path: &Path| PATIENCE_S + 4.0 * (base_rtt_s(path) + 2.0 * self.drain_s(path));
        let stalls_s: f64 = paths.iter().map(stall).sum();
        // Lost SYNs are repeated after 1, 2, 4, … s: the sixth one leaves after 31 s.
        let lossy = paths.iter().any(|path| path.loss > 0.0);
        let opening_s = if lossy { 63.0 } else { 10.0 };
        let bytes = |path: &Path| match path.others {
            Others::Competitor(bytes) => self.drawn.bytes + bytes,
            _ => self.drawn.bytes,
        };
        let alone =
            |path: &Path| self.alone_s(path, 4.0 * bytes(path) as f64, stalls_s + opening_s);
        // A backup is used only while no other subflow is usable.
        let best = paths
            .iter()
            .filter(|path| !path.is_backup)
            .map(alone)
            .fold(f64::INFINITY, f64::min);
        let worst = paths.iter().map(alone).fold(0.0, f64::max);
        // A selector may prefer any path.
        if self.drawn.selects { worst } else { best }
    }

    /// Whether the first path may answer no SYN. Then the connection never opens, as in Linux,
    /// where `connect` fails: other paths can only join an open connection.
    fn may_stay_closed(&self) -> bool {
        let first = &self.drawn.paths[0];
        let is_out = |at: f64| {
            first
                .outages
                .iter()
                .any(|&(from, to)| (from..to).contains(&at))
        };
        let by_chance = SYNS_S.iter().filter(|&&at| !is_out(at)).count();
        first.syn_loss.powi(by_chance as i32) > IMPOSSIBLE
    }

    fn find(&mut self, what: String) {
        self.findings.push(what);
    }

    /// Runs the scenario; `None` if the policy is refused. Returns the fraction of the bound that
    /// it took.
    pub(super) fn run(&mut self) -> Option<f64> {
        let result = self.simulate(&self.drawn, self.duration_s())?;
        self.check_amounts(&result);
        self.check_energy(&result);
        self.check_repeats(&result);
        let part = self.check_time(&result);
        if self.seed.is_multiple_of(16) {
            let again = self.simulate(&self.drawn, self.duration_s())?;
            let text =
                |result: &RunResult| serde_json::to_string(result).expect("a result is JSON");
            if text(&result) != text(&again) {
                self.find("two runs differ".into());
            }
        }
        self.check_twice_as_fast(&result);
        Some(part)
    }

    fn simulate(&self, drawn: &Drawn, duration_s: f64) -> Option<RunResult> {
        let text = format!("title = \"seed {}\"\n{}", self.seed, drawn.toml(duration_s));
        let scenario = load(&text, &|_| Err("no traces".into()));
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let policy = drawn.policy.parse().expect("a policy");
        let setup = Setup::of(&policy, &scenario).ok()?;
        let options = RunOptions {
            links: true,
            ..RunOptions::default()
        };
        Some(run(&scenario, &setup, self.seed, options).expect("the scenario runs"))
    }

    /// No bytes appear or disappear.
    fn check_amounts(&mut self, result: &RunResult) {
        let bytes = result.goodput_bps * result.measured_s / 8.0;
        let file = self.drawn.bytes as f64;
        if self.drawn.workload == Workload::File
            && result.completion_s.is_some()
            && (bytes - file).abs() > 0.5
        {
            self.find(format!("{bytes} B of a file of {file}"));
        }
        let by_path: f64 = result
            .paths
            .iter()
            .map(|path| path.goodput_bps * result.measured_s / 8.0)
            .sum();
        // Segments that wait out of order have arrived on their path.
        let waits = f64::from(self.drawn.window) * SEGMENT_BYTES;
        if !(bytes - 0.5..=bytes + waits + 0.5).contains(&by_path) {
            self.find(format!(
                "{by_path} B on the paths, {bytes} B at the application"
            ));
        }
        for (path, measured) in self.drawn.paths.iter().zip(&result.paths) {
            let carried = measured.goodput_bps * result.measured_s * 1500.0 / SEGMENT_BYTES;
            let capacity = capacity_bits(path, result.measured_s) * 1.001 + PACKET_BITS;
            if carried > capacity {
                let text = format!("{} carried {carried} bit of {capacity}", measured.name);
                self.findings.push(text);
            }
            // Jitter may take all of the delay.
            let least_s = if path.has_jitter {
                0.0
            } else {
                2.0 * path.delay_s
            };
            if measured
                .mean_rtt_s
                .is_some_and(|rtt_s| rtt_s < 0.9999 * least_s)
            {
                self.findings.push(format!(
                    "{}: RTT {:?} s",
                    measured.name, measured.mean_rtt_s
                ));
            }
        }
        let (segments, repeats) = self.sums(result);
        let arrived = (by_path / SEGMENT_BYTES).floor();
        let copies = self.copies();
        if !copies && (segments - repeats) * SEGMENT_BYTES + 0.5 < by_path {
            self.find(format!(
                "{segments} segments less {repeats} repeats delivered {arrived}"
            ));
        }
        let whole = (file / SEGMENT_BYTES).ceil();
        let complete = self.drawn.workload == Workload::File && result.completion_s.is_some();
        if complete && !copies && segments - repeats != whole {
            self.find(format!(
                "{segments} segments less {repeats} repeats are not {whole}"
            ));
        }
    }

    /// Whether the scheduler sends copies that do not count as repeats. A segment that Linux'
    /// scheduler takes back from a subflow was never sent there, but counts as a repeat on another.
    fn copies(&self) -> bool {
        ["redundant", "mainline", "linux"]
            .iter()
            .any(|name| self.drawn.policy.contains(name))
    }

    /// Segments sent, and the repeats among them.
    fn sums(&self, result: &RunResult) -> (f64, f64) {
        let segments: u64 = result.paths.iter().map(|path| path.segments).sum();
        (
            segments as f64,
            (result.retransmission_ratio * segments as f64).round(),
        )
    }

    /// At least the cost of the delivered bytes on the cheapest path, and the power that always
    /// burns.
    fn check_energy(&mut self, result: &RunResult) {
        let bits = result.goodput_bps * result.measured_s;
        let least_j = bits * 0.05e-6;
        let n = self.drawn.paths.len() as f64;
        // Answers to SYNs also cost energy.
        let most_bits = self.sums(result).0 * PACKET_BITS + n * SYNS_S.len() as f64 * 320.0;
        let most_j = most_bits * (0.05 + 0.01 * n) * 1e-6 * 1.2 + 1e-6;
        let transfer_j = result.energy_split.transfer_j;
        let uploads = self.drawn.toml(1.0).contains("upload");
        // These radios count received bits.
        if !uploads && !(least_j * 0.999..=most_j).contains(&transfer_j) {
            self.find(format!(
                "{transfer_j} J for transfers, expected {least_j} to {most_j}"
            ));
        }
        let base_j = (self.drawn.paths.len() / 2) as f64 * result.measured_s;
        if (result.energy_split.sunk_j - base_j).abs() > 1e-6 * base_j + 1e-6 {
            self.find(format!(
                "{} J of constant power, expected {base_j}",
                result.energy_split.sunk_j
            ));
        }
    }

    /// Without packet loss, little is sent again. Excluded: RFC 6675 and RFC 6582, which undo
    /// nothing; several paths that may time out, because each timeout reinjects a path's data on
    /// the others; several paths with a window that limits, because schedulers then send copies.
    fn check_repeats(&mut self, result: &RunResult) {
        let lost = result.counters.queue_drops + result.counters.wire_losses;
        let paths = &self.drawn.paths;
        if lost > 0
            || self.drawn.recovery != "rack"
            || paths.iter().any(|path| path.is_rough)
            || self.drawn.workload != Workload::File
        {
            return;
        }
        let is_steady =
            |path: &Path| path.rates.len() == 1 && path.outages.is_empty() && !path.has_jitter;
        let binds = f64::from(self.drawn.window) * SEGMENT_BYTES < self.drawn.bytes as f64;
        if paths.len() > 1 && (self.copies() || binds || !paths.iter().all(is_steady)) {
            return;
        }
        // A probe and the copies of a back-off: 10 timeouts back off to 120 s.
        let phases: u64 = paths.iter().map(|path| path.rates.len() as u64).sum();
        let copies = self.sums(result).1 as u64;
        if copies > 12 + 12 * phases {
            self.find(format!(
                "{copies} copies without packet loss in {phases} phases"
            ));
        }
    }

    fn check_time(&mut self, result: &RunResult) -> f64 {
        if self.sums(result).0 == 0.0 && self.may_stay_closed() {
            return 0.0;
        }
        match self.drawn.workload {
            Workload::File => {
                let took_s = result.completion_s.unwrap_or(f64::INFINITY);
                if took_s > self.bound_s {
                    self.find(format!("took {took_s} s, bound {} s", self.bound_s));
                }
                took_s / self.bound_s
            }
            Workload::Requests => {
                let answers = result.delay.map_or(0, |delay| delay.count);
                if answers == 0 && self.duration_s() > self.bound_s {
                    self.find(format!("no response within {} s", self.duration_s()));
                }
                result.delay.map_or(0.0, |delay| delay.p50_s / self.bound_s)
            }
            Workload::Bulk => 0.0,
        }
    }

    /// On undisturbed paths the doubled rate is not much slower.
    fn check_twice_as_fast(&mut self, result: &RunResult) {
        let calm = |path: &Path| {
            path.rates.len() == 1 && path.outages.is_empty() && path.loss == 0.0 && !path.is_rough
        };
        let (Some(slow_s), true) = (result.completion_s, self.drawn.paths.iter().all(calm)) else {
            return;
        };
        let fast = Drawn::twice_as_fast(self.seed);
        let fast_s = self
            .simulate(&fast, self.duration_s())
            .and_then(|result| result.completion_s);
        let rtts_s: f64 = self.drawn.paths.iter().map(base_rtt_s).sum();
        let slack_s = PATIENCE_S + 20.0 * rtts_s;
        if fast_s.is_none_or(|fast_s| fast_s > 1.25 * slow_s + slack_s) {
            self.find(format!(
                "{fast_s:?} s at twice the rate, {slow_s} s at the original rate"
            ));
        }
    }
}

/// What a path can carry until an instant, bits.
fn capacity_bits(path: &Path, until_s: f64) -> f64 {
    let ends = path
        .rates
        .iter()
        .skip(1)
        .map(|&(at, _)| at)
        .chain([f64::INFINITY]);
    let fastest = path.rates.iter().zip(ends);
    let sum: f64 = fastest
        .map(|(&(from, bps), to)| bps * (to.min(until_s) - from).max(0.0))
        .sum();
    // An upload uses the other direction.
    sum.max(path.up_rate * until_s)
}
