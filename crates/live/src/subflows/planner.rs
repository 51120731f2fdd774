//! Plans the steps for all connections, or for those with events.

use std::collections::{BTreeMap, BTreeSet};

use joulepath_kernel::mptcp::diag::Listing;
use joulepath_kernel::mptcp::path_manager::Event;
use joulepath_kernel::mptcp::{TcpState, Token};
use joulepath_kernel::route::Flow;
use joulepath_model::units::Nanos;

use super::group::Group;
use super::known::Known;
use super::plan;
use super::step::{Act, Owners, Plan};

/// Number of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Connections steered by the daemon.
    pub(crate) steered: usize,
    /// Connections that started under the kernel's path manager, which the daemon cannot steer.
    pub(crate) of_kernel: usize,
}

/// Plans steps and remembers connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planner {
    known: BTreeMap<Token, Known>,
    /// True after the first listing: later connections are new.
    has_looked: bool,
}

impl Planner {
    /// Takes in a listing. Connections that are not listed are forgotten.
    pub(crate) fn observe(&mut self, now: Nanos, listing: &Listing) {
        let since = self.has_looked.then_some(now);
        self.has_looked = true;
        let mut before = std::mem::take(&mut self.known);
        let stands = listing.connections.iter().filter(|connection| {
            connection.state == TcpState::Established && !connection.info.fallback
        });
        for connection in stands {
            let token = connection.info.token;
            let mut known = before
                .remove(&token)
                .unwrap_or_else(|| Known::new(connection.local, connection.remote, since));
            known.observe(connection);
            self.known.insert(token, known);
        }
    }

    /// Takes in an event. Returns the connection if there may be something to do for it.
    pub(crate) fn hear(&mut self, now: Nanos, event: &Event) -> Option<Token> {
        match event {
            Event::Established {
                token,
                ends,
                server,
            } => {
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

    /// Connections for which the kernel was not yet asked whether they can be steered.
    pub(crate) fn unasked(&self) -> Vec<Token> {
        let unasked = self
            .known
            .iter()
            .filter(|(_, known)| known.steerable.is_none());
        unasked.map(|(token, _)| *token).collect()
    }

    /// Stores the kernel's answer; `None`: the connection no longer exists.
    pub(crate) fn learn(&mut self, token: Token, steerable: Option<bool>) {
        match steerable {
            None => drop(self.known.remove(&token)),
            Some(_) => self.change(token, |known| known.steerable = steerable),
        }
    }

    /// Connections for whose route the kernel was not yet asked. `by_owner`: only those whose owner
    /// is known.
    pub(crate) fn unrouted(&self, by_owner: bool) -> Vec<(Token, Flow)> {
        let unrouted = self
            .known
            .iter()
            .filter(|(_, known)| known.routed.is_none());
        let ready = unrouted.filter(|(_, known)| known.owner.is_some() || !by_owner);
        ready.map(|(token, known)| (*token, known.flow())).collect()
    }

    /// Stores the kernel's answer: the device of the connection's route.
    pub(crate) fn set_route(&mut self, token: Token, device: Option<u32>) {
        self.change(token, |known| known.routed = Some(device));
    }

    /// True if the route of some connection is unknown.
    pub(crate) fn has_unrouted(&self) -> bool {
        self.known.values().any(|known| known.routed.is_none())
    }

    /// Assigns a connection to a group.
    pub(crate) fn assign(&mut self, token: Token, group: usize) {
        self.change(token, |known| known.group = Some(group));
    }

    pub(crate) fn is_assigned(&self, token: Token) -> bool {
        self.known
            .get(&token)
            .is_some_and(|known| known.group.is_some())
    }

    /// True if some connection has no group yet.
    pub(crate) fn has_unassigned(&self) -> bool {
        self.known.values().any(|known| known.group.is_none())
    }

    /// Resets groups and interfaces after a change of the configuration.
    pub(crate) fn regroup(&mut self) {
        for known in self.known.values_mut() {
            // Its device may have got another index: its address decides.
            if known.elsewhere == Some(false) {
                known.routed = Some(None);
            }
            (known.group, known.elsewhere) = (None, None);
        }
    }

    /// The kernel refused because the connection has no acknowledged data yet.
    pub(crate) fn note_early(&mut self, now: Nanos, token: Token, act: &Act) {
        self.change(token, |known| known.note_early(now, act));
    }

    /// The kernel refused to open a subflow: its address may have another id there.
    pub(crate) fn note_refusal(&mut self, token: Token, act: &Act) {
        self.change(token, |known| known.note_refusal(act));
    }

    fn change(&mut self, token: Token, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.known.get_mut(&token) {
            change(known);
        }
    }

    /// The steps due now, for all connections or only for `only`.
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
                plan::plan(
                    now,
                    *token,
                    known,
                    group,
                    (owners, only.is_none()),
                    &mut plan,
                );
            }
        }
        plan
    }

    pub(crate) fn counts(&self) -> Counts {
        let are = |steerable: bool| {
            self.known
                .values()
                .filter(|known| known.steerable == Some(steerable))
                .count()
        };
        Counts {
            steered: are(true),
            of_kernel: are(false),
        }
    }

    /// Number of connections in a group.
    pub(crate) fn members(&self, group: usize) -> usize {
        let is_in = |known: &&Known| known.group == Some(group) && known.steerable == Some(true);
        self.known.values().filter(is_in).count()
    }
}
