//! A connection under test during the build.

use joulepath_control::select::PathEnergy;
use joulepath_model::scenario::{ConnectionGroup, PathIndex, PathSpec};
use joulepath_topology::Path;

pub(super) struct Tested<'a> {
    pub(super) group: &'a ConnectionGroup,
    /// The path of each subflow.
    pub(super) paths: Vec<Path>,
    /// The specification of each subflow's path.
    pub(super) specs: Vec<&'a PathSpec>,
    pub(super) energies: Vec<PathEnergy>,
    pub(super) starts_at_ns: u64,
}

impl Tested<'_> {
    /// The scenario's path index of each subflow.
    pub(super) fn indices(&self) -> impl Iterator<Item = PathIndex> + '_ {
        self.paths.iter().map(|path| path.interface)
    }
}
