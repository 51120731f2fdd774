//! What a daemon sees and tells, for tests: each sets what it is about.

use joulepath_kernel::route::{Address, Scope};
use joulepath_model::live::Intent;

use crate::decide::Role;
use crate::status::{InterfaceStatus, SCHEMA, Spent, Status};

/// An interface that is used, and of which nothing was measured.
pub(crate) fn interface(name: &str) -> InterfaceStatus {
    InterfaceStatus {
        name: name.into(),
        intent: Intent::Frugal,
        role: Role::Regular,
        wanted: Role::Regular,
        reason: String::new(),
        allowed: true,
        addresses: vec!["192.0.2.1".into()],
        conflicts: [].into(),
        received_bps: 0.0,
        sent_bps: 0.0,
        capacity_bps: None,
        rtt_s: None,
        subflows: 0,
        backup_subflows: 0,
        retransmitted_bytes: 0,
        quota: None,
        total: Spent::default(),
        today: Spent::default(),
        month: Spent::default(),
        energy_profile: None,
        energy_quality: None,
        power_w: None,
    }
}

/// A lasting address of a device, in a network of 24 bits.
pub(crate) fn address(device: u32, address: &str) -> Address {
    Address {
        device,
        address: address.parse().unwrap(),
        length: 24,
        peer: None,
        scope: Scope::Universe,
        tentative: false,
        duplicate: false,
        deprecated: false,
        temporary: false,
    }
}

/// A daemon that has run for 100 s with these.
pub(crate) fn status(interfaces: Vec<InterfaceStatus>) -> Status {
    Status {
        schema: SCHEMA,
        version: "0.1.0".into(),
        intent: Intent::Frugal,
        configured_intent: Intent::Frugal,
        paused: false,
        config: "live.toml".into(),
        up_s: 100.0,
        connections: 1,
        fallen_back: 0,
        changes: 0,
        battery: None,
        today: "2026-11-23".into(),
        interfaces,
        warnings: vec![],
        events: vec![],
        may_command: None,
    }
}
