//! A wish to stop, shared between whoever may have it and whoever works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A token that many hold and any may set. Work that lasts looks at it several times a second, stops when it
/// is set, and says so by an error; what is finished stays finished. Copies share one flag; the default is
/// never set by anybody else.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
}

impl Cancel {
    /// One that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks everybody who holds a copy to stop. May be called from a signal handler: it is one atomic store.
    pub fn set(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
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
}
