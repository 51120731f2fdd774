//! What is ours, noted before it is changed.

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

/// Folder of the daemons' locks and journals, below that of all states.
pub(crate) const FOLDER: &str = "live";
/// Form of the record: 2 has the controller, 3 the path manager, 4 the connections that something stays for.
const SCHEMA: u64 = 4;
/// What to do about a record that is not understood.
const MEND: &str = "let the version that has written it put everything back (`joulepath live --undo`); or \
                    remove the file, if `ip mptcp endpoint` shows nothing that is not wanted";

/// An endpoint that we have set, or may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) id: AddressId,
    pub(super) address: IpAddr,
    pub(super) interface: u32,
    signal: bool,
    pub(super) fullmesh: bool,
    pub(super) backup: bool,
    /// A change of it was begun, and it is not known whether it was made: it may have this flag instead.
    may_be_backup: Option<bool>,
    /// Whether it may not be there, because it is being added or removed.
    may_be_absent: bool,
    /// It takes the place of one that the kernel has made, with its id.
    replaces: bool,
}

/// Limits that we have set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LimitsSet {
    /// What they were when nothing was ours.
    pub(super) before: Limits,
    /// What we have set.
    pub(super) set: Limits,
    /// What they may still be, if the change was not made.
    pub(super) was: Option<Limits>,
}

/// What new sockets or connections get, which we have set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SettingSet {
    /// What it was when nothing was ours.
    pub(super) before: String,
    /// What we have set.
    pub(super) set: String,
    /// What it may still be, if the change was not made.
    pub(super) was: Option<String>,
}

/// For which connections endpoints stay after the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Those that may have a subflow of one; a connection that is not among them has none.
    pub(super) tied: BTreeSet<Token>,
    /// When the first of them were listed, on the monotonic clock of this boot.
    #[serde(rename = "since_ns", with = "known")]
    pub(super) since: Nanos,
}

/// All that is ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    pub(super) endpoints: Vec<Own>,
    pub(super) limits: Option<LimitsSet>,
    /// Absent in the records of versions that set none.
    #[serde(default)]
    pub(super) controller: Option<SettingSet>,
    /// As the controller.
    #[serde(default)]
    pub(super) manager: Option<SettingSet>,
    /// None while a daemon runs.
    #[serde(default)]
    pub(super) kept: Option<Kept>,
}

/// Where the journal is kept.
pub trait Store {
    /// What was written; none if nothing was.
    ///
    /// # Errors
    /// Those of [`State::read`].
    fn read(&self) -> Result<Option<Journal>>;

    /// Writes it: whole or not at all.
    ///
    /// # Errors
    /// Those of [`State::write`].
    fn write(&mut self, journal: &Journal) -> Result<()>;

    /// Nothing is ours any more.
    ///
    /// # Errors
    /// Those of [`State::remove`].
    fn remove(&mut self) -> Result<()>;
}

/// A record in a folder of states.
#[derive(Debug)]
pub struct OnDisk {
    /// The folder.
    pub state: State,
    /// The record's name.
    pub name: String,
}

impl Store for OnDisk {
    fn read(&self) -> Result<Option<Journal>> {
        versioned::read(&self.state, &self.name, SCHEMA, MEND)
    }

    fn write(&mut self, journal: &Journal) -> Result<()> {
        versioned::write(&self.state, &self.name, SCHEMA, journal)
    }

    fn remove(&mut self) -> Result<()> {
        self.state.remove(&self.name)
    }
}

impl Own {
    /// As it will be when it has been added.
    pub(super) fn new(wanted: &Wanted, id: AddressId, replaces: bool) -> Self {
        Own {
            id,
            address: wanted.address,
            interface: wanted.interface,
            signal: wanted.signal,
            fullmesh: wanted.fullmesh,
            backup: wanted.backup,
            may_be_backup: None,
            may_be_absent: true,
            replaces,
        }
    }

    /// As the kernel is told. It replaces one of its own only by a request without an id.
    pub(super) fn request(&self) -> Endpoint {
        Endpoint { id: (!self.replaces).then_some(self.id), ..self.endpoint() }
    }

    /// As it is listed then.
    fn endpoint(&self) -> Endpoint {
        Endpoint {
            id: Some(self.id),
            // A server announces and lets the other end connect.
            subflow: !self.signal,
            signal: self.signal,
            backup: self.backup,
            fullmesh: self.fullmesh,
            ..Endpoint::subflow(self.address, self.interface)
        }
    }

    /// Whether this is it, as we left it.
    pub(super) fn is(&self, there: &Endpoint) -> bool {
        let own = self.endpoint();
        let same = |backup: bool| *there == Endpoint { backup, ..own.clone() };
        same(self.backup) || self.may_be_backup.is_some_and(same)
    }

    /// What it is wanted for, if it is to stay as it is.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            address: self.address,
            interface: self.interface,
            backup: self.backup,
            signal: self.signal,
            fullmesh: self.fullmesh,
            renew: false,
        }
    }

    /// Whether it is what is wanted, apart from its priority.
    pub(super) fn serves(&self, wanted: &Wanted) -> bool {
        (self.address, self.interface) == (wanted.address, wanted.interface)
            && (self.signal, self.fullmesh) == (wanted.signal, wanted.fullmesh)
    }

    /// It is there, as the kernel lists it: what was in doubt is known.
    pub(super) fn was_found(&mut self, there: &Endpoint) {
        self.backup = there.backup;
        (self.may_be_backup, self.may_be_absent) = (None, false);
    }

    /// Whether it is known how it is.
    pub(super) fn is_certain(&self) -> bool {
        self.may_be_backup.is_none() && !self.may_be_absent
    }
}

impl LimitsSet {
    /// Whether the limits are as we left them.
    pub(super) fn is_ours(&self, now: Limits) -> bool {
        now == self.set || self.was == Some(now)
    }
}

impl SettingSet {
    /// Whether it is as we left it.
    pub(super) fn is_ours(&self, now: &str) -> bool {
        now == self.set || self.was.as_deref() == Some(now)
    }
}

impl Journal {
    /// Whether nothing is ours.
    pub(super) fn is_empty(&self) -> bool {
        *self == Journal::default()
    }

    /// The id of an endpoint of the kernel's, if it is ours.
    pub(crate) fn owned_id(&self, there: &Endpoint) -> Option<AddressId> {
        self.endpoints.iter().find(|own| own.is(there)).map(|own| own.id)
    }

    /// What is ours of a setting.
    pub(super) fn setting(&mut self, setting: Setting) -> &mut Option<SettingSet> {
        match setting {
            Setting::Controller => &mut self.controller,
            Setting::Manager => &mut self.manager,
        }
    }

    /// It is going to be removed.
    pub(super) fn doubt(&mut self, id: AddressId) {
        self.each(id, |own| own.may_be_absent = true);
    }

    /// Its priority is going to change. What it may be already, it may still be.
    pub(super) fn doubt_backup(&mut self, id: AddressId, backup: bool) {
        self.each(id, |own| {
            if own.backup != backup {
                (own.backup, own.may_be_backup) = (backup, Some(own.backup));
            }
        });
    }

    /// It is not ours any more.
    pub(super) fn drop(&mut self, id: AddressId) {
        self.endpoints.retain(|own| own.id != id);
    }

    /// What was begun has been done.
    pub(super) fn settle(&mut self) {
        for own in &mut self.endpoints {
            (own.may_be_backup, own.may_be_absent) = (None, false);
        }
        if let Some(limits) = &mut self.limits {
            limits.was = None;
        }
    }

    fn each(&mut self, id: AddressId, change: impl Fn(&mut Own)) {
        self.endpoints.iter_mut().filter(|own| own.id == id).for_each(change);
    }
}
