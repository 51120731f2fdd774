//! The daemon as path manager: what it needs besides decisions about interfaces.

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
use crate::subflows::{Done, Ground, Group, Rules, Steering};

/// Events that may wait to be read, bytes: connections may come by the thousand.
const ROOM: usize = 1 << 20;
/// Events that are taken in at once.
const MOST_EVENTS: usize = 10_000;

/// Connections that are steered one by one.
#[derive(Debug)]
pub(crate) struct UserSpace {
    steering: Steering<PathManager>,
    events: Events,
    rules: Rules,
}

impl UserSpace {
    /// Begins to listen: the other end's subflows are accepted only while somebody does.
    ///
    /// # Errors
    /// If this kernel has no such path manager, or its events cannot be heard.
    pub(crate) fn open(config: &LiveConfig) -> Result<Self> {
        path_manager::chosen()?;
        let manager = PathManager::open()?;
        let events = manager.events()?;
        events.set_room(ROOM)?;
        Ok(UserSpace { steering: Steering::new(manager), events, rules: Rules::new(config) })
    }

    /// The configuration has changed.
    pub(crate) fn reconfigured(&mut self, config: &LiveConfig) {
        self.rules = Rules::new(config);
        self.steering.regroup();
    }

    /// The path manager that new connections should get; none: what was found.
    pub(crate) fn wanted(&self, decision: &Decision, overrides: &Overrides) -> Option<&'static str> {
        let is_meant = decision.endpoints.is_some() || self.has_rules_beside(overrides);
        is_meant.then_some(path_manager::USER_SPACE)
    }

    /// Whether there are rules that count: `off` that was set while the daemon runs is for everything.
    fn has_rules_beside(&self, overrides: &Overrides) -> bool {
        !self.rules.is_empty() && overrides.machine != Some(Intent::Off)
    }

    /// As [`Steering::needs_listing`].
    pub(crate) fn needs_listing(&self) -> bool {
        self.steering.needs_listing()
    }

    /// Takes in a look, decides for each rule, and does what follows for connections.
    ///
    /// # Errors
    /// If the kernel cannot be asked.
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
        let again = decisions.iter().skip(1).filter_map(|decision| decision.look_again).min();
        let groups = decisions.iter().map(|decision| Group::of(config, decision, &snapshot.interfaces));
        let names = snapshot.interfaces.iter().map(|interface| (interface.index, interface.name.clone()));
        let ground = Ground { groups: groups.collect(), owners: look.owners.clone(), names: names.collect() };
        let mut done = self.steering.look(snapshot.now, listing, &mut self.rules, ground)?;
        done.again = done.again.into_iter().chain(again).min();
        Ok(done)
    }

    /// Takes in what has happened to connections, and does what follows.
    ///
    /// # Errors
    /// If the kernel cannot be asked, or says what cannot be understood.
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

    pub(crate) fn status(&self) -> SteeringStatus {
        self.steering.status(&self.rules)
    }

    /// What the user should know.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.rules.troubles
    }
}

/// To wait for events.
impl AsFd for UserSpace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}
