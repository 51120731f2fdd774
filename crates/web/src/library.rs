//! What is shipped: scenarios, policies, energy models.

use joulepath_control::policy::{POLICIES, PolicyInfo};
use joulepath_model::energy::{self, DevicePreset, Profile};
use joulepath_study::shipped::SCENARIOS;
use joulepath_study::source::Source;
use serde_json::{Value, json};

/// Version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Commit of this build.
pub const COMMIT: &str = env!("JOULEPATH_COMMIT");

/// Name and description of everything that is shipped, and the texts of the scenarios.
pub fn library() -> Value {
    let policy = |info: &PolicyInfo| {
        // One for each path.
        let usage = if info.name == "single" { "single:PATH" } else { info.name };
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
        "schema": joulepath_model::scenario::schema(),
    })
}

fn scenario(&(name, text): &(&str, &str)) -> Value {
    let title =
        Source::shipped((name, text)).load(&[]).map_or_else(|_| name.to_owned(), |loaded| loaded.title);
    json!({ "name": name, "title": title, "toml": text })
}
