//! A running lab: its namespaces, its emulator, and the operations on it.

use std::net::IpAddr;
use std::process::{Child, Command};
use std::time::Duration;

use crate::emulator::ROLE as EMULATOR;
use crate::emulator::messages::{Backlog, Command as Order, End, Event, Reading};
use crate::error::{Error, Result};
use crate::worker::{Place, Processes, Program, Worker, launch, own_mounts_permitted};
use joulepath_kernel::error::Doing;
use joulepath_kernel::mptcp::path_manager::{Endpoint, Limits, PathManager};
use joulepath_kernel::namespace::Namespace;
use joulepath_kernel::route::Routing;

use super::init::Init;
use super::ledger::clean;
use super::plan::Plan;
use super::processes::Remains;
use super::spec::LabSpec;
use super::stack::Stack;
use super::tunnel::Tunnel;

/// How long the emulator may take to answer on an extremely busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limit of subflows apart from the first (the kernel allows eight in all).
const MORE_SUBFLOWS: u32 = 7;

/// A running lab. Dropping the value ends it with everything that was started in it.
#[derive(Debug)]
pub struct Lab {
    // The order of dropping: what runs in the lab first.
    init: Init,
    emulator: Worker,
    client: Namespace,
    server: Namespace,
    server_address: IpAddr,
    tunnels: Vec<Tunnel>,
    stack: Stack,
    realtime: bool,
    differences: Vec<String>,
}

impl LabSpec {
    /// Checks if such a lab is possible, as far as that shows without building it.
    ///
    /// # Errors
    /// [`Unsupported`](joulepath_kernel::Error::Unsupported) if the kernel cannot send segments of
    /// the scenario's size, or the emulator lacks a feature of the scenario.
    pub fn check(&self) -> joulepath_kernel::Result<()> {
        Plan::of(self).map(drop)
    }

    /// Settings of the scenario that the kernel cannot match exactly, one sentence each.
    pub fn differences(&self) -> Vec<String> {
        Stack::of(self).differences().to_vec()
    }
}

impl Lab {
    /// Builds the lab; starts `program` as its emulator and its init. The scenario's clock is
    /// stopped until [`Lab::start_clock`].
    ///
    /// # Errors
    /// [`Permission`](joulepath_kernel::Error::Permission) without root;
    /// [`Unsupported`](joulepath_kernel::Error::Unsupported) without TUN or namespaces, or if this
    /// kernel lacks a feature of the scenario; [`Error::Cancelled`].
    pub fn start(spec: &LabSpec, program: &Program) -> Result<Self> {
        // Files of killed labs are harmless, so a failure to remove them does not matter.
        let _ = clean();
        let plan = Plan::of(spec)?;
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        let mut stack = Stack::of(spec);
        stack.prepare(&client)?;
        stack.prepare(&server)?;
        let init = Init::start(&spec.scenario.title, &client, &server, program)?;
        let emulated = plan.emulator(spec, &client, &server);
        let mut emulator = Worker::spawn(EMULATOR, &emulated, None, program, &spec.cancel)?;
        let ready = emulator.receive(PATIENCE)?;
        let Event::Ready { devices, realtime } = ready else {
            return Err(unexpected(&ready));
        };
        let tunnels = plan.tunnels(&devices);
        stack.connect(&client, &server, &tunnels, plan.server_address)?;
        let limits = Limits {
            extra_subflows: MORE_SUBFLOWS,
            accepted_addresses: MORE_SUBFLOWS,
        };
        for namespace in [&client, &server] {
            namespace.enter_thread(|| PathManager::open()?.set_limits(limits))??;
        }
        let differences = differences(&stack, &init, &client);
        let server_address = plan.server_address;
        Ok(Lab {
            init,
            emulator,
            client,
            server,
            server_address,
            tunnels,
            stack,
            realtime,
            differences,
        })
    }

    /// Ends the lab as dropping it does. Returns what was still running and what is left.
    ///
    /// # Errors
    /// If the lab's init was killed: the kernel has then killed the processes, but connections may
    /// still be closing.
    pub fn end(mut self) -> Result<Remains> {
        self.init.end()
    }

    /// The namespace of the device's programs.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// The namespace of the server's programs.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The server's address, the same over every path.
    pub fn server_address(&self) -> IpAddr {
        self.server_address
    }

    /// The tunnels of the paths in the order of the connections that use them, then one per
    /// competitor.
    pub fn tunnels(&self) -> &[Tunnel] {
        &self.tunnels
    }

    /// The lab's name in the ledger. Its programs have it in the environment variable
    /// [`Lab::VARIABLE`].
    pub fn id(&self) -> &str {
        self.init.id()
    }

    /// Environment variable with the lab's id.
    pub const VARIABLE: &str = "JOULEPATH_LAB";

    /// Requested settings that this machine cannot match exactly, one sentence each.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// True if the emulator has real-time priority.
    pub fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// Starts the scenario's clock at time 0: links, outages, traces and meters. Earlier packets
    /// are lost. Returns the time on `CLOCK_MONOTONIC`, ns.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn start_clock(&mut self) -> Result<u64> {
        match self.ask(Order::Start)? {
            Event::Started { monotonic_ns } => Ok(monotonic_ns),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the warm-up: counters and energy start at 0.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn begin_measurement(&mut self) -> Result<()> {
        match self.ask(Order::Measure)? {
            Event::Measuring => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// All counters so far. The run continues.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn snapshot(&mut self) -> Result<Reading> {
        self.read(End::Running)
    }

    /// All counters so far, with the energy as if traffic or observation ended here.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn read(&mut self, end: End) -> Result<Reading> {
        match self.ask(Order::Read(end))? {
            Event::Reading(reading) => Ok(*reading),
            other => Err(unexpected(&other)),
        }
    }

    /// The backlog of each link of the scenario, by index.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn backlogs(&mut self) -> Result<Vec<Backlog>> {
        match self.ask(Order::Queues)? {
            Event::Queues(backlogs) => Ok(backlogs),
            other => Err(unexpected(&other)),
        }
    }

    /// Sets a tunnel's interface on the client down, which loses all packets in the tunnel, or up
    /// again.
    ///
    /// # Errors
    /// If the emulator has died or the kernel refuses.
    pub fn set_tunnel(&mut self, tunnel: usize, up: bool) -> Result<()> {
        let answer = self.ask(Order::SetTunnel { tunnel, open: up })?;
        let Event::TunnelSet = answer else {
            return Err(unexpected(&answer));
        };
        let (stack, tunnel, server) = (&self.stack, &self.tunnels[tunnel], self.server_address);
        let changed = self.client.enter_thread(|| {
            let mut routing = Routing::open()?;
            routing.set_up(tunnel.client_device, up)?;
            // The routes of a device disappear when it goes down.
            if up {
                stack.route_client(&mut routing, tunnel, server)
            } else {
                Ok(())
            }
        })?;
        Ok(changed?)
    }

    /// Makes every MPTCP connection of the client open a subflow through this tunnel from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn announce(&self, tunnel: usize, backup: bool) -> Result<()> {
        let tunnel = &self.tunnels[tunnel];
        let endpoint = Endpoint {
            backup,
            ..Endpoint::subflow(tunnel.client_address, tunnel.client_device)
        };
        Ok(self
            .client
            .enter_thread(|| PathManager::open()?.add(&endpoint))??)
    }

    /// Starts a program on the device. It ends with the lab at the latest, with all its
    /// descendants.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch(&mut self, command: Command) -> Result<Child> {
        self.launch_at(&self.client, command)
    }

    /// Starts a program at the server. It ends with the lab at the latest, with all its
    /// descendants.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch_at_server(&mut self, command: Command) -> Result<Child> {
        self.launch_at(&self.server, command)
    }

    fn launch_at(&self, network: &Namespace, mut command: Command) -> Result<Child> {
        let doing = format!("starting {}", command.get_program().to_string_lossy());
        command.env(Self::VARIABLE, self.id());
        let processes = Processes::In(self.init.namespace());
        let place = Place {
            network: Some(network),
            processes,
            mounts: true,
        };
        Ok(launch(command, place).doing(doing)?)
    }

    /// True if the emulator runs. Without it no packets arrive.
    pub fn is_alive(&mut self) -> bool {
        self.emulator.is_alive()
    }

    /// Process id of the emulator, for tests that kill it.
    pub fn emulator_pid(&self) -> u32 {
        self.emulator.pid()
    }

    fn ask(&mut self, command: Order) -> Result<Event> {
        self.emulator.send(&command)?;
        self.emulator.receive(PATIENCE)
    }
}

fn unexpected(event: &Event) -> Error {
    Error::Run(format!("unexpected answer of the emulator: {event:?}"))
}

/// Settings of the scenario that the kernel cannot match, and settings of the lab that this machine
/// cannot.
fn differences(stack: &Stack, init: &Init, client: &Namespace) -> Vec<String> {
    let mut differences = stack.differences().to_vec();
    if !own_mounts_permitted(client) {
        differences.push(
            "/sys shows this machine's devices and not the lab's: nothing may be mounted here"
                .into(),
        );
    }
    if let Some(why) = init.unrecorded() {
        differences.push(format!(
            "`joulepath lab clean` will not list this lab: {why}"
        ));
    }
    differences
}
