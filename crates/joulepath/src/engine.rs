//! Engines as the command line names them.

use joulepath_model::units::Nanos;
use joulepath_study::engine::{self, EngineName, EngineOptions};

use crate::cli::Engine;
use crate::failure::Failure;

/// Opens an engine. `max_lateness` replaces the bound on the lateness of emulated links.
///
/// # Errors
/// If this build or machine lacks the engine, or if a simulator gets a `max_lateness`.
pub(crate) fn open(
    engine: Engine,
    max_lateness: Option<Nanos>,
) -> Result<Box<dyn engine::Engine>, Failure> {
    open_for(
        engine,
        EngineOptions {
            max_lateness,
            ..EngineOptions::default()
        },
    )
}

/// As [`open`], with all options.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_for(
    engine: Engine,
    options: EngineOptions,
) -> Result<Box<dyn engine::Engine>, Failure> {
    let name = match engine {
        Engine::Packet => EngineName::Packet,
        Engine::Fluid => EngineName::Fluid,
        Engine::Kernel => EngineName::Kernel,
    };
    Ok(engine::open(name, &options)?)
}
