//! UDP between the two ends: each datagram is sealed and travels alone, over the paths that the
//! daemon has chosen.
//!
//! ```text
//! program ── UDP ──► near ══ one socket per interface, sealed datagrams ══► far ── UDP ──► any server
//!                     ▲ roles                                                │ same flow, same socket
//!                  the daemon                    replies: the paths of the newest datagram ◄──┘
//! ```
//! | module | what |
//! |---|---|
//! | `wire` | the format: a pure function of bytes, key and time |
//! | `window` | datagrams that came twice or too late |
//! | `paths` | which paths carry the next datagram: pure |
//! | `daemon` | the roles of interfaces |
//! | `near`, `far` | the two ends |

mod daemon;
mod far;
mod near;
mod paths;
mod window;
mod wire;

pub(crate) use self::daemon::second;
pub(crate) use far::Far;
pub(crate) use near::Near;
