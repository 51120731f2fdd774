//! Three balances between energy and time.

use crate::options::OptionError;

/// Values of `delay_price` and `slowest`. For files `balanced` has no `slowest`: waking a radio for each file
/// that another radio carries four times as slowly costs more energy than the waiting is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Preset {
    name: &'static str,
    /// Cost of a second in which a file or a message waits, W.
    pub(super) delay_price_w: f64,
    /// Longest time of a file in multiples of the fastest path's.
    pub(super) slowest_file: Option<f64>,
    /// Longest time of a message in multiples of the fastest path's.
    pub(super) slowest_message: Option<f64>,
}

const PRESETS: [Preset; 3] = [
    Preset { name: "saver", delay_price_w: 0.0, slowest_file: None, slowest_message: None },
    Preset { name: "balanced", delay_price_w: 0.3, slowest_file: None, slowest_message: Some(4.0) },
    Preset { name: "fast", delay_price_w: 3.0, slowest_file: Some(1.25), slowest_message: Some(1.25) },
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
