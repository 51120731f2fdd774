//! The energy of the device: passes every packet to the simulator's meter.

use std::collections::HashMap;

use joulepath_model::energy::attribution::Attribution;
use joulepath_model::energy::meter::{DeviceMeter, EnergyReading, RadioState};
use joulepath_model::energy::{InterfaceModel, Traffic};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::{BitRate, Nanos};

use super::capture::Capture;
use super::messages::End;
use super::packet::{Headers, TcpHeaders};

/// One subflow: tunnel, the device's port, the server's port.
type Key = (usize, u16, u16);

/// For each end of a subflow: true if it has sent its FIN.
type Finished = [bool; 2];

/// The meter, and the open subflows, which consume the sunk power of linear models.
pub(super) struct Device {
    meter: DeviceMeter,
    /// Interface of each tunnel, if the device pays for its energy.
    interfaces: Vec<Option<usize>>,
    subflows: HashMap<Key, Finished>,
    /// Joules by service, if they are counted.
    attribution: Option<Attribution>,
}

impl Device {
    /// A device whose interfaces are the scenario's `paths`, in this order. Its energy counts from
    /// time 0, also by service if `attributes`.
    pub(super) fn new(
        scenario: &Scenario,
        paths: &[usize],
        interfaces: Vec<Option<usize>>,
        attributes: bool,
    ) -> Self {
        let model = |&path: &usize| scenario.paths[path].energy.model.clone();
        let models: Vec<InterfaceModel> = paths.iter().map(model).collect();
        let mut meter = DeviceMeter::new(&models, &scenario.device, Nanos::ZERO);
        scenario.follow_signals(&mut meter, paths);
        Device {
            attribution: attributes.then(|| Attribution::new(&mut meter, Nanos::ZERO)),
            meter,
            interfaces,
            subflows: HashMap::new(),
        }
    }

    /// True if it counts joules by service.
    pub(super) fn attributes(&self) -> bool {
        self.attribution.is_some()
    }

    /// Checks if a packet that enters a tunnel opens or closes a subflow.
    pub(super) fn watch(
        &mut self,
        now_ns: u64,
        tunnel: usize,
        direction: Traffic,
        headers: &Headers,
    ) {
        let (Some(interface), Some(tcp)) = (self.interfaces[tunnel], headers.tcp) else {
            return;
        };
        let key = key(tunnel, direction, tcp);
        if tcp.opens() {
            if self.subflows.insert(key, [false; 2]).is_none() {
                self.meter.open(interface, Nanos(now_ns));
            }
        } else if tcp.finishes() || tcp.resets() {
            let Some(finished) = self.subflows.get_mut(&key) else {
                return;
            };
            finished[direction as usize] = true;
            if tcp.resets() || *finished == [true; 2] {
                self.subflows.remove(&key);
                self.meter.close(interface, Nanos(now_ns));
            }
        }
    }

    /// Wakes the radio for a packet at its link; returns when the radio is ready. The service pays
    /// for the promotion.
    pub(super) fn wake(&mut self, now_ns: u64, interface: usize, service: usize) -> Nanos {
        if let Some(attribution) = &mut self.attribution {
            attribution.charge(&mut self.meter, Nanos(now_ns));
            if attribution.is_idle(interface) {
                attribution.own(interface, service);
                let ready = self.meter.wake(interface, Nanos(now_ns));
                attribution.charge_at_once(&mut self.meter, Nanos(now_ns));
                return ready;
            }
        }
        self.meter.wake(interface, Nanos(now_ns))
    }

    /// The link at an interface will transmit packets to the device until `until`.
    pub(super) fn foretell(&mut self, now_ns: u64, interface: usize, until: Nanos) {
        self.meter.foretell(interface, Nanos(now_ns), until);
    }

    /// Counts a packet of `size` bytes that the device sends or receives, with its
    /// [air time](DeviceMeter::on_packet).
    pub(super) fn meter(
        &mut self,
        now_ns: u64,
        tunnel: usize,
        direction: Traffic,
        size: u32,
        air: Nanos,
        service: usize,
    ) {
        if let Some(interface) = self.interfaces[tunnel] {
            if let Some(attribution) = &mut self.attribution {
                attribution.charge(&mut self.meter, Nanos(now_ns));
                attribution.own(interface, service);
            }
            self.meter
                .on_packet(interface, Nanos(now_ns), size, direction, air);
        }
    }

    /// Passes the traffic since the last call to the host's energy model. The mean RTT is the
    /// network's, without the ends' delay.
    pub(super) fn sample_host(&mut self, now_ns: u64, rate: BitRate, mean_rtt: Nanos) {
        self.meter
            .host_sample(Nanos(now_ns), rate, mean_rtt, self.subflows.len() as u32);
    }

    /// Starts counting the energy from now on.
    pub(super) fn begin_measurement(&mut self, now_ns: u64) {
        self.meter.begin_measurement(Nanos(now_ns));
        if self.attribution.is_some() {
            self.attribution = Some(Attribution::new(&mut self.meter, Nanos(now_ns)));
        }
    }

    /// What the radios have done since the last call, for a capture.
    pub(super) fn comments(&mut self, capture: &mut Capture, now_ns: u64) -> Vec<String> {
        let Device { meter, .. } = self;
        let states: Vec<RadioState> = meter.states().collect();
        capture.changes(states.into_iter(), || meter.snapshot(Nanos(now_ns)))
    }

    /// The energy so far, and its causes if they are counted.
    pub(super) fn read(&mut self, now_ns: u64, end: End) -> (EnergyReading, Option<Attribution>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.charge(&mut self.meter, Nanos(now_ns));
        }
        let energy = self.energy(now_ns, end);
        let attribution = self.attribution.clone();
        let attribution = attribution.map(|attribution| attribution.finish(&energy));
        (energy, attribution)
    }

    /// The energy so far.
    pub(super) fn energy(&mut self, now_ns: u64, end: End) -> EnergyReading {
        match end {
            End::Running => self.meter.snapshot(Nanos(now_ns)),
            End::Cut => self.meter.clone().finish(Nanos(now_ns)),
            End::Tails => self.meter.clone().finish_with_tails(Nanos(now_ns)),
        }
    }
}

fn key(tunnel: usize, direction: Traffic, tcp: TcpHeaders) -> Key {
    match direction {
        Traffic::Up => (tunnel, tcp.source_port, tcp.destination_port),
        Traffic::Down => (tunnel, tcp.destination_port, tcp.source_port),
    }
}
