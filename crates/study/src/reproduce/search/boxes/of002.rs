//! 002 on hosts: two bottlenecks, bursts on a testbed, radios in ns-2.

use super::super::space::{Acts, Change, Parameter, Range};
use super::open::{ClaimBox, receive_buffer, recovery, set};
use crate::reproduce::paper002::{METRIC, VERSION};
use crate::reproduce::study::Study;

const EXISTING: &[&str] =
    &["mptcp", "mptcp[cc=olia]", "mptcp[cc=balia]", "mptcp[cc=ecmtcp,ratio=seed002]", "dts", "edts"];
const BOTH: &[&str] = &["dts", "edts"];

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![
        ClaimBox {
            name: "002, two bottlenecks",
            experiments: &["002-fig5a/6"],
            parameters: &BOTTLENECKS,
            // The ends of the paper's range of N; in between nothing turns that does not turn at one of them.
            studies: |studies| {
                let ends = |study: &Study| ["N = 10", "N = 50"].contains(&study.name.as_str());
                studies.into_iter().filter(ends).collect()
            },
            seeds: 4,
            points: 20,
        },
        ClaimBox {
            name: "002, bursts",
            experiments: &["002-fig5b/7", "002-fig8", "002-fig9", "claim-3"],
            parameters: &BURSTS,
            studies: |studies| {
                let bursts = studies.into_iter().filter(|study| study.name == "bursts");
                // Of claim-3 the other versions of DTS are additions, and a parameter here.
                let shorter = |mut study: Study| {
                    study.policies.retain(|policy| EXISTING.contains(&policy.as_str()));
                    Study { series: 0, ..study }.set("duration", "120 s")
                };
                bursts.map(shorter).collect()
            },
            seeds: 6,
            points: 32,
        },
        ClaimBox {
            name: "002, two radios",
            experiments: &["002-fig17"],
            parameters: &RADIOS,
            studies: |studies| studies.into_iter().filter(|study| study.name == "64 KiB").collect(),
            seeds: 6,
            points: 48,
        },
    ]
}

const fn queue(key: &'static str, keys: &'static [&'static str]) -> Parameter {
    Parameter::number(
        key,
        Range::Log(20.0, 1000.0, "packets"),
        ("167 packets", 167.0),
        Acts::Keys(keys),
        "not said: from a tenth of a bandwidth-delay product to Linux' and netem's 1000 packets",
    )
}

const DELAY: &str = "not said: from one switch to a wide-area path";

const BOTTLENECKS: [Parameter; 6] = [
    Parameter::number(
        "rate",
        Range::Log(20.0, 200.0, "Mbit/s"),
        ("100 Mbit/s", 100.0),
        Acts::Changes(|text, rate| {
            vec![
                set("link.bottleneck1.rate", text),
                set("link.bottleneck2.rate", text),
                // So that every user ends, as at 100 Mbit/s.
                set("duration", format!("{} s", (45_000.0 / rate).ceil())),
            ]
        }),
        "the rate of the bottlenecks is not said; the hosts have interfaces of 100 Mbit/s and 1 Gbit/s",
    ),
    Parameter::number(
        "delay",
        Range::Log(0.5, 50.0, "ms"),
        ("10 ms", 10.0),
        Acts::Keys(&["link.bottleneck1.delay", "link.bottleneck2.delay"]),
        DELAY,
    ),
    queue("queue", &["link.bottleneck1.queue", "link.bottleneck2.queue"]),
    Parameter::choice(
        "competitors",
        &["reno", "cubic"],
        Acts::Keys(&["competitor.tcp1.cc", "competitor.tcp2.cc"]),
        "\"TCP\": Linux' default is CUBIC, the paper's theory Reno",
    ),
    Parameter::number(
        "connection.users.spread",
        Range::Linear(0.0, 10.0, "s"),
        ("1 s", 1.0),
        Acts::Keys(&["connection.users.spread"]),
        "when the users begin is not said",
    ),
    recovery(&["rack", "sack", "newreno"]),
];

const fn shape() -> Parameter {
    Parameter::choice(
        "dts.shape",
        &["table", "literal", "intended"],
        Acts::Option(BOTH, "shape"),
        "ε is a sigmoid in the text and a polynomial in the kernel's code, with a misplaced bracket (002-2)",
    )
}

const fn rtt() -> Parameter {
    Parameter::choice(
        "dts.rtt",
        &["latest", "smoothed"],
        Acts::Option(BOTH, "rtt"),
        "whether \"the RTT\" is the last sample or the smoothed one is not said",
    )
}

const fn scheduler() -> Parameter {
    Parameter::choice(
        "scheduler",
        &["minrtt", "first-free", "round-robin"],
        Acts::Option(EXISTING, "scheduler"),
        "not said: Linux' MPTCP has the lowest RTT, ns-2's the first subflow with a free place",
    )
}

const BURSTS: [Parameter; 11] = [
    Parameter::number(
        "delay",
        Range::Log(0.5, 100.0, "ms"),
        ("10 ms", 10.0),
        Acts::Keys(&["path.first.delay", "path.second.delay"]),
        DELAY,
    ),
    Parameter::number(
        "path.second.delay",
        Range::Log(0.5, 100.0, "ms"),
        ("as the first path", 10.0),
        Acts::Keys(&["path.second.delay"]),
        "that both paths are alike is not said",
    ),
    queue("queue", &["path.first.queue", "path.second.queue"]),
    receive_buffer(("4 MiB", 4194.304), "not said: Linux' grows from 87 kB to 6 MB"),
    Parameter::number(
        "cross.shape",
        Range::Linear(1.1, 2.5, ""),
        ("1.5", 1.5),
        Acts::Keys(&["cross.0.shape", "cross.1.shape"]),
        "Pareto, without its shape: from hardly a mean to a finite variance",
    ),
    recovery(&["rack", "sack", "newreno"]),
    scheduler(),
    shape(),
    rtt(),
    Parameter::choice(
        "workload",
        &["without end", "file of 500 MB"],
        Acts::Changes(|_, _| vec![set("workload", "{ kind = \"file\", size = \"500 MB\" }")]),
        "what is transferred is not said: for some time, or some amount, with which the time counts",
    ),
    Parameter::choice(
        METRIC,
        &["J/bit", "J"],
        Acts::Reading,
        "\"energy\" of a transfer without end: per bit, or of the time",
    ),
];

const RADIOS: [Parameter; 12] = [
    Parameter::number(
        "cross traffic",
        Range::Linear(5.0, 95.0, "%"),
        ("45 %", 45.0),
        Acts::Changes(|_, percent| {
            vec![
                set("cross.0.rate", format!("{:.4} Mbit/s", 0.10 * percent)),
                set("cross.1.rate", format!("{:.4} Mbit/s", 0.20 * percent)),
            ]
        }),
        "\"cross traffic on both links\", without its rate: any part of the links' rates",
    ),
    Parameter::number(
        "cross.mean_burst",
        Range::Log(0.5, 20.0, "s"),
        ("5 s", 5.0),
        Acts::Keys(&["cross.0.mean_burst", "cross.1.mean_burst"]),
        "not said: those of figure 5b last 5 s; from a second's part to a tenth of the run",
    ),
    Parameter::number(
        "cross.mean_gap",
        Range::Log(0.5, 20.0, "s"),
        ("10 s", 10.0),
        Acts::Keys(&["cross.0.mean_gap", "cross.1.mean_gap"]),
        "as the bursts",
    ),
    Parameter::choice(
        "delay",
        &["one way", "round trip"],
        Acts::Changes(|_, _| vec![set("path.wifi.delay", "20 ms"), set("path.4g.delay", "50 ms")]),
        "\"transmission delay\": of one way, or of both",
    ),
    receive_buffer(
        ("64 KiB", 65.536),
        "64 KB is printed as ns-2's default; the module's agents have a window each, and none for the \
         connection, so that the sum may be anything from that on",
    ),
    Parameter::choice(
        "transport.mss",
        &["1460 B", "1000 B", "536 B"],
        Acts::Keys(&["transport.mss"]),
        "not said: Ethernet's, ns-2's usual packet, or FullTcp's default",
    ),
    recovery(&["rack", "sack", "newreno"]),
    scheduler(),
    Parameter::choice(
        "energy model",
        &["of 000", "of 000, without θ", "radio states", "radio states of 2021"],
        Acts::Changes(|text, _| energy_model(text)),
        "the radios' energy model is not said: the linear one of Huang et al., its slope alone, or radios \
         with states that go to sleep",
    ),
    Parameter::choice(
        METRIC,
        &["J", "J/bit"],
        Acts::Reading,
        "\"energy consumption\" of 200 s without end: as it stands, or per bit",
    ),
    Parameter::choice(
        VERSION,
        &["dts", "edts"],
        Acts::Reading,
        "\"DTS\" in figure 17, but the text credits φ, which extended DTS alone has",
    ),
    Parameter::number(
        "edts.kappa",
        Range::Log(0.000_01, 0.01, ""),
        ("0.0001", 0.0001),
        Acts::Option(&["edts"], "kappa"),
        "κ of extended DTS is not said: from no effect to one that empties windows",
    ),
];

fn energy_model(text: &str) -> Vec<Change> {
    let [wifi, cellular] = match text {
        "of 000, without θ" => [
            "{ profile = \"wifi-seed000\", active = \"0 W\" }",
            "{ profile = \"lte-seed000\", active = \"0 W\" }",
        ],
        "radio states" => ["wifi-huang2012", "lte-huang2012"],
        _ => ["wifi-huang2012", "lte-2021"],
    };
    vec![set("path.wifi.energy", wifi), set("path.4g.energy", cellular)]
}
