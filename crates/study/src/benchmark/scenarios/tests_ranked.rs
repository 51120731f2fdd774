use joulepath_control::limit::limits;
use joulepath_model::network::{LinkSpec, LossSpec, QueueLimit, RateSpec};
use joulepath_model::scenario::{Scenario, Workload, load};
use joulepath_model::units::Nanos;

use super::ranges::{
    BUFFER_BDP, COMPETITORS, FILE_BYTES, LEAST_QUEUE, LOSS, MESSAGE_BYTES, QUEUES, RADIOS,
    REQUEST_BYTES,
};
use joulepath_report::benchmark::Kind;

use super::*;

const SEEDS: std::ops::Range<u64> = 0..12;

fn parsed(draw: &Random) -> Scenario {
    load(&draw.text, &|_| Err("no traces".to_owned()))
        .unwrap_or_else(|errors| panic!("{}: {errors}\n{}", draw.name, draw.text))
}

/// Scenarios of twelve seeds.
fn all() -> impl Iterator<Item = (Family, Random)> {
    let numbers = |(family, seed)| {
        (1..=RANKED)
            .filter_map(move |number| of_seed(family, seed, number))
            .map(move |d| (family, d))
    };
    SEEDS
        .flat_map(|seed| {
            Family::of_kind(Kind::Ranked)
                .iter()
                .map(move |&family| (family, seed))
        })
        .flat_map(numbers)
}

#[test]
fn scenarios_never_change_and_seed_and_number_select_them() {
    let text = |seed, number| of_seed(Family::Bulk, seed, number).unwrap().text;
    assert_eq!(text(1, 1), text(1, 1));
    // Without the comment at the top.
    let body = |seed, number| text(seed, number).split_once('\n').unwrap().1.to_owned();
    assert!(body(1, 1) != body(1, 2) && body(1, 1) != body(2, 1));
    assert!(of_seed(Family::Papers, 1, 1).is_none());
}

/// Within the range, with half a percent of tolerance for rounding to three significant digits.
fn is_within(value: f64, (least, most): (f64, f64)) -> bool {
    (0.995 * least..=1.005 * most).contains(&value)
}

#[test]
fn every_random_scenario_has_a_limit_within_its_ranges() {
    let mut seen = 0;
    for (family, draw) in all() {
        let scenario = parsed(&draw);
        seen += 1;
        let say = || format!("{}\n{}", draw.name, draw.text);
        assert!((2..=3).contains(&scenario.paths.len()), "{}", say());
        assert!(
            limits(&scenario)
                .iter()
                .all(|limit| limit.bits_per_joule > 0.0),
            "{}",
            say()
        );
        assert!(!limits(&scenario).is_empty(), "{}", say());
        assert!(
            scenario.duration > scenario.warm_up + Nanos::from_secs(15),
            "{}",
            say()
        );
        for path in &scenario.paths {
            let radio = RADIOS.iter().find(|radio| radio.name == path.name).unwrap();
            let rtt: f64 = path
                .down
                .iter()
                .chain(&path.up)
                .map(|&l| scenario.links[l].delay.as_secs_f64())
                .sum();
            // A bottleneck has the first radio's RTT; the other radios' own links add up to half of
            // theirs.
            let most = if family == Family::Shared {
                250.0
            } else {
                radio.rtt.1
            };
            assert!(
                is_within(1e3 * rtt, (radio.rtt.0.min(8.0), most)),
                "{rtt} {}",
                say()
            );
        }
        for link in scenario
            .links
            .iter()
            .filter(|link| link.rate != RateSpec::Unlimited)
        {
            assert_link(link, &say);
        }
        assert_workload(family, &scenario, &say);
    }
    assert_eq!(seen, SEEDS.count() * 7 * RANKED as usize);
}

fn assert_link(link: &LinkSpec, say: &dyn Fn() -> String) {
    let bps = match &link.rate {
        RateSpec::Steps(steps) => steps[0].1.bps() as f64,
        other => other.mean_bps(Nanos::from_secs(1)),
    };
    assert!(is_within(bps, (0.5e6, 150e6)), "{bps} {}", say());
    // Both directions have the same delay.
    let bdp = bps * 2.0 * link.delay.as_secs_f64() / 12_000.0;
    let QueueLimit::Packets(queue) = link.queue else {
        panic!("{}", say())
    };
    let factor = f64::from(queue) / bdp;
    let rounding = 1.0 / bdp;
    let in_range = (BUFFER_BDP.0 - rounding..=1.01 * BUFFER_BDP.1 + rounding).contains(&factor);
    // A managed queue has Linux's default capacity.
    let is_right = if link.aqm.is_some() {
        queue >= 1000
    } else {
        in_range || queue == LEAST_QUEUE
    };
    assert!(is_right, "{queue} packets of {bdp} {}", say());
    if link.loss != LossSpec::None {
        assert!(
            is_within(link.loss.mean(), LOSS),
            "{} {}",
            link.loss.mean(),
            say()
        );
    }
}

fn assert_workload(family: Family, scenario: &Scenario, say: &dyn Fn() -> String) {
    let fits = match (family, scenario.connections[0].workload) {
        (Family::Bulk, Workload::Bulk) => true,
        (Family::Files, Workload::File { size }) => is_within(size.0 as f64, FILE_BYTES),
        (Family::Streams, Workload::Stream { .. }) => true,
        (Family::Requests, Workload::Requests { size, .. }) => {
            is_within(size.0 as f64, REQUEST_BYTES)
        }
        (Family::Messages, Workload::Messages { size, .. }) => {
            is_within(size.0 as f64, MESSAGE_BYTES)
        }
        (Family::Mobility, Workload::Bulk | Workload::File { .. } | Workload::Stream { .. }) => {
            let changes = |link: &LinkSpec| {
                !matches!(link.rate, RateSpec::Constant(_)) || !link.outages.is_empty()
            };
            scenario.links.iter().any(changes)
        }
        (Family::Shared, Workload::Bulk) => {
            let counts = scenario
                .competitors
                .iter()
                .map(|competitor| u64::from(competitor.count));
            !scenario.competitors.is_empty()
                && counts.max().is_some_and(|count| count <= COMPETITORS)
        }
        _ => false,
    };
    assert!(fits, "{}", say());
}

#[test]
fn all_kinds_and_ranges_occur() {
    let texts: Vec<String> = all().map(|(_, draw)| draw.text).collect();
    let some = |what: &str| texts.iter().any(|text| text.contains(what));
    for queue in QUEUES {
        assert!(
            some(&format!("# Queues: {}.", queue.name)),
            "{}",
            queue.name
        );
    }
    for radio in &RADIOS {
        assert!(
            some(&format!("name = \"{}\"", radio.name)) && some(radio.rrc),
            "{}",
            radio.name
        );
    }
    for what in [
        "per_mbps",
        "huang2012-linear",
        "enter_bad",
        "loss = \"",
        "outages",
        "steps",
        "deviation",
        "off = ",
    ] {
        assert!(some(what), "{what}");
    }
    for what in [
        "cc = \"reno\"",
        "cc = \"cubic\"",
        "one shared bottleneck",
        "two shared bottlenecks",
        "TCPs on one path",
    ] {
        assert!(some(what), "{what}");
    }
}
