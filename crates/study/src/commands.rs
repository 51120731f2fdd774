//! Arguments of the command line: how they are read, and what the user probably wants.

use std::net::SocketAddr;

use crate::error::Error;

/// Words that other programs have for commands, as commands or as words after `live`.
const COMMANDS: [(&[&str], &str); 4] = [
    (
        &["status", "state"],
        "`joulepath status` shows what the daemon does",
    ),
    (
        &["start", "enable", "up"],
        "`sudo joulepath on` starts the daemon",
    ),
    (&["restart"], "`sudo joulepath on` starts the daemon again"),
    (
        &["stop", "disable", "down", "undo"],
        "`sudo joulepath off` stops the daemon and restores everything",
    ),
];

/// What some commands do not have.
const ARGUMENTS: [(&str, &[&str], &str); 5] = [
    ("on", &["off"], "`sudo joulepath off` switches off"),
    (
        "on",
        &["--config"],
        "edit /etc/joulepath/live.toml, or run `sudo joulepath live --config FILE`",
    ),
    ("off", &["--config"], "`sudo joulepath off` needs none"),
    ("off", &["--dry-run"], NO_DRY_RUN),
    ("live", &["--undo", "--dry-run"], NO_DRY_RUN),
];
const NO_DRY_RUN: &str = "there is no dry run: how much can be removed depends on the connections of that \
                          moment. It removes only what Joulepath has set, and cuts no connection";

/// What to do in place of the unknown command `word`, the first argument or one after `command`.
pub fn instead_of_command(command: &str, word: &str) -> Option<&'static str> {
    let is_daemon = command == word || command == "live";
    COMMANDS
        .iter()
        .find(|(words, _)| is_daemon && words.contains(&word))
        .map(|(_, tip)| *tip)
}

/// What to do in place of `wrong`, arguments that `command` does not have.
pub fn instead_of_argument(command: &str, wrong: &[String]) -> Option<&'static str> {
    let are_wrong = |words: &[&str]| {
        let mut words = words.iter();
        words.all(|word| wrong.iter().any(|one| one.split(' ').next() == Some(word)))
    };
    ARGUMENTS
        .iter()
        .find(|(of, words, _)| *of == command && are_wrong(words))
        .map(|(.., tip)| *tip)
}

/// The error of `compare` with the option that is wrong, and what to do about a policy that may be
/// an own controller. `duration`: `--duration` is given; `own`: there are own controllers.
pub fn of_compare(error: Error, duration: bool, own: bool) -> (Error, Option<String>) {
    let of_option = duration.then(|| ("duration".to_owned(), "--duration"));
    let error = error.overridden_by("--set", of_option.into_iter().collect());
    let is_unknown = error.to_string().starts_with("there is no policy");
    let help = error.help().filter(|_| is_unknown && !own);
    let help = help.map(|help| help + "; your own controller? Add `--cc mine.h`");
    (error, help)
}

/// An address; `localhost` is the IPv4 loopback address.
///
/// # Errors
/// The fix, if it is none.
pub fn local_address(text: &str) -> Result<SocketAddr, String> {
    let named = text.strip_prefix("localhost:");
    let numeric = named.map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let port = text.trim_start_matches(':').parse().unwrap_or(7077_u16);
    numeric
        .parse()
        .map_err(|_| format!("write an address and a port: 127.0.0.1:{port}"))
}

/// The system clock.
pub fn seconds_since_1970() -> u32 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u32::try_from(since.as_secs()).unwrap_or(u32::MAX)
}

/// `key=value`; the value may contain more equals signs.
///
/// # Errors
/// The fix, if a part is missing.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write a key, an equals sign and a value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_contain_equals_signs() {
        assert_eq!(
            key_value("a.b = x=y"),
            Ok(("a.b".to_owned(), "x=y".to_owned()))
        );
        assert!(key_value("a.b").is_err() && key_value("=1").is_err());
    }
}
