//! Engines that run scenarios. An engine implements [`Engine`]; [`open`] finds it by name.
//!
//! Studies know no particular engine. A new engine is a module here, a variant of [`EngineName`]
//! and an arm of [`open`].

mod contract;
#[cfg(feature = "fluid")]
mod fluid;
#[cfg(feature = "kernel")]
mod kernel;
#[cfg(feature = "packet")]
mod packet;

pub use contract::{Engine, EngineOptions, RunError, Task};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Names of the engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum EngineName {
    /// Every segment, ACK, queue and timer, simulated.
    #[default]
    Packet,
    /// Differential equations: means only, one run of each policy.
    Fluid,
    /// This machine's MPTCP stack over emulated links, in real time. Needs root.
    Kernel,
}

impl TryFrom<String> for EngineName {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, String> {
        match name.as_str() {
            "packet" => Ok(EngineName::Packet),
            "fluid" => Ok(EngineName::Fluid),
            "kernel" => Ok(EngineName::Kernel),
            _ => Err(format!(
                "there is no engine `{name}`; the engines are kernel, packet and fluid"
            )),
        }
    }
}

/// Parses an engine. `live`, which is a command, is refused by name.
#[cfg(feature = "clap")]
pub fn parser() -> impl clap::builder::TypedValueParser<Value = EngineName> {
    use clap::ValueEnum;
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

    let shown = EngineName::value_variants()
        .iter()
        .filter_map(EngineName::to_possible_value);
    let names = shown.chain([PossibleValue::new("live").hide(true)]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "live" => Err("`joulepath live` manages real interfaces".to_owned()),
        name => EngineName::from_str(name, false),
    })
}

/// The engine called `name`.
///
/// # Errors
/// [`Error::Unsupported`] if this library was built without it, [`Error::Usage`] if `max_lateness`
/// is set for a simulation.
pub fn open(name: EngineName, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    if options.max_lateness.is_some() && name != EngineName::Kernel {
        return Err(Error::usage(
            "--max-lateness is for emulated links, which other engines do not have",
        )
        .with_help("leave it out, or add `--engine kernel`"));
    }
    match name {
        #[cfg(feature = "packet")]
        EngineName::Packet => Ok(Box::new(packet::Packet)),
        #[cfg(feature = "fluid")]
        EngineName::Fluid => Ok(Box::new(fluid::Fluid)),
        #[cfg(feature = "kernel")]
        EngineName::Kernel => Ok(Box::new(kernel::Kernel::new(options))),
        #[cfg(not(all(feature = "packet", feature = "fluid", feature = "kernel")))]
        missing => Err(without(missing)),
    }
}

/// The error for an engine that is missing from the build.
#[cfg(not(all(feature = "packet", feature = "fluid", feature = "kernel")))]
fn without(name: EngineName) -> Error {
    let (engine, help) = match name {
        EngineName::Packet => ("packet", "build it with the feature `packet`"),
        EngineName::Fluid => ("fluid", "`make build` builds one with it in target/release"),
        EngineName::Kernel => (
            "kernel",
            "on Linux `make build` installs what it needs and builds it in",
        ),
    };
    let message = format!("this joulepath was built without the {engine} engine");
    Error::Unsupported {
        message,
        help: help.to_owned(),
    }
}
