//! The configuration file and the profiles beside it.

use std::io;
use std::path::Path;

use joulepath_files::{By, Trouble, read, read_beside};
use joulepath_model::live::{First, Intent, LiveConfig, Manager};
use joulepath_model::scenario::{
    CalibratedProfile, ScenarioErrors, read_live_beside, read_profile_in,
};

use crate::error::{Error, Result};

/// Largest configuration, bytes: thousands of rules.
const MAX_BYTES: u64 = 256 << 10;
/// Largest calibrated profile, bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// A configuration to begin with, every key explained.
pub const SAMPLE: &str = include_str!("../live.toml");

/// Keys of the command line, in place of the configuration's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen {
    /// `pm`.
    pub manager: Option<Manager>,
    /// `intent`.
    pub intent: Option<Intent>,
    /// `first`.
    pub first: Option<First>,
    /// `adopt`, if true.
    pub adopt: bool,
}

/// Reads a configuration file for commands other than the daemon. Rules are always accepted,
/// because the daemon may have been started as the path manager.
///
/// # Errors
/// [`Error::File`] and [`Error::Config`].
pub fn load(path: &Path) -> Result<LiveConfig> {
    load_for(
        path,
        Chosen {
            manager: Some(Manager::UserSpace),
            ..Chosen::default()
        },
    )
}

/// Like [`load`], for the daemon. `chosen` overrides the file.
pub(crate) fn load_for(path: &Path, chosen: Chosen) -> Result<LiveConfig> {
    let name = path.display().to_string();
    let content = read(path, By::Argument, MAX_BYTES).map_err(|trouble| Error::File {
        path: name.clone(),
        source: trouble.into(),
    })?;
    let text = String::from_utf8(content.bytes).map_err(|error| Error::File {
        path: name.clone(),
        source: io::Error::other(error.utf8_error()),
    })?;
    parse(&text, path, chosen).map_err(|error| match error {
        Error::Config(_) if !content.may_be_quoted => Error::Refused {
            what: format!("{name} has errors, but the user who called sudo may not read it"),
            remedy: "give that user read permission, or run the command in a root shell".into(),
        },
        error => error,
    })
}

/// The configuration of a text that is, or will be, in the file `path`.
pub(crate) fn parse(text: &str, path: &Path, chosen: Chosen) -> Result<LiveConfig> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let read = read_live_beside(text, chosen.manager, &|file| profile(folder, file));
    let named = |errors: ScenarioErrors| {
        Error::Config(Box::new(errors.in_file(&path.display().to_string())))
    };
    let config = read.map_err(named)?;
    let (intent, first) = (
        chosen.intent.unwrap_or(config.intent),
        chosen.first.unwrap_or(config.first),
    );
    // A tolerance of the file has no meaning beside another intent.
    let tolerance = config.tolerance.filter(|_| intent.may_wait());
    let adopt = chosen.adopt || config.adopt;
    Ok(LiveConfig {
        intent,
        first,
        tolerance,
        adopt,
        ..config
    })
}

/// A calibrated profile beside the configuration. Errors have the form "message; remedy".
fn profile(folder: &Path, file: &str) -> std::result::Result<CalibratedProfile, String> {
    let path = folder.join(file);
    let name = path.display();
    let unread = |trouble: Trouble| {
        let why = io::Error::from(trouble);
        format!(
            "cannot read `{name}`: {why}; it must be in the configuration's folder and readable by the daemon"
        )
    };
    let bytes = read_beside(folder, file, MAX_PROFILE_BYTES).map_err(unread)?;
    let text = String::from_utf8_lossy(&bytes);
    read_profile_in(&text, &name.to_string()).map_err(|(why, remedy)| format!("{why}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use joulepath_model::scenario::{read_live, show_live};
    use joulepath_model::units::Dbm;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Accepted text reads again to the same configuration; refused text gets a place in the
        /// file.
        #[test]
        fn a_mutated_configuration_is_read_or_refused_with_a_place(
            changes in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u8..5), 1..6),
        ) {
            // Include the keys that the shipped file has in comments.
            let uncommented = |line: &str| match line.strip_prefix('#') {
                Some(key) if !key.starts_with([' ', '#']) => format!("{key}\n"),
                _ => format!("{line}\n"),
            };
            let mut text: Vec<String> = SAMPLE.lines().map(uncommented).collect();
            for (from, to, what) in changes {
                let (from, to) = (from as usize % text.len(), to as usize % text.len());
                match what {
                    0 => drop(text.remove(from)),
                    1 => text.swap(from, to),
                    2 => text.insert(from, text[to].clone()),
                    3 => {
                        let at = text[from].char_indices().nth(to % 40).map_or(0, |(at, _)| at);
                        text[from].insert_str(at, ["\"", "=", "[", "9e99", "µ", "\u{0}"][to % 6]);
                    }
                    _ => text[from] = text[from].chars().rev().collect(),
                }
            }
            match read_live(&text.concat()) {
                Ok(config) => prop_assert_eq!(read_live(&show_live(&config)).unwrap(), config),
                Err(errors) => {
                    let said = errors.in_file("live.toml").to_string();
                    prop_assert!(said.contains("live.toml:") || said.contains("live.toml has"), "{}", said);
                }
            }
        }
    }

    /// The daemon must not block on a bad file: it has connections to manage.
    #[test]
    fn a_configuration_that_is_no_regular_file_or_too_large_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        let pipe = folder.path().join("pipe.toml");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let large = folder.path().join("large.toml");
        fs::write(&large, "a = 1\n".repeat(2_000_000)).unwrap();
        for (path, says) in [
            (pipe.as_path(), "not a regular file"),
            (folder.path(), "it is a folder"),
            (Path::new("/dev/zero"), "not a regular file"),
            (large.as_path(), "it has more than"),
        ] {
            let said = load(path).unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
        }
        // As large as allowed, with every key wrong.
        let keys: String = (0..25_000).map(|key| format!("k{key} = 1\n")).collect();
        fs::write(&large, &keys[..MAX_BYTES as usize / 10 * 9]).unwrap();
        assert!(matches!(load(&large), Err(Error::Config(_))));
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(30),
            "{:?}",
            begun.elapsed()
        );
    }

    const PROFILE: &str = r#"
version = 1
quality = "calibrated"
meter = "hwmon:powerz"
interface = "wlan0"
date = "2026-11-23"
energy = { model = "linear", per_mbps = "120 mW", active = "0.1 W" }
[interval]
per_mbps = ["118 mW/Mbps", "122 mW/Mbps"]
[noted]
hold_out_error = "3.1 %"
"#;

    #[test]
    fn an_interface_reads_a_calibrated_profile_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.toml");
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nenergy = \"file:my-wifi.toml\"\n";
        fs::write(&file, text).unwrap();
        let missing = load(&file).unwrap_err().to_string();
        assert!(
            missing.contains("4:10") && missing.contains("my-wifi.toml"),
            "{missing}"
        );

        fs::write(folder.path().join("my-wifi.toml"), PROFILE).unwrap();
        let config = load(&file).unwrap_or_else(|error| panic!("{error}"));
        let energy = config.interface("wlan0").unwrap().energy.as_ref().unwrap();
        assert_eq!(
            energy.profile,
            "file:my-wifi.toml, calibrated 2026-11-23 with hwmon:powerz"
        );
        assert_eq!(config.interface("wlan0").unwrap().measured_at, None);

        // The range is also that of a model that changes the profile's numbers.
        let with_signal =
            PROFILE.replace("energy =", "signal = [\"-62 dBm\", \"-58 dBm\"]\nenergy =");
        fs::write(folder.path().join("my-wifi.toml"), with_signal).unwrap();
        let changed = text.replace(
            "\"file:my-wifi.toml\"",
            "{ profile = \"file:my-wifi.toml\", active = \"0.2 W\" }",
        );
        for text in [text, &changed] {
            fs::write(&file, text).unwrap();
            let config = load(&file).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                config.interface("wlan0").unwrap().measured_at,
                Some([Dbm(-62.0), Dbm(-58.0)])
            );
        }

        fs::write(
            folder.path().join("my-wifi.toml"),
            PROFILE.replace("120 mW", "120 mA"),
        )
        .unwrap();
        let wrong = load(&file).unwrap_err().to_string();
        assert!(wrong.contains("my-wifi.toml:7:"), "{wrong}");
    }
}
