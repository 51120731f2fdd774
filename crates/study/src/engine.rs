//! What runs a scenario. An engine is a type that implements [`Engine`]; [`open`] finds one by its name.
//!
//! Studies know no engine: a further one is a module here, a variant of [`EngineName`] and an arm of
//! [`open`].

mod contract;
#[cfg(feature = "fluid")]
mod fluid;
#[cfg(feature = "kernel")]
mod kernel;
#[cfg(feature = "packet")]
mod packet;

pub use contract::{Engine, EngineOptions, RunError, Task};

use crate::error::{Error, Result};

/// An engine by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// Every segment, ACK, queue and timer, simulated.
    Packet,
    /// The differential equations.
    Fluid,
    /// The machine's own MPTCP stack over emulated links, in real time.
    Kernel,
}

/// The engine called `name`.
///
/// # Errors
/// [`Error::Unsupported`] if this library was built without it, [`Error::Usage`] if an engine without a clock
/// is to keep time.
pub fn open(name: EngineName, options: &EngineOptions) -> Result<Box<dyn Engine>> {
    if options.max_lateness.is_some() && name != EngineName::Kernel {
        return Err(Error::usage("--max-lateness is for emulated links, which other engines do not have")
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

/// What to say where an engine was left out of the build.
#[cfg(not(all(feature = "packet", feature = "fluid", feature = "kernel")))]
fn without(name: EngineName) -> Error {
    let (engine, help) = match name {
        EngineName::Packet => ("packet", "build it with the feature `packet`"),
        EngineName::Fluid => ("fluid", "`make build` leaves one in target/release that has it"),
        EngineName::Kernel => ("kernel", "on Linux `make build` installs what it needs and builds it in"),
    };
    let message = format!("this joulepath was built without the {engine} engine");
    Error::Unsupported { message, help: help.to_owned() }
}
