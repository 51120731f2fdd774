//! Loss, rate and jitter compared with their closed forms. Seeds are fixed; bounds are five
//! standard errors.

use std::sync::Arc;

use crate::common::{delivered_at, ms, with_rate};
use joulepath_link::{Link, Outcome};
use joulepath_model::network::{DelaySteps, JitterSpec, LinkSpec, LossSpec, RateSpec};
use joulepath_model::units::{BitRate, Nanos, Probability};

const PACKETS: usize = 1 << 20;

fn p(probability: f64) -> Probability {
    Probability::new(probability).expect("in [0, 1]")
}

/// Loss (true) or delivery of many packets on an unlimited link.
fn losses(loss: LossSpec) -> Vec<bool> {
    let mut link = Link::new(
        &LinkSpec {
            loss,
            ..with_rate(RateSpec::Unlimited)
        },
        5,
        0,
    );
    (0..PACKETS)
        .map(|_| link.offer(Nanos::ZERO, 1500, false) == Outcome::WireLoss)
        .collect()
}

fn share(losses: &[bool]) -> f64 {
    losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
}

/// Share of neighbouring pairs that are both lost.
fn pairs(losses: &[bool]) -> f64 {
    losses.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / losses.len() as f64
}

/// Lengths of the runs of `value`.
fn runs(losses: &[bool], value: bool) -> Vec<usize> {
    losses
        .chunk_by(|a, b| a == b)
        .filter(|run| run[0] == value)
        .map(<[bool]>::len)
        .collect()
}

#[track_caller]
fn assert_share(measured: f64, expected: f64, independent_trials: f64) {
    let standard_error = (expected * (1.0 - expected) / independent_trials).sqrt();
    assert!(
        (measured - expected).abs() <= 5.0 * standard_error,
        "{measured}, expected {expected}"
    );
}

#[test]
fn bernoulli_loss_has_its_probability_and_no_memory() {
    for loss in [0.0001, 0.01, 0.1, 0.5, 0.99] {
        let losses = losses(LossSpec::Bernoulli(p(loss)));
        assert_share(share(&losses), loss, PACKETS as f64);
        assert_share(pairs(&losses), loss * loss, PACKETS as f64 / 2.0);
    }
}

#[test]
fn bernoulli_loss_of_none_and_all_is_exact() {
    assert!(losses(LossSpec::Bernoulli(p(0.0))).iter().all(|lost| !lost));
    assert!(losses(LossSpec::Bernoulli(p(1.0))).iter().all(|lost| *lost));
}

#[test]
fn gilbert_loss_comes_in_bursts_of_the_right_length() {
    let spec = LossSpec::GilbertElliott {
        enter_bad: p(0.02),
        leave_bad: p(0.25),
        loss_good: p(0.0),
        loss_bad: p(1.0),
    };
    let losses = losses(spec);
    // Long-run share 0.02/0.27. One independent trial per 1/(0.02 + 0.25) packets, halved by the
    // correlation.
    assert_share(share(&losses), spec.mean(), PACKETS as f64 * 0.27 / 2.0);
    assert!((spec.mean() - 0.02 / 0.27).abs() < 1e-12);
    // Bursts are geometric: mean 1/leave, standard deviation √(1 − leave)/leave.
    for (value, leave) in [(true, 0.25), (false, 0.02)] {
        let runs = runs(&losses, value);
        let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
        let standard_error = (1.0f64 - leave).sqrt() / leave / (runs.len() as f64).sqrt();
        assert!(
            (mean - 1.0 / leave).abs() < 5.0 * standard_error,
            "{mean}, expected {}",
            1.0 / leave
        );
        let ones = runs.iter().filter(|length| **length == 1).count() as f64 / runs.len() as f64;
        assert_share(ones, leave, runs.len() as f64);
    }
}

#[test]
fn gilbert_elliott_loss_has_its_mean_and_the_right_pairs() {
    let (enter, leave, good, bad) = (0.01, 0.05, 0.002, 0.4);
    let spec = LossSpec::GilbertElliott {
        enter_bad: p(enter),
        leave_bad: p(leave),
        loss_good: p(good),
        loss_bad: p(bad),
    };
    let losses = losses(spec);
    // The chain is in the bad state for a sixth of the packets: (5·0.002 + 0.4)/6.
    let expected = (5.0 * good + bad) / 6.0;
    assert!((spec.mean() - expected).abs() < 1e-12);
    assert_share(
        share(&losses),
        expected,
        PACKETS as f64 * (enter + leave) / 2.0,
    );
    // Both lost: in each state, a loss, then a loss in the same or the other state.
    let from_good = good * ((1.0 - enter) * good + enter * bad);
    let from_bad = bad * ((1.0 - leave) * bad + leave * good);
    let expected = (5.0 * from_good + from_bad) / 6.0;
    assert_share(
        pairs(&losses),
        expected,
        PACKETS as f64 * (enter + leave) / 2.0,
    );
}

#[test]
fn gilbert_elliott_is_exact_at_its_edges() {
    let chain = |enter, leave| LossSpec::GilbertElliott {
        enter_bad: p(enter),
        leave_bad: p(leave),
        loss_good: p(0.0),
        loss_bad: p(1.0),
    };
    assert!(
        losses(chain(0.0, 0.0)).iter().all(|lost| !lost),
        "never enters"
    );
    assert!(
        losses(chain(1.0, 0.0)).iter().all(|lost| *lost),
        "never leaves"
    );
    let alternating = losses(chain(1.0, 1.0));
    assert!(alternating.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn links_of_one_seed_lose_independently_and_each_link_reproducibly() {
    let spec = LinkSpec {
        loss: LossSpec::Bernoulli(p(0.5)),
        ..with_rate(RateSpec::Unlimited)
    };
    let fates = |seed, index| {
        let mut link = Link::new(&spec, seed, index);
        (0..64)
            .map(|_| link.offer(Nanos::ZERO, 1500, false) == Outcome::WireLoss)
            .collect::<Vec<_>>()
    };
    assert_eq!(fates(1, 0), fates(1, 0));
    assert_ne!(fates(1, 0), fates(1, 1));
    assert_ne!(fates(1, 0), fates(2, 0));
}

fn log_normal(mean_bps: u64) -> RateSpec {
    RateSpec::LogNormal {
        mean: BitRate::from_bps(mean_bps),
        deviation: 0.3,
        correlation: ms(100),
        interval: ms(50),
    }
}

#[test]
fn a_saturated_log_normal_link_carries_its_mean_rate() {
    let mut link = Link::new(&with_rate(log_normal(12_000_000)), 9, 0);
    // 20 000 s are 400 000 values, of which (1 − rho)/(1 + rho) = 0.245 are effectively independent
    // (rho = exp(−1/2)): standard error 0.3/√98 000 = 0.001 of the mean.
    const SECONDS: u64 = 20_000;
    let mut carried_bits = 0.0;
    for i in 0..SECONDS * 500 {
        while let Outcome::Delivered { .. } = link.offer(ms(2 * i), 15_000, false) {
            carried_bits += 120_000.0;
        }
    }
    let ratio = carried_bits / (12e6 * SECONDS as f64);
    assert!((ratio - 1.0).abs() < 0.005, "{ratio}");
}

#[test]
fn the_rate_over_time_does_not_depend_on_what_was_sent() {
    let mut busy = Link::new(&with_rate(log_normal(12_000_000)), 3, 0);
    let mut idle = busy.clone();
    for i in 0..1_000 {
        busy.offer(ms(i), 1500, false);
    }
    for i in 2_000..2_100 {
        assert_eq!(
            busy.offer(ms(10 * i), 1500, false),
            idle.offer(ms(10 * i), 1500, false)
        );
    }
}

/// Deviations from the delay, ms, of packets offered once per second.
fn jitters(jitter: JitterSpec, delay: Nanos) -> Vec<f64> {
    let spec = LinkSpec {
        jitter: Some(jitter),
        delay,
        ..with_rate(RateSpec::Unlimited)
    };
    let mut link = Link::new(&spec, 4, 0);
    let offered = (1..1u64 << 18).map(Nanos::from_secs);
    offered
        .map(|now| {
            (delivered_at(link.offer(now, 1500, false)).0 as f64 - (now + delay).0 as f64) / 1e6
        })
        .collect()
}

#[test]
fn jitter_has_the_given_mean_deviation_and_correlation() {
    for (correlation, rho) in [(Nanos::ZERO, 0.0), (Nanos::from_secs(2), (-0.5f64).exp())] {
        let values = jitters(
            JitterSpec {
                deviation: ms(3),
                correlation,
            },
            ms(100),
        );
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| x * x).sum::<f64>() / n;
        let lag_one = values.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / n / variance;
        // Standard errors at rho = exp(−1/2): 3·√(4.08/2¹⁸) = 0.012 for the mean, √(2·2.16/2¹⁸) =
        // 0.004 for the variance.
        assert!(mean.abs() < 0.06, "mean {mean}");
        assert!((variance / 9.0 - 1.0).abs() < 0.02, "variance {variance}");
        assert!(
            (lag_one - rho).abs() < 0.01,
            "correlation {lag_one}, expected {rho}"
        );
    }
}

#[test]
fn the_delay_follows_its_steps_and_no_packet_overtakes_another() {
    let steps = [(0, 20), (100, 50), (200, 10)];
    let delays = DelaySteps::new(None, steps.map(|(at, delay)| (ms(at), ms(delay))).into());
    let spec = LinkSpec {
        delay: delays.least(),
        delays: Some(Arc::new(delays)),
        ..with_rate(RateSpec::Unlimited)
    };
    let mut link = Link::new(&spec, 1, 0);
    let mut arrival_ms = |at| delivered_at(link.offer(ms(at), 1500, false)).0 / 1_000_000;
    // The delay is that of the departure. The packets of 200 and 210 ms wait for the one of 190 ms.
    let offered = [0, 99, 100, 190, 200, 210, 231, 900];
    let arrives = [20, 119, 150, 240, 240, 240, 241, 910];
    assert_eq!(offered.map(&mut arrival_ms), arrives);
}

#[test]
fn the_delay_is_never_negative() {
    let values = jitters(
        JitterSpec {
            deviation: ms(3),
            correlation: Nanos::ZERO,
        },
        Nanos::ZERO,
    );
    // Without a delay, the negative half of the distribution is cut off.
    assert!(values.iter().all(|x| *x >= 0.0));
    let cut = values.iter().filter(|x| **x == 0.0).count() as f64 / values.len() as f64;
    assert_share(cut, 0.5, values.len() as f64);
}
