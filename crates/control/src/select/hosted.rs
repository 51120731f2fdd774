//! Selectors that the host program implements, for example as classes of an interpreter.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::snapshot::Snapshot;
use super::uses::Uses;
use crate::adopted::{Adopted, Hooked, Host};
use crate::options::{OptionError, PartInfo};

/// A hosted selector's state and code for one connection.
pub trait SelectorHooks: Send {
    /// The wanted use of the paths. The first call is before the connection opens, with every path
    /// closed.
    fn want(&mut self, snapshot: &Snapshot) -> Uses;
}

/// Creates the hooks of a connection with paths of these names; without names while they are
/// unknown.
pub type OpenSelector = Box<dyn Fn(&[&str]) -> Box<dyn SelectorHooks> + Send + Sync>;

/// Definition of a hosted selector.
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
    /// Registers a selector under its name, to be called once in `period`. A built-in selector
    /// keeps its name; an earlier hosted one is replaced for later look-ups. It is never freed.
    pub fn adopt(name: &str, summary: &str, period: Nanos, open: OpenSelector) {
        ADOPTED.add(SelectorHost {
            info: PartInfo::hosted(name, summary),
            period,
            open,
        });
    }
}

pub(super) fn find(name: &str) -> Option<&'static SelectorHost> {
    ADOPTED.find(name)
}

/// A hosted selector in one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    part: Hooked<SelectorHost>,
    /// Names of the connection's paths; empty while they are unknown.
    names: Vec<String>,
}

impl Hosted {
    pub(super) fn of(host: &'static SelectorHost, names: &[&str]) -> Self {
        Hosted {
            part: Hooked::of(host),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    pub(super) fn want(&mut self, snapshot: &Snapshot) -> Uses {
        let names = &self.names;
        let open = |host: &SelectorHost| {
            (host.open)(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        self.part.hooks(open).want(snapshot)
    }

    pub(super) fn period(&self, _snapshot: &Snapshot) -> Nanos {
        self.part.host.period
    }

    pub(super) fn groups(&self) -> [u8; MAX_SUBFLOWS] {
        [0; MAX_SUBFLOWS]
    }

    pub(super) fn set(&self, option: &str, _: &str, _: Option<&[&str]>) -> Result<(), OptionError> {
        Err(OptionError::unknown_option(
            self.part.host.info.name,
            option,
            self.part.host.info.options,
        ))
    }
}
