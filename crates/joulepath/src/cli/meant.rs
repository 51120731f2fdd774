//! Errors of the command line with the right command in place of the most similar one.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use joulepath_study::commands;

/// `error` with what the user probably wants.
pub(crate) fn corrected(mut error: Error) -> Error {
    let command = std::env::args().nth(1).unwrap_or_default();
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(" "),
        _ => String::new(),
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            commands::instead_of_command(&command, &text(ContextKind::InvalidSubcommand))
        }
        _ => {
            use ContextKind::{InvalidArg, InvalidValue, PriorArg};
            let wrong = [InvalidArg, PriorArg, InvalidValue].map(text);
            commands::instead_of_argument(&command, &wrong)
        }
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
    } else if !["run", "lab"].contains(&&*command) {
        // Only these take the arguments of another program after `--`.
        error.remove(ContextKind::Suggested);
    }
    error
}
