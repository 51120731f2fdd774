//! Loss events of a TCP on a route: the events per packet of its links' losses at the window that
//! they leave it. [`joulepath_model::network::LossSpec::events`] has the derivation.

use joulepath_model::network::{LossSpec, QueueLimit};
use joulepath_model::scenario::{LinkIndex, Scenario, Transport};
use joulepath_model::units::Nanos;

use crate::allocate::mathis_bps;

/// Bisection steps for the window, over e-folds.
const BISECTIONS: u32 = 60;
/// Largest window of the search, packets.
const MOST_WINDOW: f64 = 1e9;
/// Ten equally probable values of W √(3p/8), the window of NewReno at a loss event: between two
/// events W² grows by 2 per packet, and a reduction divides it by 4, so W² → W²/4 + 2 E with E
/// exponential, mean 1/p. The mean of W² is 8/(3p).
const WINDOWS: [f64; 10] = [
    0.44, 0.577, 0.674, 0.76, 0.845, 0.933, 1.031, 1.148, 1.304, 1.589,
];

/// The losses of a route as one TCP meets them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Loss events per packet.
    pub events: f64,
    /// Time that lost retransmissions add to an event, on average, s. Timeouts after independent
    /// losses do not count.
    pub stall_s: f64,
    /// Part of the events whose retransmission is lost.
    pub stalls: f64,
}

impl Losses {
    /// Rate by Mathis et al. over links of `link_bps`, with the stalls, bit/s; without stalls the
    /// links do not limit it.
    pub(crate) fn mathis_bps(&self, mss_bytes: f64, rtt_s: f64, link_bps: f64) -> f64 {
        self.slow(
            mathis_bps(mss_bytes, rtt_s, self.events),
            mss_bytes,
            link_bps,
        )
    }

    /// Mean rate of a TCP that stalls, and sends at `bps` or `link_bps` otherwise, bit/s.
    pub(crate) fn slow(&self, bps: f64, mss_bytes: f64, link_bps: f64) -> f64 {
        if self.stall_s == 0.0 {
            return bps;
        }
        let bps = bps.min(link_bps);
        bps * (1.0 - self.stalled(bps / (mss_bytes * 8.0)))
    }

    /// Part of the time for which lost retransmissions stop a TCP that losses and a link of
    /// `link_pps` limit.
    pub fn stalled_on(&self, link_pps: f64, rtt_s: f64) -> f64 {
        self.stalled(((1.5 / self.events).sqrt() / rtt_s).min(link_pps))
    }

    /// How much more a TCP carries in a run of `seconds` than in the long run, relatively: it starts
    /// without a stall. Let stalls of mean length L take the part s of the time, so a TCP sends for
    /// S = L (1 − s)/s between two. As a chain of two states it sends at the time t with the
    /// probability
    ///
    /// ```text
    ///   1 − s + s e^(−t/T)      T = L S/(L + S) = L (1 − s)
    /// ```
    /// whose mean over a run of D ≫ T is (1 − s)(1 + s L/D).
    pub(crate) fn head_start(&self, link_pps: f64, rtt_s: f64, seconds: f64) -> f64 {
        match self.stalls > 0.0 {
            true => self.stalled_on(link_pps, rtt_s) * self.stall_s / self.stalls / seconds,
            false => 0.0,
        }
    }

    /// Part of the time for which lost retransmissions stop a TCP that otherwise sends at `pps`.
    fn stalled(&self, pps: f64) -> f64 {
        let per_packet = self.events * self.stall_s;
        if per_packet > 0.0 {
            per_packet / (per_packet + 1.0 / pps)
        } else {
            0.0
        }
    }
}

/// Loss events per packet on successive links with these losses at `window` packets in flight.
fn events_of<'a>(losses: impl Iterator<Item = &'a LossSpec>, window: f64) -> f64 {
    1.0 - losses
        .map(|loss| 1.0 - loss.events(window))
        .product::<f64>()
}

/// The losses of `links` for a TCP that they limit, with an RTT of `rtt_s` and at most
/// `most_window` packets in flight.
pub fn losses(scenario: &Scenario, links: &[LinkIndex], rtt_s: f64, most_window: f64) -> Losses {
    let Transport {
        rto_min,
        rto_max,
        max_retries,
        ..
    } = scenario.transport;
    let timeouts = Timeouts {
        rto_min,
        rto_max,
        max_retries,
        most_s: 0.5 * scenario.duration.as_secs_f64(),
    };
    losses_of(
        links.iter().map(|&link| &scenario.links[link].loss),
        timeouts,
        rtt_s,
        most_window,
    )
}

/// Packets of a round trip of `rtt_s` that `links` hold with a full queue. A managed queue counts as
/// empty.
pub fn most_window(scenario: &Scenario, links: &[LinkIndex], rtt_s: f64) -> f64 {
    let transport = &scenario.transport;
    let wire = (transport.mss.0 + transport.header.0) as f64;
    let holds = |&link: &LinkIndex| {
        let link = &scenario.links[link];
        let waiting = match (&link.aqm, link.queue) {
            (Some(_), _) => 0.0,
            (None, QueueLimit::Packets(packets)) => f64::from(packets),
            (None, QueueLimit::Bytes(bytes)) => bytes.0 as f64 / wire,
        };
        link.rate.mean_bps(scenario.duration) / (8.0 * wire) * rtt_s + waiting
    };
    links.iter().map(holds).fold(f64::INFINITY, f64::min)
}

/// Bounds of the retransmission timeout, and the number of retransmissions of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) rto_min: Nanos,
    pub(crate) rto_max: Nanos,
    pub(crate) max_retries: u32,
    /// Longest time in timeouts that counts, s. In a run as long as twice this, a stall without end
    /// takes this long on average.
    pub(crate) most_s: f64,
}

/// As [`losses`], of links with these losses.
pub(crate) fn losses_of<'a>(
    losses: impl Iterator<Item = &'a LossSpec> + Clone,
    timeouts: Timeouts,
    rtt_s: f64,
    most_window: f64,
) -> Losses {
    let window = window(losses.clone()).min(most_window);
    let doubled_s = |back_offs: u32| {
        let doubled_s =
            (timeouts.rto_min.as_secs_f64() + rtt_s) * f64::from(1_u32 << back_offs.min(30));
        doubled_s.min(timeouts.rto_max.as_secs_f64())
    };
    let within = |left_s: &mut f64, timeout_s: f64| {
        let counted_s = timeout_s.min(*left_s);
        *left_s -= counted_s;
        (counted_s > 0.0).then_some(counted_s)
    };
    let mean = |at: &dyn Fn(f64) -> f64| {
        WINDOWS
            .into_iter()
            .map(|part| at(part * window))
            .sum::<f64>()
            / WINDOWS.len() as f64
    };
    let stall_s = |loss: &LossSpec| -> f64 {
        let timeouts_s = || {
            let all = (0..timeouts.max_retries).map(doubled_s);
            all.scan(timeouts.most_s, within)
        };
        mean(&|window| loss.stall_s(window, timeouts_s()))
    };
    let bursty = losses.clone().filter(|loss| loss.is_bursty());
    Losses {
        events: events_of(losses, window),
        stall_s: bursty.clone().map(stall_s).sum(),
        stalls: bursty.map(|loss| mean(&|window| loss.stalls(window))).sum(),
    }
}

/// NewReno's root mean square window at a loss event, W = √(8/(3 p(W))), packets; infinite without
/// losses.
fn window<'a>(losses: impl Iterator<Item = &'a LossSpec> + Clone) -> f64 {
    let next = |window: f64| (8.0 / (3.0 * events_of(losses.clone(), window))).sqrt();
    if !losses.clone().any(LossSpec::is_bursty) {
        return next(1.0);
    }
    let (mut low, mut high) = (0.0, libm::log(MOST_WINDOW));
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if next(libm::exp(middle)) > libm::exp(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    libm::exp(low)
}
