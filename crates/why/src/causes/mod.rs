//! The causes, one file each: probe → evidence in numbers → verdict → cost → fix.
//!
//! | file | what holds the connection back |
//! |---|---|
//! | `plain_tcp` | the program uses plain TCP |
//! | `fallback` | MPTCP has fallen back to TCP |
//! | `dropped` | a firewall drops SYNs with MPTCP |
//! | `limits` | this host allows no further subflow |
//! | `no_endpoint` | an interface has no endpoint |
//! | `peer_refuses` | the peer closes joined subflows |
//! | `wrong_device` | a join leaves through another device, or its answers are dropped by `rp_filter` |
//! | `no_answer` | a join gets no answer although it leaves correctly |
//! | `receive_buffer` | this host's receive buffer is smaller than the bandwidth-delay product |
//! | `send_buffer` | this host's send buffer is |
//! | `peer_buffer` | the peer's receive buffer is |
//! | `peer_reader` | the peer's application reads slowly |
//! | `pacing_limit` | the program limits its rate |
//! | `head_of_line` | a slow path blocks the window of a fast one |
//! | `random_loss` | losses without a queue reduce the window of a loss-based controller |
//! | `policer` | a network drops what exceeds a rate |
//! | `bufferbloat` | a full queue multiplies the RTT |
//! | `backup_ignored` | the peer sends on a backup subflow |
//! | `backup` | a subflow is a backup by the choice of either end |
//! | `by_intent` | the daemon leaves a path unused by intent |
//! | `mtu` | a path loses large packets |
//! | `dead_path` | a path has stopped answering |
//! | `stale_subflow` | a subflow got no answer after a pause: a NAT has forgotten it |
//! | `shared_bottleneck` | subflows without coupling share one bottleneck |
//! | `application` | the application sends less than the network would take |
//!
//! A cause returns a finding only if its evidence excludes a healthy connection.

mod application;
mod backup;
mod backup_ignored;
mod bufferbloat;
mod by_intent;
mod dead_path;
mod dropped;
mod fallback;
mod head_of_line;
mod joins;
mod limits;
mod mtu;
mod no_answer;
mod no_endpoint;
mod pacing_limit;
mod peer_buffer;
mod peer_reader;
mod peer_refuses;
mod plain_tcp;
mod policer;
mod random_loss;
mod receive_buffer;
mod send_buffer;
mod shared_bottleneck;
mod silence;
mod stale_subflow;
mod window;
mod wrong_device;

use crate::finding::Finding;
use crate::subject::Subject;

/// A cause: what it finds on a connection.
pub type Cause = fn(&Subject<'_>) -> Option<Finding>;

/// All causes by their stable names. Of findings with equal cost, the first in this list comes
/// first.
pub const ALL: [(&str, Cause); 25] = [
    (mtu::NAME, mtu::find),
    (dead_path::NAME, dead_path::find),
    (stale_subflow::NAME, stale_subflow::find),
    (pacing_limit::NAME, pacing_limit::find),
    (plain_tcp::NAME, plain_tcp::find),
    (dropped::NAME, dropped::find),
    (fallback::NAME, fallback::find),
    (limits::NAME, limits::find),
    (no_endpoint::NAME, no_endpoint::find),
    (wrong_device::NAME, wrong_device::find),
    (peer_refuses::NAME, peer_refuses::find),
    (no_answer::NAME, no_answer::find),
    (backup::NAME, backup::find),
    (head_of_line::NAME, head_of_line::find),
    (receive_buffer::NAME, receive_buffer::find),
    (send_buffer::NAME, send_buffer::find),
    (peer_buffer::NAME, peer_buffer::find),
    (random_loss::NAME, random_loss::find),
    (bufferbloat::NAME, bufferbloat::find),
    (backup_ignored::NAME, backup_ignored::find),
    (shared_bottleneck::NAME, shared_bottleneck::find),
    (policer::NAME, policer::find),
    (by_intent::NAME, by_intent::find),
    (peer_reader::NAME, peer_reader::find),
    (application::NAME, application::find),
];
