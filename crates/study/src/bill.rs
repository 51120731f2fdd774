//! Bills of recorded traffic: the question in words.

use std::net::IpAddr;
use std::path::PathBuf;

use joulepath_bill::{Device, Recording, Statement, read, statement};
use joulepath_model::energy::{DeviceEnergy, InterfaceModel};
use joulepath_model::names::suggest;
use joulepath_model::units::Nanos;

use crate::advise::{base, energy_model, quantity};
use crate::error::{Error, Result};
use crate::files;

/// A question in words, as on the command line.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The pcap, pcapng or HAR file.
    pub file: PathBuf,
    /// `INTERFACE=MODEL`, or a model for all interfaces without one.
    pub radios: Vec<String>,
    /// A device, or the power that it uses while any radio is awake.
    pub device: Option<String>,
    /// Addresses of the device.
    pub addresses: Vec<String>,
    /// The longest waits to try.
    pub waits: Vec<String>,
}

/// Reads the recording and bills it.
///
/// # Errors
/// If the file cannot be read, a word is wrong, or an interface has no radio.
pub fn bill(words: &Words) -> Result<Statement> {
    let file = words.file.display().to_string();
    let addresses = words
        .addresses
        .iter()
        .map(|address| quantity::<IpAddr>("--address", address))
        .collect::<Result<Vec<_>>>()?;
    let waits = words
        .waits
        .iter()
        .map(|wait| match quantity("--wait", wait)? {
            Nanos::ZERO => Err(Error::usage("--wait: it must be longer than 0".to_owned())),
            wait => Ok(wait),
        })
        .collect::<Result<Vec<_>>>()?;
    let shared_base = words
        .device
        .as_deref()
        .map(base)
        .transpose()?
        .unwrap_or_default();
    let opened = files::open(&words.file, &format!("cannot read {file}"))?;
    let recording =
        read(opened, &addresses).map_err(|error| Error::usage(format!("{file}: {error}")))?;
    let (names, radios) = radios(&recording, &words.radios)?;
    let device = Device {
        names,
        radios,
        device: DeviceEnergy {
            shared_base,
            ..DeviceEnergy::additive()
        },
    };
    Ok(statement(file, recording, device, &waits))
}

/// Name and model of each interface's radio.
fn radios(recording: &Recording, words: &[String]) -> Result<(Vec<String>, Vec<InterfaceModel>)> {
    let interfaces: Vec<&str> = recording.interfaces.iter().map(String::as_str).collect();
    let mut of_all = None;
    let mut named = vec![None; interfaces.len()];
    for word in words {
        let (place, radio) = match word.split_once('=') {
            None => (&mut of_all, word.as_str()),
            Some((name, radio)) => match interfaces.iter().position(|known| *known == name) {
                Some(interface) => (&mut named[interface], radio),
                None => {
                    return Err(Error::usage(format!(
                        "--radio {word}: the recording has no interface `{name}`"
                    ))
                    .with_help(suggest(name, &interfaces)));
                }
            },
        };
        let model = energy_model("--radio", radio)?;
        if place.replace((radio.to_owned(), model)).is_some() {
            return Err(Error::usage(format!(
                "--radio {word}: its interface has a radio already"
            )));
        }
    }
    let radios =
        named
            .into_iter()
            .zip(&interfaces)
            .map(|(radio, interface)| {
                radio.or_else(|| of_all.clone()).ok_or_else(|| {
            Error::usage(format!("the interface `{interface}` has no radio")).with_help(format!(
                "add for example --radio {interface}=wifi6-2021 (`joulepath list energy`)"
            ))
        })
            });
    let radios = radios.collect::<Result<Vec<_>>>()?;
    Ok(radios.into_iter().unzip())
}
