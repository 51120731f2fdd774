//! The stages of prefetching.
//!
//! The timing wheel knows the next few events. Each stage handles one of them, one event after the
//! previous stage, so that no stage waits for memory:
//!
//! ```text
//!   events ahead     5                 3                 2                     1
//!                    the link ───────► its first ──────► the next link ──────► the queue's decisive slot;
//!                                      packet            or the subflow's end  the connection
//! ```
//! Memory that is only written is not prefetched, because nothing waits for it.
//!
//! In a network of few links, the packets of many subflows follow each other on the same link:
//!
//! ```text
//!   packets after the first     4                        2
//!                               the subflow's end ─────► the connection
//! ```

use crate::event::Source;
use crate::path::packet::{Heading, Packet};
use crate::prefetch::hint::{prefetch, prefetch_lines};
use crate::prefetch::pipeline::{NextHop, Pipeline};
use crate::run::engine::Engine;

/// Cache lines that every ACK touches at a sender.
const SENDER_LINES: usize = 5;

/// With this many subflows, their state exceeds the caches of a core.
const CROWD: usize = 4096;

impl Engine {
    /// Prefetches what the next events need. Where a packet may need one of two addresses, a stage
    /// computes both and selects: a branch would be mispredicted, because nothing predicts which
    /// packets arrive.
    #[inline(always)]
    pub(crate) fn prefetch_next_events(&mut self) {
        let Some(due) = self.net.queue.due() else {
            return;
        };
        self.net.prefetch_wire(due, 5);
        let heading = self
            .net
            .first_of(due, 3)
            .map_or(Heading::NONE, Packet::heading);
        let next = self.next_hop_of(self.prefetched.heading);
        let NextHop {
            heading: entering,
            hop,
        } = self.prefetched.next;
        let subflow = entering.subflow;
        if !entering.arrives() {
            self.net.prefetch_reads(hop, subflow);
        } else if entering.is_ack() {
            self.prefetch_sending(subflow);
        } else {
            self.prefetch_receiving(subflow);
        }
        self.prefetched = Pipeline { heading, next };
    }

    /// Whether the subflows of a network of few links need prefetching.
    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.senders.len() >= CROWD
    }

    /// Prefetches what the next packets on a link need if they arrive there.
    #[inline(never)]
    pub(crate) fn prefetch_followers(&self, link: Source) {
        let far = self.net.after_first_on(link, 4).heading();
        if far.arrives() {
            prefetch_lines(self.address_of_end(far), 2);
        }
        let near = self.net.after_first_on(link, 2).heading();
        if near.arrives() && near.is_ack() {
            self.prefetch_sending(near.subflow);
        } else if near.arrives() {
            self.prefetch_receiving(near.subflow);
        }
    }

    /// The address of the end of the subflow that receives a packet.
    #[inline(always)]
    fn address_of_end(&self, heading: Heading) -> *const [u64; 16] {
        let s = heading.subflow as usize;
        if heading.is_ack() {
            self.senders.address(s).cast()
        } else {
            self.receivers.address(s).cast()
        }
    }

    /// Finds the hop that a packet enters after its present link. Prefetches the first lines of
    /// that link, or of the subflow's end if the packet arrives.
    #[inline(always)]
    fn next_hop_of(&self, heading: Heading) -> NextHop {
        let hop = self.net.routes.near(heading);
        let link = self.net.address_of_link(hop).cast();
        prefetch_lines(
            if heading.arrives() {
                self.address_of_end(heading)
            } else {
                link
            },
            2,
        );
        NextHop { heading, hop }
    }

    #[inline(always)]
    fn prefetch_receiving(&self, s: u32) {
        if let Some(receiver) = self.receivers.get(s as usize) {
            prefetch_lines(self.interfaces.address(s as usize), 1);
            let (end, reader) = self
                .connections
                .addresses_of_receiving(receiver.id.connection as usize);
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
