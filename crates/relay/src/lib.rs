//! A relay of one's own: programs and whole networks use MPTCP towards servers that do not speak
//! it.
//!
//! ```text
//! program ─ SOCKS5, HTTP CONNECT ─► connect ══ MPTCP, several paths ══► serve ── TCP ──► any server
//! LAN ───── nftables redirect ────►         AES-256-GCM or ChaCha20
//! UDP ─────────────────────────────►         ══ sealed datagrams ══►       ── UDP ──► any server
//! ```
//!
//! The leg between the two ends speaks *Shadowsocks 2022* (SIP022), so `serve` also accepts other
//! programs that do, and phones.
//!
//! | module | what |
//! |---|---|
//! | `config`, `new` | the two files, read and made |
//! | `destination`, `prefix` | where a connection shall go, and whether the far end may go there |
//! | `frame`, `replay` | the protocol: pure functions of bytes, key and time |
//! | `socket` | MPTCP sockets, congestion controllers, resets |
//! | `datagram` | UDP: each datagram for itself, over the daemon's paths |
//! | `pump` | copies both directions: back-pressure, half-closes, resets |
//! | `greet` | what a program or a LAN asks for |
//! | `serve`, `connect` | the two ends |
//! | `run` | the two ends as commands |
//! | `rules` | the nftables rules of a router |

pub mod config;
mod connect;
mod datagram;
mod destination;
mod error;
mod frame;
mod greet;
mod leg;
pub mod new;
mod prefix;
mod pump;
mod rate;
mod replay;
pub mod rules;
mod run;
mod serve;
mod shared;
mod socket;
mod twin;
mod waiting;

pub use connect::Connect;
pub use destination::Destination;
pub use error::{Error, Kind};
pub use prefix::Prefix;
pub use run::{connect, serve};
pub use serve::Serve;
pub use shared::{Say, block_on, stop_signal};
