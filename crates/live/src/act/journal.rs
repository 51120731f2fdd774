//! The journal of the daemon's own changes, written before each change.

use std::collections::BTreeSet;
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits};
use joulepath_kernel::mptcp::{AddressId, Token};
use joulepath_kernel::state::State;
use joulepath_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::table::Setting;
use crate::decide::Wanted;
use crate::exact::known;
use crate::versioned;

/// Folder of locks and journals, inside the folder of all states.
pub(crate) const FOLDER: &str = "live";
/// Schema of the record: 2 added the controller, 3 the path manager, 4 the connections that need an
/// endpoint, 5 endpoints of other programs.
const SCHEMA: u64 = 5;
/// Remedy for a record that cannot be read.
const REMEDY: &str = "run `joulepath live --undo` of the version that wrote it; or delete the file if \
                    `ip mptcp endpoint` lists no unwanted endpoint";

/// An endpoint that we have set or may have set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) id: AddressId,
    pub(super) address: IpAddr,
    pub(super) interface: u32,
    signal: bool,
    pub(super) fullmesh: bool,
    pub(super) backup: bool,
    /// If a change was started and may have failed: the flag may still have this value.
    may_be_backup: Option<bool>,
    /// True while it is being added or removed.
    may_be_absent: bool,
    /// True if it replaces an endpoint created by the kernel, with its id.
    replaces: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    laminar: bool,
    /// If another program's endpoint was taken over: as the kernel lists it, except for id and
    /// priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<Endpoint>,
}

/// Limits that we have set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LimitsSet {
    /// Their values before our first change.
    pub(super) before: Limits,
    pub(super) set: Limits,
    /// Possible present values, if our change failed.
    pub(super) was: Option<Limits>,
}

/// A setting for new sockets or connections that we have set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SettingSet {
    /// Its value before our first change.
    pub(super) before: String,
    pub(super) set: String,
    /// Its possible present value, if our change failed.
    pub(super) was: Option<String>,
}

/// The connections for which endpoints stay after the daemon's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Connections that may have a subflow of such an endpoint. Others have none.
    pub(super) tied: BTreeSet<Token>,
    /// Time of their first listing, on this boot's monotonic clock.
    #[serde(rename = "since_ns", with = "known")]
    pub(super) since: Nanos,
    /// True if connections that are not in `tied` cannot need an endpoint.
    #[serde(default)]
    pub(super) complete: bool,
}

/// All changes that are ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    pub(super) endpoints: Vec<Own>,
    /// Endpoints of other programs that were taken over, as they were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) adopted: Vec<Endpoint>,
    /// Addresses of endpoints that other programs have changed since.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) respected: BTreeSet<IpAddr>,
    pub(super) limits: Option<LimitsSet>,
    /// Absent in records of versions that set no controller.
    #[serde(default)]
    pub(super) controller: Option<SettingSet>,
    /// Absent in records of versions that set no path manager.
    #[serde(default)]
    pub(super) manager: Option<SettingSet>,
    /// `None` while a daemon runs.
    #[serde(default)]
    pub(super) kept: Option<Kept>,
}

/// Storage of the journal.
pub trait Store {
    /// The stored journal, if any.
    ///
    /// # Errors
    /// As [`State::read`].
    fn read(&self) -> Result<Option<Journal>>;

    /// Replaces the journal atomically.
    ///
    /// # Errors
    /// As [`State::write`].
    fn write(&mut self, journal: &Journal) -> Result<()>;

    /// Removes the journal.
    ///
    /// # Errors
    /// As [`State::remove`].
    fn remove(&mut self) -> Result<()>;
}

/// A record in a state folder.
#[derive(Debug)]
pub struct OnDisk {
    /// The state folder.
    pub state: State,
    /// Name of the record.
    pub name: String,
}

impl Store for OnDisk {
    fn read(&self) -> Result<Option<Journal>> {
        versioned::read(&self.state, &self.name, SCHEMA, REMEDY)
    }

    fn write(&mut self, journal: &Journal) -> Result<()> {
        versioned::write_own(&self.state, &self.name, SCHEMA, journal)
    }

    fn remove(&mut self) -> Result<()> {
        self.state.remove(&self.name)
    }
}

impl Own {
    /// As it will be after `add`. `found` is the endpoint of another program that was taken over
    /// with this address.
    pub(super) fn new(
        wanted: &Wanted,
        id: AddressId,
        replaces: bool,
        found: Option<&Endpoint>,
    ) -> Self {
        let shape = found.map(|found| shape(found, wanted));
        Own {
            id,
            address: wanted.address,
            interface: wanted.interface,
            signal: wanted.signal,
            fullmesh: shape
                .as_ref()
                .map_or(wanted.fullmesh, |shape| shape.fullmesh),
            backup: wanted.backup,
            may_be_backup: None,
            may_be_absent: true,
            replaces,
            laminar: wanted.laminar
                || shape
                    .as_ref()
                    .is_some_and(|shape| shape.other_flags & Endpoint::LAMINAR != 0),
            shape,
        }
    }

    /// As another program has set it; `None` without an id.
    pub(super) fn adopted(found: &Endpoint) -> Option<Self> {
        Some(Own {
            id: found.id?,
            address: found.address,
            interface: found.interface.unwrap_or_default(),
            signal: !found.opens_subflows(),
            fullmesh: found.fullmesh,
            backup: found.backup,
            may_be_backup: None,
            may_be_absent: false,
            replaces: false,
            laminar: found.other_flags & Endpoint::LAMINAR != 0,
            shape: Some(found.clone()),
        })
    }

    /// The request to the kernel. It replaces an endpoint created by the kernel only if the request
    /// has no id.
    pub(super) fn request(&self) -> Endpoint {
        Endpoint {
            id: (!self.replaces).then_some(self.id),
            ..self.endpoint()
        }
    }

    /// As the kernel lists it.
    fn endpoint(&self) -> Endpoint {
        if let Some(shape) = &self.shape {
            return Endpoint {
                id: Some(self.id),
                backup: self.backup,
                ..shape.clone()
            };
        }
        Endpoint {
            id: Some(self.id),
            // A server announces the address; the client opens the subflows.
            subflow: !self.signal,
            signal: self.signal,
            backup: self.backup,
            fullmesh: self.fullmesh,
            other_flags: if self.laminar { Endpoint::LAMINAR } else { 0 },
            ..Endpoint::subflow(self.address, self.interface)
        }
    }

    /// True if `there` is this endpoint, unchanged by others.
    pub(super) fn is(&self, there: &Endpoint) -> bool {
        let own = self.endpoint();
        let same = |backup: bool| {
            *there
                == Endpoint {
                    backup,
                    ..own.clone()
                }
        };
        same(self.backup) || self.may_be_backup.is_some_and(same)
    }

    /// The wish that keeps this endpoint as it is.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            address: self.address,
            interface: self.interface,
            backup: self.backup,
            signal: self.signal,
            fullmesh: self.fullmesh,
            renew: false,
            laminar: self.laminar,
        }
    }

    /// True if it matches `wanted` except for its priority.
    pub(super) fn serves(&self, wanted: &Wanted) -> bool {
        let is_here = (self.address, self.interface) == (wanted.address, wanted.interface)
            && (self.laminar || !wanted.laminar);
        let Some(shape) = &self.shape else {
            return is_here && (self.signal, self.fullmesh) == (wanted.signal, wanted.fullmesh);
        };
        let is_enough = if wanted.signal {
            shape.signal
        } else {
            shape.opens_subflows()
        };
        is_here && is_enough && (shape.fullmesh || !wanted.fullmesh)
    }

    /// Takes its state from the kernel's list, which resolves doubts.
    pub(super) fn take_state(&mut self, there: &Endpoint) {
        self.backup = there.backup;
        (self.may_be_backup, self.may_be_absent) = (None, false);
    }

    /// True if its state is known.
    pub(super) fn is_certain(&self) -> bool {
        self.may_be_backup.is_none() && !self.may_be_absent
    }
}

/// `found` with what `wanted` needs. The kernel refuses `signal` together with `fullmesh`.
fn shape(found: &Endpoint, wanted: &Wanted) -> Endpoint {
    let opens = !wanted.signal && !found.opens_subflows();
    let (signal, fullmesh) = match (
        found.signal || wanted.signal,
        found.fullmesh || wanted.fullmesh,
    ) {
        (true, true) => (wanted.signal, wanted.fullmesh),
        both => both,
    };
    let subflow = found.subflow || opens;
    let other_flags = found.other_flags | if wanted.laminar { Endpoint::LAMINAR } else { 0 };
    Endpoint {
        interface: Some(wanted.interface),
        subflow,
        signal,
        fullmesh,
        other_flags,
        ..found.clone()
    }
}

impl LimitsSet {
    /// True if the limits are as we left them.
    pub(super) fn is_ours(&self, now: Limits) -> bool {
        now == self.set || self.was == Some(now)
    }
}

impl SettingSet {
    /// True if the value is as we left it.
    pub(super) fn is_ours(&self, now: &str) -> bool {
        now == self.set || self.was.as_deref() == Some(now)
    }
}

impl Journal {
    pub(super) fn is_empty(&self) -> bool {
        *self == Journal::default()
    }

    /// Id of the kernel's endpoint `there`, if it is ours.
    pub(crate) fn owned_id(&self, there: &Endpoint) -> Option<AddressId> {
        self.endpoints
            .iter()
            .find(|own| own.is(there))
            .map(|own| own.id)
    }

    /// Our change of `setting`.
    pub(super) fn setting(&mut self, setting: Setting) -> &mut Option<SettingSet> {
        match setting {
            Setting::Controller => &mut self.controller,
            Setting::Manager => &mut self.manager,
        }
    }

    /// Marks the endpoint before its removal.
    pub(super) fn doubt(&mut self, id: AddressId) {
        self.each(id, |own| own.may_be_absent = true);
    }

    /// Marks the endpoint before a change of its priority. The old priority stays possible.
    pub(super) fn doubt_backup(&mut self, id: AddressId, backup: bool) {
        self.each(id, |own| {
            if own.backup != backup {
                (own.backup, own.may_be_backup) = (backup, Some(own.backup));
            }
        });
    }

    /// Marks the endpoints of other programs that were taken over, before they are removed.
    pub(super) fn doubt_adopted(&mut self) {
        let adopted = &self.adopted;
        let own = self.endpoints.iter_mut();
        let are_adopted =
            own.filter(|own| adopted.iter().any(|found| found.address == own.address));
        are_adopted.for_each(|own| own.may_be_absent = true);
    }

    /// Marks one of them before it is given back. `id`: its id, if it is there.
    pub(super) fn returns(&mut self, found: &Endpoint, id: Option<AddressId>) {
        if let Some(id) = id {
            return self.doubt_backup(id, found.backup);
        }
        self.endpoints.retain(|own| own.address != found.address);
        let own = Own::adopted(found);
        self.endpoints.extend(own.map(|own| Own {
            may_be_absent: true,
            ..own
        }));
    }

    /// Drops the endpoint from the journal.
    pub(super) fn drop(&mut self, id: AddressId) {
        self.endpoints.retain(|own| own.id != id);
    }

    /// Marks all started changes as done.
    pub(super) fn settle(&mut self) {
        for own in &mut self.endpoints {
            (own.may_be_backup, own.may_be_absent) = (None, false);
        }
        if let Some(limits) = &mut self.limits {
            limits.was = None;
        }
    }

    fn each(&mut self, id: AddressId, change: impl Fn(&mut Own)) {
        self.endpoints
            .iter_mut()
            .filter(|own| own.id == id)
            .for_each(change);
    }
}
