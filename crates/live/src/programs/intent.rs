//! An intent for one program: the program starts in a systemd scope, whose control group a rule of
//! the daemon's configuration gives the intent. The configuration decides which users may do that.

use std::env;
use std::process::{self, Command};

use joulepath_model::live::{Intent, fits};
use rustix::process::geteuid;

use crate::status::Status;

/// `joulepath run --` in a control group with an intent; the arguments are to be added.
///
/// # Errors
/// Why it cannot have the intent, and what to do.
pub fn scope(intent: Intent, daemon: crate::Result<Status>) -> Result<Command, String> {
    let status = daemon.map_err(|error| error.to_string())?;
    let unit = format!("joulepath-{}-{}.scope", intent.word(), process::id());
    admitted(&status, intent, &unit)?;
    if !std::path::Path::new("/run/systemd/system").is_dir() {
        return Err(
            "systemd does not run here, and only it can give a program a control group".into(),
        );
    }
    let words = words(unit, geteuid().is_root());
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(env::current_exe().unwrap_or_else(|_| "joulepath".into()))
        .args(["run", "--"]);
    Ok(command)
}

/// An error if the daemon has no rule that gives the unit this intent.
fn admitted(status: &Status, intent: Intent, unit: &str) -> Result<(), String> {
    let Some(steering) = &status.steering else {
        return Err(
            "the daemon treats all connections alike: set `pm = \"userspace\"` in its configuration".into()
        );
    };
    let matches = |rule: &str| {
        rule.strip_prefix("cgroup ")
            .is_some_and(|pattern| fits(pattern, unit))
    };
    match steering
        .rules
        .iter()
        .find(|one| matches(&one.rule))
        .map(|one| one.intent)
    {
        Some(found) if found == intent => Ok(()),
        Some(found) => Err(format!("a rule gives {unit} the intent {}", found.word())),
        None => Err(format!(
            "the daemon has no rule for it: add to its configuration a [[rule]] with cgroup = \
             \"joulepath-{word}-*\" and intent = \"{word}\"",
            word = intent.word()
        )),
    }
}

/// The words before a command that put it into the unit. `systemd-run` replaces itself with the
/// command; the environment, exit code and signals are the command's.
fn words(unit: String, is_root: bool) -> Vec<String> {
    let manager = if is_root { "--system" } else { "--user" };
    let words = [
        "systemd-run",
        manager,
        "--scope",
        "--quiet",
        "--collect",
        "--unit",
    ];
    words
        .into_iter()
        .map(str::to_owned)
        .chain([unit, "--".into()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::status::{RuleStatus, SteeringStatus};

    fn steering(rules: &[(&str, Intent)]) -> Status {
        let rule = |&(rule, intent): &(&str, Intent)| RuleStatus {
            rule: rule.into(),
            intent,
            tolerance_s: None,
            connections: 0,
            last: None,
            last_uid: None,
            interfaces: [].into(),
        };
        let rules = rules.iter().map(rule).collect();
        Status {
            steering: Some(SteeringStatus {
                rules,
                ..SteeringStatus::default()
            }),
            ..samples::status(vec![])
        }
    }

    #[test]
    fn a_rule_of_the_configuration_admits_the_intent() {
        let unit = "joulepath-aggregate-7.scope";
        let asked = |rules: &[_]| admitted(&steering(rules), Intent::Aggregate, unit);
        let pattern = "cgroup joulepath-aggregate-*";
        assert_eq!(
            asked(&[
                ("cgroup film.service", Intent::Off),
                (pattern, Intent::Aggregate)
            ]),
            Ok(())
        );
        assert!(
            asked(&[])
                .unwrap_err()
                .contains("cgroup = \"joulepath-aggregate-*\"")
        );
        // It needs a match of the program, too.
        assert!(
            asked(&[(
                "program curl, cgroup joulepath-aggregate-*",
                Intent::Aggregate
            )])
            .is_err()
        );
        // The first matching rule applies.
        let other = asked(&[
            ("cgroup joulepath-*", Intent::Frugal),
            (pattern, Intent::Aggregate),
        ]);
        assert!(other.unwrap_err().ends_with("the intent frugal"));
    }

    #[test]
    fn without_the_daemon_or_its_path_manager_the_reason_says_so() {
        let status = samples::status(vec![]);
        let error = scope(
            Intent::Frugal,
            Ok(Status {
                steering: None,
                ..status
            }),
        )
        .unwrap_err();
        assert!(error.contains("pm = \"userspace\""), "{error}");
        let none = crate::Error::Refused {
            what: "no daemon listens at /x".into(),
            remedy: String::new(),
        };
        assert_eq!(
            scope(Intent::Frugal, Err(none)).unwrap_err(),
            "no daemon listens at /x"
        );
    }

    #[test]
    fn root_asks_the_system_and_users_ask_their_own_systemd() {
        for (is_root, manager) in [(true, "--system"), (false, "--user")] {
            let words = words("joulepath-off-7.scope".into(), is_root).join(" ");
            let rest = "--scope --quiet --collect --unit joulepath-off-7.scope --";
            assert_eq!(words, format!("systemd-run {manager} {rest}"));
        }
    }
}
