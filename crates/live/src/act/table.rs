//! The kernel's endpoints, limits and settings, behind a trait that tests implement.

use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::congestion;
use joulepath_kernel::mptcp::diag::{Connection, Diag};
use joulepath_kernel::mptcp::path_manager::{self, Endpoint, Limits, PathManager};
use joulepath_kernel::mptcp::{AddressId, TcpState};
use joulepath_kernel::reactor::monotonic_ns;
use joulepath_model::units::Nanos;

/// A setting for new sockets and connections of a network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// `net.ipv4.tcp_congestion_control`.
    Controller,
    /// `net.mptcp.path_manager`.
    Manager,
}

impl Setting {
    pub(super) const ALL: [Setting; 2] = [Setting::Controller, Setting::Manager];

    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Setting::Controller => "congestion controller",
            Setting::Manager => "path manager",
        }
    }
}

/// The endpoints of a network namespace.
pub trait Table {
    /// All endpoints, of all programs.
    ///
    /// # Errors
    /// As [`PathManager::endpoints`].
    fn endpoints(&mut self) -> Result<Vec<Endpoint>>;

    /// Connections whose subflows are closed with their endpoints: those under the kernel's path
    /// manager.
    ///
    /// # Errors
    /// As [`Diag::list`].
    fn connections(&mut self) -> Result<Vec<Connection>>;

    /// Limits in force.
    ///
    /// # Errors
    /// As [`PathManager::limits`].
    fn limits(&mut self) -> Result<Limits>;

    /// Adds an endpoint.
    ///
    /// # Errors
    /// As [`PathManager::add`].
    fn add(&mut self, endpoint: &Endpoint) -> Result<()>;

    /// Removes an endpoint and closes its subflows.
    ///
    /// # Errors
    /// As [`PathManager::delete`].
    fn delete(&mut self, id: AddressId) -> Result<()>;

    /// Closes the initial subflows with this address.
    ///
    /// # Errors
    /// As [`PathManager::delete_first`].
    fn delete_first(&mut self, address: IpAddr) -> Result<()>;

    /// Sets `backup` and `fullmesh` of an endpoint; its subflows become backups or regular.
    ///
    /// # Errors
    /// As [`PathManager::set_endpoint_flags`].
    fn set_flags(&mut self, id: AddressId, backup: bool, fullmesh: bool) -> Result<()>;

    /// Sets the limits.
    ///
    /// # Errors
    /// As [`PathManager::set_limits`].
    fn set_limits(&mut self, limits: Limits) -> Result<()>;

    /// Value of a setting.
    ///
    /// # Errors
    /// As [`congestion::default`] and [`path_manager::chosen`].
    fn value(&mut self, setting: Setting) -> Result<String>;

    /// The monotonic clock; at least the time passed to the [`Actor`](super::Actor) counts.
    fn time(&self) -> Nanos;

    /// Changes a setting.
    ///
    /// # Errors
    /// As [`congestion::set_default`] and [`path_manager::choose`].
    fn set_value(&mut self, setting: Setting, name: &str) -> Result<()>;
}

/// The network namespace in which it was opened.
#[derive(Debug)]
pub struct Kernel {
    manager: PathManager,
    diag: Diag,
}

impl Kernel {
    /// Opens the calling thread's namespace.
    ///
    /// # Errors
    /// As [`PathManager::open`] and [`Diag::open`].
    pub fn open() -> Result<Self> {
        Ok(Kernel {
            manager: PathManager::open()?,
            diag: Diag::open()?,
        })
    }
}

impl Table for Kernel {
    fn endpoints(&mut self) -> Result<Vec<Endpoint>> {
        self.manager.endpoints()
    }

    fn connections(&mut self) -> Result<Vec<Connection>> {
        let mut all = self.diag.list()?.connections;
        all.retain(|connection| {
            // The server lacks MPTCP: the kernel never gives this connection an endpoint.
            let was_plain = connection.info.fallback && !connection.info.remote_key_received;
            !matches!(connection.state, TcpState::Closed | TcpState::TimeWait) && !was_plain
        });
        // A kernel that cannot answer has only its own path manager.
        all.retain(|connection| {
            self.manager.is_steerable(connection.info.token).ok() != Some(Some(true))
        });
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

    fn time(&self) -> Nanos {
        Nanos(monotonic_ns())
    }

    fn set_value(&mut self, setting: Setting, name: &str) -> Result<()> {
        match setting {
            Setting::Controller => congestion::set_default(name),
            Setting::Manager => path_manager::choose(name),
        }
    }
}
