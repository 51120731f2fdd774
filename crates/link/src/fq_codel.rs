//! FQ-CoDel: flows are hashed to queues, deficit round robin serves the queues, and CoDel runs in
//! each of them (RFC 8290; Linux: `sch_fq_codel`).
//!
//! ```text
//!             first packet             quantum used, or empty
//!   (empty) ───────────────► new queues ───────────────► old queues ──► (empty)
//!                            served first                ▲         │ quantum used
//!                                                        └─────────┘
//! ```

use joulepath_model::aqm::FqCodelSpec;
use joulepath_model::random::Stream;

use crate::codel::{Codel, Head};
use crate::packets::{Fifo, NONE, Packets};

/// The queue of all flows with one hash.
#[derive(Clone, Copy, Debug)]
struct Flow {
    fifo: Fifo,
    codel: Codel,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// The next queue in its list.
    next: u32,
    /// True if it is in one of the lists.
    listed: bool,
}

/// A list of queues in the order of service.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// The queues of one link.
#[derive(Clone, Debug)]
pub(crate) struct FqCodel {
    spec: FqCodelSpec,
    /// Limit of packets in all queues.
    limit: u32,
    flows: Box<[Flow]>,
    new: List,
    old: List,
    /// Packets in all queues.
    packets: u32,
    bytes: u64,
    /// Key of the hash: another seed maps flows to other queues.
    perturbation: u64,
}

impl List {
    const EMPTY: Self = List {
        first: NONE,
        last: NONE,
    };

    fn push(&mut self, flow: u32, flows: &mut [Flow]) {
        flows[flow as usize].next = NONE;
        if self.first == NONE {
            self.first = flow;
        } else {
            flows[self.last as usize].next = flow;
        }
        self.last = flow;
    }

    fn pop(&mut self, flows: &[Flow]) {
        self.first = flows[self.first as usize].next;
    }
}

impl FqCodel {
    pub(crate) fn new(spec: FqCodelSpec, limit: u32, mut stream: Stream) -> Self {
        let empty = Flow {
            fifo: Fifo::EMPTY,
            codel: Codel::default(),
            deficit: 0,
            next: NONE,
            listed: false,
        };
        FqCodel {
            spec,
            limit,
            flows: vec![empty; spec.flows as usize].into(),
            new: List::EMPTY,
            old: List::EMPTY,
            packets: 0,
            bytes: 0,
            perturbation: stream.bits(),
        }
    }

    pub(crate) fn waiting(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Index of a flow's queue.
    fn queue_of(&self, flow: u64) -> u32 {
        // A 128-bit product, folded: each bit of the key affects both halves.
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(flow ^ self.perturbation) * u128::from(ODD);
        let hash = (product >> 64) as u64 ^ product as u64;
        ((u128::from(hash) * self.flows.len() as u128) >> 64) as u32
    }

    /// Queues a packet. Packets dropped on overflow, possibly including this one, go into
    /// `dropped`.
    pub(crate) fn enqueue(
        &mut self,
        number: u32,
        flow: u64,
        all: &mut Packets,
        dropped: &mut Vec<u32>,
    ) {
        let index = self.queue_of(flow);
        let queue = &mut self.flows[index as usize];
        queue.fifo.push(number, all);
        self.packets += 1;
        self.bytes += u64::from(all.get(number).size);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = self.spec.quantum.0 as i64;
            self.new.push(index, &mut self.flows);
        }
        if self.packets > self.limit || self.bytes > self.spec.memory_limit.0 {
            self.drop_from_longest(all, dropped);
        }
    }

    /// Drops half of the longest queue, at most one batch (RFC 8290, section 4.1.3; Linux:
    /// `fq_codel_drop`).
    #[cold]
    fn drop_from_longest(&mut self, all: &mut Packets, dropped: &mut Vec<u32>) {
        let mut longest = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.fifo.bytes > self.flows[longest].fifo.bytes {
                longest = index;
            }
        }
        let queue = &mut self.flows[longest];
        let half = queue.fifo.bytes / 2;
        let (mut drops, mut bytes) = (0, 0);
        while drops < self.spec.drop_batch && (drops == 0 || bytes < half) {
            let Some(number) = queue.fifo.pop(all) else {
                break;
            };
            bytes += u64::from(all.get(number).size);
            drops += 1;
            dropped.push(number);
        }
        queue.codel.overflowed(drops);
        self.packets -= drops;
        self.bytes -= bytes;
    }

    /// The next packet to send (RFC 8290, section 4.2).
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        all: &mut Packets,
        dropped: &mut Vec<u32>,
    ) -> Option<u32> {
        loop {
            let is_new = self.new.first != NONE;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = list.first;
            if index == NONE {
                return None;
            }
            let flow = &mut self.flows[index as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.spec.quantum.0 as i64;
                list.pop(&self.flows);
                self.old.push(index, &mut self.flows);
                continue;
            }
            let (before, drops) = (flow.fifo.packets, dropped.len());
            let mut head = Head {
                spec: &self.spec.codel,
                fifo: &mut flow.fifo,
                all,
                backlog: &mut self.bytes,
                dropped,
                now,
            };
            let sent = flow.codel.dequeue(&mut head);
            self.packets -= before - flow.fifo.packets;
            debug_assert_eq!(
                before - flow.fifo.packets,
                (dropped.len() - drops) as u32 + u32::from(sent.is_some())
            );
            if let Some(number) = sent {
                flow.deficit -= i64::from(all.get(number).size);
                return Some(number);
            }
            // A new queue that becomes empty moves to the end of the old list, so that it cannot
            // starve old queues.
            list.pop(&self.flows);
            if is_new && self.old.first != NONE {
                self.old.push(index, &mut self.flows);
            } else {
                self.flows[index as usize].listed = false;
            }
        }
    }
}
