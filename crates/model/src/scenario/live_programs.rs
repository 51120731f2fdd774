//! `[[mptcp]]` in the daemon's configuration: programs whose TCP sockets become MPTCP.

use super::declare::table;
use super::error::Problems;
use super::read::At;
use crate::live::{Intent, OnMptcp, Programs};

/// Longest name of a unit (`UNIT_NAME_MAX`, src/basic/unit-def.h of systemd), bytes.
const LONGEST_UNIT: usize = 255;
const SERVICE: &str = ".service";

table! {
    /// Programs whose TCP sockets become MPTCP when systemd starts them: one of `unit`, `program`,
    /// `user` and `all`.
    struct RawOnMptcp in "[[mptcp]]" {
        /// Systemd service; `*` matches any characters.
        unit: Option<At<String>>,
        /// The services that start this program: its name, or its path if it contains a `/`; `*`
        /// matches any characters.
        program: Option<At<String>>,
        /// The services of this user, a name or a number, also those of the user's own systemd.
        user: Option<At<String>>,
        /// All services.
        all: Option<At<bool>>,
        /// With `pm = "userspace"`: intent of their connections; absent: the machine's.
        intent: Option<At<Intent>>,
    }
}

pub(super) fn on_mptcp(written: At<RawOnMptcp>, out: &mut Problems) -> Option<OnMptcp> {
    let At {
        value:
            RawOnMptcp {
                unit,
                program,
                user,
                all,
                intent,
            },
        span,
    } = written;
    let named = [&unit, &program, &user].into_iter().flatten().count() + usize::from(all.is_some());
    if named != 1 {
        let message = "[[mptcp]] needs exactly one of the keys `unit`, `program`, `user` and `all`";
        out.note_with_help(&span, message, "write for example unit = \"nginx\"");
        return None;
    }
    if let Some(key) = [&program, &user]
        .into_iter()
        .flatten()
        .find(|key| key.value.trim().is_empty())
    {
        out.note_with_help(
            &key.span,
            "the value is empty",
            "write for example \"curl\"",
        );
        return None;
    }
    let programs = match (unit, program, user) {
        (Some(written), ..) => Programs::Unit(service(&written, out)?),
        (_, Some(At { value, .. }), _) => Programs::Program(value),
        (.., Some(At { value, .. })) => Programs::User(value),
        _ => Programs::All,
    };
    if let Some(At { value: false, span }) = all {
        out.note_with_help(
            &span,
            "`all = false` names no program",
            "leave the entry out",
        );
        return None;
    }
    let intent_of_all = intent.as_ref().filter(|_| programs == Programs::All);
    if let Some(At { span, .. }) = intent_of_all {
        let help = "set `intent` at the top of the file";
        out.note_with_help(span, "the intent of all programs is the machine's", help);
        return None;
    }
    Some(OnMptcp {
        programs,
        intent: intent.map(|intent| intent.value),
    })
}

/// The full name of a service.
fn service(written: &At<String>, out: &mut Problems) -> Option<String> {
    let At { value, span } = written;
    if let Some(name) = value.strip_suffix(".socket") {
        let help = format!(
            "write unit = \"{name}\", and SocketProtocol=mptcp into the [Socket] section of {value} \
             (`systemctl edit {value}`)"
        );
        out.note_with_help(span, "systemd itself opens the sockets of this unit", help);
        return None;
    }
    let name = if value.ends_with(SERVICE) {
        value.clone()
    } else {
        format!("{value}{SERVICE}")
    };
    let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b":-_.\\@*".contains(&byte);
    if name.len() == SERVICE.len() || name.len() > LONGEST_UNIT || !name.bytes().all(is_of_a_name) {
        let message = format!("`{value}` cannot be the name of a systemd service");
        out.note_with_help(
            span,
            message,
            "write for example \"nginx.service\" (`systemctl list-units`)",
        );
        return None;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::read_live;
    use super::*;

    #[test]
    fn programs_are_named_by_unit_name_user_or_all_together() {
        let text = "intent = \"frugal\"\npm = \"userspace\"\n[[mptcp]]\nunit = \"nginx\"\n[[mptcp]]\n\
                    unit = \"a*.service\"\nintent = \"aggregate\"\n[[mptcp]]\nprogram = \"curl\"\n\
                    [[mptcp]]\nuser = \"ann\"\n[[mptcp]]\nall = true\n";
        let config = read_live(text).unwrap_or_else(|errors| panic!("{errors}"));
        let words: Vec<String> = config.mptcp.iter().map(OnMptcp::words).collect();
        assert_eq!(
            words,
            [
                "unit nginx.service",
                "unit a*.service",
                "program curl",
                "user ann",
                "all"
            ]
        );
        let rules: Vec<String> = config.all_rules().iter().map(|rule| rule.words()).collect();
        assert_eq!(rules, ["cgroup a*.service"]);
    }

    #[test]
    fn entries_that_name_nothing_are_errors_with_place_and_fix() {
        for (entry, message) in [
            ("", "2:1: [[mptcp]] needs exactly one of the keys"),
            (
                "unit = \"a\"\nuser = \"b\"",
                "needs exactly one of the keys",
            ),
            (
                "all = false",
                "3:7: `all = false` names no program; leave the entry out",
            ),
            ("program = \" \"", "3:11: the value is empty"),
            (
                "unit = \"\"",
                "3:8: `` cannot be the name of a systemd service",
            ),
            (
                "unit = \"../a\"",
                "`../a` cannot be the name of a systemd service",
            ),
            (
                "unit = \"ssh.socket\"",
                "write unit = \"ssh\", and SocketProtocol=mptcp",
            ),
        ] {
            let text = format!("intent = \"off\"\n[[mptcp]]\n{entry}\n");
            let errors = read_live(&text).expect_err(&text).to_string();
            assert!(errors.contains(message), "{text}: {errors}");
        }
        let all =
            "intent = \"off\"\npm = \"userspace\"\n[[mptcp]]\nall = true\nintent = \"frugal\"";
        assert!(
            read_live(all)
                .expect_err(all)
                .to_string()
                .contains("5:10: the intent of all programs is")
        );
    }
}
