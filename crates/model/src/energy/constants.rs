//! Every constant of the shipped energy models, in the unit in which it was published.
//!
//! Slopes in mW/(Mbit/s), powers in mW, times as stated in the name. The letter gives the
//! confidence: **V** verified against the paper, a public tool's configuration or a published data
//! set; **L** literature, not confirmed against the primary text; **R** chosen here.

/// Papers 000 (section V-A) and 001 (table 2): rounded from Huang et al. 2012, downlink. All V.
pub mod seed {
    /// b of WiFi (000) and WLAN (001), mW/(Mbit/s).
    pub const WIFI_DOWN: f64 = 137.0;
    /// θ of WiFi (000) and WLAN (001), mW.
    pub const WIFI_SUNK_MW: f64 = 132.9;
    /// b of LTE (000), mW/(Mbit/s).
    pub const LTE_DOWN: f64 = 52.0;
    /// θ of LTE (000), mW.
    pub const LTE_SUNK_MW: f64 = 1288.0;
    /// b of 3G (000, 001), mW/(Mbit/s).
    pub const UMTS_DOWN: f64 = 122.1;
    /// θ of 3G (000, 001), mW.
    pub const UMTS_SUNK_MW: f64 = 817.9;
}

/// Paper 003, table 1: "energy power" 5, 10, 20. Printed in J/kbps; J/Mbit is the only unit that
/// fits its figures (R).
pub mod seed003 {
    /// c^d of WiFi, J/Mbit.
    pub const WIFI_TRANSFER_J_PER_MBIT: f64 = 5.0;
    /// c^d of LTE, J/Mbit.
    pub const LTE_TRANSFER_J_PER_MBIT: f64 = 10.0;
    /// c^d of mmWave, J/Mbit.
    pub const MMWAVE_TRANSFER_J_PER_MBIT: f64 = 20.0;
    /// c^e of every path, W; the paper gives none (R).
    pub const IDLE_W: f64 = 0.0;
    /// Δt, s; the paper gives none (R).
    pub const SLOT_S: u64 = 1;
}

/// Huang et al., MobiSys 2012: α in mW/(Mbit/s), β and state powers in mW.
pub mod huang2012 {
    /// α_d of LTE (V).
    pub const LTE_DOWN: f64 = 51.97;
    /// α_u of LTE (V).
    pub const LTE_UP: f64 = 438.39;
    /// β of LTE, mW (V).
    pub const LTE_ACTIVE_MW: f64 = 1288.04;
    /// Promotion of LTE, mW (V).
    pub const LTE_PROMOTION_MW: f64 = 1210.7;
    /// Promotion of LTE, µs (V).
    pub const LTE_PROMOTION_US: u64 = 260_100;
    /// Tail of LTE, mean with connected DRX, mW (V).
    pub const LTE_TAIL_MW: f64 = 1060.0;
    /// Tail of LTE, µs (L; AT&T ARO has 10 s).
    pub const LTE_TAIL_US: u64 = 11_576_000;
    /// Idle DRX of LTE: power while on, mW (V).
    pub const LTE_IDLE_ON_MW: f64 = 594.3;
    /// Idle DRX of LTE: length of an on-period, µs (V).
    pub const LTE_IDLE_ON_US: u64 = 43_200;
    /// Idle DRX of LTE: period, µs (V).
    pub const LTE_IDLE_PERIOD_US: u64 = 1_280_200;

    /// α_d of 3G (V).
    pub const UMTS_DOWN: f64 = 122.12;
    /// α_u of 3G (L).
    pub const UMTS_UP: f64 = 868.98;
    /// β of 3G, mW (V).
    pub const UMTS_ACTIVE_MW: f64 = 817.88;
    /// Promotion of 3G, mW (L).
    pub const UMTS_PROMOTION_MW: f64 = 659.4;
    /// Promotion of 3G, µs (L).
    pub const UMTS_PROMOTION_US: u64 = 582_100;
    /// DCH tail of 3G, mW (L).
    pub const UMTS_DCH_TAIL_MW: f64 = 803.9;
    /// DCH tail of 3G, µs (L).
    pub const UMTS_DCH_TAIL_US: u64 = 8_088_000;
    /// FACH tail of 3G, mW (L).
    pub const UMTS_FACH_TAIL_MW: f64 = 601.3;
    /// FACH tail of 3G, µs (L).
    pub const UMTS_FACH_TAIL_US: u64 = 824_000;
    /// Idle DRX of 3G: power while on, mW (L).
    pub const UMTS_IDLE_ON_MW: f64 = 374.2;
    /// Idle DRX of 3G: length of an on-period, µs (L).
    pub const UMTS_IDLE_ON_US: u64 = 55_400;
    /// Idle DRX of 3G: period, µs (L).
    pub const UMTS_IDLE_PERIOD_US: u64 = 5_112_000;

    /// α_d of WiFi (V).
    pub const WIFI_DOWN: f64 = 137.01;
    /// α_u of WiFi (L).
    pub const WIFI_UP: f64 = 283.17;
    /// β of WiFi, mW (V).
    pub const WIFI_ACTIVE_MW: f64 = 132.86;
    /// Promotion of WiFi, mW (L).
    pub const WIFI_PROMOTION_MW: f64 = 124.4;
    /// Promotion of WiFi, µs (L).
    pub const WIFI_PROMOTION_US: u64 = 79_100;
    /// Tail of WiFi, mW (L).
    pub const WIFI_TAIL_MW: f64 = 119.3;
    /// Tail of WiFi, µs (L; AT&T ARO has 250 ms).
    pub const WIFI_TAIL_US: u64 = 238_100;
    /// Beacons of WiFi: power while on, mW (L).
    pub const WIFI_IDLE_ON_MW: f64 = 77.2;
    /// Beacons of WiFi: length of an on-period, µs (L).
    pub const WIFI_IDLE_ON_US: u64 = 7_600;
    /// Beacons of WiFi: period, µs (L).
    pub const WIFI_IDLE_PERIOD_US: u64 = 308_200;

    /// A longer gap is tail instead of transfer, µs (V for LTE, R for the others).
    pub const INACTIVITY_US: u64 = 100_000;
}

/// AT&T ARO, Samsung i997 on 3G: state powers in mW. All V.
pub mod aro_i997 {
    /// DCH, mW.
    pub const DCH_MW: f64 = 1300.0;
    /// FACH, mW.
    pub const FACH_MW: f64 = 300.0;
    /// IDLE → DCH, mW.
    pub const PROMOTION_MW: f64 = 650.0;
    /// IDLE → DCH, ms (1.5 s to 4 s).
    pub const PROMOTION_MS: u64 = 2_000;
    /// DCH → FACH, ms.
    pub const DCH_TAIL_MS: u64 = 4_000;
    /// FACH → IDLE, ms.
    pub const FACH_TAIL_MS: u64 = 10_000;
}

/// Narayanan et al., SIGCOMM 2021, recomputed from the published data set: whole phone, screen
/// included.
pub mod narayanan2021 {
    /// Slope of 5G NSA mmWave down, mW/(Mbit/s) (V).
    pub const MMWAVE_DOWN: f64 = 1.81;
    /// Slope of 5G NSA mmWave up, mW/(Mbit/s) (V).
    pub const MMWAVE_UP: f64 = 9.42;
    /// Intercept of 5G NSA mmWave down, mW (V).
    pub const MMWAVE_DOWN_PHONE_MW: f64 = 5136.0;
    /// Intercept of 5G NSA mmWave up, mW (V).
    pub const MMWAVE_UP_PHONE_MW: f64 = 5624.0;
    /// Slope of 5G NSA low band down, mW/(Mbit/s) (V).
    pub const LOWBAND_DOWN: f64 = 13.52;
    /// Slope of 5G NSA low band up, mW/(Mbit/s) (V).
    pub const LOWBAND_UP: f64 = 29.15;
    /// Intercept of 5G NSA low band down, mW (V).
    pub const LOWBAND_DOWN_PHONE_MW: f64 = 2925.0;
    /// Intercept of 5G NSA low band up, mW (V).
    pub const LOWBAND_UP_PHONE_MW: f64 = 3204.0;
    /// Slope of LTE down, mW/(Mbit/s) (V).
    pub const LTE_DOWN: f64 = 14.55;
    /// Slope of LTE up, mW/(Mbit/s) (V).
    pub const LTE_UP: f64 = 80.21;
    /// Intercept of LTE down, mW (V).
    pub const LTE_DOWN_PHONE_MW: f64 = 2754.0;
    /// Intercept of LTE up, mW (V).
    pub const LTE_UP_PHONE_MW: f64 = 2799.0;

    /// Power of the phone without radio, mW; it is subtracted from the intercepts (R).
    pub const PHONE_BASE_MW: f64 = 2000.0;
    /// IDLE → LTE, ms: middle of 0.29 s to 0.36 s (V).
    pub const LTE_PROMOTION_MS: u64 = 325;
    /// LTE → 5G, ms: mean of 1.53 s, 1.73 s and 1.84 s (V).
    pub const SWITCH_MS: u64 = 1_700;
    /// LTE → mmWave, mW above idle (L).
    pub const MMWAVE_SWITCH_MW: f64 = 1494.0;
    /// LTE → low band, mW above idle (L).
    pub const LOWBAND_SWITCH_MW: f64 = 799.0;
    /// Tail, ms: 10.5 s to 10.7 s (V).
    pub const TAIL_MS: u64 = 10_500;
    /// Tail of mmWave, mW above idle (L).
    pub const MMWAVE_TAIL_MW: f64 = 1092.0;
    /// Tail of low band, mW above idle (L).
    pub const LOWBAND_TAIL_MW: f64 = 249.0;
    /// Tail of LTE, mW above idle (L).
    pub const LTE_TAIL_MW: f64 = 178.0;
}

/// States of the radios whose power by signal and rates is in `radios`: powers in mW above the idle
/// phone, as [`narayanan2021`] has them for low band. No published number is known for
/// RRC_INACTIVE.
pub mod states2021 {
    /// Connected tail of SA and of NSA on 5G, ms (V: probes slow down after 10.2 s).
    pub const TAIL_MS: u64 = 10_200;
    /// IDLE → SA, ms (R: as LTE).
    pub const SA_PROMOTION_MS: u64 = 325;
    /// RRC_INACTIVE of SA, mW (R: idle DRX of LTE). A packet resumes from it at once.
    pub const SA_INACTIVE_MW: f64 = 20.0;
    /// RRC_INACTIVE of SA, ms (R).
    pub const SA_INACTIVE_MS: u64 = 5_000;
    /// NSA on its LTE anchor alone, after the tail on 5G, ms (V: idle after 11.5 s).
    pub const NSA_ANCHOR_MS: u64 = 1_300;
}

/// Android's `power_profile.xml` in the LineageOS device trees flame (Pixel 4), oriole (Pixel 6)
/// and instantnoodle (OnePlus 8): currents of the WiFi chip while it listens, receives and sends,
/// mA (V). They state no rates; how the power grows with the rate is an estimate.
pub mod pixel {
    /// Pixel 4, 802.11ac (V).
    pub const PIXEL_4_MA: [f64; 3] = [82.0, 125.0, 351.0];
    /// Pixel 6, 802.11ax (V).
    pub const PIXEL_6_MA: [f64; 3] = [38.0, 98.0, 470.0];
    /// OnePlus 8, 802.11ax (V).
    pub const ONEPLUS_8_MA: [f64; 3] = [1.0, 152.0, 190.0];
    /// Voltage of the currents, V (V).
    pub const VOLTS: f64 = 3.7;
    /// Goodput that fills the air, Mbit/s, of WiFi 5 and of WiFi 6: about 60 % of 867 and two
    /// thirds of 1201 Mbit/s, two streams in 80 MHz (R).
    pub const FULL_MBPS: [f64; 2] = [500.0, 800.0];
    /// The same on the best link, and on a poor one (R).
    pub const BEST_MBPS: [f64; 2] = [650.0, 1000.0];
    /// Goodput that fills the air of a poor link, Mbit/s (R).
    pub const POOR_MBPS: f64 = 100.0;
    /// Cost of the host, mW/(Mbit/s): half of its bound (R).
    pub const HOST_MW_PER_MBPS: f64 = MOST_HOST_MW_PER_MBPS / 2.0;
    /// Bound on the cost of a host: a whole phone of 2020 needs no more for 5G mmWave.
    pub const MOST_HOST_MW_PER_MBPS: f64 = super::narayanan2021::MMWAVE_DOWN;
}

/// nRF9160, an LTE-M and NB-IoT module. Currents at 3.7 V from Nordic's product specification;
/// messages, with a development kit at 5 V on a network of 2022, from docu/POWERCONSUMPTION.md of
/// boaks/zephyr-coaps-client.
pub mod nordic2022 {
    /// PSM, 2.7 µA, mW (V). With eDRX of 81.92 s: 18 µA for LTE-M, 37 µA for NB-IoT.
    pub const PSM_MW: f64 = 2.7e-3 * 3.7;
    /// LTE-M sending 180 kbit/s at 0 dBm, 45 mA, mW: taken as the connected module (R).
    pub const LTE_M_ACTIVE_MW: f64 = 45.0 * 3.7;
    /// LTE-M sending 180 kbit/s at 10 dBm, mean of 50 mA and 55 mA, mW/(Mbit/s) above that (R).
    pub const LTE_M_UP: f64 = (52.5 - 45.0) * 3.7 / 0.18;
    /// The same at 23 dBm, mean of 100 mA to 115 mA (R).
    pub const LTE_M_UP_23_DBM: f64 = (108.75 - 45.0) * 3.7 / 0.18;
    /// Highest rate of LTE-M in the specification, Mbit/s (V).
    pub const LTE_M_MBPS: f64 = 0.18;
    /// PSM → connected, ms: 12 s of a message without the 10 s until release (V).
    pub const LTE_M_WAKE_MS: u64 = 2_000;
    /// PSM → connected, mW: the 0.348 J of a wake-up, 29 mA for 2.4 s (V).
    pub const LTE_M_WAKE_MW: f64 = 0.348e3 / 2.0;
    /// Time from the last packet to the network's release, ms (V for LTE-M, R for NB-IoT).
    pub const RELEASE_MS: u64 = 10_000;
    /// Connected DRX, mW: 0.54 J of a message of 12 s without the wake-up, over 10 s (R).
    pub const CONNECTED_DRX_MW: f64 = 19.0;
    /// Time from the last packet to a release that the module asked for, ms: fits a request and its
    /// answer over NB-IoT, 0.51 J in 3.3 s (R).
    pub const RAI_MS: u64 = 700;
    /// NB-IoT at 0 dBm with a third of the time sending, mean of 35 mA and 40 mA, mW (R).
    pub const NB_IOT_ACTIVE_MW: f64 = 37.5 * 3.7;
    /// NB-IoT, mW/(Mbit/s): 0.105 J more for a message of 3,200 bits than for a wake-up (R).
    pub const NB_IOT_UP: f64 = 33_000.0;
    /// The same from messages of 1,600 bits: 0.015 J by its printed energy, 0.096 J by its current
    /// (R).
    pub const NB_IOT_UP_BOUNDS: [f64; 2] = [9_000.0, 60_000.0];
    /// Highest rate of NB-IoT (Cat-NB1) down, Mbit/s (R).
    pub const NB_IOT_MBPS: f64 = 0.026;
    /// PSM → connected, ms (R): less than the 2.7 s of a message of 200 bytes.
    pub const NB_IOT_WAKE_MS: u64 = 2_500;
    /// PSM → connected, mW: the 0.255 J of a wake-up, 17 mA for 3 s (V).
    pub const NB_IOT_WAKE_MW: f64 = 0.255e3 / 2.5;
    /// Bounds on a connected module, mW: NB-IoT at 0 dBm, 35 mA, and SIM7000 at 10 dBm, 109 mA (R).
    pub const ACTIVE_BOUNDS_MW: [f64; 2] = [35.0 * 3.7, 109.0 * 3.7];
}

/// Power of a device besides its interfaces.
pub mod device {
    /// P0 of a phone, mW (R): 480 mW fits the thresholds of Lim et al. within 5 %.
    pub const PHONE_BASE_MW: f64 = 500.0;
    /// κ_s measured by Kaup et al. (LCN 2015): two interfaces together cost 20 % less than their
    /// sum (L).
    pub const MEASURED_SHARING_FACTOR: f64 = 0.8;
}

/// Host power of 002, relative to a calibration point.
pub mod host {
    /// Rate at which a wired host has power 1, bit/s (002, text of figure 3; V).
    pub const WIRED_LOW_BPS: f64 = 200e6;
    /// Rate at which it has power `1 + WIRED_GROWTH`, bit/s (V).
    pub const WIRED_HIGH_BPS: f64 = 1000e6;
    /// Growth between the two (V).
    pub const WIRED_GROWTH: f64 = 0.15;
    /// Rate at which a WiFi host has power 1, bit/s (002, text of figure 3; V).
    pub const WIFI_LOW_BPS: f64 = 10e6;
    /// Rate at which it has power `1 + WIFI_GROWTH`, bit/s (V).
    pub const WIFI_HIGH_BPS: f64 = 50e6;
    /// Growth between the two (V).
    pub const WIFI_GROWTH: f64 = 0.9;
    /// RTT at which the term in η is 1, s (R).
    pub const DELAY_SCALE_S: f64 = 10e-3;
    /// η (R).
    pub const DELAY_WEIGHT: f64 = 0.01;
    /// ν (R).
    pub const SUBFLOW_WEIGHT: f64 = 0.03;
}
