//! Paths with a signal: forms, rates that follow, errors.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::network::RateSpec;
use joulepath_model::scenario::{self, Scenario, show};
use joulepath_model::signal::SignalSpec;
use joulepath_model::units::{Dbm, Nanos};

use super::delays::load as load_beside;

fn text(path: &str) -> String {
    format!(
        "title = \"t\"\nduration = \"60 s\"\n[[path]]\nname = \"5g\"\ndelay = \"20 ms\"\n\
         energy = \"5g-mmwave-2021\"\n{path}\n"
    )
}

fn load(path: &str) -> Scenario {
    scenario::load(&text(path), &|_| Err("no traces".into()))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

fn refused(path: &str) -> String {
    match scenario::load(&text(path), &|_| Err("no traces".into())) {
        Ok(_) => panic!("{path} was accepted"),
        Err(errors) => errors.to_string(),
    }
}

const WALK: &str = "signal = { distance_m = 10, speed_mps = 2, at_1m = \"-40 dBm\", sigma_db = 4 }";

#[test]
fn a_weak_signal_costs_power() {
    let active = |signal: &str| {
        let scenario = load(&format!("rate = \"400 Mbit/s\"\nsignal = \"{signal}\""));
        let InterfaceModel::Rrc(rrc) = &scenario.paths[0].energy.model else {
            panic!("a radio")
        };
        rrc.active.0 + rrc.down.0 * 400e6
    };
    // Between the knots of 300 and 600 Mbit/s: 3.5 W at -80 dBm, over 5.4 W at -115 dBm.
    assert!(active("-80 dBm") < 3.6 && active("-115 dBm") > 5.4);
}

#[test]
fn rates_follow_from_the_signal() {
    let steps = "signal = { steps = [[\"0 s\", \"-80 dBm\"], [\"30 s\", \"-100 dBm\"]] }";
    let scenario = load(&format!(
        "rate = {{ by_signal = [[\"-110 dBm\", \"10 Mbit/s\"], [\"-90 dBm\", \"50 Mbit/s\"]] }}\n{steps}"
    ));
    let RateSpec::Steps(rates) = &scenario.links[0].rate else {
        panic!("steps")
    };
    let rates: Vec<_> = rates.iter().map(|(at, rate)| (*at, rate.bps())).collect();
    assert_eq!(
        rates,
        [
            (Nanos::ZERO, 50_000_000),
            (Nanos::from_secs(30), 30_000_000)
        ]
    );
}

#[test]
fn a_trace_of_signals_sets_rates_and_powers_and_is_shown_by_its_name() {
    let path = "rate = { by_signal = [[\"-110 dBm\", \"10 Mbit/s\"], [\"-90 dBm\", \"50 Mbit/s\"]] }\n\
                signal = { trace = \"walk.csv\" }";
    let with = |trace: &str, text: &str| load_beside(text, trace);
    let scenario = with("0 -80\n30 -100\n", &text(path)).unwrap();
    let shown = show(&scenario);
    let RateSpec::Steps(rates) = &scenario.links[0].rate else {
        panic!("steps")
    };
    let rates: Vec<_> = rates.iter().map(|(at, rate)| (*at, rate.bps())).collect();
    assert_eq!(
        rates,
        [
            (Nanos::ZERO, 50_000_000),
            (Nanos::from_secs(30), 30_000_000)
        ]
    );
    assert_eq!(scenario.drawn(1).as_ref(), &scenario);
    assert!(
        shown.contains("signal = { trace = \"walk.csv\" }"),
        "{shown}"
    );
    assert_eq!(with("0 -80\n30 -100\n", &shown).unwrap(), scenario);
    let said = with("5 -80", &text(path)).unwrap_err();
    assert!(
        said.contains("walk.csv") && said.contains("line 1 is after 0 s"),
        "{said}"
    );
}

#[test]
fn a_seed_draws_the_shadowing_and_the_rates_with_it() {
    let scenario = load(&format!(
        "rate = {{ by_signal = \"5g-mmwave-2021\" }}\n{WALK}"
    ));
    let drawn = scenario.drawn(1).into_owned();
    assert_eq!(drawn, scenario.drawn(1).into_owned());
    assert_ne!(drawn, scenario.drawn(2).into_owned());
    let SignalSpec::Steps(series) = &drawn.paths[0].signal.as_ref().unwrap().spec else {
        panic!("a series")
    };
    assert_eq!(series.len(), 120);
    assert_ne!(drawn.links[0].rate, scenario.links[0].rate);
    // Without shadowing, 10 m are 30 dB below 1 m.
    assert_eq!(
        scenario.paths[0]
            .signal
            .as_ref()
            .unwrap()
            .spec
            .expected(scenario.duration)[0]
            .1,
        Dbm(-70.0)
    );
}

#[test]
fn a_shown_signal_loads_again() {
    for path in [
        format!("rate = {{ by_signal = \"5g-mmwave-2021\" }}\n{WALK}"),
        "rate = \"10 Mbit/s\"\nsignal = \"-95.5 dBm\"".into(),
        format!(
            "rate = \"10 Mbit/s\"\n{}",
            WALK.replace("sigma_db", "spacing_m = 700.5, aside_m = 5, sigma_db")
        ),
    ] {
        let scenario = load(&path);
        for scenario in [scenario.drawn(3).into_owned(), scenario] {
            let shown = show(&scenario);
            let again = scenario::load(&shown, &|_| Err("none".into()))
                .unwrap_or_else(|e| panic!("{e}\n{shown}"));
            assert_eq!(again.links, scenario.links, "{shown}");
            assert_eq!(again.paths[0].signal, scenario.paths[0].signal, "{shown}");
            assert_eq!(show(&again), shown);
        }
    }
}

#[test]
fn mistakes_are_named_with_their_fix() {
    let with_rate = |rest: &str| refused(&format!("rate = \"10 Mbit/s\"\n{rest}"));
    for (errors, parts) in [
        (
            with_rate("signal = -95"),
            ["`-95` has no unit", "\"-95 dBm\""],
        ),
        (
            with_rate("signal = \"-195 dBm\""),
            ["`-195 dBm` is out of range", "-160 dBm"],
        ),
        (
            with_rate("signal = { steps = [[\"1 s\", \"-80 dBm\"]] }"),
            ["from \"0 s\"", "write for example"],
        ),
        (
            with_rate(&WALK.replace("sigma_db = 4", "sigma_db = -4")),
            ["`sigma_db` of a walk is not negative", ""],
        ),
        (
            with_rate("signal = { speed = 2 }"),
            ["this table is not a signal", "distance_m"],
        ),
        (
            refused("rate = { by_signal = \"5g-sa-2021\" }"),
            ["follows from the signal", "signal = \"-95 dBm\""],
        ),
        (
            refused("rate = { by_signal = \"5g-sa-2012\" }\nsignal = \"-95 dBm\""),
            [
                "no rates by signal were measured for `5g-sa-2012`",
                "5g-sa-2021",
            ],
        ),
    ] {
        assert!(parts.iter().all(|part| errors.contains(part)), "{errors}");
    }
}
