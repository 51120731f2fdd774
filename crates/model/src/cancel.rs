//! Cancellation, shared between the threads that may request it and those that work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cancellation token. Long work polls it several times a second; once it is set, the work stops
/// and returns an error, and finished parts remain. Copies share one flag. The default token
/// belongs to nobody else, so it is never set.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<AtomicBool>>,
}

impl Cancel {
    /// A token that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is set together with this one, or alone: it can end one part of the work. A
    /// child of a child depends on the topmost token only.
    #[must_use]
    pub fn child(&self) -> Self {
        let parent = self.parent.as_ref().unwrap_or(&self.flag);
        Cancel {
            flag: Arc::default(),
            parent: Some(Arc::clone(parent)),
        }
    }

    /// Requests cancellation from all holders of a copy. Safe in a signal handler: it is one atomic
    /// store.
    pub fn set(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// True once cancellation was requested.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
            || self
                .parent
                .as_ref()
                .is_some_and(|parent| parent.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_one_flag() {
        let cancel = Cancel::new();
        let copy = cancel.clone();
        assert!(!copy.is_set());
        cancel.set();
        assert!(copy.is_set());
        assert!(!Cancel::new().is_set());
    }

    #[test]
    fn a_child_is_set_with_its_parent_or_alone() {
        let all = Cancel::new();
        let (one, other) = (all.child(), all.child());
        one.set();
        assert!(one.is_set() && !other.is_set() && !all.is_set());
        all.set();
        assert!(other.is_set() && other.clone().is_set());
    }
}
