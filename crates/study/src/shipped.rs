//! Scenarios that are part of this library.

use joulepath_model::names::nearest;

/// Names and texts, sorted by name.
pub static SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Traces next to the scenarios: name without extension, and text.
static TRACES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/traces.rs"));

/// Configurations of the daemon in the folders `daemon`: name without extension, and text.
#[cfg(feature = "kernel")]
static DAEMON: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/daemon.rs"));

/// Text of a trace that a shipped scenario names relative to itself.
pub(crate) fn trace(scenario: &str, name: &str) -> Option<&'static str> {
    let folder = scenario
        .rsplit_once('/')
        .map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let wanted = folder + name.strip_suffix(".trace")?;
    TRACES
        .iter()
        .find(|(known, _)| *known == wanted)
        .map(|(_, text)| *text)
}

/// The daemon's configuration with this name, for example `live/daemon/file`.
#[cfg(feature = "kernel")]
pub(crate) fn daemon(name: &str) -> Option<&'static str> {
    DAEMON
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// Name and text of a shipped scenario: `quick`, `papers/000-table1`,
/// `scenarios/papers/000-table1.toml`.
pub fn find(name: &str) -> Option<(&'static str, &'static str)> {
    let bare = bare(name);
    SCENARIOS.iter().copied().find(|(known, _)| *known == bare)
}

/// The name of the most similar shipped scenario.
pub(crate) fn most_like(name: &str) -> Option<&'static str> {
    let bare = bare(name);
    let file_of = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    let by_file = || {
        let file = nearest(
            bare.rsplit('/').next()?,
            SCENARIOS.iter().map(|(known, _)| file_of(known)),
        )?;
        SCENARIOS
            .iter()
            .map(|(known, _)| *known)
            .find(|known| file_of(known) == file)
    };
    nearest(bare, SCENARIOS.iter().map(|(known, _)| *known)).or_else(by_file)
}

/// The name in the table: without the repository's folder and the extension.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("./").unwrap_or(name);
    let name = name.strip_prefix("scenarios/").unwrap_or(name);
    name.strip_suffix(".toml").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shipped_scenario_is_found_by_name_and_by_its_path_in_the_repository() {
        for name in [
            "papers/000-table1",
            "scenarios/papers/000-table1.toml",
            "./scenarios/papers/000-table1",
        ] {
            assert_eq!(find(name).map(|(name, _)| name), Some("papers/000-table1"));
        }
        assert_eq!(find("papers/000"), None);
    }

    #[test]
    fn typing_errors_and_missing_folders_are_recognised() {
        assert_eq!(most_like("quikc"), Some("quick"));
        assert_eq!(most_like("000-table1"), Some("papers/000-table1"));
        assert_eq!(most_like("zzzz"), None);
    }
}
