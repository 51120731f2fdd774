//! RAPL through powercap: energy of processors and memory as they report it (Linux,
//! Documentation/power/powercap/powercap.rst).
//!
//! Zones overlap. A zone contains its subzones (`intel-rapl:0` contains `intel-rapl:0:0`), `psys`
//! contains the packages, and `intel-rapl-mmio` shows a package again. So only packages of one
//! control type are summed. A package of several dies has a zone for each: on Intel with a counter
//! of its own, on AMD all with the counter of the package, which then counts once.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use joulepath_model::units::Joules;

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};
use crate::sysfs::{self, Tree};

const FOLDER: &str = "class/powercap";
/// Pauses between the comparisons of counters, ms. Counters that differ in all of them are
/// different: one that a driver updates die by die differs only for moments.
const PAUSES_MS: [u64; 7] = [0, 5, 10, 20, 40, 80, 160];
const JOULES_PER_MICROJOULE: f64 = 1e-6;

/// A zone, or several that do not overlap.
struct Rapl {
    about: About,
    zones: Vec<Zone>,
}

/// A counter that wraps around at its range.
struct Zone {
    file: PathBuf,
    /// The counter's range, µJ.
    range: u64,
    /// The last reading, µJ.
    last: Option<u64>,
    /// Total since the first reading, µJ.
    total: u64,
    /// Earlier zones of the meter that may show the same counter: other dies of the package. As
    /// long as there are any, the zone does not count.
    same_as: Vec<usize>,
}

/// All zones, and the sum of the packages if there are several.
pub(super) fn meters(tree: &Tree) -> Vec<Result<Box<dyn Meter>>> {
    let names = tree.list(FOLDER);
    let zones: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("intel-rapl") && name.contains(':'))
        .collect();
    let mut found: Vec<Result<Box<dyn Meter>>> = Vec::new();
    let packages: Vec<&String> = zones
        .iter()
        .copied()
        .filter(|zone| is_package(tree, zone))
        .collect();
    if packages.len() > 1 {
        let mut sockets: Vec<String> = packages
            .iter()
            .map(|zone| package(&label(tree, zone)).into())
            .collect();
        sockets.dedup();
        let measures = match sockets.len() {
            1 => "the dies of a processor package together".into(),
            more => format!("{more} processor packages together"),
        };
        found.push(open(
            tree,
            "rapl".into(),
            FOLDER.into(),
            measures,
            &packages,
        ));
    }
    for zone in &zones {
        let label = label(tree, zone);
        let whole = parent(zone).map(|parent| self::label(tree, parent));
        // Two control types may show the same zone; the folder distinguishes them.
        let by_mmio = if zone.starts_with("intel-rapl-mmio") {
            "mmio:"
        } else {
            ""
        };
        let (name, measures) = match &whole {
            Some(whole) => (
                format!("rapl:{by_mmio}{whole}/{label}"),
                format!("a part of {whole}"),
            ),
            None => (format!("rapl:{by_mmio}{label}"), whole_zone(&label)),
        };
        found.push(open(
            tree,
            name,
            format!("{FOLDER}/{zone}/energy_uj"),
            measures,
            &[zone],
        ));
    }
    found
}

fn whole_zone(label: &str) -> String {
    match label {
        "psys" => "the platform; contains the packages".into(),
        _ => "a processor package with all its parts".into(),
    }
}

/// True for a package at the top of the control type `intel-rapl`: only these do not overlap.
fn is_package(tree: &Tree, zone: &str) -> bool {
    zone.starts_with("intel-rapl:")
        && parent(zone).is_none()
        && label(tree, zone).starts_with("package-")
}

/// `package-0` of `package-0-die-1`.
fn package(label: &str) -> &str {
    label
        .split_once("-die-")
        .map_or(label, |(package, _)| package)
}

/// `intel-rapl:0` of `intel-rapl:0:1`; `None` for a top zone.
fn parent(zone: &str) -> Option<&str> {
    zone.rsplit_once(':')
        .map(|(parent, _)| parent)
        .filter(|parent| parent.contains(':'))
}

fn label(tree: &Tree, zone: &str) -> String {
    tree.word(&format!("{FOLDER}/{zone}/name"))
        .unwrap_or_else(|| zone.to_owned())
}

fn open(
    tree: &Tree,
    name: String,
    place: String,
    measures: String,
    zones: &[&String],
) -> Result<Box<dyn Meter>> {
    let labels: Vec<String> = zones.iter().map(|zone| label(tree, zone)).collect();
    let zone = |(index, zone): (usize, &&String)| {
        let range = tree.integer(&format!("{FOLDER}/{zone}/max_energy_range_uj"))?;
        let file = tree.path(&format!("{FOLDER}/{zone}/energy_uj"));
        let range = u64::try_from(range)
            .ok()
            .filter(|range| *range > 0)
            .ok_or_else(|| {
                Error::new(
                    Kind::Failed,
                    format!("{name}: invalid counter range of {range} µJ"),
                )
            })?;
        let is_die = |other: &usize| {
            labels[*other] != labels[index] && package(&labels[*other]) == package(&labels[index])
        };
        let same_as = (0..index).filter(is_die).collect();
        Ok(Zone {
            file,
            range,
            last: None,
            total: 0,
            same_as,
        })
    };
    let zones = zones
        .iter()
        .enumerate()
        .map(zone)
        .collect::<Result<Vec<_>>>()?;
    let place = tree.path(&place).display().to_string();
    let about = About {
        name,
        place,
        measures,
        quality: Quality::HostShare,
        unit: Unit::Joules,
    };
    Ok(Box::new(Rapl { about, zones }))
}

impl Meter for Rapl {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        for zone in &mut self.zones {
            zone.advance()?;
        }
        self.separate()?;
        // A counter that turns out to be another one has its total since the first reading.
        let counted = self.zones.iter().filter(|zone| zone.same_as.is_empty());
        let total: u64 = counted.map(|zone| zone.total).sum();
        let value = Value::Energy(Joules(total as f64 * JOULES_PER_MICROJOULE));
        Ok(Reading {
            at: Instant::now(),
            value,
        })
    }
}

impl Rapl {
    /// Counts the zones from now on whose counters are no other zone's.
    fn separate(&mut self) -> Result<()> {
        let mut apart: Vec<(usize, usize)> = (0..self.zones.len())
            .flat_map(|index| {
                self.zones[index]
                    .same_as
                    .iter()
                    .map(move |&other| (other, index))
            })
            .collect();
        for pause in PAUSES_MS {
            if apart.is_empty() {
                return Ok(());
            }
            sleep(Duration::from_millis(pause));
            let mut still = vec![];
            for (one, other) in apart {
                if !self.is_same(one, other)? {
                    still.push((one, other));
                }
            }
            apart = still;
        }
        for (one, other) in apart {
            self.zones[other].same_as.retain(|zone| *zone != one);
        }
        Ok(())
    }

    /// True if the counter of one zone lies between two readings of the other.
    fn is_same(&mut self, one: usize, other: usize) -> Result<bool> {
        let before = self.zones[one].advance()?;
        let between = self.zones[other].advance()?;
        let after = self.zones[one].advance()?;
        let range = self.zones[one].range;
        let since = |counter: u64| (counter + range).saturating_sub(before) % range;
        Ok(since(between) <= since(after))
    }
}

impl Zone {
    /// Reads the counter, µJ.
    fn advance(&mut self) -> Result<u64> {
        let now = sysfs::integer(&self.file).map_err(|error| match error.kind {
            Kind::Permission => error.help(
                "only root may read it; `joulepath doctor --udev-rule` prints a rule for a group",
            ),
            _ => error,
        })?;
        let now = u64::try_from(now).map_err(|_| {
            Error::new(Kind::Failed, format!("{} is negative", self.file.display()))
        })?;
        if let Some(last) = self.last {
            let wrapped = now < last;
            self.total += if wrapped {
                now + self.range.saturating_sub(last)
            } else {
                now - last
            };
        }
        self.last = Some(now);
        Ok(now)
    }
}
