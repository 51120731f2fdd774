//! 002 in networks: a virtual private cloud, BCube, FatTree, VL2.
//!
//! The 100 ms per link that the paper prints for its data centres are taken as 100 µs (defect 002-12), and a
//! run lasts 1.5 s, of which the last second counts: some hundred round trips.

use super::super::space::{Acts, Parameter, Range};
use super::open::{ClaimBox, set};
use crate::reproduce::paper002::METRIC;
use crate::reproduce::study::Study;

const EDTS: &[&str] = &["edts"];

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![
        ClaimBox {
            name: "002, cloud",
            experiments: &["002-fig10"],
            parameters: &CLOUD,
            studies: |studies| studies.into_iter().map(|study| study.set("workload.size", "20 MB")).collect(),
            seeds: 4,
            points: 14,
        },
        over_subflows("002, BCube", &["002-fig12"], &BCUBE),
        over_subflows("002, FatTree", &["002-fig13"], &SUBFLOWS),
        over_subflows("002, VL2", &["002-fig14"], &SUBFLOWS),
        ClaimBox {
            name: "002, prices",
            experiments: &["002-fig15", "002-fig16"],
            parameters: &PRICES,
            studies: |studies| studies.into_iter().map(without_dts).map(short).collect(),
            seeds: 3,
            points: 14,
        },
    ]
}

/// One subflow and eight: what lies between is drawn and decides nothing.
fn over_subflows(
    name: &'static str,
    experiments: &'static [&'static str],
    parameters: &'static [Parameter],
) -> ClaimBox {
    let studies = |studies: Vec<Study>| {
        let ends = |mut study: Study| {
            study.policies.retain(|policy| ["mptcp[subflows=1]", "mptcp"].contains(&policy.as_str()));
            short(study)
        };
        studies.into_iter().map(ends).collect()
    };
    ClaimBox { name, experiments, parameters, studies, seeds: 3, points: 12 }
}

fn without_dts(mut study: Study) -> Study {
    study.policies.retain(|policy| policy != "dts");
    study
}

fn short(study: Study) -> Study {
    study.set("duration", "1.5 s").set("warm_up", "500 ms")
}

const fn delay() -> Parameter {
    Parameter::number(
        "topology.delay",
        Range::Log(10.0, 1000.0, "us"),
        ("100 us", 100.0),
        Acts::Keys(&["topology.delay"]),
        "100 ms is printed and impossible within a building: from a wire and a switch to ten times what \
         we chose",
    )
}

const fn queue() -> Parameter {
    Parameter::number(
        "topology.queue",
        Range::Log(20.0, 500.0, "packets"),
        ("100 packets", 100.0),
        Acts::Keys(&["topology.queue"]),
        "not said: from shallow switches to deep ones",
    )
}

const fn traffic() -> Parameter {
    Parameter::choice(
        "topology.traffic",
        &["permutation", "random"],
        Acts::Keys(&["topology.traffic"]),
        "\"another host, which is chosen at random\": each once, or any",
    )
}

const fn routing() -> Parameter {
    Parameter::choice(
        "topology.routing",
        &["distinct", "ecmp"],
        Acts::Keys(&["topology.routing"]),
        "whether subflows take different paths or each a path by chance is not said",
    )
}

const fn switches() -> Parameter {
    Parameter::choice(
        "topology.switch.idle",
        &["10 %", "80 %"],
        Acts::Keys(&["topology.switch.idle"]),
        "the power of an idle port is not said: energy-proportional, or as most switches are",
    )
}

const fn overhead() -> Parameter {
    Parameter::choice(
        METRIC,
        &["hosts, J/bit", "switches, J/bit"],
        Acts::Reading,
        "\"energy overhead\" is not defined: of the hosts or of the network, per bit that arrives",
    )
}

const SUBFLOWS: [Parameter; 6] = [delay(), queue(), traffic(), routing(), switches(), overhead()];

const BCUBE: [Parameter; 7] = [
    Parameter::choice(
        "topology",
        &["BCube(5, 2)", "BCube(11, 1)", "BCube(2, 6)"],
        Acts::Changes(|text, _| {
            let (n, k) = if text == "BCube(11, 1)" { ("11", "1") } else { ("2", "6") };
            vec![set("topology.n", n), set("topology.k", k)]
        }),
        "no BCube has 128 hosts and 64 switches (002-11): the nearest with three, two and seven interfaces",
    ),
    delay(),
    queue(),
    traffic(),
    routing(),
    switches(),
    overhead(),
];

const PRICES: [Parameter; 7] = [
    delay(),
    queue(),
    traffic(),
    routing(),
    Parameter::number(
        "edts.kappa",
        Range::Log(0.000_01, 0.01, ""),
        ("0.0001", 0.0001),
        Acts::Option(EDTS, "kappa"),
        "κ is not said: from no effect to one that empties windows",
    ),
    Parameter::choice(
        "dts.shape",
        &["table", "literal", "intended"],
        Acts::Option(EDTS, "shape"),
        "ε is a sigmoid in the text and a polynomial in the kernel's code, with a misplaced bracket (002-2)",
    ),
    Parameter::choice(
        METRIC,
        &["U_ep", "hosts, J/bit", "switches, J/bit"],
        Acts::Reading,
        "\"energy costs\": the paper's own measure of them is U_ep (its equation 6); joules are another",
    ),
];

const CLOUD: [Parameter; 5] = [
    delay(),
    queue(),
    traffic(),
    Parameter::choice(
        "marks",
        &["no", "yes"],
        Acts::Changes(|_, _| vec![set("transport.ecn", "true"), set("topology.ecn_threshold", "20 packets")]),
        "whether the provider's switches mark is not known; without marks DCTCP is Reno",
    ),
    Parameter::choice(
        "device.preset",
        &["host-relative", "host-relative-wifi"],
        Acts::Keys(&["device.preset"]),
        "the power of a guest is not readable there (002-15): the paper's own two curves of a host",
    ),
];
