//! Hardware monitoring sensors (Linux, Documentation/hwmon/sysfs-interface.rst): INA2xx shunts,
//! USB-C meters of the driver `powerz`, and other chips with energy, power, or voltage and current.

use std::path::PathBuf;
use std::time::Instant;

use joulepath_model::units::{Joules, Watts};

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};
use crate::sysfs::{self, Tree};

const FOLDER: &str = "class/hwmon";

struct Hwmon {
    about: About,
    files: Files,
}

/// Files of a meter.
enum Files {
    /// µJ since an arbitrary start.
    Energy {
        file: PathBuf,
        first: Option<i64>,
        last: i64,
    },
    /// µW.
    Power(PathBuf),
    /// mV and mA.
    Product(PathBuf, PathBuf),
}

pub(super) fn meters(tree: &Tree) -> Vec<Result<Box<dyn Meter>>> {
    tree.list(FOLDER)
        .iter()
        .flat_map(|chip| of_chip(tree, chip))
        .collect()
}

fn of_chip(tree: &Tree, chip: &str) -> Vec<Result<Box<dyn Meter>>> {
    let folder = format!("{FOLDER}/{chip}");
    let driver = tree
        .word(&format!("{folder}/name"))
        .unwrap_or_else(|| chip.to_owned());
    let names = tree.list(&folder);
    let open = |files: Files, channel: &str, file: &str| -> Result<Box<dyn Meter>> {
        let label = tree
            .word(&format!("{folder}/{channel}_label"))
            .filter(|label| !label.is_empty());
        let unit = if matches!(files, Files::Energy { .. }) {
            Unit::Joules
        } else {
            Unit::Watts
        };
        let about = About {
            name: format!("hwmon:{driver}:{channel}"),
            place: tree.path(&format!("{folder}/{file}")).display().to_string(),
            measures: label.map_or("the circuit of its shunt".into(), |label| {
                format!("rail {label}")
            }),
            quality: Quality::Instrument,
            unit,
        };
        Ok(Box::new(Hwmon { about, files }))
    };
    let mut found = Vec::new();
    for name in &names {
        let file = tree.path(&format!("{folder}/{name}"));
        if let Some(channel) = numbered(name, "energy", "_input") {
            found.push(open(
                Files::Energy {
                    file,
                    first: None,
                    last: 0,
                },
                &channel,
                name,
            ));
        } else if let Some(channel) = numbered(name, "power", "_input") {
            found.push(open(Files::Power(file), &channel, name));
        } else if let Some(channel) = numbered(name, "power", "_average") {
            // The same sensor averaged by the chip: used only if there is no instantaneous value.
            if !names.contains(&format!("{channel}_input")) {
                found.push(open(Files::Power(file), &channel, name));
            }
        }
    }
    if found.is_empty() {
        found.extend(bus(tree, &folder, &names).map(|(volts, amperes)| {
            let files = Files::Product(tree.path(&format!("{folder}/{volts}")), amperes);
            open(files, "bus", &volts)
        }));
    }
    found
}

/// Voltage and current of the bus, if a chip measures both but no power: channels labelled VBUS and
/// IBUS (`powerz`), or the only ones.
fn bus(tree: &Tree, folder: &str, names: &[String]) -> Option<(String, PathBuf)> {
    let channel = |prefix: &str, label: &str| {
        let inputs: Vec<String> = names
            .iter()
            .filter_map(|name| numbered(name, prefix, "_input"))
            .collect();
        let labelled = inputs.iter().find(|channel| {
            tree.word(&format!("{folder}/{channel}_label")).as_deref() == Some(label)
        });
        labelled
            .or(inputs.first().filter(|_| inputs.len() == 1))
            .map(|channel| format!("{channel}_input"))
    };
    let (volts, amperes) = (channel("in", "VBUS")?, channel("curr", "IBUS")?);
    Some((volts, tree.path(&format!("{folder}/{amperes}"))))
}

/// `power1` of `power1_input`.
fn numbered(name: &str, prefix: &str, suffix: &str) -> Option<String> {
    let channel = name.strip_suffix(suffix)?;
    let number = channel.strip_prefix(prefix)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| channel.to_owned())
}

impl Meter for Hwmon {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        let value = match &mut self.files {
            Files::Energy { file, first, last } => {
                let now = sysfs::integer(file)?;
                let start = *first.get_or_insert(now);
                if now < *last && *last > start {
                    let message = format!(
                        "{}: the counter fell from {last} to {now} µJ",
                        self.about.name
                    );
                    return Err(Error::new(Kind::Failed, message)
                        .help("it was reset while it was read; try again"));
                }
                *last = now;
                Value::Energy(Joules((now - start) as f64 * 1e-6))
            }
            Files::Power(file) => Value::Power(Watts(sysfs::integer(file)? as f64 * 1e-6)),
            Files::Product(volts, amperes) => {
                let (millivolts, milliamperes) = (sysfs::integer(volts)?, sysfs::integer(amperes)?);
                // The sign gives the direction of the current.
                Value::Power(Watts(
                    (millivolts as f64 * 1e-3 * milliamperes as f64 * 1e-3).abs(),
                ))
            }
        };
        Ok(Reading {
            at: Instant::now(),
            value,
        })
    }
}
