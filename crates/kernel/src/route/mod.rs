//! Devices, addresses, routes and rules of a network namespace, over rtnetlink: read, changed, and watched.
//!
//! | module | what |
//! |---|---|
//! | `link` | [`Link`], a network device, and its [`Counters`] |
//! | `address` | [`Address`] of a device |
//! | `entry` | [`Route`], one entry of a routing table, with its [`Hop`]s and [`Metric`]s |
//! | `nexthop` | hops that routes name by a number |
//! | `rule` | [`Rule`], which says what looks into which table |
//! | `prefix` | [`Prefix`], a network or one address |
//! | `routing` | [`Routing`], which lists and changes all of them |
//! | `monitor` | [`Monitor`], which tells what has changed |

mod address;
mod entry;
mod link;
mod monitor;
mod nexthop;
mod prefix;
mod routing;
mod rule;
mod uapi;

pub use address::{Address, Scope};
pub use entry::{Hop, Metric, Origin, Route, RouteKind};
pub use link::{Counters, Link, Operation};
pub use monitor::{Change, Monitor, View};
pub use prefix::{BadPrefix, Prefix};
pub use routing::Routing;
pub use rule::{Action, Rule};
