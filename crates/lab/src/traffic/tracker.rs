//! Counters of a connection's subflows over time. This module keeps the counters of closed
//! subflows, which the kernel drops.

use joulepath_kernel::mptcp::info::{FullInfo, SubflowInfo};
use joulepath_kernel::mptcp::{TcpInfo, TcpState};

use super::report::PathReport;

/// All subflows that a connection has had.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    subflows: Vec<Tracked>,
    /// Payload reinjected: at the start of the measurement, and now.
    reinjected: Option<(u64, u64)>,
    /// When the last look was, ns.
    looked_ns: Option<u64>,
    measuring: bool,
}

#[derive(Debug)]
struct Tracked {
    /// Its two ends, since old kernels report no ids.
    ends: (std::net::SocketAddr, std::net::SocketAddr),
    /// Place in the connection's list of paths.
    path: usize,
    opened_ns: u64,
    /// Its counters at the start of the measurement; `None` if it opened later.
    before: Option<Box<TcpInfo>>,
    now: Box<TcpInfo>,
    /// Reductions of the window since it opened.
    loss_events: u64,
    gauges: Gauges,
}

/// Sums over the looks of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Gauges {
    loss_events: u64,
    timeouts: u64,
    rtt_sum_s: f64,
    cwnd_integral_s: f64,
}

impl Tracker {
    /// Reads the socket's statistics at `now_ns`. `path` maps a subflow to its place in the
    /// connection's paths.
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        info: &FullInfo,
        path: impl Fn(&SubflowInfo) -> Option<usize>,
    ) {
        let elapsed_s = self
            .looked_ns
            .map_or(0.0, |before| (now_ns - before) as f64 / 1e9);
        self.looked_ns = Some(now_ns);
        if let Some(counters) = info
            .connection
            .as_ref()
            .and_then(|connection| connection.counters)
        {
            let before = match self.reinjected {
                Some((before, _)) if self.measuring => before,
                None if self.measuring => 0,
                _ => counters.reinjected,
            };
            self.reinjected = Some((before, counters.reinjected));
        }
        // The kernel also lists subflows whose SYN is unanswered.
        let established =
            |s: &&SubflowInfo| !matches!(s.tcp.state, TcpState::SynSent | TcpState::SynReceived);
        for subflow in info.subflows.iter().filter(established) {
            let ends = (subflow.local, subflow.remote);
            match self
                .subflows
                .iter_mut()
                .find(|tracked| tracked.ends == ends)
            {
                Some(tracked) => {
                    tracked.take(&subflow.tcp, if self.measuring { elapsed_s } else { 0.0 })
                }
                None => self.subflows.extend(path(subflow).map(|path| Tracked {
                    ends,
                    path,
                    opened_ns: now_ns,
                    before: None,
                    now: Box::new(subflow.tcp.clone()),
                    loss_events: 0,
                    gauges: Gauges::default(),
                })),
            }
        }
    }

    /// Resets the counters at the end of the warm-up.
    pub(crate) fn begin_measuring(&mut self) {
        self.measuring = true;
        for tracked in &mut self.subflows {
            tracked.before = Some(tracked.now.clone());
            tracked.gauges = Gauges::default();
        }
    }

    /// True if a subflow was ever seen on this path of the connection.
    pub(crate) fn has_seen(&self, path: usize) -> bool {
        self.subflows.iter().any(|tracked| tracked.path == path)
    }

    /// Payload reinjected since the start of the measurement, bytes.
    pub(crate) fn reinjected_bytes(&self) -> Option<u64> {
        self.reinjected
            .map(|(before, now)| now.saturating_sub(before))
    }

    /// Payload of a full segment, bytes.
    pub(crate) fn mss_bytes(&self) -> u32 {
        self.subflows
            .first()
            .map_or(0, |tracked| tracked.now.send_mss_bytes)
    }

    /// Payload received on a path since the connection began, bytes.
    pub(crate) fn received_bytes(&self, path: usize) -> u64 {
        self.on(path)
            .map(|tracked| tracked.now.received_bytes)
            .sum()
    }

    /// Payload acknowledged on a path (bytes) and reductions of its window, since the connection
    /// began.
    pub(crate) fn progress(&self, path: usize) -> (u64, u64) {
        let sums = |(bytes, events): (u64, u64), tracked: &Tracked| {
            (
                bytes + tracked.now.acked_bytes,
                events + tracked.loss_events,
            )
        };
        self.on(path).fold((0, 0), sums)
    }

    /// The latest window (packets) and smoothed RTT (µs) on a path.
    pub(crate) fn window(&self, path: usize) -> Option<(u32, u32)> {
        self.on(path)
            .last()
            .map(|tracked| (tracked.now.cwnd_packets, tracked.now.srtt_us))
    }

    /// All counters since the start of the measurement, by the connection's paths.
    pub(crate) fn reports(&self, paths: usize) -> Vec<PathReport> {
        let mut all = vec![PathReport::default(); paths];
        for tracked in &self.subflows {
            let report = &mut all[tracked.path];
            report.opened_ns = Some(
                report
                    .opened_ns
                    .map_or(tracked.opened_ns, |at| at.min(tracked.opened_ns)),
            );
            let since = |of: fn(&TcpInfo) -> u64| {
                of(&tracked.now).saturating_sub(tracked.before.as_deref().map_or(0, of))
            };
            report.received_bytes += since(|tcp| tcp.received_bytes);
            report.acked_bytes += since(|tcp| tcp.acked_bytes);
            report.segments += since(|tcp| tcp.data_segments_out.into());
            report.retransmissions += since(|tcp| tcp.retransmitted_segments.into());
            report.delivered_packets += since(|tcp| tcp.delivered_packets.into());
            report.timeouts += match tracked.now.timeouts {
                Some(_) => since(|tcp| tcp.timeouts.unwrap_or(0).into()),
                None => tracked.gauges.timeouts,
            };
            report.loss_events += tracked.gauges.loss_events;
            report.rtt_sum_s += tracked.gauges.rtt_sum_s;
            report.cwnd_integral_s += tracked.gauges.cwnd_integral_s;
        }
        all
    }

    fn on(&self, path: usize) -> impl Iterator<Item = &Tracked> {
        self.subflows
            .iter()
            .filter(move |tracked| tracked.path == path)
    }
}

impl Tracked {
    fn take(&mut self, tcp: &TcpInfo, elapsed_s: f64) {
        let before = std::mem::replace(&mut *self.now, tcp.clone());
        let delivered = tcp.delivered_packets.wrapping_sub(before.delivered_packets);
        self.gauges.rtt_sum_s += f64::from(tcp.srtt_us) / 1e6 * f64::from(delivered);
        self.gauges.cwnd_integral_s += f64::from(before.cwnd_packets) * elapsed_s;
        let repaired = tcp.retransmitted_segments != before.retransmitted_segments;
        if !before.recovery.is_reduction() && (tcp.recovery.is_reduction() || repaired) {
            self.gauges.loss_events += 1;
            self.loss_events += 1;
        }
        if before.backoff == 0 && tcp.backoff > 0 {
            self.gauges.timeouts += 1;
        }
    }
}
