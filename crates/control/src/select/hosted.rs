//! Selectors of the program that holds this library, such as the classes of an interpreter.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::snapshot::Snapshot;
use super::uses::Uses;
use crate::adopted::{Adopted, Hooked, Host};
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

impl Host for SelectorHost {
    type Hooks = dyn SelectorHooks;

    fn info(&self) -> &PartInfo {
        &self.info
    }
}

static ADOPTED: Adopted<SelectorHost> = Adopted::new();

impl SelectorHost {
    /// Makes a selector known under its name, which looks once in `period`: one of ours keeps its name, an
    /// earlier one of this name is replaced for whoever asks from now on. It is never freed.
    pub fn adopt(name: &str, summary: &str, period: Nanos, open: OpenSelector) {
        ADOPTED.add(SelectorHost { info: PartInfo::hosted(name, summary), period, open });
    }
}

/// What is known of a hosted selector.
pub(super) fn find(name: &str) -> Option<&'static SelectorHost> {
    ADOPTED.find(name)
}

/// A hosted selector.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    part: Hooked<SelectorHost>,
    /// Of the connection's paths; none while they are not known.
    names: Vec<String>,
}

impl Hosted {
    pub(super) fn of(host: &'static SelectorHost, names: &[&str]) -> Self {
        Hosted { part: Hooked::of(host), names: names.iter().map(|&name| name.to_owned()).collect() }
    }

    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let names = &self.names;
        let open = |host: &SelectorHost| (host.open)(&names.iter().map(String::as_str).collect::<Vec<_>>());
        self.part.hooks(open).want(snapshot)
    }

    pub(super) fn period(&self, _snapshot: &Snapshot) -> Nanos {
        self.part.host.period
    }

    pub(super) fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        [0; MAX_SUBFLOWS]
    }

    pub(super) fn set(&self, option: &str, _: &str, _: Option<&[&str]>) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(self.part.host.info.name, option, self.part.host.info.options))
    }
}
