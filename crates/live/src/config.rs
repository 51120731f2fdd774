//! The configuration file, with what lies beside it.

use std::io;
use std::path::Path;

use joulepath_files::{By, Trouble, read, read_beside};
use joulepath_model::live::{LiveConfig, Manager};
use joulepath_model::scenario::{CalibratedProfile, read_live_beside, read_profile_in};

use crate::error::{Error, Result};

/// Longest configuration that is read, bytes: thousands of rules.
const MAX_BYTES: u64 = 256 << 10;
/// Longest calibrated profile that is read, bytes.
const MAX_PROFILE_BYTES: u64 = 1 << 20;

/// A configuration file, read by those who do not manage paths by it: rules are not refused, since the daemon
/// may have been told to be the path manager when it began.
///
/// # Errors
/// [`Error::File`] and [`Error::Config`].
pub fn load(path: &Path) -> Result<LiveConfig> {
    load_for(path, Some(Manager::UserSpace))
}

/// As [`load`], for the daemon: `manager` goes before what the file says.
pub(crate) fn load_for(path: &Path, manager: Option<Manager>) -> Result<LiveConfig> {
    let name = path.display().to_string();
    let content = read(path, By::Argument, MAX_BYTES)
        .map_err(|trouble| Error::File { path: name.clone(), source: trouble.into() })?;
    let text = String::from_utf8(content.bytes)
        .map_err(|error| Error::File { path: name.clone(), source: io::Error::other(error.utf8_error()) })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    read_live_beside(&text, manager, &|file| profile(folder, file)).map_err(|errors| {
        match content.may_be_quoted {
            true => Error::Config(Box::new(errors.in_file(&name))),
            false => Error::Refused {
                what: format!("{name} has mistakes, which the user who called sudo may not read"),
                remedy: "let that user read the file, or run the command in a shell of root's".into(),
            },
        }
    })
}

/// A calibrated profile beside the configuration; an error is a message, a semicolon, and what to do.
fn profile(folder: &Path, file: &str) -> std::result::Result<CalibratedProfile, String> {
    let path = folder.join(file);
    let name = path.display();
    let unread = |trouble: Trouble| {
        let why = io::Error::from(trouble);
        format!("cannot read `{name}`: {why}; it has to lie beside the configuration, readable by the daemon")
    };
    let bytes = read_beside(folder, file, MAX_PROFILE_BYTES).map_err(unread)?;
    let text = String::from_utf8_lossy(&bytes);
    read_profile_in(&text, &name.to_string()).map_err(|(why, mend)| format!("{why}; {mend}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use joulepath_model::scenario::{read_live, show_live};
    use proptest::prelude::*;

    use super::*;

    const SHIPPED: &str = include_str!("../../../packaging/live.toml");

    proptest! {
        /// What is understood reads again to the same; what is not is refused with a place in the file.
        #[test]
        fn a_configuration_that_was_changed_is_understood_or_refused_with_its_place(
            changes in prop::collection::vec((any::<u32>(), any::<u32>(), 0_u8..5), 1..6),
        ) {
            // Every key, also those that the shipped file has in comments.
            let uncommented = |line: &str| match line.strip_prefix('#') {
                Some(key) if !key.starts_with([' ', '#']) => format!("{key}\n"),
                _ => format!("{line}\n"),
            };
            let mut text: Vec<String> = SHIPPED.lines().map(uncommented).collect();
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

    /// A daemon that reads its configuration again has connections to look after meanwhile.
    #[test]
    fn a_configuration_that_is_no_file_or_too_large_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let begun = std::time::Instant::now();
        let pipe = folder.path().join("pipe.toml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
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
        // As large as one may be, and every key of it wrong.
        let keys: String = (0..25_000).map(|key| format!("k{key} = 1\n")).collect();
        fs::write(&large, &keys[..MAX_BYTES as usize / 10 * 9]).unwrap();
        assert!(matches!(load(&large), Err(Error::Config(_))));
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
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

    /// A profile that was calibrated on this machine lies beside the configuration.
    #[test]
    fn an_interface_takes_a_calibrated_profile_from_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("live.toml");
        let text = "intent = \"frugal\"\n[[interface]]\nname = \"wlan0\"\nenergy = \"file:my-wifi.toml\"\n";
        fs::write(&file, text).unwrap();
        let missing = load(&file).unwrap_err().to_string();
        assert!(missing.contains("4:10") && missing.contains("my-wifi.toml"), "{missing}");

        fs::write(folder.path().join("my-wifi.toml"), PROFILE).unwrap();
        let config = load(&file).unwrap_or_else(|error| panic!("{error}"));
        let energy = config.interface("wlan0").unwrap().energy.as_ref().unwrap();
        assert_eq!(energy.profile, "file:my-wifi.toml, calibrated 2026-11-23 with hwmon:powerz");

        fs::write(folder.path().join("my-wifi.toml"), PROFILE.replace("120 mW", "120 mA")).unwrap();
        let wrong = load(&file).unwrap_err().to_string();
        assert!(wrong.contains("my-wifi.toml:7:"), "{wrong}");
    }
}
