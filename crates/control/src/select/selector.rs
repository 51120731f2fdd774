//! What every selector has to answer.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::snapshot::Snapshot;
use super::uses::Uses;
use crate::options::{OptionError, PartInfo};

/// Time between two looks of selectors that have none of their own.
pub(super) const LOOK: Nanos = Nanos::from_millis(100);

/// A path selector with its state: one per connection. `default()` has the defaults of its options.
pub trait PathSelector: Default {
    /// Its row in the registry: name, summary, options, source.
    const INFO: PartInfo;

    /// How it wants the paths used. The first call comes before the connection opens, with every path closed.
    fn want(&mut self, snapshot: &Snapshot) -> Uses;

    /// When it wants to look again.
    fn period(&self, snapshot: &Snapshot) -> Nanos;

    /// Paths that are suspected to share a bottleneck: those with one number other than 0 do. Controllers may
    /// couple their windows.
    fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        [0; MAX_SUBFLOWS]
    }

    /// Sets one of the options that [`Self::INFO`] lists. `paths` are the names of the connection's paths, or
    /// `None` if they are not known yet: then names of paths are taken as they are.
    ///
    /// # Errors
    /// A value that does not fit, or a path that the connection does not have; the message says what would
    /// fit.
    fn set(&mut self, option: &str, _value: &str, _paths: Option<&[&str]>) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(Self::INFO.name, option, Self::INFO.options))
    }
}

/// The index of the path called `value`; none where the paths are not known yet.
pub(super) fn path(
    option: &'static str,
    value: &str,
    paths: Option<&[&str]>,
) -> Result<Option<usize>, OptionError> {
    let Some(paths) = paths else { return Ok(None) };
    let place = paths.iter().position(|&path| path == value);
    let unknown = || OptionError::NoPath { option, value: value.to_owned(), known: paths.join(", ") };
    place.map(Some).ok_or_else(unknown)
}
