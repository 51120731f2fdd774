//! For any text: loading does not panic, and an accepted scenario is consistent and survives
//! `show`.

use std::path::Path;

use joulepath_model::network::{DeliveryTrace, LossSpec, QueueLimit, RateSpec};
use joulepath_model::scenario::{
    self, CrossPattern, MAX_DURATION, MAX_SUBFLOWS, Scenario, Workload,
};
use joulepath_model::units::Nanos;
use proptest::prelude::*;

const EVERYTHING: &str = include_str!("../corpus/everything.toml");

fn traces(name: &str) -> Result<DeliveryTrace, String> {
    Ok(DeliveryTrace {
        source: name.into(),
        opportunities_ms: vec![1, 1, 4],
    })
}

/// Properties that every engine relies on.
fn check(scenario: &Scenario) {
    assert!(scenario.duration > Nanos::ZERO && scenario.duration <= MAX_DURATION);
    assert!(scenario.warm_up < scenario.duration);
    assert!(!scenario.paths.is_empty() && !scenario.connections.is_empty());
    assert!(!scenario.compare.policies.is_empty() && scenario.compare.seeds >= 1);
    let mut names: Vec<_> = scenario.links.iter().map(|link| &link.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(
        names.len(),
        scenario.links.len(),
        "names of links are unique"
    );
    check_links(scenario);
    check_senders(scenario);
}

fn check_links(scenario: &Scenario) {
    for link in &scenario.links {
        assert!(link.loss.mean() < 1.0, "{link:?}");
        assert!(
            link.loss != LossSpec::Bernoulli("0 %".parse().unwrap()),
            "no loss is `None`"
        );
        assert!(link.rate.mean_bps(scenario.duration) >= 0.0);
        match &link.rate {
            RateSpec::Constant(rate) => assert!(rate.bps() > 0),
            RateSpec::Steps(steps) => {
                assert_eq!(steps[0].0, Nanos::ZERO);
                assert!(steps.is_sorted_by(|a, b| a.0 < b.0));
            }
            RateSpec::LogNormal { mean, interval, .. } => {
                assert!(mean.bps() > 0 && *interval > Nanos::ZERO)
            }
            RateSpec::Unlimited | RateSpec::Trace(_) => {}
        }
        match link.queue {
            QueueLimit::Packets(packets) => assert!(packets > 0),
            QueueLimit::Bytes(bytes) => assert!(bytes >= scenario.transport.mss),
        }
        assert!(link.outages.iter().all(|outage| outage.from < outage.until));
        assert!(link.outages.is_sorted_by(|a, b| a.until <= b.from));
    }
    for path in &scenario.paths {
        assert_eq!(
            path.down.last(),
            Some(&path.radio.0),
            "the radio is next to the device"
        );
        assert_eq!(
            path.up.first(),
            Some(&path.radio.1),
            "the radio is next to the device"
        );
        assert_eq!(path.down.len(), path.up.len());
        let limited = |links: &[usize]| {
            links
                .iter()
                .any(|&link| scenario.links[link].rate != RateSpec::Unlimited)
        };
        assert!(limited(&path.down), "a path without any rate");
    }
}

fn check_senders(scenario: &Scenario) {
    let transport = &scenario.transport;
    assert!(
        transport.rto_min <= transport.rto_initial && transport.rto_initial <= transport.rto_max
    );
    assert!(transport.mss.0 > 0 && transport.initial_window > 0 && transport.dup_threshold > 0);
    for group in &scenario.connections {
        assert!(group.count > 0 && (1..=MAX_SUBFLOWS).contains(&group.paths.len()));
        assert!(group.paths.iter().all(|&path| path < scenario.paths.len()));
        assert!(group.start + group.spread < scenario.duration + Nanos(1));
        assert!(group.receive_buffer >= transport.mss && group.send_buffer >= transport.mss);
        match group.workload {
            Workload::Bulk => {}
            Workload::File { size } | Workload::Requests { size, .. } => assert!(size.0 > 0),
            Workload::Messages {
                mean_gap,
                size,
                tolerance,
            } => {
                assert!(mean_gap > Nanos::ZERO && size.0 > 0 && tolerance < scenario.duration);
            }
            Workload::Stream {
                rate, interval, on, ..
            } => {
                assert!(rate.bps() > 0 && interval > Nanos::ZERO && on > Nanos::ZERO);
            }
        }
    }
    for competitor in &scenario.competitors {
        assert!(!competitor.down.is_empty() && competitor.down.len() == competitor.up.len());
    }
    for cross in &scenario.cross {
        assert!(
            cross.link < scenario.links.len() && cross.start < cross.stop && cross.packet.0 > 0
        );
        if let CrossPattern::Pareto {
            shape,
            mean_gap,
            mean_burst,
            ..
        } = cross.pattern
        {
            assert!(shape > 1.0 && mean_gap > Nanos::ZERO && mean_burst > Nanos::ZERO);
        }
    }
}

/// `show` writes a text that loads again to an equal scenario.
fn check_show(scenario: &Scenario) {
    let shown = scenario::show(scenario);
    let again =
        scenario::load(&shown, &traces).unwrap_or_else(|errors| panic!("{errors}\n{shown}"));
    assert_eq!(&again, scenario, "{shown}");
}

/// Loads a text. The positions of all problems must lie within the text.
fn load(text: &str, overrides: &[(String, String)]) -> Option<Scenario> {
    match scenario::load_with(text, overrides, &traces) {
        Ok(scenario) => {
            check(&scenario);
            check_show(&scenario);
            Some(scenario)
        }
        Err(errors) => {
            assert!(!errors.problems().is_empty());
            for problem in errors.problems() {
                assert!(
                    errors.text().get(problem.span.clone()).is_some(),
                    "{problem:?}"
                );
            }
            assert!(!errors.to_string().is_empty());
            None
        }
    }
}

#[test]
fn the_corpus_never_causes_a_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut accepted = 0;
    let mut refused = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        match load(&text, &[]) {
            Some(_) => accepted += 1,
            None => refused += 1,
        }
    }
    assert!(
        accepted >= 2 && refused >= 5,
        "accepted {accepted}, refused {refused}"
    );
}

#[test]
fn every_shipped_scenario_survives_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let papers = ["papers/000-table1", "papers/002-fig5a"];
    let signals = ["walk-into-5g", "train-5g", "router-window-5g"];
    for name in ["home-wifi-lte", "walking-away", "video-wifi-5g"]
        .into_iter()
        .chain(papers)
        .chain(signals)
    {
        let text = std::fs::read_to_string(root.join(name).with_extension("toml")).unwrap();
        assert!(load(&text, &[]).is_some(), "{name}");
    }
}

/// A random quantity in one of its units, with a random number of digits.
fn quantity(units: &'static [&'static str]) -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0_u64..100_000).prop_map(|n| n.to_string()),
        (0.0..1000.0_f64).prop_map(|n| format!("{n}")),
        (0_u64..100_000).prop_map(|n| format!("{:.3}", n as f64 / 1e3)),
    ];
    (number, prop::sample::select(units)).prop_map(|(number, unit)| format!("{number} {unit}"))
}

/// An override that is often valid: a key of the scenario with everything, and a value of its type.
fn sensible_override() -> impl Strategy<Value = (String, String)> {
    let with = |keys: &'static [&'static str], values: BoxedStrategy<String>| {
        (prop::sample::select(keys).prop_map(str::to_owned), values)
    };
    prop_oneof![
        with(
            &[
                "duration",
                "warm_up",
                "path.wifi.delay",
                "path.wifi.jitter",
                "path.lte.start",
                "link.shared.delay",
                "transport.rto_min",
                "transport.rto_max",
                "transport.delayed_ack",
                "transport.processing_delay",
                "connection.two.start",
                "connection.web.workload.think",
                "connection.film.workload.on",
                "cross.0.mean_gap",
                "cross.0.stop"
            ],
            quantity(&["ns", "us", "ms", "s", "min"]).boxed()
        ),
        with(
            &[
                "path.wifi.rate",
                "path.lte.up.rate",
                "link.shared.rate",
                "connection.call.workload.rate",
                "cross.1.rate"
            ],
            quantity(&["bit/s", "kbit/s", "Mbit/s", "MB/s"]).boxed()
        ),
        with(
            &[
                "path.wifi.loss",
                "path.lte.loss.enter_bad",
                "path.lte.up.loss",
                "path.lte.up.rate.deviation"
            ],
            quantity(&["%", "permille", "ppm"]).boxed()
        ),
        with(
            &[
                "receiver.buffer",
                "receiver.memory",
                "receiver.max_memory",
                "transport.mss",
                "path.wifi.queue",
                "connection.two.workload.size",
                "competitor.1.size"
            ],
            quantity(&["B", "kB", "KiB", "MB"]).boxed()
        ),
        with(
            &[
                "path.lte.energy.active",
                "path.cell.energy.active",
                "device.shared_base",
                "device.host.unit"
            ],
            quantity(&["mW", "W"]).boxed()
        ),
        with(
            &[
                "path.lte.energy.per_mbps",
                "path.cell.energy.per_mbps",
                "path.tunnel.energy.per_mbps"
            ],
            quantity(&["mW", "J/Mbit", "nJ/bit"]).boxed()
        ),
        with(
            &[
                "compare.seeds",
                "connection.0.count",
                "device.sharing_factor",
                "cross.0.shape",
                "device.host.exponent"
            ],
            prop_oneof![
                (0..100_u32).prop_map(|n| n.to_string()),
                (0.0..3.0_f64).prop_map(|x| format!("{x:?}"))
            ]
            .boxed()
        ),
    ]
}

/// One edit of a text: deletes a line, duplicates a line, or replaces some bytes.
fn edit(text: &str, (kind, at, with): &(u8, prop::sample::Index, String)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return with.clone();
    }
    let line = at.index(lines.len());
    match kind {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line]),
        2 => lines.insert(line, with),
        _ => {
            let chars: Vec<char> = text.chars().collect();
            let (before, after) = chars.split_at(at.index(chars.len()));
            let after = after.iter().skip(with.chars().count());
            return before
                .iter()
                .chain(&with.chars().collect::<Vec<_>>())
                .chain(after)
                .collect();
        }
    }
    lines.join("\n")
}

/// Keys, sections, equal signs, texts, numbers, braces and line ends in any order.
const TOML_LIKE: &str = concat!(
    r"([a-z_]{1,8}(\.[a-z]{1,4})?|\[\[?[a-z]{1,10}\]?\]| = |",
    "\"[ -~]{0,8}\"",
    r"|[0-9.]{1,5}|\{|\}|,|",
    "\n){0,60}"
);

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        load(&text, &[]);
    }

    #[test]
    fn any_toml_like_text_is_read_or_refused(text in TOML_LIKE) {
        load(&text, &[]);
        let _ = scenario::variants(&text);
    }

    #[test]
    fn an_edited_scenario_is_read_or_refused(
        edits in prop::collection::vec((0_u8..5, any::<prop::sample::Index>(), "[ -~\n]{0,6}"), 1..5),
    ) {
        let text = edits.iter().fold(EVERYTHING.to_owned(), |text, one| edit(&text, one));
        load(&text, &[]);
        let _ = scenario::variants(&text);
    }

    #[test]
    fn any_override_is_applied_or_refused(key in "[ -~]{0,12}", value in any::<String>()) {
        load(EVERYTHING, &[(key, value)]);
    }

    #[test]
    fn an_accepted_scenario_is_consistent_and_survives_show(
        overrides in prop::collection::vec(sensible_override(), 0..4),
    ) {
        load(EVERYTHING, &overrides);
    }
}
