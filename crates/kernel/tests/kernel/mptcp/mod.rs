//! Namespaces, and MPTCP between two of them: sockets, statistics, path manager.

mod namespace;
mod path_manager;
mod route;
mod socket;
