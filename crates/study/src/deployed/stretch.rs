//! Turns half a minute of a record into a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use joulepath_live::decide::Role;
use joulepath_live::record::Look;
use joulepath_live::snapshot::Interface;
use joulepath_model::live::LiveConfig;
use joulepath_model::policy::Policy;
use joulepath_model::scenario::load;
use joulepath_model::units::Nanos;
use joulepath_packet::{RunOptions, Session};

use crate::error::{Error, Kind, Result};
use crate::policies;

/// Bytes that devices count for each byte of payload: a full segment with its link, IP and TCP
/// headers and time stamps.
pub(super) const WIRE: f64 = 1514.0 / 1448.0;
/// The kernel's own scheduler and CUBIC.
const POLICY: &str = "linux";
/// Rate of a path that was never busy, bit/s.
const UNTRIED_BPS: f64 = 10e6;
/// Fraction of the capacity in use above which traffic counts as limited by the paths.
const FULL: f64 = 0.8;
/// Minimum rate that counts as traffic, bit/s.
const LEAST_BPS: f64 = 10e3;
/// Maximum loss that counts as random.
const MOST_LOSS: f64 = 0.2;

#[derive(Clone, Debug)]
struct PathSpec {
    name: String,
    rate_bps: f64,
    rtt: Nanos,
    loss: f64,
    /// Since the beginning of the stretch.
    outages: Vec<(Nanos, Nanos)>,
}

#[derive(Clone, Debug)]
pub(super) struct Stretch {
    paths: Vec<PathSpec>,
    /// Offered payload, bit/s; `None`: unlimited.
    offered_bps: Option<f64>,
    upload: bool,
    length: Nanos,
}

impl Stretch {
    /// `rtts`: typical RTT of each interface.
    pub(super) fn of(config: &LiveConfig, looks: &[Look], rtts: BTreeMap<String, Nanos>) -> Self {
        let [first, .., last] = looks else {
            return Stretch::at(config, looks, rtts);
        };
        let length = last.snapshot.now.saturating_sub(first.snapshot.now);
        Stretch {
            length,
            ..Stretch::at(config, looks, rtts)
        }
    }

    fn at(config: &LiveConfig, looks: &[Look], rtts: BTreeMap<String, Nanos>) -> Self {
        let told = looks.iter().flat_map(|look| &look.decision.interfaces);
        let usable = told.filter(|told| told.allowed && rtts.contains_key(&told.name));
        let names: BTreeSet<String> = usable.map(|told| told.name.clone()).collect();
        let paths: Vec<PathSpec> = names
            .into_iter()
            .map(|name| path(config, looks, name, &rtts))
            .collect();
        let (down, up) = (
            mean(looks, |one| one.received_bps),
            mean(looks, |one| one.sent_bps),
        );
        let carried = down.max(up);
        let full = full_bps(looks, &paths);
        let offered_bps = (full == 0.0 || carried < FULL * full).then_some(carried / WIRE);
        Stretch {
            paths,
            offered_bps,
            upload: up > down,
            length: Nanos::ZERO,
        }
    }

    /// Names of the paths, in the scenario's order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| path.name.as_str())
    }

    /// Whether the device sends.
    pub(super) fn is_upload(&self) -> bool {
        self.upload
    }

    /// Starts a run; `None` if there is no traffic.
    pub(super) fn session(&self, seed: u64) -> Result<Option<Session>> {
        let is_idle = self.offered_bps.is_some_and(|bps| bps < LEAST_BPS);
        if is_idle || self.paths.is_empty() || self.length == Nanos::ZERO {
            return Ok(None);
        }
        let no_traces = |name: &str| Err(format!("no trace `{name}` belongs to it"));
        let scenario = load(&self.text(), &no_traces).map_err(|errors| Error::Scenario {
            errors: Box::new(errors.in_file("a stretch of the record")),
            kind: Kind::Failed,
        })?;
        let policy: Policy = POLICY.parse()?;
        let setup = policies::setup(&policy, &scenario, Kind::Failed)?;
        let session = Session::new(Arc::new(scenario), &setup, seed, RunOptions::default());
        session
            .map(Some)
            .map_err(|error| Error::usage(error.to_string()))
    }

    fn text(&self) -> String {
        // No run ends before the last poll.
        let mut text = format!(
            "title = \"a stretch\"\nduration = \"{} ms\"\n",
            self.length.0 / 1_000_000 + 1000
        );
        for PathSpec {
            name,
            rate_bps,
            rtt,
            loss,
            outages,
        } in &self.paths
        {
            let delay_us = rtt.0 / 2000;
            let _ = write!(
                text,
                "\n[[path]]\nname = \"{}\"\nrate = \"{} bit/s\"\ndelay = \"{delay_us} us\"\nloss = \"{} %\"\n\
                 energy = \"free\"\n",
                plain(name),
                *rate_bps as u64,
                loss * 100.0,
            );
            let ms = |at: &Nanos| at.0 / 1_000_000;
            let all: Vec<String> = outages
                .iter()
                .map(|(from, to)| format!("[\"{} ms\", \"{} ms\"]", ms(from), ms(to)))
                .collect();
            let _ = writeln!(text, "outages = [{}]", all.join(", "));
        }
        let direction = if self.upload { "upload" } else { "download" };
        let kind = match self.offered_bps {
            None => "kind = \"bulk\"".to_owned(),
            Some(bps) => format!(
                "kind = \"stream\"\nrate = \"{} bit/s\"\ninterval = \"40 ms\"",
                bps as u64
            ),
        };
        text + &format!("\n[workload]\n{kind}\ndirection = \"{direction}\"\n")
    }

    /// Paths that carry data: regular ones, or backups if there are no regular ones.
    pub(super) fn used(&self, roles: &BTreeMap<String, Role>) -> Vec<bool> {
        let role = |path: &PathSpec| roles.get(&path.name).copied().unwrap_or_default();
        let best = self.paths.iter().map(role).max().unwrap_or_default();
        // A connection starts before the first decision.
        self.paths
            .iter()
            .map(|path| best == Role::Unused || role(path) == best)
            .collect()
    }
}

/// Replaces characters that a path's name cannot contain: keeps letters, digits, `-` and `_`.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

fn path(
    config: &LiveConfig,
    looks: &[Look],
    name: String,
    rtts: &BTreeMap<String, Nanos>,
) -> PathSpec {
    let seen = || looks.iter().filter_map(|look| of(look, &name));
    let configured = config
        .interface(&name)
        .and_then(|known| known.rate)
        .map(|rate| rate.bps() as f64);
    let most = seen()
        .filter_map(|one| one.capacity_bps)
        .fold(0.0, f64::max);
    let traffic: Vec<_> = looks
        .iter()
        .filter_map(|look| look.traffic.get(&name))
        .collect();
    let sent: f64 = traffic.iter().map(|one| one.sent_bytes as f64).sum();
    let again = match traffic.as_slice() {
        [first, .., last] => last
            .retransmitted_bytes
            .saturating_sub(first.retransmitted_bytes) as f64,
        _ => 0.0,
    };
    PathSpec {
        rate_bps: configured.unwrap_or(if most > 0.0 { most } else { UNTRIED_BPS }),
        rtt: rtts[&name],
        loss: if sent > 0.0 {
            (again / sent).min(MOST_LOSS)
        } else {
            0.0
        },
        outages: outages(looks, &name),
        name,
    }
}

fn of<'a>(look: &'a Look, name: &str) -> Option<&'a Interface> {
    look.snapshot.interfaces.iter().find(|one| one.name == name)
}

/// Outages since the first poll.
fn outages(looks: &[Look], name: &str) -> Vec<(Nanos, Nanos)> {
    let begin = looks[0].snapshot.now;
    let mut all: Vec<(Nanos, Nanos)> = vec![];
    for (place, look) in looks.iter().enumerate() {
        let now = look.snapshot.now;
        let is_out = of(look, name).is_none_or(|one| {
            !one.usable
                || !one.routed
                || one.addresses.is_empty()
                || one.stalled
                || one.silent.is_some()
        });
        if !is_out {
            continue;
        }
        let before = of(look, name)
            .and_then(|one| one.silent)
            .unwrap_or_default();
        let from = now.saturating_sub(before).saturating_sub(begin);
        let next = looks
            .get(place + 1)
            .map_or(now + Nanos::from_secs(2), |next| next.snapshot.now);
        let to = next.saturating_sub(begin).max(from + Nanos::from_millis(1));
        match all.last_mut() {
            Some((_, end)) if *end >= from => *end = to.max(*end),
            _ => all.push((from, to)),
        }
    }
    all
}

/// Mean rate of a direction over the polls, summed over interfaces, bit/s.
fn mean(looks: &[Look], rate: impl Fn(&joulepath_live::record::Traffic) -> f64) -> f64 {
    let sum: f64 = looks
        .iter()
        .flat_map(|look| look.traffic.values())
        .map(rate)
        .sum();
    sum / looks.len().max(1) as f64
}

/// Total capacity of the paths that carry data, bit/s; mean over the polls.
fn full_bps(looks: &[Look], paths: &[PathSpec]) -> f64 {
    let at = |look: &Look| -> f64 {
        let carries = |name: &str| {
            look.decision
                .interfaces
                .iter()
                .any(|told| told.name == name && told.role == Role::Regular)
        };
        paths
            .iter()
            .filter(|path| carries(&path.name))
            .map(|path| path.rate_bps)
            .sum()
    };
    looks.iter().map(at).sum::<f64>() / looks.len().max(1) as f64
}
