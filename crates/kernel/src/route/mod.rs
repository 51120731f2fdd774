//! Reads, changes and watches the devices, addresses, routes and rules of a network namespace over
//! rtnetlink.
//!
//! | module | what |
//! |---|---|
//! | `link` | [`Link`], a network device, and its [`Counters`] |
//! | `address` | [`Address`] of a device |
//! | `entry` | [`Route`], one entry of a routing table, with [`Hop`]s and [`Metric`]s; [`Flow`] |
//! | `first_hop` | [`ask_first_hop`], which makes the first router of a path answer |
//! | `echo` | [`Echo`], which asks hosts for an echo over one path |
//! | `neighbour` | [`Neighbour`], a host on a device's link |
//! | `nexthop` | nexthop objects, which routes refer to by id |
//! | `rule` | [`Rule`], which selects the routing table |
//! | `prefix` | [`Prefix`], a network or one address |
//! | `routing` | [`Routing`], which lists and changes them |
//! | `monitor` | [`Monitor`], which reports changes |

mod address;
mod echo;
mod entry;
mod first_hop;
mod link;
mod monitor;
mod neighbour;
mod nexthop;
mod prefix;
mod routing;
mod rule;
mod uapi;

pub use address::{Address, Scope};
pub use echo::Echo;
pub use entry::{Flow, Hop, Metric, Origin, Route, RouteKind};
pub use first_hop::ask_first_hop;
pub use link::{Counters, Link, Operation, ReceivedIpv6};
pub use monitor::{Change, Monitor, View};
pub use neighbour::Neighbour;
pub use prefix::{BadPrefix, Prefix};
pub use routing::Routing;
pub use rule::{Action, Rule};
