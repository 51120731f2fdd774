//! Three balances between energy and time: presets of the selector `joule` and of `advise`, intents
//! of the daemon.

/// A balance between energy and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Energy alone counts.
    Saver,
    /// Waiting costs 0.3 W.
    Balanced,
    /// Waiting costs 3 W.
    Fast,
}

impl Preset {
    /// All presets, the most patient first.
    pub const ALL: [Preset; 3] = [Preset::Saver, Preset::Balanced, Preset::Fast];

    /// Name in options.
    pub const fn word(self) -> &'static str {
        match self {
            Preset::Saver => "saver",
            Preset::Balanced => "balanced",
            Preset::Fast => "fast",
        }
    }

    /// What it optimises, without a full stop.
    pub const fn sentence(self) -> &'static str {
        match self {
            Preset::Saver => "the least energy, however long it takes",
            Preset::Balanced => "a second of waiting is worth 0.3 J",
            Preset::Fast => {
                "a second of waiting is worth 3 J; at most 1.25 times the fastest path's time"
            }
        }
    }

    /// The preset with this name.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.word() == word)
    }

    /// Energy that a second of waiting of a file or a message is worth, W.
    pub const fn delay_price_w(self) -> f64 {
        match self {
            Preset::Saver => 0.0,
            Preset::Balanced => 0.3,
            Preset::Fast => 3.0,
        }
    }

    /// Longest time of a file in multiples of the fastest path's. `Balanced` has none: waking a
    /// radio for each file that another radio carries four times as slowly costs more than the
    /// waiting is worth.
    pub const fn slowest_file(self) -> Option<f64> {
        match self {
            Preset::Saver | Preset::Balanced => None,
            Preset::Fast => Some(1.25),
        }
    }

    /// Longest time of a message in multiples of the fastest path's.
    pub const fn slowest_message(self) -> Option<f64> {
        match self {
            Preset::Saver => None,
            Preset::Balanced => Some(4.0),
            Preset::Fast => Some(1.25),
        }
    }
}
