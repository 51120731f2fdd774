//! Estimates by metric.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Estimate;
use crate::metric::{METRICS, Metric};

/// An estimate of each metric that a policy's runs have. In JSON an object with a key for each
/// metric, `null` if no run has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates(BTreeMap<&'static str, Estimate>);

impl Estimates {
    /// The estimate of a metric.
    pub fn of(&self, metric: &Metric) -> Option<Estimate> {
        self.0.get(metric.name).copied()
    }

    /// Sets the estimate of a metric.
    pub fn set(&mut self, metric: &'static Metric, estimate: Option<Estimate>) {
        match estimate {
            Some(estimate) => self.0.insert(metric.name, estimate),
            None => self.0.remove(metric.name),
        };
    }
}

/// Asks for the estimate of every metric.
impl FromIterator<(&'static Metric, Option<Estimate>)> for Estimates {
    fn from_iter<I: IntoIterator<Item = (&'static Metric, Option<Estimate>)>>(all: I) -> Self {
        let known = all
            .into_iter()
            .filter_map(|(metric, estimate)| Some((metric.name, estimate?)));
        Estimates(known.collect())
    }
}

impl Serialize for Estimates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(METRICS.len()))?;
        for metric in METRICS {
            map.serialize_entry(metric.name, &self.of(metric))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Estimates {
    /// Ignores keys that are no metric.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName)
    }
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Estimates;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("estimates by metric")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Estimates, A::Error> {
        let mut estimates = Estimates::default();
        while let Some(name) = map.next_key::<String>()? {
            match Metric::named(&name) {
                Some(metric) => estimates.set(metric, map.next_value()?),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(estimates)
    }
}
