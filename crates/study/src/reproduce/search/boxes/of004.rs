//! 004: ns-2 with an MPTCP model; two paths of 4 and 2 Mbit/s, over radios, relays and wires.

use super::super::space::{Acts, Change, Parameter, Range};
use super::open::{ClaimBox, recovery, set};
use crate::reproduce::study::Study;

const BOTH: &[&str] = &["mptcp[scheduler=first-free]", "cwa[scheduler=first-free]"];

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![
        ClaimBox {
            name: "004, radios",
            experiments: &["004-fig4", "004-fig5", "claim-6"],
            parameters: &WIRELESS,
            studies: one_sink,
            seeds: 6,
            points: 48,
        },
        ClaimBox {
            name: "004, relays",
            experiments: &["004-fig7", "004-fig8"],
            parameters: &RELAYS,
            studies: |studies| {
                let first = |study: &Study| study.name.starts_with("802.11b");
                studies.into_iter().filter(first).map(|study| Study { series: 0, ..study }).collect()
            },
            seeds: 5,
            points: 32,
        },
        ClaimBox {
            name: "004, wires",
            experiments: &["004-fig9", "004-fig10"],
            parameters: &WIRED,
            studies: one_sink,
            seeds: 6,
            points: 48,
        },
    ]
}

/// The sink's buffer is a parameter: one study is enough.
fn one_sink(studies: Vec<Study>) -> Vec<Study> {
    let first = |study: &Study| study.name == "100 segments" || study.name == "100";
    studies
        .into_iter()
        .filter(first)
        .map(|mut study| {
            study.set.clear();
            Study { series: 0, ..study }
        })
        .collect()
}

const OVERLOAD: &str =
    "not said, and CWA takes a high delay for overload: it lies in the queue or on the way";

/// Delays vary by a part of themselves: the jitter follows.
fn delayed(delay_key: &'static str, jitter_key: &'static str, ms: f64, part: f64) -> Vec<Change> {
    vec![
        set(delay_key, format!("{ms} ms")),
        set(jitter_key, format!("{{ deviation = \"{:.4} ms\", correlation = \"1 s\" }}", ms * part)),
    ]
}

const fn fast_delay(acts: Acts) -> Parameter {
    let range = Range::Log(5.0, 100.0, "ms");
    Parameter::number("path.fast.delay", range, ("40 ms", 40.0), acts, OVERLOAD)
}

const fn slow_delay(acts: Acts) -> Parameter {
    let range = Range::Log(5.0, 200.0, "ms");
    Parameter::number("path.slow.delay", range, ("120 ms", 120.0), acts, OVERLOAD)
}

const fn queue() -> Parameter {
    Parameter::number(
        "queue",
        Range::Log(10.0, 1000.0, "packets"),
        ("50 packets", 50.0),
        Acts::Keys(&["path.fast.queue", "path.slow.queue"]),
        "not said: ns-2's default is 50 packets, base stations hold seconds of data",
    )
}

const fn sink() -> Parameter {
    Parameter::number(
        "receiver.buffer",
        Range::Log(50.0, 4000.0, "kB"),
        ("100 segments", 144.8),
        Acts::Keys(&["receiver.buffer"]),
        "table I has 100 segments, but figures 5, 8 and 10 show more: so the bound does not bind",
    )
}

const fn loss() -> Parameter {
    Parameter::number(
        "loss",
        Range::Linear(0.0, 2.0, "%"),
        ("none", 0.0),
        Acts::Keys(&["path.fast.loss", "path.slow.loss"]),
        "not said: none after the link layer's repetitions, up to a bad radio's",
    )
}

const fn scheduler() -> Parameter {
    Parameter::choice(
        "scheduler",
        &["first-free", "minrtt", "round-robin"],
        Acts::Option(BOTH, "scheduler"),
        "section III-C scans for the first path with a free place; Linux has the lowest RTT",
    )
}

const fn rto_min() -> Parameter {
    Parameter::number(
        "transport.rto_min",
        Range::Log(200.0, 1000.0, "ms"),
        ("200 ms", 200.0),
        Acts::Keys(&["transport.rto_min"]),
        "not said: Linux has 200 ms, RFC 6298 1 s",
    )
}

const fn deviation() -> Parameter {
    Parameter::number(
        "deviation of the rates",
        Range::Linear(0.0, 60.0, "%"),
        ("20 %", 20.0),
        Acts::Changes(|_, percent| {
            let rate = |mean: &str| match percent {
                0.0 => format!("\"{mean}\""),
                _ => format!("{{ mean = \"{mean}\", deviation = \"{percent} %\", correlation = \"1 s\" }}"),
            };
            vec![set("path.fast.rate", rate("4 Mbit/s")), set("path.slow.rate", rate("2 Mbit/s"))]
        }),
        "\"average and actually varying\", without the variance: from hardly any to deep fading",
    )
}

/// 20 % over radios.
const FAST: Acts = Acts::Changes(|_, ms| delayed("path.fast.delay", "path.fast.jitter", ms, 0.2));
const SLOW: Acts = Acts::Changes(|_, ms| delayed("path.slow.delay", "path.slow.jitter", ms, 0.2));
/// 2 % over wires.
const FAST_WIRE: Acts = Acts::Changes(|_, ms| delayed("path.fast.delay", "path.fast.jitter", ms, 0.02));
const SLOW_WIRE: Acts = Acts::Changes(|_, ms| delayed("path.slow.delay", "path.slow.jitter", ms, 0.02));

const WIRELESS: [Parameter; 9] = [
    fast_delay(FAST),
    slow_delay(SLOW),
    queue(),
    sink(),
    loss(),
    scheduler(),
    recovery(&["rack", "sack", "newreno"]),
    rto_min(),
    deviation(),
];

const WIRED: [Parameter; 9] = [
    fast_delay(FAST_WIRE),
    slow_delay(SLOW_WIRE),
    queue(),
    sink(),
    loss(),
    scheduler(),
    recovery(&["rack", "sack", "newreno"]),
    rto_min(),
    Parameter::choice(
        "cwa-proactive.spaced",
        &["off", "on"],
        Acts::Option(&["cwa-proactive"], "spaced"),
        "Algorithm 2 places single packets of the slow path; how consecutive ones follow is not said",
    ),
];

const RELAYS: [Parameter; 9] = [
    fast_delay(FAST),
    slow_delay(SLOW),
    queue(),
    sink(),
    scheduler(),
    recovery(&["rack", "sack", "newreno"]),
    deviation(),
    Parameter::choice(
        "last hop",
        &["802.11b, 11 Mbit/s", "802.11g, 54 Mbit/s", "802.11b, 5.5 Mbit/s"],
        Acts::Changes(|text, _| match text {
            "802.11g, 54 Mbit/s" => {
                vec![set("channel.short.timing", "802.11g"), set("channel.short.rate", "54 Mbit/s")]
            }
            _ => vec![set("channel.short.rate", "5.5 Mbit/s")],
        }),
        "the short-range radio and its MAC are not said: from one that is the bottleneck to one that is not",
    ),
    Parameter::number(
        "channel.short.queue",
        Range::Log(10.0, 500.0, "packets"),
        ("50 packets", 50.0),
        Acts::Keys(&["channel.short.queue"]),
        "the relays' own queues towards the sink are not said",
    ),
];
