//! Constants of `include/uapi/linux/rtnetlink.h` and related headers.

/// `RTM_…`: message types.
pub(super) mod kind {
    pub(in super::super) const NEW_LINK: u16 = 16;
    pub(in super::super) const DEL_LINK: u16 = 17;
    pub(in super::super) const GET_LINK: u16 = 18;
    pub(in super::super) const NEW_ADDRESS: u16 = 20;
    pub(in super::super) const DEL_ADDRESS: u16 = 21;
    pub(in super::super) const GET_ADDRESS: u16 = 22;
    pub(in super::super) const NEW_ROUTE: u16 = 24;
    pub(in super::super) const DEL_ROUTE: u16 = 25;
    pub(in super::super) const GET_ROUTE: u16 = 26;
    pub(in super::super) const NEW_NEIGHBOUR: u16 = 28;
    pub(in super::super) const GET_NEIGHBOUR: u16 = 30;
    pub(in super::super) const NEW_RULE: u16 = 32;
    pub(in super::super) const DEL_RULE: u16 = 33;
    pub(in super::super) const GET_RULE: u16 = 34;
    pub(in super::super) const GET_STATS: u16 = 94;
    pub(in super::super) const NEW_NEXTHOP: u16 = 104;
    pub(in super::super) const DEL_NEXTHOP: u16 = 105;
    pub(in super::super) const GET_NEXTHOP: u16 = 106;
}

/// `NLM_F_…` of requests that create an object.
pub(super) mod flag {
    pub(in super::super) const REPLACE: u16 = 0x100;
    pub(in super::super) const EXCLUSIVE: u16 = 0x200;
    pub(in super::super) const CREATE: u16 = 0x400;
}

/// `RTNLGRP_…`: multicast groups for changes.
pub(super) mod group {
    pub(in super::super) const ALL: [u32; 8] = [
        LINK,
        IPV4_ADDRESS,
        IPV4_ROUTE,
        IPV4_RULE,
        IPV6_ADDRESS,
        IPV6_ROUTE,
        IPV6_RULE,
        NEXTHOP,
    ];

    const LINK: u32 = 1;
    const IPV4_ADDRESS: u32 = 5;
    const IPV4_ROUTE: u32 = 7;
    const IPV4_RULE: u32 = 8;
    const IPV6_ADDRESS: u32 = 9;
    const IPV6_ROUTE: u32 = 11;
    const IPV6_RULE: u32 = 19;
    const NEXTHOP: u32 = 32;
}

/// Address families, the first byte of every message.
pub(super) mod family {
    use std::net::IpAddr;

    pub(in super::super) const UNSPECIFIED: u8 = 0;
    pub(in super::super) const INET: u8 = libc::AF_INET as u8;
    pub(in super::super) const INET6: u8 = libc::AF_INET6 as u8;

    pub(in super::super) fn of(address: IpAddr) -> u8 {
        if address.is_ipv4() { INET } else { INET6 }
    }
}

/// The main routing table.
pub(super) const MAIN_TABLE: u32 = 254;
