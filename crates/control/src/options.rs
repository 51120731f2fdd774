//! Parts in their registries, options written `key=value`, and the nearest name to a misspelt one.

use joulepath_model::energy::Confidence;
use joulepath_model::units::Nanos;

/// A scheduler or a selector in its registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// One line of description.
    pub summary: &'static str,
    /// Names of its options.
    pub options: &'static [&'static str],
    /// Source of the definition.
    pub paper: &'static str,
    /// Reliability of its definition.
    pub confidence: Confidence,
}

impl PartInfo {
    /// A part of the host program; its name is never freed.
    pub(crate) fn hosted(name: &str, summary: &str) -> Self {
        let constant = |text: &str| -> &'static str { String::leak(text.to_owned()) };
        Self::verified(constant(name), constant(summary), &[], "your own")
    }

    pub(crate) const fn verified(
        name: &'static str,
        summary: &'static str,
        options: &'static [&'static str],
        paper: &'static str,
    ) -> Self {
        PartInfo {
            name,
            summary,
            options,
            paper,
            confidence: Confidence::Verified,
        }
    }
}

/// The part called `name`. `kind` names the registry in the error.
pub(crate) fn find(
    kind: &'static str,
    registry: &'static [PartInfo],
    name: &str,
) -> Result<&'static PartInfo, OptionError> {
    registry
        .iter()
        .find(|info| info.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = registry.iter().map(|info| info.name).collect();
            OptionError::unknown_name(kind, name, &known)
        })
}

/// Reason why an option of a scheduler, selector or allocator cannot be used. The message says what
/// to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No part has this name.
    #[error("there is no {kind} `{name}`; did you mean `{nearest}`? Known: {known}")]
    UnknownName {
        /// `scheduler`, `allocator`, …
        kind: &'static str,
        /// As written.
        name: String,
        /// The most similar registered name.
        nearest: String,
        /// All registered names.
        known: String,
    },
    /// The part has no such option.
    #[error("`{part}` has no option `{option}`; it accepts {known}")]
    UnknownOption {
        /// Name of the part.
        part: &'static str,
        /// As written.
        option: String,
        /// Its options, in words.
        known: String,
    },
    /// The option exists, but the value is invalid.
    #[error("`{option}={value}`: {option} is {expected}")]
    BadValue {
        /// Name of the option.
        option: &'static str,
        /// As written.
        value: String,
        /// Valid values.
        expected: &'static str,
    },
    /// The value names a path that the connection does not have.
    #[error("`{option}={value}`: the connection has no path `{value}`; it has {known}")]
    NoPath {
        /// Name of the option.
        option: &'static str,
        /// As written.
        value: String,
        /// The connection's paths.
        known: String,
    },
}

impl OptionError {
    pub(crate) fn unknown_name(kind: &'static str, name: &str, known: &[&str]) -> Self {
        OptionError::UnknownName {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, known).to_owned(),
            known: known.join(", "),
        }
    }

    pub(crate) fn unknown_option(part: &'static str, option: &str, known: &[&str]) -> Self {
        let known = if known.is_empty() {
            "no options".to_owned()
        } else {
            known.join(", ")
        };
        OptionError::UnknownOption {
            part,
            option: option.to_owned(),
            known,
        }
    }
}

/// The name in `known` most similar to `name`; `known` is not empty.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> &'a str {
    known
        .iter()
        .copied()
        .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)))
        .expect("a registry is never empty")
}

/// `on` or `off`.
pub(crate) fn switch(option: &'static str, value: &str) -> Result<bool, OptionError> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(OptionError::BadValue {
            option,
            value: value.to_owned(),
            expected: "`on` or `off`",
        }),
    }
}

/// A whole number from 1 to `u16::MAX`.
pub(crate) fn count(option: &'static str, value: &str) -> Result<u32, OptionError> {
    value
        .parse::<u16>()
        .ok()
        .filter(|&n| n > 0)
        .map(u32::from)
        .ok_or_else(|| OptionError::BadValue {
            option,
            value: value.to_owned(),
            expected: "a whole number from 1 to 65535",
        })
}

pub(crate) fn positive(option: &'static str, value: &str) -> Result<f64, OptionError> {
    value
        .parse::<f64>()
        .ok()
        .filter(|&n| n > 0.0 && n < 1e12)
        .ok_or_else(|| OptionError::BadValue {
            option,
            value: value.to_owned(),
            expected: "a positive number",
        })
}

pub(crate) fn at_least_zero(option: &'static str, value: &str) -> Result<f64, OptionError> {
    at_least(0.0, option, value, "a number, 0 or more")
}

pub(crate) fn at_least_one(option: &'static str, value: &str) -> Result<f64, OptionError> {
    at_least(1.0, option, value, "a number, 1 or more")
}

fn at_least(
    least: f64,
    option: &'static str,
    value: &str,
    expected: &'static str,
) -> Result<f64, OptionError> {
    let number = value
        .parse::<f64>()
        .ok()
        .filter(|&n| (least..1e12).contains(&n));
    number.ok_or_else(|| OptionError::BadValue {
        option,
        value: value.to_owned(),
        expected,
    })
}

/// A number with one of the units of `units`.
fn with_unit(
    option: &'static str,
    value: &str,
    units: &[(&str, f64)],
    expected: &'static str,
) -> Result<f64, OptionError> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = value[digits.len()..].trim();
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor);
    let number = digits
        .trim()
        .parse::<f64>()
        .ok()
        .filter(|number| (0.0..1e12).contains(number));
    match (number, factor) {
        (Some(number), Some(factor)) => Ok(number * factor),
        _ => Err(OptionError::BadValue {
            option,
            value: value.to_owned(),
            expected,
        }),
    }
}

/// An amount of data, bytes.
pub(crate) fn bytes(option: &'static str, value: &str) -> Result<u64, OptionError> {
    let units = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];
    let bytes = with_unit(option, value, &units, "an amount of data, such as `50 MB`")?;
    Ok(bytes as u64)
}

/// A power, W.
pub(crate) fn watts(option: &'static str, value: &str) -> Result<f64, OptionError> {
    with_unit(
        option,
        value,
        &[("mW", 1e-3), ("W", 1.0)],
        "a power, such as `1 W`",
    )
}

/// A time with its unit.
pub(crate) fn time(option: &'static str, value: &str) -> Result<Nanos, OptionError> {
    let seconds = with_unit(
        option,
        value,
        &[("ms", 1e-3), ("s", 1.0)],
        "a time, such as `3 s`",
    )?;
    Ok(Nanos::from_secs_f64(seconds.min(1e6)))
}
