//! The kernel's endpoints, limits and settings, behind a trait that tests replace.

use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::congestion;
use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{self, Endpoint, Limits, PathManager};

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

impl Table for PathManager {
    fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        PathManager::endpoints(self)
    }

    fn limits(&mut self) -> Result<Limits> {
        PathManager::limits(self)
    }

    fn add(&mut self, endpoint: &Endpoint) -> Result<()> {
        PathManager::add(self, endpoint)
    }

    fn delete(&mut self, id: AddressId) -> Result<()> {
        PathManager::delete(self, id)
    }

    fn delete_first(&mut self, address: IpAddr) -> Result<()> {
        PathManager::delete_first(self, address)
    }

    fn set_flags(&mut self, id: AddressId, backup: bool, fullmesh: bool) -> Result<()> {
        self.set_endpoint_flags(id, backup, fullmesh)
    }

    fn set_limits(&mut self, limits: Limits) -> Result<()> {
        PathManager::set_limits(self, limits)
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
