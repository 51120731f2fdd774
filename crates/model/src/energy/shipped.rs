//! The shipped profiles.

use super::constants::{
    aro_i997, huang2012, narayanan2021, nordic2022, pixel, seed, seed003, states2021,
};
use super::equations::duty_cycle_mean;
use super::provenance::{Bounds, Confidence, Profile, Rates, Validity};
use super::radios::{REFERENCE, radio};
use super::{InterfaceModel, RrcModel, Stage, SunkWhile};
use crate::signal::rate_at;
use crate::units::{JoulesPerBit, Nanos, Watts};

const SEED000: &str = "paper 000, section V-A (rounded from Huang et al. 2012)";
const SEED001: &str = "paper 001, table 2 (rounded from Huang et al. 2012)";
const SEED003: &str = "paper 003, table 1";
const HUANG: &str = "Huang et al., MobiSys 2012";
const ARO: &str = "AT&T Application Resource Optimizer, Samsung i997";
const NARAYANAN: &str = "Narayanan et al., SIGCOMM 2021 (published data set)";
const PIXEL_4: &str = "Google's power_profile.xml for Pixel 4 (LineageOS, flame); slopes estimated";
const PIXEL_6: &str =
    "Google's power_profile.xml for Pixel 6 (LineageOS, oriole); slopes estimated";
const NRF9160: &str =
    "Nordic nRF9160 product specification; boaks/zephyr-coaps-client, messages over Telekom";

const fn huang(down: f64, up: f64) -> Validity {
    let rates = Rates {
        down_mbps: [0.0, down],
        up_mbps: [0.0, up],
    };
    Validity {
        device: "phone of 2011",
        year: 2012,
        rates,
    }
}

/// The range of Huang et al.'s controlled transfers (L).
const HUANG_WIFI: Validity = huang(20.0, 10.0);
const HUANG_LTE: Validity = huang(20.0, 10.0);
const HUANG_UMTS: Validity = huang(4.0, 2.0);

/// The fitted range.
const fn s20(down: f64, up: f64) -> Validity {
    let rates = Rates {
        down_mbps: [1.0, down],
        up_mbps: [1.0, up],
    };
    Validity {
        device: "Samsung Galaxy S20 Ultra",
        year: 2021,
        rates,
    }
}

const MMWAVE: Validity = s20(2196.0, 190.0);
const LOWBAND: Validity = s20(100.0, 40.0);
const LTE: Validity = s20(50.0, 25.0);
/// The fastest seconds of the data set at any signal.
const SA: Validity = s20(111.9, 51.4);
const NSA: Validity = s20(292.9, 106.1);

/// A share of the air is at most 1.
const fn chip(device: &'static str, year: u16, full_mbps: f64) -> Validity {
    Validity {
        device,
        year,
        rates: Rates {
            down_mbps: [0.0, full_mbps],
            up_mbps: [0.0, full_mbps],
        },
    }
}

const fn nrf9160(most_mbps: f64) -> Validity {
    chip("Nordic nRF9160", 2022, most_mbps)
}

pub(super) static PROFILES: &[Profile] = &[
    Profile {
        name: "free",
        summary: "costs nothing and never counts as active (wired competitors)",
        source: "by definition",
        confidence: Confidence::Verified,
        validity: None,
        bounds: None,
        build: || linear(0.0, 0.0, 0.0, SunkWhile::Open),
    },
    Profile {
        name: "wifi-seed000",
        summary: "WiFi, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        validity: Some(HUANG_WIFI),
        bounds: None,
        build: || linear(seed::WIFI_DOWN, 0.0, seed::WIFI_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "lte-seed000",
        summary: "LTE, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        validity: Some(HUANG_LTE),
        bounds: None,
        build: || linear(seed::LTE_DOWN, 0.0, seed::LTE_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "umts-seed000",
        summary: "3G, linear, received data only, sunk power for the whole run",
        source: SEED000,
        confidence: Confidence::Verified,
        validity: Some(HUANG_UMTS),
        bounds: None,
        build: || linear(seed::UMTS_DOWN, 0.0, seed::UMTS_SUNK_MW, SunkWhile::Always),
    },
    Profile {
        name: "wlan-seed001",
        summary: "WLAN, linear, received data only, sunk power while a subflow is open",
        source: SEED001,
        confidence: Confidence::Verified,
        validity: Some(HUANG_WIFI),
        bounds: None,
        build: || linear(seed::WIFI_DOWN, 0.0, seed::WIFI_SUNK_MW, SunkWhile::Open),
    },
    Profile {
        name: "3g-seed001",
        summary: "3G, linear, received data only, sunk power while a subflow is open",
        source: SEED001,
        confidence: Confidence::Verified,
        validity: Some(HUANG_UMTS),
        bounds: None,
        build: || linear(seed::UMTS_DOWN, 0.0, seed::UMTS_SUNK_MW, SunkWhile::Open),
    },
    Profile {
        name: "wifi-huang2012",
        summary: "WiFi with promotion, tail and beacons",
        source: HUANG,
        confidence: Confidence::Literature,
        validity: Some(HUANG_WIFI),
        bounds: None,
        build: wifi_huang2012,
    },
    Profile {
        name: "lte-huang2012",
        summary: "LTE with promotion, 11.6 s tail and idle DRX",
        source: HUANG,
        confidence: Confidence::Literature,
        validity: Some(HUANG_LTE),
        bounds: None,
        build: lte_huang2012,
    },
    Profile {
        name: "3g-huang2012",
        summary: "3G with promotion, DCH and FACH tail and idle DRX",
        source: HUANG,
        confidence: Confidence::Literature,
        validity: Some(HUANG_UMTS),
        bounds: None,
        build: umts_huang2012,
    },
    Profile {
        name: "wifi-huang2012-linear",
        summary: "WiFi, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Literature,
        validity: Some(HUANG_WIFI),
        bounds: None,
        build: || {
            linear(
                huang2012::WIFI_DOWN,
                huang2012::WIFI_UP,
                huang2012::WIFI_ACTIVE_MW,
                SunkWhile::Open,
            )
        },
    },
    Profile {
        name: "lte-huang2012-linear",
        summary: "LTE, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Verified,
        validity: Some(HUANG_LTE),
        bounds: None,
        build: || {
            linear(
                huang2012::LTE_DOWN,
                huang2012::LTE_UP,
                huang2012::LTE_ACTIVE_MW,
                SunkWhile::Open,
            )
        },
    },
    Profile {
        name: "3g-huang2012-linear",
        summary: "3G, linear, sunk power while a subflow is open",
        source: HUANG,
        confidence: Confidence::Literature,
        validity: Some(HUANG_UMTS),
        bounds: None,
        build: || {
            linear(
                huang2012::UMTS_DOWN,
                huang2012::UMTS_UP,
                huang2012::UMTS_ACTIVE_MW,
                SunkWhile::Open,
            )
        },
    },
    Profile {
        name: "3g-aro-i997",
        summary: "older 3G: power by state only, DCH 4 s and FACH 10 s tail",
        source: ARO,
        confidence: Confidence::Verified,
        validity: None,
        bounds: None,
        build: umts_aro_i997,
    },
    Profile {
        name: "5g-mmwave-2021",
        summary: "5G NSA mmWave, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        validity: Some(MMWAVE),
        bounds: None,
        build: mmwave_2021,
    },
    Profile {
        name: "5g-sa-2021",
        summary: "5G SA low band at -80 dBm, with RRC_INACTIVE; by signal on a path with `signal`",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        validity: Some(SA),
        bounds: None,
        build: sa_2021,
    },
    Profile {
        name: "5g-nsa-2021",
        summary: "5G NSA low band at -80 dBm, with its LTE anchor; by signal on a path with `signal`",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        validity: Some(NSA),
        bounds: None,
        build: nsa_2021,
    },
    Profile {
        name: "5g-lowband-2021",
        summary: "5G NSA low band, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        validity: Some(LOWBAND),
        bounds: None,
        build: lowband_2021,
    },
    Profile {
        name: "lte-2021",
        summary: "LTE of a 2020 phone, without the phone's base of 2 W",
        source: NARAYANAN,
        confidence: Confidence::Reconstruction,
        validity: Some(LTE),
        bounds: None,
        build: lte_2021,
    },
    Profile {
        name: "wifi5-2019",
        summary: "WiFi 5 of a phone: listening, receiving and sending as shares of the air",
        source: PIXEL_4,
        confidence: Confidence::Reconstruction,
        validity: Some(chip("Google Pixel 4", 2019, pixel::FULL_MBPS[0])),
        bounds: Some(WIFI5_BOUNDS),
        build: wifi5_2019,
    },
    Profile {
        name: "wifi6-2021",
        summary: "WiFi 6 of a phone: listening, receiving and sending as shares of the air",
        source: PIXEL_6,
        confidence: Confidence::Reconstruction,
        validity: Some(chip("Google Pixel 6", 2021, pixel::FULL_MBPS[1])),
        bounds: Some(WIFI6_BOUNDS),
        build: wifi6_2021,
    },
    Profile {
        name: "lte-m-2022",
        summary: "LTE-M (Cat-M1) module that sleeps in PSM; the network releases it after 10 s",
        source: NRF9160,
        confidence: Confidence::Reconstruction,
        validity: Some(nrf9160(nordic2022::LTE_M_MBPS)),
        bounds: Some(LTE_M_BOUNDS),
        build: || lte_m_2022(nordic2022::CONNECTED_DRX_MW, nordic2022::RELEASE_MS),
    },
    Profile {
        name: "lte-m-rai-2022",
        summary: "LTE-M (Cat-M1) module that sleeps in PSM and asks for its release (RAI)",
        source: NRF9160,
        confidence: Confidence::Reconstruction,
        validity: Some(nrf9160(nordic2022::LTE_M_MBPS)),
        bounds: Some(LTE_M_BOUNDS),
        build: || lte_m_2022(nordic2022::LTE_M_ACTIVE_MW, nordic2022::RAI_MS),
    },
    Profile {
        name: "nb-iot-2022",
        summary: "NB-IoT (Cat-NB1) module that sleeps in PSM; the network releases it after 10 s",
        source: NRF9160,
        confidence: Confidence::Reconstruction,
        validity: Some(nrf9160(nordic2022::NB_IOT_MBPS)),
        bounds: Some(NB_IOT_BOUNDS),
        build: || nb_iot_2022(nordic2022::CONNECTED_DRX_MW, nordic2022::RELEASE_MS),
    },
    Profile {
        name: "nb-iot-rai-2022",
        summary: "NB-IoT (Cat-NB1) module that sleeps in PSM and asks for its release (RAI)",
        source: NRF9160,
        confidence: Confidence::Reconstruction,
        validity: Some(nrf9160(nordic2022::NB_IOT_MBPS)),
        bounds: Some(NB_IOT_BOUNDS),
        build: || nb_iot_2022(nordic2022::NB_IOT_ACTIVE_MW, nordic2022::RAI_MS),
    },
    Profile {
        name: "wifi-seed003",
        summary: "WiFi of so-MPTCP: 5 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        validity: None,
        bounds: None,
        build: || slotted(seed003::WIFI_TRANSFER_J_PER_MBIT),
    },
    Profile {
        name: "lte-seed003",
        summary: "LTE of so-MPTCP: 10 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        validity: None,
        bounds: None,
        build: || slotted(seed003::LTE_TRANSFER_J_PER_MBIT),
    },
    Profile {
        name: "mmwave-seed003",
        summary: "mmWave of so-MPTCP: 20 J/Mbit, far above real radios",
        source: SEED003,
        confidence: Confidence::Reconstruction,
        validity: None,
        bounds: None,
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
    Stage {
        power: milliwatts(power_mw),
        duration,
    }
}

fn duty_cycle(on_mw: f64, on_us: u64, period_us: u64) -> Watts {
    duty_cycle_mean(
        milliwatts(on_mw),
        Nanos::from_micros(on_us),
        Nanos::from_micros(period_us),
    )
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

/// The radio alone: the intercept of the downlink minus the phone. Idle power is part of the
/// phone's.
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
    let promotion = stage(
        MMWAVE_SWITCH_MW,
        Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS),
    );
    narayanan(
        [MMWAVE_DOWN, MMWAVE_UP],
        MMWAVE_DOWN_PHONE_MW,
        promotion,
        MMWAVE_TAIL_MW,
    )
}

fn lowband_2021() -> InterfaceModel {
    use narayanan2021::*;
    let promotion = stage(
        LOWBAND_SWITCH_MW,
        Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS),
    );
    narayanan(
        [LOWBAND_DOWN, LOWBAND_UP],
        LOWBAND_DOWN_PHONE_MW,
        promotion,
        LOWBAND_TAIL_MW,
    )
}

/// The data set has no promotion power for LTE; this model uses Huang's.
fn lte_2021() -> InterfaceModel {
    use narayanan2021::*;
    let promotion = stage(
        huang2012::LTE_PROMOTION_MW,
        Nanos::from_millis(LTE_PROMOTION_MS),
    );
    narayanan(
        [LTE_DOWN, LTE_UP],
        LTE_DOWN_PHONE_MW,
        promotion,
        LTE_TAIL_MW,
    )
}

/// A radio whose power by signal is known, at [`REFERENCE`] and the fastest rates that were seen
/// there.
fn by_signal(name: &str, promotion: Stage, tail: Vec<Stage>) -> InterfaceModel {
    let table = radio(name).expect("the profile has a table");
    let free = JoulesPerBit(0.0);
    let inactivity = Nanos::from_micros(huang2012::INACTIVITY_US);
    let states = RrcModel {
        down: free,
        up: free,
        active: Watts(0.0),
        inactivity,
        promotion,
        tail,
        idle: Watts(0.0),
    };
    let fastest = |up| rate_at(&table.fastest(up), REFERENCE).bps() as f64;
    InterfaceModel::Rrc(table.at(REFERENCE, &states, fastest(false), fastest(true)))
}

fn sa_2021() -> InterfaceModel {
    use states2021::*;
    let promotion = stage(
        huang2012::LTE_PROMOTION_MW,
        Nanos::from_millis(SA_PROMOTION_MS),
    );
    let tail = stage(narayanan2021::LOWBAND_TAIL_MW, Nanos::from_millis(TAIL_MS));
    let inactive = stage(SA_INACTIVE_MW, Nanos::from_millis(SA_INACTIVE_MS));
    by_signal("5g-sa-2021", promotion, vec![tail, inactive])
}

fn nsa_2021() -> InterfaceModel {
    use narayanan2021::{
        LOWBAND_SWITCH_MW, LOWBAND_TAIL_MW, LTE_PROMOTION_MS, LTE_TAIL_MW, SWITCH_MS,
    };
    use states2021::*;
    let promotion = stage(
        LOWBAND_SWITCH_MW,
        Nanos::from_millis(LTE_PROMOTION_MS + SWITCH_MS),
    );
    let tail = stage(LOWBAND_TAIL_MW, Nanos::from_millis(TAIL_MS));
    let anchor = stage(LTE_TAIL_MW, Nanos::from_millis(NSA_ANCHOR_MS));
    by_signal("5g-nsa-2021", promotion, vec![tail, anchor])
}

/// A WiFi chip whose power grows with its share of the air, and the host's cost per bit. `currents`
/// while it listens, receives and sends, mA; `full_mbps` is the rate that fills the air.
fn chip_model(currents: [f64; 3], full_mbps: f64) -> InterfaceModel {
    use huang2012::*;
    let [listening, receiving, sending] = currents.map(|ma| ma * pixel::VOLTS);
    let slope = |power: f64| (power - listening) / full_mbps + pixel::HOST_MW_PER_MBPS;
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit::from_mw_per_mbps(slope(receiving)),
        up: JoulesPerBit::from_mw_per_mbps(slope(sending)),
        active: milliwatts(listening),
        inactivity: Nanos::from_micros(INACTIVITY_US),
        promotion: stage(listening, Nanos::from_micros(WIFI_PROMOTION_US)),
        tail: vec![stage(listening, Nanos::from_micros(WIFI_TAIL_US))],
        idle: duty_cycle(listening, WIFI_IDLE_ON_US, WIFI_IDLE_PERIOD_US),
    })
}

fn wifi5_2019() -> InterfaceModel {
    chip_model(pixel::PIXEL_4_MA, pixel::FULL_MBPS[0])
}

fn wifi6_2021() -> InterfaceModel {
    chip_model(pixel::PIXEL_6_MA, pixel::FULL_MBPS[1])
}

/// Slope of a chip, mW/(Mbit/s), if `full_mbps` fill the air.
const fn air(power_ma: f64, listening_ma: f64, full_mbps: f64) -> f64 {
    (power_ma - listening_ma) * pixel::VOLTS / full_mbps
}

/// A busy channel keeps the chip receiving; the slopes are those of the best and of a poor link,
/// the latter with the highest cost of the host.
const WIFI5_BOUNDS: Bounds = {
    use pixel::*;
    let [listening, receiving, sending] = PIXEL_4_MA;
    Bounds {
        active_mw: [PIXEL_6_MA[0] * VOLTS, receiving * VOLTS],
        down_mw_per_mbps: [
            air(receiving, listening, BEST_MBPS[0]),
            air(receiving, listening, POOR_MBPS) + MOST_HOST_MW_PER_MBPS,
        ],
        up_mw_per_mbps: [
            air(sending, listening, BEST_MBPS[0]),
            air(sending, listening, POOR_MBPS) + MOST_HOST_MW_PER_MBPS,
        ],
    }
};

/// As for WiFi 5, and the chip of OnePlus 8, which sleeps between frames.
const WIFI6_BOUNDS: Bounds = {
    use pixel::*;
    let ([listening, receiving, sending], [asleep, other_receiving, other_sending]) =
        (PIXEL_6_MA, ONEPLUS_8_MA);
    Bounds {
        active_mw: [asleep * VOLTS, receiving * VOLTS],
        down_mw_per_mbps: [
            air(receiving, listening, BEST_MBPS[1]),
            air(other_receiving, asleep, POOR_MBPS) + MOST_HOST_MW_PER_MBPS,
        ],
        up_mw_per_mbps: [
            air(other_sending, asleep, BEST_MBPS[1]),
            air(sending, listening, POOR_MBPS) + MOST_HOST_MW_PER_MBPS,
        ],
    }
};

const LTE_M_BOUNDS: Bounds = Bounds {
    active_mw: nordic2022::ACTIVE_BOUNDS_MW,
    down_mw_per_mbps: [0.0, nordic2022::LTE_M_UP],
    up_mw_per_mbps: [0.0, nordic2022::LTE_M_UP_23_DBM],
};

const NB_IOT_BOUNDS: Bounds = Bounds {
    active_mw: nordic2022::ACTIVE_BOUNDS_MW,
    down_mw_per_mbps: [0.0, nordic2022::NB_IOT_UP_BOUNDS[0]],
    up_mw_per_mbps: nordic2022::NB_IOT_UP_BOUNDS,
};

/// A module that wakes from PSM, connects, and stays connected for `tail_ms` after the last packet.
fn module(
    slope_up: f64,
    active_mw: f64,
    wake: Stage,
    tail_mw: f64,
    tail_ms: u64,
) -> InterfaceModel {
    InterfaceModel::Rrc(RrcModel {
        down: JoulesPerBit(0.0),
        up: JoulesPerBit::from_mw_per_mbps(slope_up),
        active: milliwatts(active_mw),
        inactivity: Nanos::from_micros(huang2012::INACTIVITY_US),
        promotion: wake,
        tail: vec![stage(tail_mw, Nanos::from_millis(tail_ms))],
        idle: milliwatts(nordic2022::PSM_MW),
    })
}

fn lte_m_2022(tail_mw: f64, tail_ms: u64) -> InterfaceModel {
    use nordic2022::*;
    let wake = stage(LTE_M_WAKE_MW, Nanos::from_millis(LTE_M_WAKE_MS));
    module(LTE_M_UP, LTE_M_ACTIVE_MW, wake, tail_mw, tail_ms)
}

fn nb_iot_2022(tail_mw: f64, tail_ms: u64) -> InterfaceModel {
    use nordic2022::*;
    let wake = stage(NB_IOT_WAKE_MW, Nanos::from_millis(NB_IOT_WAKE_MS));
    module(NB_IOT_UP, NB_IOT_ACTIVE_MW, wake, tail_mw, tail_ms)
}
