//! Additional restrictions on the limits of the benchmark's random families, beyond links and
//! buffers.

use joulepath_model::network::{LossSpec, RateSpec};
use joulepath_model::scenario::{
    Competitor, ConnectionGroup, Direction, LinkIndex, Scenario, Workload,
};

use super::in_order::InOrder;
use super::problem::Shared;
use super::route::{Packet, in_window_s};
use super::start::Start;
use crate::bursts::losses;
use crate::path::{Window, delivered, least_over, links_of, peak_bps};

/// Restrictions of a limit. Each lowers the limit or leaves it unchanged; by default none applies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Bulk: carry at least as much as the best fixed set of interfaces that is always on.
    pub always_on: bool,
    /// Bulk: a full window waits for the oldest randomly lost segment.
    pub in_order: bool,
    /// Bulk and files: windows hold whole segments, and an RTT includes the transmission of one
    /// segment and its ACK.
    pub whole_segments: bool,
    /// Files: subflows open with a handshake and start with the initial window, which at most
    /// doubles in each round trip.
    pub slow_start: bool,
    /// Links: reduced by the mean of cross traffic and by the share of endless competitors.
    pub others_share: bool,
    /// Streams: data is carried within this time, s.
    pub deadline_s: Option<f64>,
    /// Streams, messages: data waits for at most this time on average, s.
    pub mean_wait_s: Option<f64>,
}

impl Terms {
    /// All restrictions, with this deadline, s, if any.
    pub fn all(deadline_s: Option<f64>) -> Self {
        Terms {
            always_on: true,
            in_order: true,
            whole_segments: true,
            slow_start: true,
            others_share: true,
            deadline_s,
            mean_wait_s: None,
        }
    }
}

/// True if all segments except the last are full.
pub(super) fn is_in_full_segments(workload: Workload) -> bool {
    matches!(workload, Workload::Bulk | Workload::File { .. })
}

/// Σ x_r τ_r ≤ whole segments of the smaller buffer. τ_r is the propagation of a segment and of the
/// fastest DATA_ACK, plus the transmission of one full segment and one ACK on each link at its
/// highest rate. (Little's law: each segment is in the window for at least τ_r.)
pub(super) fn whole_segments(
    scenario: &Scenario,
    group: &ConnectionGroup,
    window: Window,
) -> Shared {
    let transport = &scenario.transport;
    let segment_bits = (transport.mss.0 + transport.header.0) as f64 * 8.0;
    let ack_bits = transport.ack_size.0 as f64 * 8.0;
    let link_s = |link: LinkIndex, packet: Packet| {
        let spec = &scenario.links[link];
        let bits = match packet {
            Packet::Segment => segment_bits,
            Packet::Ack => ack_bits,
        };
        // The highest rate of a trace is a burst's: it has no transmission time.
        let sending_s = match spec.rate {
            RateSpec::Unlimited | RateSpec::Trace(_) => 0.0,
            _ => bits / peak_bps(spec, window),
        };
        spec.delay.as_secs_f64()
            + if sending_s.is_finite() {
                sending_s
            } else {
                0.0
            }
    };
    let buffer = group.receive_buffer.0.min(group.send_buffer.0);
    let whole = (buffer / transport.mss.0).max(1) * transport.mss.0;
    let weights = in_window_s(scenario, group, &link_s);
    let use_s = weights.iter().copied().fold(0.0, f64::max);
    Shared {
        weights,
        most: 8.0 * whole as f64,
        use_s,
        slack: 0.0,
    }
}

/// Start of the subflows of `group`: the device opens them, and the data's sender starts once the
/// other end has confirmed.
pub(super) fn start(scenario: &Scenario, group: &ConnectionGroup) -> Start {
    let transport = &scenario.transport;
    let window_bits = f64::from(transport.initial_window) * transport.mss.0 as f64 * 8.0;
    match group.direction {
        Direction::Download => Start {
            window_bits,
            opening_rtts: 2.0,
            by_links: true,
        },
        Direction::Upload => Start {
            window_bits,
            opening_rtts: 1.0,
            by_links: false,
        },
    }
}

/// Window and losses of one connection of `group`; windows and RTTs come from `flow_control`.
pub(super) fn in_order(
    scenario: &Scenario,
    group: &ConnectionGroup,
    flow_control: &Shared,
) -> InOrder {
    let loss = |&path: &usize| {
        let (data, _) = links_of(scenario, group.direction, path);
        let independent = |&link: &LinkIndex| {
            matches!(
                scenario.links[link].loss,
                LossSpec::None | LossSpec::Bernoulli(_)
            )
        };
        if data.iter().all(independent) {
            1.0 - delivered(scenario, data)
        } else {
            0.0
        }
    };
    let segment_bits = scenario.transport.mss.0 as f64 * 8.0;
    InOrder {
        segments: (flow_control.most / segment_bits).floor(),
        segment_bits,
        rtts_s: flow_control.weights.clone(),
        loss: group.paths.iter().map(loss).collect(),
    }
}

/// Share of endless competitors on a link with `bps` for TCP, bit/s: an equal part for each flow,
/// or Mathis' rate if random loss limits the flow to less. A competitor present for a part of the
/// time counts for that part.
pub(super) fn others_bps(
    scenario: &Scenario,
    group: &ConnectionGroup,
    link: LinkIndex,
    bps: f64,
) -> f64 {
    let crosses = |other: &&ConnectionGroup| {
        other
            .paths
            .iter()
            .any(|&path| links_of(scenario, group.direction, path).0.contains(&link))
    };
    let own: u32 = scenario
        .connections
        .iter()
        .filter(crosses)
        .map(|group| group.count)
        .sum();
    let all = || {
        scenario
            .competitors
            .iter()
            .filter(|c| c.size.is_none() && c.down.contains(&link))
    };
    let flows = own + all().map(|competitor| competitor.count).sum::<u32>();
    let due = |competitor: &Competitor| {
        let rate = least_over(&competitor.down, |link| match &scenario.links[link].rate {
            RateSpec::Unlimited => f64::INFINITY,
            rate => rate.mean_bps(scenario.duration),
        });
        let links = competitor.down.iter().chain(&competitor.up);
        let rtt_s: f64 = links
            .map(|&link| scenario.links[link].delay.as_secs_f64())
            .sum();
        let losses = losses(scenario, &competitor.down, rtt_s, f64::INFINITY);
        let by_loss = match losses.events > 0.0 {
            true => losses.mathis_bps(scenario.transport.mss.0 as f64, rtt_s, rate),
            false => f64::INFINITY,
        };
        f64::from(competitor.count) * (bps / f64::from(flows)).min(by_loss).min(rate)
    };
    all().map(due).sum()
}
