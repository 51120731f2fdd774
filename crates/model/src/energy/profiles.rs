//! Named energy models of interfaces.

use std::fmt;

use super::constants::{aro_i997, huang2012, narayanan2021, seed, seed003, states2021};
use super::equations::duty_cycle_mean;
use super::radios::{REFERENCE, radio};
use super::{InterfaceEnergy, InterfaceModel, RrcModel, Stage, SunkWhile};
use crate::names;
use crate::signal::rate_at;
use crate::units::{JoulesPerBit, Nanos, Watts};

/// A named energy model of an interface.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// Source of the constants.
    pub source: &'static str,
    /// Confidence in its constants: the lowest among those that matter.
    pub confidence: Confidence,
    build: fn() -> InterfaceModel,
}

/// Confidence in the constants of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// **V**: checked against the paper, a public tool's configuration or a published data set.
    Verified,
    /// **L**: from the literature, not confirmed against the primary text.
    Literature,
    /// **R**: partly chosen here.
    Reconstruction,
}

impl Confidence {
    /// The letter used in the documentation.
    pub const fn letter(self) -> char {
        match self {
            Confidence::Verified => 'V',
            Confidence::Literature => 'L',
            Confidence::Reconstruction => 'R',
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Confidence::Verified => "verified",
            Confidence::Literature => "literature",
            Confidence::Reconstruction => "recon.",
        })
    }
}

impl Profile {
    /// The equations and constants.
    pub fn model(&self) -> InterfaceModel {
        (self.build)()
    }

    /// The profile as the energy model of an interface.
    pub fn interface(&self) -> InterfaceEnergy {
        InterfaceEnergy { profile: self.name.to_owned(), model: self.model() }
    }
}

/// All profiles, grouped by source.
pub fn profiles() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter()
}

/// Names of all profiles.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    profiles().map(|profile| profile.name)
}

/// The energy model called `name`.
pub fn profile(name: &str) -> Option<InterfaceEnergy> {
    profiles().find(|profile| profile.name == name).map(Profile::interface)
}

/// The profile whose name is most similar to `name`, if one is similar enough to be a likely misspelling.
pub fn nearest(name: &str) -> Option<&'static str> {
    const EXPERIMENT: &str = "-seed";
    let general = profile_names().filter(|known| !known.contains(EXPERIMENT));
    match name.contains(EXPERIMENT) {
        true => names::nearest(name, profile_names()),
        false => names::nearest(name, general).or_else(|| names::nearest(name, profile_names())),
    }
}

/// What to write instead of `name`, which is no profile.
pub fn suggest_profile(name: &str) -> String {
    let all = format!("known profiles: {}", profile_names().collect::<Vec<_>>().join(", "));
    nearest(name)
        .map_or(all.clone(), |nearest| format!("did you mean `{nearest}`? {}", names::capitalised(&all)))
}

const SEED000: &str = "paper 000, section V-A (rounded from Huang et al. 2012)";
const SEED001: &str = "paper 001, table 2 (rounded from Huang et al. 2012)";
const SEED003: &str = "paper 003, table 1";
const HUANG: &str = "Huang et al., MobiSys 2012";
const ARO: &str = "AT&T Application Resource Optimizer, Samsung i997";
const NARAYANAN: &str = "Narayanan et al., SIGCOMM 2021 (published data set)";

static PROFILES: &[Profile] = &[
    Profile {
        name: "free",
        summary: "costs nothing and never counts as active (wired competitors)",
        source: "by definition",
        confidence: Confidence::Verified,
        build: || linear(0.0, 0.0, 0.0, SunkWhile::Open),
    },
    Profile {
        name: "wifi-seed000",
        summary: "WiFi, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        build: || linear(seed::WIFI_DOWN, 0.0, seed::WIFI_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "lte-seed000",
        summary: "LTE, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        build: || linear(seed::LTE_DOWN, 0.0, seed::LTE_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "umts-seed000",
        summary: "3G, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        build: || linear(seed::UMTS_DOWN, 0.0, seed::UMTS_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "wlan-seed001",
        summary: "WLAN, linear, received data only, sunk power while a subflow is open",
        source: SEED001,
        confidence: Confidence::Verified,
        build: || linear(seed::WIFI_DOWN, 0.0, seed::WIFI_SUNK_MW, SunkWhile::Open),
    },
    Profile {
        name: "3g-seed001",
        summary: "3G, linear, received data only, sunk power while a subflow is open",
        source: SEED001,
        confidence: Confidence::Verified,
        build: || linear(seed::UMTS_DOWN, 0.0, seed::UMTS_SUNK_MW, SunkWhile::Open),
    },
    Profile {
        name: "wifi-huang2012",
        summary: "WiFi with promotion, tail and beacons",
        source: HUANG,
        confidence: Confidence::Literature,
        build: wifi_huang2012,
    },
    Profile {
        name: "lte-huang2012",
        summary: "LTE with promotion, 11.6 s tail and idle DRX",
        source: HUANG,
        confidence: Confidence::Literature,
        build: lte_huang2012,
    },
    Profile {
        name: "3g-huang2012",
        summary: "3G with promotion, DCH and FACH tail and idle DRX",
        source: HUANG,
        confidence: Confidence::Literature,
        build: umts_huang2012,
    },
    Profile {
        name: "wifi-huang2012-linear",
        summary: "WiFi, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Literature,
        build: || {
            linear(huang2012::WIFI_DOWN, huang2012::WIFI_UP, huang2012::WIFI_ACTIVE_MW, SunkWhile::Open)
        },
    },
    Profile {
        name: "lte-huang2012-linear",
        summary: "LTE, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Verified,
        build: || linear(huang2012::LTE_DOWN, huang2012::LTE_UP, huang2012::LTE_ACTIVE_MW, SunkWhile::Open),
    },
    Profile {
        name: "3g-huang2012-linear",
        summary: "3G, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Literature,
        build: || {
            linear(huang2012::UMTS_DOWN, huang2012::UMTS_UP, huang2012::UMTS_ACTIVE_MW, SunkWhile::Open)
        },
    },
    Profile {
        name: "3g-aro-i997",
        summary: "older 3G: power by state only, DCH 4 s and FACH 10 s tail",
        source: ARO,
        confidence: Confidence::Verified,
        build: umts_aro_i997,
    },
    Profile {
        name: "5g-mmwave-2021",
        summary: "5G NSA mmWave, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        build: mmwave_2021,
    },
    Profile {
        name: "5g-sa-2021",
        summary: "5G SA low band at -80 dBm, with RRC_INACTIVE; by signal on a path with `signal`",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        build: sa_2021,
    },
    Profile {
        name: "5g-nsa-2021",
        summary: "5G NSA low band at -80 dBm, with its LTE anchor; by signal on a path with `signal`",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        build: nsa_2021,
    },
    Profile {
        name: "5g-lowband-2021",
        summary: "5G NSA low band, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        build: lowband_2021,
    },
    Profile {
        name: "lte-2021",
        summary: "LTE of a 2020 phone, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        build: lte_2021,
    },
    Profile {
        name: "wifi-seed003",
        summary: "WiFi of so-MPTCP: 5 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        build: || slotted(seed003::WIFI_TRANSFER_J_PER_MBIT),
    },
    Profile {
        name: "lte-seed003",
        summary: "LTE of so-MPTCP: 10 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        build: || slotted(seed003::LTE_TRANSFER_J_PER_MBIT),
    },
    Profile {
        name: "mmwave-seed003",
        summary: "mmWave of so-MPTCP: 20 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        build: || slotted(seed003::MMWAVE_TRANSFER_J_PER_MBIT),
    },
];

const fn milliwatts(mw: f64) -> Watts {
    Watts(mw * 1e-3)
}

fn linear(down: f64, up: f64, sunk_mw: f64, sunk_while: SunkWhile) -> InterfaceModel {
    InterfaceModel::Linear {
        down: JoulesPerBit::from_mw_per_mbps(down),
        up: JoulesPerBit::from_mw_per_mbps(up),
        sunk: milliwatts(sunk_mw),
        sunk_while,
    }
}

fn slotted(transfer_j_per_mbit: f64) -> InterfaceModel {
    InterfaceModel::Slotted {
        transfer: JoulesPerBit(transfer_j_per_mbit * 1e-6),
        idle: Watts(seed003::IDLE_W),
        slot: Nanos::from_secs(seed003::SLOT_S),
    }
}

const fn stage(power_mw: f64, duration: Nanos) -> Stage {
    Stage { power: milliwatts(power_mw), duration }
}

fn duty_cycle(on_mw: f64, on_us: u64, period_us: u64) -> Watts {
    duty_cycle_mean(milliwatts(on_mw), Nanos::from_micros(on_us), Nanos::from_micros(period_us))
}

fn wifi_huang2012() -> InterfaceModel {
    use huang2012::*;
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit::from_mw_per_mbps(WIFI_DOWN),
        up: JoulesPerBit::from_mw_per_mbps(WIFI_UP),
        active: milliwatts(WIFI_ACTIVE_MW),
        inactivity: Nanos::from_micros(INACTIVITY_US),
        promotion: stage(WIFI_PROMOTION_MW, Nanos::from_micros(WIFI_PROMOTION_US)),
        tail: vec![stage(WIFI_TAIL_MW, Nanos::from_micros(WIFI_TAIL_US))],
        idle: duty_cycle(WIFI_IDLE_ON_MW, WIFI_IDLE_ON_US, WIFI_IDLE_PERIOD_US),
    })
}

fn lte_huang2012() -> InterfaceModel {
    use huang2012::*;
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit::from_mw_per_mbps(LTE_DOWN),
        up: JoulesPerBit::from_mw_per_mbps(LTE_UP),
        active: milliwatts(LTE_ACTIVE_MW),
        inactivity: Nanos::from_micros(INACTIVITY_US),
        promotion: stage(LTE_PROMOTION_MW, Nanos::from_micros(LTE_PROMOTION_US)),
        tail: vec![stage(LTE_TAIL_MW, Nanos::from_micros(LTE_TAIL_US))],
        idle: duty_cycle(LTE_IDLE_ON_MW, LTE_IDLE_ON_US, LTE_IDLE_PERIOD_US),
    })
}

fn umts_huang2012() -> InterfaceModel {
    use huang2012::*;
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit::from_mw_per_mbps(UMTS_DOWN),
        up: JoulesPerBit::from_mw_per_mbps(UMTS_UP),
        active: milliwatts(UMTS_ACTIVE_MW),
        inactivity: Nanos::from_micros(INACTIVITY_US),
        promotion: stage(UMTS_PROMOTION_MW, Nanos::from_micros(UMTS_PROMOTION_US)),
        tail: vec![
            stage(UMTS_DCH_TAIL_MW, Nanos::from_micros(UMTS_DCH_TAIL_US)),
            stage(UMTS_FACH_TAIL_MW, Nanos::from_micros(UMTS_FACH_TAIL_US)),
        ],
        idle: duty_cycle(UMTS_IDLE_ON_MW, UMTS_IDLE_ON_US, UMTS_IDLE_PERIOD_US),
    })
}

/// Power depends on the state only: no slope; FACH → DCH (0.8 W for 1.5 s) is treated as immediate.
fn umts_aro_i997() -> InterfaceModel {
    use aro_i997::*;
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit(0.0),
        up: JoulesPerBit(0.0),
        active: milliwatts(DCH_MW),
        inactivity: Nanos::from_micros(huang2012::INACTIVITY_US),
        promotion: stage(PROMOTION_MW, Nanos::from_millis(PROMOTION_MS)),
        tail: vec![
            stage(DCH_MW, Nanos::from_millis(DCH_TAIL_MS)),
            stage(FACH_MW, Nanos::from_millis(FACH_TAIL_MS)),
        ],
        idle: Watts(0.0),
    })
}

/// The radio alone: the intercept of the downlink minus the phone. Idle power is part of the phone's.
fn narayanan(slopes: [f64; 2], phone_mw: f64, promotion: Stage, tail_mw: f64) -> InterfaceModel {
    use narayanan2021::*;
    let [down, up] = slopes.map(JoulesPerBit::from_mw_per_mbps);
    InterfaceModel::Rrc(RrcModel {
        down,
        up,
        active: milliwatts(phone_mw - PHONE_BASE_MW),
        inactivity: Nanos::from_micros(huang2012::INACTIVITY_US),
        promotion,
        tail: vec![stage(tail_mw, Nanos::from_millis(TAIL_MS))],
        idle: Watts(0.0),
    })
}

fn mmwave_2021() -> InterfaceModel {
    use narayanan2021::*;
    let promotion = stage(MMWAVE_SWITCH_MW, Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS));
    narayanan([MMWAVE_DOWN, MMWAVE_UP], MMWAVE_DOWN_PHONE_MW, promotion, MMWAVE_TAIL_MW)
}

fn lowband_2021() -> InterfaceModel {
    use narayanan2021::*;
    let promotion = stage(LOWBAND_SWITCH_MW, Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS));
    narayanan([LOWBAND_DOWN, LOWBAND_UP], LOWBAND_DOWN_PHONE_MW, promotion, LOWBAND_TAIL_MW)
}

/// The data set has no promotion power for LTE; this model uses Huang's.
fn lte_2021() -> InterfaceModel {
    use narayanan2021::*;
    let promotion = stage(huang2012::LTE_PROMOTION_MW, Nanos::from_millis(LTE_PROMOTION_MS));
    narayanan([LTE_DOWN, LTE_UP], LTE_DOWN_PHONE_MW, promotion, LTE_TAIL_MW)
}

/// A radio whose power by signal is known, at [`REFERENCE`] and the fastest rates that were seen there.
fn by_signal(name: &str, promotion: Stage, tail: Vec<Stage>) -> InterfaceModel {
    let table = radio(name).expect("the profile has a table");
    let free = JoulesPerBit(0.0);
    let inactivity = Nanos::from_micros(huang2012::INACTIVITY_US);
    let states =
        RrcModel { down: free, up: free, active: Watts(0.0), inactivity, promotion, tail, idle: Watts(0.0) };
    let fastest = |up| rate_at(&table.fastest(up), REFERENCE).bps() as f64;
    InterfaceModel::Rrc(table.at(REFERENCE, &states, fastest(false), fastest(true)))
}

fn sa_2021() -> InterfaceModel {
    use states2021::*;
    let promotion = stage(huang2012::LTE_PROMOTION_MW, Nanos::from_millis(SA_PROMOTION_MS));
    let tail = stage(narayanan2021::LOWBAND_TAIL_MW, Nanos::from_millis(TAIL_MS));
    let inactive = stage(SA_INACTIVE_MW, Nanos::from_millis(SA_INACTIVE_MS));
    by_signal("5g-sa-2021", promotion, vec![tail, inactive])
}

fn nsa_2021() -> InterfaceModel {
    use narayanan2021::{LOWBAND_SWITCH_MW, LOWBAND_TAIL_MW, LTE_PROMOTION_MS, LTE_TAIL_MW, SWITCH_MS};
    use states2021::*;
    let promotion = stage(LOWBAND_SWITCH_MW, Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS));
    let tail = stage(LOWBAND_TAIL_MW, Nanos::from_millis(TAIL_MS));
    let anchor = stage(LTE_TAIL_MW, Nanos::from_millis(NSA_ANCHOR_MS));
    by_signal("5g-nsa-2021", promotion, vec![tail, anchor])
}
