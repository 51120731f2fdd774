//! The kernel's rules, routes and TCP sockets, behind a trait that tests implement.

use std::collections::BTreeMap;
use std::net::IpAddr;

use joulepath_kernel::Result;
use joulepath_kernel::mptcp::TcpState;
use joulepath_kernel::mptcp::diag::Diag;
use joulepath_kernel::route::{Route, Routing, Rule};

/// Rules and routes of a network namespace.
pub(crate) trait Router {
    /// Adds a rule after those of the same priority.
    ///
    /// # Errors
    /// As [`Routing::add_rule`].
    fn add_rule(&mut self, rule: &Rule) -> Result<()>;

    /// Removes a rule.
    ///
    /// # Errors
    /// As [`Routing::delete_rule`].
    fn delete_rule(&mut self, rule: &Rule) -> Result<()>;

    /// Adds a route, or replaces the one with the same destination, priority and table.
    ///
    /// # Errors
    /// As [`Routing::add_route`].
    fn add_route(&mut self, route: &Route) -> Result<()>;

    /// Removes a route.
    ///
    /// # Errors
    /// As [`Routing::delete_route`].
    fn delete_route(&mut self, route: &Route) -> Result<()>;

    /// Own addresses of open TCP connections and subflows, with their number.
    ///
    /// # Errors
    /// As [`Diag::list`].
    fn sources(&mut self) -> Result<BTreeMap<IpAddr, usize>>;
}

/// The network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Kernel {
    routing: Routing,
    diag: Diag,
}

impl Kernel {
    /// Opens the calling thread's namespace.
    ///
    /// # Errors
    /// As [`Routing::open`] and [`Diag::open`].
    pub(crate) fn open() -> Result<Self> {
        Ok(Kernel {
            routing: Routing::open()?,
            diag: Diag::open()?,
        })
    }
}

impl Router for Kernel {
    fn add_rule(&mut self, rule: &Rule) -> Result<()> {
        self.routing.add_rule(rule)
    }

    fn delete_rule(&mut self, rule: &Rule) -> Result<()> {
        self.routing.delete_rule(rule)
    }

    fn add_route(&mut self, route: &Route) -> Result<()> {
        self.routing.add_route(route)
    }

    fn delete_route(&mut self, route: &Route) -> Result<()> {
        self.routing.delete_route(route)
    }

    fn sources(&mut self) -> Result<BTreeMap<IpAddr, usize>> {
        let all = self.diag.list()?;
        let subflows = all
            .connections
            .iter()
            .flat_map(|connection| &connection.subflows);
        let mut sources = BTreeMap::new();
        for socket in all.plain.iter().chain(&all.orphans).chain(subflows) {
            if !matches!(socket.state, TcpState::Closed | TcpState::TimeWait) {
                *sources.entry(socket.local.ip()).or_default() += 1;
            }
        }
        Ok(sources)
    }
}
