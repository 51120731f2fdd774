//! Fates that are asked for before a packet arrives.

use joulepath_link::{Exit, Link, Outcome};
use joulepath_model::aqm::AqmSpec;
use joulepath_model::network::{
    AggregateSpec, LinkSpec, QueueLimit, RateSpec, ReorderDepth, ReorderSpec,
};
use joulepath_model::units::{BitRate, Nanos, Probability};

use crate::common::{ms, with_rate};
use crate::managed::{CODEL, FQ, PIE, dualpi2};

/// Fates of packets of 1000 B offered at the times `offers`, ns: asked when they are due, or ahead.
fn fates(spec: &LinkSpec, offers: &[u64], ahead: bool) -> Vec<Outcome> {
    let mut link = Link::new(spec, 7, 0);
    let (mut names, mut fates) = (vec![], vec![Outcome::WireLoss; offers.len()]);
    let mut exits = vec![];
    let mut take = |link: &mut Link, names: &[usize], now: Nanos| {
        let due = if ahead {
            link.take_ahead(now, &mut exits)
        } else {
            exits.extend(std::iter::from_fn(|| link.take(now)));
            link.due()
        };
        exits
            .drain(..)
            .for_each(|Exit { number, outcome }| fates[names[number as usize]] = outcome);
        due
    };
    let mut due = None;
    for (n, &at) in offers.iter().enumerate() {
        while let Some(before) = due.filter(|due: &Nanos| due.0 <= at) {
            due = take(&mut link, &names, before);
        }
        if let Outcome::Held(number) = link.offer_of(n as u64 % 3, Nanos(at), 1000, true) {
            names.resize(names.len().max(number as usize + 1), 0);
            names[number as usize] = n;
        }
        due = take(&mut link, &names, Nanos(at));
    }
    while let Some(at) = due {
        due = take(&mut link, &names, at);
    }
    fates
}

/// A packet has the same fate, to the nanosecond, whether the link is asked when it arrives or
/// ahead.
#[test]
fn fates_do_not_depend_on_when_the_link_is_asked() {
    let rate = with_rate(RateSpec::Constant(BitRate::from_bps(8_000_000)));
    let queue = QueueLimit::Packets(60);
    let packets = ReorderDepth::Packets {
        packets: 3,
        at_most: ms(9),
    };
    let share = Probability::new(0.2).unwrap();
    let aggregate = Some(AggregateSpec {
        period: ms(4),
        size: QueueLimit::Packets(5),
    });
    // Bursts of forty packets, 0.7 ms apart, with pauses of 5 ms: 9.7 Mbit/s.
    let offers: Vec<u64> = (0..4000)
        .map(|n| n * 700_000 + n / 40 * 5_000_000)
        .collect();
    for aqm in [
        None,
        Some(AqmSpec::Codel(CODEL)),
        Some(AqmSpec::FqCodel(FQ)),
        Some(AqmSpec::Pie(PIE)),
        Some(dualpi2()),
    ] {
        for depth in [None, Some(packets), Some(ReorderDepth::Time(ms(2)))] {
            for aggregate in [None, aggregate] {
                let reorder = depth.map(|depth| ReorderSpec { share, depth });
                let spec = LinkSpec {
                    aqm,
                    queue,
                    reorder,
                    aggregate,
                    delay: ms(10),
                    ..rate.clone()
                };
                if spec.aqm.is_none() && reorder.is_none() && aggregate.is_none() {
                    continue;
                }
                let when_due = fates(&spec, &offers, false);
                assert!(
                    when_due
                        .iter()
                        .any(|fate| matches!(fate, Outcome::Delivered { .. }))
                );
                assert_eq!(when_due, fates(&spec, &offers, true), "{spec:?}");
            }
        }
    }
}
