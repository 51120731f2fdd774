//! The device's batteries (Linux, Documentation/ABI/testing/sysfs-class-power): their power while
//! nothing else feeds the device.

use std::time::Instant;

use joulepath_model::units::Watts;

use crate::error::{Error, Kind, Result};
use crate::meter::{About, Meter, Quality, Reading, Unit, Value};
use crate::sysfs::Tree;

const FOLDER: &str = "class/power_supply";

/// All batteries of the device together: two batteries are often drained in turn.
struct Battery {
    about: About,
    tree: Tree,
    names: Vec<String>,
}

pub(super) fn meters(tree: &Tree) -> Vec<Result<Box<dyn Meter>>> {
    let names: Vec<String> = tree
        .list(FOLDER)
        .into_iter()
        .filter(|name| is_battery(tree, name))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let silent = names.iter().find(|name| !tells_power(tree, name));
    if let Some(name) = silent {
        let message = format!("battery: {name} reports neither power nor current and voltage");
        return vec![Err(Error::new(Kind::Unsupported, message))];
    }
    let place = tree
        .path(&format!("{FOLDER}/{}", names.join(",")))
        .display()
        .to_string();
    let about = About {
        name: "battery".into(),
        place,
        measures: "the whole device, on battery".into(),
        quality: Quality::Gauge,
        unit: Unit::Watts,
    };
    vec![Ok(Box::new(Battery {
        about,
        tree: tree.clone(),
        names,
    }))]
}

fn word(tree: &Tree, name: &str, file: &str) -> String {
    tree.word(&format!("{FOLDER}/{name}/{file}"))
        .unwrap_or_default()
}

fn is_battery(tree: &Tree, name: &str) -> bool {
    // Batteries of peripherals such as mice have the scope `Device`.
    word(tree, name, "type") == "Battery" && word(tree, name, "scope") != "Device"
}

fn tells_power(tree: &Tree, name: &str) -> bool {
    let has = |file: &str| tree.has(&format!("{FOLDER}/{name}/{file}"));
    has("power_now") || has("current_now") && has("voltage_now")
}

impl Battery {
    /// Refuses a battery that does not supply the whole device.
    fn check(&self) -> Result<()> {
        let refuse =
            |why: String| Err(Error::new(Kind::Refused, why).help("pull the plug, then try again"));
        let mut discharging = false;
        for name in &self.names {
            match word(&self.tree, name, "status").as_str() {
                "Discharging" => discharging = true,
                "Charging" => return refuse(format!("battery: {name} is being charged")),
                _ => {}
            }
        }
        if !discharging {
            let status = word(&self.tree, &self.names[0], "status");
            return refuse(format!(
                "battery: {} is not discharging (`{status}`)",
                self.names[0]
            ));
        }
        // `online` is 1 for a fixed voltage, 2 for a programmable one. Supplies of peripherals do
        // not count.
        let feeds = |name: &String| {
            word(&self.tree, name, "type") != "Battery"
                && word(&self.tree, name, "scope") != "Device"
                && !matches!(word(&self.tree, name, "online").as_str(), "" | "0")
        };
        match self.tree.list(FOLDER).into_iter().find(feeds) {
            Some(mains) => refuse(format!(
                "battery: {mains} is plugged in and supplies a part of the power"
            )),
            None => Ok(()),
        }
    }

    fn power(&self, name: &str) -> Result<f64> {
        let number = |file: &str| self.tree.integer(&format!("{FOLDER}/{name}/{file}"));
        // Some drivers report discharge as negative.
        if self.tree.has(&format!("{FOLDER}/{name}/power_now")) {
            return number("power_now").map(|microwatts| (microwatts as f64 * 1e-6).abs());
        }
        let (microamperes, microvolts) = (number("current_now")?, number("voltage_now")?);
        Ok((microamperes as f64 * 1e-6 * microvolts as f64 * 1e-6).abs())
    }
}

impl Meter for Battery {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self) -> Result<Reading> {
        self.check()?;
        let powers = self
            .names
            .iter()
            .map(|name| self.power(name))
            .collect::<Result<Vec<f64>>>()?;
        Ok(Reading {
            at: Instant::now(),
            value: Value::Power(Watts(powers.iter().sum())),
        })
    }
}
