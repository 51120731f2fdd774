//! Kinds of radio: today's profiles, and rates that are plausible for them.

use super::provenance::Rates;

/// A kind of radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioKind {
    /// `wifi`, `lte`, `umts`, `nr`, `mmwave`, `lte-m` or `nb-iot`.
    pub name: &'static str,
    /// Profiles of today's radios, the default first.
    pub profiles: &'static [&'static str],
    /// Plausible rates. Every profile of the kind holds at these.
    pub rates: Rates,
}

/// All kinds of radio.
pub static RADIO_KINDS: [RadioKind; 7] = [
    kind(
        "wifi",
        &["wifi6-2021", "wifi5-2019"],
        [5.0, 400.0],
        [5.0, 400.0],
    ),
    kind("lte", &["lte-2021"], [2.0, 50.0], [1.0, 25.0]),
    kind("umts", &["3g-huang2012"], [0.5, 4.0], [0.2, 2.0]),
    kind(
        "nr",
        &["5g-sa-2021", "5g-nsa-2021", "5g-lowband-2021"],
        [10.0, 100.0],
        [2.0, 40.0],
    ),
    kind("mmwave", &["5g-mmwave-2021"], [50.0, 1500.0], [10.0, 190.0]),
    kind(
        "lte-m",
        &["lte-m-2022", "lte-m-rai-2022"],
        [0.05, 0.18],
        [0.05, 0.18],
    ),
    kind(
        "nb-iot",
        &["nb-iot-rai-2022", "nb-iot-2022"],
        [0.005, 0.026],
        [0.005, 0.026],
    ),
];

const fn kind(
    name: &'static str,
    profiles: &'static [&'static str],
    down_mbps: [f64; 2],
    up_mbps: [f64; 2],
) -> RadioKind {
    RadioKind {
        name,
        profiles,
        rates: Rates { down_mbps, up_mbps },
    }
}

/// The kind called `name`.
pub fn radio_kind(name: &str) -> Option<&'static RadioKind> {
    RADIO_KINDS.iter().find(|kind| kind.name == name)
}

impl RadioKind {
    /// The default profile.
    pub const fn default_profile(&self) -> &'static str {
        self.profiles[0]
    }
}
