//! What is wanted of interfaces.

use std::collections::BTreeMap;

use super::decision::Role;
use crate::reason::Reason;

/// How an interface should be used.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) role: Role,
    pub(super) reason: Reason,
    /// It must not carry more: nothing waits for that.
    pub(super) forced: bool,
    /// Data waits for it.
    pub(super) urgent: bool,
    /// As a backup it gets new subflows: what waits on the old ones travels on others then.
    pub(super) afresh: bool,
    /// It does not wait for the last change to be old enough, and delays no other one: what asks for it
    /// bounds by itself how often that is.
    pub(super) exempt: bool,
}

impl Want {
    pub(super) fn new(role: Role, reason: Reason) -> Self {
        Want { role, reason, forced: false, urgent: false, afresh: false, exempt: false }
    }
}

/// What is wanted, by name.
pub(super) type Plan = BTreeMap<String, Want>;
