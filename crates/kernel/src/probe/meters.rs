//! Energy meters of the machine.

use std::io;

use super::finding::Finding;
use super::status::Process;
use super::system::System;

/// Directory of RAPL's zones.
const POWERCAP: &str = "/sys/class/powercap";
const POWER_SUPPLY: &str = "/sys/class/power_supply";
const HWMON: &str = "/sys/class/hwmon";

/// A udev rule that lets the group `joulepath` read RAPL. Since Linux 5.10 only root may: the
/// counters are precise enough to reveal what other programs compute (CVE-2020-8694). So the rule
/// admits a group, not every user.
pub const RAPL_RULE: &str = "\
ACTION==\"add|change\", SUBSYSTEM==\"powercap\", KERNEL==\"intel-rapl*:*\", \
RUN+=\"/bin/chgrp joulepath /sys%p/energy_uj\", RUN+=\"/bin/chmod g+r /sys%p/energy_uj\"
";

pub(super) fn rapl(system: &dyn System) -> Finding {
    let names = system.list(POWERCAP).unwrap_or_default();
    let zones: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("intel-rapl") && name.contains(':'))
        .collect();
    if zones.is_empty() {
        return no_rapl(system);
    }
    let label = |zone: &&String| {
        let name = system.read(&format!("{POWERCAP}/{zone}/name"));
        name.map_or_else(|_| (**zone).clone(), |text| text.trim().to_owned())
    };
    let labels = zones.iter().map(label).collect::<Vec<_>>().join(", ");
    let energy = |zone: &&String| system.read(&format!("{POWERCAP}/{zone}/energy_uj"));
    match zones.iter().map(energy).find_map(Result::err) {
        None => Finding::ok(labels),
        Some(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rapl_denied(system, &labels)
        }
        Some(error) => Finding::limited(format!("{labels}: {error}")),
    }
}

fn rapl_denied(system: &dyn System, labels: &str) -> Finding {
    let process = Process::of(system);
    Finding::denied(format!("{labels}: only root may read"))
        .fix(process.as_root("groupadd --force --system joulepath"))
        .fix(process.as_root("usermod --append --groups joulepath $USER"))
        .fix(format!(
            "joulepath doctor --udev-rule | {}",
            process.as_root("tee /etc/udev/rules.d/60-rapl.rules")
        ))
        .fix(process.as_root("udevadm control --reload"))
        .fix(process.as_root("udevadm trigger --subsystem-match=powercap"))
}

fn no_rapl(system: &dyn System) -> Finding {
    let processor = system.read("/proc/cpuinfo").unwrap_or_default();
    let flag = |name: &str| processor.split_whitespace().any(|word| word == name);
    if flag("hypervisor") {
        return Finding::missing("no zones: a virtual machine does not see its host's");
    }
    match flag("GenuineIntel") || flag("AuthenticAMD") {
        true => {
            Finding::missing("no zones").fix(Process::of(system).as_root("modprobe intel_rapl_msr"))
        }
        false => Finding::missing("no zones: this processor has none"),
    }
}

pub(super) fn battery(system: &dyn System) -> Finding {
    let names = system.list(POWER_SUPPLY).unwrap_or_default();
    let read = |name: &str, file: &str| system.read(&format!("{POWER_SUPPLY}/{name}/{file}"));
    let is_battery = |name: &&String| {
        let word = |file| read(name, file).unwrap_or_default().trim().to_owned();
        // A mouse has a battery, too, with the scope `Device`.
        word("type") == "Battery" && word("scope") != "Device"
    };
    let Some(name) = names.iter().find(is_battery) else {
        return Finding::missing("none");
    };
    let has = |file| read(name, file).is_ok();
    let tells_power = has("power_now") || has("current_now") && has("voltage_now");
    if !tells_power {
        return Finding::limited(format!("{name} reports no power"));
    }
    match read(name, "status").unwrap_or_default().trim() {
        "Discharging" => Finding::ok(format!("{name}, discharging")),
        _ => Finding::limited(format!(
            "{name} shows what the device draws only on battery"
        ))
        .advise("pull the plug"),
    }
}

pub(super) fn hwmon(system: &dyn System) -> Finding {
    let mut sensors = Vec::new();
    let mut denied = false;
    for chip in system.list(HWMON).unwrap_or_default() {
        let folder = format!("{HWMON}/{chip}");
        let label = system
            .read(&format!("{folder}/name"))
            .unwrap_or_else(|_| chip.clone());
        for file in system
            .list(&folder)
            .unwrap_or_default()
            .iter()
            .filter(|file| measures_energy(file))
        {
            let reading = system.read(&format!("{folder}/{file}"));
            denied |= reading.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            sensors.push(format!("{} {file}", label.trim()));
        }
    }
    match (sensors.is_empty(), denied) {
        (true, _) => Finding::missing("no sensor of energy or power"),
        (false, false) => Finding::ok(sensors.join(", ")),
        (false, true) => Finding::denied(format!("{}: only root may read", sensors.join(", ")))
            .fix("sudo joulepath doctor"),
    }
}

/// `energy1_input` (µJ), `power1_input` and `power1_average` (µW).
fn measures_energy(file: &str) -> bool {
    let numbered = |prefix: &str, suffix: &str| {
        let number = file
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(suffix));
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    numbered("energy", "_input") || numbered("power", "_input") || numbered("power", "_average")
}
