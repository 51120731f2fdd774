//! Power of 5G radios as a function of signal, down rate and up rate.
//!
//! P(s, d, u) = D(s, d) + U(s, u): two tables, bilinear between their knots. P grows with the rates
//! and falls with the signal. Outside its domain: a signal outside the knots counts as the nearest
//! knot, and above the last rate the power grows as it does at the weakest signal.

mod table;
mod tables;

pub use self::table::RadioTable;

use super::{InterfaceEnergy, InterfaceModel, RrcModel};
use crate::units::{BitRate, Dbm, JoulesPerBit, Watts};

/// Profiles with power by signal, and their tables.
static RADIOS: [(&str, &RadioTable); 3] = [
    ("5g-sa-2021", &tables::SA),
    ("5g-nsa-2021", &tables::NSA),
    ("5g-mmwave-2021", &tables::MMWAVE),
];

/// The signal at which a profile's power holds if a path states none.
pub const REFERENCE: Dbm = Dbm(-80.0);

/// The power by signal of the profile called `name`.
pub fn radio(name: &str) -> Option<&'static RadioTable> {
    RADIOS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, table)| *table)
}

/// Names of the profiles with power by signal.
pub fn radio_names() -> impl Iterator<Item = &'static str> {
    RADIOS.iter().map(|(name, _)| *name)
}

impl InterfaceEnergy {
    /// The power by signal of its radio, if its profile was measured by signal.
    pub fn radio(&self) -> Option<&'static RadioTable> {
        radio(self.profile.split(',').next().unwrap_or_default())
    }
}

impl RadioTable {
    /// Power of the active radio at rates in bit/s.
    pub fn power(&self, signal: Dbm, down_bps: f64, up_bps: f64) -> Watts {
        let (s, share) = place(
            self.signals_dbm,
            signal.0.clamp(self.signals_dbm[0], self.last_dbm()),
        );
        let at = |knots: &[f64], table: &[&[f64]], bps: f64| {
            let (mbps, last) = ((bps * 1e-6).max(0.0), knots.len() - 1);
            let (r, along) = place(knots, mbps.min(knots[last]));
            let row = |row: &[f64]| row[r] + along * (row[r + 1] - row[r]);
            let (weak, strong) = (row(table[s]), row(table[s + 1]));
            // The slope of the weakest signal for all: curves that cross would not fall with the
            // signal.
            let slope = (table[0][last] - table[0][last - 1]) / (knots[last] - knots[last - 1]);
            weak + share * (strong - weak) + slope * (mbps - knots[last]).max(0.0)
        };
        let down = at(self.down_mbps, self.down_mw, down_bps);
        Watts((down + at(self.up_mbps, self.up_mw, up_bps)) * 1e-3)
    }

    /// The signals that were measured.
    pub fn domain(&self) -> (Dbm, Dbm) {
        (Dbm(self.signals_dbm[0]), Dbm(self.last_dbm()))
    }

    /// The fastest rate seen at each signal, for data to the device or from it.
    pub fn fastest(&self, up: bool) -> Vec<(Dbm, BitRate)> {
        let pairs = if up {
            self.fastest_up
        } else {
            self.fastest_down
        };
        pairs
            .iter()
            .map(|&(dbm, mbps)| (Dbm(dbm), BitRate::from_bps((mbps * 1e6) as u64)))
            .collect()
    }

    /// `rrc` with the slopes and the active power of this signal: exact at `down_bps` alone and at
    /// `up_bps` alone, and near them.
    pub fn at(&self, signal: Dbm, rrc: &RrcModel, down_bps: f64, up_bps: f64) -> RrcModel {
        let [down_bps, up_bps] = [down_bps, up_bps].map(|bps| bps.clamp(1e3, 1e11));
        let whole = self.power(signal, down_bps, 0.0).0;
        let half = self.power(signal, down_bps / 2.0, 0.0).0;
        let down = (whole - half) / (down_bps / 2.0);
        let active = (whole - down * down_bps).max(0.0);
        let up = ((self.power(signal, 0.0, up_bps).0 - active) / up_bps).max(0.0);
        RrcModel {
            down: JoulesPerBit(down),
            up: JoulesPerBit(up),
            active: Watts(active),
            ..rrc.clone()
        }
    }

    /// `rrc` with slopes and an active power that stay below the power at each of `signals`, for
    /// any rates up to these, bit/s: the power without traffic, and in each direction the steepest
    /// line from there. The rates may be infinite.
    pub fn below(
        &self,
        signals: impl IntoIterator<Item = Dbm>,
        rrc: &RrcModel,
        down_bps: f64,
        up_bps: f64,
    ) -> RrcModel {
        let [mut active, mut down, mut up] = [f64::INFINITY; 3];
        for signal in signals {
            let idle = self.power(signal, 0.0, 0.0).0;
            // The power is linear between the knots, so its mean slope from rate 0 on is least at a
            // knot or at the highest rate.
            let least = |knots: &[f64], most_bps: f64, power: &dyn Fn(f64) -> f64| {
                let most_bps = most_bps.clamp(1e3, 1e12);
                let knots = knots
                    .iter()
                    .map(|mbps| mbps * 1e6)
                    .filter(|bps| (1.0..most_bps).contains(bps));
                let slopes = knots.chain([most_bps]).map(|bps| (power(bps) - idle) / bps);
                slopes.fold(f64::INFINITY, f64::min).max(0.0)
            };
            active = active.min(idle);
            down = down.min(least(self.down_mbps, down_bps, &|bps| {
                self.power(signal, bps, 0.0).0
            }));
            up = up.min(least(self.up_mbps, up_bps, &|bps| {
                self.power(signal, 0.0, bps).0
            }));
        }
        RrcModel {
            down: JoulesPerBit(down),
            up: JoulesPerBit(up),
            active: Watts(active),
            ..rrc.clone()
        }
    }

    /// `model` at a signal and rates; a model that is not a radio's stays as it is.
    pub fn model_at(
        &self,
        signal: Dbm,
        model: &InterfaceModel,
        down_bps: f64,
        up_bps: f64,
    ) -> InterfaceModel {
        match model {
            InterfaceModel::Rrc(rrc) => InterfaceModel::Rrc(self.at(signal, rrc, down_bps, up_bps)),
            other => other.clone(),
        }
    }

    fn last_dbm(&self) -> f64 {
        self.signals_dbm[self.signals_dbm.len() - 1]
    }
}

/// The interval of `knots` that holds `x`, or the nearest, and the place of `x` in it.
fn place(knots: &[f64], x: f64) -> (usize, f64) {
    let i = knots
        .partition_point(|knot| *knot <= x)
        .clamp(1, knots.len() - 1)
        - 1;
    (i, (x - knots[i]) / (knots[i + 1] - knots[i]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_knot_has_the_power_of_its_table() {
        let mmwave = radio("5g-mmwave-2021").expect("shipped");
        // Tables of -82.5 dBm: 4778 mW at 600 Mbit/s down; 2165 + 973 mW at 70 Mbit/s up.
        assert!((mmwave.power(Dbm(-82.5), 600e6, 0.0).0 - 4.778).abs() < 1e-12);
        assert!((mmwave.power(Dbm(-82.5), 0.0, 70e6).0 - 3.138).abs() < 1e-12);
        // Halfway to -87.5 dBm: (4778 + 4906) / 2.
        assert!((mmwave.power(Dbm(-85.0), 600e6, 0.0).0 - 4.842).abs() < 1e-12);
        // Weaker than -117.5 dBm counts as -117.5 dBm; above 2600 Mbit/s 8151 - 7439 mW for each
        // 600 Mbit/s.
        assert_eq!(
            mmwave.power(Dbm(-150.0), 0.0, 0.0),
            mmwave.power(Dbm(-117.5), 0.0, 0.0)
        );
        assert!((mmwave.power(Dbm(-117.5), 3200e6, 0.0).0 - 8.863).abs() < 1e-9);
    }

    #[test]
    fn a_line_is_exact_at_its_rates() {
        let (table, model) = (
            radio("5g-sa-2021").expect("shipped"),
            super::super::profile("5g-sa-2021"),
        );
        let InterfaceModel::Rrc(rrc) = model.expect("shipped").model else {
            panic!("a radio")
        };
        let line = table.at(Dbm(-90.0), &rrc, 30e6, 20e6);
        let down = line.active.0 + line.down.0 * 30e6;
        assert!((down - table.power(Dbm(-90.0), 30e6, 0.0).0).abs() < 1e-12);
        assert!(
            (line.active.0 + line.up.0 * 20e6 - table.power(Dbm(-90.0), 0.0, 20e6).0).abs() < 1e-12
        );
    }

    proptest! {
        /// Any rates up to the highest: within the table, beyond its last knot, and without a
        /// limit.
        #[test]
        fn a_line_below_is_never_above_the_power_and_meets_it(
            which in 0..3usize, signals in prop::collection::vec(-130.0..-40.0f64, 1..4),
            (most_down, most_up) in (1e3..4e9f64, 1e3..2e8f64), (d, u) in (0.0..=1.0f64, 0.0..=1.0f64),
            unlimited in any::<bool>(),
        ) {
            let (name, table) = RADIOS[which];
            let model = super::super::profile(name).expect("shipped").model;
            let InterfaceModel::Rrc(rrc) = model else { panic!("a radio") };
            let below = |most_down, most_up| {
                table.below(signals.iter().map(|dbm| Dbm(*dbm)), &rrc, most_down, most_up)
            };
            let most = if unlimited { [f64::INFINITY; 2] } else { [most_down, most_up] };
            let line = below(most[0], most[1]);
            let (d, u) = (d * most_down, u * most_up);
            for &dbm in &signals {
                let power = table.power(Dbm(dbm), d, u).0;
                prop_assert!(line.active.0 + line.down.0 * d + line.up.0 * u <= power + 1e-9);
            }
            prop_assert_eq!(&line.tail, &rrc.tail);
            // A higher rate never makes the line steeper, and without a second signal it meets the
            // power.
            let wider = below(2.0 * most_down, 2.0 * most_up);
            let tight = below(most_down, most_up);
            let no_steeper = |wide: JoulesPerBit, tight: JoulesPerBit| wide.0 <= tight.0 * (1.0 + 1e-9);
            prop_assert!(no_steeper(wider.down, tight.down) && no_steeper(wider.up, tight.up));
            if signals.len() == 1 {
                let meets = |bps: f64| {
                    let power = table.power(Dbm(signals[0]), bps, 0.0).0;
                    (power - tight.active.0 - tight.down.0 * bps).abs() < 1e-9
                };
                let knots = table.down_mbps.iter().map(|mbps| mbps * 1e6);
                let mut rates = knots.filter(|bps| *bps > 0.0 && *bps <= most_down).chain([most_down]);
                prop_assert!(rates.any(meets));
            }
        }

        #[test]
        fn power_grows_with_rates_and_falls_with_signal(
            which in 0..3usize, s in -160.0..0.0f64, d in 0.0..5e9f64, u in 0.0..1e9f64,
            (ds, dd, du) in (0.0..50.0f64, 0.0..1e9f64, 0.0..1e9f64),
        ) {
            let table = RADIOS[which].1;
            let power = |s: f64, d: f64, u: f64| table.power(Dbm(s), d, u).0;
            let here = power(s, d, u);
            prop_assert!(here.is_finite() && here > 0.0);
            prop_assert!(power(s, d + dd, u + du) >= here - 1e-9);
            prop_assert!(power(s + ds, d, u) <= here + 1e-9);
        }
    }
}
