//! The kernel's endpoints, limits and settings, behind a trait that tests replace.

use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::congestion;
use joulepath_kernel::mptcp::diag::{Connection, Diag};
use joulepath_kernel::mptcp::path_manager::{self, Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::{AddressId, TcpState};

/// What new sockets and connections of a network namespace get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// The congestion controller.
    Controller,
    /// The path manager.
    Manager,
}

impl Setting {
    pub(super) const ALL: [Setting; 2] = [Setting::Controller, Setting::Manager];

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Setting::Controller => "congestion controller",
            Setting::Manager => "path manager",
        }
    }
}

/// The endpoints of a network namespace.
pub trait Table {
    /// All that there are, whoever has set them.
    ///
    /// # Errors
    /// Those of [`PathManager::endpoints`].
    fn endpoints(&mut self) -> Result<Vec<Endpoint>>;

    /// The connections whose subflows go with their endpoints: those that the kernel's own path manager has.
    ///
    /// # Errors
    /// Those of [`Diag::list`].
    fn connections(&mut self) -> Result<Vec<Connection>>;

    /// The limits in force.
    ///
    /// # Errors
    /// Those of [`PathManager::limits`].
    fn limits(&mut self) -> Result<Limits>;

    /// Adds one.
    ///
    /// # Errors
    /// Those of [`PathManager::add`].
    fn add(&mut self, endpoint: &Endpoint) -> Result<()>;

    /// Removes one; its subflows are closed.
    ///
    /// # Errors
    /// Those of [`PathManager::delete`].
    fn delete(&mut self, id: AddressId) -> Result<()>;

    /// Closes the first subflows that have this address.
    ///
    /// # Errors
    /// Those of [`PathManager::delete_first`].
    fn delete_first(&mut self, address: IpAddr) -> Result<()>;

    /// Makes its subflows backups, or regular, and keeps or takes away `fullmesh`.
    ///
    /// # Errors
    /// Those of [`PathManager::set_endpoint_flags`].
    fn set_flags(&mut self, id: AddressId, backup: bool, fullmesh: bool) -> Result<()>;

    /// Sets the limits.
    ///
    /// # Errors
    /// Those of [`PathManager::set_limits`].
    fn set_limits(&mut self, limits: Limits) -> Result<()>;

    /// The value of a setting.
    ///
    /// # Errors
    /// Those of [`congestion::default`] and [`path_manager::chosen`].
    fn value(&mut self, setting: Setting) -> Result<String>;

    /// Gives it another one.
    ///
    /// # Errors
    /// Those of [`congestion::set_default`] and [`path_manager::choose`].
    fn set_value(&mut self, setting: Setting, name: &str) -> Result<()>;
}

/// The path manager and the connections of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Kernel {
    manager: PathManager,
    diag: Diag,
}

impl Kernel {
    /// Of the calling thread's namespace.
    ///
    /// # Errors
    /// Those of [`PathManager::open`] and [`Diag::open`].
    pub fn open() -> Result<Self> {
        Ok(Kernel { manager: PathManager::open()?, diag: Diag::open()? })
    }
}

impl Table for Kernel {
    fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        self.manager.endpoints()
    }

    fn connections(&mut self) -> Result<Vec<Connection>> {
        let mut all = self.diag.list()?.connections;
        all.retain(|connection| {
            // To a server without MPTCP: the kernel has never given it an endpoint.
            let was_plain = connection.info.fallback && !connection.info.remote_key_received;
            !matches!(connection.state, TcpState::Closed | TcpState::TimeWait) && !was_plain
        });
        // A kernel that cannot be asked has only its own path manager.
        all.retain(|connection| self.manager.is_steerable(connection.info.token).ok() != Some(Some(true)));
        Ok(all)
    }

    fn limits(&mut self) -> Result<Limits> {
        self.manager.limits()
    }

    fn add(&mut self, endpoint: &Endpoint) -> Result<()> {
        self.manager.add(endpoint)
    }

    fn delete(&mut self, id: AddressId) -> Result<()> {
        self.manager.delete(id)
    }

    fn delete_first(&mut self, address: IpAddr) -> Result<()> {
        self.manager.delete_first(address)
    }

    fn set_flags(&mut self, id: AddressId, backup: bool, fullmesh: bool) -> Result<()> {
        self.manager.set_endpoint_flags(id, backup, fullmesh)
    }

    fn set_limits(&mut self, limits: Limits) -> Result<()> {
        self.manager.set_limits(limits)
    }

    fn value(&mut self, setting: Setting) -> Result<String> {
        match setting {
            Setting::Controller => congestion::default(),
            Setting::Manager => path_manager::chosen(),
        }
    }

    fn set_value(&mut self, setting: Setting, name: &str) -> Result<()> {
        match setting {
            Setting::Controller => congestion::set_default(name),
            Setting::Manager => path_manager::choose(name),
        }
    }
}
