//! Origin of every value that a set-up uses: printed in the paper, derived from printed values, or
//! chosen.
//!
//! The values are those of the scenarios that its experiments run, of the options of their
//! policies, and of the parameters of its box. `[values]` names the printed and derived ones, and
//! the chosen ones that are not in the box; the reason for the others is the box's. It may name
//! default parameters of a policy's controller, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use joulepath_control::policy::resolve;
use joulepath_report::{Origin, SetUp, UsedValue};
use serde::Deserialize;
use toml::Value;

use super::boxes::ClaimBox;
use super::experiment::Experiment;
use super::space::{Acts, Parameter};
use super::study::{RunsOn, Study};
use crate::error::{Error, Result};
use crate::source::Source;

/// Each key with its value, and the place in the paper, the derivation, or the reason.
type Named = BTreeMap<String, (String, String)>;

/// `[values]` of a set-up.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    #[serde(default)]
    printed: Named,
    #[serde(default)]
    derived: Named,
    #[serde(default)]
    chosen: Named,
}

/// Between the values of a key.
const SEPARATOR: &str = ", ";

/// The values of a key, sorted.
fn parts(values: &str) -> BTreeSet<&str> {
    values.split(SEPARATOR).collect()
}

/// Keys of a scenario that change no run.
const WORDS: [&str; 4] = ["title", "source", "compare", "variant"];
/// Last parts of keys that say what is compared, not with which values.
const NAMES: [&str; 4] = ["via", "kind", "path", "channel"];
/// Option of a policy that does so.
const CONTROLLER: &str = "cc";

impl Values {
    fn origins(&self) -> impl Iterator<Item = (Origin, &Named)> {
        [
            (Origin::Printed, &self.printed),
            (Origin::Derived, &self.derived),
            (Origin::Chosen, &self.chosen),
        ]
        .into_iter()
    }

    /// The values of a key, whatever their origins.
    fn values_of(&self, key: &str) -> Vec<&str> {
        let named = self.origins().filter_map(|(_, named)| named.get(key));
        named.map(|(value, _)| value.as_str()).collect()
    }

    /// The values that the experiments of the set-up's paper use. Headline claims change some of
    /// them.
    ///
    /// # Errors
    /// If a value differs from the one that `[values]` names, or neither `[values]` nor the box
    /// names it.
    pub(super) fn of_set_up(
        &self,
        name: &str,
        experiments: &[Arc<Experiment>],
        boxes: &[Arc<ClaimBox>],
    ) -> Result<SetUp> {
        let uses = |of: &&Arc<Experiment>| of.set_up_of_its_paper() == Some(name);
        let studies = || experiments.iter().filter(uses).flat_map(|of| &of.studies);
        let mut used = Used::default();
        for study in studies() {
            used.add(study)?;
        }
        let claim_box = boxes.iter().find(|of| of.name == name);
        let wrong = |what: String| Error::usage(format!("set-up `{name}`: {what}"));
        let mut values = vec![];
        let mut seen: Vec<&String> = vec![];
        for (origin, named) in self.origins() {
            for (key, (value, why)) in named {
                if !seen.contains(&key) {
                    seen.push(key);
                    let mut ours = used.take(|known| is_like(known, key)).join(SEPARATOR);
                    if ours.is_empty() {
                        let default = studies().find_map(|study| default_of(study, key));
                        ours = default.unwrap_or_default();
                    }
                    let named = self.values_of(key).join(SEPARATOR);
                    if ours.is_empty() {
                        return Err(wrong(format!("[values] has `{key}`, which no study uses")));
                    }
                    if parts(&ours) != parts(&named) {
                        let message = format!("`{key}` is {ours}, but [values] has {named}");
                        return Err(wrong(message));
                    }
                }
                let (key, value, why) = (key.clone(), value.clone(), why.clone());
                values.push(UsedValue {
                    key,
                    value,
                    origin,
                    why,
                });
            }
        }
        for parameter in claim_box.map_or(&[][..], |of| &of.parameters) {
            let covered = used.take(|key| covers(parameter, key));
            let is_named = |of: &UsedValue| covers(parameter, &of.key);
            if covered.is_empty()
                && matches!(parameter.acts, Acts::Set(_))
                && values.iter().any(is_named)
            {
                continue;
            }
            values.push(UsedValue {
                key: parameter.key.clone(),
                value: parameter.usual.0.clone(),
                origin: parameter.origin,
                why: parameter.reason.clone(),
            });
        }
        match used.values.keys().next() {
            None => Ok(SetUp {
                name: name.to_owned(),
                values,
            }),
            Some(_) => {
                let keys: Vec<String> = used
                    .values
                    .iter()
                    .map(|(key, of)| format!("\"{key}\" = [\"{}\", \"\"]", of.join(", ")))
                    .collect();
                Err(wrong(format!(
                    "neither [values] nor the box names\n{}",
                    keys.join("\n")
                )))
            }
        }
    }
}

/// Values by key; several for a sweep.
#[derive(Default)]
struct Used {
    values: BTreeMap<String, Vec<String>>,
}

impl Used {
    fn add(&mut self, study: &Study) -> Result<()> {
        let mut flat = BTreeMap::new();
        let set = match &study.runs_on {
            RunsOn::Scenario { name, variant } => {
                let source = Source::named(name)?;
                let text: toml::Table = source
                    .content()
                    .parse()
                    .map_err(|error| Error::usage(format!("{name}: {error}")))?;
                let text = text
                    .into_iter()
                    .filter(|(key, _)| !WORDS.contains(&key.as_str()));
                flatten("", &Value::Table(text.collect()), &mut flat);
                source.overrides(variant.as_deref(), &study.set)?
            }
            RunsOn::Slotted { system, load } => {
                flat.extend(system.values(*load));
                study.set.clone()
            }
        };
        for (key, text) in set
            .into_iter()
            .filter(|(key, _)| !WORDS.contains(&key.as_str()))
        {
            let replaced = |known: &String| is_in(known, &key) || is_in(&key, known);
            flat.retain(|known, _| !replaced(known));
            flatten(&key, &parsed(&text), &mut flat);
        }
        for policy in &study.policies {
            let written: joulepath_model::policy::Policy = policy.policy.parse()?;
            for (option, value) in written
                .overrides
                .into_iter()
                .filter(|(option, _)| option != CONTROLLER)
            {
                let is_in_name = policy.name.split(' ').any(|word| word == value);
                if is_in_name {
                    continue;
                }
                flat.insert(format!("{}[{option}]", policy.name), value);
            }
        }
        let is_name = |key: &String| {
            key.rsplit('.')
                .next()
                .is_some_and(|last| NAMES.contains(&last))
        };
        for (key, value) in flat.into_iter().filter(|(key, _)| !is_name(key)) {
            let known = self.values.entry(key).or_default();
            if !known.contains(&value) {
                known.push(value);
            }
        }
        Ok(())
    }

    /// Removes the wanted keys and returns their values, each once.
    fn take(&mut self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let (wanted, others): (BTreeMap<_, _>, _) = std::mem::take(&mut self.values)
            .into_iter()
            .partition(|(key, _)| is_wanted(key));
        self.values = others;
        let mut values: Vec<String> = vec![];
        for value in wanted.into_values().flatten() {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

/// Default of a controller's parameter; `key` is a policy's name and the parameter, as in
/// `CWA[theta_max]`. `None` if the study does not have them, or sets it.
fn default_of(study: &Study, key: &str) -> Option<String> {
    let (name, option) = key.strip_suffix(']')?.split_once('[')?;
    let policy = study.policies.iter().find(|policy| policy.name == name)?;
    let policy: joulepath_model::policy::Policy = policy.policy.parse().ok()?;
    let controller = resolve(&policy).ok()?.controller;
    let param = controller.params().find(|param| param.name() == option)?;
    let is_set = policy.overrides.iter().any(|(known, _)| known == option);
    (!is_set).then(|| param.default().to_string())
}

/// Whether a key is the one that `[values]` names, in which `*` stands for any text.
fn is_like(key: &str, named: &str) -> bool {
    match named.split_once('*') {
        None => key == named,
        Some((before, after)) => {
            let rest = key
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            rest.is_some_and(|rest| !rest.is_empty())
        }
    }
}

/// Stands for a parameter's value.
const VALUE: &str = "§";

/// Whether a parameter of the box sets the key of [`Used`].
fn covers(parameter: &Parameter, key: &str) -> bool {
    let sets = |set: &[(String, String)], is_template: bool| {
        let mut flat = BTreeMap::new();
        set.iter()
            .for_each(|(key, text)| flatten(key, &parsed(&text.replace("{}", VALUE)), &mut flat));
        // Of a table, the parameter sets only the parts with its value.
        let has_value = |text: &str| text.contains(VALUE) || text.contains('{');
        flat.iter().any(|(known, text)| {
            (is_in(known, key) || is_in(key, known)) && (!is_template || has_value(text))
        })
    };
    match &parameter.acts {
        Acts::Set(set) => sets(set, true),
        Acts::SetBy(choices) => choices.values().any(|set| sets(set, false)),
        Acts::Option(policies, option) => match (key.split_once('['), policies) {
            (Some((policy, rest)), Some(names)) => {
                rest.trim_end_matches(']') == option && names.iter().any(|name| name == policy)
            }
            (Some((_, rest)), None) => rest.trim_end_matches(']') == option,
            (None, _) => false,
        },
        Acts::Reading => false,
    }
}

/// Whether `key` is below `table`.
fn is_in(key: &str, table: &str) -> bool {
    key == table
        || key
            .strip_prefix(table)
            .is_some_and(|rest| rest.starts_with('.'))
}

/// A value as `--set` has it: TOML, or a text without quotes.
fn parsed(text: &str) -> Value {
    let table: Result<toml::Table, _> = format!("value = {text}").parse();
    table
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Adds every leaf by its key, as `--set` has it. Elements of a list are called by their `name`.
fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let below = |name: &str| {
        if key.is_empty() {
            name.to_owned()
        } else {
            format!("{key}.{name}")
        }
    };
    match value {
        Value::Table(table) => table
            .iter()
            .for_each(|(name, value)| flatten(&below(name), value, into)),
        Value::Array(items) if items.iter().all(Value::is_table) => {
            for (index, item) in items.iter().enumerate() {
                let mut item = item.clone();
                let name = item.as_table_mut().and_then(|item| item.remove("name"));
                let name = name
                    .as_ref()
                    .and_then(Value::as_str)
                    .map_or(index.to_string(), str::to_owned);
                flatten(&below(&name), &item, into);
            }
        }
        Value::String(text) => drop(into.insert(key.to_owned(), text.clone())),
        other => drop(into.insert(key.to_owned(), other.to_string())),
    }
}
