//! The configuration of `joulepath live`: what is shipped loads, and conforms to its schema.

use joulepath_model::scenario::read_live;
use serde_json::Value;

use crate::run::joulepath;
use crate::schema::errors;

const SHIPPED: &str = include_str!("../../../../packaging/live.toml");

/// With every key that is a comment: a line that begins with `#` and a letter or a bracket.
fn with_all_keys() -> String {
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some(key) if !key.starts_with([' ', '#']) => format!("{key}\n"),
        _ => format!("{line}\n"),
    };
    SHIPPED.lines().map(uncommented).collect()
}

fn as_json(text: &str) -> Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn the_shipped_configuration_loads_with_every_key_in_its_comments() {
    let shipped = read_live(SHIPPED).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(shipped.interface("wlan0").unwrap().cost, Some(1));
    assert!(shipped.interface("wwan0").unwrap().metered);
    // `deadline` and `rate` exclude each other, and the comment says so.
    let all = with_all_keys().replace("\nrate = \"5 Mbit/s\"", "");
    let all = read_live(&all).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(all.deadline.is_some() && all.interface("wwan0").unwrap().quota.is_some());
    assert_eq!(all.control.commanders.as_deref(), Some("joulepath"));
}

#[test]
fn the_schema_accepts_the_shipped_configuration_and_refuses_mistakes() {
    let schema = joulepath(&["schema", "live"]).json();
    for text in [SHIPPED.to_owned(), with_all_keys(), "intent = \"off\"".into()] {
        assert_eq!(errors(&schema, &as_json(&text)), Vec::<String>::new(), "{text}");
    }
    for (text, wrong) in [
        ("intent = \"cheap\"", "is none of"),
        ("transfer = \"1 MB\"", "\"intent\" is missing"),
        ("intent = \"off\"\nbattery_below = 0.2", "is not of type"),
        ("intent = \"off\"\n[[interface]]\nname = \"a\"\nquota = { hard = \"5\" }", "does not match"),
    ] {
        let found = errors(&schema, &as_json(text));
        assert!(found.iter().any(|error| error.contains(wrong)), "{text}: {found:?}");
    }
    assert_ne!(schema, joulepath(&["schema"]).json());
}
