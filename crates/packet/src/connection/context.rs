//! The environment of a connection's event: clock, network, device.

use joulepath_model::energy::Traffic;
use joulepath_model::units::Nanos;

use crate::connection::device::{Access, Device, Interface};
use crate::event::{EventQueue, Source};
use crate::parallel::shared::Shared;
use crate::path::hop::Hop;
use crate::path::network::Network;
use crate::path::packet::Packet;
use crate::run::config::Config;

/// The environment of a connection's event. Subflows are numbered within the connection.
pub(crate) struct Context<'a> {
    pub(crate) now_ns: u64,
    pub(crate) config: &'a Config,
    pub(crate) net: &'a mut Network,
    /// The devices of all connections. This connection's is looked up on demand, which is rare.
    pub(crate) devices: &'a mut Shared<Option<Device>>,
    /// The device's interface for each subflow of the whole engine.
    pub(crate) interfaces: &'a mut Shared<Interface>,
    /// Whether the device is in this part of the network.
    pub(crate) has_device: bool,
    /// Whether the device receives the data.
    pub(crate) downloads: bool,
    /// Index of the connection, for its timers and its device.
    pub(crate) connection: u32,
    /// Index of its first subflow in the whole engine; the others follow.
    pub(crate) first_subflow: u32,
    pub(crate) n: u32,
}

/// The clock of a subflow, for reading the time and setting its timer.
pub(crate) struct Clock<'a> {
    pub(crate) now_ns: u64,
    pub(crate) config: &'a Config,
    /// The event source of the timer.
    pub(crate) source: Source,
    pub(crate) queue: &'a mut EventQueue,
}

impl<'a> Clock<'a> {
    /// The clock of subflow `s` of the engine.
    #[inline(always)]
    pub(crate) fn of(s: usize, config: &'a Config, now_ns: u64, queue: &'a mut EventQueue) -> Self {
        Clock {
            now_ns,
            config,
            source: config.sources.rto(s),
            queue,
        }
    }

    /// A shorter borrow of the same clock.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Clock<'_> {
        Clock {
            now_ns: self.now_ns,
            config: self.config,
            source: self.source,
            queue: self.queue,
        }
    }

    /// The clock of the next departure on subflow `s` of the engine.
    #[inline(always)]
    pub(crate) fn of_release(
        s: usize,
        config: &'a Config,
        now_ns: u64,
        queue: &'a mut EventQueue,
    ) -> Self {
        Clock {
            now_ns,
            config,
            source: config.sources.release(s),
            queue,
        }
    }
}

impl Context<'_> {
    /// The clock of subflow `i`.
    #[inline(always)]
    pub(crate) fn clock(&mut self, i: usize) -> Clock<'_> {
        Clock::of(
            self.global(i),
            self.config,
            self.now_ns,
            &mut self.net.queue,
        )
    }

    /// The clock of the next departure on subflow `i`.
    #[inline(always)]
    pub(crate) fn release_clock(&mut self, i: usize) -> Clock<'_> {
        Clock::of_release(
            self.global(i),
            self.config,
            self.now_ns,
            &mut self.net.queue,
        )
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.now_ns)
    }

    /// A shorter borrow of the same context.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Context<'_> {
        Context {
            now_ns: self.now_ns,
            config: self.config,
            net: self.net,
            devices: self.devices,
            interfaces: self.interfaces,
            has_device: self.has_device,
            downloads: self.downloads,
            connection: self.connection,
            first_subflow: self.first_subflow,
            n: self.n,
        }
    }

    /// The device, if it has a meter and is in this part of the network.
    pub(crate) fn device(&mut self) -> Option<&mut Device> {
        own_device(self.has_device, self.devices, self.connection)
    }

    /// [`Self::device`], with the interface of subflow `i`.
    pub(crate) fn device_of(&mut self, i: usize) -> Option<(&mut Device, &mut Interface)> {
        let s = self.global(i);
        let device = own_device(self.has_device, self.devices, self.connection);
        Some((device?, &mut self.interfaces[s]))
    }

    /// Index of subflow `i` in the whole engine.
    #[inline]
    pub(crate) fn global(&self, i: usize) -> usize {
        self.first_subflow as usize + i
    }

    /// Sends a packet of subflow `i` into `hop`. If `hop` is at a sleeping radio, the link waits
    /// until the radio is awake.
    #[inline(always)]
    pub(crate) fn send(&mut self, i: usize, hop: Hop, mut packet: Packet, size: u32) {
        self.rouse_radio(i, hop, size);
        self.net.offer(self.now_ns, hop, &mut packet, size);
    }

    /// Wakes a sleeping radio at `hop` before a packet of subflow `i` enters.
    #[inline(always)]
    pub(crate) fn rouse_radio(&mut self, i: usize, hop: Hop, size: u32) {
        if hop.is_at_radio() && self.now_ns >= self.interfaces[self.global(i)].awake_until_ns {
            self.wake_radio(i, hop, size);
        }
    }

    #[cold]
    fn wake_radio(&mut self, i: usize, hop: Hop, size: u32) {
        self.catch_up();
        let (now, s) = (self.now(), self.global(i));
        let device = own_device(self.has_device, self.devices, self.connection);
        let Some((device, link)) = device.zip(hop.link()) else {
            return;
        };
        let index = usize::from(self.interfaces[s].index);
        let ready = device.meter.wake(index, now);
        let access = self.net.link_before(link, self.now_ns);
        if ready > now {
            access.hold_until(ready);
        }
        if matches!(device.access[index], Access::Links([down, _]) if down == link) {
            let until = access
                .busy_until(now)
                .max(ready)
                .saturating_add(access.air(size.into()));
            device.meter.foretell(index, now, until);
        }
    }

    /// Counts a packet of subflow `i` at the device's interface.
    #[inline]
    pub(crate) fn meter(&mut self, i: usize, bytes: u32, traffic: Traffic) {
        let s = self.global(i);
        if !self.interfaces[s].count(self.now_ns, bytes, traffic, self.net) {
            self.meter_now(i, bytes, traffic);
        }
    }

    #[cold]
    fn meter_now(&mut self, i: usize, bytes: u32, traffic: Traffic) {
        self.catch_up();
        let s = self.global(i);
        if let Some(device) = own_device(self.has_device, self.devices, self.connection) {
            self.interfaces[s].count_at(self.now_ns, bytes, traffic, device, self.net);
        }
    }

    /// Reports the packets counted at the interfaces to the meter. Call this before any other call
    /// to the meter.
    pub(crate) fn catch_up(&mut self) {
        let Some(device) = own_device(self.has_device, self.devices, self.connection) else {
            return;
        };
        for i in 0..self.n as usize {
            self.interfaces[self.first_subflow as usize + i].catch_up(&mut device.meter);
        }
    }
}

/// The device of a connection that has one. Not a method, so that the caller may borrow interfaces
/// and links, too.
#[inline]
fn own_device(
    has_device: bool,
    devices: &mut Shared<Option<Device>>,
    connection: u32,
) -> Option<&mut Device> {
    if has_device {
        devices[connection as usize].as_mut()
    } else {
        None
    }
}
