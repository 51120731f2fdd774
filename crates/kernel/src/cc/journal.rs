//! What `cc` keeps on disk: what the defaults of namespaces were, and what was begun and not finished.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::pins::PREFIX;
use crate::error::Result;
use crate::namespace::Cookie;
use crate::state::State;

/// Its name in the folder of states.
const NAME: &str = "cc";

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Namespaces whose default was set here.
    defaults: BTreeMap<Cookie, Remembered>,
    /// When each controller was loaded last, by the boot clock, ns.
    pub(super) loads: BTreeMap<String, u64>,
    /// What was begun. Written before anything is changed, and struck out after.
    pub(super) doing: Option<Doing>,
}

/// A default that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    /// What it was before the first time.
    before: String,
    /// What it became.
    set: String,
}

/// Something that takes several steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Doing {
    /// A controller was being loaded.
    Load {
        /// Its name in the kernel.
        name: String,
        /// The load.
        loaded_ns: u64,
    },
    /// Another load was taking the place of one.
    Replace {
        /// Its name in the kernel.
        name: String,
        /// The map of its operations before.
        from_map: u32,
        /// The new load.
        loaded_ns: u64,
    },
    /// A controller was being unloaded.
    Unload {
        /// Its name in the kernel.
        name: String,
    },
}

impl Doing {
    /// The controller.
    pub(super) fn name(&self) -> &str {
        match self {
            Doing::Load { name, .. } | Doing::Replace { name, .. } | Doing::Unload { name } => name,
        }
    }
}

impl Journal {
    pub(super) fn read(state: &State) -> Result<Self> {
        Ok(state.read(NAME)?.unwrap_or_default())
    }

    pub(super) fn write(&self, state: &State) -> Result<()> {
        state.write(NAME, self)
    }

    /// Notes that the default of a namespace becomes `set`, and was `before`; `seen` as in [`Self::before`].
    pub(super) fn remember(&mut self, namespace: Cookie, before: &str, set: &str, seen: &[Cookie]) {
        // What was ours already has another origin, which is known or not.
        let origin = match before.starts_with(PREFIX) {
            true => self.before(namespace, before, seen),
            false => Some(before.to_owned()),
        };
        match origin {
            Some(before) => {
                let remembered = Remembered { before, set: set.to_owned() };
                self.defaults.insert(namespace, remembered);
            }
            None => {
                self.defaults.remove(&namespace);
            }
        }
    }

    /// What to put back in a namespace whose default is `now`; none if nothing is known, or if there is
    /// nothing to put back: its default is none of ours. A namespace in which nothing was set has taken its
    /// default from another when it was made. That is one of those that are `seen`: what is remembered of one
    /// that has gone, or that is hidden, tells nothing of others.
    pub(super) fn before(&self, namespace: Cookie, now: &str, seen: &[Cookie]) -> Option<String> {
        if !now.starts_with(PREFIX) {
            return None;
        }
        let own = self.defaults.get(&namespace);
        let others = || self.defaults.iter().filter(|(cookie, _)| seen.contains(cookie));
        let from = own.or_else(|| others().map(|(_, other)| other).find(|other| other.set == now));
        // It may have taken its default from one that has changed since.
        let from = from.or_else(|| others().map(|(_, other)| other).next());
        from.map(|remembered| remembered.before.clone())
    }

    /// Forgets a namespace.
    pub(super) fn forget(&mut self, namespace: Cookie) {
        self.defaults.remove(&namespace);
    }

    /// Forgets namespaces that are not `seen`, but the `unseen` youngest of them, which may be hidden.
    /// Those that are gone do not come again: the kernel counts cookies up.
    pub(super) fn keep_only(&mut self, seen: &[Cookie], unseen: usize) {
        let others = self.defaults.keys().rev().filter(|cookie| !seen.contains(cookie));
        let kept: BTreeSet<Cookie> = others.take(unseen).copied().collect();
        self.defaults.retain(|cookie, _| seen.contains(cookie) || kept.contains(cookie));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Cookie = Cookie(1);
    const THERE: Cookie = Cookie(2);
    const BOTH: [Cookie; 2] = [HERE, THERE];

    #[test]
    fn the_first_default_is_put_back_and_not_the_one_between() {
        let mut journal = Journal::default();
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        journal.remember(HERE, "jp_lia", "jp_olia", &[]);
        assert_eq!(journal.before(HERE, "jp_olia", &[]).as_deref(), Some("bbr"));
    }

    #[test]
    fn what_the_user_has_set_meanwhile_counts() {
        let mut journal = Journal::default();
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        // He has set cubic himself, and nothing is to be put back then.
        assert_eq!(journal.before(HERE, "cubic", &[]), None);
        journal.remember(HERE, "cubic", "jp_olia", &[]);
        assert_eq!(journal.before(HERE, "jp_olia", &[]).as_deref(), Some("cubic"));
    }

    #[test]
    fn a_namespace_that_took_its_default_from_another_gets_what_that_had() {
        let mut journal = Journal::default();
        assert_eq!(journal.before(THERE, "jp_lia", &BOTH), None);
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        assert_eq!(journal.before(THERE, "jp_lia", &BOTH).as_deref(), Some("bbr"));
        // Not what one had that has gone.
        assert_eq!(journal.before(THERE, "jp_lia", &[THERE]), None);
        // Also when it is set again there.
        journal.remember(THERE, "jp_lia", "jp_olia", &BOTH);
        journal.forget(HERE);
        assert_eq!(journal.before(THERE, "jp_olia", &BOTH).as_deref(), Some("bbr"));
        journal.keep_only(&[HERE], 0);
        assert_eq!(journal.before(THERE, "jp_olia", &BOTH), None);
    }

    #[test]
    fn of_namespaces_that_are_not_seen_the_youngest_are_remembered() {
        let mut journal = Journal::default();
        (1..=9).for_each(|cookie| journal.remember(Cookie(cookie), "bbr", "jp_lia", &[]));
        journal.keep_only(&[Cookie(2), Cookie(8)], 3);
        let kept: Vec<u64> = journal.defaults.keys().map(|cookie| cookie.0).collect();
        assert_eq!(kept, [2, 6, 7, 8, 9]);
        journal.keep_only(&[Cookie(2)], 0);
        assert_eq!(journal.defaults.len(), 1);
    }

    #[test]
    fn it_comes_back_from_its_text() {
        let mut journal =
            Journal { doing: Some(Doing::Unload { name: "jp_lia".into() }), ..Journal::default() };
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        journal.loads.insert("jp_lia".into(), 7);
        let text = serde_json::to_string(&journal).unwrap();
        assert_eq!(serde_json::from_str::<Journal>(&text).unwrap(), journal);
    }
}
