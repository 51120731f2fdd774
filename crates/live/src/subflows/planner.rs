//! What has to be done for all connections, or for those to which something has happened.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::Event;
use joulepath_kernel::mptcp::{TcpState, Token};
use joulepath_model::units::Nanos;

use super::group::Group;
use super::known::Known;
use super::plan;
use super::step::{Act, Owners, Plan};

/// How many connections there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Those that the daemon opens and closes subflows for.
    pub(crate) steered: usize,
    /// Those that the kernel does not let it: they began under the kernel's path manager.
    pub(crate) of_kernel: usize,
}

/// Plans, with what it remembers of connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planner {
    known: BTreeMap<Token, Known>,
    /// Whether a listing was seen: what is new after it has begun now.
    has_looked: bool,
}

impl Planner {
    /// Takes in what stands. What is not listed any more is forgotten.
    pub(crate) fn observe(&mut self, now: Nanos, listing: &Listing) {
        let since = self.has_looked.then_some(now);
        self.has_looked = true;
        let mut before = std::mem::take(&mut self.known);
        let stands = listing
            .connections
            .iter()
            .filter(|connection| connection.state == TcpState::Established && !connection.info.fallback);
        for connection in stands {
            let token = connection.info.token;
            let mut known = before
                .remove(&token)
                .unwrap_or_else(|| Known::new(connection.local, connection.remote, since));
            known.observe(connection);
            self.known.insert(token, known);
        }
    }

    /// Takes in what the kernel tells; the connection, if there may be something to do for it.
    pub(crate) fn hear(&mut self, now: Nanos, event: &Event) -> Option<Token> {
        match event {
            Event::Established { token, ends, server } => {
                let known = Known::begun(*ends, !*server, now);
                self.known.entry(*token).or_insert(known);
                Some(*token)
            }
            Event::Closed { token } => {
                self.known.remove(token);
                None
            }
            Event::Announced { token, id, remote } => {
                self.known.get_mut(token)?.announced(*id, *remote);
                Some(*token)
            }
            Event::Removed { token, id } => {
                self.known.get_mut(token)?.withdrawn(*id);
                None
            }
            Event::SubflowEstablished(subflow) => {
                self.known.get_mut(&subflow.token)?.established(subflow);
                Some(subflow.token)
            }
            Event::SubflowClosed(subflow) => {
                self.known.get_mut(&subflow.token)?.closed(subflow.ends);
                Some(subflow.token)
            }
            Event::Resync(listing) => {
                self.observe(now, listing);
                None
            }
            _ => None,
        }
    }

    /// Connections of which it is not known whether the kernel lets them be steered.
    pub(crate) fn unasked(&self) -> Vec<Token> {
        let unasked = self.known.iter().filter(|(_, known)| known.steerable.is_none());
        unasked.map(|(token, _)| *token).collect()
    }

    /// Whether the kernel lets a connection be steered; none: there is no such connection any more.
    pub(crate) fn learn(&mut self, token: Token, steerable: Option<bool>) {
        match steerable {
            None => drop(self.known.remove(&token)),
            Some(_) => self.change(token, |known| known.steerable = steerable),
        }
    }

    /// Puts connections that have no group yet into theirs.
    pub(crate) fn assign(&mut self, token: Token, group: usize) {
        self.change(token, |known| known.group = Some(group));
    }

    /// Whether a connection is in a group already.
    pub(crate) fn is_assigned(&self, token: Token) -> bool {
        self.known.get(&token).is_some_and(|known| known.group.is_some())
    }

    /// Whether there is a connection of which it is not known yet whose it is.
    pub(crate) fn has_unassigned(&self) -> bool {
        self.known.values().any(|known| known.group.is_none())
    }

    /// The configuration is another one: groups, and which interfaces are ours.
    pub(crate) fn regroup(&mut self) {
        self.known.values_mut().for_each(|known| (known.group, known.elsewhere) = (None, None));
    }

    /// The kernel would not open a subflow yet: the connection has no data that is acknowledged.
    pub(crate) fn was_early(&mut self, now: Nanos, token: Token, act: &Act) {
        self.change(token, |known| known.was_early(now, act));
    }

    /// The kernel has refused to open a subflow: its address may have another number there.
    pub(crate) fn was_refused(&mut self, token: Token, act: &Act) {
        self.change(token, |known| known.was_refused(act));
    }

    fn change(&mut self, token: Token, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.get_mut(&token) {
            change(known);
        }
    }

    /// What has to be done now, for all connections or for those that are named.
    pub(crate) fn plan(
        &mut self,
        now: Nanos,
        groups: &[Group],
        owners: &Owners,
        only: Option<&BTreeSet<Token>>,
    ) -> Plan {
        let mut plan = Plan::default();
        for (token, known) in &mut self.known {
            if only.is_some_and(|only| !only.contains(token)) || known.steerable != Some(true) {
                continue;
            }
            if let Some(group) = known.group.and_then(|group| groups.get(group)) {
                plan::plan(now, *token, known, group, (owners, only.is_none()), &mut plan);
            }
        }
        plan
    }

    /// How many connections there are.
    pub(crate) fn counts(&self) -> Counts {
        let are =
            |steerable: bool| self.known.values().filter(|known| known.steerable == Some(steerable)).count();
        Counts { steered: are(true), of_kernel: are(false) }
    }

    /// How many connections are in a group.
    pub(crate) fn members(&self, group: usize) -> usize {
        let is_in = |known: &&Known| known.group == Some(group) && known.steerable == Some(true);
        self.known.values().filter(is_in).count()
    }
}
