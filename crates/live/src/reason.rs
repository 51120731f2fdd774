//! Why an interface has its role.
//!
//! In JSON a reason is an object: `code`, `text` (the sentence) and the numbers of the reason.

use std::fmt::{Display, Formatter, Result as Written};
use std::net::IpAddr;

use joulepath_control::advise::significant;
use joulepath_model::units::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Why an interface is used, is a backup, or is not used.
///
/// `because` lists what speaks against an interface. It is empty if only the order of cost does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "code", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names of the fields have their units")]
pub enum Reason {
    /// The daemon changes nothing until `resume`.
    Paused,
    /// The machine's intent is `off`.
    MachineOff,
    /// The interface's intent is `off`.
    InterfaceOff,
    /// A virtual interface that the configuration does not name; `kind` is the kernel's word.
    Virtual { kind: String },
    /// New connections start on `devices`, which the configuration does not name, and stay there.
    Tunnelled { devices: Vec<String> },
    /// The hard quota is used up.
    HardQuota { used_bytes: u64, quota_bytes: u64 },
    /// The interface is down or has no carrier.
    Down,
    /// It has no address for an endpoint.
    NoAddress,
    /// It has no default route.
    NoRoute,

    /// The only usable path.
    OnlyPath,
    /// No other path is as good.
    FirstPath { others: Vec<Other> },
    /// The first of several paths in the order of cost.
    Cheapest { paths: usize },
    /// `aggregate`: `used` of `paths` paths carry data.
    Aggregate { used: usize, paths: usize },
    /// `overflow`: `used` of `paths` paths carry data.
    Overflow {
        used: usize,
        paths: usize,
        rate_bps: f64,
    },
    /// The interface's own intent is `aggregate`.
    InterfaceAggregate,
    /// `frugal`: least energy for a transfer; `advice` is the sentence of `joulepath advise`.
    Frugal {
        transfer_bytes: u64,
        paths: Vec<String>,
        energy_j: f64,
        time_s: f64,
        /// Price of a second of waiting, W; 0 under `frugal`.
        #[serde(default)]
        delay_price_w: f64,
        next_paths: Vec<String>,
        next_energy_j: Option<f64>,
        advice: String,
    },
    /// `frugal`: another choice would save too little to switch.
    FrugalStays {
        transfer_bytes: u64,
        energy_j: f64,
        other_paths: Vec<String>,
        other_energy_j: f64,
        least_saving_percent: f64,
    },
    /// `frugal`: these paths have no energy model.
    EnergyUnknown { paths: Vec<String> },
    /// `frugal`: even all paths together miss `deadline`.
    DeadlineImpossible { least_time_s: f64 },
    /// `frugal`: all paths together are slower than `rate`.
    RateImpossible { most_bps: f64 },

    /// A backup that has subflows.
    OpenBackup { because: Vec<Reason> },
    /// A backup that opens subflows only when they are needed.
    NotNeeded { because: Vec<Reason> },
    /// A backup until its subflows get answers again.
    Recovering { because: Vec<Reason> },
    /// A backup that opens because the path in use is silent.
    Silent { path: String, silent_s: f64 },

    /// All paths together carry less than usual, so this path is left for some seconds as a trial.
    Trial { path: String, rate_bps: f64 },
    /// All paths together carry more without this path.
    Slow {
        path: String,
        with_bps: f64,
        without_bps: f64,
    },
    /// It replaces a path that was left.
    StandsIn { because: Box<Reason> },
    /// `handover`: it replaces the first path, up to a budget.
    Handover {
        first: String,
        used_bytes: u64,
        budget_bytes: u64,
        because: Box<Reason>,
    },
    /// `handover`: the budget is used up, so this path carries no data.
    BudgetUsed { used_bytes: u64, budget_bytes: u64 },
    /// `handover`: the budget is used up, so no path may replace this one.
    NoStandIn {
        used_bytes: u64,
        budget_bytes: u64,
        because: Vec<Reason>,
    },

    /// Connections over it get no answer.
    NoAnswer,
    /// The soft quota is reached.
    SoftQuota { used_bytes: u64, quota_bytes: u64 },
    /// The battery is too weak for this interface.
    BatteryLow {
        battery_percent: f64,
        below_percent: f64,
    },
    /// Its traffic costs money.
    Metered,

    /// `tolerance`: it may replace `path` only when that has been without answers for so long.
    MayWait { path: String, tolerance_s: f64 },

    /// Its role changes as soon as the last change is old enough.
    Waits,
    /// This number of connections lost their subflow here.
    Lost { connections: usize },
    /// This number of connections have no other working path.
    StillNeeded { connections: usize },
    /// This number of connections try to open a subflow here and get no answer.
    Unanswered { connections: usize },
    /// It has addresses of one family, and no connection here, although this number use the other
    /// family. `remedy`: the path manager in user space may open one.
    OtherFamily {
        addresses: String,
        connections: usize,
        #[serde(default)]
        remedy: bool,
    },
    /// Connections of this family get no answer here, those of the other one do.
    FamilySilent { family: String },
    /// The server refuses subflows of this number of connections.
    Refused { connections: usize },
    /// These addresses get no endpoint: the kernel's table is full.
    NoPlace { addresses: Vec<IpAddr>, most: usize },

    /// A reason of another version.
    Other { said: String },
}

/// What speaks against another path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// Interface name.
    pub path: String,
    /// Empty if only the order of cost speaks against it.
    pub because: Vec<Reason>,
}

impl Reason {
    /// The sentence, followed by the notes.
    pub fn with(&self, notes: &[Reason]) -> String {
        let notes = notes.iter().map(|note| format!("; {note}"));
        format!("{self}{}", notes.collect::<String>())
    }

    /// True if only the text is known: another version wrote the reason.
    pub fn is_text_only(&self) -> bool {
        matches!(self, Reason::Other { .. })
    }
}

impl Display for Reason {
    fn fmt(&self, to: &mut Formatter<'_>) -> Written {
        match self {
            Reason::Paused => to.write_str("the daemon is paused"),
            Reason::MachineOff => {
                to.write_str("the machine's intent is `off`, so nothing is changed")
            }
            Reason::InterfaceOff => to.write_str("its intent is `off`"),
            Reason::Virtual { kind } => {
                write!(
                    to,
                    "it is virtual (`{kind}`), and the configuration does not name it"
                )
            }
            Reason::Tunnelled { devices } => {
                let (takes, stay) = if devices.len() == 1 {
                    ("takes", "it")
                } else {
                    ("take", "them")
                };
                write!(
                    to,
                    "{} {takes} new connections, which stay in {stay}",
                    devices.join(" and ")
                )
            }
            Reason::HardQuota { quota_bytes, .. } => {
                write!(to, "its hard quota of {} is used up", amount(*quota_bytes))
            }
            Reason::Down => to.write_str("it is down, or has no carrier"),
            Reason::NoAddress => to.write_str("it has no usable address"),
            Reason::NoRoute => to.write_str("it has no default route"),

            Reason::OnlyPath => to.write_str("the only usable path"),
            Reason::FirstPath { others } => {
                let others = others.iter().map(|one| match one.because.is_empty() {
                    true => format!("{} costs more", one.path),
                    false => format!("{}: {}", one.path, list(&one.because)),
                });
                write!(
                    to,
                    "the first path ({})",
                    others.collect::<Vec<_>>().join(", ")
                )
            }
            Reason::Cheapest { paths } => {
                write!(to, "the first of {paths} paths in the order of cost")
            }
            Reason::Aggregate { used, paths } if used == paths => {
                write!(to, "all {paths} paths are used")
            }
            Reason::Aggregate { used, paths } => write!(to, "{used} of {paths} paths are used"),
            Reason::Overflow {
                used,
                paths,
                rate_bps,
            } => {
                write!(
                    to,
                    "{used} of {paths} paths, the cheapest first, for {:.1} Mbit/s",
                    rate_bps / 1e6
                )
            }
            Reason::InterfaceAggregate => to.write_str("its intent is `aggregate`"),
            Reason::Frugal {
                transfer_bytes,
                energy_j,
                time_s,
                delay_price_w,
                next_paths,
                next_energy_j,
                ..
            } => {
                let (size, energy) = (Bytes(*transfer_bytes), significant(*energy_j));
                match delay_price_w {
                    0.0 => write!(to, "least energy for {size}: {energy} J")?,
                    price_w => write!(
                        to,
                        "best for {size} at {price_w} J per second of waiting: {energy} J, {} s",
                        significant(*time_s)
                    )?,
                }
                match next_energy_j {
                    Some(next_j) => {
                        write!(
                            to,
                            "; next best {} J over {}",
                            significant(*next_j),
                            next_paths.join(" and ")
                        )
                    }
                    None => Ok(()),
                }
            }
            Reason::FrugalStays {
                other_paths,
                least_saving_percent,
                ..
            } => {
                write!(
                    to,
                    "unchanged: {} would save less than {least_saving_percent:.0} %",
                    other_paths.join(" and ")
                )
            }
            Reason::EnergyUnknown { paths } => write!(
                to,
                "the first in the order of cost: no energy model (`energy`) for {}",
                paths.join(", ")
            ),
            Reason::DeadlineImpossible { least_time_s } => {
                write!(
                    to,
                    "all paths together need {} s, longer than `deadline`",
                    significant(*least_time_s)
                )
            }
            Reason::RateImpossible { most_bps } => {
                write!(
                    to,
                    "all paths together carry {:.1} Mbit/s, less than `rate`",
                    most_bps / 1e6
                )
            }

            Reason::OpenBackup { because } => write!(to, "an open backup: {}", or_later(because)),
            Reason::NotNeeded { because } => {
                write!(to, "no subflow until one is needed: {}", or_later(because))
            }
            Reason::Recovering { because } => {
                write!(to, "a backup until it recovers: {}", list(because))
            }
            Reason::Silent { path, silent_s } => {
                write!(
                    to,
                    "opened as a backup: nothing has arrived over {path} for {silent_s:.0} s"
                )
            }

            Reason::Trial { path, rate_bps } => write!(
                to,
                "a trial without {path}, which may be slow: all paths together carry only {:.2} Mbit/s",
                rate_bps / 1e6
            ),
            Reason::Slow {
                path,
                with_bps,
                without_bps,
            } => write!(
                to,
                "{path} has become slow: {:.2} Mbit/s over all paths with it, {:.2} Mbit/s without it",
                with_bps / 1e6,
                without_bps / 1e6
            ),
            Reason::StandsIn { because } => write!(to, "a replacement: {because}"),
            Reason::Handover {
                first,
                used_bytes,
                budget_bytes,
                because,
            } => {
                let because = if let Reason::StandsIn { because } = &**because {
                    because
                } else {
                    because
                };
                let percent = 100.0 * *used_bytes as f64 / *budget_bytes as f64;
                write!(
                    to,
                    "replaces {first} ({percent:.0} % of `handover_budget` used): {because}"
                )
            }
            Reason::BudgetUsed { budget_bytes, .. } => {
                write!(
                    to,
                    "`handover_budget` of {} is used up",
                    amount(*budget_bytes)
                )
            }
            Reason::NoStandIn {
                budget_bytes,
                because,
                ..
            } => {
                match because.is_empty() {
                    true => write!(to, "the first in the order of cost")?,
                    false => write!(to, "it stays in use despite trouble ({})", list(because))?,
                }
                write!(
                    to,
                    "; `handover_budget` of {} is used up",
                    amount(*budget_bytes)
                )
            }

            Reason::NoAnswer => to.write_str("connections over it get no answer"),
            Reason::SoftQuota { quota_bytes, .. } => {
                write!(to, "its soft quota of {} is used up", amount(*quota_bytes))
            }
            Reason::BatteryLow {
                battery_percent,
                below_percent,
            } => {
                write!(
                    to,
                    "the battery is at {battery_percent:.0} %, below {below_percent} %"
                )
            }
            Reason::Metered => to.write_str("it is metered"),

            Reason::MayWait { path, tolerance_s } => write!(
                to,
                "the traffic may wait for {path}: no subflow before `tolerance` of {tolerance_s} s has passed"
            ),

            Reason::Waits => {
                to.write_str("its role changes later, because the last change is too recent")
            }
            Reason::Lost { connections } => write!(
                to,
                "{} lost their subflow here; it is reopened at growing intervals while none works here",
                counted(*connections)
            ),
            Reason::StillNeeded { connections } => {
                write!(to, "{} no other working path", counted(*connections))
            }
            Reason::Unanswered { connections } => write!(
                to,
                "{} no subflow here: the network drops the handshake, or the server does not answer",
                counted(*connections)
            ),
            Reason::FamilySilent { family } => {
                write!(to, "{family} connections over it get no answer")
            }
            Reason::Refused { connections } => write!(
                to,
                "{} no subflow here, because the server refuses it; check its limit of subflows with \
                 `ip mptcp limits`",
                counted(*connections)
            ),
            Reason::OtherFamily {
                addresses,
                connections,
                remedy,
            } => write!(
                to,
                "{} no subflow here: this interface has only {addresses} addresses{}",
                counted(*connections),
                if *remedy {
                    "; `pm = \"userspace\"` opens one if the server announces such an address"
                } else {
                    ""
                }
            ),
            Reason::NoPlace { addresses, most } => {
                let addresses: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
                let addresses = addresses.join(", ");
                write!(
                    to,
                    "no endpoint for {addresses}: the kernel has room for {most}"
                )
            }

            Reason::Other { said } => to.write_str(said),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            #[serde(flatten, serialize_with = "Reason::serialize")]
            reason: &'a Reason,
            text: String,
        }
        Serialize::serialize(
            &Told {
                reason: self,
                text: self.to_string(),
            },
            to,
        )
    }
}

/// A plain text, or an object with an unknown code, becomes [`Reason::Other`].
impl<'a> Deserialize<'a> for Reason {
    fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let said = match &value {
            Value::String(text) => Some(text.clone()),
            other => other["text"].as_str().map(str::to_owned),
        };
        match Reason::deserialize(value) {
            Ok(reason) => Ok(reason),
            Err(error) => said
                .map(|said| Reason::Other { said })
                .ok_or_else(|| serde::de::Error::custom(error)),
        }
    }
}

/// Three significant digits in a suitable unit: `8.10 GB`, `512 kB`, `7 B`.
pub fn amount(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1000 => return format!("{bytes} B"),
        1000..999_500 => (1e3, "kB"),
        999_500..999_500_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{} {name}", significant(bytes as f64 / unit))
}

fn list(reasons: &[Reason]) -> String {
    reasons
        .iter()
        .map(Reason::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

fn or_later(because: &[Reason]) -> String {
    if because.is_empty() {
        "other paths come first".to_owned()
    } else {
        list(because)
    }
}

/// `1 connection has`, `2 connections have`.
fn counted(connections: usize) -> String {
    if connections == 1 {
        "1 connection has".into()
    } else {
        format!("{connections} connections have")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/live-reasons.md");
    const MARKS: [&str; 2] = ["<!-- reasons: begin -->\n", "<!-- reasons: end -->"];
    /// If set, the test writes the table into the page.
    const WRITE: &str = "JOULEPATH_WRITE_DOCS";

    /// One example of each variant, in the order of the enum.
    fn examples() -> Vec<Reason> {
        let slow = Reason::Slow {
            path: "wlan0".into(),
            with_bps: 120e3,
            without_bps: 4.2e6,
        };
        let names = || vec!["wwan0".to_owned()];
        let others = vec![Other {
            path: "wwan0".into(),
            because: vec![Reason::Metered],
        }];
        vec![
            Reason::Paused,
            Reason::MachineOff,
            Reason::InterfaceOff,
            Reason::Virtual {
                kind: "wireguard".into(),
            },
            Reason::Tunnelled {
                devices: vec!["tun0".into()],
            },
            Reason::HardQuota {
                used_bytes: 10_100_000_000,
                quota_bytes: 10_000_000_000,
            },
            Reason::Down,
            Reason::NoAddress,
            Reason::NoRoute,
            Reason::OnlyPath,
            Reason::FirstPath { others },
            Reason::Cheapest { paths: 2 },
            Reason::Aggregate { used: 2, paths: 2 },
            Reason::Overflow {
                used: 1,
                paths: 2,
                rate_bps: 3.1e6,
            },
            Reason::InterfaceAggregate,
            Reason::Frugal {
                transfer_bytes: 10_000_000,
                paths: vec!["wlan0".into()],
                energy_j: 7.11,
                time_s: 4.05,
                delay_price_w: 0.0,
                next_paths: names(),
                next_energy_j: Some(22.3),
                advice: "Use wlan0 alone: 7.11 J; wwan0 alone would cost 22.3 J.".into(),
            },
            Reason::FrugalStays {
                transfer_bytes: 10_000_000,
                energy_j: 7.11,
                other_paths: names(),
                other_energy_j: 6.82,
                least_saving_percent: 10.0,
            },
            Reason::EnergyUnknown { paths: names() },
            Reason::DeadlineImpossible { least_time_s: 4.05 },
            Reason::RateImpossible { most_bps: 40e6 },
            Reason::OpenBackup { because: vec![] },
            Reason::NotNeeded {
                because: vec![Reason::Metered],
            },
            Reason::Recovering {
                because: vec![Reason::NoAnswer],
            },
            Reason::Silent {
                path: "wlan0".into(),
                silent_s: 3.0,
            },
            Reason::Trial {
                path: "wlan0".into(),
                rate_bps: 2e6,
            },
            slow.clone(),
            Reason::StandsIn {
                because: Box::new(slow),
            },
            Reason::Handover {
                first: "wlan0".into(),
                used_bytes: 300_000,
                budget_bytes: 1_000_000,
                because: Box::new(Reason::OnlyPath),
            },
            Reason::BudgetUsed {
                used_bytes: 1_000_000,
                budget_bytes: 1_000_000,
            },
            Reason::NoStandIn {
                used_bytes: 1_000_000,
                budget_bytes: 1_000_000,
                because: vec![Reason::NoAnswer],
            },
            Reason::NoAnswer,
            Reason::SoftQuota {
                used_bytes: 8_100_000_000,
                quota_bytes: 8_000_000_000,
            },
            Reason::BatteryLow {
                battery_percent: 18.0,
                below_percent: 20.0,
            },
            Reason::Metered,
            Reason::MayWait {
                path: "wlan0".into(),
                tolerance_s: 120.0,
            },
            Reason::Waits,
            Reason::Lost { connections: 3 },
            Reason::StillNeeded { connections: 1 },
            Reason::Unanswered { connections: 2 },
            Reason::OtherFamily {
                addresses: "IPv6".into(),
                connections: 1,
                remedy: false,
            },
            Reason::FamilySilent {
                family: "IPv6".into(),
            },
            Reason::Refused { connections: 2 },
            Reason::NoPlace {
                addresses: vec![[192, 0, 2, 7].into()],
                most: 8,
            },
            Reason::Other {
                said: "it is the first".into(),
            },
        ]
    }

    fn json(reason: &Reason) -> Value {
        serde_json::to_value(reason).unwrap()
    }

    fn code(reason: &Reason) -> String {
        json(reason)["code"].as_str().unwrap().to_owned()
    }

    #[test]
    fn every_reason_has_an_example() {
        let codes: BTreeSet<String> = examples().iter().map(code).collect();
        let error = Reason::deserialize(serde_json::json!({ "code": "?" }))
            .unwrap_err()
            .to_string();
        let known: BTreeSet<String> = error
            .split('`')
            .skip(3)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        assert_eq!(codes, known, "{error}");
        assert_eq!(codes.len(), examples().len());
    }

    #[test]
    fn a_reason_survives_json_with_its_sentence() {
        for reason in examples() {
            let json = json(&reason);
            assert_eq!(json["text"], reason.to_string());
            assert_eq!(serde_json::from_value::<Reason>(json).unwrap(), reason);
        }
    }

    #[test]
    fn reasons_of_other_versions_are_kept_as_text() {
        let other = |said: &str| Reason::Other { said: said.into() };
        let read = |text: &str| serde_json::from_str::<Reason>(text);
        assert_eq!(
            read("\"it is the first\"").unwrap(),
            other("it is the first")
        );
        assert_eq!(
            read(r#"{"code": "of-next-year", "text": "new"}"#).unwrap(),
            other("new")
        );
        assert!(read("{}").is_err() && read("7").is_err());
    }

    #[test]
    fn amounts_have_three_digits_and_a_suitable_unit() {
        let bytes = [
            0,
            7,
            999,
            1000,
            1234,
            999_499,
            999_500,
            5_200_000,
            8_100_000_000,
            123_456_000_000,
        ];
        let texts = [
            "0 B", "7 B", "999 B", "1.00 kB", "1.23 kB", "999 kB", "1.00 MB", "5.20 MB", "8.10 GB",
            "123 GB",
        ];
        assert_eq!(bytes.map(amount), texts);
    }

    #[test]
    fn notes_follow_the_sentence() {
        let notes = [Reason::Waits, Reason::StillNeeded { connections: 1 }];
        let said = Reason::Metered.with(&notes);
        let parts: Vec<String> = [Reason::Metered]
            .iter()
            .chain(&notes)
            .map(Reason::to_string)
            .collect();
        assert_eq!(said, parts.join("; "));
    }

    /// The table of the reference: code, example sentence, other keys.
    fn table() -> String {
        let mut table = "| `code` | `text`, for example | other keys |\n|---|---|---|\n".to_owned();
        for reason in examples() {
            let json = json(&reason);
            let keys = json
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| !["code", "text"].contains(&key.as_str()));
            let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
            table += &format!("| `{}` | {reason} | {} |\n", code(&reason), keys.join(", "));
        }
        table.replace("|  |\n", "| |\n")
    }

    #[test]
    fn the_reference_has_the_table_of_reasons() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let begin = page.find(MARKS[0]).unwrap() + MARKS[0].len();
        let end = begin + page[begin..].find(MARKS[1]).unwrap();
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(
                PAGE,
                format!("{}{}{}", &page[..begin], table(), &page[end..]),
            )
            .unwrap();
            return;
        }
        assert_eq!(
            &page[begin..end],
            table(),
            "{WRITE}=1 cargo test -p joulepath-live reasons writes it"
        );
    }
}
