//! Loading: text to tree, tree to tables, tables to scenario.

use std::collections::BTreeSet;

use super::Scenario;
use super::beside::Beside;
use super::document::{self, Document};
use super::error::{Problems, ScenarioErrors};
use super::raw::RawScenario;
use super::read::Read;
use super::resolve;
use crate::network::DeliveryTrace;

/// A named set of overrides in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Unique among the variants of a scenario.
    pub name: String,
    /// Dotted keys and TOML values, for [`load_with`].
    pub set: Vec<(String, String)>,
}

/// Loads a scenario. `traces` resolves the traces that it refers to.
///
/// # Errors
/// All problems, each with its position and fix.
pub fn load(
    text: &str,
    traces: &dyn Fn(&str) -> Result<DeliveryTrace, String>,
) -> Result<Scenario, ScenarioErrors> {
    load_with(text, &[], traces)
}

/// Loads a scenario after setting dotted keys, in this order: `workload.size` to `16 kB`,
/// `path.wifi.loss` to `2 %`. Elements of lists are given by name or index. A value is TOML; text
/// that is not TOML is taken as a string.
///
/// # Errors
/// All problems of the scenario with the overrides applied.
pub fn load_with(
    text: &str,
    overrides: &[(String, String)],
    traces: &dyn Fn(&str) -> Result<DeliveryTrace, String>,
) -> Result<Scenario, ScenarioErrors> {
    let profiles = |name: &str| {
        Err(format!(
            "`{name}` cannot be looked up here; write its numbers"
        ))
    };
    let series = |name: &str| {
        Err(format!(
            "`{name}` cannot be looked up here; write its steps"
        ))
    };
    load_beside(
        text,
        overrides,
        &Beside {
            traces,
            series: &series,
            profiles: &profiles,
        },
    )
}

/// Like [`load_with`], but also resolves calibrated profiles.
///
/// # Errors
/// All problems of the scenario with the overrides applied.
pub fn load_beside(
    text: &str,
    overrides: &[(String, String)],
    beside: &Beside<'_>,
) -> Result<Scenario, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, overrides);
    let scenario = read(&document, &mut problems)
        .and_then(|raw| resolve::scenario(raw, *beside, &mut problems));
    problems.finish(document.text, scenario)
}

/// The variants of a scenario, in the order written.
///
/// # Errors
/// Problems that make the variants unreadable; the rest of the scenario is not checked.
pub fn variants(text: &str) -> Result<Vec<Variant>, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = read(&document, &mut problems);
    let variants = raw.map(|raw| {
        let set = |spans: Vec<(String, super::Span)>| {
            spans
                .into_iter()
                .map(|(key, span)| (key, text[span].to_owned()))
                .collect()
        };
        raw.variant
            .into_iter()
            .map(|v| Variant {
                name: v.name.value,
                set: set(v.set.0),
            })
            .collect()
    });
    problems.finish(document.text, variants)
}

/// The first of some keys of overrides that sets what one before it sets, in any spelling:
/// `path.0.rate` and `path."wifi".rate` are `path.wifi.rate` if that is the first path.
pub fn set_twice<'k>(text: &str, keys: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let mut before = BTreeSet::new();
    keys.into_iter().find(|key| {
        let place = document::place(text, key).unwrap_or_else(|| vec![(*key).to_owned()]);
        !before.insert(place)
    })
}

/// The tables of a document.
fn read(document: &Document, out: &mut Problems) -> Option<RawScenario> {
    let root = document.parse(out)?;
    RawScenario::read(&root, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_another_spelling_is_set_twice() {
        let text = "[[path]]\nname = \"wifi\"\n[[path]]\nname = \"1\"\n[[path]]\nname = \"lte\"";
        for (one, other, is_same) in [
            ("path.wifi.rate", "path.wifi.rate", true),
            ("path.wifi.rate", "path.0.rate", true),
            ("path.wifi.rate", "path.\"wifi\" . 'rate'", true),
            ("path.lte.energy.base", "path.2.energy.base", true),
            ("path.wifi.rate", "path.1.rate", false),
            ("path.lte.rate", "path.lte.delay", false),
            ("path.nope.rate", "path.3.rate", false),
            ("workload.size", "\"workload.size\"", false),
            ("=", "=", true),
        ] {
            let twice = set_twice(text, [one, other]);
            assert_eq!(twice, is_same.then_some(other), "{one} {other}");
        }
    }
}
