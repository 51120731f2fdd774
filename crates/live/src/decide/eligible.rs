//! Interfaces that may be used.

use std::net::IpAddr;

use joulepath_model::live::{Intent, LiveConfig};
use joulepath_model::units::{Bytes, Nanos};

use super::decision::{Role, Wanted};
use super::frugal;
use super::overflow::Filled;
use super::standing::Standing;
use super::want::Plan;
use crate::snapshot::Interface;

/// The highest rate seen says what a path can carry from so many bytes on.
const ENOUGH_SEEN: Bytes = Bytes(5_000_000);

/// An interface that may be used, and what speaks against it.
pub(super) struct Eligible<'a> {
    pub(super) interface: &'a Interface,
    pub(super) standing: Standing,
    pub(super) intent: Intent,
    /// For how long it has brought nothing, if that may mean something.
    pub(super) watched: Option<Nanos>,
}

impl Eligible<'_> {
    /// Where it stands in the order of preference.
    pub(super) fn place(&self, config: &LiveConfig, machine: Intent) -> (u8, bool, u32, String) {
        let cost = config.interface(&self.interface.name).and_then(|known| known.cost).unwrap_or(u32::MAX);
        (self.standing.rank(), self.is_outsider(machine), cost, self.interface.name.clone())
    }

    /// Where it would stand if nothing were wrong with it.
    pub(super) fn place_at_best(&self, config: &LiveConfig, machine: Intent) -> (u8, bool, u32, String) {
        let (_, outsider, cost, name) = self.place(config, machine);
        (self.standing.rank_at_best(), outsider, cost, name)
    }

    /// Whether connections begin here that have a better path by now: a subflow that stays open costs energy,
    /// since the kernel acknowledges data on all of them.
    pub(super) fn is_left(&self, plan: &Plan) -> bool {
        let Interface { first, subflows, sole, .. } = *self.interface;
        first && subflows > 0 && sole == 0 && plan[&self.interface.name].role == Role::Unused
    }

    /// Whether its own intent sets it behind those of the machine's.
    pub(super) fn is_outsider(&self, machine: Intent) -> bool {
        self.intent != machine && self.intent != Intent::Aggregate
    }

    /// What it can carry as far as that is known. A path that has carried little so far may well carry more.
    pub(super) fn known_bps(&self) -> Option<f64> {
        let is_known = self.interface.carried_bytes >= ENOUGH_SEEN.0;
        self.interface.capacity_bps.filter(|&bps| is_known || bps > frugal::UNTRIED_BPS)
    }

    /// An endpoint for each of its addresses.
    pub(super) fn endpoints(&self, config: &LiveConfig, role: Role) -> Vec<Wanted> {
        let known = config.interface(&self.interface.name);
        let endpoint = |&address: &IpAddr| Wanted {
            address,
            interface: self.interface.index,
            backup: role == Role::Backup,
            signal: known.is_some_and(|known| known.signal),
            fullmesh: known.is_some_and(|known| known.fullmesh),
            renew: false,
        };
        self.interface.addresses.iter().map(endpoint).collect()
    }

    /// What it may fall to by choice: no subflow is closed that is the last one of a connection.
    pub(super) fn lowest(&self) -> Role {
        if self.interface.sole > 0 { Role::Backup } else { Role::Unused }
    }

    /// What it falls to where it must carry nothing more: no connection is ended.
    pub(super) fn lowest_by_force(&self) -> Role {
        if self.interface.only > 0 { Role::Backup } else { Role::Unused }
    }

    pub(super) fn filled(&self, config: &LiveConfig) -> Filled {
        let rate = config.interface(&self.interface.name).and_then(|known| known.rate);
        let most_bps = rate.map(|rate| rate.bps() as f64).or(self.interface.capacity_bps);
        Filled { rate_bps: self.interface.rate_bps, most_bps, is_said: rate.is_some() }
    }
}
