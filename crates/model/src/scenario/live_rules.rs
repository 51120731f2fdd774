//! `[[rule]]` in the daemon's configuration: intents of some connections.

use super::declare::table;
use super::error::Problems;
use super::read::At;
use crate::live::{AddressRange, Intent, Rule};
use crate::units::Nanos;

table! {
    /// Intent of the connections that match all keys of this rule.
    struct RawRule in "[[rule]]" {
        /// Intent of the matching connections.
        intent: Intent,
        /// Under `frugal` and `handover`: how long their data may wait for a path that has failed
        /// before another one opens; absent: not at all.
        tolerance: Option<At<Nanos>>,
        /// Name of the program, or its path if it contains a `/`; `*` matches any characters.
        program: Option<At<String>>,
        /// Owner of the socket: a user name or number.
        user: Option<At<String>>,
        /// Path of the control group, or a part of it, such as a systemd unit; `*` matches any
        /// characters.
        cgroup: Option<At<String>>,
        /// Port of the other end.
        port: Option<At<u32>>,
        /// Address of the other end, or a prefix: `10.0.0.0/8`.
        remote: Option<At<String>>,
    }
}

/// Notes a tolerance that has no meaning.
pub(super) fn may_wait(intent: Intent, tolerance: Option<&At<Nanos>>, out: &mut Problems) {
    let Some(At { value, span }) = tolerance else {
        return;
    };
    if *value == Nanos::ZERO {
        out.note_with_help(
            span,
            "`tolerance` is 0 s",
            "write for example \"2 min\", or leave it out",
        );
    }
    if !intent.may_wait() {
        let message = format!(
            "`tolerance` has no meaning under `{}`, for which time counts",
            intent.word()
        );
        let help = "write intent = \"frugal\" or \"handover\" beside it, or leave `tolerance` out";
        out.note_with_help(span, message, help);
    }
}

pub(super) fn rule(written: At<RawRule>, out: &mut Problems) -> Option<Rule> {
    let At {
        value:
            RawRule {
                intent,
                tolerance,
                program,
                user,
                cgroup,
                port,
                remote,
            },
        span,
    } = written;
    let before = out.len();
    if [&program, &user, &cgroup, &remote]
        .iter()
        .all(|key| key.is_none())
        && port.is_none()
    {
        let help = "write for example program = \"ffmpeg\" or user = \"media\"; for all \
            connections set `intent` at the top of the file";
        out.note_with_help(&span, "the rule has no condition", help);
    }
    for key in [&program, &user, &cgroup]
        .into_iter()
        .flatten()
        .filter(|key| key.value.trim().is_empty())
    {
        out.note_with_help(
            &key.span,
            "the value is empty",
            "leave the key out if it does not matter",
        );
    }
    let port_number = port
        .as_ref()
        .and_then(|port| u16::try_from(port.value).ok())
        .filter(|&port| port != 0);
    if let (Some(port), None) = (&port, port_number) {
        out.note_with_help(
            &port.span,
            "the port must be 1 to 65535",
            "write for example 443",
        );
    }
    let range = remote
        .as_ref()
        .and_then(|remote| AddressRange::parse(&remote.value));
    if let (Some(remote), None) = (&remote, range) {
        let message = format!("`{}` is not an address", remote.value);
        out.note_with_help(
            &remote.span,
            message,
            "write for example \"192.0.2.0/24\" or \"2001:db8::7\"",
        );
    }
    may_wait(intent, tolerance.as_ref(), out);
    let text = |key: Option<At<String>>| key.map(|key| key.value);
    let (program, user, cgroup) = (text(program), text(user), text(cgroup));
    let tolerance = tolerance.map(|at| at.value);
    (out.len() == before).then_some(Rule {
        intent,
        tolerance,
        program,
        user,
        cgroup,
        port: port_number,
        remote: range,
    })
}
