//! Length of the tail and of the promotion, from round trips alone.
//!
//! A probe that finds the radio asleep is delayed by the promotion. So the longest quiet time
//! without a delay is the length of the tail. It is bracketed by doubling and then bisected. The
//! meter, which may be slow, is not needed.

use joulepath_model::units::Nanos;

use super::refusal::{Refusal, Stop};
use super::rig::{Action, Record, Rig};
use crate::robust::{median, spread};

/// First quiet time and number of doublings: up to 25.6 s.
const FIRST_GAP: Nanos = Nanos::from_millis(25);
const RUNGS: u32 = 11;
/// The bracket is narrow enough at this fraction of its length, or at this length.
const NARROW_SHARE: f64 = 0.003;
const NARROW: Nanos = Nanos::from_millis(1);
/// A visible promotion exceeds this time, s, and this many standard deviations of the RTT.
const LEAST_PROMOTION_S: f64 = 0.002;
const LEAST_SIGNAL: f64 = 6.0;
/// Round trips of each kind used for the length of the promotion.
const MOST_ECHOES: usize = 80;
/// Two-sided 95 % quantile of the normal distribution.
const NORMAL_95: f64 = 1.959_963_985;

/// Result of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bracket {
    /// The longest quiet time after which the radio was awake.
    pub(super) awake: Nanos,
    /// The shortest quiet time after which it was asleep.
    pub(super) asleep: Nanos,
    /// Rough length of the promotion, s.
    pub(super) promotion_s: f64,
    /// RTT without a promotion, s.
    pub(super) rtt_s: f64,
}

impl Bracket {
    pub(super) fn middle(&self) -> Nanos {
        Nanos((self.awake.0 + self.asleep.0) / 2)
    }
}

/// Brackets the tail. Passes every record of the rig to `seen`.
pub(super) fn search(
    rig: &mut dyn Rig,
    interface: usize,
    seen: &mut dyn FnMut(&Record),
) -> Result<Bracket, Stop> {
    let mut probe = |gap: Nanos, times: usize| -> Result<Vec<f64>, Stop> {
        // The first probe wakes the radio from an unknown state.
        let gaps = std::iter::once(Nanos::from_millis(1))
            .chain(std::iter::repeat_n(gap, times))
            .collect();
        let record = rig.run(&Action::Probes { interface, gaps })?;
        seen(&record);
        let most = Nanos(gap.0 + gap.0 / 20) + Nanos::from_millis(2);
        let echoes = record
            .echoes
            .iter()
            .filter(|(quiet, _)| (gap..most).contains(quiet));
        let rtts: Vec<f64> = echoes.map(|(_, rtt)| rtt.as_secs_f64()).collect();
        // The median needs more than half of the echoes.
        if rtts.len() * 2 <= times {
            return Err(Refusal::NoEchoes {
                sent: times,
                answered: rtts.len(),
            }
            .into());
        }
        Ok(rtts)
    };
    let mut quick = probe(FIRST_GAP, 9)?;
    quick.extend(probe(Nanos(2 * FIRST_GAP.0), 9)?);
    let (rtt_s, scatter) = (median(&quick), spread(&quick));
    let visible = LEAST_PROMOTION_S.max(LEAST_SIGNAL * scatter);
    let (mut awake, mut found) = (Nanos(2 * FIRST_GAP.0), None);
    for rung in 2..RUNGS {
        let gap = Nanos(FIRST_GAP.0 << rung);
        let rtts = probe(gap, if rung < 8 { 5 } else { 3 })?;
        let longer = median(&rtts) - rtt_s;
        if longer > visible {
            found = Some((gap, longer));
            break;
        }
        awake = gap;
    }
    let Some((mut asleep, promotion_s)) = found else {
        return Err(Refusal::NoPromotion {
            longest: awake,
            scatter_s: scatter,
        }
        .into());
    };
    let threshold = rtt_s + 0.5 * promotion_s;
    while asleep.saturating_sub(awake)
        > NARROW.max(Nanos::from_secs_f64(NARROW_SHARE * awake.as_secs_f64()))
    {
        let gap = Nanos((awake.0 + asleep.0) / 2);
        match median(&probe(gap, 3)?) > threshold {
            true => asleep = gap,
            false => awake = gap,
        }
    }
    Ok(Bracket {
        awake,
        asleep,
        promotion_s,
        rtt_s,
    })
}

/// Delay of a probe that finds the radio asleep: the Hodges–Lehmann shift (Annals of Mathematical
/// Statistics 34, 1963) with its distribution-free 95 % interval, s. Both groups must scatter
/// alike.
pub(super) fn promotion(echoes: &[(Nanos, Nanos)], bracket: &Bracket) -> Option<(f64, [f64; 2])> {
    let some = |keep: &dyn Fn(Nanos) -> bool| -> Vec<f64> {
        let all: Vec<f64> = echoes
            .iter()
            .filter(|(gap, _)| keep(*gap))
            .map(|(_, rtt)| rtt.as_secs_f64())
            .collect();
        let stride = all.len().div_ceil(MOST_ECHOES).max(1);
        all.into_iter().step_by(stride).collect()
    };
    let least = Nanos::from_millis(20);
    let quick = some(&|gap| gap >= least && gap <= bracket.awake);
    let slow = some(&|gap| gap >= bracket.asleep);
    let (n, m) = (quick.len() as f64, slow.len() as f64);
    let mut shifts: Vec<f64> = slow
        .iter()
        .flat_map(|slow| quick.iter().map(move |quick| slow - quick))
        .collect();
    shifts.sort_by(f64::total_cmp);
    let rank = n * m / 2.0 - NORMAL_95 * (n * m * (n + m + 1.0) / 12.0).sqrt();
    if rank < 1.0 {
        return None;
    }
    let low = rank.floor() as usize - 1;
    Some((
        median(&shifts),
        [shifts[low], shifts[shifts.len() - 1 - low]],
    ))
}
