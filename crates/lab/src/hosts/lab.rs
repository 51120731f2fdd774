//! A running lab: its namespaces, the emulator between them, and what a program can do with it.

use std::net::IpAddr;
use std::process::Child;
use std::time::Duration;

use crate::emulator::ROLE as EMULATOR;
use crate::emulator::messages::{Backlog, Command, End, Event, Reading};
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

/// How long the emulator may take for an answer; on a machine that is busy beyond use.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most subflows besides the first (the kernel's limit of eight in all).
const MORE_SUBFLOWS: u32 = 7;

/// A running lab. When it is dropped, it ends, with all that was started in it.
#[derive(Debug)]
pub struct Lab {
    // The fields go in this order: what is in the lab first.
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
    /// Whether there can be such a lab, as far as that can be seen without building it.
    ///
    /// # Errors
    /// [`Unsupported`](joulepath_kernel::Error::Unsupported) if the kernel cannot send segments of the
    /// scenario's size, or the emulator lacks what the scenario has.
    pub fn check(&self) -> joulepath_kernel::Result<()> {
        Plan::of(self).map(drop)
    }

    /// What the scenario asks for and the kernel cannot do exactly, one sentence each.
    pub fn differences(&self) -> Vec<String> {
        Stack::of(self).differences().to_vec()
    }
}

impl Lab {
    /// Builds the lab; `program` becomes its emulator and its init. The scenario's clock stands until
    /// [`Lab::start_clock`].
    ///
    /// # Errors
    /// [`Permission`](joulepath_kernel::Error::Permission) without root;
    /// [`Unsupported`](joulepath_kernel::Error::Unsupported) without TUN or namespaces, or if this kernel
    /// lacks what the scenario needs; [`Error::Cancelled`].
    pub fn start(spec: &LabSpec, program: &Program) -> Result<Self> {
        // Files of labs that were killed disturb nobody, so that it does not matter if they cannot be
        // removed.
        let _ = clean();
        let plan = Plan::of(spec)?;
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        let stack = Stack::of(spec);
        stack.prepare(&client)?;
        stack.prepare(&server)?;
        let init = Init::start(&spec.scenario.title, &client, &server, program)?;
        let emulated = plan.emulator(spec, &client, &server);
        let mut emulator = Worker::spawn(EMULATOR, &emulated, None, program, &spec.cancel)?;
        let ready = emulator.receive(PATIENCE)?;
        let Event::Ready { devices, realtime } = ready else { return Err(unexpected(&ready)) };
        let tunnels = plan.tunnels(&devices);
        stack.connect(&client, &server, &tunnels, plan.server_address)?;
        let limits = Limits { extra_subflows: MORE_SUBFLOWS, accepted_addresses: MORE_SUBFLOWS };
        for namespace in [&client, &server] {
            namespace.enter_thread(|| PathManager::open()?.set_limits(limits))??;
        }
        let differences = differences(&stack, &init, &client);
        let server_address = plan.server_address;
        Ok(Lab { init, emulator, client, server, server_address, tunnels, stack, realtime, differences })
    }

    /// Ends the lab, as dropping it does, and tells what there was to end and what could not be ended.
    ///
    /// # Errors
    /// If the process was killed that ends the others: the kernel has ended them then, but connections may
    /// still be closing.
    pub fn end(mut self) -> Result<Remains> {
        self.init.end()
    }

    /// Where the device's programs run.
    pub fn client(&self) -> &Namespace {
        &self.client
    }

    /// Where the server's programs run.
    pub fn server(&self) -> &Namespace {
        &self.server
    }

    /// The server's address, the same over every path.
    pub fn server_address(&self) -> IpAddr {
        self.server_address
    }

    /// The paths in the order of the connections that use them, and then one tunnel for each competitor.
    pub fn tunnels(&self) -> &[Tunnel] {
        &self.tunnels
    }

    /// The lab's name in the ledger. Its programs find it in the variable [`Lab::VARIABLE`].
    pub fn id(&self) -> &str {
        self.init.id()
    }

    /// Environment variable with the lab's id.
    pub const VARIABLE: &str = "JOULEPATH_LAB";

    /// What was asked for and cannot be had exactly, one sentence each.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Whether the emulator has real-time priority.
    pub fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// Now is time 0 of the scenario: links, outages, traces and meters begin. Packets before this are lost.
    /// Returns the instant on `CLOCK_MONOTONIC`, ns.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn start_clock(&mut self) -> Result<u64> {
        match self.ask(Command::Start)? {
            Event::Started { monotonic_ns } => Ok(monotonic_ns),
            other => Err(unexpected(&other)),
        }
    }

    /// The warm-up is over: counters and joules count from now.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn begin_measurement(&mut self) -> Result<()> {
        match self.ask(Command::Measure)? {
            Event::Measuring => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// All counters up to now; nothing ends.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn snapshot(&mut self) -> Result<Reading> {
        self.read(End::Running)
    }

    /// All counters up to now, with energy as if traffic or observation ended here.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn read(&mut self, end: End) -> Result<Reading> {
        match self.ask(Command::Read(end))? {
            Event::Reading(reading) => Ok(*reading),
            other => Err(unexpected(&other)),
        }
    }

    /// What waits in front of each link of the scenario, by its index.
    ///
    /// # Errors
    /// If the emulator has died.
    pub fn backlogs(&mut self) -> Result<Vec<Backlog>> {
        match self.ask(Command::Queues)? {
            Event::Queues(backlogs) => Ok(backlogs),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes a tunnel's interface on the client down, with all that is in the tunnel, or up again.
    ///
    /// # Errors
    /// If the emulator has died, or the kernel refuses.
    pub fn set_tunnel(&mut self, tunnel: usize, up: bool) -> Result<()> {
        let answer = self.ask(Command::SetTunnel { tunnel, open: up })?;
        let Event::TunnelSet = answer else { return Err(unexpected(&answer)) };
        let (stack, tunnel, server) = (&self.stack, &self.tunnels[tunnel], self.server_address);
        let changed = self.client.enter_thread(|| {
            let mut routing = Routing::open()?;
            routing.set_up(tunnel.client_device, up)?;
            // The routes of a device go with it.
            if up { stack.route_client(&mut routing, tunnel, server) } else { Ok(()) }
        })?;
        Ok(changed?)
    }

    /// From now on every MPTCP connection of the client opens a subflow through this tunnel.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn announce(&self, tunnel: usize, backup: bool) -> Result<()> {
        let tunnel = &self.tunnels[tunnel];
        let endpoint = Endpoint { backup, ..Endpoint::subflow(tunnel.client_address, tunnel.client_device) };
        Ok(self.client.enter_thread(|| PathManager::open()?.add(&endpoint))??)
    }

    /// Starts a program on the device. It ends with the lab at the latest, and so does everything that it has
    /// started.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch(&mut self, mut command: std::process::Command) -> Result<Child> {
        let doing = format!("starting {}", command.get_program().to_string_lossy());
        command.env(Self::VARIABLE, self.id());
        let processes = Processes::In(self.init.namespace());
        let place = Place { network: Some(&self.client), processes, mounts: true };
        Ok(launch(command, place).doing(doing)?)
    }

    /// Whether the emulator runs. Without it no packet arrives.
    pub fn is_alive(&mut self) -> bool {
        self.emulator.is_alive()
    }

    /// The emulator's process, for tests that kill it.
    pub fn emulator_pid(&self) -> u32 {
        self.emulator.pid()
    }

    fn ask(&mut self, command: Command) -> Result<Event> {
        self.emulator.send(&command)?;
        self.emulator.receive(PATIENCE)
    }
}

fn unexpected(event: &Event) -> Error {
    Error::Run(format!("the emulator answered another question: {event:?}"))
}

/// What the kernel cannot do as the scenario says, and this machine not as the lab wants it.
fn differences(stack: &Stack, init: &Init, client: &Namespace) -> Vec<String> {
    let mut differences = stack.differences().to_vec();
    if !own_mounts_permitted(client) {
        differences
            .push("/sys shows this machine's devices and not the lab's: nothing may be mounted here".into());
    }
    if let Some(why) = init.unrecorded() {
        differences.push(format!("`joulepath lab clean` will not list this lab: {why}"));
    }
    differences
}
