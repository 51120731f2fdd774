//! Engines as the command line names them.

use joulepath_model::units::Nanos;
use joulepath_study::engine::{self, EngineName, EngineOptions};

use crate::cli::Engine;
use crate::failure::{Exit, Failure};

/// The engine called `engine`; `max_lateness` is how late its emulated links may be, if not its own bound.
/// In real time it does one run after the other.
///
/// # Errors
/// If this version or this machine has no such engine, or if an engine without a clock is to keep time.
pub(crate) fn open(engine: Engine, max_lateness: Option<Nanos>) -> Result<Box<dyn engine::Engine>, Failure> {
    open_for(engine, EngineOptions { max_lateness, ..EngineOptions::default() })
}

/// As [`open`], with all that an engine can be told.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_for(engine: Engine, options: EngineOptions) -> Result<Box<dyn engine::Engine>, Failure> {
    let name = match engine {
        Engine::Packet => EngineName::Packet,
        Engine::Fluid => EngineName::Fluid,
        Engine::Kernel => EngineName::Kernel,
        Engine::Live => {
            return Err(Failure::message(Exit::Unsupported, "this version has no live engine")
                .help("use `--engine packet`"));
        }
    };
    Ok(engine::open(name, &options)?)
}
