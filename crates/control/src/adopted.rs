//! Parts of the program that holds this library, by name, beside the registries of ours.

use std::sync::{PoisonError, RwLock};

use crate::options::PartInfo;

/// Parts that were added while the program ran: the latest of each name.
pub(crate) struct Adopted<T: 'static>(RwLock<Vec<&'static T>>);

impl<T: 'static> Adopted<T> {
    pub(crate) const fn new() -> Self {
        Adopted(RwLock::new(Vec::new()))
    }

    /// Adds a part; an earlier one of its name is replaced.
    pub(crate) fn add(&self, part: &'static T, info: impl Fn(&T) -> &PartInfo) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| info(other).name != info(part).name);
        all.push(part);
    }

    /// The part of this name.
    pub(crate) fn find(&self, name: &str, info: impl Fn(&T) -> &PartInfo) -> Option<&'static T> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|part| info(part).name == name).copied()
    }
}
