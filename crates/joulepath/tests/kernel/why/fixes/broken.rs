//! Programs, links, limits and commands that break connections, for the cases.

use joulepath_kernel::mptcp::socket::Protocol;

use super::case::{Aim, Case, End, Programs};

pub(super) const MPTCP: Programs = Programs {
    client: Protocol::Mptcp,
    server: Protocol::Mptcp,
    send_buffer: None,
    window: None,
    pacing: None,
    bps: None,
};
pub(super) const TCP: Programs = Programs {
    client: Protocol::Tcp,
    server: Protocol::Tcp,
    ..MPTCP
};
pub(super) const HEALTHY: Case = Case {
    cause: None,
    programs: MPTCP,
    fixed: MPTCP,
    sender: End::Client,
    watched: End::Client,
    paths: &[(6.0, 20, 30, 0.0), (3.0, 30, 25, 0.0)],
    sysctl: None,
    ipv6: false,
    is_shared: false,
    broken: &[],
    later: None,
    reopens: false,
    aim: Aim::Rate,
    advised: None,
    repaired: &[],
};
pub(super) const ONE: &[(f64, u32, u32, f64)] = &[(6.0, 20, 30, 0.0)];
pub(super) const LOSSY: &[(f64, u32, u32, f64)] = &[(6.0, 20, 40, 3.0)];
/// The send buffer ends before the queue.
pub(super) const LONG_QUEUE: &[(f64, u32, u32, f64)] = &[(6.0, 20, 4000, 0.0)];
/// The default receive buffer is smaller than the bandwidth-delay product.
pub(super) const LONG_WAY: &[(f64, u32, u32, f64)] = &[(6.0, 150, 200, 0.0)];
pub(super) const UNEQUAL: &[(f64, u32, u32, f64)] = &[(6.0, 8, 30, 0.0), (0.6, 200, 30, 0.0)];
pub(super) const WMEM: (End, &str, &str) = (End::Client, "net.ipv4.tcp_wmem", "4096 16384 32768");
pub(super) const RMEM: (End, &str, &str) = (End::Client, "net.ipv4.tcp_rmem", "4096 16384 40000");
pub(super) const PEER_RMEM: (End, &str, &str) =
    (End::Server, "net.ipv4.tcp_rmem", "4096 16384 40000");
pub(super) const NO_GROWTH: (End, &str, &str) = (End::Client, "net.ipv4.tcp_moderate_rcvbuf", "0");
pub(super) const NO_ENDPOINT: &str = "ip mptcp endpoint flush";
pub(super) const BACKUP: &str = "ip mptcp endpoint change id 1 backup";
pub(super) const PEER_BACKUP: &str = "ip mptcp endpoint add $(ip -4 -o addr show scope global | \
                           sed -n 's/.* inet \\([0-9.]*\\).*/\\1/p' | head -n 1) backup";
/// Rules by source address, with their tables.
pub(super) const NO_RULES: &str = "for one in $(ip rule | \
                        sed -n 's/.*from [0-9].* lookup \\([0-9]*\\).*/\\1/p'); \
                        do ip route flush table $one; done; \
                        for one in $(ip rule | sed -n 's/^\\([0-9]*\\):.*from [0-9].*/\\1/p'); \
                        do ip rule del priority $one; done";
/// Answers to the second device return through the first one, and the strict filter drops them.
pub(super) const FILTER: &[(End, &str)] = &[
    (End::Client, NO_RULES),
    (
        End::Client,
        "ip route add default dev radio0; ip route add default dev radio1 metric 200",
    ),
    (End::Client, "sysctl -qw net.ipv4.conf.all.rp_filter=1"),
];
/// Joins from the second address leave through the first device, whose network drops foreign
/// addresses.
pub(super) const UNBOUND: &[(End, &str)] = &[
    (End::Client, NO_RULES),
    (
        End::Client,
        "ip mptcp endpoint flush; ip mptcp endpoint add $(ip -4 -o addr show dev radio1 | sed \
         's/.* inet \\([0-9.]*\\).*/\\1/') subflow",
    ),
    (End::Server, "sysctl -qw net.ipv4.conf.radio0.rp_filter=1"),
];
pub(super) const TABLE: (End, &str) = (End::Server, "nft add table inet hole");
pub(super) const CHAIN: (End, &str) = (
    End::Server,
    "nft 'add chain inet hole in { type filter hook prerouting priority 0; }'",
);
/// Large packets that arrive over the second device are lost.
pub(super) const HOLE: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in iifname radio1 meta length gt 1300 drop",
    ),
];
pub(super) const STRIPPED: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in reset tcp option mptcp",
    ),
];
pub(super) const DROPPED: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in tcp option mptcp exists drop",
    ),
];
pub(super) const PASSES: &[(End, &str)] = &[
    (End::Server, "nft delete table inet hole"),
    (End::Client, "sysctl -qw net.mptcp.blackhole_timeout=3600"),
];
pub(super) const SILENT: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (End::Server, "nft add rule inet hole in iifname radio1 drop"),
];
/// A NAT that has forgotten all connections: only SYNs open an entry.
pub(super) const FORGOTTEN: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "nft add rule inet hole in iifname radio1 ct state new 'tcp flags & syn == 0' drop",
    ),
    (
        End::Server,
        "nft 'add chain inet hole out { type filter hook output priority 0; }'",
    ),
    (
        End::Server,
        "nft add rule inet hole out oifname radio1 ct state new 'tcp flags & syn == 0' drop",
    ),
];

/// No route leads through the second device, and its endpoint names no device.
pub(super) const NO_ROUTE: &[(End, &str)] = &[
    (End::Client, "ip route del default dev radio1"),
    UNBOUND[0],
    UNBOUND[1],
    UNBOUND[2],
];
/// A socket that is bound to a device without a route gets nowhere with IPv6.
pub(super) const NO_ROUTE_6: &[(End, &str)] = &[
    (End::Client, "ip -6 route del default dev radio1"),
    (
        End::Client,
        "for one in $(ip -6 rule | sed -n 's/.*from [0-9a-f]*:.* lookup \\([0-9]*\\).*/\\1/p'); \
         do ip -6 route flush table $one; done",
    ),
];
pub(super) const SILENT_FIRST: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (End::Server, "nft add rule inet hole in iifname radio0 drop"),
];
/// The peer does not learn that the subflow is a backup now. MP_PRIO (kind 30, length 3 or 4,
/// subtype 5) follows timestamps, SACK blocks and the DSS option, of which some may be absent.
pub(super) const DEAF: &[(End, &str)] = &[
    TABLE,
    CHAIN,
    (
        End::Server,
        "for at in 160 192 224 256 288 320 352 384 416 448; do nft add rule inet hole in \
         \"@th,$at,16 { 0x1e03, 0x1e04 } @th,$((at + 16)),4 5 drop\"; done",
    ),
    (End::Client, BACKUP),
];
