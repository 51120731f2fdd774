//! The first events of a run.

use joulepath_control::select::Use;
use joulepath_model::units::Nanos;

use crate::path::fabric;
use crate::run::engine::Engine;

/// When a connection's selector runs first, after the connection's start.
const FIRST_LOOK: Nanos = Nanos::from_millis(10);

impl Engine {
    /// Sets the timers of a run's first events.
    pub(super) fn schedule_start(&mut self, warm_up: Nanos) {
        for c in 0..self.connections.len() {
            self.select_first(c);
            self.schedule_connection(c);
        }
        let (queue, sources) = (&mut self.net.queue, &self.config.sources);
        for (i, cross) in self.cross.iter().enumerate() {
            if let Some(at_ns) = cross.next_ns() {
                queue.push(at_ns, sources.cross(i));
            }
        }
        if warm_up > Nanos::ZERO {
            queue.push(warm_up.0, sources.warm_up());
        }
        if self.fabric.is_some() {
            queue.push(warm_up.0 + fabric::TICK.0, sources.fabric());
        }
        if let Some(at_ns) = self.net.tallies.next_ns() {
            queue.push(at_ns, sources.queues());
        }
        if let Some(at_ns) = self.recorder.first_ns() {
            queue.push(at_ns, sources.sample());
        }
    }

    /// Decides which subflows open at the start. The first regular subflow carries MP_CAPABLE.
    fn select_first(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        let Some(selection) = &mut connection.selection else {
            return;
        };
        let uses = selection.start(connection.sender.writer.workload(), &self.config);
        let first = connection.first as usize;
        for (i, &wanted) in uses.iter().enumerate() {
            self.subflows[first + i].wanted = wanted != Use::Closed;
            connection.sender.views[i].backup = wanted == Use::Backup;
        }
        connection.opener = Some(
            uses.iter()
                .position(|&wanted| wanted == Use::Regular)
                .unwrap_or(0),
        );
    }

    /// Sets the timers of one connection: opening of the first subflow, control plane, selector.
    fn schedule_connection(&mut self, c: usize) {
        let connection = &mut self.connections[c];
        let (queue, sources) = (&mut self.net.queue, &self.config.sources);
        let at_ns = connection.starts_at_ns;
        let s = connection.first as usize + connection.opener.unwrap_or(0);
        self.senders[s].timer.set(
            at_ns.max(self.subflows[s].opens_at_ns),
            sources.rto(s),
            queue,
        );
        if let Some(period) = connection.control.period() {
            connection
                .control_timer
                .set(at_ns + period.0, sources.control(c), queue);
        }
        if connection.control.slots.is_some() {
            connection.slot_timer.set(at_ns, sources.slot(c), queue);
        }
        if connection.selection.is_some() {
            connection
                .look_timer
                .set(at_ns + FIRST_LOOK.0, sources.look(c), queue);
        }
    }
}
