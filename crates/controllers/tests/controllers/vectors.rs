//! Worked arithmetic: one state, every controller, compared with numbers computed by hand from the
//! definitions.
//!
//! w = (12, 30, 40) packets, τ = (50, 80, 250) ms, τ⁰ = (45, 60, 150) ms, p = (0.01, 0.002, 0.005),
//! ℓ = 1/p, e = (150, 300, 200), α = (0.2, 0.5, 0.3). Then x = (240, 375, 160) and X = 775
//! packets/s, W = 82, A = max_k(w_k/τ_k²)/X² = (12/0.05²)/775² = 0.00799168.

use joulepath_controllers::{
    Capability, Controller,
    explain::{State, SubflowState, explain},
};

/// Tolerance of fixed point against the printed numbers. DTS: the table of ε is within 0.0024
/// absolute.
const TOLERANCE: f64 = 0.002;
/// Tolerance of the floating-point formulas against the printed numbers, which have six digits.
const PRINTED: f64 = 2e-5;

fn state() -> State {
    let subflow =
        |cwnd, srtt_ms: u32, base_ms: u32, loss, packets, energy_cost, target_share, path_price| {
            SubflowState {
                cwnd,
                srtt_us: srtt_ms * 1000,
                base_rtt_us: Some(base_ms * 1000),
                last_rtt_us: None,
                acked_since_loss: packets,
                acked_between_losses: packets / 2,
                target_share,
                loss,
                energy_cost,
                path_price,
            }
        };
    State {
        subflows: vec![
            subflow(12, 50, 45, 0.01, 100, 150.0, 0.2, 0.0),
            subflow(30, 80, 60, 0.002, 500, 300.0, 0.5, 1.0),
            subflow(40, 250, 150, 0.005, 200, 200.0, 0.3, 3.0),
        ],
    }
}

struct Row {
    name: &'static str,
    params: &'static [(&'static str, &'static str)],
    increase: [f64; 3],
    window_after_loss: [f64; 3],
}

const HALVES: [f64; 3] = [6.0, 15.0, 20.0];

const fn row(
    name: &'static str,
    params: &'static [(&'static str, &'static str)],
    increase: [f64; 3],
    window_after_loss: [f64; 3],
) -> Row {
    Row {
        name,
        params,
        increase,
        window_after_loss,
    }
}

const RENO: [f64; 3] = [0.0833333, 0.0333333, 0.025];
const LINKED: [f64; 3] = [0.00799168; 3];

const ROWS: &[Row] = &[
    row("reno", &[], RENO, HALVES),
    row("dctcp", &[], RENO, HALVES),
    // w base/rtt: 12 · 45/50, 30 · 60/80, 40 · 150/250
    row("westwood", &[], RENO, [10.8, 22.5, 24.0]),
    row("ewtcp", &[], [0.00925926, 0.0037037, 0.00277778], HALVES),
    row(
        "ewtcp",
        &[("a", "1/sqrt(n)")],
        [0.0481125, 0.019245, 0.0144338],
        HALVES,
    ),
    // a = 0.25: 0.25/12, 0.25/30, 0.25/40
    row(
        "ewtcp",
        &[("a", "0.25")],
        [0.0208333, 0.00833333, 0.00625],
        HALVES,
    ),
    // 12 − 41, 30 − 41 and 40 − 41 are below the floor of 1
    row("coupled", &[], [0.0121951; 3], [1.0; 3]),
    row(
        "coupled",
        &[("epsilon", "seed")],
        [0.00178465, 0.00446163, 0.00594884],
        HALVES,
    ),
    row(
        "coupled",
        &[("epsilon", "0")],
        [0.00178465, 0.00446163, 0.00594884],
        HALVES,
    ),
    row(
        "coupled",
        &[("epsilon", "semicoupled")],
        [0.0121951; 3],
        HALVES,
    ),
    row("coupled", &[("epsilon", "2")], RENO, HALVES),
    // ε = 1/2: √w / W^1.5 = 3.4641, 5.47723, 6.32456 over 742.541
    row(
        "coupled",
        &[("epsilon", "0.5")],
        [0.00466520, 0.00737633, 0.00851745],
        HALVES,
    ),
    row("lia", &[], LINKED, HALVES),
    row("hybrid", &[], LINKED, HALVES),
    row("cwa", &[], LINKED, HALVES),
    row("olia", &[], [0.00799168, 0.0189155, -0.00726778], HALVES),
    // α = 1.5625, 1, 2.34375; 12 − 6·1.5 = 3, 40 − 20·1.5 = 10
    row(
        "balia",
        &[],
        [0.0113913, 0.00780437, 0.00226025],
        [3.0, 15.0, 10.0],
    ),
    row(
        "balia",
        &[("kernel_quirk", "on")],
        [0.0113913, 0.00780437, 0.00226025],
        [6.0, 15.0, 10.0],
    ),
    row("ecmtcp", &[], [0.00799168, 0.00399584, 0.00599376], HALVES),
    // (1 − p_r)/0.998: 0.991984, 1, 0.996994
    row(
        "ecmtcp",
        &[("ratio", "delivery")],
        [0.00792762, 0.00799168, 0.00796766],
        HALVES,
    ),
    row(
        "ecmtcp",
        &[("ratio", "seed002")],
        [0.0399584, 0.00799168, 0.0199792],
        HALVES,
    ),
    row(
        "dwc",
        &[("groups", "all")],
        [0.00406504, 0.00650407, 0.0203252],
        HALVES,
    ),
    // no group detected yet: NewReno
    row("dwc", &[], RENO, HALVES),
    // d = 1.2, 7.5, 16; α = 2, 4, 2
    row("wvegas", &[], [1.0, -1.0, -1.0], HALVES),
    // path 1 has a backlog of 1.2 < 3: all of LIA, and 0.8 · 12 = 9.6 after a loss (9 in whole
    // packets)
    row(
        "mveno",
        &[],
        [0.00799168, 0.00399584, 0.00399584],
        [9.6, 15.0, 20.0],
    ),
    row("emreno", &[], [0.00799168, 0.00390219, 0.000799168], HALVES),
    row("eemptcp", &[], [-0.00188863, 0.0143151, 0.00621322], HALVES),
    // path 2 is never above 1/30, paths 1 and 3 are below: the cap changes nothing
    row(
        "eemptcp",
        &[("cap_total", "on")],
        [-0.00188863, 0.0143151, 0.00621322],
        HALVES,
    ),
    row(
        "eemptcp",
        &[("g", "inv_delivery")],
        [0.00250063, 0.00643709, 0.0108049],
        HALVES,
    ),
    row("dts", &[], [0.0156959, 0.0144247, 0.00155797], HALVES),
    row(
        "dts",
        &[("rtt", "smoothed"), ("c", "0.5")],
        [0.00784795, 0.00721235, 0.000778985],
        HALVES,
    ),
    // ε = 1.9196, 1.8055, 1.4550 from the table of the corrected cubic
    row(
        "dts",
        &[("shape", "intended")],
        [0.0153408, 0.0140908, 0.00155040],
        HALVES,
    ),
    row("edts", &[], [0.0156959, 0.0114247, -0.010442], HALVES),
    // C τ³/w = 0.4 · 0.000125/12, 0.4 · 0.000512/30, 0.4 · 0.015625/40
    row(
        "cubic",
        &[],
        [4.16667e-6, 6.82667e-6, 1.5625e-4],
        [8.4, 21.0, 28.0],
    ),
];

fn assert_close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "{what}: {got}, not {want} within {tolerance}"
    );
}

#[test]
fn every_controller_computes_the_worked_numbers() {
    let state = state();
    for row in ROWS {
        let controller = Controller::by_name(row.name).unwrap();
        let explanation = explain(controller, &state, row.params).unwrap();
        for r in 0..3 {
            let what = format!("{} {:?} δ of path {}", row.name, row.params, r + 1);
            // CUBIC's first increase is coarse, because its time steps are 61 µs
            let tolerance = if row.name == "cubic" { 0.02 } else { TOLERANCE };
            assert_close(&what, explanation.increase[r], row.increase[r], tolerance);
            let after = format!("{} {:?} path {} after a loss", row.name, row.params, r + 1);
            assert_close(
                &after,
                explanation.window_after_loss[r],
                row.window_after_loss[r].floor(),
                0.0,
            );
        }
    }
}

#[test]
fn every_formula_computes_the_worked_numbers() {
    let state = state();
    for row in ROWS {
        let controller = Controller::by_name(row.name).unwrap();
        let formula = explain(controller, &state, row.params).unwrap().formula;
        for r in 0..3 {
            let what = format!("{} {:?} path {}", row.name, row.params, r + 1);
            let intended = row.params.contains(&("shape", "intended"));
            // the worked ε of this row has four digits
            assert_close(
                &what,
                formula.increase[r],
                row.increase[r],
                if intended { 1e-4 } else { PRINTED },
            );
            assert_close(
                &what,
                formula.window_after_loss[r],
                row.window_after_loss[r],
                1e-9,
            );
        }
    }
}

#[test]
fn the_worked_rows_cover_every_controller() {
    // Controllers that own their window depend on the past: their worked numbers are in their own
    // files.
    let owners = concat!(include_str!("owners.rs"), include_str!("joule.rs"));
    for controller in Controller::all() {
        if controller.has(Capability::OwnsWindow) {
            assert!(
                owners.contains(&format!("\"{}\"", controller.name())),
                "{} has no worked numbers",
                controller.name()
            );
            continue;
        }
        assert!(
            ROWS.iter().any(|row| row.name == controller.name()),
            "{} has no worked row",
            controller.name()
        );
    }
}

/// ε(u) of DTS: u, exact, literal; 2 − ε(1 − u) below one half for the corrected cubic.
const EPSILON: &[(f64, f64, f64, f64)] = &[
    (1.00, 1.9866, 1.9994, 1.9509),
    (0.90, 1.9640, 1.9989, 1.9196),
    (0.75, 1.8483, 1.9966, 1.8055),
    (0.60, 1.4621, 1.9714, 1.4550),
    (0.55, 1.2449, 1.8832, 1.2442),
    (0.50, 1.0000, 1.0000, 1.0000),
    (0.45, 0.7551, 1.8316, 2.0 - 1.2442),
    (0.40, 0.5379, 1.9412, 2.0 - 1.4550),
    (0.25, 0.1517, 1.9569, 2.0 - 1.8055),
    (0.10, 0.0360, 2.0069, 2.0 - 1.9196),
];

#[test]
fn dts_epsilon_has_the_three_shapes() {
    let dts = Controller::by_name("dts").unwrap();
    let olia_term = 0.25 / 100.0; // two equal paths of w = 100: w/(2w)² = 1/(4w)
    for &(u, exact, literal, intended) in EPSILON {
        let subflow = SubflowState {
            cwnd: 100,
            srtt_us: 100_000,
            base_rtt_us: Some((u * 100_000.0) as u32),
            ..Default::default()
        };
        let state = State {
            subflows: vec![subflow; 2],
        };
        for (shape, want) in [
            ("table", exact),
            ("literal", literal),
            ("intended", intended),
        ] {
            let got = explain(dts, &state, &[("shape", shape)]).unwrap().increase[0] / olia_term;
            // tolerance: 0.0024 by interpolation for the table; z in steps of 1/1024 for the
            // polynomials
            assert!(
                (got - want).abs() < 0.006,
                "{shape} ε({u}) = {got}, not {want}"
            );
        }
    }
}

#[test]
fn a_state_out_of_range_is_refused_with_the_field() {
    let lia = Controller::by_name("lia").unwrap();
    let mut bad = state();
    bad.subflows[1].cwnd = 0;
    let message = explain(lia, &bad, &[]).unwrap_err().to_string();
    assert_eq!(message, "subflow 1: `cwnd` must be 1 to 1048576 packets");
    assert!(explain(lia, &State::default(), &[]).is_err());
    let json = r#"{"subflows": [{"cwnd": 10, "srtt_us": 20000, "colour": 1}]}"#;
    assert!(
        serde_json::from_str::<State>(json).is_err(),
        "an unknown field is refused"
    );
}
