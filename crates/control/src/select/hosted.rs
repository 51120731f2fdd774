//! Selectors of the program that holds this library, such as the classes of an interpreter.

use std::fmt;

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::snapshot::Snapshot;
use super::uses::Uses;
use crate::adopted::Adopted;
use crate::options::{OptionError, PartInfo};

/// What a hosted selector does for one connection.
pub trait SelectorHooks: Send {
    /// How it wants the paths used. The first call comes before the connection opens, with every path closed.
    fn want(&mut self, snapshot: &Snapshot) -> Uses;
}

/// Makes the hooks of a connection whose paths have these names; none while they are not known.
pub type OpenSelector = Box<dyn Fn(&[&str]) -> Box<dyn SelectorHooks> + Send + Sync>;

/// What a hosted selector is.
pub struct SelectorHost {
    pub(crate) info: PartInfo,
    pub(crate) period: Nanos,
    pub(crate) open: OpenSelector,
}

static ADOPTED: Adopted<SelectorHost> = Adopted::new();

impl SelectorHost {
    /// Makes a selector known under its name, which looks once in `period`: one of ours keeps its name, an
    /// earlier one of this name is replaced for whoever asks from now on. It is never freed.
    pub fn adopt(name: &str, summary: &str, period: Nanos, open: OpenSelector) {
        let info = PartInfo::hosted(name, summary);
        ADOPTED.add(Box::leak(Box::new(SelectorHost { info, period, open })), |host| &host.info);
    }
}

/// What is known of a hosted selector.
pub(super) fn find(name: &str) -> Option<&'static SelectorHost> {
    ADOPTED.find(name, |host| &host.info)
}

/// A hosted selector.
pub struct Hosted {
    host: &'static SelectorHost,
    names: Vec<String>,
    hooks: Option<Box<dyn SelectorHooks>>,
}

impl Hosted {
    pub(super) fn of(host: &'static SelectorHost, names: &[&str]) -> Self {
        Hosted { host, names: names.iter().map(|&name| name.to_owned()).collect(), hooks: None }
    }

    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let names = &self.names;
        let open = || (self.host.open)(&names.iter().map(String::as_str).collect::<Vec<_>>());
        self.hooks.get_or_insert_with(open).want(snapshot)
    }

    pub(super) fn period(&self, _snapshot: &Snapshot) -> Nanos {
        self.host.period
    }

    pub(super) fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        [0; MAX_SUBFLOWS]
    }

    pub(super) fn set(&self, option: &str, _: &str, _: Option<&[&str]>) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(self.host.info.name, option, self.host.info.options))
    }
}

impl Clone for Hosted {
    fn clone(&self) -> Self {
        Hosted { host: self.host, names: self.names.clone(), hooks: None }
    }
}

impl PartialEq for Hosted {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.host, other.host)
    }
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hosted({})", self.host.info.name)
    }
}
