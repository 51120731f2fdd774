//! The box of a claim: parameters that its paper leaves open, their ranges and reasons; and points
//! in it.

use std::collections::BTreeMap;

use joulepath_report::{Origin, rounded};

use crate::error::{Error, Result};
use crate::source::Overrides;

/// Significant digits of a value, so that the printed value is the one that runs.
const DIGITS: usize = 3;
/// Units without fractions.
const WHOLE: [&str; 2] = ["packets", "B"];

/// Values of a parameter.
#[derive(Clone, Debug)]
pub(super) enum Range {
    /// Uniform between two numbers of a unit.
    Linear(f64, f64, String),
    /// Log-uniform between two numbers of a unit.
    Log(f64, f64, String),
    /// One of these texts, the usual one first.
    Choice(Vec<String>),
}

/// A change at a point.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Sets a key of the scenario, as with `--set`, or of the slotted system.
    Set(String, String),
    /// Sets an option of the policies with these names, or of all: `mptcp[scheduler=…]`.
    Option(Option<Vec<String>>, String, String),
}

/// Effect of a parameter's value.
#[derive(Clone, Debug)]
pub(super) enum Acts {
    /// Sets these keys to these texts, into which [`filled`] inserts the value.
    Set(Overrides),
    /// Sets different keys for each choice.
    SetBy(BTreeMap<String, Overrides>),
    /// Sets an option of policies.
    Option(Option<Vec<String>>, String),
    /// Changes no run, only how findings are read.
    Reading,
}

/// A parameter that the paper leaves open.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    /// A key of the scenario, or else a word.
    pub(super) key: String,
    /// Why it is open, and the reason for its range.
    pub(super) reason: String,
    pub(super) range: Range,
    /// Value of the shipped scenario as text and number; of a choice the first.
    pub(super) usual: (String, f64),
    /// Origin of that value.
    pub(super) origin: Origin,
    /// Effect of its value.
    pub(super) acts: Acts,
}

/// `text` with a value inserted: `{}` is the value, `{0.2*}` 0.2 times its number, `{1+0.2*}` that
/// plus 1, `{45000/}` 45000 divided by its number, rounded up.
fn filled(text: &str, value: &Value) -> String {
    let mut text = text.replace("{}", &value.text);
    for operator in ["*}", "/}"] {
        let Some(end) = text.find(operator) else {
            continue;
        };
        let Some(start) = text[..end].rfind('{') else {
            continue;
        };
        let (least, number) = text[start + 1..end]
            .split_once('+')
            .unwrap_or(("0", &text[start + 1..end]));
        let (Ok(least), Ok(number)) = (least.parse::<f64>(), number.parse::<f64>()) else {
            continue;
        };
        let result = match operator {
            "*}" => format!("{:.4}", least + number * value.number),
            _ => format!("{}", (number / value.number).ceil()),
        };
        text.replace_range(start..end + operator.len(), &result);
    }
    text
}

impl Parameter {
    /// The value at a place from 0 to 1; `None` if it is the usual one.
    fn at(&self, place: f64) -> Option<Value> {
        let number = |raw: f64, unit: &str| {
            let number = if WHOLE.contains(&unit) {
                raw.round()
            } else {
                rounded(raw, DIGITS)
            };
            let text = if unit.is_empty() {
                format!("{number}")
            } else {
                format!("{number} {unit}")
            };
            Value { text, number }
        };
        let value = match &self.range {
            Range::Linear(_, _, unit) | Range::Log(_, _, unit) => {
                number(self.number_at(place), unit)
            }
            Range::Choice(values) => {
                let number = self.number_at(place);
                Value {
                    text: values[number as usize].clone(),
                    number,
                }
            }
        };
        (value.text != self.usual.0).then_some(value)
    }

    /// The number at a place; of a choice its index.
    pub(super) fn number_at(&self, place: f64) -> f64 {
        match &self.range {
            Range::Linear(low, high, _) => low + (high - low) * place,
            Range::Log(low, high, _) => low * libm::pow(high / low, place),
            Range::Choice(values) => {
                ((place * values.len() as f64) as usize).min(values.len() - 1) as f64
            }
        }
    }

    /// The value at a place, with some digits.
    pub(super) fn words_at(&self, place: f64, digits: usize) -> String {
        let number = self.number_at(place);
        match &self.range {
            Range::Linear(_, _, unit) | Range::Log(_, _, unit) => {
                format!("{} {unit}", rounded(number, digits))
                    .trim_end()
                    .to_owned()
            }
            Range::Choice(values) => values[number as usize].clone(),
        }
    }

    /// Unit of numbers that are all above 0, which have quotients.
    pub(super) fn positive_unit(&self) -> Option<&str> {
        match &self.range {
            Range::Linear(low, _, unit) | Range::Log(low, _, unit) if *low > 0.0 => Some(unit),
            _ => None,
        }
    }

    /// Place of a number, from 0 to 1; of a choice the middle of its part.
    pub(super) fn place_of(&self, number: f64) -> f64 {
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

    /// Parses a value.
    ///
    /// # Errors
    /// If `text` is not one of the choices, or not a number of the unit within the range.
    fn parse(&self, text: &str) -> Result<f64> {
        let wrong = |help: String| {
            Error::usage(format!("`{text}` is not a value of `{}`", self.key)).with_help(help)
        };
        if text == self.usual.0 {
            return Ok(self.usual_place());
        }
        let (low, high, unit) = match &self.range {
            Range::Choice(values) => {
                let index = values.iter().position(|known| known == text);
                let index =
                    index.ok_or_else(|| wrong(format!("it is one of {}", values.join(", "))))?;
                return Ok(self.place_of(index as f64));
            }
            Range::Linear(low, high, unit) | Range::Log(low, high, unit) => {
                (*low, *high, unit.as_str())
            }
        };
        let range = || wrong(format!("write a number from {low} to {high} {unit}"));
        let number = text.strip_suffix(unit).map(str::trim).ok_or_else(range)?;
        let number: f64 = number.parse().map_err(|_| range())?;
        // A printed value may exceed the range by its rounding.
        if !(0.99 * low..=1.01 * high).contains(&number) {
            return Err(range());
        }
        Ok(self.place_of(number))
    }

    pub(super) fn values(&self) -> String {
        match &self.range {
            Range::Linear(low, high, unit) => {
                format!("{low} to {high} {unit}").trim_end().to_owned()
            }
            Range::Log(low, high, unit) => {
                format!("{low} to {high} {unit}").trim_end().to_owned() + ", logarithmic"
            }
            Range::Choice(values) => values.join(", "),
        }
    }

    /// Changes that a value makes.
    fn changes(&self, value: &Value) -> Vec<Change> {
        let set = |(key, text): &(String, String)| Change::Set(key.clone(), filled(text, value));
        match &self.acts {
            Acts::Set(keys) => keys.iter().map(set).collect(),
            Acts::SetBy(choices) => choices
                .get(&value.text)
                .into_iter()
                .flatten()
                .map(set)
                .collect(),
            Acts::Option(policies, option) => {
                vec![Change::Option(
                    policies.clone(),
                    option.clone(),
                    value.text.clone(),
                )]
            }
            Acts::Reading => vec![],
        }
    }
}

/// A value of a parameter that differs from the usual one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) number: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// Place of each parameter, from 0 to 1.
    places: Vec<f64>,
    /// Values; `None` for the usual one.
    values: Vec<Option<Value>>,
}

impl Point {
    pub(super) fn at(parameters: &[Parameter], places: &[f64]) -> Self {
        let values: Vec<Option<Value>> = parameters
            .iter()
            .zip(places)
            .map(|(parameter, &place)| parameter.at(place))
            .collect();
        let exact = |((parameter, value), &place): ((&Parameter, &Option<Value>), &f64)| match value
        {
            None => parameter.usual_place(),
            Some(value) if parameter.is_choice() => parameter.place_of(value.number),
            Some(_) => place,
        };
        let places = parameters
            .iter()
            .zip(&values)
            .zip(places)
            .map(exact)
            .collect();
        Point { places, values }
    }

    /// The point of the shipped scenario.
    pub(super) fn usual(parameters: &[Parameter]) -> Self {
        let places: Vec<f64> = parameters.iter().map(Parameter::usual_place).collect();
        Point {
            places,
            values: vec![None; parameters.len()],
        }
    }

    /// The point that differs from the usual one by `at`.
    ///
    /// # Errors
    /// If the box has no such key, or the key no such value.
    pub(super) fn parse(parameters: &[Parameter], at: &[(String, String)]) -> Result<Self> {
        let mut point = Point::usual(parameters);
        for (key, text) in at {
            let Some(index) = parameters
                .iter()
                .position(|parameter| parameter.key == *key)
            else {
                let known: Vec<&str> = parameters
                    .iter()
                    .map(|parameter| parameter.key.as_str())
                    .collect();
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
            point.values[index] = (!is_usual).then(|| Value {
                text: text.clone(),
                number,
            });
        }
        Ok(point)
    }

    /// Place of each parameter, from 0 to 1.
    pub(super) fn places(&self) -> &[f64] {
        &self.places
    }

    /// Text of each value.
    pub(super) fn texts(&self, parameters: &[Parameter]) -> Vec<String> {
        let text = |(parameter, value): (&Parameter, &Option<Value>)| match value {
            None => parameter.usual.0.clone(),
            Some(value) => value.text.clone(),
        };
        parameters.iter().zip(&self.values).map(text).collect()
    }

    /// Keys and values that differ from the usual ones.
    pub(super) fn changed<'a>(
        &'a self,
        parameters: &'a [Parameter],
    ) -> impl Iterator<Item = (&'a Parameter, &'a Value)> {
        parameters
            .iter()
            .zip(&self.values)
            .filter_map(|(p, value)| Some((p, value.as_ref()?)))
    }

    /// All changes at this point.
    pub(super) fn changes(&self, parameters: &[Parameter]) -> Vec<Change> {
        self.changed(parameters)
            .flat_map(|(parameter, value)| parameter.changes(value))
            .collect()
    }

    /// Readings that differ from the usual ones.
    pub(super) fn readings(&self, parameters: &[Parameter]) -> Overrides {
        let reading = |(parameter, value): (&Parameter, &Value)| {
            matches!(parameter.acts, Acts::Reading)
                .then(|| (parameter.key.clone(), value.text.clone()))
        };
        self.changed(parameters).filter_map(reading).collect()
    }

    /// Distance between two points: the mean over the parameters of the distance of their places;
    /// different choices have distance 1 (Gower, *A general coefficient of similarity*, 1971).
    pub(super) fn distance(&self, other: &Point, parameters: &[Parameter]) -> f64 {
        let apart = |(index, parameter): (usize, &Parameter)| {
            let apart = (self.places[index] - other.places[index]).abs();
            if parameter.is_choice() {
                f64::from(apart > 1e-9)
            } else {
                apart
            }
        };
        parameters.iter().enumerate().map(apart).sum::<f64>() / parameters.len().max(1) as f64
    }

    /// The point with one parameter taken from another point.
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
        Parameter {
            key: key.to_owned(),
            reason: "why".to_owned(),
            range,
            usual,
            origin: Origin::Chosen,
            acts,
        }
    }

    fn a_box() -> [Parameter; 3] {
        let key = || Acts::Set(vec![("path.a.delay".to_owned(), "{}".to_owned())]);
        let words = ["minrtt", "first-free"].map(str::to_owned).to_vec();
        let scheduler = Acts::Option(None, "scheduler".to_owned());
        [
            parameter(
                "path.a.delay",
                Range::Log(1.0, 100.0, "ms".to_owned()),
                ("10 ms", 10.0),
                key(),
            ),
            parameter(
                "path.a.queue",
                Range::Linear(0.0, 100.0, "packets".to_owned()),
                ("50 packets", 50.0),
                key(),
            ),
            parameter(
                "scheduler",
                Range::Choice(words),
                ("minrtt", 0.0),
                scheduler,
            ),
        ]
    }

    #[test]
    fn values_and_computed_numbers_are_inserted_into_texts() {
        let value = Value {
            text: "40 ms".to_owned(),
            number: 40.0,
        };
        assert_eq!(filled("{}", &value), "40 ms");
        assert_eq!(
            filled("{ deviation = \"{0.2*} ms\" }", &value),
            "{ deviation = \"8.0000 ms\" }"
        );
        assert_eq!(filled("{1.5+0.01*} s", &value), "1.9000 s");
        assert_eq!(
            filled("{45001/} s", &value),
            "1126 s",
            "1125.025, rounded up"
        );
    }

    #[test]
    fn the_printed_value_is_the_one_that_runs() {
        let all = a_box();
        let point = Point::at(&all, &[0.123, 0.456, 0.9]);
        // 100^0.123 = 1.762; 45.6 packets are 46.
        assert_eq!(point.texts(&all), ["1.76 ms", "46 packets", "first-free"]);
        let at: Overrides = point
            .changed(&all)
            .map(|(p, v)| (p.key.to_owned(), v.text.clone()))
            .collect();
        let again = Point::parse(&all, &at).unwrap();
        assert_eq!(again.texts(&all), point.texts(&all));
        assert!(again.distance(&point, &all) < 0.01);
        assert_eq!(
            format!("{:?}", again.changes(&all)),
            format!("{:?}", point.changes(&all))
        );
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
        // A random value equal to the usual one counts as the usual one: 100^0.5 = 10.
        assert!(Point::at(&all, &[0.5, 0.5, 0.2]).changes(&all).is_empty());
    }

    #[test]
    fn a_value_outside_of_the_box_is_refused_with_a_fix() {
        let all = a_box();
        let said = |key: &str, text: &str| {
            Point::parse(&all, &[(key.to_owned(), text.to_owned())])
                .unwrap_err()
                .to_string()
        };
        assert!(said("path.b.delay", "1 ms").contains("no `path.b.delay`"));
        assert!(said("path.a.delay", "3 s").contains("not a value of `path.a.delay`"));
        assert!(said("scheduler", "blest").contains("`blest`"));
    }

    #[test]
    fn different_choices_have_distance_one_and_numbers_their_own() {
        let all = a_box();
        let usual = Point::usual(&all);
        let other = Point::at(&all, &[0.5, 1.0, 0.9]);
        assert!((usual.distance(&other, &all) - (0.0 + 0.5 + 1.0) / 3.0).abs() < 1e-9);
        assert_eq!(other.with(2, &usual).texts(&all)[2], "minrtt");
    }
}
