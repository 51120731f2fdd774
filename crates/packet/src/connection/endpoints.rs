//! Both ends of a connection during an event that concerns both: opening, closing, control plane,
//! application. Data and ACKs concern one end only: see `receiver` and `sender`.

use joulepath_controllers::Subflow as Window;
use joulepath_link::writes::Write;
use joulepath_model::scenario::Workload;
use joulepath_model::units::Nanos;

use crate::application::{Next, Writer};
use crate::connection::context::Context;
use crate::connection::state::Connection;
use crate::connection::subflow::{Phase, Subflow};
use crate::path::packet::{Kind, Packet, Stamp, WINDOW};
use crate::receiver::{Receiver, SubflowReceiver};
use crate::sender::{Progress, Sender, SubflowSender};

/// A connection with its subflows. Subflows are numbered within it.
pub(crate) struct Endpoints<'a> {
    pub(crate) cx: Context<'a>,
    pub(crate) connection: &'a mut Connection,
    pub(crate) subflows: &'a mut [Subflow],
    pub(crate) senders: &'a mut [SubflowSender],
    pub(crate) receivers: &'a mut [SubflowReceiver],
    /// Number of connections under test that are not done.
    pub(crate) unfinished: &'a mut usize,
}

impl Endpoints<'_> {
    /// The end that sends data.
    #[inline]
    pub(crate) fn sender(&mut self) -> Sender<'_> {
        Sender {
            cx: self.cx.reborrow(),
            end: &mut self.connection.sender,
            subflows: self.senders,
        }
    }

    /// The end that receives data.
    #[inline]
    pub(crate) fn receiver(&mut self) -> Receiver<'_> {
        Receiver {
            cx: self.cx.reborrow(),
            end: &mut self.connection.receiver,
            subflows: self.receivers,
        }
    }

    /// The controller's state of subflow `i`, with its congestion window.
    pub(crate) fn window(&mut self, i: usize) -> &mut Window {
        &mut self.connection.sender.cc.subflows[i]
    }

    /// Adds cwnd × time to the statistics. Call this before every change of cwnd.
    pub(crate) fn integrate_cwnd(&mut self, i: usize) {
        self.senders[i].integrate_cwnd(self.connection.sender.cc.subflows[i].cwnd, self.cx.now_ns);
    }

    /// Sets the phase of subflow `i` at both of its ends.
    pub(crate) fn set_phase(&mut self, i: usize, phase: Phase) {
        self.senders[i].phase = phase;
        self.receivers[i].is_open = phase.is_open();
        if let Some(tuning) = self
            .connection
            .receiver
            .tuning
            .as_mut()
            .filter(|_| !phase.is_open())
        {
            tuning.forget(i);
        }
    }

    /// Handles a TCP relay's ACK for subflow `i`. It acknowledges segments and carries the end of
    /// the relay's window.
    pub(crate) fn receive_relay_ack(&mut self, i: usize, packet: Packet) {
        let mut sender = self.sender();
        sender.widen_window(i, packet.dsn());
        if packet.flags() & WINDOW != 0 {
            return sender.push();
        }
        // A relay's ACK carries nothing for the data level.
        let dsn = sender.end.data.una();
        match sender.receive_ack(i, packet.as_ack(dsn)) {
            Progress::Ignored => {}
            Progress::Taken => sender.push_after(i),
            Progress::Drained => self.close_drained(i),
        }
        let mut sender = self.sender();
        if !sender.end.data_timer.is_set() {
            sender.arm_data_past_relays();
        }
    }

    /// Handles a packet between source, relay and device.
    #[cold]
    pub(crate) fn receive_relayed(&mut self, i: usize, packet: Packet) {
        match packet.kind() {
            Kind::Relayed => {
                let next = self.receiver().receive_relayed(i, &packet);
                self.follow(next);
            }
            Kind::RelayAck => self.receive_relay_ack(i, packet),
            _ => {
                let mut sender = self.sender();
                sender.widen_window(i, packet.ssn());
                self.receive_data_ack(packet.dsn());
            }
        }
    }

    /// Handles a DATA_ACK from the device beyond the relays.
    pub(crate) fn receive_data_ack(&mut self, dsn: u32) {
        if !self.connection.receiver.done {
            self.sender().receive_data_ack(dsn);
        }
    }

    /// Does what the application asks for.
    pub(crate) fn follow(&mut self, next: Next) {
        match next {
            Next::Nothing => {}
            Next::At(at_ns) => self.set_application_timer(at_ns),
            Next::Ask { number, retry_ns } => {
                self.set_application_timer(retry_ns);
                if let Some(i) = self.fastest_subflow() {
                    self.send_control(i, Kind::Request, Stamp::at(self.cx.now_ns), number);
                }
            }
            Next::Done => self.finish(),
        }
    }

    fn set_application_timer(&mut self, at_ns: u64) {
        let source = self
            .cx
            .config
            .sources
            .application(self.cx.connection as usize);
        self.connection
            .application_timer
            .set(at_ns, source, &mut self.cx.net.queue);
    }

    /// Starts the application: the connection is established.
    pub(crate) fn start_application(&mut self) {
        let next = self.write_or_ask(Writer::start);
        self.follow(next);
    }

    /// Lets the application act again.
    pub(crate) fn wake_application(&mut self) {
        if self.connection.receiver.done {
            return;
        }
        let next = self.write_or_ask(Writer::wake);
        self.follow(next);
        self.sender().push();
    }

    /// Lets the sender write and the receiver expect it, or, for workloads of requests, the
    /// receiver ask.
    fn write_or_ask(&mut self, write: impl FnOnce(&mut Writer, u64) -> Write) -> Next {
        let (writer, reader) = (
            &mut self.connection.sender.writer,
            &mut self.connection.receiver.reader,
        );
        if matches!(writer.workload(), Workload::Requests { .. }) {
            return reader.ask(self.cx.now_ns, writer.answered());
        }
        let now_ns = self.cx.now_ns;
        let mut written = write(writer, now_ns);
        reader.expect(written.bytes.0, written.since.0);
        // The other messages of a batch.
        while written.bytes.0 > 0 && written.next == Some(Nanos(now_ns)) {
            written = writer.wake(now_ns);
            reader.expect(written.bytes.0, written.since.0);
        }
        written.next.map_or(Next::Nothing, |at| Next::At(at.0))
    }

    /// The established subflow with the lowest smoothed RTT.
    fn fastest_subflow(&self) -> Option<usize> {
        let views = self.connection.sender.views();
        (0..views.len())
            .filter(|&i| views[i].established)
            .min_by_key(|&i| views[i].srtt_us)
    }

    /// Closes the connection: everything has arrived. The exchange of FINs is not modelled.
    fn finish(&mut self) {
        let connection = &mut *self.connection;
        connection.receiver.done = true;
        connection.control_timer.clear();
        connection.look_timer.clear();
        connection.slot_timer.clear();
        connection.sender.data_timer.clear();
        for i in 0..self.senders.len() {
            self.close(i);
        }
        if let Some(reception) = &mut self.connection.receiver.reception {
            reception.bring_up(self.cx.now_ns);
        }
        let now_ns = self.cx.now_ns;
        if let Some(device) = self.cx.device() {
            device.finished_ns = Some(now_ns);
            *self.unfinished -= 1;
            if *self.unfinished == 0 {
                self.cx.net.queue.close();
            }
        }
    }

    /// Kills a subflow and reinjects its data.
    pub(crate) fn kill(&mut self, i: usize) {
        self.sender().reinject_everything(i);
        self.close(i);
        self.sender().push();
    }

    /// Closes subflow `i`: it sends and accepts no more packets.
    pub(crate) fn close(&mut self, i: usize) {
        self.integrate_cwnd(i);
        self.cx.catch_up();
        let was_open = self.senders[i].phase.is_open();
        self.set_phase(i, Phase::Dead);
        self.senders[i].timer.clear();
        self.senders[i].stop_pacing();
        self.receivers[i].delayed_ack.clear();
        self.connection.sender.views[i].established = false;
        let window = self.window(i);
        (window.flags, window.cwnd) = (0, 0);
        let now = self.cx.now();
        if let Some((device, interface)) = self.cx.device_of(i).filter(|_| was_open) {
            device.meter.close(interface.index.into(), now);
        }
    }
}
