//! A connection under test while it is being built.

use joulepath_control::select::PathEnergy;
use joulepath_model::scenario::{ConnectionGroup, PathIndex, PathSpec};
use joulepath_topology::Path;

/// A connection under test while it is being built.
pub(super) struct Tested<'a> {
    pub(super) group: &'a ConnectionGroup,
    /// The path of each subflow.
    pub(super) paths: Vec<Path>,
    /// The specification of the scenario's path of each subflow.
    pub(super) specs: Vec<&'a PathSpec>,
    pub(super) energies: Vec<PathEnergy>,
    pub(super) starts_at_ns: u64,
}

impl Tested<'_> {
    /// The index of the scenario's path of each subflow.
    pub(super) fn indices(&self) -> impl Iterator<Item = PathIndex> + '_ {
        self.paths.iter().map(|path| path.interface)
    }
}
