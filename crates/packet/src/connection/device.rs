//! The device of a connection: its energy meter, and the packets not yet reported to the meter.

use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

/// The device of a connection under test. Competitors have none.
pub(crate) struct Device {
    pub(crate) meter: DeviceMeter,
    /// The scenario's path of each interface of the meter.
    pub(crate) paths: Vec<PathIndex>,
    /// The latest sample of the meter.
    pub(crate) latest: EnergyReading,
    /// When the last byte arrived and the meter stopped.
    pub(crate) finished_ns: Option<u64>,
}

impl Device {
    pub(crate) fn new(meter: DeviceMeter, paths: Vec<PathIndex>) -> Self {
        Device { meter, paths, latest: EnergyReading::default(), finished_ns: None }
    }
}

/// The device's interface of one subflow. While the radio is certainly awake, bytes are added up here and
/// reported to the meter later.
#[derive(Clone, Copy)]
#[repr(align(64))] // a cache line, next to the subflow's ends
pub(crate) struct Interface {
    /// Until this instant, ns, the radio is certainly awake and the meter may learn of packets later.
    pub(crate) awake_until_ns: u64,
    /// How long this lasts after each packet, ns (see `DeviceMeter::patience`).
    patience_ns: u64,
    /// Bytes not yet reported to the meter: received by the device, sent by the device.
    unmetered: [u64; 2],
    /// When the last of them passed the interface, ns.
    last_packet_ns: u64,
    /// Bytes count this many times: the number of hosts whose interfaces each packet enters or leaves,
    /// where the two ends count as one.
    crossings: u32,
    /// Its index in the meter.
    pub(crate) index: u8,
}

impl Interface {
    /// Interface `index` of a meter that may learn of packets `patience_ns` late.
    pub(crate) fn metered(index: u8, patience_ns: u64, crossings: u32) -> Self {
        Interface { awake_until_ns: 0, patience_ns, unmetered: [0; 2], last_packet_ns: 0, crossings, index }
    }

    /// An interface of a connection without a meter: no radio sleeps and no byte is counted.
    pub(crate) fn unmetered() -> Self {
        Interface { awake_until_ns: u64::MAX, ..Self::metered(0, u64::MAX, 1) }
    }

    /// Counts a packet at the interface. Returns false if the meter must learn of it at once.
    #[inline]
    pub(crate) fn count(&mut self, now_ns: u64, bytes: u32, traffic: Traffic) -> bool {
        let awake = self.is_awake(now_ns);
        if awake {
            let (down, up) = if traffic == Traffic::Down { (bytes, 0) } else { (0, bytes) };
            self.count_awake(now_ns, down, up);
        }
        awake
    }

    /// Whether the radio is certainly awake and the meter may learn of packets later.
    #[inline(always)]
    pub(crate) fn is_awake(&self, now_ns: u64) -> bool {
        now_ns < self.awake_until_ns
    }

    /// Counts bytes at the interface, received and sent by the device, while it [is awake](Self::is_awake).
    #[inline(always)]
    pub(crate) fn count_awake(&mut self, now_ns: u64, down: u32, up: u32) {
        let [received, sent] = &mut self.unmetered;
        (*received, *sent) = (*received + u64::from(down), *sent + u64::from(up));
        self.last_packet_ns = now_ns;
        self.stay_awake(now_ns);
    }

    #[inline]
    fn stay_awake(&mut self, now_ns: u64) {
        self.awake_until_ns = now_ns.saturating_add(self.patience_ns);
    }

    /// Counts the first packet after a gap, directly in `meter`.
    #[cold]
    pub(crate) fn count_at(&mut self, now_ns: u64, bytes: u32, traffic: Traffic, meter: &mut DeviceMeter) {
        let (index, now) = (usize::from(self.index), Nanos(now_ns));
        let ready = meter.wake(index, now);
        meter.on_packet(index, now, bytes * self.crossings, traffic);
        if ready <= now {
            self.stay_awake(now_ns);
        }
    }

    /// Reports the packets counted here to `meter`.
    pub(crate) fn catch_up(&mut self, meter: &mut DeviceMeter) {
        let bytes = std::mem::take(&mut self.unmetered);
        if bytes != [0, 0] {
            let bytes = bytes.map(|bytes| bytes * u64::from(self.crossings));
            meter.on_burst(usize::from(self.index), Nanos(self.last_packet_ns), bytes);
        }
    }
}
