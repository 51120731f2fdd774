//! The user's own controller: rules as text, the policy `own`.

use std::sync::{Mutex, PoisonError};

use joulepath_controllers::{RULE_PRESETS, RuleError, Rules};
use joulepath_model::policy::Policy;
use joulepath_study::error::{Error, Result};
use joulepath_study::policies;
use serde_json::{Value, json};

/// Name of the policy that the rules define, and of its controller.
pub const NAME: &str = "own";

/// The text that is registered under the name.
static REGISTERED: Mutex<Option<String>> = Mutex::new(None);

/// Registers `text` under [`NAME`] and returns its policy. A registration is never freed, so a text
/// that is registered already is not registered again.
///
/// # Errors
/// If the text has a mistake.
pub(crate) fn register(text: &str) -> Result<Policy> {
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.as_deref() != Some(text) {
        let rules = Rules::parse(text).map_err(
            |RuleError {
                 line,
                 column,
                 message,
                 help,
             }| {
                let message = format!("your controller, line {line}, column {column}: {message}");
                Error::usage(message).with_help(help)
            },
        )?;
        rules.host(NAME).map_err(Error::usage)?;
        *registered = Some(text.to_owned());
    }
    NAME.parse().map_err(Error::usage)
}

/// Refuses a list with a policy that needs rules, which the question does not have.
///
/// # Errors
/// Names the first such policy, or the list is malformed.
pub(crate) fn refuse(list: Option<&str>, why: &str, help: &str) -> Result<()> {
    let policies = list.map(policies::parse).transpose()?.unwrap_or_default();
    let needs = |policy: &&Policy| {
        policy.name == NAME
            || policy
                .overrides
                .iter()
                .any(|(key, value)| key == "cc" && value == NAME)
    };
    match policies.iter().find(needs) {
        Some(policy) => Err(Error::usage(format!("`{policy}` {why}")).with_help(help)),
        None => Ok(()),
    }
}

/// The reply about a text: null, or its mistake.
pub(crate) fn check(text: &str) -> Value {
    match Rules::parse(text) {
        Ok(_) => json!({ "ok": null }),
        Err(RuleError {
            line,
            column,
            message,
            help,
        }) => json!({ "error": {
            "message": "the rules have a mistake",
            "help": null,
            "problems": [{ "line": line, "column": column, "message": message, "help": help }],
        }}),
    }
}

/// Rules to start from.
pub(crate) fn presets() -> Vec<Value> {
    RULE_PRESETS
        .iter()
        .map(|(name, text)| json!({ "name": name, "text": text }))
        .collect()
}
