//! One path: its window, its link, its packets in flight.

use std::collections::VecDeque;

use joulepath_model::random::{Domain, Stream};
use joulepath_model::units::Nanos;

use crate::params::{Params, PathParams};
use crate::receiver::Packet;
use crate::windows::Batch;

/// x̄ before losses: packets that a window of `w` packets carries in a slot.
pub(crate) fn window_packets(w: f64, slot_s: f64, rtt_s: f64) -> f64 {
    w * slot_s / rtt_s
}

/// A path in a run.
pub(crate) struct Path {
    /// C Δt, packets.
    pub(crate) link_packets: f64,
    slot_s: f64,
    rtt_s: f64,
    loss: f64,
    buffer_packets: f64,
    random: Stream,
    /// Packets assigned to the subflow but not sent.
    pub(crate) waiting: VecDeque<Packet>,
    /// Lost packets to send again.
    resend: VecDeque<Packet>,
    /// Batches in flight, each with its lost packets and the slot in which its ACKs arrive.
    flights: VecDeque<(Batch, Vec<Packet>, u64)>,
    /// Transmissions that the window still admits, packets.
    budget: f64,
    /// Packets in the link's buffer.
    queue: f64,
}

/// Transmissions of a path in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sent {
    /// Number of transmissions.
    pub(crate) packets: u32,
    /// Number of transmissions that arrive.
    pub(crate) arriving: u32,
}

impl Path {
    pub(crate) fn new(params: &Params, path: &PathParams, index: usize, seed: u64) -> Self {
        let slot_s = params.slot.as_secs_f64();
        let per_s = path.rate.bps() as f64 / params.packet_bits();
        let rtt_s = path.rtt.as_secs_f64();
        Path {
            link_packets: per_s * slot_s,
            slot_s,
            rtt_s,
            loss: path.loss.get(),
            buffer_packets: path.buffer_bdp * per_s * rtt_s,
            random: Stream::new(seed, Domain::LinkLoss, index as u64),
            waiting: VecDeque::new(),
            resend: VecDeque::new(),
            flights: VecDeque::new(),
            budget: 0.0,
            queue: 0.0,
        }
    }

    /// τ with the present queueing, s.
    pub(crate) fn rtt_s(&self) -> f64 {
        self.rtt_s + self.queueing_s()
    }

    fn queueing_s(&self) -> f64 {
        self.queue / self.link_packets * self.slot_s
    }

    /// x̄: packets that arrive per slot, sent in a window of `w` packets.
    pub(crate) fn capacity(&self, w: f64) -> f64 {
        (1.0 - self.loss) * window_packets(w, self.slot_s, self.rtt_s()).min(self.link_packets)
    }

    /// The batch whose ACKs arrive in `slot`. Queues its lost packets for retransmission.
    pub(crate) fn acknowledged(&mut self, slot: u64) -> Option<Batch> {
        if self.flights.front().is_none_or(|&(_, _, due)| due > slot) {
            return None;
        }
        let (batch, lost, _) = self.flights.pop_front()?;
        self.resend.extend(lost);
        Some(batch)
    }

    /// Begins a slot: the window of `w` packets admits more. Unused admissions of the previous slot
    /// expire, except a fraction of a packet.
    pub(crate) fn open_slot(&mut self, w: f64) {
        self.budget = self.budget.fract() + window_packets(w, self.slot_s, self.rtt_s());
    }

    /// Number of new packets that it can send in this slot in addition to the waiting ones.
    pub(crate) fn room(&self) -> usize {
        (self.budget as usize).saturating_sub(self.resend.len() + self.waiting.len())
    }

    /// Packets at this subflow: neither in the backlog nor delivered nor lost for good.
    pub(crate) fn held(&self) -> u64 {
        let under_way: usize = self.flights.iter().map(|(_, lost, _)| lost.len()).sum();
        (self.waiting.len() + self.resend.len() + under_way) as u64
    }

    /// Sends what the window admits at the end of `slot`, retransmissions first. `arrive` gets the
    /// packets that arrive, with the instant. `is_filled`: the path was given as much as its window
    /// carries.
    pub(crate) fn send(
        &mut self,
        slot: u64,
        is_filled: bool,
        mut arrive: impl FnMut(Packet, f64),
    ) -> Sent {
        let leaves_s = (slot + 1) as f64 * self.slot_s;
        let rtt_s = self.rtt_s();
        let (mut sent, mut lost) = (Sent::default(), vec![]);
        while self.budget >= 1.0 {
            let Some(packet) = self.resend.pop_front().or_else(|| self.waiting.pop_front()) else {
                break;
            };
            self.budget -= 1.0;
            sent.packets += 1;
            let overflows = self.queue + 1.0 > self.buffer_packets + self.link_packets;
            if !overflows {
                self.queue += 1.0;
            }
            if overflows || self.random.uniform() < self.loss {
                lost.push(packet);
                continue;
            }
            sent.arriving += 1;
            arrive(packet, leaves_s + rtt_s / 2.0);
        }
        self.queue = (self.queue - self.link_packets).max(0.0);
        if sent.packets > 0 {
            let acks = ((rtt_s / self.slot_s).round() as u64).max(1);
            // ACKs must not overtake each other when the queue shrinks.
            let due = self
                .flights
                .back()
                .map_or(0, |&(_, _, due)| due)
                .max(slot + acks);
            let batch = Batch {
                slot,
                acked: sent.arriving,
                lost: lost.len() as u32,
                is_held: is_filled || self.budget < 1.0,
                rtt: Nanos::from_secs_f64(rtt_s),
            };
            self.flights.push_back((batch, lost, due));
        }
        sent
    }
}
