//! The scenario's TCP, told to the kernel: sysctls, addresses, source rules, routes.

use std::net::IpAddr;

use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::{LabSpec, Line};
use crate::error::{Error, Result};
use crate::mptcp::socket::memory_per_window;
use crate::namespace::Namespace;
use crate::route::{Metric, Route, Routing};

/// The table of line `i` is this plus `i`: above those of the kernel, which end at 255.
const FIRST_TABLE: u32 = 1000;
/// The kernel counts the memory of what waits to be sent, which is up to twice its bytes.
const BUFFER_PER_SENT: u64 = 2;
/// Where the kernel begins to let a send buffer grow, bytes: its own default.
const FIRST_SEND_BUFFER: u64 = 16_384;
/// What the kernel does about an ACK for a lone segment, if it delays any.
const KERNEL_DELAYED_ACK: Nanos = Nanos::from_millis(40);
/// The kernel's RTO before the first sample.
const KERNEL_INITIAL_RTO: Nanos = Nanos::from_secs(1);
/// Bounds of `tcp_rto_max_ms`, ms, and the bound of kernels without it.
const RTO_MAX_MS: std::ops::RangeInclusive<u64> = 1_000..=120_000;

/// How both ends are set up.
#[derive(Debug)]
pub(super) struct Stack {
    sysctls: Vec<Setting>,
    metrics: Vec<(Metric, u32)>,
    ipv6: bool,
    differences: Vec<String>,
}

#[derive(Debug)]
struct Setting {
    name: String,
    value: String,
    /// Without which a kernel does as well, or nearly.
    optional: bool,
}

impl Stack {
    pub(super) fn of(spec: &LabSpec) -> Self {
        let mut stack =
            Stack { sysctls: vec![], metrics: metrics(&spec.scenario), ipv6: spec.ipv6, differences: vec![] };
        stack.set("net.ipv4.tcp_congestion_control", &spec.default_cc);
        stack.set_transport(&spec.scenario);
        stack.set_network();
        for (name, value) in &spec.sysctls {
            stack.sysctls.retain(|setting| setting.name != *name);
            stack.set(name, value);
        }
        stack.note_differences(&spec.scenario);
        stack
    }

    /// What the kernel cannot do as the scenario says.
    pub(super) fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Before there are devices, which take their settings from the defaults.
    pub(super) fn prepare(&self, namespace: &Namespace) -> Result<()> {
        for Setting { name, value, optional } in &self.sysctls {
            match namespace.set_sysctl(name, value) {
                Err(Error::Unsupported { .. }) if *optional => {}
                Err(Error::Io { source, .. })
                    if name.ends_with("tcp_congestion_control")
                        && source.kind() == std::io::ErrorKind::NotFound =>
                {
                    return Err(unknown_controller(value, namespace));
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Addresses, rules and routes, once there are devices.
    pub(super) fn connect(
        &self,
        client: &Namespace,
        server: &Namespace,
        lines: &[Line],
        server_address: IpAddr,
    ) -> Result<()> {
        client.enter_thread(|| {
            let routing = Routing::open()?;
            for line in lines {
                routing.set_up(line.client_device, true)?;
                routing.add_address(line.client_device, line.client_address)?;
                routing.add_source_rule(line.client_address, FIRST_TABLE + line.client_device)?;
                self.route_client(&routing, line, server_address)?;
            }
            Ok::<_, Error>(())
        })??;
        server.enter_thread(|| {
            let routing = Routing::open()?;
            routing.add_loopback_address(server_address)?;
            for line in lines {
                routing.set_up(line.server_device, true)?;
                routing.add_route(&Route {
                    destination: Some(line.client_address),
                    source: server_address,
                    device: line.server_device,
                    table: None,
                    priority: 0,
                    metrics: self.metrics.clone(),
                })?;
            }
            Ok(())
        })?
    }

    /// The client's routes through one device: for what is bound to its address; and for what is bound to none, unless an
    /// earlier line is up.
    pub(super) fn route_client(&self, routing: &Routing, line: &Line, server_address: IpAddr) -> Result<()> {
        let route = |destination, table, priority| Route {
            destination,
            source: line.client_address,
            device: line.client_device,
            table,
            priority,
            metrics: self.metrics.clone(),
        };
        routing.add_route(&route(None, Some(FIRST_TABLE + line.client_device), 0))?;
        routing.add_route(&route(Some(server_address), None, line.client_device))?;
        routing.add_route(&route(None, None, line.client_device))
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.sysctls.push(Setting { name: name.into(), value: value.to_string(), optional: false });
    }

    fn set_if_there(&mut self, name: &str, value: impl ToString) {
        self.sysctls.push(Setting { name: name.into(), value: value.to_string(), optional: true });
    }

    fn set_transport(&mut self, scenario: &Scenario) {
        let transport = &scenario.transport;
        let (receive, send) = buffers(scenario);
        self.set("net.mptcp.enabled", 1);
        // What one connection learns must not reach the next.
        self.set("net.ipv4.tcp_no_metrics_save", 1);
        self.set("net.ipv4.tcp_ecn", u8::from(transport.ecn));
        self.set("net.ipv4.tcp_sack", u8::from(transport.recovery.has_sack()));
        self.set("net.ipv4.tcp_reordering", transport.dup_threshold);
        self.set("net.ipv4.tcp_retries2", transport.max_retries);
        self.set("net.ipv4.tcp_rmem", format!("4096 {receive} {receive}"));
        // The kernel gives a subflow room for two windows of unsent data, as they grow. A fixed buffer would have the packet scheduler queue
        // all of it on a subflow that was fast for a moment.
        self.set("net.ipv4.tcp_wmem", format!("4096 {} {send}", FIRST_SEND_BUFFER.min(send)));
        // The buffer is as large as the scenario says from the first packet on.
        self.set("net.ipv4.tcp_moderate_rcvbuf", 0);
        let rto_max_ms = (transport.rto_max.0 / 1_000_000).clamp(*RTO_MAX_MS.start(), *RTO_MAX_MS.end());
        self.set_if_there("net.ipv4.tcp_rto_max_ms", rto_max_ms);
    }

    fn set_network(&mut self) {
        for which in ["all", "default"] {
            // The server's address is behind every line.
            self.set(&format!("net.ipv4.conf.{which}.rp_filter"), 0);
            let ipv6 = format!("net.ipv6.conf.{which}");
            if !self.ipv6 {
                self.set_if_there(&format!("{ipv6}.disable_ipv6"), 1);
                continue;
            }
            self.set(&format!("{ipv6}.disable_ipv6"), 0);
            self.set(&format!("{ipv6}.keep_addr_on_down"), 1);
            // No router will answer, and a question would wake a radio.
            self.set(&format!("{ipv6}.router_solicitations"), 0);
            self.set(&format!("{ipv6}.accept_ra"), 0);
        }
    }

    fn note_differences(&mut self, scenario: &Scenario) {
        let transport = &scenario.transport;
        let mut note = |differs: bool, text: String| {
            if differs {
                self.differences.push(text);
            }
        };
        if let Some(delay) = transport.delayed_ack {
            let text = format!("delayed_ack is {delay}; the kernel adapts it from {KERNEL_DELAYED_ACK} on");
            note(delay != KERNEL_DELAYED_ACK, text);
        }
        let initial = transport.rto_initial;
        note(
            initial != KERNEL_INITIAL_RTO,
            format!("rto_initial is {initial}; the kernel's is {KERNEL_INITIAL_RTO}"),
        );
        let max = transport.rto_max;
        let text = format!("rto_max is {max}; the kernel takes 1 s to 120 s");
        note(!RTO_MAX_MS.contains(&(max.0 / 1_000_000)), text);
    }
}

/// Sizes of the kernel's buffers for the scenario's, bytes.
fn buffers(scenario: &Scenario) -> (u64, u64) {
    let groups = scenario.connections.iter();
    let (receive, send) = groups.fold((0, 0), |(receive, send): (u64, u64), group| {
        (receive.max(group.receive_buffer.0), send.max(group.send_buffer.0))
    });
    let most = i32::MAX as u64;
    // Such a buffer makes a window of the scenario's size; the route's metric `window` would end with the first full segment.
    let receive = (receive as f64 * memory_per_window()) as u64;
    (receive.min(most), (send * BUFFER_PER_SENT).min(most))
}

fn metrics(scenario: &Scenario) -> Vec<(Metric, u32)> {
    let transport = &scenario.transport;
    let mut metrics = vec![
        (Metric::InitialWindow, transport.initial_window),
        (Metric::MinRto, u32::try_from(transport.rto_min.0 / 1_000_000).unwrap_or(u32::MAX)),
    ];
    if transport.delayed_ack.is_none() {
        metrics.push((Metric::QuickAck, 1));
    }
    metrics
}

fn unknown_controller(name: &str, namespace: &Namespace) -> Error {
    let known = namespace.sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    Error::Unsupported {
        what: format!("the congestion controller {name}"),
        why: format!("this kernel has {known}"),
        remedy: "load it first: `joulepath cc load`".into(),
    }
}
