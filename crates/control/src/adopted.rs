//! Parts that the host program adds by name, next to the built-in registries.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::options::PartInfo;

/// Definition of a part of the host program.
pub(crate) trait Host: Sized + 'static {
    /// The part's state and code for one connection.
    type Hooks: ?Sized;

    /// Its description.
    fn info(&self) -> &PartInfo;
}

/// Parts added while the program runs, the latest of each name.
pub(crate) struct Adopted<H: 'static>(RwLock<Vec<&'static H>>);

impl<H: Host> Adopted<H> {
    pub(crate) const fn new() -> Self {
        Adopted(RwLock::new(Vec::new()))
    }

    /// Adds a part, which is never freed; it replaces an earlier part of the same name.
    pub(crate) fn add(&self, part: H) {
        let part: &'static H = Box::leak(Box::new(part));
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| other.info().name != part.info().name);
        all.push(part);
    }

    pub(crate) fn find(&self, name: &str) -> Option<&'static H> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|part| part.info().name == name).copied()
    }
}

/// A part with its hooks for one connection, created at their first use. A clone starts without
/// hooks, because it serves a new connection.
pub(crate) struct Hooked<H: Host> {
    pub(crate) host: &'static H,
    hooks: Option<Box<H::Hooks>>,
}

impl<H: Host> Hooked<H> {
    pub(crate) fn of(host: &'static H) -> Self {
        Hooked { host, hooks: None }
    }

    /// The hooks; `open` creates them at the first call.
    pub(crate) fn hooks(&mut self, open: impl FnOnce(&H) -> Box<H::Hooks>) -> &mut H::Hooks {
        self.hooks.get_or_insert_with(|| open(self.host))
    }
}

impl<H: Host> Clone for Hooked<H> {
    fn clone(&self) -> Self {
        Self::of(self.host)
    }
}

impl<H: Host> PartialEq for Hooked<H> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.host, other.host)
    }
}

impl<H: Host> fmt::Debug for Hooked<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooked({})", self.host.info().name)
    }
}
