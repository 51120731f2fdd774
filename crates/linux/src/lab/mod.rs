//! The lab: two network namespaces joined by emulated radios.
//!
//! ```text
//!   client                                             server
//!   wifi 198.18.1.1 ── TUN ──┐            ┌── TUN ── wifi
//!                            ├─ emulator ─┤                    198.19.255.1
//!   lte  198.18.2.1 ── TUN ──┘            └── TUN ── lte
//! ```
//!
//! The server has one address, reachable over every path; the client has one per path, and what is bound to it leaves through
//! that path. Everything inside belongs to the scenario: windows, timers, buffers. Nothing outside is touched.
//!
//! | module | what |
//! |---|---|
//! | `plan` | from a scenario to lines and addresses |
//! | `stack` | sysctls, addresses, rules, routes |
//! | `serve` | servers of the outside, shared into the lab |
//! | `ledger` | which labs run, and what one that crashed has left |

mod ledger;
mod plan;
mod serve;
mod stack;

use std::net::IpAddr;
use std::process::Child;
use std::time::Duration;

use joulepath_model::scenario::PathIndex;

pub use ledger::{Remains, clean};
pub use plan::LabSpec;
pub use serve::Serving;

use crate::emulator::messages::{Backlog, Command, End, Event, Reading};
use crate::error::{Doing, Error, Result};
use crate::mptcp::path_manager::{Endpoint, Limits, PathManager};
use crate::namespace::Namespace;
use crate::route::Routing;
use crate::worker::{Program, Worker, launch};

use self::ledger::Entry;
use self::plan::Plan;
use self::stack::Stack;

/// How long the emulator may take for an answer; on a machine that is busy beyond use.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most subflows besides the first (the kernel's limit of eight in all).
const MORE_SUBFLOWS: u32 = 7;

/// A running lab. Dropped, nothing of it remains.
#[derive(Debug)]
pub struct Lab {
    // In the order in which they have to go.
    emulator: Worker,
    entry: Entry,
    client: Namespace,
    server: Namespace,
    server_address: IpAddr,
    lines: Vec<Line>,
    stack: Stack,
    realtime: bool,
}

/// One TUN pair: a path, or the way of a competitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Name of the device in both namespaces.
    pub name: String,
    /// The path, if it is one.
    pub path: Option<PathIndex>,
    /// The client's address on it.
    pub client_address: IpAddr,
    /// Index of the client's device.
    pub client_device: u32,
    /// Index of the server's device.
    pub server_device: u32,
    /// Longest packet, bytes.
    pub mtu: u32,
}

impl Lab {
    /// Builds the lab; `program` becomes its emulator. The scenario's clock stands until [`Lab::start_clock`].
    ///
    /// # Errors
    /// Without root, without TUN, or if this kernel lacks what the scenario needs.
    pub fn start(spec: &LabSpec, program: &Program) -> Result<Self> {
        // Best effort: what a crashed lab has left disturbs nobody.
        let _ = clean();
        let plan = Plan::of(spec)?;
        let (client, server) = (Namespace::new()?, Namespace::new()?);
        let stack = Stack::of(spec);
        stack.prepare(&client)?;
        stack.prepare(&server)?;
        let mut entry = Entry::new(&spec.title())?;
        let mut emulator = Worker::spawn("emulator", &plan.emulator(spec, &client, &server), None, program)?;
        entry.add(emulator.pid())?;
        let ready = emulator.receive(PATIENCE)?;
        let Event::Ready { devices, realtime } = ready else { return Err(unexpected(&ready)) };
        let lines = plan.lines(&devices);
        stack.connect(&client, &server, &lines, plan.server_address)?;
        let limits = Limits { extra_subflows: MORE_SUBFLOWS, accepted_addresses: MORE_SUBFLOWS };
        for namespace in [&client, &server] {
            namespace.enter_thread(|| PathManager::open()?.set_limits(limits))??;
        }
        let server_address = plan.server_address;
        Ok(Lab { emulator, entry, client, server, server_address, lines, stack, realtime })
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

    /// The paths in the order of the connections that use them, and then one line for each competitor.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The lab's name in the ledger. Its programs find it in the variable [`Lab::VARIABLE`]: by it their remains are recognised.
    pub fn id(&self) -> &str {
        self.entry.id()
    }

    /// Environment variable with the lab's id.
    pub const VARIABLE: &str = "JOULEPATH_LAB";

    /// What the scenario asks for and this kernel cannot do exactly, one sentence each.
    pub fn differences(&self) -> &[String] {
        self.stack.differences()
    }

    /// Whether the emulator has real-time priority.
    pub fn is_realtime(&self) -> bool {
        self.realtime
    }

    /// Now is time 0 of the scenario: links, outages, traces and meters begin. Packets before this are lost. Returns the
    /// instant on `CLOCK_MONOTONIC`, ns.
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

    /// Takes a line's interface on the client down, with all that is on the line, or up again.
    ///
    /// # Errors
    /// If the emulator has died, or the kernel refuses.
    pub fn set_line(&mut self, line: usize, up: bool) -> Result<()> {
        let answer = self.ask(Command::SetLine { line, open: up })?;
        let Event::LineSet = answer else { return Err(unexpected(&answer)) };
        let (stack, line, server) = (&self.stack, &self.lines[line], self.server_address);
        self.client.enter_thread(|| {
            let routing = Routing::open()?;
            routing.set_up(line.client_device, up)?;
            // The routes of a device go with it.
            if up { stack.route_client(&routing, line, server) } else { Ok(()) }
        })?
    }

    /// From now on every MPTCP connection of the client opens a subflow over this line.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn announce(&self, line: usize, backup: bool) -> Result<()> {
        let line = &self.lines[line];
        let endpoint = Endpoint { backup, ..Endpoint::subflow(line.client_address, line.client_device) };
        self.client.enter_thread(|| PathManager::open()?.add(&endpoint))?
    }

    /// Starts a program on the device. It is killed when this process ends; what it put into the background ends with the lab.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch(&mut self, mut command: std::process::Command) -> Result<Child> {
        let doing = format!("starting {}", command.get_program().to_string_lossy());
        command.env(Self::VARIABLE, self.id());
        let child = launch(command, Some(&self.client)).doing(doing)?;
        self.entry.add(child.id())?;
        Ok(child)
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
