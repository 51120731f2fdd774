//! Roles of interfaces for a group of connections.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_model::live::{Intent, LiveConfig, OpenAfter};
use joulepath_model::units::{Bytes, Nanos};

use crate::decide::{Decision, Role, Wanted, is_over_hard_quota};
use crate::snapshot::Interface;

/// Larger and longer connections get a second subflow, as in eMPTCP (Lim et al. 2015).
const LONG: OpenAfter = OpenAfter {
    bytes: Bytes(1_000_000),
    age: Nanos::from_secs(3),
};
/// Shorter connections need no backup.
const SHORT: OpenAfter = OpenAfter {
    bytes: Bytes(100_000),
    age: Nanos::from_secs(1),
};
/// A second path that opens because of trouble, or against it, is needed at once.
const AT_ONCE: OpenAfter = OpenAfter {
    bytes: Bytes(0),
    age: Nanos::ZERO,
};

/// The decision for a group of connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// Wanted subflows, in order of preference; `None`: the connections are left alone.
    pub(super) places: Option<Vec<Wanted>>,
    /// Subflows for connections that have none left: the kernel would end them.
    pub(super) rescue: Vec<Wanted>,
    /// Role by index of each interface that the configuration permits.
    pub(super) roles: BTreeMap<u32, Role>,
    /// Indexes of other devices whose connections may get subflows elsewhere.
    pub(super) bypassed: Vec<u32>,
    /// Own addresses that must carry nothing, even if that cuts off connections.
    pub(super) forbidden: Vec<IpAddr>,
    /// When a connection gets its second subflow; `None`: at once.
    pub(super) after: Option<OpenAfter>,
}

impl Group {
    pub(crate) fn of(config: &LiveConfig, decision: &Decision, interfaces: &[Interface]) -> Self {
        let told = |interface: &&Interface| {
            let told = decision
                .interfaces
                .iter()
                .find(|told| told.name == interface.name)?;
            told.allowed.then_some((interface.index, told.role))
        };
        let over = interfaces
            .iter()
            .filter(|interface| is_over_hard_quota(config, interface));
        let intent = decision.intent.unwrap_or(config.intent);
        Group {
            places: decision.endpoints.clone(),
            rescue: decision.waiting.clone(),
            roles: interfaces
                .iter()
                .filter_map(|interface| told(&interface))
                .collect(),
            bypassed: interfaces
                .iter()
                .filter(|interface| config.may_bypass(&interface.name))
                .map(|interface| interface.index)
                .collect(),
            forbidden: over
                .flat_map(|interface| interface.addresses.clone())
                .collect(),
            after: Some(config.open_after.unwrap_or_else(|| open_after(intent))),
        }
    }

    pub(super) fn roles(&self) -> impl Iterator<Item = (u32, Role)> {
        self.roles.iter().map(|(&index, &role)| (index, role))
    }

    /// True if its connections are left alone.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.places.is_none()
    }
}

/// Default time of the second subflow.
fn open_after(intent: Intent) -> OpenAfter {
    match intent {
        Intent::Frugal | Intent::Balanced | Intent::Aggregate | Intent::Overflow => LONG,
        Intent::Fast | Intent::Interactive => SHORT,
        Intent::Handover | Intent::Uninterrupted | Intent::Off => AT_ONCE,
    }
}
