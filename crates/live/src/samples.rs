//! Sample values for tests; each test overrides the fields that it is about.

use std::net::IpAddr;

use joulepath_kernel::mptcp::diag::{Connection, Membership, TcpSocket};
use joulepath_kernel::mptcp::info::ConnectionInfo;
use joulepath_kernel::mptcp::{AddressId, Recovery, TcpInfo, TcpState, Token};
use joulepath_kernel::route::{Address, Link, Scope};
use joulepath_model::live::Intent;
use joulepath_model::units::Nanos;

use crate::decide::Role;
use crate::reason::Reason;
use crate::snapshot::Interface;
use crate::status::{FirstStatus, InterfaceStatus, SCHEMA, Spent, Status};

/// A regular interface without measurements.
pub(crate) fn interface(name: &str) -> InterfaceStatus {
    InterfaceStatus {
        name: name.into(),
        intent: Intent::Frugal,
        role: Role::Regular,
        wanted: Role::Regular,
        reason: Reason::OnlyPath,
        notes: vec![],
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
        network: None,
        signal_strength: None,
        energy_at_dbm: None,
    }
}

/// A working radio, as decisions see it.
pub(crate) fn seen(index: u32, name: &str) -> Interface {
    Interface {
        index,
        name: name.into(),
        kind: None,
        usable: true,
        routed: true,
        addresses: vec![[198, 18, 0, index as u8].into()],
        rate_bps: 0.0,
        capacity_bps: Some(20e6),
        rtt: Some(Nanos::from_millis(40)),
        first: name == "wlan0",
        subflows: 0,
        healthy: 0,
        lost: 0,
        silent: None,
        stalled: false,
        mute: false,
        interrupted: false,
        sole: 0,
        only: 0,
        missing: 0,
        refused: 0,
        carried_bytes: 100_000_000,
        used: None,
        under_way: 0,
        remembered: None,
        strength: None,
    }
}

/// A device that is up.
pub(crate) fn link(index: u32, name: &str, carrier: bool) -> Link {
    Link {
        index,
        name: name.into(),
        hardware: vec![2, 0, 0, 0, 0, index as u8],
        up: true,
        carrier,
        mtu: 1500,
        ..Link::default()
    }
}

/// A connection that has carried nothing.
pub(crate) fn connection_info(token: u32) -> ConnectionInfo {
    ConnectionInfo {
        token: Token(token),
        fallback: false,
        remote_key_received: true,
        extra_subflows: 0,
        extra_subflows_max: 0,
        subflows: None,
        checksums: false,
        write_dsn: 0,
        unacked_dsn: 0,
        receive_dsn: 0,
        counters: None,
    }
}

/// An established subflow opened by this host; port 1000 marks the initial subflow.
pub(crate) fn subflow(token: u32, address: IpAddr, port: u16) -> TcpSocket {
    TcpSocket {
        local: (address, port).into(),
        remote: "203.0.113.1:443".parse().unwrap(),
        interface: None,
        state: TcpState::Established,
        timer_ms: 0,
        uid: 0,
        inode: 0,
        congestion: None,
        memory: None,
        info: None,
        membership: Some(Membership {
            token: Token(token),
            local_id: AddressId(if port == 1000 { 0 } else { 77 }),
            remote_id: AddressId(0),
            joined: port != 1000,
            opened_locally: true,
            backup_locally: false,
            backup_remotely: false,
        }),
    }
}

/// A connection with one subflow per address; the first is the initial subflow.
pub(crate) fn connection(token: u32, addresses: &[IpAddr]) -> Connection {
    let place = |(place, &address): (usize, &IpAddr)| subflow(token, address, 1000 + place as u16);
    let subflows: Vec<TcpSocket> = addresses.iter().enumerate().map(place).collect();
    Connection {
        local: subflows[0].local,
        remote: subflows[0].remote,
        state: TcpState::Established,
        uid: 0,
        inode: 0,
        cgroup: None,
        mark: 0,
        memory: None,
        info: connection_info(token),
        subflows,
    }
}

/// A subflow whose last packet arrived `heard_ms` ago.
pub(crate) fn heard(heard_ms: u32) -> TcpInfo {
    TcpInfo {
        state: TcpState::Established,
        recovery: Recovery::Open,
        backoff: 0,
        app_limited: false,
        rto_us: 0,
        send_mss_bytes: 0,
        srtt_us: 0,
        rtt_variation_us: 0,
        min_rtt_us: 0,
        cwnd_packets: 0,
        ssthresh_packets: 0,
        unacked_packets: 0,
        lost_packets: 0,
        heard_ms,
        data_sent_ms: 0,
        receive_rtt_us: 0,
        out_of_order_segments: 0,
        retransmitted_segments: 0,
        pacing_rate_bytes_per_s: None,
        max_pacing_rate_bytes_per_s: None,
        delivery_rate_bytes_per_s: 0,
        acked_bytes: 0,
        received_bytes: 0,
        segments_out: 0,
        data_segments_out: 0,
        data_segments_in: 0,
        not_sent_bytes: 0,
        sent_bytes: 0,
        retransmitted_bytes: 0,
        busy_us: 0,
        receive_window_limited_us: 0,
        send_buffer_limited_us: 0,
        delivered_packets: 0,
        marked_packets: 0,
        send_window_bytes: 0,
        receive_window_bytes: None,
        timeouts: None,
    }
}

/// A permanent address in a /24.
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

/// A daemon that has run for 100 s.
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
        plain: Some(4),
        changes: 0,
        battery: None,
        today: "2026-11-23".into(),
        interfaces,
        warnings: vec![],
        events: vec![],
        machine: None,
        all_paths: None,
        controller: None,
        steering: None,
        networks: None,
        first: FirstStatus::default(),
        programs: None,
        why: None,
        may_command: None,
    }
}
