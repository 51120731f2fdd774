//! The daemon as path manager of single connections.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::{self, Event, Events, PathManager};
use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::Nanos;

use crate::decide::{Decision, Overrides};
use crate::machine::Look;
use crate::snapshot::Snapshot;
use crate::status::SteeringStatus;
use crate::subflows::{Done, Ground, Group, Kernel, Rules, Steering};

/// Receive buffer for events, bytes: thousands of connections may start at once.
const ROOM: usize = 1 << 20;
/// Events handled per call.
const MOST_EVENTS: usize = 10_000;

/// State of the user-space path manager.
#[derive(Debug)]
pub(crate) struct UserSpace {
    steering: Steering<Kernel>,
    events: Events,
    rules: Rules,
}

impl UserSpace {
    /// Subscribes to events. The kernel accepts the peer's subflows only while a subscriber exists.
    ///
    /// # Errors
    /// If this kernel has no such path manager, or the subscription fails.
    pub(crate) fn open(config: &LiveConfig) -> Result<Self> {
        path_manager::chosen()?;
        let manager = PathManager::open()?;
        let events = manager.events()?;
        events.set_room(ROOM)?;
        Ok(UserSpace {
            steering: Steering::new(Kernel::new(manager)?),
            events,
            rules: Rules::new(config),
        })
    }

    /// Applies a changed configuration.
    pub(crate) fn reconfigured(&mut self, config: &LiveConfig) {
        self.rules = Rules::new(config);
        self.steering.regroup();
    }

    /// Path manager for new connections; `None` restores the one found at the start.
    pub(crate) fn wanted(
        &self,
        decision: &Decision,
        overrides: &Overrides,
    ) -> Option<&'static str> {
        let is_meant = decision.endpoints.is_some() || self.has_rules_beside(overrides);
        is_meant.then_some(path_manager::USER_SPACE)
    }

    /// True if rules apply. `off`, set while the daemon runs, disables them all.
    fn has_rules_beside(&self, overrides: &Overrides) -> bool {
        !self.rules.is_empty() && overrides.machine != Some(Intent::Off)
    }

    pub(crate) fn needs_listing(&self) -> bool {
        self.steering.needs_listing()
    }

    /// Takes in a poll, decides for each rule, and steers connections.
    ///
    /// # Errors
    /// If a request to the kernel fails.
    pub(crate) fn look(
        &mut self,
        config: &LiveConfig,
        overrides: &Overrides,
        seen: (&Snapshot, &Look, Option<&Listing>),
        decision: &Decision,
        paused: bool,
    ) -> Result<Done> {
        let (snapshot, look, listing) = seen;
        let mut decisions = vec![decision.clone()];
        match paused || (overrides.machine == Some(Intent::Off)) {
            true => decisions.clear(),
            false => decisions.extend(self.rules.decide(overrides, snapshot)),
        }
        let again = decisions
            .iter()
            .skip(1)
            .filter_map(|decision| decision.look_again)
            .min();
        let groups = decisions
            .iter()
            .map(|decision| Group::of(config, decision, &snapshot.interfaces));
        let names = snapshot
            .interfaces
            .iter()
            .map(|interface| (interface.index, interface.name.clone()));
        let ground = Ground {
            groups: groups.collect(),
            owners: look.owners.clone(),
            names: names.collect(),
            routes_by_owner: look.routes_by_owner,
        };
        let mut done = self
            .steering
            .look(snapshot.now, listing, &mut self.rules, ground)?;
        done.again = done.again.into_iter().chain(again).min();
        Ok(done)
    }

    /// Takes in events of connections and steers those connections.
    ///
    /// # Errors
    /// If a request to the kernel fails, or its answer is malformed.
    pub(crate) fn hear(&mut self, now: Nanos) -> Result<Done> {
        let mut events: Vec<Event> = vec![];
        while events.len() < MOST_EVENTS {
            match self.events.next_within(Duration::ZERO)? {
                Some(event) => events.push(event),
                None => break,
            }
        }
        self.steering.hear(now, &events, &self.rules)
    }

    pub(crate) fn status(&self, config: &LiveConfig) -> SteeringStatus {
        let tolerance_s = config.tolerance.map(Nanos::as_secs_f64);
        SteeringStatus {
            tolerance_s,
            ..self.steering.status(&self.rules)
        }
    }

    /// Warnings for the user.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.rules
            .troubles
            .iter()
            .cloned()
            .chain(self.steering.warning())
    }
}

/// Readable when events wait.
impl AsFd for UserSpace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}
