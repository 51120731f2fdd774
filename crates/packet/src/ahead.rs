//! Reading ahead in large networks, whose state is far larger than the processor's caches.
//!
//! The timing wheel knows the next few events. What each of them will touch is found step by step, each step
//! one event after the step before, so that no step waits for memory:
//!
//! ```text
//!   events ahead     5                 3                 2                     1
//!                    the link ───────► its first ──────► the next link ──────► the queue's decisive slot;
//!                                      packet            or the subflow's end  the connection
//! ```
//! What is only written is not asked for: nothing waits for it. This only brings memory nearer. What an event
//! does is decided when its turn comes.

use crate::coming::{Ahead, Goal};
use crate::engine::Engine;
use crate::packet::{Heading, Packet};
use crate::prefetch::{prefetch, prefetch_lines};

/// Cache lines that every ACK touches at a sending end.
const SENDER_LINES: usize = 5;

impl Engine {
    /// Asks for the memory that the events after the present one need. Where there is a choice, both are
    /// found and one is taken: a branch would be mispredicted, since nothing tells of the next packets
    /// whether they arrive.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self) {
        let Some(due) = self.net.queue.due() else { return };
        self.net.prefetch_wire(due, 5);
        let heading = self.net.first_of(due, 3).map_or(Heading::NONE, Packet::heading);
        let goal = self.goal_of(self.ahead.heading);
        let Goal { heading: Heading { subflow, .. }, hop } = self.ahead.goal;
        if !self.ahead.goal.heading.arrives() {
            self.net.prefetch_reads(hop, subflow);
        } else if self.ahead.goal.heading.is_ack() {
            self.prefetch_sending(subflow);
        } else {
            self.prefetch_receiving(subflow);
        }
        self.ahead = Ahead { heading, goal };
    }

    /// What a packet enters after its present link: asks for the first lines of that link, or of that end of
    /// the subflow.
    #[inline(always)]
    fn goal_of(&self, heading: Heading) -> Goal {
        let s = heading.subflow as usize;
        let hop = self.net.routes.near(heading);
        let link = self.net.address_of_link(hop).cast::<u8>();
        let end = if heading.is_ack() {
            self.senders.address(s).cast::<u8>()
        } else {
            self.receivers.address(s).cast::<u8>()
        };
        let place = if heading.arrives() { end } else { link };
        prefetch_lines(place.cast::<[u64; 16]>(), 2);
        Goal { heading, hop }
    }

    #[inline(always)]
    fn prefetch_receiving(&self, s: u32) {
        if let Some(receiver) = self.receivers.get(s as usize) {
            prefetch_lines(self.interfaces.address(s as usize), 1);
            let (end, reader) = self.connections.addresses_of_receiving(receiver.id.connection as usize);
            prefetch_lines(end, 1);
            prefetch_lines(reader, 1);
            self.net.prefetch_reads(receiver.first_hop, s);
        }
    }

    #[inline(always)]
    fn prefetch_sending(&self, s: u32) {
        if let Some(sender) = self.senders.get(s as usize) {
            prefetch_lines(sender, SENDER_LINES);
            prefetch_lines(self.interfaces.address(s as usize), 1);
            let end = self.connections.sending_at(sender.id.connection as usize);
            prefetch_lines(&end.cc.subflows[sender.id.index()], 2);
            prefetch(&end.views[sender.id.index()]);
            prefetch_lines(end, 2);
            prefetch(&end.writer);
            self.net.prefetch_reads(sender.first_hop, s);
        }
    }
}
