//! Joules by radio, phase, host and request.

use joulepath_model::energy::Traffic;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading, RadioPhase};
use joulepath_model::units::Nanos;
use serde::Serialize;

use crate::recording::{Device, Packet, Recording};

/// Joules by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Joules {
    /// Waking radios.
    pub promotion_j: f64,
    /// While packets pass: the power of active radios and the joules of each byte.
    pub transfer_j: f64,
    /// Radios that wait for more.
    pub tail_j: f64,
    /// What the radios of the device share while one of them is awake.
    pub base_j: f64,
}

impl Joules {
    /// The sum.
    pub fn total_j(&self) -> f64 {
        self.promotion_j + self.transfer_j + self.tail_j + self.base_j
    }

    fn add(&mut self, other: Joules) {
        self.promotion_j += other.promotion_j;
        self.transfer_j += other.transfer_j;
        self.tail_j += other.tail_j;
        self.base_j += other.base_j;
    }
}

/// What one interface, host or request used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Party {
    /// Bytes to the device.
    pub down_bytes: u64,
    /// Bytes from the device.
    pub up_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// How often it woke a radio.
    pub wakes: u64,
    /// First and last packet, s since the first of the recording.
    pub from_s: f64,
    /// See [`Self::from_s`].
    pub to_s: f64,
    /// Its joules.
    #[serde(flatten)]
    pub joules: Joules,
}

impl Party {
    fn count(&mut self, packet: &Packet, woke: bool) {
        let at = packet.at.as_secs_f64();
        if self.packets == 0 {
            self.from_s = at;
        }
        self.to_s = at;
        self.packets += 1;
        self.wakes += u64::from(woke);
        match packet.traffic {
            Traffic::Down => self.down_bytes += u64::from(packet.bytes),
            Traffic::Up => self.up_bytes += u64::from(packet.bytes),
        }
    }

    fn merge(&mut self, other: &Party) {
        if self.packets == 0 {
            self.from_s = other.from_s;
        }
        self.from_s = self.from_s.min(other.from_s);
        self.to_s = self.to_s.max(other.to_s);
        self.down_bytes += other.down_bytes;
        self.up_bytes += other.up_bytes;
        self.packets += other.packets;
        self.wakes += other.wakes;
        self.joules.add(other.joules);
    }
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radio {
    /// What it used, without idle power.
    pub used: Party,
    /// Its idle power from the first to the last packet, J.
    pub idle_j: f64,
    /// Its phases over time.
    pub spans: Vec<Span>,
}

/// A phase of a radio. It lasts to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The phase.
    pub phase: RadioPhase,
    /// Its start.
    pub since: Nanos,
}

/// The joules of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bill {
    /// Each interface; [`Joules::base_j`] is 0.
    pub radios: Vec<Radio>,
    /// Each cause.
    pub causes: Vec<Party>,
    /// Hosts with what they used, most joules first.
    pub hosts: Vec<(String, Party)>,
    /// End of the last tail.
    pub end: Nanos,
}

impl Bill {
    /// All joules but idle power.
    pub fn total_j(&self) -> f64 {
        self.causes.iter().map(|cause| cause.joules.total_j()).sum()
    }

    /// The causes, most joules first.
    pub fn by_energy(&self) -> Vec<usize> {
        let total_j = |cause: usize| self.causes[cause].joules.total_j();
        let mut order: Vec<usize> = (0..self.causes.len()).collect();
        order.sort_by(|&a, &b| total_j(b).total_cmp(&total_j(a)));
        order
    }

    /// Idle power from the first to the last packet, J.
    pub fn idle_j(&self) -> f64 {
        self.radios.iter().map(|radio| radio.idle_j).sum()
    }
}

/// Bills a recording. What a radio does until its next packet is of the cause of its last one, so
/// the first packet of a burst pays the promotion, and the last one the tail. Tails after the last
/// packet count to their end.
pub fn bill(recording: &Recording, device: &Device) -> Bill {
    let mut biller = Biller::new(recording, device);
    let mut last = vec![0; recording.causes.len()];
    for (index, packet) in recording.packets.iter().enumerate() {
        last[packet.cause] = index;
    }
    for (index, packet) in recording.packets.iter().enumerate() {
        biller.let_pass(packet.at);
        biller.packet(packet, last[packet.cause] == index);
    }
    biller.end()
}

struct Biller<'a> {
    recording: &'a Recording,
    meter: DeviceMeter,
    /// The reading until which joules are charged, and room for the next.
    charged: EnergyReading,
    reading: EnergyReading,
    phases: Vec<RadioPhase>,
    /// The cause of the last packet, by interface and of all.
    owners: Vec<Option<usize>>,
    owner: Option<usize>,
    radios: Vec<Radio>,
    causes: Vec<Party>,
    /// Whether the last packet has passed.
    is_over: bool,
}

impl<'a> Biller<'a> {
    fn new(recording: &'a Recording, device: &Device) -> Self {
        let mut meter = DeviceMeter::new(&device.radios, &device.device, Nanos::ZERO);
        let charged = meter.snapshot(Nanos::ZERO);
        let interfaces = device.radios.len();
        let idle = Span {
            phase: RadioPhase::Idle,
            since: Nanos::ZERO,
        };
        let radio = Radio {
            spans: vec![idle],
            ..Radio::default()
        };
        Biller {
            recording,
            meter,
            reading: charged.clone(),
            charged,
            phases: vec![RadioPhase::Idle; interfaces],
            owners: vec![None; interfaces],
            owner: None,
            radios: vec![radio; interfaces],
            causes: vec![Party::default(); recording.causes.len()],
            is_over: false,
        }
    }

    /// Time passes without a packet.
    fn let_pass(&mut self, to: Nanos) {
        while let Some(due) = self.meter.next_change().filter(|due| *due < to) {
            self.charge(due);
        }
        self.charge(to);
    }

    /// The connection of a cause is open from its first packet to its last one.
    fn packet(&mut self, packet: &Packet, is_last: bool) {
        let (interface, cause, at) = (packet.interface, packet.cause, packet.at);
        if self.causes[cause].packets == 0 {
            self.meter.open(interface, at);
        }
        // The gap that ends here is of the packet before.
        let was_idle = self.phases[interface] == RadioPhase::Idle;
        self.meter.wake(interface, at);
        self.charge(at);
        let woke = was_idle && self.phases[interface] != RadioPhase::Idle;
        (self.owners[interface], self.owner) = (Some(cause), Some(cause));
        self.meter
            .on_packet(interface, at, packet.bytes, packet.traffic, Nanos::ZERO);
        self.charge(at);
        self.radios[interface].used.count(packet, woke);
        self.causes[cause].count(packet, woke);
        if is_last {
            self.meter.close(interface, at);
        }
    }

    /// Charges all joules until `at`.
    fn charge(&mut self, at: Nanos) {
        self.meter.snapshot_into(at, &mut self.reading);
        for (interface, state) in self.meter.states().enumerate() {
            let (now, before) = (
                &self.reading.interfaces[interface],
                &self.charged.interfaces[interface],
            );
            let tail_j = now.tail_j - before.tail_j;
            let (promotion_j, tail_j) = match self.phases[interface] {
                RadioPhase::Promotion => (tail_j, 0.0),
                _ => (0.0, tail_j),
            };
            let (idle_j, active_j) = match (self.phases[interface], now.sunk_j - before.sunk_j) {
                // Only tails count then.
                _ if self.is_over => (0.0, 0.0),
                (RadioPhase::Idle, sunk_j) => (sunk_j, 0.0),
                (_, sunk_j) => (0.0, sunk_j),
            };
            let joules = Joules {
                promotion_j,
                transfer_j: now.transfer_j - before.transfer_j + active_j,
                tail_j,
                base_j: 0.0,
            };
            let radio = &mut self.radios[interface];
            radio.idle_j += idle_j;
            match self.owners[interface] {
                Some(cause) => {
                    self.causes[cause].joules.add(joules);
                    radio.used.joules.add(joules);
                }
                // A model that is always active, before its first packet.
                None => radio.idle_j += joules.total_j(),
            }
            let (phase, since) = (state.phase, state.since);
            if radio.spans.last().is_some_and(|span| span.phase != phase) {
                radio.spans.push(Span { phase, since });
            }
            self.phases[interface] = phase;
        }
        let base_j = self.reading.base_j - self.charged.base_j;
        if let Some(cause) = self.owner {
            self.causes[cause].joules.base_j += base_j;
        }
        std::mem::swap(&mut self.charged, &mut self.reading);
    }

    fn end(mut self) -> Bill {
        let mut end = self.recording.duration();
        self.is_over = true;
        while let Some(due) = self.meter.next_change() {
            self.charge(due);
            end = due;
        }
        let hosts = hosts(self.recording, &self.causes);
        Bill {
            radios: self.radios,
            causes: self.causes,
            hosts,
            end,
        }
    }
}

fn hosts(recording: &Recording, causes: &[Party]) -> Vec<(String, Party)> {
    let mut hosts = std::collections::BTreeMap::<&str, Party>::new();
    for (cause, party) in recording.causes.iter().zip(causes) {
        hosts.entry(&cause.host).or_default().merge(party);
    }
    let mut hosts: Vec<_> = hosts
        .into_iter()
        .map(|(host, party)| (host.to_owned(), party))
        .collect();
    hosts.sort_by(|a, b| b.1.joules.total_j().total_cmp(&a.1.joules.total_j()));
    hosts
}
