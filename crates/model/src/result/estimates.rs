//! Numbers by metric.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Estimate, RunResult};
use crate::metric::{METRICS, Metric};

/// A value of each metric that some runs have. In JSON an object with a key for each metric, `null`
/// if no run has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ByMetric<T>(BTreeMap<&'static str, T>);

/// Estimates over the runs of a policy.
pub type Estimates = ByMetric<Estimate>;
/// Means over runs.
pub type Means = ByMetric<f64>;

impl<T> Default for ByMetric<T> {
    fn default() -> Self {
        ByMetric(BTreeMap::new())
    }
}

impl<T: Copy> ByMetric<T> {
    /// The value of a metric.
    pub fn of(&self, metric: &Metric) -> Option<T> {
        self.0.get(metric.name).copied()
    }

    /// Sets the value of a metric.
    pub fn set(&mut self, metric: &'static Metric, value: Option<T>) {
        match value {
            Some(value) => self.0.insert(metric.name, value),
            None => self.0.remove(metric.name),
        };
    }
}

impl Means {
    /// The mean of each metric that all `runs` have.
    pub fn over(runs: &[RunResult]) -> Self {
        METRICS
            .iter()
            .map(|&metric| (metric, metric.mean(runs)))
            .collect()
    }
}

/// Asks for the value of every metric.
impl<T> FromIterator<(&'static Metric, Option<T>)> for ByMetric<T> {
    fn from_iter<I: IntoIterator<Item = (&'static Metric, Option<T>)>>(all: I) -> Self {
        let known = all
            .into_iter()
            .filter_map(|(metric, value)| Some((metric.name, value?)));
        ByMetric(known.collect())
    }
}

impl<T: Copy + Serialize> Serialize for ByMetric<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(METRICS.len()))?;
        for metric in METRICS {
            map.serialize_entry(metric.name, &self.of(metric))?;
        }
        map.end()
    }
}

impl<'de, T: Copy + Deserialize<'de>> Deserialize<'de> for ByMetric<T> {
    /// Ignores keys that are no metric.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName(PhantomData))
    }
}

struct ByName<T>(PhantomData<T>);

impl<'de, T: Copy + Deserialize<'de>> Visitor<'de> for ByName<T> {
    type Value = ByMetric<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values by metric")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByMetric<T>, A::Error> {
        let mut values = ByMetric::default();
        while let Some(name) = map.next_key::<String>()? {
            match Metric::named(&name) {
                Some(metric) => values.set(metric, map.next_value()?),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(values)
    }
}
