//! Loading: text to tree, tree to tables, tables to scenario.

use super::Scenario;
use super::beside::Beside;
use super::document::Document;
use super::error::{Problems, ScenarioErrors};
use super::raw::RawScenario;
use super::read::Read;
use super::resolve;
use crate::network::DeliveryTrace;

/// A named set of overrides that a scenario carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Unique among the variants of a scenario.
    pub name: String,
    /// Dotted keys and values as TOML, to be passed to [`load_with`].
    pub set: Vec<(String, String)>,
}

/// Loads a scenario. `traces` resolves the traces that it names.
///
/// # Errors
/// Everything that is wrong with it, each with its place and its mend.
pub fn load(
    text: &str,
    traces: &dyn Fn(&str) -> Result<DeliveryTrace, String>,
) -> Result<Scenario, ScenarioErrors> {
    load_with(text, &[], traces)
}

/// Loads a scenario after setting dotted keys, in their order: `workload.size` to `16 kB`, `path.wifi.loss`
/// to `2 %`. An element of a list is found by its name or its index. A value is TOML; what is not TOML is
/// taken as text.
///
/// # Errors
/// Everything that is wrong with the scenario as it is after the overrides.
pub fn load_with(
    text: &str,
    overrides: &[(String, String)],
    traces: &dyn Fn(&str) -> Result<DeliveryTrace, String>,
) -> Result<Scenario, ScenarioErrors> {
    let profiles = |name: &str| Err(format!("there is no folder to find `{name}` in; write its numbers"));
    load_beside(text, overrides, &Beside { traces, profiles: &profiles })
}

/// As [`load_with`], also with calibrated profiles.
///
/// # Errors
/// Everything that is wrong with the scenario as it is after the overrides.
pub fn load_beside(
    text: &str,
    overrides: &[(String, String)],
    beside: &Beside<'_>,
) -> Result<Scenario, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, overrides);
    let scenario =
        read(&document, &mut problems).and_then(|raw| resolve::scenario(raw, *beside, &mut problems));
    problems.finish(document.text, scenario)
}

/// The variants of a scenario, in the order written.
///
/// # Errors
/// What keeps the variants from being read; the rest of the scenario is not checked.
pub fn variants(text: &str) -> Result<Vec<Variant>, ScenarioErrors> {
    let mut problems = Problems::default();
    let document = Document::new(text, &[]);
    let raw = read(&document, &mut problems);
    let variants = raw.map(|raw| {
        let set = |spans: Vec<(String, super::Span)>| {
            spans.into_iter().map(|(key, span)| (key, text[span].to_owned())).collect()
        };
        raw.variant.into_iter().map(|v| Variant { name: v.name.value, set: set(v.set.0) }).collect()
    });
    problems.finish(document.text, variants)
}

/// The tables of a document.
fn read(document: &Document, out: &mut Problems) -> Option<RawScenario> {
    let root = document.parse(out)?;
    RawScenario::read(&root, out)
}
