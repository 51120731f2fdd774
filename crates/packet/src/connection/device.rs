//! The device of a connection: its energy meter, and the packets that the meter does not know of yet.

use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

/// The device of a connection under test. Competitors have none.
pub(crate) struct Device {
    /// The meter of the device's energy.
    pub(crate) meter: DeviceMeter,
    /// The scenario's path of each interface of the meter.
    pub(crate) paths: Vec<PathIndex>,
    /// The latest sample of the meter.
    pub(crate) latest: EnergyReading,
    /// When the last byte arrived. The meter stops then.
    pub(crate) finished_ns: Option<u64>,
}

impl Device {
    pub(crate) fn new(meter: DeviceMeter, paths: Vec<PathIndex>) -> Self {
        Device { meter, paths, latest: EnergyReading::default(), finished_ns: None }
    }
}

/// The device's interface under one subflow. While the radio is certainly awake, packets are added up here,
/// and the meter learns of them later.
#[derive(Clone, Copy)]
#[repr(align(64))] // a cache line, beside the subflow's ends
pub(crate) struct Interface {
    /// Until then the radio is certainly awake and the meter need not learn of a packet at once, ns.
    pub(crate) awake_until_ns: u64,
    /// How long after a packet this is so, ns (see `DeviceMeter::patience`).
    patience_ns: u64,
    /// Bytes that the meter does not know of yet: received by the device, sent by the device.
    unmetered: [u64; 2],
    /// When the last of them passed the interface, ns.
    last_packet_ns: u64,
    /// Bytes count this often: the number of hosts whose interfaces each packet enters or leaves, where the
    /// two ends count as one.
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

    /// Counts a packet that passes the interface. Returns whether the meter may learn of it later.
    #[inline]
    pub(crate) fn count(&mut self, now_ns: u64, bytes: u32, traffic: Traffic) -> bool {
        let awake = self.is_awake(now_ns);
        if awake {
            let (down, up) = if traffic == Traffic::Down { (bytes, 0) } else { (0, bytes) };
            self.count_awake(now_ns, down, up);
        }
        awake
    }

    /// Whether the radio is certainly awake and the meter need not learn of a packet at once.
    #[inline(always)]
    pub(crate) fn is_awake(&self, now_ns: u64) -> bool {
        now_ns < self.awake_until_ns
    }

    /// Counts bytes that pass the interface now, received and sent by the device, while it
    /// [is awake](Self::is_awake), which it stays.
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

    /// Counts the first packet after a gap: `meter` learns of it at once.
    #[cold]
    pub(crate) fn count_at(&mut self, now_ns: u64, bytes: u32, traffic: Traffic, meter: &mut DeviceMeter) {
        let (index, now) = (usize::from(self.index), Nanos(now_ns));
        let ready = meter.wake(index, now);
        meter.on_packet(index, now, bytes * self.crossings, traffic);
        if ready <= now {
            self.stay_awake(now_ns);
        }
    }

    /// Tells `meter` of the packets that it does not know of yet.
    pub(crate) fn catch_up(&mut self, meter: &mut DeviceMeter) {
        let bytes = std::mem::take(&mut self.unmetered);
        if bytes != [0, 0] {
            let bytes = bytes.map(|bytes| bytes * u64::from(self.crossings));
            meter.on_burst(usize::from(self.index), Nanos(self.last_packet_ns), bytes);
        }
    }
}
