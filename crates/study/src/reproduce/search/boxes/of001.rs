//! 001: a Linux testbed of 2012 to 2015 (MPTCP 0.90) behind two WANem emulators; files over WLAN and 3G.

use super::super::space::{Acts, Parameter, Range};
use super::open::{ClaimBox, receive_buffer, recovery, set};
use crate::reproduce::study::Study;

/// Sizes at each point: enough of them to find the best, and both sides of the 800 kB of figure 9.
const SIZES: [&str; 7] = ["64kB", "256kB", "512kB", "600kB", "700kB", "900kB", "1000kB"];
const ALL: &[&str] = &["mptcp", "es-mptcp", "single:wlan", "single:3g"];
const ES: &[&str] = &["es-mptcp"];

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![
        ClaimBox {
            name: "001, WLAN and 3G",
            experiments: &["001-fig8a", "001-fig8b", "001-fig8c", "001-fig9a/b", "claim-2"],
            parameters: &WLAN_3G,
            studies: some_sizes,
            seeds: 12,
            points: 40,
        },
        ClaimBox {
            name: "001, two WLANs",
            experiments: &["001-fig10a/b"],
            parameters: &TWO_WLANS,
            studies: some_sizes,
            seeds: 12,
            points: 32,
        },
    ]
}

/// Without eMTCP, whose reconstruction is lowRTT to the byte and carries no verdict.
fn some_sizes(studies: Vec<Study>) -> Vec<Study> {
    let some = studies.into_iter().filter(|study| SIZES.contains(&study.name.as_str()));
    some.map(|mut study| {
        study.policies.retain(|policy| policy != "emtcp");
        study
    })
    .collect()
}

const fn congestion_control() -> Parameter {
    Parameter::choice(
        "cc",
        &["lia", "cubic", "reno", "olia"],
        Acts::Option(ALL, "cc"),
        "not said (\"default\"): LIA by the paper's own formulas, but MPTCP 0.90 takes the system's, \
         which is CUBIC",
    )
}

const fn objective() -> Parameter {
    Parameter::choice(
        "es-mptcp.objective",
        &["normalised", "literal_W", "literal_mW"],
        Acts::Option(ES, "objective"),
        "the objective subtracts joules from Mbit/s, without units (defect 001-1)",
    )
}

const fn unused() -> Parameter {
    Parameter::choice(
        "es-mptcp.unused",
        &["close", "backup"],
        Acts::Option(ES, "unused"),
        "whether a path that is not selected is closed or becomes a backup is not said",
    )
}

const fn delayed_ack() -> Parameter {
    Parameter::choice(
        "transport.delayed_ack",
        &["none", "40 ms"],
        Acts::Keys(&["transport.delayed_ack"]),
        "Linux delays the ACK of a lone segment by 40 ms, but acknowledges at once while a transfer is young",
    )
}

const BUFFER: &str = "not said: Linux 3.14 and 4.1 begin with 87 kB and grow up to 6 MB";

const WLAN_3G: [Parameter; 9] = [
    Parameter::number(
        "queue",
        Range::Log(20.0, 1000.0, "packets"),
        ("one bandwidth-delay product", 40.0),
        Acts::Keys(&["path.wlan.queue", "path.3g.queue"]),
        "not said: from less than a bandwidth-delay product to the 1000 packets that netem, which WANem \
         sets, has unless told otherwise",
    ),
    receive_buffer(("4 MiB", 4194.304), BUFFER),
    congestion_control(),
    recovery(&["rack", "sack", "newreno"]),
    Parameter::choice(
        "loss direction",
        &["to the device", "both ways"],
        Acts::Changes(|_, _| vec![set("path.wlan.up.loss", "1 %")]),
        "WANem sits between both directions: its loss may meet ACKs, too",
    ),
    delayed_ack(),
    objective(),
    unused(),
    Parameter::choice(
        "energy",
        &["θ while open", "θ always", "radio states"],
        Acts::Changes(|text, _| match text {
            "θ always" => vec![
                set("path.wlan.energy", "{ profile = \"wlan-seed001\", sunk_while = \"always\" }"),
                set("path.3g.energy", "{ profile = \"3g-seed001\", sunk_while = \"always\" }"),
            ],
            _ => vec![set("path.wlan.energy", "wifi-huang2012"), set("path.3g.energy", "3g-huang2012")],
        }),
        "θ is \"the sunk power for being active\": while a subflow is open, all the time, or by the radio's \
         states with its tail (Huang et al., whose numbers they are)",
    ),
];

const TWO_WLANS: [Parameter; 10] = [
    Parameter::number(
        "path.wlan2.rate",
        Range::Log(2.0, 100.0, "Mbit/s"),
        ("25 Mbit/s", 25.0),
        Acts::Keys(&["path.wlan2.rate"]),
        "the second WLAN is not described: from 802.11b to 802.11n",
    ),
    Parameter::number(
        "path.wlan2.delay",
        Range::Log(2.0, 100.0, "ms"),
        ("12.5 ms", 12.5),
        Acts::Keys(&["path.wlan2.delay"]),
        "the second WLAN is not described: from a neighbour to another continent",
    ),
    Parameter::number(
        "path.wlan2.loss",
        Range::Linear(0.0, 5.0, "%"),
        ("1 %", 1.0),
        Acts::Keys(&["path.wlan2.loss"]),
        "the second WLAN is not described: from none to five times the first one's",
    ),
    Parameter::number(
        "queue",
        Range::Log(20.0, 1000.0, "packets"),
        ("52 packets", 52.0),
        Acts::Keys(&["path.wlan1.queue", "path.wlan2.queue"]),
        "not said: from less than a bandwidth-delay product to netem's 1000 packets",
    ),
    receive_buffer(("4 MiB", 4194.304), BUFFER),
    congestion_control(),
    recovery(&["rack", "sack", "newreno"]),
    delayed_ack(),
    objective(),
    unused(),
];
