//! Energy models in words, with their constants.

use std::fmt;

use super::{DeviceEnergy, HostCurve, HostModel, InterfaceModel, RrcModel, Stage, SunkWhile};
use crate::units::JoulesPerBit;

impl fmt::Display for InterfaceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InterfaceModel::Linear {
                down,
                up,
                sunk,
                sunk_while,
            } => {
                let when = match sunk_while {
                    SunkWhile::Always => "always",
                    SunkWhile::Open => "while a subflow is open",
                };
                write!(f, "{}; {sunk} {when}", traffic(*down, *up))
            }
            InterfaceModel::Rrc(model) => f.write_str(&rrc(model)),
            InterfaceModel::Slotted {
                transfer,
                idle,
                slot,
            } => {
                write!(
                    f,
                    "{transfer} while it carries data; {idle} in idle slots of {slot}"
                )
            }
        }
    }
}

fn traffic(down: JoulesPerBit, up: JoulesPerBit) -> String {
    if down == up {
        format!("{down} down and up")
    } else {
        format!("{down} down, {up} up")
    }
}

fn rrc(model: &RrcModel) -> String {
    let stage = |stage: &Stage| format!("{} for {}", stage.power, stage.duration);
    let tail = match model.tail.as_slice() {
        [] => format!("active for {} after the last packet", model.inactivity),
        stages => format!(
            "tail {}",
            stages.iter().map(stage).collect::<Vec<_>>().join(", then ")
        ),
    };
    format!(
        "{}; active {}; promotion {}; {tail}; idle {}",
        traffic(model.down, model.up),
        model.active,
        stage(&model.promotion),
        model.idle
    )
}

impl fmt::Display for DeviceEnergy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = vec![];
        if self.shared_base.0 > 0.0 {
            parts.push(format!("{} while an interface is active", self.shared_base));
        }
        if self.sharing_factor != 1.0 {
            parts.push(format!(
                "interfaces times {} while two or more are active",
                self.sharing_factor
            ));
        }
        parts.extend(self.host.as_ref().map(host));
        match parts.is_empty() {
            true => f.write_str("the sum of the interfaces"),
            false => f.write_str(&parts.join("; ")),
        }
    }
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
    use crate::energy::profile;

    #[test]
    fn constants_are_written_with_units() {
        // Paper 000, section V-A: b = 137 mW per Mbit/s, θ = 132.9 mW.
        let wifi = profile("wifi-seed000").unwrap().model.to_string();
        assert_eq!(wifi, "137 mW/Mbps down, 0 mW/Mbps up; 132.9 mW always");
        // Huang et al. 2012: LTE's β = 1288.04 mW, tail of 1060 mW for 11.576 s.
        let lte = profile("lte-huang2012").unwrap().model.to_string();
        assert!(
            lte.contains("active 1.28804 W") && lte.contains("tail 1.06 W for 11.576 s"),
            "{lte}"
        );
    }
}
