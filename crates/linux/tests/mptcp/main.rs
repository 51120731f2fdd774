//! MPTCP between two namespaces: sockets, statistics, path manager, traffic.

#[path = "../common/attempts.rs"]
mod attempts;
#[path = "../common/mod.rs"]
mod common;

mod net;
mod path_manager;
mod radios;
mod socket;
mod traffic;
