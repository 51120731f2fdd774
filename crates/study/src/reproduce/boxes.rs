//! The box of a set-up: what its paper leaves open, from where to where, and why.
//!
//! A box is shared by the experiments of one set-up: they are judged on the same runs. What a paper prints is
//! not in its box.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::space::{Acts, Parameter, Range};
use super::study::Study;
use super::wrong::{Wrong, key_value};
use crate::source::Overrides;

/// What a search varies.
#[derive(Clone, Debug)]
pub(super) struct ClaimBox {
    /// The set-up's name.
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) raw: RawBox,
    /// Keys that are set at all points: a run takes no longer than it must.
    set: Overrides,
    /// Seeds at each point, the same at all of them.
    pub(super) seeds: u32,
    /// Points of the Latin hypercube, unless `--points` says otherwise.
    pub(super) points: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBox {
    seeds: u32,
    /// Points of the Latin hypercube. Without any only the usual point runs.
    #[serde(default)]
    points: usize,
    /// Studies that run at a point: one reading each. All if absent.
    pub(super) studies: Option<Vec<Spanned<String>>>,
    /// Policies that run at a point. All if absent.
    policies: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    set: Vec<Spanned<String>>,
    /// Drops the studies' own keys, because parameters of the box have them.
    #[serde(default)]
    without_keys: bool,
    #[serde(default)]
    open: Vec<RawOpen>,
}

/// One thing that the paper leaves open: `values`, or a range `from` … `to`; and what its value does, by one
/// of `keys`, `set`, `set_by`, `option` and `reading`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOpen {
    key: Spanned<String>,
    why: String,
    /// The first is the usual one.
    values: Option<Vec<String>>,
    from: Option<f64>,
    to: Option<f64>,
    /// Draws the logarithm of the value.
    #[serde(default)]
    log: bool,
    #[serde(default)]
    unit: String,
    /// The shipped scenario's value.
    usual: Option<String>,
    /// Its number, where the text does not begin with it.
    usual_number: Option<f64>,
    /// Keys of the scenario that get the value.
    #[serde(default)]
    keys: Vec<String>,
    /// `key=text with {}`.
    #[serde(default)]
    set: Vec<Spanned<String>>,
    #[serde(default)]
    set_by: BTreeMap<String, Vec<Spanned<String>>>,
    /// An option of policies.
    option: Option<String>,
    /// Which policies get it. All if absent.
    policies: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    reading: bool,
}

impl RawBox {
    /// Every policy that it names.
    pub(super) fn policies(&self) -> impl Iterator<Item = &Spanned<String>> {
        let of_open = self.open.iter().flat_map(|open| open.policies.iter().flatten());
        self.policies.iter().flatten().chain(of_open)
    }

    /// # Errors
    /// What is wrong with a parameter.
    pub(super) fn claim_box(self, name: &str) -> Result<ClaimBox, Wrong> {
        let parameters: Vec<Parameter> =
            self.open.iter().map(RawOpen::parameter).collect::<Result<_, _>>()?;
        for (at, open) in self.open.iter().enumerate() {
            if parameters[..at].iter().any(|known| known.key == *open.key.get_ref()) {
                return Err(Wrong::at(&open.key.span(), "this key is open twice"));
            }
        }
        let set = self.set.iter().map(key_value).collect::<Result<_, _>>()?;
        let (seeds, points) = (self.seeds, self.points);
        Ok(ClaimBox { name: name.to_owned(), parameters, raw: self, set, seeds, points })
    }
}

impl RawOpen {
    fn parameter(&self) -> Result<Parameter, Wrong> {
        let wrong = |message: &str| Wrong::at(&self.key.span(), message);
        let (range, usual) = match (&self.values, self.from, self.to) {
            (Some(values), None, None) if values.len() > 1 => {
                (Range::Choice(values.clone()), (values[0].clone(), 0.0))
            }
            (None, Some(from), Some(to)) if from < to && (from > 0.0 || !self.log) => {
                let text = self.usual.clone().ok_or_else(|| wrong("a range needs its `usual` value"))?;
                let number = text.split(' ').next().and_then(|number| number.parse().ok());
                let number = self.usual_number.or(number);
                let number =
                    number.ok_or_else(|| wrong("`usual` begins with no number; write `usual_number`"))?;
                let unit = self.unit.clone();
                let range = if self.log { Range::Log(from, to, unit) } else { Range::Linear(from, to, unit) };
                (range, (text, number))
            }
            _ => {
                return Err(wrong(
                    "it is open over two `values` or more, or `from` a lower number `to` a higher",
                ));
            }
        };
        let acts = [
            !self.keys.is_empty() || !self.set.is_empty(),
            !self.set_by.is_empty(),
            self.option.is_some(),
            self.reading,
        ];
        if acts.iter().filter(|is_there| **is_there).count() != 1 {
            return Err(wrong("its value does one thing: `keys` or `set`, `set_by`, `option`, `reading`"));
        }
        let pairs = |set: &[Spanned<String>]| set.iter().map(key_value).collect::<Result<Overrides, _>>();
        let acts = match &self.option {
            Some(option) => {
                let names =
                    |names: &Vec<Spanned<String>>| names.iter().map(|name| name.get_ref().clone()).collect();
                Acts::Option(self.policies.as_ref().map(names), option.clone())
            }
            None if self.reading => Acts::Reading,
            None if self.set_by.is_empty() => {
                let keys = self.keys.iter().map(|key| (key.clone(), "{}".to_owned()));
                Acts::Set(keys.chain(pairs(&self.set)?).collect())
            }
            None => {
                let known = self.values.as_deref().unwrap_or_default();
                let other = self.set_by.keys().find(|value| !known.contains(value));
                if let Some(other) = other {
                    return Err(wrong(&format!("`set_by` has `{other}`, which is none of its values")));
                }
                let of = |(value, set): (&String, &Vec<_>)| Ok((value.clone(), pairs(set)?));
                Acts::SetBy(self.set_by.iter().map(of).collect::<Result<_, Wrong>>()?)
            }
        };
        Ok(Parameter { key: self.key.get_ref().clone(), reason: self.why.clone(), range, usual, acts })
    }
}

impl ClaimBox {
    /// The values of a parameter that `when` may ask for, the usual one first.
    pub(super) fn reading(&self, key: &str) -> Option<&[String]> {
        let of = self.parameters.iter().find(|of| of.key == key && matches!(of.acts, Acts::Reading))?;
        match &of.range {
            Range::Choice(values) => Some(values),
            Range::Linear(..) | Range::Log(..) => None,
        }
    }

    /// The studies of an experiment that run at a point, without time series.
    pub(super) fn studies(&self, of: &[Study]) -> Vec<Study> {
        let is_in = |names: &Option<Vec<Spanned<String>>>, name: &String| {
            names.as_ref().is_none_or(|names| names.iter().any(|known| known.get_ref() == name))
        };
        let studies = of.iter().filter(|study| is_in(&self.raw.studies, &study.name));
        let at_point = |study: &Study| {
            let mut study = Study { series: 0, kernel: None, ..study.clone() };
            study.policies.retain(|policy| is_in(&self.raw.policies, &policy.name));
            if self.raw.without_keys {
                study.set.clear();
            }
            study.set.extend(self.set.iter().cloned());
            study
        };
        studies.map(at_point).collect()
    }
}
