//! 000, table 1: ns-2.35 with the MPTCP module of Nishida; three radios, one transfer without end.

use super::super::space::{Acts, Change, Parameter, Range};
use super::open::{ClaimBox, receive_buffer, recovery, set};
use crate::reproduce::study::Study;

const ALL: &[&str] =
    &["eemptcp[solve=once]", "mptcp", "mptcp[cc=ecmtcp]", "uncoupled", "mptcp[cc=olia]", "mptcp[cc=balia]"];
const EEMPTCP: &[&str] = &["eemptcp[solve=once]"];

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![ClaimBox {
        name: "000, three radios",
        experiments: &["000-fig4", "000-fig5", "000-fig6", "000-tab1", "000-fig7", "000-fig8", "claim-1"],
        parameters: &TABLE_1,
        studies: |studies| {
            // The other study of claim-1, fairness, is this project's.
            let of_paper = studies.into_iter().filter(|study| study.name == "table 1");
            of_paper.map(|study| Study { series: 0, ..study }).collect()
        },
        seeds: 8,
        points: 40,
    }]
}

const TABLE_1: [Parameter; 12] = [
    Parameter::choice(
        "delay",
        &["one way", "round trip"],
        Acts::Changes(|_, _| {
            let halves =
                [("path.wifi.delay", "35 ms"), ("path.lte.delay", "50 ms"), ("path.umts.delay", "60 ms")];
            halves.map(|(key, value)| set(key, value)).to_vec()
        }),
        "table 1 says \"delay\": of one way, or of both",
    ),
    Parameter::choice(
        "transport.mss",
        &["536 B", "1000 B", "1460 B"],
        Acts::Keys(&["transport.mss"]),
        "not said: the default of ns-2's FullTcp, ns-2's usual packet, or Ethernet's",
    ),
    Parameter::number(
        "transport.rto_min",
        Range::Log(200.0, 1000.0, "ms"),
        ("200 ms", 200.0),
        Acts::Keys(&["transport.rto_min"]),
        "not said: Linux has 200 ms, RFC 6298 and ns-2's FullTcp up to 1 s",
    ),
    recovery(&["sack", "newreno", "rack"]),
    Parameter::number(
        "queue",
        Range::Log(10.0, 1000.0, "packets"),
        ("50 packets", 50.0),
        Acts::Keys(&["path.wifi.queue", "path.lte.queue", "path.umts.queue"]),
        "\"drop-tail\" without a length: ns-2's default is 50 packets, netem's 1000",
    ),
    receive_buffer(("64 KiB", 65.536), "not said: ns-2's default is 64 KiB, Linux' some MB"),
    Parameter::choice(
        "loss direction",
        &["to the device", "both ways"],
        Acts::Changes(|_, _| {
            let up =
                [("path.wifi.up.loss", "10 %"), ("path.lte.up.loss", "2 %"), ("path.umts.up.loss", "2 %")];
            up.map(|(key, value)| set(key, value)).to_vec()
        }),
        "an error model of ns-2 stands on one link or on both: ACKs may be lost, too",
    ),
    Parameter::choice(
        "loss model",
        &["independent", "bursts"],
        Acts::Changes(|_, _| bursts()),
        "only the mean is printed; bursts of five packets, in which half are lost, have the same",
    ),
    Parameter::choice(
        "scheduler",
        &["minrtt", "first-free", "round-robin"],
        Acts::Option(ALL, "scheduler"),
        "not said: ns-2's module takes the first subflow with a free place, Linux the lowest RTT",
    ),
    Parameter::choice(
        "transport.initial_window",
        &["10 packets", "2 packets", "4 packets"],
        Acts::Keys(&["transport.initial_window"]),
        "not said: ns-2 has 1 or 2, RFC 3390 up to 4, RFC 6928 10",
    ),
    Parameter::choice(
        "eemptcp.g",
        &["inv_p", "inv_delivery"],
        Acts::Option(EEMPTCP, "g"),
        "the window for a rate is printed over p, and must be meant over 1 - p (defect 000-1)",
    ),
    Parameter::choice(
        "eemptcp.reading",
        &["C", "B", "D"],
        Acts::Option(EEMPTCP, "reading"),
        "problem (4)-(7) cannot be met as printed: three readings have a solution (defects 000-2, 000-3)",
    ),
];

/// Gilbert-Elliott with the printed means: a fifth of the time of a burst passes per packet, half are lost in
/// it; the bad state then has twice the mean's part of the time.
fn bursts() -> Vec<Change> {
    let model =
        |enter: &str| format!("{{ enter_bad = \"{enter}\", leave_bad = \"20 %\", loss_bad = \"50 %\" }}");
    // Part of the time that is bad: e/(e + 0.2) = 0.2 and 0.04, hence e = 5 % and 0.8333 %.
    let of = [("path.wifi.loss", "5 %"), ("path.lte.loss", "0.8333 %"), ("path.umts.loss", "0.8333 %")];
    of.map(|(key, enter)| set(key, model(enter))).to_vec()
}
