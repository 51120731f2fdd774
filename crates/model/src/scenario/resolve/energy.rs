//! Energy models of interfaces and of the device.

use super::super::beside::{Beside, CalibratedProfile};
use super::super::error::{Problems, Span, suggest};
use super::super::forms::Energy;
use super::super::parts::{EnergyKind, Medium, RawEnergy, RawStage};
use super::super::raw::{RawDevice, RawHost};
use super::super::read::{At, Named};
use crate::energy::{
    DeviceEnergy, FILE_PREFIX, HostCurve, HostModel, InterfaceEnergy, InterfaceModel, RrcModel,
    Stage, SunkWhile, device_preset, device_preset_names, profile, suggest_profile,
};
use crate::units::{JoulesPerBit, Nanos};

/// Follows the name of a profile that a scenario has changed.
pub(in crate::scenario) const CHANGED: &str = ", changed";

/// The energy model of an interface.
pub(in crate::scenario) fn interface(
    energy: &At<Energy>,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<InterfaceEnergy> {
    match &energy.value {
        Energy::Profile(name) => known_profile(name, beside.profiles, &energy.span, out),
        Energy::Table(raw) => table(raw, beside.profiles, &energy.span, out),
    }
}

/// The model of a profile in a file. It may not build on another file.
pub(in crate::scenario) fn model(
    raw: &At<RawEnergy>,
    out: &mut Problems,
) -> Option<InterfaceModel> {
    let none = |_: &str| {
        Err("a profile in a file does not name another one; write its numbers".to_owned())
    };
    table(&raw.value, &none, &raw.span, out).map(|energy| energy.model)
}

/// Resolves the name of a calibrated profile.
type Files<'f> = &'f dyn Fn(&str) -> Result<CalibratedProfile, String>;

/// The calibrated profile `name`, if `name` refers to a file.
fn calibrated(
    name: &str,
    files: Files<'_>,
    span: &Span,
    out: &mut Problems,
) -> Option<Option<CalibratedProfile>> {
    let file = name.strip_prefix(FILE_PREFIX)?;
    let read = files(file);
    if let Err(error) = &read {
        let (message, help) = error
            .split_once("; ")
            .unwrap_or((error, "run `joulepath calibrate`"));
        out.note_with_help(span, message, help);
    }
    Some(read.ok())
}

fn known_profile(
    name: &str,
    files: Files<'_>,
    span: &Span,
    out: &mut Problems,
) -> Option<InterfaceEnergy> {
    if let Some(profile) = calibrated(name, files, span, out) {
        let profile = profile?;
        let label = format!("{name}, calibrated {} with {}", profile.date, profile.meter);
        return Some(InterfaceEnergy {
            profile: label,
            model: profile.model,
        });
    }
    let found = profile(name);
    if found.is_none() {
        let message = format!("there is no energy profile `{name}`");
        out.note_with_help(span, message, suggest_profile(name));
    }
    found
}

/// A model from its numbers, or from a profile and its changes.
fn table(
    raw: &RawEnergy,
    files: Files<'_>,
    span: &Span,
    out: &mut Problems,
) -> Option<InterfaceEnergy> {
    let base = match &raw.profile {
        None => None,
        Some(name) => Some(known_profile(&name.value, files, &name.span, out)?),
    };
    if let (Some(_), Some(origin)) = (&base, &raw.origin) {
        out.note_with_help(
            &origin.span,
            "`origin` is only for models without a profile",
            "leave `origin` out",
        );
        return None;
    }
    let base_kind = base.as_ref().map(|base| kind(&base.model));
    let kind = match (&raw.model, base_kind) {
        (Some(written), Some(base)) if written.value != base => {
            let message = format!(
                "this profile is {}, not {}",
                base.word(),
                written.value.word()
            );
            out.note_with_help(&written.span, message, "leave `model` or `profile` out");
            return None;
        }
        (Some(written), _) => written.value,
        (None, base) => base.unwrap_or(EnergyKind::Linear),
    };
    let before = out.len();
    refuse_keys_of_other_models(raw, kind, out);
    let base_model = base.as_ref().map(|base| &base.model);
    let model = match kind {
        EnergyKind::Linear => linear(raw, base_model, span, out),
        EnergyKind::Rrc => rrc(raw, base_model, span, out),
        EnergyKind::Slotted => slotted(raw, base_model, span, out),
    };
    let model = model.filter(|_| out.len() == before)?;
    let profile = match base {
        None => raw
            .origin
            .as_ref()
            .map_or_else(|| "inline".into(), |origin| origin.value.clone()),
        Some(base) if base.model == model => base.profile,
        Some(base) => base.profile + CHANGED,
    };
    Some(InterfaceEnergy { profile, model })
}

/// Kind of a model.
fn kind(model: &InterfaceModel) -> EnergyKind {
    match model {
        InterfaceModel::Linear { .. } => EnergyKind::Linear,
        InterfaceModel::Rrc(_) => EnergyKind::Rrc,
        InterfaceModel::Slotted { .. } => EnergyKind::Slotted,
    }
}

fn refuse_keys_of_other_models(raw: &RawEnergy, kind: EnergyKind, out: &mut Problems) {
    use EnergyKind::{Linear, Rrc, Slotted};
    fn place<T>(value: &Option<At<T>>) -> Option<&Span> {
        value.as_ref().map(|at| &at.span)
    }
    let keys: [(&str, Option<&Span>, &[EnergyKind]); 8] = [
        ("up_per_mbps", place(&raw.up_per_mbps), &[Linear, Rrc]),
        ("active", place(&raw.active), &[Linear, Rrc]),
        ("sunk_while", place(&raw.sunk_while), &[Linear]),
        ("inactivity", place(&raw.inactivity), &[Rrc]),
        ("promotion", place(&raw.promotion), &[Rrc]),
        ("tail", place(&raw.tail), &[Rrc]),
        ("idle", place(&raw.idle), &[Rrc, Slotted]),
        ("slot", place(&raw.slot), &[Slotted]),
    ];
    for (key, span, kinds) in keys {
        let Some(span) = span.filter(|_| !kinds.contains(&kind)) else {
            continue;
        };
        let message = format!("`{key}` is not a key of a {} energy model", kind.word());
        out.note_with_help(
            span,
            message,
            format!("leave it out, or write model = \"{}\"", kinds[0].word()),
        );
    }
}

/// The value as written, or from the profile; notes a problem if neither exists.
fn written_or<T: Clone>(
    written: &Option<At<T>>,
    base: Option<T>,
    key: &str,
    example: &str,
    span: &Span,
    out: &mut Problems,
) -> Option<T> {
    let value = written.as_ref().map(|at| at.value.clone()).or(base);
    if value.is_none() {
        let help = format!("write for example {key} = {example}, or start from a profile");
        out.note_with_help(
            span,
            format!("this energy model needs the key `{key}`"),
            help,
        );
    }
    value
}

fn linear(
    raw: &RawEnergy,
    base: Option<&InterfaceModel>,
    span: &Span,
    out: &mut Problems,
) -> Option<InterfaceModel> {
    let base = match base {
        Some(&InterfaceModel::Linear {
            down,
            up,
            sunk,
            sunk_while,
        }) => Some((down, up, sunk, sunk_while)),
        _ => None,
    };
    let down = written_or(
        &raw.per_mbps,
        base.map(|b| b.0),
        "per_mbps",
        "\"137 mW\"",
        span,
        out,
    );
    let up = base.map_or(JoulesPerBit(0.0), |b| b.1);
    let sunk = written_or(
        &raw.active,
        base.map(|b| b.2),
        "active",
        "\"132.9 mW\"",
        span,
        out,
    );
    let sunk_while = base.map_or(SunkWhile::Always, |b| b.3);
    Some(InterfaceModel::Linear {
        down: down?,
        up: raw.up_per_mbps.as_ref().map_or(up, |at| at.value),
        sunk: sunk?,
        sunk_while: raw.sunk_while.as_ref().map_or(sunk_while, |at| at.value),
    })
}

fn rrc(
    raw: &RawEnergy,
    base: Option<&InterfaceModel>,
    span: &Span,
    out: &mut Problems,
) -> Option<InterfaceModel> {
    let base = match base {
        Some(InterfaceModel::Rrc(rrc)) => Some(rrc),
        _ => None,
    };
    let stage = |raw: &RawStage| Stage {
        power: raw.power,
        duration: raw.duration,
    };
    let promotion = raw.promotion.as_ref().map(|at| At {
        value: stage(&at.value),
        span: at.span.clone(),
    });
    let tail = raw.tail.as_ref().map(|at| At {
        value: at.value.iter().map(stage).collect::<Vec<_>>(),
        span: at.span.clone(),
    });
    let example = "{ power = \"1210.7 mW\", duration = \"260.1 ms\" }";
    let down = written_or(
        &raw.per_mbps,
        base.map(|b| b.down),
        "per_mbps",
        "\"51.97 mW\"",
        span,
        out,
    );
    let up = written_or(
        &raw.up_per_mbps,
        base.map(|b| b.up),
        "up_per_mbps",
        "\"438.39 mW\"",
        span,
        out,
    );
    let active = written_or(
        &raw.active,
        base.map(|b| b.active),
        "active",
        "\"1288.04 mW\"",
        span,
        out,
    );
    let inactivity = written_or(
        &raw.inactivity,
        base.map(|b| b.inactivity),
        "inactivity",
        "\"100 ms\"",
        span,
        out,
    );
    let promotion = written_or(
        &promotion,
        base.map(|b| b.promotion),
        "promotion",
        example,
        span,
        out,
    );
    let tail = written_or(
        &tail,
        base.map(|b| b.tail.clone()),
        "tail",
        &format!("[{example}]"),
        span,
        out,
    );
    let idle = written_or(
        &raw.idle,
        base.map(|b| b.idle),
        "idle",
        "\"20 mW\"",
        span,
        out,
    );
    Some(InterfaceModel::Rrc(RrcModel {
        down: down?,
        up: up?,
        active: active?,
        inactivity: inactivity?,
        promotion: promotion?,
        tail: tail?,
        idle: idle?,
    }))
}

fn slotted(
    raw: &RawEnergy,
    base: Option<&InterfaceModel>,
    span: &Span,
    out: &mut Problems,
) -> Option<InterfaceModel> {
    let base = match base {
        Some(&InterfaceModel::Slotted {
            transfer,
            idle,
            slot,
        }) => Some((transfer, idle, slot)),
        _ => None,
    };
    let transfer = written_or(
        &raw.per_mbps,
        base.map(|b| b.0),
        "per_mbps",
        "\"5 J/Mbit\"",
        span,
        out,
    );
    let idle = written_or(&raw.idle, base.map(|b| b.1), "idle", "\"0 mW\"", span, out);
    let slot: Option<Nanos> =
        written_or(&raw.slot, base.map(|b| b.2), "slot", "\"10 ms\"", span, out);
    if slot == Some(Nanos::ZERO) {
        out.note_with_help(span, "`slot` is zero", "write for example slot = \"10 ms\"");
    }
    Some(InterfaceModel::Slotted {
        transfer: transfer?,
        idle: idle?,
        slot: slot?,
    })
}

/// Power of the device besides its interfaces.
pub(in crate::scenario) fn device(
    written: &At<RawDevice>,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<DeviceEnergy> {
    let raw = &written.value;
    let base = match &raw.preset {
        None => DeviceEnergy::additive(),
        Some(name) => known_preset(name, beside.profiles, out)?,
    };
    let factor = raw.sharing_factor.as_ref();
    if let Some(factor) = factor {
        sharing_factor(factor, out)?;
    }
    let host = match &raw.host {
        None => base.host,
        Some(host) => Some(self::host(host, out)?),
    };
    Some(DeviceEnergy {
        shared_base: raw.shared_base.unwrap_or(base.shared_base),
        sharing_factor: factor.map_or(base.sharing_factor, |factor| factor.value),
        host,
    })
}

/// Notes an invalid sharing factor.
pub(in crate::scenario) fn sharing_factor(factor: &At<f64>, out: &mut Problems) -> Option<()> {
    let is_factor = factor.value > 0.0 && factor.value <= 1.0;
    if !is_factor {
        let help = "write a number greater than 0 and at most 1, for example 0.8";
        out.note_with_help(&factor.span, "this is not a sharing factor", help);
    }
    is_factor.then_some(())
}

fn known_preset(name: &At<String>, files: Files<'_>, out: &mut Problems) -> Option<DeviceEnergy> {
    if let Some(profile) = calibrated(&name.value, files, &name.span, out) {
        let Some(sharing_factor) = profile?.sharing_factor else {
            let help = "calibrate with --second, or leave `preset` out";
            out.note_with_help(
                &name.span,
                "this profile was measured without a second interface",
                help,
            );
            return None;
        };
        return Some(DeviceEnergy {
            sharing_factor,
            ..DeviceEnergy::additive()
        });
    }
    let found = device_preset(&name.value);
    if found.is_none() {
        let message = format!("there is no device preset `{}`", name.value);
        out.note_with_help(
            &name.span,
            message,
            suggest(&name.value, device_preset_names(), "presets"),
        );
    }
    found
}

fn host(raw: &RawHost, out: &mut Problems) -> Option<HostModel> {
    let before = out.len();
    let curve = match (raw.medium, &raw.exponent) {
        (Medium::Wired, exponent) => HostCurve::Wired {
            exponent: exponent.as_ref().map_or(1.0, |at| at.value),
        },
        (Medium::Wifi, None) => HostCurve::Wifi,
        (Medium::Wifi, Some(exponent)) => {
            out.note(
                &exponent.span,
                "`exponent` shapes the curve of a wired host only",
            );
            return None;
        }
    };
    let numbers = [&raw.delay_weight, &raw.subflow_weight]
        .into_iter()
        .chain(&raw.exponent);
    for number in numbers.filter(|number| number.value < 0.0) {
        out.note(&number.span, "this number must not be negative");
    }
    (out.len() == before).then_some(HostModel {
        curve,
        delay_weight: raw.delay_weight.value,
        subflow_weight: raw.subflow_weight.value,
        unit: raw.unit,
    })
}
