//! The box of a claim: what its paper leaves open, from where to where, and why; and a point in it.

use joulepath_report::rounded;

use super::super::slotted;
use crate::error::{Error, Result};

/// Significant digits of a value: what is run is what is printed.
const DIGITS: usize = 3;
/// Units of which there are no parts.
const WHOLE: [&str; 2] = ["packets", "B"];

/// The values that a parameter may have.
#[derive(Clone, Copy, Debug)]
pub(in crate::reproduce) enum Range {
    /// Between two numbers of a unit, all alike.
    Linear(f64, f64, &'static str),
    /// Between two numbers of a unit, their logarithms alike.
    Log(f64, f64, &'static str),
    /// One of these; the first is the usual one.
    Choice(&'static [&'static str]),
}

/// One thing that changes at a point.
#[derive(Clone, Debug)]
pub(in crate::reproduce) enum Change {
    /// A key of the scenario, as with `--set`.
    Set(&'static str, String),
    /// An option of every policy that has one of these names in a study: `mptcp[scheduler=…]`.
    Option(&'static [&'static str], &'static str, String),
    /// 003's slotted system.
    Slotted(slotted::Change),
}

/// What a value of a parameter means.
#[derive(Clone, Copy, Debug)]
pub(in crate::reproduce) enum Acts {
    /// All of these keys of the scenario get it.
    Keys(&'static [&'static str]),
    /// The policies of these names get it as an option.
    Option(&'static [&'static str], &'static str),
    /// These changes, from the text and the number of the value (of a choice its place).
    Changes(fn(&str, f64) -> Vec<Change>),
    /// Nothing runs otherwise: the examination reads it.
    Reading,
}

/// One thing that the paper leaves open.
#[derive(Clone, Copy, Debug)]
pub(in crate::reproduce) struct Parameter {
    /// The scenario's key where it is one; otherwise a word.
    pub(in crate::reproduce) key: &'static str,
    /// Why it is open, and why from there to there.
    pub(in crate::reproduce) reason: &'static str,
    /// Its values.
    pub(in crate::reproduce) range: Range,
    /// The usual value, which the shipped scenario has: as text and as number. Of a choice the first.
    pub(in crate::reproduce) usual: (&'static str, f64),
    /// What it does.
    pub(in crate::reproduce) acts: Acts,
}

impl Parameter {
    /// One of several; the first is the usual one.
    pub(in crate::reproduce) const fn choice(
        key: &'static str,
        values: &'static [&'static str],
        acts: Acts,
        reason: &'static str,
    ) -> Self {
        Parameter { key, reason, range: Range::Choice(values), usual: (values[0], 0.0), acts }
    }

    /// A number; `usual` as the shipped scenario has it.
    pub(in crate::reproduce) const fn number(
        key: &'static str,
        range: Range,
        usual: (&'static str, f64),
        acts: Acts,
        reason: &'static str,
    ) -> Self {
        Parameter { key, reason, range, usual, acts }
    }

    /// The value at a place from 0 to 1; none if it is the usual one.
    fn at(&self, place: f64) -> Option<Value> {
        let number = |raw: f64, unit: &str| {
            let number = if WHOLE.contains(&unit) { raw.round() } else { rounded(raw, DIGITS) };
            let text = if unit.is_empty() { format!("{number}") } else { format!("{number} {unit}") };
            Value { text, number }
        };
        let value = match self.range {
            Range::Linear(low, high, unit) => number(low + (high - low) * place, unit),
            Range::Log(low, high, unit) => number(low * libm::pow(high / low, place), unit),
            Range::Choice(values) => {
                let index = ((place * values.len() as f64) as usize).min(values.len() - 1);
                Value { text: values[index].to_owned(), number: index as f64 }
            }
        };
        (value.text != self.usual.0).then_some(value)
    }

    /// Where a number lies, from 0 to 1; of a choice the middle of its part.
    fn place_of(&self, number: f64) -> f64 {
        let place = match self.range {
            Range::Linear(low, high, _) => (number - low) / (high - low),
            Range::Log(low, high, _) => libm::log(number / low) / libm::log(high / low),
            Range::Choice(values) => (number + 0.5) / values.len() as f64,
        };
        place.clamp(0.0, 1.0)
    }

    fn usual_place(&self) -> f64 {
        self.place_of(self.usual.1)
    }

    pub(super) fn is_choice(&self) -> bool {
        matches!(self.range, Range::Choice(_))
    }

    /// The value that `text` names.
    ///
    /// # Errors
    /// If it is none of the choices, or no number of the unit within the range.
    fn parse(&self, text: &str) -> Result<f64> {
        let wrong =
            |mend: String| Error::usage(format!("`{text}` is no value of `{}`", self.key)).with_help(mend);
        if text == self.usual.0 {
            return Ok(self.usual_place());
        }
        let (low, high, unit) = match self.range {
            Range::Choice(values) => {
                let index = values.iter().position(|known| *known == text);
                let index = index.ok_or_else(|| wrong(format!("it is one of {}", values.join(", "))))?;
                return Ok(self.place_of(index as f64));
            }
            Range::Linear(low, high, unit) | Range::Log(low, high, unit) => (low, high, unit),
        };
        let range = || wrong(format!("write a number from {low} to {high} {unit}"));
        let number = text.strip_suffix(unit).map(str::trim).ok_or_else(range)?;
        let number: f64 = number.parse().map_err(|_| range())?;
        // A value that was printed is within the range but for its rounding.
        if !(0.99 * low..=1.01 * high).contains(&number) {
            return Err(range());
        }
        Ok(self.place_of(number))
    }

    /// Its values in words.
    pub(super) fn values(&self) -> String {
        match self.range {
            Range::Linear(low, high, unit) => format!("{low} to {high} {unit}").trim_end().to_owned(),
            Range::Log(low, high, unit) => {
                format!("{low} to {high} {unit}").trim_end().to_owned() + ", logarithmic"
            }
            Range::Choice(values) => values.join(", "),
        }
    }

    /// The changes that a value makes.
    fn changes(&self, value: &Value) -> Vec<Change> {
        match self.acts {
            Acts::Keys(keys) => keys.iter().map(|key| Change::Set(key, value.text.clone())).collect(),
            Acts::Option(policies, option) => vec![Change::Option(policies, option, value.text.clone())],
            Acts::Changes(changes) => changes(&value.text, value.number),
            Acts::Reading => vec![],
        }
    }
}

/// A value of a parameter that is not the usual one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) number: f64,
}

/// A point of a box.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// Where each parameter stands, from 0 to 1.
    places: Vec<f64>,
    /// None where it is the usual one.
    values: Vec<Option<Value>>,
}

impl Point {
    /// The point at these places.
    pub(super) fn at(parameters: &[Parameter], places: &[f64]) -> Self {
        let values: Vec<Option<Value>> =
            parameters.iter().zip(places).map(|(parameter, &place)| parameter.at(place)).collect();
        let exact = |((parameter, value), &place): ((&Parameter, &Option<Value>), &f64)| match value {
            None => parameter.usual_place(),
            Some(value) if parameter.is_choice() => parameter.place_of(value.number),
            Some(_) => place,
        };
        let places = parameters.iter().zip(&values).zip(places).map(exact).collect();
        Point { places, values }
    }

    /// The point that the shipped scenario is.
    pub(super) fn usual(parameters: &[Parameter]) -> Self {
        let places: Vec<f64> = parameters.iter().map(Parameter::usual_place).collect();
        Point { places, values: vec![None; parameters.len()] }
    }

    /// The point that differs from the usual one by `at`.
    ///
    /// # Errors
    /// A key that the box has not, or a value that is none of the key's.
    pub(super) fn parse(parameters: &[Parameter], at: &[(String, String)]) -> Result<Self> {
        let mut point = Point::usual(parameters);
        for (key, text) in at {
            let Some(index) = parameters.iter().position(|parameter| parameter.key == key) else {
                let known: Vec<&str> = parameters.iter().map(|parameter| parameter.key).collect();
                return Err(Error::usage(format!("the box has no `{key}`"))
                    .with_help(format!("it has {}", known.join(", "))));
            };
            let parameter = &parameters[index];
            let place = parameter.parse(text)?;
            point.places[index] = place;
            let number = match parameter.range {
                Range::Choice(_) => parameter.at(place).map_or(0.0, |value| value.number),
                Range::Linear(_, _, unit) | Range::Log(_, _, unit) => text
                    .strip_suffix(unit)
                    .and_then(|number| number.trim().parse().ok())
                    .unwrap_or(parameter.usual.1),
            };
            let is_usual = text == parameter.usual.0;
            point.values[index] = (!is_usual).then(|| Value { text: text.clone(), number });
        }
        Ok(point)
    }

    /// Where each parameter stands, from 0 to 1.
    pub(super) fn places(&self) -> &[f64] {
        &self.places
    }

    /// The text of each value.
    pub(super) fn texts(&self, parameters: &[Parameter]) -> Vec<String> {
        let text = |(parameter, value): (&Parameter, &Option<Value>)| match value {
            None => parameter.usual.0.to_owned(),
            Some(value) => value.text.clone(),
        };
        parameters.iter().zip(&self.values).map(text).collect()
    }

    /// Keys and values that are not the usual ones.
    pub(super) fn changed<'a>(
        &'a self,
        parameters: &'a [Parameter],
    ) -> impl Iterator<Item = (&'a Parameter, &'a Value)> {
        parameters.iter().zip(&self.values).filter_map(|(p, value)| Some((p, value.as_ref()?)))
    }

    /// Everything that changes here.
    pub(super) fn changes(&self, parameters: &[Parameter]) -> Vec<Change> {
        self.changed(parameters).flat_map(|(parameter, value)| parameter.changes(value)).collect()
    }

    /// What the examination reads otherwise.
    pub(super) fn readings(&self, parameters: &[Parameter]) -> Vec<(&'static str, String)> {
        let reading = |(parameter, value): (&Parameter, &Value)| {
            matches!(parameter.acts, Acts::Reading).then(|| (parameter.key, value.text.clone()))
        };
        self.changed(parameters).filter_map(reading).collect()
    }

    /// How far apart two points are: the mean over the parameters of the distance of their places; two
    /// choices are 1 apart (Gower, *A general coefficient of similarity*, 1971).
    pub(super) fn distance(&self, other: &Point, parameters: &[Parameter]) -> f64 {
        let apart = |(index, parameter): (usize, &Parameter)| {
            let apart = (self.places[index] - other.places[index]).abs();
            if parameter.is_choice() { f64::from(apart > 1e-9) } else { apart }
        };
        parameters.iter().enumerate().map(apart).sum::<f64>() / parameters.len().max(1) as f64
    }

    /// The same with one parameter as in another point.
    pub(super) fn with(&self, index: usize, other: &Point) -> Point {
        let mut point = self.clone();
        point.places[index] = other.places[index];
        point.values[index].clone_from(&other.values[index]);
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Overrides;

    const BOX: [Parameter; 3] = [
        Parameter::number("path.a.delay", Range::Log(1.0, 100.0, "ms"), ("10 ms", 10.0), KEY, "why"),
        Parameter::number(
            "path.a.queue",
            Range::Linear(0.0, 100.0, "packets"),
            ("50 packets", 50.0),
            KEY,
            "why",
        ),
        Parameter::choice(
            "scheduler",
            &["minrtt", "first-free"],
            Acts::Option(&["mptcp"], "scheduler"),
            "why",
        ),
    ];
    const KEY: Acts = Acts::Keys(&["path.a.delay"]);

    #[test]
    fn what_is_run_is_what_is_printed() {
        let point = Point::at(&BOX, &[0.123, 0.456, 0.9]);
        // 100^0.123 = 1.762; 45.6 packets are 46.
        assert_eq!(point.texts(&BOX), ["1.76 ms", "46 packets", "first-free"]);
        let at: Overrides = point.changed(&BOX).map(|(p, v)| (p.key.to_owned(), v.text.clone())).collect();
        let again = Point::parse(&BOX, &at).unwrap();
        assert_eq!(again.texts(&BOX), point.texts(&BOX));
        assert!(again.distance(&point, &BOX) < 0.01);
        assert_eq!(format!("{:?}", again.changes(&BOX)), format!("{:?}", point.changes(&BOX)));
    }

    #[test]
    fn a_number_without_a_unit_keeps_its_digits() {
        let range = Range::Log(0.000_01, 0.01, "");
        let kappa = Parameter::number("kappa", range, ("0.0001", 0.0001), Acts::Reading, "why");
        // 10^-5 times 1000^0.25.
        assert_eq!(Point::at(&[kappa], &[0.25]).texts(&[kappa]), ["0.0000562"]);
    }

    #[test]
    fn the_usual_point_changes_nothing() {
        assert!(Point::usual(&BOX).changes(&BOX).is_empty());
        // A draw that meets the usual value is the usual value: 100^0.5 = 10.
        assert!(Point::at(&BOX, &[0.5, 0.5, 0.2]).changes(&BOX).is_empty());
    }

    #[test]
    fn a_value_outside_of_the_box_is_refused_with_the_mend() {
        let said = |key: &str, text: &str| {
            Point::parse(&BOX, &[(key.to_owned(), text.to_owned())]).unwrap_err().to_string()
        };
        assert!(said("path.b.delay", "1 ms").contains("no `path.b.delay`"));
        assert!(said("path.a.delay", "3 s").contains("no value of `path.a.delay`"));
        assert!(said("scheduler", "blest").contains("`blest`"));
    }

    #[test]
    fn a_choice_counts_as_one_and_a_number_as_its_distance() {
        let usual = Point::usual(&BOX);
        let other = Point::at(&BOX, &[0.5, 1.0, 0.9]);
        assert!((usual.distance(&other, &BOX) - (0.0 + 0.5 + 1.0) / 3.0).abs() < 1e-9);
        assert_eq!(other.with(2, &usual).texts(&BOX)[2], "minrtt");
    }
}
