//! Losses without a queue: a controller that takes every loss for congestion keeps its window
//! small.

use joulepath_kernel::mptcp::TcpInfo;

use crate::finding::{Cost, Finding, Fix, Remedy};
use crate::subject::{Flow, Subject, at};
use crate::words::{mbit, ms, percent};

pub(super) const NAME: &str = "random-loss";

/// Controllers that reduce the window at a loss.
const LOSS_BASED: [&str; 15] = [
    "balia", "coupled", "cubic", "dts", "dwc", "ecmtcp", "edts", "eemptcp", "emreno", "ewtcp",
    "hybrid", "lia", "mveno", "olia", "reno",
];
/// A single lost segment can be chance, unless there was no queue at all.
const LEAST_LOST: f64 = 2.0;
const EMPTY: f64 = 0.05;
const EMPTY_S: f64 = 0.001;
/// All losses of one interval can be those of one full queue, or one empty bucket of a policer.
const LEAST_EVENTS: usize = 2;
/// Smaller parts hardly reduce a window: 1.22 / sqrt(p) packets are 55 (Mathis et al. 1997).
const LEAST_LOSS: f64 = 0.0005;
/// The congestion window is the limit in this part of the time.
const OFTEN: f64 = 0.4;
/// A queue before losses shows as this part of the minimum RTT, or this time, whichever is more.
const QUEUE: f64 = 0.2;
const QUEUE_S: f64 = 0.003;
/// A full queue loses segments while it is longest: the queue at a loss, as a part of the longest
/// one, is above this in the median of so many lossy intervals between close samples, s.
const EARLY: f64 = 0.5;
const LEAST_INTERVALS: usize = 4;
const CLOSE_S: f64 = 0.5;
/// A queue that delayed ACKs of a small window cause: part of the minimum RTT, or time, s; in the
/// median, and at most.
const NOISE: (f64, f64) = (0.25, 0.005);
const MOST_NOISE: (f64, f64) = (0.5, 0.01);
/// Linux delays the ACK of a lone segment by 40 ms at least. Every second window ends with one; it
/// counts in the mean of the ACKs of a window, s times packets of the window.
const DELAYED_ACK_S: f64 = 0.04;
/// Rates between losses: a window that n random losses reduce in an interval varies by this over
/// sqrt(n); a limit of the rate, by less than a part of it. With fewer losses in an interval both
/// show the same sawtooth.
const VARIES: f64 = 1.5;
const STEADY: f64 = 0.4;
const AVERAGED: f64 = 2.0;
/// Dispersion of the losses of intervals; 1 if each segment is lost independently (measured: 0.7 to
/// 1.6). What exceeds a queue or a rate is lost at once: 5 and more where losses are few.
const CLUSTERED: f64 = 3.0;

pub(super) fn find(subject: &Subject<'_>) -> Option<Finding> {
    if !subject.uploads() || subject.is_idle() {
        return None;
    }
    let lossy: Vec<&Flow<'_>> = subject
        .active(0.02)
        .into_iter()
        .filter(|flow| is_lossy(flow))
        .collect();
    let worst = lossy.iter().max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    let controller = worst.socket.congestion.as_deref().unwrap_or("unknown");
    let rate = subject.rates_bps().0;
    let more = |flow: &&Flow<'_>| flow.carried_bps(true).max(flow.delivery_bps()) - flow.sent_bps();
    let possible = rate + lossy.iter().map(more).sum::<f64>();
    let (lost, _) = worst.retransmissions();
    let (fix, remedy) = pacing(subject);
    Some(Finding {
        cause: NAME,
        verdict: format!(
            "{controller} takes random losses on {} for congestion",
            worst.name(subject.host)
        ),
        evidence: vec![
            format!(
                "{} of its segments were lost ({lost:.0})",
                percent(loss(worst))
            ),
            queueing(worst),
        ],
        cost: Cost::new(
            1.0 - rate / possible,
            format!(
                "at least: data was delivered at up to {}, and at {} in the mean",
                mbit(possible),
                mbit(rate)
            ),
        ),
        fix,
        remedy: Some(remedy),
        gain: None,
    })
}

/// Evidence that a queue is short.
pub(super) fn queueing(flow: &Flow<'_>) -> String {
    format!(
        "queueing delay: {} at most over a minimum RTT of {}",
        ms(flow.queue_s(true, 0.9).unwrap_or(0.0)),
        ms(flow.min_rtt_s().unwrap_or(0.0))
    )
}

/// A controller that does not take losses for congestion: the kernel's BBR if it has one.
pub(super) fn pacing(subject: &Subject<'_>) -> (Fix, Remedy) {
    let available = subject
        .host
        .sysctl("net.ipv4.tcp_available_congestion_control")
        .unwrap_or("");
    let (commands, name) = match available.split_whitespace().any(|name| name == "bbr") {
        true => (
            vec!["sysctl -w net.ipv4.tcp_congestion_control=bbr"],
            "bbr1",
        ),
        false => (
            vec!["joulepath cc load bbr3", "joulepath cc default bbr3"],
            "bbr3",
        ),
    };
    (
        Fix::commands(commands).or("only new connections use it"),
        Remedy::Controller(name),
    )
}

fn is_lossy(flow: &Flow<'_>) -> bool {
    let name = flow.socket.congestion.as_deref().unwrap_or("");
    let (lost, _) = flow.retransmissions();
    let Some((queue_s, rtt_s)) = flow.queue_s(true, 0.9).zip(flow.min_rtt_s()) else {
        return false;
    };
    if is_steady(flow) || is_clustered(flow) {
        return false;
    }
    LOSS_BASED.contains(&name.trim_start_matches("jp_"))
        && loss(flow) >= LEAST_LOSS
        && flow.full_share() >= OFTEN
        && flow.unanswered_s().is_none()
        && match lost {
            _ if queue_s <= (EMPTY * rtt_s).max(EMPTY_S) => true,
            LEAST_LOST.. if lossy_intervals(flow) >= LEAST_EVENTS => {
                queue_s <= (QUEUE * rtt_s).max(QUEUE_S)
                    || is_early(flow, rtt_s)
                    || is_scattered(flow)
            }
            _ => false,
        }
}

/// True if most losses happened while the queue was short.
fn is_early(flow: &Flow<'_>, rtt_s: f64) -> bool {
    let queue_s = |info: &TcpInfo| (f64::from(info.srtt_us) / 1e6 - rtt_s).max(0.0);
    let longest_s = flow
        .series
        .iter()
        .map(|info| queue_s(info))
        .fold(0.0, f64::max);
    let is_lossy =
        |pair: &&[&TcpInfo]| pair[1].retransmitted_segments > pair[0].retransmitted_segments;
    // The longer queue of both ends: the loss has shortened it.
    let at_loss = |pair: &[&TcpInfo]| queue_s(pair[0]).max(queue_s(pair[1])) / longest_s;
    let places: Vec<f64> = flow
        .series
        .windows(2)
        .filter(is_lossy)
        .map(at_loss)
        .collect();
    flow.interval_s() <= CLOSE_S
        && places.len() >= LEAST_INTERVALS
        && at(&places, 0.5).is_some_and(|median| median <= EARLY)
}

/// Distance of the rates between samples, as a part of what random losses cause; `None` without
/// losses.
fn unevenness(flow: &Flow<'_>) -> Option<f64> {
    let (lost, _) = flow.retransmissions();
    let each = (lost / flow.series.len() as f64).max(1.0);
    Some(flow.spread(true).filter(|_| lost >= LEAST_LOST)? * each.sqrt() / VARIES)
}

/// True if segments are not lost independently.
pub(super) fn is_clustered(flow: &Flow<'_>) -> bool {
    clustering(flow) > CLUSTERED
}

/// Index of dispersion of the losses of intervals, each in relation to what was sent in it.
fn clustering(flow: &Flow<'_>) -> f64 {
    let part = loss(flow).max(1e-9);
    let grown = |pair: &[&TcpInfo], of: fn(&TcpInfo) -> u32| {
        f64::from(of(pair[1]).saturating_sub(of(pair[0])))
    };
    let apart = |pair: &[&TcpInfo]| {
        let expected = (part * grown(pair, |info| info.data_segments_out)).max(part);
        (grown(pair, |info| info.retransmitted_segments) - expected).powi(2) / expected
    };
    let intervals = flow.series.len().saturating_sub(1).max(2) as f64;
    flow.series.windows(2).map(apart).sum::<f64>() / (intervals - 1.0)
}

/// True if the queue is no longer than what delayed ACKs of a small window cause.
pub(super) fn has_no_queue(flow: &Flow<'_>) -> bool {
    let delayed_s = DELAYED_ACK_S / flow.cwnd_packets().max(1.0);
    let is_short = |quantile: f64, (part, least_s): (f64, f64), delayed_s: f64| {
        let queue_s = flow.queue_s(true, quantile).zip(flow.min_rtt_s());
        queue_s
            .is_some_and(|(queue_s, rtt_s)| queue_s <= (part * rtt_s).max(least_s).max(delayed_s))
    };
    is_short(0.5, NOISE, delayed_s) && is_short(0.9, MOST_NOISE, 2.0 * delayed_s)
}

/// True if the rate hardly changes although segments are lost: the path drops what exceeds a rate.
pub(super) fn is_steady(flow: &Flow<'_>) -> bool {
    lossy_intervals(flow) >= LEAST_INTERVALS
        && flow.retransmissions().0 >= AVERAGED * flow.series.len() as f64
        && unevenness(flow).is_some_and(|part| part <= STEADY)
}

/// True if many losses change the rate while the queue is short.
fn is_scattered(flow: &Flow<'_>) -> bool {
    flow.interval_s() <= CLOSE_S
        && lossy_intervals(flow) >= LEAST_INTERVALS
        && unevenness(flow).is_some_and(|part| part > STEADY)
        && has_no_queue(flow)
}

fn lossy_intervals(flow: &Flow<'_>) -> usize {
    let is_lossy =
        |pair: &&[&TcpInfo]| pair[1].retransmitted_segments > pair[0].retransmitted_segments;
    flow.series.windows(2).filter(is_lossy).count()
}

pub(super) fn loss(flow: &Flow<'_>) -> f64 {
    let (lost, sent) = flow.retransmissions();
    lost / sent.max(1.0)
}
