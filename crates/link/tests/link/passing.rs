//! Policers, reordering and aggregation in closed form.

use joulepath_link::{Exit, Link, Outcome};
use joulepath_model::network::{
    AggregateSpec, LinkSpec, PolicerSpec, QueueLimit, RateSpec, ReorderDepth, ReorderSpec,
};
use joulepath_model::units::{BitRate, Bytes, Nanos, Probability};

use crate::common::{delivered_at, ms, with_rate};

/// Offers packets of 1000 B at the times `offers`, ns, to a link that keeps them. Returns number
/// and time of each packet in order of departure.
fn through(spec: &LinkSpec, seed: u64, offers: impl IntoIterator<Item = u64>) -> Vec<(usize, u64)> {
    let mut link = Link::new(spec, seed, 0);
    let (mut names, mut out) = (vec![], vec![]);
    let mut take = |link: &mut Link, names: &Vec<usize>, until: u64| {
        while let Some(due) = link.due().filter(|due| due.0 <= until) {
            while let Some(Exit { number, outcome }) = link.take(due) {
                assert_eq!(delivered_at(outcome), due);
                out.push((names[number as usize], due.0));
            }
        }
    };
    for (n, at) in offers.into_iter().enumerate() {
        take(&mut link, &names, at);
        let Outcome::Held(number) = link.offer(Nanos(at), 1000, false) else {
            panic!("the link keeps every packet")
        };
        if names.len() <= number as usize {
            names.resize(number as usize + 1, 0);
        }
        names[number as usize] = n;
    }
    take(&mut link, &names, u64::MAX);
    out
}

fn policer(kbps: u64, burst: u64) -> LinkSpec {
    let policer = PolicerSpec {
        rate: BitRate::from_bps(kbps * 1000),
        burst: Bytes(burst),
    };
    LinkSpec {
        policer: Some(policer),
        ..with_rate(RateSpec::Unlimited)
    }
}

/// 8 Mbit/s are 1000 B per millisecond. A full bucket of 3000 B passes three packets at once, then
/// one per millisecond.
#[test]
fn a_policer_counts_its_tokens() {
    let mut link = Link::new(&policer(8_000, 3_000), 1, 0);
    let mut passes = |at_us: u64, size| {
        let outcome = link.offer(Nanos::from_micros(at_us), size, false);
        assert!(
            outcome == Outcome::QueueDrop || delivered_at(outcome) == Nanos::from_micros(at_us)
        );
        outcome != Outcome::QueueDrop
    };
    assert_eq!(
        [0, 0, 0, 0].map(|at| passes(at, 1000)),
        [true, true, true, false]
    );
    // 999 B after 999 µs; dropped packets take no tokens.
    assert!(!passes(999, 1000));
    assert!(passes(999, 999));
    assert!(!passes(999, 1));
    assert!(passes(1000, 1));
    // Ten milliseconds would give 10,000 B, but the bucket holds 3000.
    assert_eq!(
        [11_000; 4].map(|at| passes(at, 1000)),
        [true, true, true, false]
    );
}

/// Over any time a policer passes exactly burst + rate × time, whatever is offered.
#[test]
fn a_policer_passes_its_rate_and_its_burst() {
    for (kbps, burst, gap_ns) in [
        (5_000, 64_000, 100_000),
        (1_000, 1_500, 10_000),
        (977, 12_345, 333_333),
    ] {
        let mut link = Link::new(&policer(kbps, burst), 1, 0);
        let end_ns = 10_000_000_000_u64;
        let passed = (0..=end_ns / gap_ns)
            .filter(|n| link.offer(Nanos(n * gap_ns), 1000, false) != Outcome::QueueDrop);
        let bytes = passed.count() as u64 * 1000;
        let most = burst + kbps * 1000 / 8 * 10;
        assert!(
            bytes <= most && bytes + 1000 + kbps * gap_ns / 8_000_000 >= most,
            "{bytes} of {most}"
        );
    }
}

fn reordering(share: f64, depth: ReorderDepth) -> LinkSpec {
    let share = Probability::new(share).unwrap();
    LinkSpec {
        reorder: Some(ReorderSpec { share, depth }),
        delay: ms(10),
        ..with_rate(RateSpec::Unlimited)
    }
}

/// Reordering extent of each reordered packet (RFC 4737, sections 3.3 and 4.2.2): the number of
/// earlier packets that were sent later, counted from the first of them.
fn extents(out: &[(usize, u64)]) -> Vec<usize> {
    let mut highest = None;
    let mut late = vec![];
    for (at, &(n, _)) in out.iter().enumerate() {
        if highest.is_none_or(|highest| n > highest) {
            highest = Some(n);
        } else {
            let first_later = out.iter().position(|&(other, _)| other > n).unwrap();
            late.push(at - first_later);
        }
    }
    late
}

/// One packet in a thousand, held back until seven have passed it.
#[test]
fn a_depth_in_packets_is_the_reordering_extent() {
    let at_most = ms(100);
    let spec = reordering(
        0.001,
        ReorderDepth::Packets {
            packets: 7,
            at_most,
        },
    );
    let count = 100_000;
    let out = through(&spec, 4, (0..count).map(|n| n * 100_000));
    assert_eq!(out.len(), count as usize);
    let late = extents(&out);
    // Two packets held back at the same time overtake each other; all others have exactly this
    // extent.
    let exact = late.iter().filter(|extent| **extent == 7).count();
    assert!(exact * 100 >= late.len() * 97, "{exact} of {}", late.len());
    assert!(
        late.iter().all(|extent| (6..=9).contains(extent)),
        "{late:?}"
    );
    // 100 packets, standard deviation 10.
    assert!((60..=140).contains(&late.len()), "{}", late.len());
    // All other packets arrive exactly after the delay.
    let on_time = out
        .iter()
        .filter(|&&(n, at)| at == n as u64 * 100_000 + 10_000_000)
        .count();
    assert_eq!(on_time, out.len() - late.len());
}

/// If no packet follows, a held packet arrives after the longest time.
#[test]
fn a_held_packet_arrives_after_the_longest_time() {
    let spec = reordering(
        0.5,
        ReorderDepth::Packets {
            packets: 3,
            at_most: ms(40),
        },
    );
    let out = through(&spec, 4, (0..200).map(|n| n * 1_000_000_000));
    let times: Vec<u64> = out
        .iter()
        .map(|&(n, at)| at - n as u64 * 1_000_000_000)
        .collect();
    assert!(
        times
            .iter()
            .all(|time| [10_000_000, 50_000_000].contains(time)),
        "{times:?}"
    );
    let held = times.iter().filter(|time| **time == 50_000_000).count();
    assert!((65..=135).contains(&held), "{held}");
}

/// A depth of 1 ms with a packet every 0.3 ms: three packets overtake, and every held packet is 1
/// ms late.
#[test]
fn a_depth_in_time_delays_by_that_time() {
    let spec = reordering(0.01, ReorderDepth::Time(ms(1)));
    let count = 200_000;
    let out = through(&spec, 8, (0..count).map(|n| n * 300_000));
    let late: Vec<u64> = out
        .iter()
        .map(|&(n, at)| at - n as u64 * 300_000 - 10_000_000)
        .collect();
    let held = late.iter().filter(|late| **late == 1_000_000).count();
    assert_eq!(
        late.iter().filter(|late| **late == 0).count() + held,
        out.len()
    );
    // 1 % of 200,000: 2000, standard deviation 44.5.
    assert!((1780..=2220).contains(&held), "{held}");
    let extents = extents(&out);
    let three = extents.iter().filter(|extent| **extent == 3).count();
    assert!(
        three * 100 >= extents.len() * 94,
        "{three} of {}",
        extents.len()
    );
}

fn aggregating(period: Nanos, size: QueueLimit) -> LinkSpec {
    LinkSpec {
        aggregate: Some(AggregateSpec { period, size }),
        ..with_rate(RateSpec::Unlimited)
    }
}

/// A packet every 0.1 ms and a period of 4 ms: bursts of 40 every 4 ms. A packet waits for the rest
/// of its period, which is uniform: mean 2 ms, deviation 4 ms/√12 = 1.155 ms.
#[test]
fn bursts_leave_once_per_period() {
    let spec = aggregating(ms(4), QueueLimit::Packets(1000));
    let out = through(&spec, 3, (0..100_000).map(|n| n * 100_000));
    assert!(
        out.iter().enumerate().all(|(at, &(n, _))| at == n),
        "the order is kept"
    );
    let mut instants: Vec<u64> = out.iter().map(|&(_, at)| at).collect();
    let waits: Vec<f64> = out
        .iter()
        .map(|&(n, at)| (at - n as u64 * 100_000) as f64 / 1e6)
        .collect();
    instants.dedup();
    assert!(
        instants
            .windows(2)
            .all(|pair| pair[1] - pair[0] == 4_000_000)
    );
    let inner = &instants[1..instants.len() - 1];
    assert!(inner.iter().all(|at| {
        out.iter()
            .skip_while(|(_, t)| t < at)
            .take_while(|(_, t)| t == at)
            .count()
            == 40
    }));
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / waits.len() as f64;
    // A grid of 40 times: its mean is within half a step of 2 ms, whatever the phase of the period.
    assert!((mean - 2.0).abs() <= 0.0501, "{mean} ms");
    assert!(
        (variance.sqrt() - 4.0 / 12f64.sqrt()).abs() < 0.01,
        "{}",
        variance.sqrt()
    );
    // Another seed, another phase.
    let other = through(&spec, 4, (0..100).map(|n| n * 100_000));
    assert_ne!(other[0].1, out[0].1);
}

/// Of ten packets that arrive at once, three bursts of three leave at once; the last packet waits
/// for its period.
#[test]
fn a_full_burst_does_not_wait() {
    let spec = aggregating(ms(4), QueueLimit::Packets(3));
    let out = through(&spec, 3, [ms(8).0; 10]);
    assert_eq!(out.iter().filter(|(_, at)| *at == ms(8).0).count(), 9);
    assert!(out[9].1 > ms(8).0 && out[9].1 <= ms(12).0);
    // 1000 B each: the third packet reaches the size.
    let bytes = through(
        &aggregating(ms(4), QueueLimit::Bytes(Bytes(2500))),
        3,
        [ms(8).0; 10],
    );
    assert_eq!(bytes, out);
    // A packet every millisecond, four per burst: with a long period they wait 3, 2, 1 and 0 ms.
    let slow = through(
        &aggregating(ms(1_000_000), QueueLimit::Packets(4)),
        3,
        (0..40).map(|n| ms(n).0),
    );
    assert!(
        slow.iter()
            .all(|&(n, at)| at == ms((n as u64 / 4) * 4 + 3).0),
        "{slow:?}"
    );
}

/// Reordering and aggregation together: packets overtake within their burst.
#[test]
fn reordered_packets_are_aggregated_too() {
    let reorder = Some(ReorderSpec {
        share: Probability::new(0.1).unwrap(),
        depth: ReorderDepth::Packets {
            packets: 2,
            at_most: ms(50),
        },
    });
    let spec = LinkSpec {
        reorder,
        ..aggregating(ms(4), QueueLimit::Packets(8))
    };
    let out = through(&spec, 5, (0..8000).map(|n| n * 100_000));
    assert_eq!(out.len(), 8000);
    let bursts = out.chunk_by(|a, b| a.1 == b.1);
    assert!(bursts.clone().all(|burst| burst.len() <= 8));
    assert!(bursts.filter(|burst| burst.len() == 8).count() > 900);
    assert!(extents(&out).len() > 500);
}
