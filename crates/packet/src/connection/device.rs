//! The device of a connection: its energy meter, and the packets not yet reported to the meter.

use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::scenario::PathIndex;
use joulepath_model::units::Nanos;

use crate::path::network::Network;

/// The device of a connection under test. Competitors have none.
pub(crate) struct Device {
    pub(crate) meter: DeviceMeter,
    /// The scenario's path of each interface of the meter.
    pub(crate) paths: Vec<PathIndex>,
    /// The links of each interface of the meter.
    pub(crate) access: Vec<Access>,
    /// The latest sample of the meter.
    pub(crate) latest: EnergyReading,
    /// When the last byte arrived and the meter stopped.
    pub(crate) finished_ns: Option<u64>,
}

impl Device {
    pub(crate) fn new(meter: DeviceMeter, paths: Vec<PathIndex>, access: Vec<Access>) -> Self {
        Device {
            meter,
            paths,
            access,
            latest: EnergyReading::default(),
            finished_ns: None,
        }
    }
}

/// How long packets are on the air of an interface. Pairs are by direction: down, up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    /// As long as these links transmit them.
    Links([usize; 2]),
    /// These times for each byte, ns: the links may belong to another part of the network.
    PerByte([f64; 2]),
}

impl Access {
    /// The air time of a packet of `bytes` that passes the interface now, as the meter takes it.
    pub(crate) fn air(self, net: &mut Network, now_ns: u64, bytes: u32, traffic: Traffic) -> Nanos {
        let way = traffic as usize;
        match self {
            Access::PerByte(ns) => Nanos((ns[way] * f64::from(bytes)) as u64),
            Access::Links(links) if traffic == Traffic::Down => {
                net.link_before(links[way], now_ns).air(bytes.into())
            }
            Access::Links(links) => {
                let until = net
                    .link_before(links[way], now_ns)
                    .busy_until(Nanos(now_ns));
                until.saturating_sub(Nanos(now_ns))
            }
        }
    }

    /// The link that sends the device's packets, if it belongs to this part of the network.
    pub(crate) fn up_link(self) -> u32 {
        match self {
            Access::Links([_, up]) => up as u32,
            Access::PerByte(_) => NO_LINK,
        }
    }
}

/// Stands for a link that is not asked.
const NO_LINK: u32 = u32::MAX;

/// The device's interface of one subflow. While the radio is certainly awake, bytes are added up
/// here and reported to the meter later.
#[derive(Clone, Copy)]
#[repr(align(64))] // a cache line, next to the subflow's ends
pub(crate) struct Interface {
    /// Until this instant, ns, the radio is certainly awake and the meter may learn of packets
    /// later.
    pub(crate) awake_until_ns: u64,
    /// How long this lasts after each packet, ns (see `DeviceMeter::patience`).
    patience_ns: u64,
    /// Bytes not yet reported to the meter: received by the device, sent by the device.
    unmetered: [u64; 2],
    /// When the last of them passed the interface, ns.
    last_packet_ns: u64,
    /// When the device has sent the last packet that was counted here, ns.
    sent_until_ns: u64,
    /// Bytes count this many times: the number of hosts whose interfaces each packet enters or
    /// leaves, where the two ends count as one.
    crossings: u32,
    /// See [`Access::up_link`].
    up_link: u32,
    /// Its index in the meter.
    pub(crate) index: u8,
}

impl Interface {
    /// Interface `index` of a meter that may learn of packets `patience_ns` late.
    pub(crate) fn metered(index: u8, patience_ns: u64, crossings: u32, access: Access) -> Self {
        Interface {
            awake_until_ns: 0,
            patience_ns,
            unmetered: [0; 2],
            last_packet_ns: 0,
            sent_until_ns: 0,
            crossings,
            up_link: access.up_link(),
            index,
        }
    }

    /// An interface of a connection without a meter: no radio sleeps and no byte is counted.
    pub(crate) fn unmetered() -> Self {
        Interface {
            awake_until_ns: u64::MAX,
            ..Self::metered(0, u64::MAX, 1, Access::PerByte([0.0; 2]))
        }
    }

    /// Counts a packet at the interface. Returns false if the meter must learn of it at once.
    #[inline]
    pub(crate) fn count(
        &mut self,
        now_ns: u64,
        bytes: u32,
        traffic: Traffic,
        net: &Network,
    ) -> bool {
        let awake = self.is_awake(now_ns);
        if awake {
            let (down, up) = if traffic == Traffic::Down {
                (bytes, 0)
            } else {
                (0, bytes)
            };
            self.count_awake(now_ns, down, up, net);
        }
        awake
    }

    /// Whether the radio is certainly awake and the meter may learn of packets later.
    #[inline(always)]
    pub(crate) fn is_awake(&self, now_ns: u64) -> bool {
        now_ns < self.awake_until_ns
    }

    /// Counts bytes at the interface, received and sent by the device, while it [is
    /// awake](Self::is_awake). What is sent is in its link.
    #[inline(always)]
    pub(crate) fn count_awake(&mut self, now_ns: u64, down: u32, up: u32, net: &Network) {
        if up > 0 && self.up_link != NO_LINK {
            self.sent_until_ns = net.busy_until_ns(self.up_link, now_ns);
        }
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
    pub(crate) fn count_at(
        &mut self,
        now_ns: u64,
        bytes: u32,
        traffic: Traffic,
        device: &mut Device,
        net: &mut Network,
    ) {
        let (index, now) = (usize::from(self.index), Nanos(now_ns));
        let air = device.access[index].air(net, now_ns, bytes, traffic);
        let ready = device
            .meter
            .on_packet(index, now, bytes * self.crossings, traffic, air);
        if ready <= now {
            self.stay_awake(now_ns);
        }
    }

    /// Reports the packets counted here to `meter`.
    pub(crate) fn catch_up(&mut self, meter: &mut DeviceMeter) {
        let bytes = std::mem::take(&mut self.unmetered);
        if bytes != [0, 0] {
            let bytes = bytes.map(|bytes| bytes * u64::from(self.crossings));
            let last_ns = self.last_packet_ns.max(self.sent_until_ns);
            meter.on_burst(usize::from(self.index), Nanos(last_ns), bytes);
        }
    }
}
