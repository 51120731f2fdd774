//! The interface of selectors.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::snapshot::Snapshot;
use super::uses::Uses;
use crate::options::{OptionError, PartInfo};

/// Default time between two decisions.
pub(super) const LOOK: Nanos = Nanos::from_millis(100);

/// A path selector with its state: one per connection. `default()` has the default options.
pub trait PathSelector: Default {
    /// Its registry entry: name, summary, options, source.
    const INFO: PartInfo;

    /// The wanted use of the paths. The first call is before the connection opens, with every path
    /// closed.
    fn want(&mut self, snapshot: &Snapshot) -> Uses;

    /// Time until its next decision.
    fn period(&self, snapshot: &Snapshot) -> Nanos;

    /// Groups of paths that may share a bottleneck: equal numbers other than 0. Controllers may
    /// couple their windows.
    fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        [0; MAX_SUBFLOWS]
    }

    /// Sets one of the options in [`Self::INFO`]. `paths` are the names of the connection's paths,
    /// or `None` while they are unknown: then names of paths are accepted unchecked.
    ///
    /// # Errors
    /// An invalid value, or a path that the connection does not have; the message names valid ones.
    fn set(
        &mut self,
        option: &str,
        _value: &str,
        _paths: Option<&[&str]>,
    ) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(
            Self::INFO.name,
            option,
            Self::INFO.options,
        ))
    }
}

/// The index of the path called `value`; `None` while the paths are unknown.
pub(super) fn path(
    option: &'static str,
    value: &str,
    paths: Option<&[&str]>,
) -> Result<Option<usize>, OptionError> {
    let Some(paths) = paths else { return Ok(None) };
    let place = paths.iter().position(|&path| path == value);
    let unknown = || OptionError::NoPath {
        option,
        value: value.to_owned(),
        known: paths.join(", "),
    };
    place.map(Some).ok_or_else(unknown)
}
