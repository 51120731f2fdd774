//! The path between the two ends of a subflow: links, queues, shared channels, hosts.
//!
//! | file | content |
//! |---|---|
//! | `packet`, `sack`, `ring` | a packet; its SACK blocks; the packets on a link |
//! | `network`, `held` | links with the packets on them; the packets that a link holds back |
//! | `hop`, `routes` | the steps of a route, and the routes of all subflows |
//! | `channel` | a medium shared by stations |
//! | `host` | processing time of hosts |
//! | `counts`, `tally`, `fabric` | counters of a network; of each link; load and energy of switches |
//! | `log` | what happens to each packet, for traces |

pub(crate) mod channel;
pub(crate) mod counts;
pub(crate) mod fabric;
pub(crate) mod held;
pub(crate) mod hop;
pub(crate) mod host;
pub(crate) mod log;
pub(crate) mod network;
pub(crate) mod packet;
pub(crate) mod ring;
pub(crate) mod routes;
pub(crate) mod sack;
pub(crate) mod tally;
