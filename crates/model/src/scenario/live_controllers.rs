//! `[controllers]` in the daemon's configuration.

use std::collections::BTreeMap;

use super::declare::table;
use super::error::Problems;
use super::read::At;
use crate::live::Intent;

/// Longest name of a congestion controller (`TCP_CA_NAME_MAX` without the terminating zero), bytes.
const LONGEST_CONTROLLER: usize = 15;

table! {
    /// Congestion controller of new sockets in the network namespace under each intent of the
    /// machine, by its name in the kernel. Absent: the setting stays as the daemon found it.
    struct RawControllers in "[controllers]" {
        /// Under `frugal`.
        frugal: Option<At<String>>,
        /// Under `balanced`.
        balanced: Option<At<String>>,
        /// Under `fast`.
        fast: Option<At<String>>,
        /// Under `handover`.
        handover: Option<At<String>>,
        /// Under `interactive`.
        interactive: Option<At<String>>,
        /// Under `aggregate`.
        aggregate: Option<At<String>>,
        /// Under `overflow`.
        overflow: Option<At<String>>,
        /// Under `uninterrupted`.
        uninterrupted: Option<At<String>>,
    }
}

pub(super) fn controllers(
    raw: RawControllers,
    out: &mut Problems,
) -> Option<BTreeMap<Intent, String>> {
    let before = out.len();
    let written = [
        (Intent::Frugal, raw.frugal),
        (Intent::Balanced, raw.balanced),
        (Intent::Fast, raw.fast),
        (Intent::Handover, raw.handover),
        (Intent::Interactive, raw.interactive),
        (Intent::Aggregate, raw.aggregate),
        (Intent::Overflow, raw.overflow),
        (Intent::Uninterrupted, raw.uninterrupted),
    ];
    let mut controllers = BTreeMap::new();
    for (intent, name) in written {
        let Some(At { value, span }) = name else {
            continue;
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=LONGEST_CONTROLLER).contains(&value.len()) || !value.bytes().all(is_name) {
            let help = "write its name in the kernel, for example \"jp_joule\" (`joulepath cc \
                list`) or \"bbr\"";
            out.note_with_help(
                &span,
                format!("`{value}` cannot be the name of a congestion controller"),
                help,
            );
        }
        controllers.insert(intent, value);
    }
    (out.len() == before).then_some(controllers)
}
