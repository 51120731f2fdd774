//! The record of `cc` on disk: earlier defaults of namespaces, and unfinished operations.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::pins::PREFIX;
use crate::error::Result;
use crate::namespace::Cookie;
use crate::state::State;

/// Name of the record.
const NAME: &str = "cc";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Namespaces whose default we have set.
    defaults: BTreeMap<Cookie, Remembered>,
    /// When each controller was last loaded: ns of the boot clock.
    pub(super) loads: BTreeMap<String, u64>,
    /// The current operation. Written before its first change and cleared after its last.
    pub(super) doing: Option<Doing>,
}

/// A default that we have set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    /// The default before the first change.
    before: String,
    /// The default that we set.
    set: String,
}

/// An operation of several steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Doing {
    /// Loading a controller.
    Load {
        /// Its name in the kernel.
        name: String,
        /// Time of the load, ns of the boot clock.
        loaded_ns: u64,
    },
    /// Replacing a load of a controller by another.
    Replace {
        /// Its name in the kernel.
        name: String,
        /// Id of the map with the operations of the replaced load.
        from_map: u32,
        /// Time of the new load, ns of the boot clock.
        loaded_ns: u64,
    },
    /// Unloading a controller.
    Unload {
        /// Its name in the kernel.
        name: String,
    },
}

impl Doing {
    /// Kernel name of the controller.
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

    /// Records that the default of a namespace changes from `before` to `set`; `seen` as in
    /// [`Self::before`].
    pub(super) fn remember(&mut self, namespace: Cookie, before: &str, set: &str, seen: &[Cookie]) {
        // If we have set `before`, or it is one of our controllers, the original default is the
        // recorded one, if any.
        let origin = self.before(namespace, before, seen);
        let origin = origin.or_else(|| (!before.starts_with(PREFIX)).then(|| before.to_owned()));
        match origin {
            Some(before) => {
                let remembered = Remembered {
                    before,
                    set: set.to_owned(),
                };
                self.defaults.insert(namespace, remembered);
            }
            None => {
                self.defaults.remove(&namespace);
            }
        }
    }

    /// The default to restore in a namespace whose default is `now`. `None` if it is unknown, or if
    /// `now` is no controller of ours and we have not set it here. A namespace that has no record
    /// inherited its default from another namespace when it was created. Only namespaces in `seen`
    /// count as its origin: records of namespaces that are gone or hidden say nothing about others.
    pub(super) fn before(&self, namespace: Cookie, now: &str, seen: &[Cookie]) -> Option<String> {
        let own = self.defaults.get(&namespace);
        if !now.starts_with(PREFIX) {
            let set = own.filter(|own| own.set == now);
            return set.map(|own| own.before.clone());
        }
        let others = || {
            self.defaults
                .iter()
                .filter(|(cookie, _)| seen.contains(cookie))
        };
        let from = own.or_else(|| {
            others()
                .map(|(_, other)| other)
                .find(|other| other.set == now)
        });
        // Otherwise the origin's default may have changed since then.
        let from = from.or_else(|| others().map(|(_, other)| other).next());
        from.map(|remembered| remembered.before.clone())
    }

    /// Forgets a namespace.
    pub(super) fn forget(&mut self, namespace: Cookie) {
        self.defaults.remove(&namespace);
    }

    /// Removes the records of namespaces that are not in `seen`, except the `unseen` youngest,
    /// which may be hidden. A namespace that is gone never returns: the kernel counts cookies up.
    pub(super) fn keep_only(&mut self, seen: &[Cookie], unseen: usize) {
        let others = self
            .defaults
            .keys()
            .rev()
            .filter(|cookie| !seen.contains(cookie));
        let kept: BTreeSet<Cookie> = others.take(unseen).copied().collect();
        self.defaults
            .retain(|cookie, _| seen.contains(cookie) || kept.contains(cookie));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Cookie = Cookie(1);
    const THERE: Cookie = Cookie(2);
    const BOTH: [Cookie; 2] = [HERE, THERE];

    #[test]
    fn the_first_default_is_restored_and_not_a_later_one() {
        let mut journal = Journal::default();
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        journal.remember(HERE, "jp_lia", "jp_olia", &[]);
        assert_eq!(journal.before(HERE, "jp_olia", &[]).as_deref(), Some("bbr"));
    }

    #[test]
    fn the_default_before_one_of_the_kernels_is_restored() {
        let mut journal = Journal::default();
        journal.remember(HERE, "bbr", "reno", &[]);
        journal.remember(HERE, "reno", "reno", &[]);
        journal.remember(HERE, "reno", "cubic", &[]);
        assert_eq!(journal.before(HERE, "cubic", &[]).as_deref(), Some("bbr"));
        assert_eq!(journal.before(HERE, "reno", &[]), None);
        assert_eq!(journal.before(THERE, "cubic", &BOTH), None);
    }

    #[test]
    fn a_default_that_the_user_sets_stays() {
        let mut journal = Journal::default();
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        // The user has set cubic, so there is nothing to restore.
        assert_eq!(journal.before(HERE, "cubic", &[]), None);
        journal.remember(HERE, "cubic", "jp_olia", &[]);
        assert_eq!(
            journal.before(HERE, "jp_olia", &[]).as_deref(),
            Some("cubic")
        );
    }

    #[test]
    fn a_namespace_that_inherited_its_default_gets_the_origins_earlier_one() {
        let mut journal = Journal::default();
        assert_eq!(journal.before(THERE, "jp_lia", &BOTH), None);
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        assert_eq!(
            journal.before(THERE, "jp_lia", &BOTH).as_deref(),
            Some("bbr")
        );
        // The record of a namespace that is gone does not count.
        assert_eq!(journal.before(THERE, "jp_lia", &[THERE]), None);
        // The same after the default is set again in the other namespace.
        journal.remember(THERE, "jp_lia", "jp_olia", &BOTH);
        journal.forget(HERE);
        assert_eq!(
            journal.before(THERE, "jp_olia", &BOTH).as_deref(),
            Some("bbr")
        );
        journal.keep_only(&[HERE], 0);
        assert_eq!(journal.before(THERE, "jp_olia", &BOTH), None);
    }

    #[test]
    fn the_youngest_unseen_namespaces_stay_recorded() {
        let mut journal = Journal::default();
        (1..=9).for_each(|cookie| journal.remember(Cookie(cookie), "bbr", "jp_lia", &[]));
        journal.keep_only(&[Cookie(2), Cookie(8)], 3);
        let kept: Vec<u64> = journal.defaults.keys().map(|cookie| cookie.0).collect();
        assert_eq!(kept, [2, 6, 7, 8, 9]);
        journal.keep_only(&[Cookie(2)], 0);
        assert_eq!(journal.defaults.len(), 1);
    }

    #[test]
    fn the_journal_is_unchanged_after_json() {
        let mut journal = Journal {
            doing: Some(Doing::Unload {
                name: "jp_lia".into(),
            }),
            ..Journal::default()
        };
        journal.remember(HERE, "bbr", "jp_lia", &[]);
        journal.loads.insert("jp_lia".into(), 7);
        let text = serde_json::to_string(&journal).unwrap();
        assert_eq!(serde_json::from_str::<Journal>(&text).unwrap(), journal);
    }
}
