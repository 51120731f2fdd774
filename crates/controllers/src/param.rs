//! Parameters of controllers: each C header declares its own once.

use std::fmt;

use crate::native::{NativeParam, text};

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue {
    /// A number in the parameter's unit.
    Number(f64),
    /// One of the parameter's words.
    Word(&'static str),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// Reason why a parameter could not be set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// The controller has no parameter of this name.
    #[error("{controller} has no parameter `{name}`; it has: {known}")]
    Unknown {
        /// The controller.
        controller: &'static str,
        /// The requested name.
        name: String,
        /// The existing names, or "none".
        known: String,
    },
    /// The value is neither a word of the parameter nor a number in its range.
    #[error("`{value}` is no value of {controller}'s `{name}`; write {allowed}")]
    Value {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        name: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
}

/// A parameter of a controller.
#[derive(Clone, Copy)]
pub struct Param {
    native: &'static NativeParam,
    pub(crate) index: usize,
}

impl Param {
    pub(crate) fn new(index: usize, native: &'static NativeParam) -> Self {
        Self { native, index }
    }

    /// Name of the parameter.
    pub fn name(&self) -> &'static str {
        // SAFETY: the texts of the parameter table are constants.
        unsafe { text(self.native.name) }
    }

    /// One sentence that explains it, with its unit.
    pub fn doc(&self) -> &'static str {
        // SAFETY: the texts of the parameter table are constants.
        unsafe { text(self.native.doc) }
    }

    /// Value of a new connection.
    pub fn default(&self) -> ParamValue {
        self.value(self.native.default)
    }

    /// The range of numbers, both ends included; `None` if it only takes words.
    pub fn range(&self) -> Option<(f64, f64)> {
        (self.native.min <= self.native.max)
            .then(|| (self.number(self.native.min), self.number(self.native.max)))
    }

    /// Words that the parameter accepts.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.table().map(|(word, _)| word)
    }

    /// The allowed values as text, e.g. "`1/n^2`, `1/sqrt(n)` or a number from 0.001 to 1".
    pub fn allowed(&self) -> String {
        let mut parts: Vec<String> = self.words().map(|word| format!("`{word}`")).collect();
        if let Some((min, max)) = self.range() {
            parts.push(format!("a number from {min} to {max}"));
        }
        let last = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            last
        } else {
            format!("{} or {last}", parts.join(", "))
        }
    }

    pub(crate) fn default_raw(&self) -> i32 {
        self.native.default
    }

    /// The raw integer for `text`.
    pub(crate) fn parse(&self, text: &str) -> Option<i32> {
        let text = text.trim();
        if let Some((_, raw)) = self.table().find(|(word, _)| *word == text) {
            return Some(raw);
        }
        let raw = (text.parse::<f64>().ok()? * f64::from(self.native.scale)).round();
        (raw >= f64::from(self.native.min) && raw <= f64::from(self.native.max))
            .then_some(raw as i32)
    }

    /// The meaning of a raw integer: a word if one has it, otherwise a number.
    pub(crate) fn value(&self, raw: i32) -> ParamValue {
        self.table()
            .find(|(_, word_raw)| *word_raw == raw)
            .map_or_else(
                || ParamValue::Number(self.number(raw)),
                |(word, _)| ParamValue::Word(word),
            )
    }

    pub(crate) fn number(&self, raw: i32) -> f64 {
        f64::from(raw) / f64::from(self.native.scale)
    }

    /// The words with their raw integers: "word=raw word=raw".
    fn table(&self) -> impl Iterator<Item = (&'static str, i32)> {
        // SAFETY: the texts of the parameter table are constants.
        let words = unsafe { text(self.native.words) };
        words.split_whitespace().map(|entry| {
            let (word, raw) = entry
                .rsplit_once('=')
                .expect("cc/ declares words as word=raw");
            (word, raw.parse().expect("cc/ declares words with integers"))
        })
    }
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Param")
            .field("name", &self.name())
            .field("default", &self.default())
            .finish()
    }
}
