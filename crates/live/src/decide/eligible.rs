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

/// Bytes carried after which the highest rate seen counts as a path's capacity.
const ENOUGH_SEEN: Bytes = Bytes(5_000_000);

/// An interface that may be used.
pub(super) struct Eligible<'a> {
    pub(super) interface: &'a Interface,
    pub(super) standing: Standing,
    pub(super) intent: Intent,
    /// For how long the path has been silent, if that is suspicious.
    pub(super) watched: Option<Nanos>,
}

impl Eligible<'_> {
    /// Sort key in the order of preference.
    pub(super) fn place(&self, config: &LiveConfig, machine: Intent) -> (u8, bool, u32, String) {
        let cost = config
            .interface(&self.interface.name)
            .and_then(|known| known.cost)
            .unwrap_or(u32::MAX);
        (
            self.standing.rank(),
            self.is_outsider(machine),
            cost,
            self.interface.name.clone(),
        )
    }

    /// The sort key it would have without any trouble.
    pub(super) fn place_at_best(
        &self,
        config: &LiveConfig,
        machine: Intent,
    ) -> (u8, bool, u32, String) {
        let (_, outsider, cost, name) = self.place(config, machine);
        (self.standing.rank_at_best(), outsider, cost, name)
    }

    /// True if connections start here although a better path exists. Closing the subflow saves
    /// energy, because the kernel acknowledges data on every open subflow.
    pub(super) fn is_left(&self, plan: &Plan) -> bool {
        let Interface {
            first,
            subflows,
            sole,
            ..
        } = *self.interface;
        first && subflows > 0 && sole == 0 && plan[&self.interface.name].role == Role::Unused
    }

    /// True if its own intent ranks it after interfaces with the machine's intent.
    pub(super) fn is_outsider(&self, machine: Intent) -> bool {
        self.intent != machine && self.intent != Intent::Aggregate
    }

    /// Its capacity, if known. A path that has carried little may be faster than it seems.
    pub(super) fn known_bps(&self) -> Option<f64> {
        if let Some(remembered) = self.remembered_bps() {
            return Some(remembered);
        }
        let is_known = self.interface.carried_bytes >= ENOUGH_SEEN.0;
        self.interface
            .capacity_bps
            .filter(|&bps| is_known || bps > frugal::UNTRIED_BPS)
    }

    /// The remembered capacity of its network, or the measured one if that is higher. `None` if
    /// nothing is remembered.
    fn remembered_bps(&self) -> Option<f64> {
        let remembered = self.interface.remembered?.rate_bps?;
        Some(
            self.interface
                .capacity_bps
                .map_or(remembered, |bps| bps.max(remembered)),
        )
    }

    /// Its RTT, or the remembered one of its network.
    pub(super) fn known_rtt(&self) -> Option<Nanos> {
        self.interface.rtt.or(self
            .interface
            .remembered
            .and_then(|remembered| remembered.rtt))
    }

    /// One endpoint per address.
    pub(super) fn endpoints(&self, config: &LiveConfig, role: Role) -> Vec<Wanted> {
        let known = config.interface(&self.interface.name);
        let endpoint = |&address: &IpAddr| Wanted {
            address,
            interface: self.interface.index,
            backup: role == Role::Backup,
            signal: known.is_some_and(|known| known.signal),
            fullmesh: known.is_some_and(|known| known.fullmesh),
            renew: false,
            laminar: false,
        };
        self.interface.addresses.iter().map(endpoint).collect()
    }

    /// The lowest role by choice: never closes the last working subflow of a connection.
    pub(super) fn lowest(&self) -> Role {
        if self.interface.sole > 0 {
            Role::Backup
        } else {
            Role::Unused
        }
    }

    /// The lowest role if it must carry nothing: never ends a connection.
    pub(super) fn lowest_by_force(&self) -> Role {
        if self.interface.only > 0 {
            Role::Backup
        } else {
            Role::Unused
        }
    }

    pub(super) fn filled(&self, config: &LiveConfig) -> Filled {
        let rate = config
            .interface(&self.interface.name)
            .and_then(|known| known.rate);
        let most_bps = rate
            .map(|rate| rate.bps() as f64)
            .or_else(|| self.remembered_bps());
        let most_bps = most_bps.or(self.interface.capacity_bps);
        Filled {
            rate_bps: self.interface.rate_bps,
            most_bps,
            is_said: rate.is_some(),
        }
    }
}
