//! A scenario built from the daemon's measurements.
//!
//! | path property | source |
//! |---|---|
//! | rate | `rate` of the configuration, or the highest rate in recent hours |
//! | delay | half of the smallest RTT of its subflows, else of the remembered RTT |
//! | traffic | what passes at present, else a file of `transfer` |
//! | loss | retransmitted payload divided by sent bytes; includes losses from congestion |
//! | energy | the configuration, at the present signal |
//! | history | what the daemon remembers of the interface's network |
//!
//! Values that were not measured are assumed. Comments in the scenario say so.

use std::fmt::Write as _;

use joulepath_model::history::PathHistory;
use joulepath_model::live::LiveConfig;
use joulepath_model::network::LossSpec;
use joulepath_model::scenario::{KnownConnection, KnownPath};
use joulepath_model::units::{BitRate, Dbm, Nanos, Probability};

use crate::error::{Error, Result};
use crate::status::{InterfaceStatus, NetworkStatus, Status};

/// RTT of a path without a measurement.
const ASSUMED_RTT: Nanos = Nanos::from_millis(50);
/// Bytes that must have been sent before retransmissions give a loss rate.
const ENOUGH_SENT: u64 = 1_000_000;
/// Traffic above this fraction of a path's rate counts as limited by the path.
const BULK: f64 = 0.8;
/// Lower rates do not count as traffic, bit/s.
const LEAST_BPS: f64 = 10e3;
/// Length of the scenario: long enough for radio tails.
const DURATION: Nanos = Nanos::from_secs(60);

/// The scenario as TOML, with a comment about its sources.
///
/// # Errors
/// [`Error::Refused`] if no path is known.
pub fn scenario(config: &LiveConfig, status: &Status) -> Result<String> {
    let mut notes = vec![];
    let paths: Vec<Fitted> = status
        .interfaces
        .iter()
        .filter_map(|one| Fitted::of(config, one, &mut notes))
        .collect();
    if paths.is_empty() {
        return Err(Error::Refused {
            what: format!("no path can be simulated: {}", notes.join("; ")),
            remedy: "send some traffic, or set `rate` and `energy` in the configuration".into(),
        });
    }
    let text = known(config, status, &paths)
        .to_toml()
        .map_err(|errors| Error::Refused {
            what: format!("the measurements give no valid scenario: {errors}"),
            remedy: "please report it, with the output of `joulepath status --json`".into(),
        })?;
    let mut comment = format!("# Measured by `joulepath live` on {}.\n#\n", status.today);
    for note in notes {
        let _ = writeln!(comment, "# {note}");
    }
    Ok(format!("{comment}\n{text}"))
}

struct Fitted {
    known: KnownPath,
    /// Present rate of the busier direction.
    busy_bps: f64,
}

impl Fitted {
    /// `None`, with a note, for an unused or unknown path.
    fn of(config: &LiveConfig, one: &InterfaceStatus, notes: &mut Vec<String>) -> Option<Self> {
        if !one.allowed || one.addresses.is_empty() {
            return None;
        }
        let known = config.interface(&one.name);
        let mut leave_out = |why: &str| notes.push(format!("{}: omitted: {why}", one.name));
        let energy = known.and_then(|known| known.energy.clone());
        let (Some(known), Some(energy)) = (known, energy) else {
            leave_out("no energy model (`energy`)");
            return None;
        };
        let measured = one.capacity_bps.map(|bps| BitRate::from_bps(bps as u64));
        let Some(rate) = known.rate.or(measured).filter(|rate| rate.bps() > 0) else {
            leave_out("no traffic seen and no `rate` configured");
            return None;
        };
        let remembered = one
            .network
            .as_ref()
            .and_then(|network| network.rtt_s)
            .map(|rtt| rtt.median);
        let rtt = one
            .rtt_s
            .or(remembered)
            .map(|rtt_s| Nanos((rtt_s * 1e6) as u64 * 1000));
        let sent_bytes = one.total.sent_bytes;
        let is_lossy = sent_bytes >= ENOUGH_SENT;
        let sent_again = one.retransmitted_bytes as f64 / sent_bytes as f64;
        // Rounded to parts per million; more digits are noise.
        let loss = if is_lossy {
            (sent_again.min(0.5) * 1e6).round() / 1e6
        } else {
            0.0
        };
        notes.push(format!(
            "{}: rate {}; delay {}; loss {}",
            one.name,
            if known.rate.is_some() {
                "as configured"
            } else {
                "the highest seen"
            },
            match (one.rtt_s, rtt) {
                (Some(_), _) => "half of the smallest RTT",
                (None, Some(_)) => "half of the remembered RTT",
                (None, None) => "assumed: no subflow",
            },
            if is_lossy {
                "at most the retransmitted part"
            } else {
                "unknown, assumed 0: little was sent"
            },
        ));
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '-'
            }
        };
        // A model without a table would ignore it.
        let has_table = energy.radio().is_some();
        let signal = one.signal_strength.as_ref().map(|signal| Dbm(signal.dbm));
        Some(Fitted {
            known: KnownPath {
                name: one.name.chars().map(plain).collect(),
                rate,
                rtt: rtt.unwrap_or(ASSUMED_RTT),
                loss: LossSpec::Bernoulli(
                    Probability::new(loss).expect("a part of at most a half"),
                ),
                queue: None,
                energy,
                history: one.network.as_ref().map(history).unwrap_or_default(),
                signal: signal.filter(|_| has_table),
            },
            busy_bps: one.received_bps.max(one.sent_bps),
        })
    }
}

/// What is remembered of a network. Its spreads are those of now, so its age is 0.
fn history(network: &NetworkStatus) -> PathHistory {
    let NetworkStatus {
        rate_bps,
        rtt_s,
        loss,
        ..
    } = *network;
    PathHistory {
        rate_bps,
        rtt_s,
        loss,
        age_days: 0.0,
    }
}

fn known(config: &LiveConfig, status: &Status, paths: &[Fitted]) -> KnownConnection {
    KnownConnection {
        title: format!("As measured on {}", status.today),
        duration: DURATION,
        paths: paths.iter().map(|path| path.known.clone()).collect(),
        workload: workload(config, status, paths),
        device: config.device.clone(),
        policy: "joule".into(),
        together: "mptcp".into(),
    }
}

/// `bulk` if all paths with traffic are full, `stream` if they are not, `file` without traffic.
fn workload(config: &LiveConfig, status: &Status, paths: &[Fitted]) -> String {
    let sum = |of: &dyn Fn(&InterfaceStatus) -> f64| status.interfaces.iter().map(of).sum::<f64>();
    let (down, up) = (sum(&|one| one.received_bps), sum(&|one| one.sent_bps));
    let direction = if up > down { "upload" } else { "download" };
    let carried: Vec<&Fitted> = paths
        .iter()
        .filter(|path| path.busy_bps >= LEAST_BPS)
        .collect();
    let is_full = !carried.is_empty()
        && carried
            .iter()
            .all(|path| path.busy_bps >= BULK * path.known.rate.bps() as f64);
    let rate_bps = down.max(up);
    match () {
        () if is_full => format!("kind = \"bulk\"\ndirection = \"{direction}\""),
        () if rate_bps >= LEAST_BPS => format!(
            "kind = \"stream\"\nrate = \"{} bit/s\"\ninterval = \"40 ms\"\ndirection = \"{direction}\"",
            rate_bps as u64
        ),
        () => format!(
            "kind = \"file\"\nsize = \"{} B\"\ndirection = \"{direction}\"",
            config.transfer.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use joulepath_model::energy::profile;
    use joulepath_model::history::Estimate;
    use joulepath_model::scenario::{Scenario, Workload, load, read_live};

    use super::*;
    use crate::samples::{self, interface};

    const CONFIG: &str = "intent = \"frugal\"\ntransfer = \"7 MB\"\ndevice = { shared_base = \"500 mW\" }\n\
        [[interface]]\nname = \"wlan0\"\nenergy = \"wifi-huang2012\"\n\
        [[interface]]\nname = \"wwan0.7\"\nrate = \"20 Mbit/s\"\nenergy = \"lte-huang2012\"\n\
        [[interface]]\nname = \"eth0\"\n";

    fn status() -> Status {
        let mut wifi = interface("wlan0");
        (wifi.received_bps, wifi.capacity_bps, wifi.rtt_s) = (3e6, Some(40e6), Some(0.024));
        (wifi.total.sent_bytes, wifi.retransmitted_bytes) = (2_000_000, 10_000);
        wifi.network = Some(NetworkStatus {
            id: "3f2a9c1e".into(),
            kind: "wifi".into(),
            visits: 2,
            age_days: Some(1.0),
            rate_bps: Some(Estimate {
                median: 30e6,
                spread: 1.5,
            }),
            rtt_s: None,
            loss: None,
        });
        samples::status(vec![wifi, interface("wwan0.7"), interface("eth0")])
    }

    fn loaded(status: &Status) -> (Scenario, String) {
        let text = scenario(&read_live(CONFIG).unwrap(), status).unwrap();
        (
            load(&text, &|_| Err(String::new()))
                .unwrap_or_else(|errors| panic!("{errors}\n{text}")),
            text,
        )
    }

    #[test]
    fn measurements_become_a_scenario() {
        let (scenario, text) = loaded(&status());
        let names: Vec<&str> = scenario
            .paths
            .iter()
            .map(|path| path.name.as_str())
            .collect();
        assert_eq!(names, ["wlan0", "wwan0-7"]);
        let link = &scenario.links[scenario.paths[0].radio.0];
        // Half of 24 ms. 10 kB of 2 MB were retransmitted.
        assert_eq!(link.delay, Nanos::from_millis(12));
        assert!(
            text.contains("rate = \"40 Mbit/s\"") && text.contains("loss = \"0.5 %\""),
            "{text}"
        );
        assert_eq!(
            scenario.paths[0].history.rate_bps,
            Some(Estimate {
                median: 30e6,
                spread: 1.5
            })
        );
        assert!(scenario.paths[1].history.is_empty());
        assert_eq!(
            scenario.paths[1].energy.model,
            profile("lte-huang2012").unwrap().model
        );
        assert_eq!(scenario.device.shared_base.0, 0.5);
        // 3 Mbit/s of 40 do not fill the path: a stream.
        let rate = BitRate::from_bps(3_000_000);
        assert!(
            matches!(scenario.connections[0].workload, Workload::Stream { rate: is, .. } if is == rate)
        );
        for note in [
            "# wlan0: rate the highest seen; delay half of the smallest RTT; loss at most the retransmitted",
            "# wwan0.7: rate as configured; delay assumed: no subflow; loss unknown",
            "# eth0: omitted: no energy model",
        ] {
            assert!(text.contains(note), "{text}");
        }
    }

    #[test]
    fn full_paths_become_bulk_and_no_traffic_becomes_a_transfer() {
        let mut busy = status();
        busy.interfaces[0].sent_bps = 35e6;
        let (scenario, text) = loaded(&busy);
        assert!(
            matches!(scenario.connections[0].workload, Workload::Bulk)
                && text.contains("\"upload\"")
        );
        let mut idle = status();
        (
            idle.interfaces[0].received_bps,
            idle.interfaces[0].total.sent_bytes,
        ) = (0.0, 0);
        let size = joulepath_model::units::Bytes(7_000_000);
        assert_eq!(
            loaded(&idle).0.connections[0].workload,
            Workload::File { size }
        );
    }

    #[test]
    fn without_a_known_path_there_is_no_scenario() {
        let mut unknown = status();
        unknown.interfaces.truncate(1);
        unknown.interfaces[0].capacity_bps = None;
        let error = scenario(&read_live(CONFIG).unwrap(), &unknown)
            .unwrap_err()
            .to_string();
        assert!(error.contains("wlan0: omitted: no traffic seen"), "{error}");
    }
}
