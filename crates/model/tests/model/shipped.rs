//! Every shipped scenario loads, with each of its variants.

use std::path::{Path, PathBuf};

use joulepath_model::network::DeliveryTrace;
use joulepath_model::scenario;

/// All scenario files of the repository.
fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    for folder in [
        root.clone(),
        root.join("papers"),
        root.join("fidelity"),
        root.join("bench"),
    ] {
        let entries = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "toml")));
    }
    files.sort();
    assert!(
        files.len() >= 3,
        "only {} scenarios under {}",
        files.len(),
        root.display()
    );
    files
}

#[test]
fn every_shipped_scenario_loads_with_each_variant() {
    for file in shipped() {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.display().to_string();
        // The traces only have to exist; the parser of traces checks their contents.
        let trace = |name: &str| {
            let beside = file.with_file_name(name);
            if !beside.is_file() {
                return Err(format!("{} is missing", beside.display()));
            }
            Ok(DeliveryTrace {
                source: name.to_owned(),
                opportunities_ms: vec![1],
            })
        };
        let load = |set: &[(String, String)]| {
            scenario::load_with(&text, set, &trace)
                .unwrap_or_else(|errors| panic!("{}", errors.in_file(&name)))
        };
        let base = load(&[]);
        for variant in scenario::variants(&text).unwrap() {
            let changed = load(&variant.set);
            assert_ne!(
                changed, base,
                "variant {} of {name} changes nothing",
                variant.name
            );
        }
    }
}
