//! The bill of a recording, and what it would be otherwise.

use joulepath_model::energy::{InterfaceModel, Traffic, Validity, profiles};
use joulepath_model::units::Nanos;

use crate::bill::{Bill, bill};
use crate::instead::{Elsewhere, Later, Manner, elsewhere, later};
use crate::recording::{Device, Recording};

/// Profiles measured before this year are no alternatives.
const SINCE: u16 = 2015;

/// A recording, what it cost and what it would have cost.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Name of the file.
    pub file: String,
    /// The traffic.
    pub recording: Recording,
    /// The radios.
    pub device: Device,
    /// Their joules.
    pub bill: Bill,
    /// Transfers later, both manners for each time.
    pub later: Vec<Later>,
    /// Each interface's traffic over other radios, cheapest first.
    pub elsewhere: Vec<Elsewhere>,
}

/// Bills `recording` as it is, with delays of at most each of `waits`, and over each radio of this
/// decade that is known to carry the rates of the recording.
pub fn statement(file: String, recording: Recording, device: Device, waits: &[Nanos]) -> Statement {
    let bill = bill(&recording, &device);
    let later = waits
        .iter()
        .flat_map(|wait| {
            [Manner::Wait, Manner::Batch].map(|manner| later(&recording, &device, manner, *wait))
        })
        .collect();
    let mut others = vec![];
    for (interface, own) in device.radios.iter().enumerate() {
        let rates = peak_mbps(&recording, interface);
        for (name, radio) in radios(rates).filter(|(_, radio)| radio != own) {
            others.push(elsewhere(&recording, &device, interface, (name, &radio)));
        }
    }
    others.sort_by(|a, b| {
        let joules = a.energy_j.total_cmp(&b.energy_j);
        a.interface.cmp(&b.interface).then(joules)
    });
    Statement {
        file,
        recording,
        device,
        bill,
        later,
        elsewhere: others,
    }
}

/// Radios with states, measured in this decade at these rates or higher ones.
fn radios(rates: [f64; 2]) -> impl Iterator<Item = (&'static str, InterfaceModel)> {
    profiles()
        .filter(move |profile| {
            profile.validity.is_some_and(
                |Validity {
                     year, rates: known, ..
                 }| {
                    let known = [known.down_mbps[1], known.up_mbps[1]];
                    year >= SINCE && rates.iter().zip(known).all(|(rate, known)| *rate <= known)
                },
            )
        })
        .map(|profile| (profile.name, profile.model()))
        .filter(|(_, model)| matches!(model, InterfaceModel::Rrc(_)))
}

/// Rates down and up in the busiest second of each, Mbit/s.
fn peak_mbps(recording: &Recording, interface: usize) -> [f64; 2] {
    let mut peaks = [0_u64; 2];
    let (mut second, mut bytes) = (0, [0_u64; 2]);
    for packet in recording
        .packets
        .iter()
        .filter(|packet| packet.interface == interface)
    {
        let its = packet.at.0 / 1_000_000_000;
        if its != second {
            (second, bytes) = (its, [0; 2]);
        }
        let place = match packet.traffic {
            Traffic::Down => 0,
            Traffic::Up => 1,
        };
        bytes[place] += u64::from(packet.bytes);
        peaks[place] = peaks[place].max(bytes[place]);
    }
    peaks.map(|bytes| bytes as f64 * 8.0 / 1e6)
}
