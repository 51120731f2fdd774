//! The wanted role of an interface.

use std::collections::BTreeMap;

use super::decision::Role;
use crate::reason::Reason;

#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) role: Role,
    pub(super) reason: Reason,
    /// It must not carry more data: the change does not wait.
    pub(super) forced: bool,
    /// Data waits for it.
    pub(super) urgent: bool,
    /// As a backup it gets new subflows, so that data waiting on the old ones moves to other paths.
    pub(super) afresh: bool,
    /// It neither waits for the hold time nor delays later changes: its cause limits its own
    /// frequency.
    pub(super) exempt: bool,
    /// Its traffic may wait: it opens later, and at once only for connections that have no subflow
    /// left.
    pub(super) held_back: bool,
}

impl Want {
    pub(super) fn new(role: Role, reason: Reason) -> Self {
        Want {
            role,
            reason,
            forced: false,
            urgent: false,
            afresh: false,
            exempt: false,
            held_back: false,
        }
    }
}

/// Wanted roles by interface name.
pub(super) type Plan = BTreeMap<String, Want>;
