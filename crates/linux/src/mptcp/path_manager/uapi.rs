//! The numbers of `include/uapi/linux/mptcp_pm.h` (before Linux 6.7: `mptcp.h`).

/// Name of the family, as netlink wants strings: with its end.
pub(super) const FAMILY_NAME: &[u8] = b"mptcp_pm\0";
/// Name of the group of events.
pub(super) const EVENTS_NAME: &[u8] = b"mptcp_pm_events\0";
/// Version of the family.
pub(super) const VERSION: u8 = 1;

/// Commands.
pub(super) mod command {
    pub(in super::super) const ADD_ADDR: u8 = 1;
    pub(in super::super) const DEL_ADDR: u8 = 2;
    pub(in super::super) const GET_ADDR: u8 = 3;
    pub(in super::super) const FLUSH_ADDRS: u8 = 4;
    pub(in super::super) const SET_LIMITS: u8 = 5;
    pub(in super::super) const GET_LIMITS: u8 = 6;
    pub(in super::super) const SET_FLAGS: u8 = 7;
    pub(in super::super) const ANNOUNCE: u8 = 8;
    pub(in super::super) const REMOVE: u8 = 9;
    pub(in super::super) const SUBFLOW_CREATE: u8 = 10;
    pub(in super::super) const SUBFLOW_DESTROY: u8 = 11;
}

/// Attributes of a command.
pub(super) mod attr {
    /// Nested, see [`super::address`].
    pub(in super::super) const ENDPOINT: u16 = 1;
    pub(in super::super) const ACCEPTED_ADDRESSES: u16 = 2;
    pub(in super::super) const SUBFLOWS: u16 = 3;
    pub(in super::super) const TOKEN: u16 = 4;
    pub(in super::super) const LOCAL_ID: u16 = 5;
    /// Nested, see [`super::address`].
    pub(in super::super) const REMOTE: u16 = 6;
}

/// Attributes of an address.
pub(super) mod address {
    pub(in super::super) const FAMILY: u16 = 1;
    pub(in super::super) const ID: u16 = 2;
    pub(in super::super) const ADDR4: u16 = 3;
    pub(in super::super) const ADDR6: u16 = 4;
    pub(in super::super) const PORT: u16 = 5;
    pub(in super::super) const FLAGS: u16 = 6;
    pub(in super::super) const INTERFACE: u16 = 7;
}

/// Flags of an address.
pub(super) mod flag {
    pub(in super::super) const SIGNAL: u32 = 1 << 0;
    pub(in super::super) const SUBFLOW: u32 = 1 << 1;
    pub(in super::super) const BACKUP: u32 = 1 << 2;
    pub(in super::super) const FULLMESH: u32 = 1 << 3;
}

/// Attributes of an event.
pub(super) mod event {
    pub(in super::super) const TOKEN: u16 = 1;
    pub(in super::super) const LOCAL_ID: u16 = 3;
    pub(in super::super) const REMOTE_ID: u16 = 4;
    pub(in super::super) const SADDR4: u16 = 5;
    pub(in super::super) const SADDR6: u16 = 6;
    pub(in super::super) const DADDR4: u16 = 7;
    pub(in super::super) const DADDR6: u16 = 8;
    pub(in super::super) const SPORT: u16 = 9;
    pub(in super::super) const DPORT: u16 = 10;
    pub(in super::super) const BACKUP: u16 = 11;
    pub(in super::super) const ERROR: u16 = 12;
    pub(in super::super) const FLAGS: u16 = 13;
    pub(in super::super) const INTERFACE: u16 = 15;
    pub(in super::super) const RESET_REASON: u16 = 16;
    pub(in super::super) const SERVER_SIDE: u16 = 18;

    /// `MPTCP_PM_EV_FLAG_SERVER_SIDE`: where newer kernels say it.
    pub(in super::super) const FLAG_SERVER_SIDE: u16 = 1 << 1;
}

/// Attributes of generic netlink's own controller.
pub(super) mod control {
    pub(in super::super) const FAMILY_ID: u16 = 1;
    pub(in super::super) const FAMILY_NAME: u16 = 2;
    pub(in super::super) const GROUPS: u16 = 7;
    pub(in super::super) const GROUP_NAME: u16 = 1;
    pub(in super::super) const GROUP_ID: u16 = 2;
}
