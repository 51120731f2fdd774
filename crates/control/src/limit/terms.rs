//! What the limits of the benchmark's random families do not allow, beyond what links and buffers allow.

use joulepath_model::network::{LossSpec, RateSpec};
use joulepath_model::scenario::{Competitor, ConnectionGroup, Direction, LinkIndex, Scenario, Workload};

use super::in_order::InOrder;
use super::problem::Shared;
use super::start::Start;
use crate::allocate::mathis_bps;
use crate::path::{Window, base_rtt_s, delivered, least_over, links_of, peak_bps};

/// Conditions of a limit. Each makes it lower or leaves it as it is; by default none holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Data without end: carry at least what the best fixed set of interfaces carries that is on all the
    /// time.
    pub always_on: bool,
    /// Data without end: a full window waits for the oldest segment that is lost at random.
    pub in_order: bool,
    /// Data without end and files: windows hold whole segments, and an RTT has the transmission of one of
    /// them and of its ACK in it.
    pub whole_segments: bool,
    /// Files: subflows open with a handshake and start with the initial window, which doubles in each round
    /// trip at most.
    pub slow_start: bool,
    /// Links: less the mean of cross traffic, and less what competitors without end are due.
    pub others_share: bool,
    /// Streams: what is written is carried within this time, s.
    pub deadline_s: Option<f64>,
}

impl Terms {
    /// All of them, with this deadline, s, if there is one.
    pub fn all(deadline_s: Option<f64>) -> Self {
        Terms {
            always_on: true,
            in_order: true,
            whole_segments: true,
            slow_start: true,
            others_share: true,
            deadline_s,
        }
    }
}

/// Whether all segments, but for the last one, are full.
pub(super) fn is_in_full_segments(workload: Workload) -> bool {
    matches!(workload, Workload::Bulk | Workload::File { .. })
}

/// Σ x_r τ_r ≤ whole segments of the smaller buffer, where τ_r is the propagation RTT and the transmission of
/// one full segment and of one ACK on each link at its highest rate. (Little's law: each segment is in the
/// window for at least τ_r.)
pub(super) fn whole_segments(scenario: &Scenario, group: &ConnectionGroup, window: Window) -> Shared {
    let transport = &scenario.transport;
    let segment_bits = (transport.mss.0 + transport.header.0) as f64 * 8.0;
    let ack_bits = transport.ack_size.0 as f64 * 8.0;
    let sending_s = |links: &[LinkIndex], bits: f64| -> f64 {
        // The highest rate of a trace is one of bursts: it has no transmission time.
        let of_link = |&link: &LinkIndex| match scenario.links[link].rate {
            RateSpec::Unlimited | RateSpec::Trace(_) => 0.0,
            _ => bits / peak_bps(&scenario.links[link], window),
        };
        links.iter().map(of_link).filter(|seconds| seconds.is_finite()).sum()
    };
    let rtt_s = |&path: &usize| {
        let (data, acks) = links_of(scenario, group.direction, path);
        base_rtt_s(scenario, path) + sending_s(data, segment_bits) + sending_s(acks, ack_bits)
    };
    let buffer = group.receive_buffer.0.min(group.send_buffer.0);
    let whole = (buffer / transport.mss.0).max(1) * transport.mss.0;
    Shared { weights: group.paths.iter().map(rtt_s).collect(), most: 8.0 * whole as f64 }
}

/// How the subflows of `group` start: the device opens them, and whoever has the data sends it when the other
/// end has confirmed.
pub(super) fn start(scenario: &Scenario, group: &ConnectionGroup) -> Start {
    let transport = &scenario.transport;
    let window_bits = f64::from(transport.initial_window) * transport.mss.0 as f64 * 8.0;
    match group.direction {
        Direction::Download => Start { window_bits, opening_rtts: 2.0, by_links: true },
        Direction::Upload => Start { window_bits, opening_rtts: 1.0, by_links: false },
    }
}

/// Window and losses of one connection of `group`, whose windows and RTTs are those of `flow_control`.
pub(super) fn in_order(scenario: &Scenario, group: &ConnectionGroup, flow_control: &Shared) -> InOrder {
    let loss = |&path: &usize| {
        let (data, _) = links_of(scenario, group.direction, path);
        let independent =
            |&link: &LinkIndex| matches!(scenario.links[link].loss, LossSpec::None | LossSpec::Bernoulli(_));
        if data.iter().all(independent) { 1.0 - delivered(scenario, data) } else { 0.0 }
    };
    let segment_bits = scenario.transport.mss.0 as f64 * 8.0;
    InOrder {
        segments: (flow_control.most / segment_bits).floor(),
        segment_bits,
        rtts_s: flow_control.weights.clone(),
        loss: group.paths.iter().map(loss).collect(),
    }
}

/// What competitors without end are due of a link that has `bps` for TCPs, bit/s: an equal part for each
/// flow, or Mathis' rate where random loss leaves them less. A competitor that is there for a part of the
/// time counts for that part.
pub(super) fn others_bps(scenario: &Scenario, group: &ConnectionGroup, link: LinkIndex, bps: f64) -> f64 {
    let crosses = |other: &&ConnectionGroup| {
        other.paths.iter().any(|&path| links_of(scenario, group.direction, path).0.contains(&link))
    };
    let own: u32 = scenario.connections.iter().filter(crosses).map(|group| group.count).sum();
    let all = || scenario.competitors.iter().filter(|c| c.size.is_none() && c.down.contains(&link));
    let flows = own + all().map(|competitor| competitor.count).sum::<u32>();
    let due = |competitor: &Competitor| {
        let rate = least_over(&competitor.down, |link| match &scenario.links[link].rate {
            RateSpec::Unlimited => f64::INFINITY,
            rate => rate.mean_bps(scenario.duration),
        });
        let lost = 1.0 - delivered(scenario, &competitor.down);
        let links = competitor.down.iter().chain(&competitor.up);
        let rtt_s: f64 = links.map(|&link| scenario.links[link].delay.as_secs_f64()).sum();
        let by_loss = match lost > 0.0 {
            true => mathis_bps(scenario.transport.mss.0 as f64, rtt_s, lost),
            false => f64::INFINITY,
        };
        f64::from(competitor.count) * (bps / f64::from(flows)).min(by_loss).min(rate)
    };
    all().map(due).sum()
}
