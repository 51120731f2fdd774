//! Names that a shell can complete.

use std::path::Path;

use joulepath_control::policy::POLICIES;
use joulepath_controllers::Controller;
use joulepath_model::energy;

use crate::reproduce;
use crate::shipped::SCENARIOS;
use crate::source::Source;

/// Shipped scenarios.
pub fn scenarios() -> Vec<String> {
    SCENARIOS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// Bundles, congestion controllers, and `single:PATH` for each path of the scenario among the
/// `words` of a command line.
pub fn policies(words: impl Iterator<Item = String>) -> Vec<String> {
    let bundles = POLICIES
        .iter()
        .filter(|info| info.name != "single")
        .map(|info| info.name.to_owned());
    let scenario = scenario(words).and_then(|source| source.load(&[]).ok());
    let paths = scenario.map(|scenario| scenario.paths).unwrap_or_default();
    let mut names: Vec<String> = bundles
        .chain(paths.iter().map(|path| format!("single:{}", path.name)))
        .collect();
    // Some bundles have the name of their controller.
    names.extend(
        controllers()
            .into_iter()
            .filter(|name| POLICIES.iter().all(|info| info.name != name)),
    );
    names
}

/// Congestion controllers.
pub fn controllers() -> Vec<String> {
    Controller::all()
        .map(|controller| controller.name().to_owned())
        .collect()
}

/// Energy profiles of interfaces.
pub fn profiles() -> Vec<String> {
    energy::profile_names().map(str::to_owned).collect()
}

/// Energy models of devices.
pub fn devices() -> Vec<String> {
    energy::device_presets()
        .map(|preset| preset.name.to_owned())
        .collect()
}

/// Variants of the scenario among the `words` of a command line.
pub fn variants(words: impl Iterator<Item = String>) -> Vec<String> {
    let variants = scenario(words)
        .and_then(|source| source.variants().ok())
        .unwrap_or_default();
    variants.into_iter().map(|variant| variant.name).collect()
}

/// Experiments of the papers.
pub fn experiments() -> Vec<String> {
    reproduce::describe(&[])
        .unwrap_or_default()
        .into_iter()
        .map(|experiment| experiment.id)
        .collect()
}

/// The first word that is a scenario.
fn scenario(words: impl Iterator<Item = String>) -> Option<Source> {
    let is_file = |word: &str| {
        Path::new(word)
            .extension()
            .is_some_and(|extension| extension == "toml")
    };
    let is_shipped = |word: &str| SCENARIOS.iter().any(|(name, _)| *name == word);
    words
        .filter(|word| is_file(word) || is_shipped(word))
        .find_map(|word| Source::open(&word).ok())
}
