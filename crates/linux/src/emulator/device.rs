//! The energy of the device, told to the simulator's meter packet by packet.

use std::collections::HashMap;

use joulepath_model::energy::meter::{DeviceMeter, EnergyReading};
use joulepath_model::energy::{InterfaceModel, Traffic};
use joulepath_model::scenario::Scenario;
use joulepath_model::units::{BitRate, Nanos};

use super::messages::End;
use super::packet::{Headers, TcpHeaders};

/// One subflow: line, the device's port, the server's port.
type Key = (usize, u16, u16);

/// Which ends of a subflow have sent their FIN.
type Finished = [bool; 2];

/// Meter, and which subflows are open: they burn the sunk power of linear models.
pub(super) struct Device {
    meter: DeviceMeter,
    /// Interface of each line, if the device pays for it.
    interfaces: Vec<Option<usize>>,
    subflows: HashMap<Key, Finished>,
}

impl Device {
    /// Its interfaces are the `paths` of the scenario, in their order; energy counts from time 0.
    pub(super) fn new(scenario: &Scenario, paths: &[usize], interfaces: Vec<Option<usize>>) -> Self {
        let model = |&path: &usize| scenario.paths[path].energy.model.clone();
        let models: Vec<InterfaceModel> = paths.iter().map(model).collect();
        let meter = DeviceMeter::new(&models, &scenario.device, Nanos::ZERO);
        Device { meter, interfaces, subflows: HashMap::new() }
    }

    /// A packet enters a line: does it open or close a subflow?
    pub(super) fn watch(&mut self, now_ns: u64, line: usize, direction: Traffic, headers: &Headers) {
        let (Some(interface), Some(tcp)) = (self.interfaces[line], headers.tcp) else { return };
        let key = key(line, direction, tcp);
        if tcp.opens() {
            if self.subflows.insert(key, [false; 2]).is_none() {
                self.meter.open(interface, Nanos(now_ns));
            }
        } else if tcp.finishes() || tcp.resets() {
            let Some(finished) = self.subflows.get_mut(&key) else { return };
            finished[direction as usize] = true;
            if tcp.resets() || *finished == [true; 2] {
                self.subflows.remove(&key);
                self.meter.close(interface, Nanos(now_ns));
            }
        }
    }

    /// A packet comes to the radio's link: when is the radio ready for it?
    pub(super) fn wake(&mut self, now_ns: u64, interface: usize) -> Nanos {
        self.meter.wake(interface, Nanos(now_ns))
    }

    /// The device sends or receives a packet of `size` bytes.
    pub(super) fn meter(&mut self, now_ns: u64, line: usize, direction: Traffic, size: u32) {
        if let Some(interface) = self.interfaces[line] {
            self.meter.on_packet(interface, Nanos(now_ns), size, direction);
        }
    }

    /// What the host did since the last call; a mean RTT of the network, without what the ends add.
    pub(super) fn sample_host(&mut self, now_ns: u64, rate: BitRate, mean_rtt: Nanos) {
        self.meter.host_sample(Nanos(now_ns), rate, mean_rtt, self.subflows.len() as u32);
    }

    /// Energy counts from here.
    pub(super) fn begin_measurement(&mut self, now_ns: u64) {
        self.meter.begin_measurement(Nanos(now_ns));
    }

    /// Joules so far.
    pub(super) fn read(&mut self, now_ns: u64, end: End) -> EnergyReading {
        match end {
            End::Running => self.meter.snapshot(Nanos(now_ns)),
            End::Cut => self.meter.clone().finish(Nanos(now_ns)),
            End::Tails => self.meter.clone().finish_with_tails(Nanos(now_ns)),
        }
    }
}

fn key(line: usize, direction: Traffic, tcp: TcpHeaders) -> Key {
    match direction {
        Traffic::Up => (line, tcp.source_port, tcp.destination_port),
        Traffic::Down => (line, tcp.destination_port, tcp.source_port),
    }
}
