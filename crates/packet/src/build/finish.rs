//! Assembles the engine from its parts.

use joulepath_controllers::Capability;
use joulepath_link::cross::CrossSource;

use super::builder::Builder;
use crate::event::MAX_SOURCES;
use crate::event::sources::{Counts, Sources};
use crate::path::fabric::Fabric;
use crate::path::packet::L4S;
use crate::prefetch::pipeline::Pipeline;
use crate::run::config::Config;
use crate::run::engine::{Engine, Role};
use crate::run::error::RunError;
use crate::run::recorder::Recorder;
use crate::sender::owned;

impl Builder<'_> {
    /// Number of subflows with a departure timer: all or none.
    fn paced(&self) -> usize {
        let owns_window = self
            .connections
            .iter()
            .any(|connection| connection.sender.owns_window);
        if owns_window { self.subflows.len() } else { 0 }
    }

    /// The engine. Its first `unfinished` connections are under test.
    pub(super) fn finish(mut self, unfinished: usize) -> Result<Engine, RunError> {
        let scenario = self.scenario;
        let sources = Sources::new(&Counts {
            links: self.net.wires.len(),
            subflows: self.subflows.len(),
            connections: self.connections.len(),
            cross: scenario.cross.len(),
            channels: scenario.channels.len(),
            held: self.net.held.len(),
            paced: self.paced(),
        });
        if sources.count() > MAX_SOURCES {
            return Err(RunError::TooLarge {
                sources: sources.count(),
            });
        }
        for (i, channel) in self.net.channels.iter_mut().enumerate() {
            channel.source = sources.channel(i);
        }
        for (i, held) in self.net.held.iter_mut().enumerate() {
            held.source = sources.held(i);
        }
        for c in 0..self.connections.len() {
            let controller = self.connections[c].sender.controller;
            for sender in &mut self.senders[self.connections.subflows(c)] {
                sender.owned = owned(controller);
                if sender.ecn != 0 && controller.has(Capability::SendsEct1) {
                    sender.ecn |= L4S;
                }
            }
        }
        let cross = |(i, spec)| CrossSource::new(spec, self.seed, i as u64);
        let fabric = self.topology.zip(scenario.topology.as_ref());
        let mut engine = Engine {
            now_ns: 0,
            end_ns: scenario.duration.0,
            net: self.net,
            config: Config::new(&scenario.transport, sources),
            senders: self.senders,
            receivers: self.receivers,
            interfaces: self.interfaces,
            subflows: self.subflows,
            connections: self.connections,
            devices: self.devices,
            prefetched: Pipeline::EMPTY,
            role: Role::Whole,
            cross: scenario.cross.iter().enumerate().map(cross).collect(),
            recorder: Recorder::new(scenario, self.options.series),
            fabric: fabric.map(|(topology, spec)| Fabric::new(topology, spec)),
            unfinished,
            next_look: 0,
            #[cfg(test)]
            uses_fast_paths: true,
            #[cfg(test)]
            fast_path_hits: 0,
        };
        engine.schedule_start(scenario.warm_up);
        Ok(engine)
    }
}
