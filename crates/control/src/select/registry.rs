//! The selectors by name. A new selector needs a line here and a file in this folder.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::selector::PathSelector;
use super::snapshot::Snapshot;
use super::uses::{Action, Uses, differences};
use super::{emptcp, es, hosted, joule, overflow, pluntke, schedule, simple};
use crate::options::{self, OptionError, PartInfo};

/// Declares [`Selector`] and [`SELECTORS`], and dispatches each call.
macro_rules! selectors {
    (listed: { $($(#[$doc:meta])* $name:ident($selector:ty),)* }
     unlisted: { $($(#[$its_doc:meta])* $unlisted:ident($its:ty),)* }) => {
        selectors! { @all $($(#[$doc])* $name($selector),)* $($(#[$its_doc])* $unlisted($its),)* }

        const INFOS: &[PartInfo] = &[$(<$selector>::INFO,)*];

        impl Selector {
            fn new(name: &str) -> Option<Self> {
                $(if name == <$selector>::INFO.name {
                    return Some(Selector::$name(Box::default()));
                })*
                None
            }
        }
    };
    (@all $($(#[$doc:meta])* $name:ident($selector:ty),)*) => {
        /// A path selector with its state: one per connection. [`PathSelector`] documents the
        /// calls.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Selector {
            $($(#[$doc])* $name(Box<$selector>),)*
        }

        impl Selector {
            /// See [`PathSelector::want`].
            pub fn want(&mut self, snapshot: &Snapshot) -> Uses {
                match self { $(Selector::$name(one) => one.want(snapshot),)* }
            }

            /// See [`PathSelector::period`].
            pub fn period(&self, snapshot: &Snapshot) -> Nanos {
                match self { $(Selector::$name(one) => one.period(snapshot),)* }
            }

            /// See [`PathSelector::groups`].
            pub fn groups(&self) -> [u8; MAX_SUBFLOWS] {
                match self { $(Selector::$name(one) => one.groups(),)* }
            }

            fn set(&mut self, option: &str, value: &str, paths: Option<&[&str]>) -> Result<(), OptionError> {
                match self { $(Selector::$name(one) => one.set(option, value, paths),)* }
            }
        }
    };
}

selectors! {
    listed: {
        /// `single-best`: the cheapest path alone.
        SingleBest(simple::SingleBest),
        /// `only`: a fixed set of paths.
        Only(simple::Only),
        /// `schedule`: sets of paths by time.
        Schedule(schedule::Schedule),
        /// `backup`: one path, the others as backups.
        Backup(simple::Backup),
        /// `es-mptcp`: the set with the best objective of 001.
        Es(es::Es),
        /// `emptcp`: by regions of rates (Lim et al.).
        Emptcp(emptcp::Emptcp),
        /// `pluntke`: by a Markov decision process.
        Pluntke(pluntke::Pluntke),
        /// `overflow`: the next path when the cheaper ones are full.
        Overflow(overflow::Overflow),
        /// `quota`: a path with a data allowance.
        Quota(simple::Quota),
        /// `joule`: the set of paths with the fewest joules.
        Joule(joule::Joule),
    }
    unlisted: {
        /// A selector of the host program.
        Hosted(hosted::Hosted),
    }
}

/// Every selector that follows the traffic. `all` and `single:PATH` need no registry.
pub static SELECTORS: &[PartInfo] = INFOS;

fn info(name: &str) -> Result<&'static PartInfo, OptionError> {
    options::find("selector", SELECTORS, name)
        .or_else(|unknown| hosted::find(name).map(|host| &host.info).ok_or(unknown))
}

impl Selector {
    /// The actions for the wanted use. Paths open before others close.
    pub fn decide(&mut self, snapshot: &Snapshot) -> Vec<Action> {
        let uses = self.want(snapshot);
        differences(snapshot.paths, &uses)
    }
}

/// A selector by name with its options, not yet bound to the paths of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorSpec {
    /// Registered name.
    pub name: &'static str,
    /// Options in the order written.
    pub options: Vec<(String, String)>,
}

impl SelectorSpec {
    /// The selector called `name`, without options.
    ///
    /// # Errors
    /// An unknown name; the message names the nearest one.
    pub fn by_name(name: &str) -> Result<Self, OptionError> {
        Ok(SelectorSpec {
            name: info(name)?.name,
            options: vec![],
        })
    }

    /// The registry's description.
    pub fn info(&self) -> &'static PartInfo {
        info(self.name).expect("made by name")
    }

    /// True if the host program implements it.
    pub fn is_hosted(&self) -> bool {
        SELECTORS.iter().all(|info| info.name != self.name)
    }

    /// Checks the options, without the names of paths.
    ///
    /// # Errors
    /// An unknown option, or an invalid value.
    pub fn check(&self) -> Result<(), OptionError> {
        self.build(None).map(|_| ())
    }

    /// Builds the selector for a connection with paths of these names.
    ///
    /// # Errors
    /// An unknown option, an invalid value, or a path that the connection does not have.
    pub fn bind(&self, paths: &[&str]) -> Result<Selector, OptionError> {
        self.build(Some(paths))
    }

    fn build(&self, paths: Option<&[&str]>) -> Result<Selector, OptionError> {
        let info = self.info();
        let hosted = |host| {
            Selector::Hosted(Box::new(hosted::Hosted::of(
                host,
                paths.unwrap_or_default(),
            )))
        };
        let mut selector = Selector::new(self.name)
            .or_else(|| hosted::find(self.name).map(hosted))
            .expect("what has a row has a selector");
        for (option, value) in &self.options {
            if !info.options.contains(&option.as_str()) {
                return Err(OptionError::unknown_option(info.name, option, info.options));
            }
            selector.set(option, value, paths)?;
        }
        Ok(selector)
    }
}
