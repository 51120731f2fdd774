//! The packet engine: a discrete-event simulator of MPTCP.
//!
//! | module | what |
//! |---|---|
//! | `event` | event queue and lazy timers |
//! | `packet`, `network` | packets, rings, links, routes |
//! | `channel`, `relay` | shared channels, TCP relays |
//! | `scoreboard`, `rtt`, `sender`, `transmit` | the sending side of a subflow |
//! | `reassembly`, `receive`, `reception` | the receiving side |
//! | `connection`, `handshake`, `select` | data level; MP_CAPABLE and MP_JOIN; which paths |
//! | `application`, `control` | who writes, who tells prices |
//! | `build`, `engine`, `lane`, `measure` | from scenario to result |
//! | `fabric` | what the switches of a topology carry and burn |
//!
//! A run is single-threaded and deterministic: same scenario, policy and seed, same bytes of result, on any machine.

mod application;
mod build;
mod channel;
mod connection;
mod control;
mod engine;
mod event;
mod events;
mod fabric;
mod handshake;
mod lane;
mod measure;
mod network;
mod packet;
mod rack;
mod reassembly;
mod receive;
mod reception;
mod relay;
mod rtt;
mod scoreboard;
mod select;
mod sender;
mod subflow;
mod transmit;

use joulepath_control::OptionError;
use joulepath_control::allocate::{Allocator, Eemptcp, Infeasible, SoMptcpOptions};
use joulepath_control::policy::{PolicyParts, Selector};
use joulepath_control::schedule::Scheduler;
use joulepath_control::select::SelectorSpec;
use joulepath_controllers::{Controller, ParamError, UnknownController};
use joulepath_model::result::RunResult;
use joulepath_model::scenario::{PathIndex, Scenario};

/// A policy with its parts looked up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// As the user wrote it; goes into the result.
    pub policy: String,
    /// Congestion controller of every subflow.
    pub controller: Controller,
    /// Its parameters: name and value.
    pub controller_params: Vec<(String, String)>,
    /// Packet scheduler, as it is before the first packet.
    pub scheduler: Scheduler,
    /// Where the target shares come from.
    pub allocator: Option<Eemptcp>,
    /// Where the allotments of the scheduler `allotted` come from.
    pub slots: Option<SoMptcpOptions>,
    /// Chooses the paths; without it all of them are used.
    pub selector: Option<SelectorSpec>,
    /// Only this path is used.
    pub only_path: Option<PathIndex>,
    /// Subflows of each connection in a topology; none: as many as the topology says.
    pub subflows: Option<u32>,
}

impl Setup {
    /// A controller with its defaults and a scheduler, and nothing else; the policy's name is the controller's.
    pub fn plain(controller: Controller, scheduler: Scheduler) -> Self {
        Setup {
            policy: controller.name().to_owned(),
            controller,
            controller_params: vec![],
            scheduler,
            allocator: None,
            slots: None,
            selector: None,
            only_path: None,
            subflows: None,
        }
    }

    /// The setup of `policy`, made of `parts`: the controller and the scheduler that they name, and the path that a selector of a
    /// single path does.
    pub fn new(
        policy: &str,
        parts: PolicyParts,
        controller: Controller,
        scheduler: Scheduler,
        only_path: Option<PathIndex>,
    ) -> Self {
        let (allocator, slots) = match parts.allocator {
            Some(Allocator::Eemptcp(allocator)) => (Some(allocator), None),
            Some(Allocator::SoMptcp(options)) => (None, Some(options)),
            None => (None, None),
        };
        let selector = match parts.selector {
            Selector::Dynamic(selector) => Some(selector),
            Selector::All | Selector::Single(_) => None,
        };
        Setup {
            policy: policy.to_owned(),
            controller,
            controller_params: parts.cc_params,
            scheduler,
            allocator,
            slots,
            selector,
            only_path,
            subflows: parts.subflows,
        }
    }
}

/// What a run records besides its result.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Time series.
    pub series: bool,
}

/// Why a run cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The clock of the engine ends.
    #[error("the packet engine simulates at most 19.5 hours; shorten `duration`")]
    TooLong,
    /// The event queue numbers its sources with 18 bits.
    #[error("the network has {sources} event sources, more than the packet engine can number (262144)")]
    TooLarge {
        /// Links, timers and generators.
        sources: usize,
    },
    /// The selected path is not one of the connection's.
    #[error("connection `{connection}` does not use the path that the policy selects")]
    NoPath {
        /// Name of the group.
        connection: String,
    },
    /// A parameter that the controller does not have, or a value that it does not take.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// A competitor's controller.
    #[error(transparent)]
    Controller(#[from] UnknownController),
    /// An option of the selector.
    #[error(transparent)]
    Selector(#[from] OptionError),
    /// The allocator's problem has no solution.
    #[error(transparent)]
    Allocation(#[from] Infeasible),
}

/// Runs `scenario` under one policy with one seed.
///
/// # Errors
/// If the scenario is out of the engine's bounds, or the policy does not fit the scenario.
pub fn run(
    scenario: &Scenario,
    setup: &Setup,
    seed: u64,
    options: RunOptions,
) -> Result<RunResult, RunError> {
    let mut engine = build::build(scenario, setup, seed, options)?;
    engine.run();
    Ok(engine.result(scenario, &setup.policy, seed))
}
