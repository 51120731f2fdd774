//! `[[interface]]` in the daemon's configuration.

use super::beside::Beside;
use super::declare::table;
use super::error::Problems;
use super::forms::Energy;
use super::read::At;
use super::resolve::interface_energy;
use crate::energy::FILE_PREFIX;
use crate::live::{Intent, InterfaceConfig, Quota};
use crate::units::{BitRate, Bytes, Dbm, Probability};

/// Days of the longest month.
const LONGEST_MONTH: u32 = 31;

table! {
    /// One interface.
    struct RawLiveInterface in "[[interface]]" {
        /// Name of the interface; `*` matches any characters.
        name: At<String>,
        /// Intent of this interface; absent: the machine's.
        intent: Option<Intent>,
        /// Rank by cost, the cheapest first; absent: last.
        cost: Option<u32>,
        /// Traffic is paid for: at most a backup while another path works.
        metered: bool = false,
        /// Data quota per period.
        quota: Option<At<RawQuota>>,
        /// On battery, below this charge, the interface is used only while no other path works.
        battery_below: Option<Probability>,
        /// Capacity of the interface; absent: as measured.
        rate: Option<At<BitRate>>,
        /// Energy model: a profile or a table.
        energy: Option<At<Energy>>,
        /// Connections open a subflow from this interface to every address of the other end.
        fullmesh: bool = false,
        /// Announce the address to the other end; for servers.
        signal: At<bool> = false,
        /// Strength of the received signal; absent: of WiFi, the driver's, of a modem,
        /// ModemManager's.
        signal_strength: Option<At<RawStrength>>,
    }
}

table! {
    /// Strength of a received signal.
    struct RawStrength in "signal_strength" {
        /// Command for the shell, run every 5 s. The first word that it prints is the signal in
        /// dBm.
        command: At<String>,
    }
}

table! {
    /// Data that an interface may carry per period, both directions together.
    struct RawQuota in "a quota" {
        /// From this amount on, the interface is a backup.
        soft: Option<Bytes>,
        /// From this amount on, the interface is not used.
        hard: Option<Bytes>,
        /// Day of the month on which a period begins, at midnight UTC.
        period_day: At<u32> = 1,
    }
}

pub(super) fn interface(
    raw: RawLiveInterface,
    beside: Beside<'_>,
    out: &mut Problems,
) -> Option<InterfaceConfig> {
    if raw.fullmesh && raw.signal.value {
        let help = "keep `signal` on a server, `fullmesh` on a client";
        out.note_with_help(
            &raw.signal.span,
            "the kernel refuses `signal` together with `fullmesh`",
            help,
        );
    }
    let energy = match &raw.energy {
        None => None,
        Some(written) => Some(interface_energy(written, beside, out)?),
    };
    let measured_at = raw
        .energy
        .as_ref()
        .and_then(|written| measured_at(&written.value, beside));
    let quota = match &raw.quota {
        None => None,
        Some(written) => Some(quota(written, out)?),
    };
    let strength = raw.signal_strength.map(|written| written.value.command);
    if let Some(command) = strength
        .as_ref()
        .filter(|command| command.value.trim().is_empty())
    {
        let help = "write a command that prints dBm, for example \"cat /run/modem/rsrp\"";
        out.note_with_help(&command.span, "the command is empty", help);
        return None;
    }
    Some(InterfaceConfig {
        name: raw.name.value,
        intent: raw.intent,
        cost: raw.cost,
        metered: raw.metered,
        quota,
        battery_below: raw.battery_below,
        rate: raw.rate.map(|at| at.value),
        energy,
        measured_at,
        fullmesh: raw.fullmesh,
        signal: raw.signal.value,
        strength: strength.map(|command| command.value),
    })
}

/// The signals of the calibrated profile that a model is or builds on.
fn measured_at(energy: &Energy, beside: Beside<'_>) -> Option<[Dbm; 2]> {
    let name = match energy {
        Energy::Profile(name) => name,
        Energy::Table(raw) => &raw.profile.as_ref()?.value,
    };
    (beside.profiles)(name.strip_prefix(FILE_PREFIX)?)
        .ok()?
        .signal
}

fn quota(written: &At<RawQuota>, out: &mut Problems) -> Option<Quota> {
    let raw = &written.value;
    let before = out.len();
    match (raw.soft, raw.hard) {
        (None, None) => {
            let help =
                "write for example quota = { soft = \"8 GB\", hard = \"10 GB\", period_day = 1 }";
            out.note_with_help(&written.span, "a quota needs `soft`, `hard` or both", help);
        }
        (Some(soft), Some(hard)) if soft > hard => {
            out.note_with_help(
                &written.span,
                "`soft` is above `hard`",
                "swap the two values",
            );
        }
        _ => {}
    }
    if !(1..=LONGEST_MONTH).contains(&raw.period_day.value) {
        let help = "write the day of the month on which the billing period begins";
        out.note_with_help(&raw.period_day.span, "`period_day` must be 1 to 31", help);
    }
    let period_day = raw.period_day.value;
    (out.len() == before).then_some(Quota {
        soft: raw.soft,
        hard: raw.hard,
        period_day,
    })
}
