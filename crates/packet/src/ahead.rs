//! Reading ahead in large networks, whose state is far larger than the processor's caches.
//!
//! The timing wheel has the events of the present microsecond in order. What each of them will touch is found
//! step by step, each step one event after the step before, so that no step waits for memory:
//!
//! ```text
//!   events ahead     5           4              3              2                     1
//!                    the link ─► its first ──► the packet's ─► the next link ─────► its last places;
//!                                packet        route           or the subflow's end  the connection
//! ```
//! This only brings memory nearer. What an event does is decided when its turn comes.

use crate::coming::{Ahead, Goal, Seen};
use crate::engine::Engine;
use crate::packet::Kind;
use crate::prefetch::{prefetch, prefetch_lines};

/// Cache lines that every ACK touches at a sending end.
const SENDER_LINES: usize = 5;

impl Engine {
    /// Asks for the memory that the events after the present one need.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self) {
        let Some(due) = self.net.queue.due() else { return };
        self.net.prefetch_wire(due, 5);
        if let Some(packet) = self.net.first_of(due, 4) {
            prefetch(packet);
        }
        let seen = self.net.first_of(due, 3).map_or(Ahead::NOTHING.packet, Seen::of);
        if !seen.arrives {
            self.net.prefetch_way(seen.subflow);
        }
        let goal = self.goal_of(self.ahead.packet);
        match goal {
            Goal::Unknown => {}
            Goal::Link(hop, _) => self.net.prefetch_link(hop),
            Goal::Receiver(s) => {
                prefetch_lines(self.receivers.address(s as usize), 1);
                prefetch_lines(self.interfaces.address(s as usize), 1);
            }
            Goal::Sender(s) => {
                prefetch_lines(self.senders.address(s as usize), SENDER_LINES);
                prefetch_lines(self.interfaces.address(s as usize), 1);
            }
        }
        match self.ahead.goal {
            Goal::Unknown => {}
            Goal::Link(hop, s) => self.net.prefetch_places(hop, s),
            Goal::Receiver(s) => self.prefetch_receiving(s),
            Goal::Sender(s) => self.prefetch_sending(s),
        }
        self.ahead = Ahead { packet: seen, goal };
    }

    /// What a packet enters after its present link.
    #[inline(always)]
    fn goal_of(&self, Seen { subflow, kind, arrives, hops }: Seen) -> Goal {
        let hop = match kind {
            Kind::Data if arrives => return Goal::Receiver(subflow),
            Kind::Ack if arrives => return Goal::Sender(subflow),
            Kind::Data => self.net.next_of_data(subflow, hops),
            Kind::Ack => self.net.next_of_ack(subflow, hops),
            _ => None,
        };
        hop.map_or(Goal::Unknown, |hop| Goal::Link(hop, subflow))
    }

    #[inline(always)]
    fn prefetch_receiving(&self, s: u32) {
        if let Some(receiver) = self.receivers.get(s as usize) {
            let (end, reader) = self.connections.addresses_of_receiving(receiver.id.connection as usize);
            prefetch_lines(end, 1);
            prefetch_lines(reader, 1);
            self.net.prefetch_places(receiver.first_hop, s);
        }
    }

    #[inline(always)]
    fn prefetch_sending(&self, s: u32) {
        if let Some(sender) = self.senders.get(s as usize) {
            let end = self.connections.sending_at(sender.id.connection as usize);
            prefetch_lines(&end.cc.subflows[sender.id.index()], 2);
            prefetch(&end.views[sender.id.index()]);
            prefetch_lines(end, 2);
            prefetch(&end.writer);
            self.net.prefetch_places(sender.first_hop, s);
        }
    }
}
