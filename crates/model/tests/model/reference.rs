//! `docs/scenario.md` lists every key, default and profile.

use joulepath_model::{energy, scenario};
use serde_json::Value;

const REFERENCE: &str = include_str!("../../../../docs/scenario.md");

/// Every table of the schema with its keys.
fn tables() -> Vec<(String, serde_json::Map<String, Value>)> {
    let schema = scenario::schema();
    let root = ("a scenario".to_owned(), schema.clone());
    let definitions = schema["$defs"].as_object().unwrap().clone().into_iter();
    let with_keys =
        |(name, table): (String, Value)| Some((name, table["properties"].as_object()?.clone()));
    let tables: Vec<_> = definitions.chain([root]).filter_map(with_keys).collect();
    assert!(tables.len() > 20, "only {} tables", tables.len());
    tables
}

#[test]
fn every_key_is_in_the_reference() {
    for (table, keys) in tables() {
        for key in keys.keys() {
            let forms = [
                format!("`{key}`"),
                format!(".{key}`"),
                format!("{key} = "),
                format!("[{key}]"),
            ];
            assert!(
                forms.iter().any(|form| REFERENCE.contains(form)),
                "`{key}` of {table} is missing"
            );
        }
    }
}

#[test]
fn every_default_is_in_the_reference() {
    for (table, keys) in tables() {
        for (key, schema) in keys {
            let Some(default) = schema.get("default") else {
                continue;
            };
            // The default of a section is that it may be absent.
            let is_section = REFERENCE.contains(&format!("{key}]"));
            if is_section
                && (*default == serde_json::json!({}) || *default == serde_json::json!([]))
            {
                continue;
            }
            let text = default.to_string().replace(",\"", ", \"");
            let in_row = |line: &&str| line.contains(&format!("{key}`")) && line.contains(&text);
            let found = REFERENCE.lines().any(|line| in_row(&line));
            assert!(found, "{key} = {text} of {table} is missing");
        }
    }
}

#[test]
fn every_profile_and_preset_is_in_the_reference() {
    for name in energy::profile_names().chain(energy::device_preset_names()) {
        assert!(
            REFERENCE.contains(&format!("`{name}`")),
            "`{name}` is missing"
        );
    }
}

#[test]
fn whole_scenarios_in_the_reference_load() {
    let blocks = REFERENCE
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let whole: Vec<_> = blocks.filter(|block| block.starts_with("title")).collect();
    assert!(!whole.is_empty());
    for text in whole {
        let no_traces = |name: &str| Err(format!("{name} is not there"));
        scenario::load(text, &no_traces).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    }
}
