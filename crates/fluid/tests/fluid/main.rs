//! The fluid model compared with closed forms, hand-computed numbers, finite differences and the
//! packet engine.
//!
//! `cargo test -p joulepath-fluid --test fluid -- --nocapture` prints computed and expected values.

mod bursts;
mod conditions;
mod equilibria;
mod files;
mod forms;
mod runs;
mod stability;
mod theory;
mod tradeoff;

use joulepath_controllers::formula::{EnergyRatio, Law, Path, Shape};
use joulepath_controllers::{Connection, Controller};
use joulepath_fluid::Route;
use joulepath_model::units::JoulesPerBit;

/// Fails if `got` differs from `want` by more than the relative `tolerance`.
#[track_caller]
fn assert_near(what: &str, got: f64, want: f64, tolerance: f64) {
    println!("{what}: {got:.6}, expected {want:.6}");
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "{what}: {got}, not {want} within {tolerance}"
    );
}

/// A law, by the name and parameters of its controller.
fn law(name: &str, params: &[(&str, &str)]) -> Law {
    let controller = Controller::by_name(name).expect("a controller");
    let mut connection = Connection::new(2);
    for (name, value) in params {
        controller
            .set_param(&mut connection, name, value)
            .expect("a parameter");
    }
    Law::of(controller, &connection).expect("a controller with a law")
}

/// p = (0.001, 0.002), τ = (0.05, 0.1) s, energy per bit 1 : 2. One TCP on the first path gets
/// 894.427 packets/s.
fn pair() -> Vec<Route> {
    let route = |loss, rtt_s, joules| {
        let mut route = Route::fixed(loss, rtt_s);
        route.cost.slope = JoulesPerBit(joules);
        route
    };
    vec![route(0.001, 0.05, 1.0), route(0.002, 0.1, 2.0)]
}

/// A path in the papers' symbols with u = τ⁰/τ.
fn path(w: f64, tau: f64, p: f64, u: f64) -> Path {
    Path {
        w,
        tau,
        tau_last: tau,
        tau_base: u * tau,
        l: 1.0 / p,
        p,
        e: 1.0,
        alpha: 0.5,
        u: 0.0,
        group: 0,
    }
}

const ECMTCP: Law = Law::Ecmtcp {
    ratio: EnergyRatio::Energy,
};
const DTS: Law = Law::Dts {
    c: 1.0,
    shape: Shape::Sigmoid,
    latest: false,
    kappa: 0.0,
};
