//! Bills of recorded traffic: the question in words.

use std::net::IpAddr;
use std::path::PathBuf;

use joulepath_bill::{Device, Recording, Statement, read, statement};
use joulepath_model::energy::{DeviceEnergy, InterfaceModel};
use joulepath_model::names::suggest;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use crate::advise::{base, energy_model, quantity};
use crate::error::{Error, Result};
use crate::files;

/// A question in words. The fields are the options of the command, with their help, and the
/// arguments in Python.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// A pcap, pcapng or HAR file.
    #[cfg_attr(feature = "clap", arg(value_name = "FILE"))]
    pub file: PathBuf,
    /// Energy model of an interface: a profile (`joulepath list energy`), or slope+power such as
    /// 52mW/Mbps+1288mW. Without INTERFACE, of all others. May be repeated.
    #[cfg_attr(
        feature = "clap",
        arg(long = "radio", value_name = "[INTERFACE=]MODEL")
    )]
    pub radios: Vec<String>,
    /// A device (`joulepath list energy`), or the power that it uses while any radio is awake; 0 if
    /// absent.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME|POWER"))]
    pub device: Option<String>,
    /// Address of the device, if it did not open the recorded connections. May be repeated.
    #[cfg_attr(feature = "clap", arg(long = "address", value_name = "ADDRESS"))]
    pub addresses: Vec<String>,
    /// How long transfers may wait for others, to see what that saves. May be repeated.
    #[cfg_attr(feature = "clap", arg(long = "wait", value_name = "TIME"))]
    #[cfg_attr(feature = "clap", arg(default_values = ["10 s", "1 min", "10 min"]))]
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
