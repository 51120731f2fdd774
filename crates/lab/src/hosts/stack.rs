//! Sets up the kernel for the scenario's TCP: sysctls, addresses, source rules, routes.

use std::net::IpAddr;

use joulepath_model::scenario::Scenario;
use joulepath_model::units::Nanos;

use super::spec::LabSpec;
use super::tunnel::Tunnel;
use joulepath_kernel::error::{Error, Result};
use joulepath_kernel::mptcp::memory::ReceiveWindow;
use joulepath_kernel::namespace::Namespace;
use joulepath_kernel::route::{Metric, Prefix, Route, Routing};

/// Routing table of tunnel 0. Tunnel `i` uses the i-th after it. The kernel's own end at 255.
const FIRST_TABLE: u32 = 1000;
const DEFAULT_CONTROLLER: &str = "net.ipv4.tcp_congestion_control";
/// The kernel counts the memory of unsent data, which is up to twice its bytes.
const BUFFER_PER_SENT: u64 = 2;
/// Receive memory of a socket while the machine lacks memory, bytes: the kernel's default.
const LEAST_RECEIVE_BUFFER: u64 = 4096;
/// Initial size of a growing send buffer, bytes: the kernel's default.
const FIRST_SEND_BUFFER: u64 = 16_384;
/// The kernel's delay of the ACK for a single segment, if ACKs are delayed.
const KERNEL_DELAYED_ACK: Nanos = Nanos::from_millis(40);
/// The kernel's RTO before the first sample.
const KERNEL_INITIAL_RTO: Nanos = Nanos::from_secs(1);
/// Bounds of `tcp_rto_max_ms`, ms. Kernels without it use the upper bound.
const RTO_MAX_MS: std::ops::RangeInclusive<u64> = 1_000..=120_000;

/// The settings of both ends.
#[derive(Debug)]
pub(super) struct Stack {
    sysctls: Vec<Setting>,
    metrics: Vec<(Metric, u32)>,
    /// The controller of each route, if it cannot be the default of a namespace.
    congestion: Option<String>,
    ipv6: bool,
    differences: Vec<String>,
}

#[derive(Debug)]
struct Setting {
    name: String,
    value: String,
    /// True if it may be missing: older kernels do almost as well without it.
    optional: bool,
}

impl Stack {
    pub(super) fn of(spec: &LabSpec) -> Self {
        let mut stack = Stack {
            sysctls: vec![],
            metrics: metrics(&spec.scenario),
            congestion: None,
            ipv6: spec.ipv6,
            differences: vec![],
        };
        stack.set(DEFAULT_CONTROLLER, &spec.default_cc);
        stack.set_transport(&spec.scenario);
        stack.set_network();
        for (name, value) in &spec.sysctls {
            stack.sysctls.retain(|setting| setting.name != *name);
            stack.set(name, value);
        }
        stack.note_differences(&spec.scenario);
        stack
    }

    /// Settings of the scenario that the kernel cannot match, one sentence each.
    pub(super) fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Sets the sysctls. Call it before devices exist: they take their settings from the defaults.
    pub(super) fn prepare(&mut self, namespace: &Namespace) -> Result<()> {
        for Setting {
            name,
            value,
            optional,
        } in &self.sysctls
        {
            match namespace.set_sysctl(name, value) {
                Err(Error::Unsupported { .. }) if *optional => {}
                // Only the machine's first namespace may have a default that is not allowed to all
                // users; a route may name it everywhere.
                Err(Error::Permission { .. }) if name == DEFAULT_CONTROLLER => {
                    self.congestion = Some(value.clone());
                }
                Err(Error::Io { source, .. })
                    if name == DEFAULT_CONTROLLER
                        && source.kind() == std::io::ErrorKind::NotFound =>
                {
                    return Err(unknown_controller(value, namespace));
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Sets addresses, rules and routes. Call it when the devices exist.
    pub(super) fn connect(
        &self,
        client: &Namespace,
        server: &Namespace,
        tunnels: &[Tunnel],
        server_address: IpAddr,
    ) -> Result<()> {
        client.enter_thread(|| {
            let mut routing = Routing::open()?;
            for tunnel in tunnels {
                routing.set_up(tunnel.client_device, true)?;
                routing.add_address(tunnel.client_device, tunnel.client_address)?;
                routing
                    .add_source_rule(tunnel.client_address, FIRST_TABLE + tunnel.client_device)?;
                self.route_client(&mut routing, tunnel, server_address)?;
            }
            Ok::<_, Error>(())
        })??;
        server.enter_thread(|| {
            let mut routing = Routing::open()?;
            routing.add_loopback_address(server_address)?;
            for tunnel in tunnels {
                routing.set_up(tunnel.server_device, true)?;
                routing.add_route(&Route {
                    source: Some(server_address),
                    metrics: self.metrics.clone(),
                    congestion: self.congestion.clone(),
                    ..Route::on_link(tunnel.client_address, tunnel.server_device)
                })?;
            }
            Ok(())
        })?
    }

    /// Sets the client's routes through one device. The first route is for sockets bound to its
    /// address. The other is for unbound sockets; it applies while no earlier tunnel is up.
    pub(super) fn route_client(
        &self,
        routing: &mut Routing,
        tunnel: &Tunnel,
        server_address: IpAddr,
    ) -> Result<()> {
        let route = |destination: Prefix| Route {
            source: Some(tunnel.client_address),
            metrics: self.metrics.clone(),
            congestion: self.congestion.clone(),
            ..Route::on_link(destination, tunnel.client_device)
        };
        let (all, priority) = (Prefix::all_like(server_address), tunnel.client_device);
        routing.add_route(&Route {
            table: FIRST_TABLE + tunnel.client_device,
            ..route(all)
        })?;
        routing.add_route(&Route {
            priority,
            ..route(all)
        })
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.sysctls.push(Setting {
            name: name.into(),
            value: value.to_string(),
            optional: false,
        });
    }

    fn set_if_there(&mut self, name: &str, value: impl ToString) {
        self.sysctls.push(Setting {
            name: name.into(),
            value: value.to_string(),
            optional: true,
        });
    }

    fn set_transport(&mut self, scenario: &Scenario) {
        let transport = &scenario.transport;
        let (receive, send) = buffers(scenario);
        self.set("net.mptcp.enabled", 1);
        // A connection must not affect the next.
        self.set("net.ipv4.tcp_no_metrics_save", 1);
        self.set("net.ipv4.tcp_ecn", u8::from(transport.ecn));
        self.set("net.ipv4.tcp_sack", u8::from(transport.recovery.has_sack()));
        self.set("net.ipv4.tcp_reordering", transport.dup_threshold);
        self.set("net.ipv4.tcp_retries2", transport.max_retries);
        // Without growth the receive buffer has its full size from the first packet on.
        let memory = scenario.receive_memory();
        let (initial, most) = memory.map_or((receive, receive), |memory| {
            (memory.initial.0, memory.most.0)
        });
        self.set(
            "net.ipv4.tcp_rmem",
            format!("{LEAST_RECEIVE_BUFFER} {initial} {most}"),
        );
        self.set("net.ipv4.tcp_moderate_rcvbuf", u8::from(memory.is_some()));
        // A growing buffer holds two windows of unsent data per subflow. With a fixed buffer the
        // packet scheduler would queue all of it on a subflow that was fast for an instant.
        self.set(
            "net.ipv4.tcp_wmem",
            format!("4096 {} {send}", FIRST_SEND_BUFFER.min(send)),
        );
        let rto_max_ms =
            (transport.rto_max.0 / 1_000_000).clamp(*RTO_MAX_MS.start(), *RTO_MAX_MS.end());
        self.set_if_there("net.ipv4.tcp_rto_max_ms", rto_max_ms);
    }

    fn set_network(&mut self) {
        for which in ["all", "default"] {
            // The server's address is reached through every tunnel.
            self.set(&format!("net.ipv4.conf.{which}.rp_filter"), 0);
            let ipv6 = format!("net.ipv6.conf.{which}");
            if !self.ipv6 {
                self.set_if_there(&format!("{ipv6}.disable_ipv6"), 1);
                continue;
            }
            self.set(&format!("{ipv6}.disable_ipv6"), 0);
            self.set(&format!("{ipv6}.keep_addr_on_down"), 1);
            // There is no router, and a solicitation would wake a radio.
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
            let text = format!(
                "delayed_ack is {delay}; the kernel adapts it from {KERNEL_DELAYED_ACK} on"
            );
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
        let is_fixed = scenario
            .connections
            .iter()
            .any(|group| group.receive_memory.is_none());
        let text = "beside buffers that grow, the window of a fixed receive buffer shrinks while \
            data waits in it";
        note(scenario.receive_memory().is_some() && is_fixed, text.into());
    }
}

/// Sizes of the kernel's receive and send buffers, bytes.
fn buffers(scenario: &Scenario) -> (u64, u64) {
    let send = scenario
        .connections
        .iter()
        .map(|group| group.send_buffer.0)
        .max()
        .unwrap_or(0);
    let most = i32::MAX as u64;
    (
        receive_window(scenario).memory().0.min(most),
        (send * BUFFER_PER_SENT).min(most),
    )
}

/// The largest receive buffer of the connections under test.
fn receive_window(scenario: &Scenario) -> ReceiveWindow {
    let largest = scenario
        .connections
        .iter()
        .map(|group| group.receive_buffer)
        .max();
    ReceiveWindow {
        bytes: largest.unwrap_or_default(),
        mss: scenario.transport.mss,
    }
}

fn metrics(scenario: &Scenario) -> Vec<(Metric, u32)> {
    let transport = &scenario.transport;
    let mut metrics = vec![
        (Metric::InitialWindow, transport.initial_window),
        (
            Metric::MinRto,
            u32::try_from(transport.rto_min.0 / 1_000_000).unwrap_or(u32::MAX),
        ),
    ];
    if transport.delayed_ack.is_none() {
        metrics.push((Metric::QuickAck, 1));
    }
    // A window that grows is bounded by memory alone.
    if scenario.receive_memory().is_none()
        && let Some(window) = receive_window(scenario).clamp()
    {
        metrics.push((Metric::Window, u32::try_from(window.0).unwrap_or(u32::MAX)));
    }
    metrics
}

fn unknown_controller(name: &str, namespace: &Namespace) -> Error {
    let known = namespace
        .sysctl("net.ipv4.tcp_available_congestion_control")
        .unwrap_or_default();
    Error::Unsupported {
        what: format!("the congestion controller {name}"),
        why: format!("this kernel has {known}"),
        remedy: "load it first: `joulepath cc load`".into(),
    }
}
