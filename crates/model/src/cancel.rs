//! A wish to stop, shared between whoever may have it and whoever works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A token that many hold and any may set. Work that lasts looks at it several times a second, stops when it
/// is set, and says so by an error; what is finished stays finished. Copies share one flag; the default is
/// never set by anybody else.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<AtomicBool>>,
}

impl Cancel {
    /// One that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that is set when this one is, or by itself: it ends one piece of the work and nothing else. Of a
    /// child there is no child: it has the same parent.
    #[must_use]
    pub fn child(&self) -> Self {
        let parent = self.parent.as_ref().unwrap_or(&self.flag);
        Cancel { flag: Arc::default(), parent: Some(Arc::clone(parent)) }
    }

    /// Asks everybody who holds a copy to stop. May be called from a signal handler: it is one atomic store.
    pub fn set(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
            || self.parent.as_ref().is_some_and(|parent| parent.load(Ordering::Relaxed))
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
