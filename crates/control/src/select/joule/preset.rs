//! Three balances between energy and time.

use crate::options::OptionError;

/// Values of `delay_price` and `slowest`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Preset {
    name: &'static str,
    /// Cost of a second in which a file or a message waits, W.
    pub(super) delay_price_w: f64,
    /// Longest time in multiples of the fastest path's.
    pub(super) slowest: Option<f64>,
}

const PRESETS: [Preset; 3] = [
    Preset { name: "saver", delay_price_w: 0.0, slowest: None },
    Preset { name: "balanced", delay_price_w: 0.3, slowest: Some(4.0) },
    Preset { name: "fast", delay_price_w: 3.0, slowest: Some(1.25) },
];

impl Preset {
    pub(super) const BALANCED: Preset = PRESETS[1];

    /// # Errors
    /// If there is no preset called `name`.
    pub(super) fn by_name(name: &str) -> Result<Self, OptionError> {
        let (value, expected) = (name.to_owned(), "`saver`, `balanced` or `fast`");
        let found = PRESETS.into_iter().find(|preset| preset.name == name);
        found.ok_or(OptionError::BadValue { option: "preset", value, expected })
    }
}
