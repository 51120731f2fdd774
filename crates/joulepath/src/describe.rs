//! Energy models in words, with their constants.

use joulepath_model::energy::{DeviceEnergy, HostCurve, HostModel, InterfaceModel, RrcModel, Stage, SunkWhile};
use joulepath_model::units::JoulesPerBit;

/// The constants of an interface's model.
pub(crate) fn interface(model: &InterfaceModel) -> String {
    match model {
        InterfaceModel::Linear { down, up, sunk, sunk_while } => {
            let when = match sunk_while {
                SunkWhile::Always => "always",
                SunkWhile::Open => "while a subflow is open",
            };
            format!("{}; {sunk} {when}", traffic(*down, *up))
        }
        InterfaceModel::Rrc(model) => rrc(model),
        InterfaceModel::Slotted { transfer, idle, slot } => {
            format!("{transfer} while it carries data; {idle} in idle slots of {slot}")
        }
    }
}

fn traffic(down: JoulesPerBit, up: JoulesPerBit) -> String {
    if down == up { format!("{down} down and up") } else { format!("{down} down, {up} up") }
}

fn rrc(model: &RrcModel) -> String {
    let stage = |stage: &Stage| format!("{} for {}", stage.power, stage.duration);
    let tail = match model.tail.as_slice() {
        [] => format!("active for {} after the last packet", model.inactivity),
        stages => format!("tail {}", stages.iter().map(stage).collect::<Vec<_>>().join(", then ")),
    };
    format!(
        "{}; active {}; promotion {}; {tail}; idle {}",
        traffic(model.down, model.up),
        model.active,
        stage(&model.promotion),
        model.idle
    )
}

/// The constants of a device's model.
pub(crate) fn device(device: &DeviceEnergy) -> String {
    let mut parts = vec![];
    if device.shared_base.0 > 0.0 {
        parts.push(format!("{} while an interface is active", device.shared_base));
    }
    if device.sharing_factor != 1.0 {
        parts.push(format!("interfaces times {} while two or more are active", device.sharing_factor));
    }
    parts.extend(device.host.as_ref().map(host));
    if parts.is_empty() { "the sum of the interfaces".to_owned() } else { parts.join("; ") }
}

fn host(host: &HostModel) -> String {
    let curve = match host.curve {
        HostCurve::Wired { exponent } => format!("1 + 0.15 ((R - 200) / 800)^{exponent}"),
        HostCurve::Wifi => "(34.4 + R) / 44.4".to_owned(),
    };
    format!(
        "host: {} times {curve}, R in Mbit/s; delay weight {}, subflow weight {}",
        host.unit, host.delay_weight, host.subflow_weight
    )
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;

    use super::*;

    #[test]
    fn constants_carry_their_units() {
        // Paper 000, table 1: b = 137.01 mW per Mbit/s, θ = 132.86 mW.
        let wifi = interface(&profile("wifi-seed000").unwrap().model);
        assert!(wifi.contains("137.01 ") && wifi.contains("132.86 mW always"), "{wifi}");
        // Huang et al. 2012: LTE's β = 1288 mW, tail 1060 mW for 11.576 s.
        let lte = interface(&profile("lte-huang2012").unwrap().model);
        assert!(lte.contains("active 1.288 W") && lte.contains("for 11.576 s"), "{lte}");
    }
}
