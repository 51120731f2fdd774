//! What is shipped: scenarios, policies, energy models.

use joulepath_control::policy::{POLICIES, PolicyInfo};
use joulepath_model::energy::{self, DevicePreset, Profile};
use joulepath_model::metric::METRICS;
use joulepath_study::shipped::SCENARIOS;
use serde_json::{Value, json};

use crate::rules;

/// Version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Commit of this build.
pub const COMMIT: &str = env!("JOULEPATH_COMMIT");

/// Name and description of everything that is shipped, and the texts of the scenarios.
pub fn library() -> Value {
    let policy = |info: &PolicyInfo| {
        // One for each path.
        let usage = if info.name == "single" {
            "single:PATH"
        } else {
            info.name
        };
        json!({ "name": usage, "title": info.title, "summary": info.summary, "paper": info.paper })
    };
    let profile = |profile: &Profile| json!({ "name": profile.name, "summary": profile.summary });
    let device = |preset: &DevicePreset| json!({ "name": preset.name, "summary": preset.summary });
    json!({
        "version": VERSION,
        "commit": COMMIT,
        "scenarios": SCENARIOS.iter().map(scenario).collect::<Vec<_>>(),
        "policies": POLICIES.iter().map(policy).collect::<Vec<_>>(),
        "profiles": energy::profiles().map(profile).collect::<Vec<_>>(),
        "devices": energy::device_presets().map(device).collect::<Vec<_>>(),
        "metrics": METRICS.iter().map(|metric| (metric.name, metric.title)).collect::<Vec<_>>(),
        "rules": { "policy": rules::NAME, "presets": rules::presets() },
    })
}

fn scenario(&(name, text): &(&str, &str)) -> Value {
    json!({ "name": name, "title": title(text).as_deref().unwrap_or(name), "toml": text })
}

/// The title in a scenario's text. Loading all scenarios for their titles would take a quarter of a
/// second.
fn title(text: &str) -> Option<String> {
    let mut top = text.lines().take_while(|line| !line.starts_with('['));
    let line: toml::Table = top.find(|line| line.starts_with("title"))?.parse().ok()?;
    Some(line.get("title")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use joulepath_study::source::Source;

    use super::*;

    #[test]
    fn titles_are_those_of_the_loaded_scenarios() {
        for &(name, text) in SCENARIOS {
            let loaded = Source::shipped((name, text)).load(&[]).unwrap();
            assert_eq!(title(text).as_deref(), Some(&*loaded.title), "{name}");
        }
    }
}
