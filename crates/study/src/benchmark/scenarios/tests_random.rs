use std::collections::BTreeSet;

use joulepath_control::limit::limits;
use joulepath_link::trace;
use joulepath_model::network::{LinkSpec, LossSpec, RateSpec};
use joulepath_model::scenario::{Direction, Scenario, Workload, load};
use joulepath_model::units::Nanos;

use joulepath_report::benchmark::Kind;

use super::*;

fn parsed(draw: &Random) -> Scenario {
    let read = |name: &str| {
        let (known, text) = draw.trace.as_ref().ok_or("no trace")?;
        assert_eq!(known, name);
        trace::parse(text, name).map_err(|error| error.to_string())
    };
    load(&draw.text, &read).unwrap_or_else(|errors| panic!("{}: {errors}\n{}", draw.name, draw.text))
}

/// The first `draws` scenarios of each set.
fn all(family: Family, draws: u32) -> Vec<(Random, Scenario)> {
    let of_range = |set| (1..=draws).filter_map(move |index| of_set(family, set, index));
    let drawn = Set::ALL.into_iter().flat_map(of_range);
    drawn.map(|draw| (parsed(&draw), draw)).map(|(scenario, draw)| (draw, scenario)).collect()
}

#[test]
fn scenarios_never_change_and_sets_are_disjoint() {
    let body = |set, index| {
        let draw = of_set(Family::F1Bulk, set, index).unwrap();
        // Without the two lines of comment at the top.
        draw.text.splitn(3, '\n').last().unwrap().to_owned()
    };
    assert_eq!(body(Set::Train, 3), body(Set::Train, 3));
    let texts: BTreeSet<String> =
        Set::ALL.into_iter().flat_map(|set| (1..=50).map(move |index| body(set, index))).collect();
    assert_eq!(texts.len(), 150);
    assert!(of_set(Family::Bulk, Set::Train, 1).is_none() && of_seed(Family::F1Bulk, 1, 1).is_none());
}

#[test]
fn every_random_scenario_has_a_limit_and_radios_within_the_ranges() {
    for &family in Family::of_kind(Kind::Random) {
        for (draw, scenario) in all(family, 30) {
            let say = || format!("{}\n{}", draw.name, draw.text);
            let users = scenario.connections.len();
            assert!((2..=4 * users).contains(&scenario.paths.len()), "{}", say());
            assert!(!limits(&scenario).is_empty(), "{}", say());
            for link in &scenario.links {
                assert_link(link, family, &say);
            }
            let bytes = scenario.connections[0].receive_buffer.0;
            assert!([64, 256, 1024, 6144].contains(&(bytes >> 10)), "{}", say());
            assert!(scenario.connections[0].send_buffer.0 >= bytes, "{}", say());
            assert!(scenario.duration >= scenario.warm_up + Nanos::from_secs(20), "{}", say());
        }
    }
}

fn assert_link(link: &LinkSpec, family: Family, say: &dyn Fn() -> String) {
    if let RateSpec::Constant(rate) = link.rate {
        // Access links have up to twice the rate of the bottleneck before them.
        let most = if family == Family::F5Shared { 400e6 } else { 200e6 };
        let least = if family == Family::F5Shared { 0.5e6 } else { 1e6 };
        assert!((0.995 * least..=1.005 * most).contains(&(rate.bps() as f64)), "{}", say());
    }
    assert!(link.delay <= Nanos::from_millis(1000), "{}", say());
    let most = if family == Family::F9Adverse { 0.2 } else { 0.1 };
    assert!(link.loss.mean() <= 1.01 * most, "{} {}", link.loss.mean(), say());
    if let Some(policer) = link.policer {
        assert!(policer.burst.0 >= 15_000, "{}", say());
    }
}

#[test]
fn each_family_matches_its_description() {
    for (_, scenario) in all(Family::F1Bulk, 20) {
        assert!(matches!(scenario.connections[0].workload, Workload::Bulk));
        assert!([60, 300].map(Nanos::from_secs).contains(&scenario.duration));
    }
    for (draw, scenario) in all(Family::F2File, 20) {
        let Workload::File { size } = scenario.connections[0].workload else { panic!("{}", draw.text) };
        assert!((9_900..=201_000_000).contains(&size.0), "{}", draw.text);
    }
    for (draw, scenario) in all(Family::F4Competitors, 20).into_iter().chain(all(Family::F7Shallow, 20)) {
        let endless = scenario.competitors.iter().filter(|tcp| tcp.size.is_none());
        assert!(endless.map(|tcp| tcp.count).sum::<u32>() > 0, "{}", draw.text);
    }
    for (draw, scenario) in all(Family::F8Within, 20) {
        assert!((2..=5).contains(&scenario.connections.len()), "{}", draw.text);
        assert!(scenario.connections.iter().all(|user| user.paths.len() == 2), "{}", draw.text);
    }
    for (draw, scenario) in all(Family::F10Signal, 20) {
        let [wifi, radio] = &scenario.paths[..] else { panic!("{}", draw.text) };
        assert!(wifi.signal.is_none() && radio.signal.is_some(), "{}", draw.text);
        assert!(radio.energy.radio().is_some(), "{}", draw.text);
    }
    // Uploads lose packets on the way up.
    let up = all(Family::F1Bulk, 60);
    let up = up.iter().filter(|(_, scenario)| scenario.connections[0].direction == Direction::Upload);
    let lossy = |links: &[usize], scenario: &Scenario| {
        links.iter().any(|&link| scenario.links[link].loss != LossSpec::None)
    };
    let mut seen = 0;
    for (draw, scenario) in up {
        seen += scenario.paths.iter().filter(|path| lossy(&path.up, scenario)).count();
        assert!(scenario.paths.iter().all(|path| !lossy(&path.down, scenario)), "{}", draw.text);
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn twins_differ_only_in_name_and_energy() {
    let twins: Vec<(Random, Scenario)> =
        all(Family::F5Shared, 40).into_iter().filter(|(draw, _)| draw.text.contains("twins")).collect();
    assert!(twins.len() > 20, "{}", twins.len());
    for (draw, scenario) in twins {
        let of = |path: usize| {
            let link = scenario.links[scenario.paths[path].down[0]].clone();
            LinkSpec { name: String::new(), ..link }
        };
        assert!((1..scenario.paths.len()).all(|path| of(path) == of(0)), "{}", draw.text);
    }
}

#[test]
fn all_kinds_and_ranges_occur() {
    let mut texts = String::new();
    for &family in Family::of_kind(Kind::Random) {
        all(family, 60).iter().for_each(|(draw, _)| texts += &draw.text);
    }
    for what in [
        "enter_bad",
        "loss = \"10 %\"",
        "codel",
        "fq-codel",
        "pie",
        "policer",
        "ecn_threshold",
        "jitter = {",
        "jitter = \"",
        "upload",
        "lte-2021",
        "lte-huang2012",
        "3g-huang2012",
        "5g-lowband",
        "5g-mmwave",
        "wifi-huang2012",
        "\"always\"",
        "\"open\"",
        "shared_base",
        "64 KiB",
        "6144 KiB",
        "mmwave",
        "which come later",
        "which are there before",
        "web-",
        "access links",
        "twins",
        "one bottleneck,",
        "with outages",
        "with steps",
        "fading",
        "by a trace",
        "messages",
        "off = ",
        "a standing queue",
        "ACKs are lost",
        "ACKs come in bursts",
        "delayed_ack = \"40 ms\"",
        "delayed_ack = \"200 ms\"",
        "queue = \"1 packets\"",
        "300 s",
        "signal = { steps",
        "signal = { distance_m",
        "spacing_m",
        "by_signal",
        "5g-sa-2021",
        "5g-nsa-2021",
    ] {
        assert!(texts.contains(what), "{what}");
    }
}

/// The trace has 2900 lines in 4 s: 2900 · 1504 · 8 / 4 = 8.723 Mbit/s. A different start does not change
/// that.
#[test]
fn a_rotated_trace_keeps_its_length_and_rate() {
    assert!((trace_bps() / 8.723e6 - 1.0).abs() < 1e-3, "{}", trace_bps());
    for offset in [0, 1, 1234, 2899, 1 << 31] {
        let text = rotated(offset);
        let lines: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!((lines.len(), *lines.last().unwrap()), (2900, 4000), "{offset}");
        assert!(lines.is_sorted() && lines[0] >= 1);
    }
    assert_ne!(rotated(0), rotated(1234));
}
