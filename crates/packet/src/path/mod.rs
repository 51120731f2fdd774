//! What packets pass between the two ends of a subflow: routes over links, queues, shared channels, hosts.
//!
//! | file | what |
//! |---|---|
//! | `packet`, `sack`, `ring` | a packet; its SACK blocks; the packets on a link |
//! | `network`, `held` | links with the packets on them, and those that a link keeps back |
//! | `hop`, `routes` | the steps of a route, and the routes of all subflows |
//! | `channel` | a medium that stations share |
//! | `host` | the time that a host takes for a packet |
//! | `counts`, `tally`, `fabric` | what a network counts; what each link did; what switches carry and burn |

pub(crate) mod channel;
pub(crate) mod counts;
pub(crate) mod fabric;
pub(crate) mod held;
pub(crate) mod hop;
pub(crate) mod host;
pub(crate) mod network;
pub(crate) mod packet;
pub(crate) mod ring;
pub(crate) mod routes;
pub(crate) mod sack;
pub(crate) mod tally;
