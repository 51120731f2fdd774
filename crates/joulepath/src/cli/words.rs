//! Words of the command line, each with its sentence for help and completions.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use joulepath_model::live::Intent;

/// The word for the configuration's intent.
const CONFIGURED: &str = "configured";

/// An intent, or the configuration's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntentWord(pub(crate) Option<Intent>);

/// Intents.
pub(super) fn intents() -> impl TypedValueParser<Value = Intent> {
    PossibleValuesParser::new(Intent::ALL.map(value)).map(|word| known(&word))
}

/// Intents that `on` takes.
pub(super) fn switchable() -> impl TypedValueParser<Value = Intent> {
    let on = Intent::ALL
        .into_iter()
        .filter(|intent| *intent != Intent::Off);
    PossibleValuesParser::new(on.map(value)).map(|word| known(&word))
}

/// Intents, and the word for the configuration's.
pub(super) fn settable() -> impl TypedValueParser<Value = IntentWord> {
    let configured = PossibleValue::new(CONFIGURED).help("as configured");
    let words = Intent::ALL.map(value).into_iter().chain([configured]);
    PossibleValuesParser::new(words)
        .map(|word| IntentWord((word != CONFIGURED).then(|| known(&word))))
}

fn value(intent: Intent) -> PossibleValue {
    PossibleValue::new(intent.word())
        .help(intent.sentence())
        .aliases(intent.alias())
}

fn known(word: &str) -> Intent {
    Intent::by_word(word).expect("the parser accepts only words of intents")
}
