//! The numbers of `include/uapi/linux/mptcp_pm.h` (before Linux 6.7: `mptcp.h`).

/// Name of the family.
pub(super) const FAMILY_NAME: &str = "mptcp_pm";
/// Name of the multicast group of events.
pub(super) const EVENTS_NAME: &str = "mptcp_pm_events";
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
    use crate::netlink::Known;

    /// Nested, see [`super::address`].
    pub(in super::super) const ENDPOINT: Known = Known(1, "MPTCP_PM_ATTR_ADDR");
    pub(in super::super) const ACCEPTED_ADDRESSES: Known = Known(2, "MPTCP_PM_ATTR_RCV_ADD_ADDRS");
    pub(in super::super) const SUBFLOWS: Known = Known(3, "MPTCP_PM_ATTR_SUBFLOWS");
    pub(in super::super) const TOKEN: Known = Known(4, "MPTCP_PM_ATTR_TOKEN");
    pub(in super::super) const LOCAL_ID: Known = Known(5, "MPTCP_PM_ATTR_LOC_ID");
    /// Nested, see [`super::address`].
    pub(in super::super) const REMOTE: Known = Known(6, "MPTCP_PM_ATTR_ADDR_REMOTE");
}

/// Attributes of an address.
pub(super) mod address {
    use crate::netlink::Known;

    pub(in super::super) const FAMILY: Known = Known(1, "MPTCP_PM_ADDR_ATTR_FAMILY");
    pub(in super::super) const ID: Known = Known(2, "MPTCP_PM_ADDR_ATTR_ID");
    pub(in super::super) const ADDR4: Known = Known(3, "MPTCP_PM_ADDR_ATTR_ADDR4");
    pub(in super::super) const ADDR6: Known = Known(4, "MPTCP_PM_ADDR_ATTR_ADDR6");
    pub(in super::super) const PORT: Known = Known(5, "MPTCP_PM_ADDR_ATTR_PORT");
    pub(in super::super) const FLAGS: Known = Known(6, "MPTCP_PM_ADDR_ATTR_FLAGS");
    pub(in super::super) const INTERFACE: Known = Known(7, "MPTCP_PM_ADDR_ATTR_IF_IDX");
}

/// Flags of an address.
pub(super) mod flag {
    pub(in super::super) const SIGNAL: u32 = 1 << 0;
    pub(in super::super) const SUBFLOW: u32 = 1 << 1;
    pub(in super::super) const BACKUP: u32 = 1 << 2;
    pub(in super::super) const FULLMESH: u32 = 1 << 3;
    pub(in super::super) const IMPLICIT: u32 = 1 << 4;
    /// Since Linux 6.18.
    pub(in super::super) const LAMINAR: u32 = 1 << 5;
    /// Those with a field in [`super::Endpoint`].
    pub(in super::super) const KNOWN: u32 = SIGNAL | SUBFLOW | BACKUP | FULLMESH;
}

/// Attributes of an event.
pub(super) mod event {
    use crate::netlink::Known;

    pub(in super::super) const TOKEN: Known = Known(1, "MPTCP_ATTR_TOKEN");
    pub(in super::super) const LOCAL_ID: Known = Known(3, "MPTCP_ATTR_LOC_ID");
    pub(in super::super) const REMOTE_ID: Known = Known(4, "MPTCP_ATTR_REM_ID");
    pub(in super::super) const SADDR4: Known = Known(5, "MPTCP_ATTR_SADDR4");
    pub(in super::super) const SADDR6: Known = Known(6, "MPTCP_ATTR_SADDR6");
    pub(in super::super) const DADDR4: Known = Known(7, "MPTCP_ATTR_DADDR4");
    pub(in super::super) const DADDR6: Known = Known(8, "MPTCP_ATTR_DADDR6");
    pub(in super::super) const SPORT: Known = Known(9, "MPTCP_ATTR_SPORT");
    pub(in super::super) const DPORT: Known = Known(10, "MPTCP_ATTR_DPORT");
    pub(in super::super) const BACKUP: Known = Known(11, "MPTCP_ATTR_BACKUP");
    pub(in super::super) const ERROR: Known = Known(12, "MPTCP_ATTR_ERROR");
    pub(in super::super) const FLAGS: Known = Known(13, "MPTCP_ATTR_FLAGS");
    pub(in super::super) const INTERFACE: Known = Known(15, "MPTCP_ATTR_IF_IDX");
    pub(in super::super) const RESET_REASON: Known = Known(16, "MPTCP_ATTR_RESET_REASON");
    pub(in super::super) const SERVER_SIDE: Known = Known(18, "MPTCP_ATTR_SERVER_SIDE");

    /// `MPTCP_PM_EV_FLAG_SERVER_SIDE`, on newer kernels.
    pub(in super::super) const FLAG_SERVER_SIDE: u16 = 1 << 1;
}
