use std::collections::BTreeSet;

use joulepath_control::limit::limits;
use joulepath_link::trace;
use joulepath_model::energy::Traffic;
use joulepath_model::network::{LinkSpec, LossSpec, RateSpec};
use joulepath_model::scenario::{Direction, PathSpec, Scenario, Workload, load};
use joulepath_model::units::Nanos;

use joulepath_report::benchmark::Kind;

use super::*;

fn parsed(draw: &Random) -> Scenario {
    let read = |name: &str| {
        let (known, text) = draw.trace.as_ref().ok_or("no trace")?;
        assert_eq!(known, name);
        trace::parse(text, name).map_err(|error| error.to_string())
    };
    load(&draw.text, &read)
        .unwrap_or_else(|errors| panic!("{}: {errors}\n{}", draw.name, draw.text))
}

/// The first `draws` scenarios of each set.
fn all(family: Family, draws: u32) -> Vec<(Random, Scenario)> {
    let of_range = |set| (1..=draws).filter_map(move |index| of_set(family, set, index));
    let drawn = Set::ALL.into_iter().flat_map(of_range);
    drawn
        .map(|draw| (parsed(&draw), draw))
        .map(|(scenario, draw)| (draw, scenario))
        .collect()
}

#[test]
fn scenarios_never_change_and_sets_are_disjoint() {
    let body = |set, index| {
        let draw = of_set(Family::F1Bulk, set, index).unwrap();
        // Without the two lines of comment at the top.
        draw.text.splitn(3, '\n').last().unwrap().to_owned()
    };
    assert_eq!(body(Set::Train, 3), body(Set::Train, 3));
    let texts: BTreeSet<String> = Set::ALL
        .into_iter()
        .flat_map(|set| (1..=50).map(move |index| body(set, index)))
        .collect();
    assert_eq!(texts.len(), 150);
    assert!(
        of_set(Family::Bulk, Set::Train, 1).is_none() && of_seed(Family::F1Bulk, 1, 1).is_none()
    );
}

#[test]
fn every_random_scenario_has_a_limit_and_devices_within_the_ranges() {
    for &family in Family::of_kind(Kind::Random) {
        let mut bases = vec![];
        for (draw, scenario) in all(family, 30) {
            let say = || format!("{}\n{}", draw.name, draw.text);
            let users = scenario.connections.len();
            assert!((2..=4 * users).contains(&scenario.paths.len()), "{}", say());
            assert!(!limits(&scenario).is_empty(), "{}", say());
            for link in &scenario.links {
                assert_link(link, family, &say);
            }
            for path in &scenario.paths {
                assert_power(path, &scenario, &say);
            }
            bases.push(scenario.device.shared_base.0);
            let bytes = scenario.connections[0].receive_buffer.0;
            assert!([64, 256, 1024, 6144].contains(&(bytes >> 10)), "{}", say());
            assert!(scenario.connections[0].send_buffer.0 >= bytes, "{}", say());
            assert!(
                scenario.duration >= scenario.warm_up + Nanos::from_secs(20),
                "{}",
                say()
            );
        }
        // Half of the devices have a base, of up to 4 W.
        let with = bases.iter().filter(|&&watts| watts > 0.0).count() as f64 / bases.len() as f64;
        let most = bases.iter().copied().fold(0.0, f64::max);
        assert!(
            (0.3..0.7).contains(&with) && (3.0..=4.0).contains(&most),
            "{family}: {with} {most}"
        );
    }
}

/// At the mean rate, no radio needs more than any phone's: the profiles of 2012 would make a WiFi
/// of 200 Mbit/s need 28 W.
fn assert_power(path: &PathSpec, scenario: &Scenario, say: &dyn Fn() -> String) {
    let rate = |&link: &usize| scenario.links[link].rate.mean_bps(scenario.duration);
    let rate_bps = path.down.iter().map(rate).fold(f64::INFINITY, f64::min);
    let watts = path.energy.model.power(Traffic::Down, rate_bps).0;
    assert!(
        watts < 10.0,
        "{}: {watts} W at {rate_bps} bit/s\n{}",
        path.name,
        say()
    );
}

fn assert_link(link: &LinkSpec, family: Family, say: &dyn Fn() -> String) {
    if let RateSpec::Constant(rate) = link.rate {
        let (least, most) = match family {
            // Access links have half to twice the rate of the bottleneck before them.
            Family::F5Shared => (1e6, 120e6),
            _ => (0.5e6, 400e6),
        };
        assert!(
            (0.995 * least..=1.005 * most).contains(&(rate.bps() as f64)),
            "{}",
            say()
        );
    }
    assert!(link.delay <= Nanos::from_millis(1000), "{}", say());
    let most = if family == Family::F9Adverse {
        0.2
    } else {
        0.1
    };
    assert!(
        link.loss.mean() <= 1.01 * most,
        "{} {}",
        link.loss.mean(),
        say()
    );
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
        let Workload::File { size } = scenario.connections[0].workload else {
            panic!("{}", draw.text)
        };
        assert!((9_900..=201_000_000).contains(&size.0), "{}", draw.text);
    }
    for (draw, scenario) in all(Family::F4Competitors, 20)
        .into_iter()
        .chain(all(Family::F7Shallow, 20))
    {
        let endless = scenario.competitors.iter().filter(|tcp| tcp.size.is_none());
        assert!(
            endless.map(|tcp| tcp.count).sum::<u32>() > 0,
            "{}",
            draw.text
        );
    }
    for (draw, scenario) in all(Family::F8Within, 20) {
        assert!(
            (2..=5).contains(&scenario.connections.len()),
            "{}",
            draw.text
        );
        assert!(
            scenario
                .connections
                .iter()
                .all(|user| user.paths.len() == 2),
            "{}",
            draw.text
        );
    }
    for (draw, scenario) in all(Family::F10Signal, 20) {
        let [wifi, radio] = &scenario.paths[..] else {
            panic!("{}", draw.text)
        };
        assert!(
            wifi.signal.is_none() && radio.signal.is_some(),
            "{}",
            draw.text
        );
        assert!(radio.energy.radio().is_some(), "{}", draw.text);
    }
    // Uploads lose packets on the way up.
    let up = all(Family::F1Bulk, 60);
    let up = up
        .iter()
        .filter(|(_, scenario)| scenario.connections[0].direction == Direction::Upload);
    let lossy = |links: &[usize], scenario: &Scenario| {
        links
            .iter()
            .any(|&link| scenario.links[link].loss != LossSpec::None)
    };
    let mut seen = 0;
    for (draw, scenario) in up {
        seen += scenario
            .paths
            .iter()
            .filter(|path| lossy(&path.up, scenario))
            .count();
        assert!(
            scenario
                .paths
                .iter()
                .all(|path| !lossy(&path.down, scenario)),
            "{}",
            draw.text
        );
    }
    assert!(seen > 5, "{seen}");
}

/// Links through which all paths carry their data.
fn of_all_paths(scenario: &Scenario) -> Vec<usize> {
    let mut links = scenario.paths[0].down.clone();
    links.retain(|link| scenario.paths.iter().all(|path| path.down.contains(link)));
    links
}

/// The slowest link of every path is the one bottleneck unless its own link is slower.
#[test]
fn all_paths_share_a_link_with_one_to_four_tcps_in_f5() {
    for (draw, scenario) in all(Family::F5Shared, 40) {
        let [link] = of_all_paths(&scenario)[..] else {
            panic!("{}", draw.text)
        };
        let [tcp] = &scenario.competitors[..] else {
            panic!("{}", draw.text)
        };
        assert!(
            tcp.down.contains(&link) && (1..=4).contains(&tcp.count),
            "{}",
            draw.text
        );
        assert!(tcp.size.is_none(), "{}", draw.text);
    }
}

#[test]
fn paths_that_look_alike_are_twins_or_have_no_competitors() {
    let (mut twins, mut shared) = (0, 0);
    for (draw, scenario) in all(Family::F11Alike, 40) {
        let of = |path: usize| {
            let link = scenario.links[scenario.paths[path].down[0]].clone();
            LinkSpec {
                name: String::new(),
                ..link
            }
        };
        match of_all_paths(&scenario)[..] {
            [] => {
                assert!(
                    (1..scenario.paths.len()).all(|path| of(path) == of(0)),
                    "{}",
                    draw.text
                );
                twins += 1;
            }
            _ => {
                assert!(scenario.competitors.is_empty(), "{}", draw.text);
                shared += 1;
            }
        }
    }
    assert!(twins > 40 && shared > 30, "{twins} {shared}");
}

#[test]
fn all_kinds_and_ranges_occur() {
    let mut texts = String::new();
    for &family in Family::of_kind(Kind::Random) {
        all(family, 60)
            .iter()
            .for_each(|(draw, _)| texts += &draw.text);
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
        "3g-huang2012",
        "5g-lowband",
        "5g-mmwave",
        "wifi5-2019",
        "wifi6-2021",
        "name = \"nr\"",
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

/// The trace has 2900 lines in 4 s: 2900 · 1504 · 8 / 4 = 8.723 Mbit/s. A different start does not
/// change that.
#[test]
fn a_rotated_trace_keeps_its_length_and_rate() {
    assert!(
        (trace_bps() / 8.723e6 - 1.0).abs() < 1e-3,
        "{}",
        trace_bps()
    );
    for offset in [0, 1, 1234, 2899, 1 << 31] {
        let text = rotated(offset);
        let lines: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(
            (lines.len(), *lines.last().unwrap()),
            (2900, 4000),
            "{offset}"
        );
        assert!(lines.is_sorted() && lines[0] >= 1);
    }
    assert_ne!(rotated(0), rotated(1234));
}
