//! Energy models in words, with their constants.

use joulepath_model::energy::{
    DeviceEnergy, HostCurve, HostModel, InterfaceModel, RrcModel, Stage, SunkWhile,
};
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
        // Paper 000, section V-A: b = 137 mW per Mbit/s, θ = 132.9 mW.
        let wifi = interface(&profile("wifi-seed000").unwrap().model);
        assert_eq!(wifi, "137 mW/Mbps down, 0 mW/Mbps up; 132.9 mW always");
        // Huang et al. 2012: LTE's β = 1288.04 mW, tail of 1060 mW for 11.576 s.
        let lte = interface(&profile("lte-huang2012").unwrap().model);
        assert!(lte.contains("active 1.28804 W") && lte.contains("tail 1.06 W for 11.576 s"), "{lte}");
    }
}
