//! Handlers of timers.

use crate::connection::subflow::Phase;
use crate::event::Source;
use crate::event::sources::Timer;
use crate::run::engine::Engine;
use crate::sender::Fate;

impl Engine {
    /// Handles the timer of subflow `s`.
    fn subflow_timer(&mut self, s: usize) {
        let id = self.senders[s].id;
        let (c, i) = (id.connection as usize, id.index());
        if self.senders[s].phase != Phase::Established {
            return self.endpoints(c).subflow_timer(i);
        }
        match self.sender(c).on_timer(i) {
            Fate::GivenUp => self.endpoints(c).kill(i),
            Fate::Lives => self.note_doomed(s),
        }
    }

    /// Whether the next timeout kills subflow `s`.
    pub(crate) fn is_doomed(&self, s: usize) -> bool {
        self.senders[s].rtt.timeouts_in_a_row() >= self.config.transport.max_retries
    }

    /// Announces to the other parts that the next timeout of subflow `s` concerns both its ends.
    fn note_doomed(&mut self, s: usize) {
        if self.is_doomed(s)
            && let Some(border) = &mut self.net.border
        {
            border.doomed.push(s as u32);
        }
    }

    /// Handles the timer of a source, if it is due: some events come before the deadline.
    #[cold]
    pub(crate) fn expire(&mut self, source: Source) {
        let now_ns = self.now_ns;
        let queue = &mut self.net.queue;
        match self.config.sources.timer(source) {
            Timer::Rto(s) => {
                if self.senders[s].timer.fires(now_ns, source, queue) {
                    self.subflow_timer(s);
                }
            }
            Timer::DelayedAck(s) => {
                let receiver = &mut self.receivers[s];
                let id = receiver.id;
                if receiver.delayed_ack.fires(now_ns, source, queue) {
                    self.receiver(id.connection as usize)
                        .send_pending_ack(id.index());
                }
            }
            Timer::Application(c) => {
                if self.connections[c]
                    .application_timer
                    .fires(now_ns, source, queue)
                {
                    self.endpoints(c).wake_application();
                }
            }
            Timer::Control(c) => {
                if self.connections[c]
                    .control_timer
                    .fires(now_ns, source, queue)
                {
                    self.endpoints(c).control_tick();
                }
            }
            Timer::Look(c) => {
                if self.connections[c].look_timer.fires(now_ns, source, queue) {
                    self.endpoints(c).look();
                }
            }
            Timer::Data(c) => {
                if self
                    .connections
                    .sending(c)
                    .data_timer
                    .fires(now_ns, source, queue)
                {
                    self.sender(c).retransmit_data();
                }
            }
            Timer::Slot(c) => {
                if self.connections[c].slot_timer.fires(now_ns, source, queue) {
                    self.endpoints(c).slot();
                }
            }
            Timer::Cross(i) => self.send_cross(i),
            Timer::Channel(i) => {
                if self.net.channels[i].timer.fires(now_ns, source, queue) {
                    self.end_transmission(i);
                }
            }
            Timer::Held(i) => {
                if self.net.held[i].timer.fires(now_ns, source, queue) {
                    self.net.release(i, now_ns);
                }
            }
            Timer::Release(s) => {
                let owned = self.senders[s].owned.as_mut();
                if owned.is_some_and(|owned| owned.timer_fires(now_ns, source, queue)) {
                    self.release(s as u32);
                }
            }
            Timer::WarmUp => self.begin_measurement(),
            Timer::Sample => self.sample(),
            Timer::Fabric => self.look_at_fabric(),
            Timer::Queues => self.look_at_queues(),
        }
    }
}
