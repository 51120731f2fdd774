//! The kernel's endpoints, limits and default congestion controller, behind a trait that tests replace.

use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::congestion;
use joulepath_kernel::mptcp::AddressId;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};

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

    /// The congestion controller that new sockets get.
    ///
    /// # Errors
    /// Those of [`congestion::default`].
    fn controller(&mut self) -> Result<String>;

    /// Sets it.
    ///
    /// # Errors
    /// Those of [`congestion::set_default`].
    fn set_controller(&mut self, name: &str) -> Result<()>;
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

    fn controller(&mut self) -> Result<String> {
        congestion::default()
    }

    fn set_controller(&mut self, name: &str) -> Result<()> {
        congestion::set_default(name)
    }
}
