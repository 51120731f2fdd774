//! Carries out plans for connections through the kernel's user-space path manager.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::SocketAddr;

use joulepath_kernel::mptcp::diag::{Connection, Listing};
use joulepath_kernel::mptcp::path_manager::{Ends, Event, Local, PathManager};
use joulepath_kernel::mptcp::{AddressId, Token};
use joulepath_kernel::probe::{is_miscounted, repaired};
use joulepath_kernel::route::{Flow, Routing};
use joulepath_kernel::{Error, Result};
use joulepath_model::units::Nanos;

use super::group::Group;
use super::planner::Planner;
use super::rules::{Fitted, Rules};
use super::step::{Act, Owners, Plan, Step};
use crate::status::{RuleStatus, SteeringStatus};

/// The path manager's commands for single connections.
pub(crate) trait Commands {
    /// True if the daemon can steer the connection; `None` if it does not exist.
    fn is_steerable(&mut self, token: Token) -> Result<Option<bool>>;
    /// As [`Routing::lookup`].
    fn device(&mut self, flow: &Flow) -> Result<Option<u32>>;
    /// As [`PathManager::create_subflow`].
    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()>;
    /// As [`PathManager::destroy_subflow`].
    fn close(&mut self, token: Token, ends: Ends) -> Result<()>;
    /// As [`PathManager::set_subflow_backup`].
    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()>;
    /// As [`PathManager::announce`].
    fn announce(&mut self, token: Token, local: &Local) -> Result<()>;
    /// As [`PathManager::remove`].
    fn withdraw(&mut self, token: Token, id: AddressId) -> Result<()>;
}

/// The kernel's path manager and routes.
#[derive(Debug)]
pub(crate) struct Kernel {
    manager: PathManager,
    routing: Routing,
}

impl Kernel {
    /// # Errors
    /// As [`Routing::open`].
    pub(crate) fn new(manager: PathManager) -> Result<Self> {
        Ok(Kernel {
            manager,
            routing: Routing::open()?,
        })
    }
}

impl Commands for Kernel {
    fn is_steerable(&mut self, token: Token) -> Result<Option<bool>> {
        self.manager.is_steerable(token)
    }

    fn device(&mut self, flow: &Flow) -> Result<Option<u32>> {
        self.routing.lookup(flow)
    }

    fn open(&mut self, token: Token, local: &Local, remote: SocketAddr) -> Result<()> {
        self.manager.create_subflow(token, local, remote)
    }

    fn close(&mut self, token: Token, ends: Ends) -> Result<()> {
        self.manager.destroy_subflow(token, ends)
    }

    fn set_backup(&mut self, token: Token, ends: Ends, backup: bool) -> Result<()> {
        self.manager.set_subflow_backup(token, ends, backup)
    }

    fn announce(&mut self, token: Token, local: &Local) -> Result<()> {
        self.manager.announce(token, local)
    }

    fn withdraw(&mut self, token: Token, id: AddressId) -> Result<()> {
        self.manager.remove(token, id)
    }
}

/// Input of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ground {
    /// The machine's group, then those of the rules.
    pub(crate) groups: Vec<Group>,
    pub(crate) owners: Owners,
    /// Interface names by index.
    pub(crate) names: BTreeMap<u32, String>,
    /// True if the route of a connection depends on its user or mark, which only a listing shows.
    pub(crate) routes_by_owner: bool,
}

#[derive(Debug)]
pub(crate) struct Steering<C> {
    commands: C,
    planner: Planner,
    ground: Ground,
    /// Since the start.
    totals: Totals,
    /// True if a subflow was opened since the last listing: only a listing shows whether it waits
    /// in vain for an answer.
    has_opened: bool,
    /// Connections whose subflows the kernel has miscounted, at the last listing, and one of the
    /// counts.
    miscounted: Option<(usize, u8)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    opened: usize,
    closed: usize,
    refused: usize,
}

/// Result of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Log lines; connections with the same step and reason share a line.
    pub(crate) said: Vec<String>,
    /// When to check again.
    pub(crate) again: Option<Nanos>,
}

impl<C: Commands> Steering<C> {
    pub(crate) fn new(commands: C) -> Self {
        let (planner, ground) = (Planner::default(), Ground::default());
        Steering {
            commands,
            planner,
            ground,
            totals: Totals::default(),
            has_opened: false,
            miscounted: None,
        }
    }

    #[cfg(test)]
    pub(super) fn commands_mut(&mut self) -> &mut C {
        &mut self.commands
    }

    /// Applies changed rules.
    pub(crate) fn regroup(&mut self) {
        self.planner.regroup();
    }

    /// True if the next poll must list all connections, because events do not tell enough.
    pub(crate) fn needs_listing(&self) -> bool {
        self.has_opened || self.planner.has_unassigned() || self.planner.has_unrouted()
    }

    /// Takes in a poll and the decisions, and steers connections. Without a listing, connections
    /// are as events left them.
    ///
    /// # Errors
    /// If a request to the kernel fails. Refusals for single connections are logged.
    pub(crate) fn look(
        &mut self,
        now: Nanos,
        listing: Option<&Listing>,
        rules: &mut Rules,
        ground: Ground,
    ) -> Result<Done> {
        self.ground = ground;
        if let Some(listing) = listing {
            self.has_opened = false;
            self.miscounted = miscounted(listing);
            self.planner.observe(now, listing);
            let is_new = |one: &&Connection| !self.planner.is_assigned(one.info.token);
            let new: Vec<&Connection> = listing.connections.iter().filter(is_new).collect();
            for (connection, group) in new.iter().zip(rules.groups(&new)) {
                self.planner.assign(connection.info.token, group);
            }
        }
        self.act(now, None)
    }

    /// Takes in events. If there are rules, a new connection waits for the next poll, which finds
    /// its owner.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub(crate) fn hear(&mut self, now: Nanos, events: &[Event], rules: &Rules) -> Result<Done> {
        let touched: BTreeSet<Token> = events
            .iter()
            .filter_map(|event| self.planner.hear(now, event))
            .collect();
        if rules.is_empty() {
            touched
                .iter()
                .for_each(|&token| self.planner.assign(token, 0));
        }
        if touched.is_empty() {
            Ok(Done::default())
        } else {
            self.act(now, Some(&touched))
        }
    }

    fn act(&mut self, now: Nanos, only: Option<&BTreeSet<Token>>) -> Result<Done> {
        if self.ground.groups.iter().all(Group::is_left_alone) {
            return Ok(Done::default());
        }
        for token in self.planner.unasked() {
            let steerable = self.commands.is_steerable(token)?;
            self.planner.learn(token, steerable);
        }
        for (token, flow) in self.planner.unrouted(self.ground.routes_by_owner) {
            let device = self.commands.device(&flow)?;
            self.planner.set_route(token, device);
        }
        let Plan { steps, again } =
            self.planner
                .plan(now, &self.ground.groups, &self.ground.owners, only);
        let mut done = Done {
            said: vec![],
            again,
        };
        let mut told: BTreeMap<String, usize> = BTreeMap::new();
        for step in steps {
            let said = self.take(now, &step);
            if let Some(said) = said {
                *told.entry(said).or_default() += 1;
            }
        }
        let times = |count| {
            if count == 1 {
                String::new()
            } else {
                format!(" ({count} connections)")
            }
        };
        done.said
            .extend(told.into_iter().map(|(said, count)| said + &times(count)));
        Ok(done)
    }

    /// Carries out a step. Returns its log line, if any.
    fn take(&mut self, now: Nanos, step: &Step) -> Option<String> {
        let Step {
            token,
            act,
            interface,
            why,
        } = step;
        let name = self
            .ground
            .names
            .get(interface)
            .map_or("a removed interface", String::as_str);
        let done = match act {
            Act::Open(local, remote) => self.commands.open(*token, local, *remote),
            Act::SetBackup(ends, backup) => self.commands.set_backup(*token, *ends, *backup),
            Act::Close(ends) => self.commands.close(*token, *ends),
            Act::Announce(local) => self.commands.announce(*token, local),
            Act::Withdraw(id) => self.commands.withdraw(*token, *id),
        };
        match (done, act) {
            (Ok(()), Act::Open(local, _)) => {
                self.totals.opened += 1;
                self.has_opened = true;
                let kind = if local.backup {
                    "a backup"
                } else {
                    "a subflow"
                };
                Some(format!("{name}: {kind} is opened: {why}"))
            }
            (Ok(()), Act::Close(_)) => {
                self.totals.closed += 1;
                Some(format!("{name}: a subflow is closed: {why}"))
            }
            (Ok(()), Act::SetBackup(_, true)) => {
                Some(format!("{name}: a subflow is a backup now: {why}"))
            }
            (Ok(()), Act::SetBackup(_, false)) => {
                Some(format!("{name}: a subflow is regular now: {why}"))
            }
            // The line of the closed subflow is enough.
            (Ok(()), Act::Withdraw(_)) => None,
            (Ok(()), Act::Announce(_)) => Some(format!("{name}: announced: {why}")),
            (Err(error), Act::Open(..)) if is_early(&error) => {
                self.planner.note_early(now, *token, act);
                None
            }
            // Connections and subflows may have ended in the meantime.
            (Err(error), Act::Close(_) | Act::SetBackup(..) | Act::Withdraw(_))
                if is_gone(&error) =>
            {
                None
            }
            (Err(error), _) => {
                self.totals.refused += 1;
                self.planner.note_refusal(*token, act);
                Some(format!("{name}: {error}"))
            }
        }
    }

    /// A warning if the kernel counts subflows wrongly.
    pub(crate) fn warning(&self) -> Option<String> {
        let (connections, counted) = self.miscounted?;
        Some(format!(
            "the kernel counts subflows wrongly: {counted} for one of {connections} connections that have \
             fewer. Programs that read the count, such as `ss -M`, are wrong; the daemon counts itself. \
             Repaired in Linux {}: install a newer kernel",
            repaired()
        ))
    }

    pub(crate) fn status(&self, rules: &Rules) -> SteeringStatus {
        let counts = self.planner.counts();
        let rule =
            |(place, (rule, fitted)): (usize, (&joulepath_model::live::Rule, Option<&Fitted>))| {
                RuleStatus {
                    rule: rule.words(),
                    intent: rule.intent,
                    tolerance_s: rule.tolerance.map(Nanos::as_secs_f64),
                    connections: self.planner.members(place + 1),
                    last: fitted.map(|fitted| fitted.words.clone()),
                    last_uid: fitted.map(|fitted| fitted.uid),
                    interfaces: self.roles(place + 1),
                }
            };
        SteeringStatus {
            connections: counts.steered,
            tolerance_s: None,
            of_kernel: counts.of_kernel,
            opened: self.totals.opened,
            closed: self.totals.closed,
            refused: self.totals.refused,
            rules: rules.told().enumerate().map(rule).collect(),
        }
    }

    /// Roles of interfaces in a group, by name.
    fn roles(&self, group: usize) -> BTreeMap<String, crate::decide::Role> {
        let roles = self
            .ground
            .groups
            .get(group)
            .map(Group::roles)
            .into_iter()
            .flatten();
        roles
            .filter_map(|(index, role)| Some((self.ground.names.get(&index)?.clone(), role)))
            .collect()
    }
}

/// The number of connections whose extra subflows the kernel has miscounted, and one of its counts.
fn miscounted(listing: &Listing) -> Option<(usize, u8)> {
    let is_wrong = |one: &&Connection| is_miscounted(one.info.extra_subflows, one.subflows.len());
    let wrong: Vec<&Connection> = listing.connections.iter().filter(is_wrong).collect();
    wrong
        .first()
        .map(|first| (wrong.len(), first.info.extra_subflows))
}

/// True if the kernel refuses because it is too early: a connection gets no further subflow before
/// its first data is acknowledged (RFC 8684, section 3.1).
fn is_early(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::NotConnected)
}

/// True if the subflow or connection no longer exists.
fn is_gone(error: &Error) -> bool {
    const EINVAL: i32 = 22;
    const ESRCH: i32 = 3;
    matches!(error, Error::Io { source, .. } if matches!(source.raw_os_error(), Some(EINVAL | ESRCH)))
}
