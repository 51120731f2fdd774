//! The selectors by name. A new one is a line here and a file beside this one.

use joulepath_controllers::MAX_SUBFLOWS;
use joulepath_model::units::Nanos;

use super::selector::PathSelector;
use super::snapshot::Snapshot;
use super::uses::{Action, Uses, differences};
use super::{emptcp, es, hosted, joule, overflow, pluntke, simple};
use crate::options::{self, OptionError, PartInfo};

/// Declares [`Selector`] and [`SELECTORS`], and hands each call to the selector that is meant.
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
        /// A path selector with its state: one per connection. [`PathSelector`] says what each call means.
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
        /// `quota`: a path that may carry so many bytes.
        Quota(simple::Quota),
        /// `joule`: the set of paths with the fewest joules.
        Joule(joule::Joule),
    }
    unlisted: {
        /// One of the program that holds this library.
        Hosted(hosted::Hosted),
    }
}

/// Every selector that follows the traffic. `all` and `single:PATH` need no registry.
pub static SELECTORS: &[PartInfo] = INFOS;

/// What is known of a selector.
fn info(name: &str) -> Result<&'static PartInfo, OptionError> {
    options::find("selector", SELECTORS, name)
        .or_else(|unknown| hosted::find(name).map(|host| &host.info).ok_or(unknown))
}

impl Selector {
    /// What has to be done for it, cheapest acts last: paths open before others close.
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
    /// In the order written.
    pub options: Vec<(String, String)>,
}

impl SelectorSpec {
    /// The selector called `name`, without options.
    ///
    /// # Errors
    /// An unknown name; the message says which one is near.
    pub fn by_name(name: &str) -> Result<Self, OptionError> {
        Ok(SelectorSpec { name: info(name)?.name, options: vec![] })
    }

    /// What the registry says of it.
    pub fn info(&self) -> &'static PartInfo {
        info(self.name).expect("made by name")
    }

    /// Whether it belongs to the program that holds this library.
    pub fn is_hosted(&self) -> bool {
        SELECTORS.iter().all(|info| info.name != self.name)
    }

    /// Whether the options fit. Names of paths are taken as they are.
    ///
    /// # Errors
    /// An unknown option, or a value that does not fit.
    pub fn check(&self) -> Result<(), OptionError> {
        self.build(None).map(|_| ())
    }

    /// For a connection with paths of these names.
    ///
    /// # Errors
    /// An unknown option, a value that does not fit, or a path that the connection does not have.
    pub fn bind(&self, paths: &[&str]) -> Result<Selector, OptionError> {
        self.build(Some(paths))
    }

    fn build(&self, paths: Option<&[&str]>) -> Result<Selector, OptionError> {
        let info = self.info();
        let hosted = |host| Selector::Hosted(Box::new(hosted::Hosted::of(host, paths.unwrap_or_default())));
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
