//! 003: a simulator that is not named; three radios, Poisson arrivals, V.
//!
//! Its table 1 prints a delay that is proportional to 1/bandwidth, without its size, and no loss.

use joulepath_model::units::{Nanos, Probability};
use joulepath_slotted::{Feasible, Params, Policy};

use super::super::space::{Acts, Change, Parameter, Range};
use super::open::ClaimBox;

pub(super) fn boxes() -> Vec<ClaimBox> {
    vec![
        ClaimBox {
            name: "003, three radios",
            experiments: &[
                "003-fig2a",
                "003-fig2b",
                "003-fig2c",
                "003-fig3a",
                "003-fig3b",
                "003-fig3c",
                "003-fig4a/b",
                "003-fig4c",
                "003-fig5",
                "claim-5",
            ],
            parameters: &RADIOS,
            studies: |_| vec![],
            seeds: 4,
            points: 32,
        },
        // The theorems' systems have fixed windows, and nothing in them is open.
        ClaimBox {
            name: "003, fixed windows",
            experiments: &["003-thm1", "003-thm2"],
            parameters: &[],
            studies: |_| vec![],
            seeds: 4,
            points: 0,
        },
    ]
}

const RADIOS: [Parameter; 6] = [
    Parameter::choice(
        "delays",
        &["20, 50 and 10 ms", "∝ 1/bandwidth"],
        Acts::Changes(|_, _| {
            // τ ∝ 1/C of 300, 600 and 2000 Mbit/s, WiFi as it is.
            vec![Change::Slotted((
                |params: &mut Params, _: &mut Policy, _| {
                    let wifi = params.paths[0].rtt.0 as f64 * params.paths[0].rate.bps() as f64;
                    for path in &mut params.paths {
                        path.rtt = Nanos((wifi / path.rate.bps() as f64) as u64);
                    }
                },
                0.0,
            ))]
        }),
        "table 1: channel delay 1/BW, without a unit; what we had chosen turns WiFi and LTE around",
    ),
    Parameter::number(
        "rtt",
        Range::Log(5.0, 500.0, "ms"),
        ("20 ms of WiFi", 20.0),
        Acts::Changes(|_, wifi_ms| {
            vec![Change::Slotted((
                |params, _, wifi_ms| {
                    for path in &mut params.paths {
                        path.rtt = Nanos((path.rtt.0 as f64 * wifi_ms / 20.0) as u64);
                    }
                },
                wifi_ms,
            ))]
        }),
        "the RTT of WiFi, in whose proportion the others are: not said; from one cell to a far server",
    ),
    Parameter::number(
        "loss",
        Range::Log(0.001, 2.0, "%"),
        ("0.05 % of WiFi", 0.05),
        Acts::Changes(|_, percent| {
            vec![Change::Slotted((
                |params, _, percent| {
                    for path in &mut params.paths {
                        let scaled = path.loss.get() * percent / 0.05;
                        path.loss = Probability::new(scaled.min(0.5)).expect("below 1");
                    }
                },
                percent,
            ))]
        }),
        "not said, though windows follow from it; from a clean link to a bad radio, LTE half and mmWave \
         twice of WiFi's",
    ),
    Parameter::number(
        "slot",
        Range::Log(5.0, 1000.0, "ms"),
        ("10 ms", 10.0),
        Acts::Changes(|_, slot_ms| {
            vec![Change::Slotted((|params, _, slot_ms| params.slot = Nanos((slot_ms * 1e6) as u64), slot_ms))]
        }),
        "Δt is not said: from a round trip to the second by which the figures are drawn",
    ),
    Parameter::number(
        "V",
        Range::Log(1.0, 1000.0, ""),
        ("100", 100.0),
        Acts::Changes(|_, v| {
            vec![Change::Slotted((
                |_, policy, number| {
                    // The sweeps over V of other rows keep theirs.
                    if let Policy::SoMptcp { v, .. } = policy
                        && *v == 100.0
                    {
                        *v = number;
                    }
                },
                v,
            ))]
        }),
        "100 is printed, but in units of an energy whose unit is not (\"Joules/Kbps\", 003-10)",
    ),
    Parameter::choice(
        "set X",
        &["within the window", "within the link"],
        Acts::Changes(|_, _| {
            vec![Change::Slotted((
                |_, policy, _| {
                    if let Policy::SoMptcp { feasible, .. } = policy {
                        *feasible = Feasible::Link;
                    }
                },
                0.0,
            ))]
        }),
        "the set X of step 3 is not defined: what fits a window, or what fits the link",
    ),
];
