//! Radios whose power follows their signal. Unless stated otherwise, values are uniform. Any change
//! makes different scenarios: raise `wide::GENERATION`.

use super::access::Access;
use super::body::{Body, file, names, size, stream};
use super::dice::{Dice, significant};
use super::random::{BULK, LOAD, MEASURED_S, ends, paths, with_keys};
use super::wide::{Queues, cellular, device, direction, wifi};

const PROFILES: [&str; 3] = ["5g-sa-2021", "5g-nsa-2021", "5g-mmwave-2021"];
/// Signals: of steps, then at the start of a walk, dBm.
const SIGNAL_DBM: (f64, f64) = (-115.0, -65.0);
const START_DBM: (f64, f64) = (-105.0, -70.0);
/// Probability of steps; else a walk. Then that of several stations.
const STEPS: f64 = 0.3;
const STATIONS: f64 = 0.5;
/// Of a walk, log-uniform: distance at the start, m; distance from the way, m; speed, m/s; distance
/// between stations, m; correlation distance of the shadowing, m.
const DISTANCE_M: (f64, f64) = (10.0, 500.0);
const ASIDE_M: (f64, f64) = (5.0, 100.0);
const SPEED_MPS: (f64, f64) = (0.5, 40.0);
const SPACING_M: (f64, f64) = (200.0, 3000.0);
const CORRELATION_M: (f64, f64) = (5.0, 100.0);
/// Path loss exponent; standard deviation of the shadowing, dB.
const EXPONENT: (f64, f64) = (2.0, 3.8);
const SIGMA_DB: (f64, f64) = (0.0, 8.0);
/// Probability that the rate follows from the signal. Then signals of its lowest and highest value,
/// dBm, and the ratio of the two, log-uniform.
const RATE_FOLLOWS: f64 = 0.7;
const RATE_DBM: (f64, f64) = (-115.0, -75.0);
const RATE_RATIO: (f64, f64) = (1.0, 50.0);

/// WiFi and a 5G radio whose signal changes, under endless data, a file or a stream.
pub(super) fn signal(dice: &mut Dice) -> Body {
    let profile = PROFILES[dice.below(PROFILES.len() as u64) as usize];
    let mut radios = vec![
        wifi(dice, Queues::All),
        cellular("5g", profile, dice, Queues::All),
    ];
    let way = direction(dice, &mut radios);
    let how = follow(dice, &mut radios[1]);
    let (workload, duration_s, what) = match dice.below(3) {
        0 => (BULK.to_owned(), MEASURED_S, "data without end".to_owned()),
        1 => {
            let bps = dice.between(LOAD.0, LOAD.1) * radios[0].friendly_bps();
            let (workload, rate) = stream(dice, bps);
            (workload, MEASURED_S, format!("a stream of {rate}"))
        }
        _ => {
            let bytes = dice.file_bytes();
            let (workload, duration_s) = file(&radios, bytes);
            (workload, duration_s, format!("a file of {}", size(bytes)))
        }
    };
    Body {
        title: format!("{}, {how}, {what}", names(&radios)),
        duration_s,
        warm_up_s: 0,
        tables: paths(&radios) + &device(dice) + &ends(&radios, "") + &with_keys(&workload, way),
    }
}

/// Draws the signal of a radio, and a rate that may follow from it. Returns how the signal changes.
fn follow(dice: &mut Dice, radio: &mut Access) -> &'static str {
    let (signal, how) = match dice.chance(STEPS) {
        true => (steps(dice), "whose signal has steps"),
        false => walk(dice),
    };
    radio.more += &format!("signal = {signal}\n");
    let (ratio, follows) = (
        dice.log(RATE_RATIO.0, RATE_RATIO.1),
        dice.chance(RATE_FOLLOWS),
    );
    if follows {
        let [least, most] =
            [radio.rate_bps / ratio, radio.rate_bps].map(|bps| significant(bps / 1e6));
        radio.varying = Some(format!(
            "{{ by_signal = [[\"{} dBm\", \"{least} Mbit/s\"], [\"{} dBm\", \"{most} Mbit/s\"]] }}",
            RATE_DBM.0, RATE_DBM.1
        ));
    }
    how
}

fn steps(dice: &mut Dice) -> String {
    let count = 2 + dice.below(4);
    let step = |index: u64| {
        let at_s = f64::from(MEASURED_S) * index as f64 / count as f64;
        format!(
            "[\"{at_s:.2} s\", \"{:.1} dBm\"]",
            dice.between(SIGNAL_DBM.0, SIGNAL_DBM.1)
        )
    };
    format!(
        "{{ steps = [{}] }}",
        (0..count).map(step).collect::<Vec<_>>().join(", ")
    )
}

fn walk(dice: &mut Dice) -> (String, &'static str) {
    let [distance_m, aside_m, speed_mps, spacing_m, correlation_m] =
        [DISTANCE_M, ASIDE_M, SPEED_MPS, SPACING_M, CORRELATION_M]
            .map(|(least, most)| dice.log(least, most));
    let exponent = significant(dice.between(EXPONENT.0, EXPONENT.1));
    let sigma_db = significant(dice.between(SIGMA_DB.0, SIGMA_DB.1));
    let start_dbm = dice.between(START_DBM.0, START_DBM.1);
    let (away, stations) = (dice.chance(0.5), dice.chance(STATIONS));
    let lost_db = 10.0 * exponent * libm::log10(libm::hypot(distance_m, aside_m));
    let at_1m = (start_dbm + lost_db).min(0.0);
    let speed_mps = if away { speed_mps } else { -speed_mps };
    let spacing = if stations {
        format!("spacing_m = {spacing_m:?}, ")
    } else {
        String::new()
    };
    let walk = format!(
        "{{ distance_m = {distance_m:?}, speed_mps = {speed_mps:?}, aside_m = {aside_m:?}, {spacing}\
         at_1m = \"{at_1m:.1} dBm\", exponent = {exponent:?}, sigma_db = {sigma_db:?}, \
         correlation_m = {correlation_m:?} }}"
    );
    (walk, if stations { "past stations" } else { "walking" })
}
