//! Joules by radio, phase, host and request.

use joulepath_model::energy::Traffic;
use joulepath_model::energy::attribution::{Attribution, PhaseEnergy};
use joulepath_model::energy::meter::{DeviceMeter, RadioPhase};
use joulepath_model::units::Nanos;
use serde::Serialize;

use crate::recording::{Device, Packet, Recording};

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
    pub joules: PhaseEnergy,
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
    /// Each interface; [`PhaseEnergy::base_j`] is 0.
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
    attribution: Attribution,
    radios: Vec<Radio>,
    causes: Vec<Party>,
}

impl<'a> Biller<'a> {
    fn new(recording: &'a Recording, device: &Device) -> Self {
        let mut meter = DeviceMeter::new(&device.radios, &device.device, Nanos::ZERO);
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
            attribution: Attribution::new(&mut meter, Nanos::ZERO),
            meter,
            radios: vec![radio; device.radios.len()],
            causes: vec![Party::default(); recording.causes.len()],
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
        let was_idle = self.attribution.is_idle(interface);
        self.meter.wake(interface, at);
        self.charge(at);
        let woke = was_idle && !self.attribution.is_idle(interface);
        self.attribution.own(interface, cause);
        self.meter
            .on_packet(interface, at, packet.bytes, packet.traffic, Nanos::ZERO);
        self.radios[interface].used.count(packet, woke);
        self.causes[cause].count(packet, woke);
        if is_last {
            self.meter.close(interface, at);
        }
    }

    /// Charges all joules until `at`.
    fn charge(&mut self, at: Nanos) {
        self.attribution.charge_at_once(&mut self.meter, at);
        for (radio, state) in self.radios.iter_mut().zip(self.meter.states()) {
            let (phase, since) = (state.phase, state.since);
            if radio.spans.last().is_some_and(|span| span.phase != phase) {
                radio.spans.push(Span { phase, since });
            }
        }
    }

    fn end(mut self) -> Bill {
        let mut end = self.recording.duration();
        self.charge(end);
        self.attribution.end();
        while let Some(due) = self.meter.next_change() {
            self.charge(due);
            end = due;
        }
        for (party, joules) in self.causes.iter_mut().zip(self.attribution.causes()) {
            party.joules = *joules;
        }
        let interfaces = self.attribution.interfaces().iter();
        let used = interfaces.zip(self.attribution.idle_j());
        for (radio, (joules, idle_j)) in self.radios.iter_mut().zip(used) {
            (radio.used.joules, radio.idle_j) = (*joules, *idle_j);
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
