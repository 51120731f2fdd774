//! The box of a claim: what its paper leaves open, from where to where, and why; and a point in it.

use std::collections::BTreeMap;

use joulepath_report::rounded;

use crate::error::{Error, Result};
use crate::source::Overrides;

/// Significant digits of a value: what is run is what is printed.
const DIGITS: usize = 3;
/// Units of which there are no parts.
const WHOLE: [&str; 2] = ["packets", "B"];

/// The values that a parameter may have.
#[derive(Clone, Debug)]
pub(super) enum Range {
    /// Between two numbers of a unit, all alike.
    Linear(f64, f64, String),
    /// Between two numbers of a unit, their logarithms alike.
    Log(f64, f64, String),
    /// One of these; the first is the usual one.
    Choice(Vec<String>),
}

/// One thing that changes at a point.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A key of the scenario, as with `--set`, or of the slotted system.
    Set(String, String),
    /// An option of the policies of these names, or of all: `mptcp[scheduler=…]`.
    Option(Option<Vec<String>>, String, String),
}

/// What a value of a parameter means.
#[derive(Clone, Debug)]
pub(super) enum Acts {
    /// These keys get these texts, into which [`filled`] puts the value.
    Set(Overrides),
    /// Each choice sets keys of its own.
    SetBy(BTreeMap<String, Overrides>),
    /// Policies get it as an option.
    Option(Option<Vec<String>>, String),
    /// Nothing runs otherwise: findings are read otherwise.
    Reading,
}

/// One thing that the paper leaves open.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// The scenario's key where it is one; otherwise a word.
    pub(super) key: String,
    /// Why it is open, and why from there to there.
    pub(super) reason: String,
    /// Its values.
    pub(super) range: Range,
    /// The usual value, which the shipped scenario has: as text and as number. Of a choice the first.
    pub(super) usual: (String, f64),
    /// What it does.
    pub(super) acts: Acts,
}

/// `text` with a value in it: `{}` is the value, `{0.2*}` so many times its number, `{45000/}` so much over
/// its number, rounded up.
fn filled(text: &str, value: &Value) -> String {
    let mut text = text.replace("{}", &value.text);
    for operator in ["*}", "/}"] {
        let Some(end) = text.find(operator) else { continue };
        let Some(start) = text[..end].rfind('{') else { continue };
        let Ok(number) = text[start + 1..end].parse::<f64>() else { continue };
        let result = match operator {
            "*}" => format!("{:.4}", number * value.number),
            _ => format!("{}", (number / value.number).ceil()),
        };
        text.replace_range(start..end + operator.len(), &result);
    }
    text
}

impl Parameter {
    /// The value at a place from 0 to 1; none if it is the usual one.
    fn at(&self, place: f64) -> Option<Value> {
        let number = |raw: f64, unit: &str| {
            let number = if WHOLE.contains(&unit) { raw.round() } else { rounded(raw, DIGITS) };
            let text = if unit.is_empty() { format!("{number}") } else { format!("{number} {unit}") };
            Value { text, number }
        };
        let value = match &self.range {
            Range::Linear(low, high, unit) => number(low + (high - low) * place, unit),
            Range::Log(low, high, unit) => number(low * libm::pow(high / low, place), unit),
            Range::Choice(values) => {
                let index = ((place * values.len() as f64) as usize).min(values.len() - 1);
                Value { text: values[index].clone(), number: index as f64 }
            }
        };
        (value.text != self.usual.0).then_some(value)
    }

    /// Where a number lies, from 0 to 1; of a choice the middle of its part.
    fn place_of(&self, number: f64) -> f64 {
        let place = match &self.range {
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
        let (low, high, unit) = match &self.range {
            Range::Choice(values) => {
                let index = values.iter().position(|known| known == text);
                let index = index.ok_or_else(|| wrong(format!("it is one of {}", values.join(", "))))?;
                return Ok(self.place_of(index as f64));
            }
            Range::Linear(low, high, unit) | Range::Log(low, high, unit) => (*low, *high, unit.as_str()),
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
        match &self.range {
            Range::Linear(low, high, unit) => format!("{low} to {high} {unit}").trim_end().to_owned(),
            Range::Log(low, high, unit) => {
                format!("{low} to {high} {unit}").trim_end().to_owned() + ", logarithmic"
            }
            Range::Choice(values) => values.join(", "),
        }
    }

    /// The changes that a value makes.
    fn changes(&self, value: &Value) -> Vec<Change> {
        let set = |(key, text): &(String, String)| Change::Set(key.clone(), filled(text, value));
        match &self.acts {
            Acts::Set(keys) => keys.iter().map(set).collect(),
            Acts::SetBy(choices) => choices.get(&value.text).into_iter().flatten().map(set).collect(),
            Acts::Option(policies, option) => {
                vec![Change::Option(policies.clone(), option.clone(), value.text.clone())]
            }
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
            let Some(index) = parameters.iter().position(|parameter| parameter.key == *key) else {
                let known: Vec<&str> = parameters.iter().map(|parameter| parameter.key.as_str()).collect();
                return Err(Error::usage(format!("the box has no `{key}`"))
                    .with_help(format!("it has {}", known.join(", "))));
            };
            let parameter = &parameters[index];
            let place = parameter.parse(text)?;
            point.places[index] = place;
            let number = match &parameter.range {
                Range::Choice(_) => parameter.at(place).map_or(0.0, |value| value.number),
                Range::Linear(_, _, unit) | Range::Log(_, _, unit) => text
                    .strip_suffix(unit.as_str())
                    .and_then(|number| number.trim().parse().ok())
                    .unwrap_or(parameter.usual.1),
            };
            let is_usual = *text == parameter.usual.0;
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
            None => parameter.usual.0.clone(),
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
    pub(super) fn readings(&self, parameters: &[Parameter]) -> Overrides {
        let reading = |(parameter, value): (&Parameter, &Value)| {
            matches!(parameter.acts, Acts::Reading).then(|| (parameter.key.clone(), value.text.clone()))
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

    fn parameter(key: &str, range: Range, usual: (&str, f64), acts: Acts) -> Parameter {
        let usual = (usual.0.to_owned(), usual.1);
        Parameter { key: key.to_owned(), reason: "why".to_owned(), range, usual, acts }
    }

    fn a_box() -> [Parameter; 3] {
        let key = || Acts::Set(vec![("path.a.delay".to_owned(), "{}".to_owned())]);
        let words = ["minrtt", "first-free"].map(str::to_owned).to_vec();
        let scheduler = Acts::Option(None, "scheduler".to_owned());
        [
            parameter("path.a.delay", Range::Log(1.0, 100.0, "ms".to_owned()), ("10 ms", 10.0), key()),
            parameter(
                "path.a.queue",
                Range::Linear(0.0, 100.0, "packets".to_owned()),
                ("50 packets", 50.0),
                key(),
            ),
            parameter("scheduler", Range::Choice(words), ("minrtt", 0.0), scheduler),
        ]
    }

    #[test]
    fn a_text_takes_the_value_and_what_is_computed_from_it() {
        let value = Value { text: "40 ms".to_owned(), number: 40.0 };
        assert_eq!(filled("{}", &value), "40 ms");
        assert_eq!(filled("{ deviation = \"{0.2*} ms\" }", &value), "{ deviation = \"8.0000 ms\" }");
        assert_eq!(filled("{45001/} s", &value), "1126 s", "1125.025, rounded up");
    }

    #[test]
    fn what_is_run_is_what_is_printed() {
        let all = a_box();
        let point = Point::at(&all, &[0.123, 0.456, 0.9]);
        // 100^0.123 = 1.762; 45.6 packets are 46.
        assert_eq!(point.texts(&all), ["1.76 ms", "46 packets", "first-free"]);
        let at: Overrides = point.changed(&all).map(|(p, v)| (p.key.to_owned(), v.text.clone())).collect();
        let again = Point::parse(&all, &at).unwrap();
        assert_eq!(again.texts(&all), point.texts(&all));
        assert!(again.distance(&point, &all) < 0.01);
        assert_eq!(format!("{:?}", again.changes(&all)), format!("{:?}", point.changes(&all)));
    }

    #[test]
    fn a_number_without_a_unit_keeps_its_digits() {
        let range = Range::Log(0.000_01, 0.01, String::new());
        let kappa = [parameter("kappa", range, ("0.0001", 0.0001), Acts::Reading)];
        // 10^-5 times 1000^0.25.
        assert_eq!(Point::at(&kappa, &[0.25]).texts(&kappa), ["0.0000562"]);
    }

    #[test]
    fn the_usual_point_changes_nothing() {
        let all = a_box();
        assert!(Point::usual(&all).changes(&all).is_empty());
        // A draw that meets the usual value is the usual value: 100^0.5 = 10.
        assert!(Point::at(&all, &[0.5, 0.5, 0.2]).changes(&all).is_empty());
    }

    #[test]
    fn a_value_outside_of_the_box_is_refused_with_the_mend() {
        let all = a_box();
        let said = |key: &str, text: &str| {
            Point::parse(&all, &[(key.to_owned(), text.to_owned())]).unwrap_err().to_string()
        };
        assert!(said("path.b.delay", "1 ms").contains("no `path.b.delay`"));
        assert!(said("path.a.delay", "3 s").contains("no value of `path.a.delay`"));
        assert!(said("scheduler", "blest").contains("`blest`"));
    }

    #[test]
    fn a_choice_counts_as_one_and_a_number_as_its_distance() {
        let all = a_box();
        let usual = Point::usual(&all);
        let other = Point::at(&all, &[0.5, 1.0, 0.9]);
        assert!((usual.distance(&other, &all) - (0.0 + 0.5 + 1.0) / 3.0).abs() < 1e-9);
        assert_eq!(other.with(2, &usual).texts(&all)[2], "minrtt");
    }
}
