//! Repeats the decisions of a daemon on simulated paths: turns its record into runs of the packet
//! engine, where the daemon's own code decides.
//!
//! ```text
//!   record ──► stretches of half a minute: rates, RTTs, losses, outages, offered traffic ──► session
//!     │                                                                    counters, RTTs │  ▲ paths to use
//!     │                                              the daemon's measuring and deciding ◄─┘──┘
//!     └── recorded decisions ────────────────────────────────────────────► compared, poll by poll
//! ```
//! | simulation | source in the record |
//! |---|---|
//! | rate of a path | `rate` of the configuration, or the highest rate so far |
//! | delay | half of the median RTT of the stretch, else of the record, else 25 ms |
//! | loss | retransmitted fraction of the sent data |
//! | outages | times when an interface was down, without a route, silent, or without answers |
//! | traffic | a stream at the mean of the stretch, bulk data if the paths in use were full, or none |
//! | battery, quotas, addresses, intents | as recorded |
//!
//! The traffic, load and silence of each path follow from the simulation.

mod feed;
mod stretch;

use std::collections::BTreeMap;
use std::path::Path;

use joulepath_live::decide::{Decider, Decision, Role};
use joulepath_live::record::{self, Entry, Look, Simulated};
use joulepath_model::live::LiveConfig;
use joulepath_model::units::Nanos;

use self::feed::Feed;
use self::stretch::Stretch;
use crate::error::{Error, Result};

/// Length of a stretch, in which traffic counts as constant.
const LENGTH: Nanos = Nanos::from_secs(30);
/// Differences that are listed one by one.
const MOST_TOLD: usize = 10;

/// Repeats the recorded decisions of a file on simulated paths. `seed` sets their losses.
///
/// # Errors
/// If the file is not a record, or nothing in it can be simulated.
pub fn replay(path: &Path, seed: u64) -> Result<Simulated> {
    let failed = |error: joulepath_live::Error| {
        let help = match &error {
            joulepath_live::Error::Refused { remedy, .. } => remedy.clone(),
            _ => "`joulepath live --record FILE` writes such files".into(),
        };
        Error::usage(error.to_string()).with_help(help)
    };
    let mut entries = record::read(path).map_err(failed)?.into_iter();
    let Some(Entry::Config(config)) = entries.next() else {
        unreachable!("a record begins with its configuration")
    };
    let mut replay = Replay::new(*config, seed);
    let mut waiting: Vec<Look> = vec![];
    for entry in entries {
        match entry {
            Entry::Look(look) => {
                let begins = waiting
                    .first()
                    .map_or(look.snapshot.now, |first| first.snapshot.now);
                if look.snapshot.now.saturating_sub(begins) >= LENGTH {
                    replay.stretch(&std::mem::take(&mut waiting))?;
                }
                waiting.push(*look);
            }
            Entry::Config(config) => {
                replay.stretch(&std::mem::take(&mut waiting))?;
                replay.config = *config;
                replay.decider.reconfigured();
            }
        }
    }
    replay.stretch(&waiting)?;
    Ok(replay.told)
}

/// Repeats the decisions, stretch by stretch.
struct Replay {
    config: LiveConfig,
    seed: u64,
    decider: Decider,
    feed: Feed,
    /// Roles in force in the simulation.
    roles: BTreeMap<String, Role>,
    first: Option<Nanos>,
    told: Simulated,
}

impl Replay {
    fn new(config: LiveConfig, seed: u64) -> Self {
        Replay {
            config,
            seed,
            decider: Decider::default(),
            feed: Feed::default(),
            roles: BTreeMap::new(),
            first: None,
            told: Simulated::default(),
        }
    }

    fn stretch(&mut self, looks: &[Look]) -> Result<()> {
        let Some(first) = looks.first() else {
            return Ok(());
        };
        self.told.stretches += 1;
        let stretch = Stretch::of(&self.config, looks, self.feed.typical_rtt(looks));
        let mut session = stretch.session(self.seed.wrapping_add(self.told.stretches as u64))?;
        self.told.simulated += usize::from(session.is_some());
        if let Some(session) = &mut session {
            session.use_paths(&stretch.used(&self.roles));
        }
        for look in looks {
            let at = look.snapshot.now.saturating_sub(first.snapshot.now);
            if let Some(session) = &mut session {
                session
                    .advance(at)
                    .map_err(|error| Error::usage(error.to_string()))?;
            }
            let snapshot = self.feed.snapshot(look, &stretch, session.as_mut());
            let decision = self
                .decider
                .decide(&self.config, &look.overrides, &snapshot);
            self.compare(look, &stretch, &decision);
            self.roles = decision
                .interfaces
                .iter()
                .map(|told| (told.name.clone(), told.role))
                .collect();
            if let Some(session) = &mut session {
                session.use_paths(&stretch.used(&self.roles));
            }
        }
        self.feed.end(&stretch, session.as_mut());
        Ok(())
    }

    fn compare(&mut self, look: &Look, stretch: &Stretch, now: &Decision) {
        let first = *self.first.get_or_insert(look.snapshot.now);
        let at_s = look.snapshot.now.saturating_sub(first).as_secs_f64();
        let find = |decision: &Decision, name: &str| {
            decision
                .interfaces
                .iter()
                .find(|told| told.name == name)
                .map(|told| (told.role, told.reason.with(&told.notes)))
        };
        let mut differ = None;
        for name in stretch.names() {
            let (was, is) = (find(&look.decision, name), find(now, name));
            let same = was.as_ref().map(|(role, _)| *role) == is.as_ref().map(|(role, _)| *role);
            self.told.roles += 1;
            self.told.roles_agree += usize::from(same);
            if !same && differ.is_none() {
                let said = |found: Option<(Role, String)>| match found {
                    Some((role, reason)) => format!("{}: {reason}", role.word()),
                    None => "not there".into(),
                };
                differ = Some(format!(
                    "{at_s:.1} s: {name}: was {}; is {}",
                    said(was),
                    said(is)
                ));
            }
        }
        self.told.looks += 1;
        self.told.length_s = at_s;
        match differ {
            None => self.told.agree += 1,
            Some(difference) if self.told.differences.len() < MOST_TOLD => {
                self.told.differences.push(difference);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
