//! The same traffic at other times or over another radio.

use joulepath_model::energy::InterfaceModel;
use joulepath_model::units::Nanos;
use serde::Serialize;

use crate::bill::bill;
use crate::recording::{Device, Packet, Recording};

/// A pause after which a transfer of an interface is over.
const PAUSE: Nanos = Nanos::from_secs(1);

/// How transfers are delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// A transfer that finds its radio asleep waits, and later ones with it. All start when the
    /// first has waited for the whole time.
    Wait,
    /// Transfers start at multiples of the time.
    Batch,
}

/// The joules of delayed transfers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Later {
    /// How they are delayed.
    pub manner: Manner,
    /// The longest wait, s.
    pub longest_s: f64,
    /// Mean delay of a transfer, s.
    pub mean_delay_s: f64,
    /// All joules without idle power.
    pub energy_j: f64,
}

/// The joules of one interface's traffic over another radio.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elsewhere {
    /// Index of the interface.
    pub interface: usize,
    /// Name of the radio.
    pub radio: String,
    /// All joules without idle power.
    pub energy_j: f64,
}

/// Bills the recording with transfers delayed by at most `longest`. A transfer ends with a pause of
/// a second on its interface; those that start together follow one another.
pub fn later(recording: &Recording, device: &Device, manner: Manner, longest: Nanos) -> Later {
    let mut delayed = Delayed::default();
    for interface in 0..recording.interfaces.len() {
        let stay = stay(&device.radios[interface]);
        delayed.interface(recording, interface, stay, |start, awake| match manner {
            Manner::Wait if awake.is_some_and(|awake| start <= awake) => start,
            Manner::Wait => start.saturating_add(longest),
            Manner::Batch => Nanos(start.0.div_ceil(longest.0.max(1)) * longest.0.max(1)),
        });
    }
    let mean_delay_s = delayed.delays_s / delayed.transfers.max(1) as f64;
    let later = Recording {
        interfaces: recording.interfaces.clone(),
        causes: recording.causes.clone(),
        packets: delayed.packets,
        notes: vec![],
    }
    .in_order();
    Later {
        manner,
        longest_s: longest.as_secs_f64(),
        mean_delay_s,
        energy_j: bill(&later, device).total_j(),
    }
}

/// Bills the recording with the packets of `interface` over `radio`, at the same times.
pub fn elsewhere(
    recording: &Recording,
    device: &Device,
    interface: usize,
    radio: (&str, &InterfaceModel),
) -> Elsewhere {
    let mut device = device.clone();
    device.radios[interface] = radio.1.clone();
    Elsewhere {
        interface,
        radio: radio.0.to_owned(),
        energy_j: bill(recording, &device).total_j(),
    }
}

/// How long a radio stays awake after a packet.
fn stay(radio: &InterfaceModel) -> Nanos {
    match radio {
        InterfaceModel::Rrc(model) => model
            .tail
            .iter()
            .fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.duration)),
        InterfaceModel::Linear { .. } | InterfaceModel::Slotted { .. } => Nanos::ZERO,
    }
}

#[derive(Default)]
struct Delayed {
    packets: Vec<Packet>,
    transfers: u64,
    delays_s: f64,
}

impl Delayed {
    /// `release`: when a transfer starts that would start at a time, and until when the radio is
    /// awake.
    fn interface(
        &mut self,
        recording: &Recording,
        interface: usize,
        stay: Nanos,
        release: impl Fn(Nanos, Option<Nanos>) -> Nanos,
    ) {
        let of_it: Vec<Packet> = recording
            .packets
            .iter()
            .copied()
            .filter(|packet| packet.interface == interface)
            .collect();
        let (mut released, mut over): (Option<Nanos>, Option<Nanos>) = (None, None);
        for transfer in of_it.chunk_by(|a, b| b.at.saturating_sub(a.at) <= PAUSE) {
            let start = transfer[0].at;
            let at = released
                .filter(|released| *released >= start)
                .unwrap_or_else(|| release(start, over.map(|over| over.saturating_add(stay))));
            released = Some(at);
            let begin = at.max(over.unwrap_or(Nanos::ZERO)).max(start);
            let delay = begin.saturating_sub(start);
            self.transfers += 1;
            self.delays_s += delay.as_secs_f64();
            self.packets.extend(transfer.iter().map(|packet| Packet {
                at: packet.at.saturating_add(delay),
                ..*packet
            }));
            over = self.packets.last().map(|packet| packet.at);
        }
    }
}
