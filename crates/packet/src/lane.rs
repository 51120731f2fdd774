//! Everything that an event of one connection touches, borrowed apart: the connection, its subflows, the network.

use joulepath_controllers::Subflow as Window;
use joulepath_model::energy::Traffic;
use joulepath_model::scenario::{Direction, Transport};
use joulepath_model::units::Nanos;

use crate::connection::Connection;
use crate::engine::{Sources, WireSizes};
use crate::network::Network;
use crate::packet::Packet;
use crate::subflow::Subflow;

/// What all connections have in common.
pub(crate) struct Common {
    pub(crate) transport: Transport,
    pub(crate) sizes: WireSizes,
    pub(crate) sources: Sources,
}

/// A connection at one instant. Subflows are numbered within it.
pub(crate) struct Lane<'a> {
    pub(crate) now_ns: u64,
    pub(crate) common: &'a Common,
    pub(crate) net: &'a mut Network,
    pub(crate) connection: &'a mut Connection,
    pub(crate) subflows: &'a mut [Subflow],
    /// Index of the connection, for its timers.
    pub(crate) index: usize,
    /// Connections under test that are not done.
    pub(crate) unfinished: &'a mut usize,
}

impl Lane<'_> {
    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    pub(crate) fn downloads(&self) -> bool {
        self.connection.direction == Direction::Download
    }

    /// Number of subflow `i` in the whole engine.
    pub(crate) fn global(&self, i: usize) -> usize {
        self.connection.first as usize + i
    }

    #[inline]
    pub(crate) fn window(&mut self, i: usize) -> &mut Window {
        &mut self.connection.cc.subflows[i]
    }

    /// A packet of subflow `i` enters `link`: if that is the device's radio and the radio sleeps, the link waits for it.
    #[inline(always)]
    pub(crate) fn offer(&mut self, i: usize, link: u32, packet: Packet, size: u32) {
        if self.now_ns >= self.subflows[i].awake_until_ns {
            self.wake_radio(i, link);
        }
        self.net.offer(self.now_ns, link, packet, size);
    }

    #[cold]
    pub(crate) fn wake_radio(&mut self, i: usize, link: u32) {
        let (near, interface) = (self.subflows[i].radio, self.subflows[i].interface as usize);
        if link != near.0 && link != near.1 {
            return;
        }
        self.catch_up();
        if let Some(device) = &mut self.connection.device {
            let ready = device.meter.wake(interface, Nanos(self.now_ns));
            if ready.0 > self.now_ns {
                self.net.wires[link as usize].link.hold_until(ready);
            }
        }
    }

    /// A packet passes the device's interface. While the radio is certainly awake the meter hears of it later.
    #[inline]
    pub(crate) fn meter(&mut self, i: usize, bytes: u32, traffic: Traffic) {
        let subflow = &mut self.subflows[i];
        if self.now_ns < subflow.awake_until_ns {
            subflow.unmetered[traffic as usize] += u64::from(bytes);
            subflow.last_packet_ns = self.now_ns;
            subflow.awake_until_ns = self.now_ns.saturating_add(subflow.patience_ns);
        } else {
            self.meter_now(i, bytes, traffic);
        }
    }

    /// The first packet after a gap.
    #[cold]
    fn meter_now(&mut self, i: usize, bytes: u32, traffic: Traffic) {
        self.catch_up();
        let Some(device) = &mut self.connection.device else { return };
        let subflow = &mut self.subflows[i];
        let (interface, now) = (subflow.interface as usize, Nanos(self.now_ns));
        let ready = device.meter.wake(interface, now);
        device.meter.on_packet(interface, now, bytes * subflow.crossings, traffic);
        if ready <= now {
            subflow.awake_until_ns = self.now_ns.saturating_add(subflow.patience_ns);
        }
    }

    /// Tells the meter of the packets that it has not heard of. Before every other call to it.
    pub(crate) fn catch_up(&mut self) {
        let Some(device) = &mut self.connection.device else { return };
        for subflow in self.subflows.iter_mut() {
            let bytes = std::mem::take(&mut subflow.unmetered);
            if bytes != [0, 0] {
                let bytes = bytes.map(|bytes| bytes * u64::from(subflow.crossings));
                device.meter.on_burst(subflow.interface as usize, Nanos(subflow.last_packet_ns), bytes);
            }
        }
    }
}
