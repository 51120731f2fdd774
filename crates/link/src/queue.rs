//! The DropTail queue before the transmitter, stored as the departure times of packets.

use joulepath_model::network::QueueLimit;

use crate::circular::Circular;

/// One accepted packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Start of its transmission, ns; the packet waits until then.
    start_ns: u64,
    /// Bytes accepted before it, modulo 2⁶⁴.
    bytes_before: u64,
}

/// Result of an offer to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The packet waits or goes straight to the transmitter. `congested`: it is ECN-capable and
    /// found a queue at or above the marking threshold.
    Accepted { congested: bool },
    /// The queue was full.
    Dropped,
}

/// A FIFO queue with known service times.
///
/// Transmissions start in order. So more than `limit` packets wait if and only if the packet that
/// was accepted `limit` packets before the newest has not started. One read from a ring of start
/// times decides, and nothing is ever removed.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// The slot at index `accepted` is free for the next packet.
    slots: Circular<Slot>,
    /// Bytes accepted so far, modulo 2⁶⁴.
    bytes: u64,
    /// Packets accepted since the transmitter was last idle, modulo 2³².
    accepted: u32,
    /// Limit of waiting packets.
    limit: u32,
    /// min(`limit`, number of slots − 1): distance to the packet that decides.
    look_back: u32,
    /// A packet is marked if this many packets wait.
    mark_at: u32,
}

/// Limit and threshold in bytes. They are separate from those in packets because they need a
/// search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteLimits {
    /// Limit of waiting bytes.
    capacity: u64,
    /// A packet is marked if this many bytes wait.
    mark_at: u64,
}

/// Eight slots are two cache lines: a link that never queues stays small.
const FIRST_LENGTH: u32 = 8;

/// Larger than any ring.
const UNBOUNDED: u32 = u32::MAX;

impl ByteLimits {
    /// Returns `None` if neither the limit nor the threshold is in bytes.
    pub(crate) fn new(limit: QueueLimit, ecn_threshold: Option<QueueLimit>) -> Option<Self> {
        let bytes = |limit| match limit {
            QueueLimit::Bytes(bytes) => bytes.0,
            QueueLimit::Packets(_) => u64::MAX,
        };
        let limits = ByteLimits {
            capacity: bytes(limit),
            mark_at: ecn_threshold.map_or(u64::MAX, bytes),
        };
        (limits.capacity.min(limits.mark_at) < u64::MAX).then_some(limits)
    }
}

impl Queue {
    /// A queue with the limits that are in packets.
    pub(crate) fn new(limit: QueueLimit, ecn_threshold: Option<QueueLimit>) -> Self {
        let packets = |limit| match limit {
            QueueLimit::Packets(packets) => packets,
            QueueLimit::Bytes(_) => UNBOUNDED,
        };
        let limit = packets(limit);
        Queue {
            slots: Circular::new(FIRST_LENGTH),
            bytes: 0,
            accepted: 0,
            limit,
            look_back: limit.min(FIRST_LENGTH - 1),
            mark_at: ecn_threshold.map_or(UNBOUNDED, packets),
        }
    }

    /// Offers a packet of `size` bytes whose transmission would start at `start_ns`. Neither `now`
    /// nor `start_ns` may decrease. The marking threshold applies to `ecn_capable` packets only.
    #[inline(always)]
    pub(crate) fn admit(
        &mut self,
        now: u64,
        start_ns: u64,
        size: u32,
        ecn_capable: bool,
    ) -> Admission {
        if start_ns == now {
            // The queue is empty: start again at slot 0, which is still in the cache.
            self.accepted = 0;
        }
        self.slots[self.accepted] = Slot {
            start_ns,
            bytes_before: self.bytes,
        };
        if self.start_ns(self.look_back) > now && !self.grow() {
            return Admission::Dropped;
        }
        let congested = ecn_capable && self.reaches_mark(now);
        self.accepted = self.accepted.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(u64::from(size));
        Admission::Accepted { congested }
    }

    /// Like [`Queue::admit`] for a packet whose transmission starts at once, so there is always
    /// room. Returns true if it is marked. No packet waits, so no slot is needed.
    #[inline(always)]
    pub(crate) fn pass(&mut self, size: u32, ecn_capable: bool) -> bool {
        self.accepted = 0;
        self.bytes = self.bytes.wrapping_add(u64::from(size));
        ecn_capable && self.mark_at == 0
    }

    /// Like [`Queue::admit`], with additional limits in bytes.
    pub(crate) fn admit_within(
        &mut self,
        limits: ByteLimits,
        now: u64,
        start_ns: u64,
        size: u32,
        ecn_capable: bool,
    ) -> Admission {
        let waiting = self.waiting_bytes(now);
        if start_ns > now && waiting + u64::from(size) > limits.capacity {
            return Admission::Dropped;
        }
        match self.admit(now, start_ns, size, ecn_capable) {
            Admission::Accepted { congested } => Admission::Accepted {
                congested: ecn_capable && (congested || waiting >= limits.mark_at),
            },
            Admission::Dropped => Admission::Dropped,
        }
    }

    /// Number of packets whose transmission has not started at `now`.
    pub(crate) fn waiting_packets(&self, now: u64) -> u32 {
        // Binary search from the newest packet on, without the free slot, which may hold a dropped
        // packet.
        let (mut waiting, mut at_most) = (0, self.newest());
        while waiting < at_most {
            let middle = waiting + (at_most - waiting).div_ceil(2);
            if self.start_ns(middle) > now {
                waiting = middle;
            } else {
                at_most = middle - 1;
            }
        }
        waiting
    }

    /// Bytes accepted so far, modulo 2⁶⁴.
    pub(crate) fn accepted_bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the packets whose transmission has not started.
    pub(crate) fn waiting_bytes(&self, now: u64) -> u64 {
        match self.waiting_packets(now) {
            0 => 0,
            packets => self.bytes.wrapping_sub(self.slot(packets).bytes_before),
        }
    }

    /// True if at least `mark_at` packets wait in front of the packet in the free slot.
    #[inline]
    fn reaches_mark(&self, now: u64) -> bool {
        self.mark_at == 0 || self.mark_at <= self.newest() && self.start_ns(self.mark_at) > now
    }

    /// The slot that decides about the next packet.
    #[inline(always)]
    pub(crate) fn next_decisive(&self) -> &Slot {
        self.slot(self.look_back)
    }

    /// Start of the packet `back` slots before the free slot, ns.
    #[inline(always)]
    fn start_ns(&self, back: u32) -> u64 {
        self.slot(back).start_ns
    }

    #[inline(always)]
    fn slot(&self, back: u32) -> &Slot {
        &self.slots[self.accepted.wrapping_sub(back)]
    }

    /// Number of slots before the free slot.
    #[inline]
    fn newest(&self) -> u32 {
        self.slots.places() - 1
    }

    /// Doubles the slots if all hold waiting packets. Returns false if instead the queue is at its
    /// limit.
    #[cold]
    fn grow(&mut self) -> bool {
        if self.look_back == self.limit {
            return false;
        }
        self.slots.grow(
            2 * self.slots.places(),
            self.accepted.wrapping_sub(self.newest()),
        );
        self.look_back = self.limit.min(self.newest());
        true
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::units::Bytes;
    use proptest::prelude::*;

    use super::*;

    /// A packet: time since the previous packet, time of its transmission, time for which the
    /// transmitter is held after it (all ns); bytes; ECN-capable.
    type Offered = (u64, u64, u64, u32, bool);

    fn offered() -> impl Strategy<Value = Offered> {
        let held_ns = prop_oneof![9 => Just(0u64), 1 => 0u64..200];
        (
            0u64..60,
            prop::sample::select(vec![0u64, 1, 20, 40]),
            held_ns,
            40u32..1500,
            any::<bool>(),
        )
    }

    proptest! {
        /// A packet that finds the transmitter idle needs no slot: all results are the same.
        #[test]
        fn pass_equals_admit_on_an_idle_link(
            packets in prop::collection::vec(offered(), 1..400),
            limit in 0u32..40,
            mark_at in prop::option::of(0u32..40),
        ) {
            let threshold = mark_at.map(QueueLimit::Packets);
            let mut passing = Queue::new(QueueLimit::Packets(limit), threshold);
            let mut admitting = Queue::new(QueueLimit::Packets(limit), threshold);
            let (mut now, mut free_ns) = (0, 0);
            for (gap, takes_ns, held_ns, size, ecn_capable) in packets {
                now += gap;
                let start_ns = now.max(free_ns);
                let expected = admitting.admit(now, start_ns, size, ecn_capable);
                let found = if free_ns <= now {
                    Admission::Accepted { congested: passing.pass(size, ecn_capable) }
                } else {
                    passing.admit(now, free_ns, size, ecn_capable)
                };
                prop_assert_eq!(found, expected);
                if expected != Admission::Dropped {
                    free_ns = start_ns + takes_ns;
                }
                if held_ns > 0 {
                    free_ns = free_ns.max(now + held_ns);
                }
                for at in [now, now + 25] {
                    prop_assert_eq!(passing.waiting_packets(at), admitting.waiting_packets(at));
                    prop_assert_eq!(passing.waiting_bytes(at), admitting.waiting_bytes(at));
                }
                prop_assert_eq!(passing.accepted_bytes(), admitting.accepted_bytes());
            }
        }

        /// The same with limits in bytes, which need the slots of all waiting packets.
        #[test]
        fn a_byte_limit_counts_passed_packets(sizes in prop::collection::vec(40u32..1500, 1..50)) {
            let limit = QueueLimit::Bytes(Bytes(3_000));
            let limits = ByteLimits::new(limit, None).expect("the limit is in bytes");
            let mut passing = Queue::new(limit, None);
            let mut admitting = Queue::new(limit, None);
            for (i, &size) in sizes.iter().enumerate() {
                let now = 200 * (i as u64 / 5);
                let start_ns = now + 30 * (i as u64 % 5);
                let expected = admitting.admit_within(limits, now, start_ns, size, false);
                let found = if start_ns == now {
                    Admission::Accepted { congested: passing.pass(size, false) }
                } else {
                    passing.admit_within(limits, now, start_ns, size, false)
                };
                prop_assert_eq!(found, expected);
            }
        }
    }
}
