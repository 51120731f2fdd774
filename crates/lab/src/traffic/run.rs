//! The event loop of one end.

use std::os::fd::OwnedFd;

use joulepath_kernel::mptcp::diag;
use joulepath_kernel::mptcp::info::{SubflowInfo, canonical};
use joulepath_kernel::mptcp::socket::{self, Protocol};
use joulepath_kernel::reactor::{Interest, Timers, monotonic_ns};
use joulepath_kernel::route::Prefix;

use super::flow::{Flow, Phase, Side};
use super::join::{self, Joiner};
use super::look::ConnectionLook;
use super::report::Report;
use super::samples::Samples;
use super::sockets::{Key, Sockets};
use super::spec::{Command, Event, Spec};
use crate::error::{Error, Result};
use crate::worker::Parent;

/// Size of the buffer for one read or write, bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// A task at a time. The order matters only between simultaneous tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    WarmUp,
    Connect(usize),
    Wake(usize),
    Join,
    Sample,
    End,
}

/// One end of a run.
pub(super) struct Run {
    spec: Spec,
    side: Side,
    sockets: Sockets,
    timers: Timers<Timer>,
    /// The run's time 0 on the monotonic clock.
    begin_ns: u64,
    joiner: Option<Joiner>,
    flows: Vec<Flow>,
    samples: Samples,
    buffer: Vec<u8>,
    ended: bool,
}

impl Run {
    /// Prepares everything before the run begins.
    ///
    /// # Errors
    /// If the kernel lacks a feature that the traffic needs, or an address is in use.
    pub(super) fn prepare(spec: Spec, side: Side) -> Result<Self> {
        let connections = spec.connections.len();
        let multipath = spec
            .connections
            .iter()
            .any(|connection| connection.paths.len() > 1);
        let mut sockets = Sockets::new(connections)?;
        let mut joiner = None;
        match side {
            Side::Server if multipath => join::prepare_server()?,
            Side::Client if multipath => joiner = Some(Joiner::prepare(&spec)?),
            Side::Server | Side::Client => {}
        }
        let mut timers = Timers::default();
        timers.add(spec.warm_up_ns, Timer::WarmUp);
        timers.add(spec.duration_ns, Timer::End);
        timers.add(0, Timer::Sample);
        match side {
            Side::Server => sockets.listen(&spec)?,
            Side::Client => {
                for (index, connection) in spec.connections.iter().enumerate() {
                    timers.add(connection.start_ns, Timer::Connect(index));
                }
            }
        }
        Ok(Run {
            side,
            sockets,
            timers,
            begin_ns: 0,
            joiner,
            flows: (0..connections)
                .map(|index| Flow::new(&spec, index, side))
                .collect(),
            samples: Samples::new(&spec),
            buffer: vec![0; BUFFER_BYTES],
            ended: false,
            spec,
        })
    }

    /// Time since the run began; 0 before that.
    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.begin_ns)
    }

    fn at(&mut self, at_ns: u64, timer: Timer) {
        self.timers.add(at_ns, timer);
    }

    /// Runs from `begin_ns` of the monotonic clock on; false if the parent has closed the channel.
    ///
    /// # Errors
    /// Errors that invalidate the run.
    pub(super) fn until_end(&mut self, begin_ns: u64, parent: &mut Parent) -> Result<bool> {
        self.begin_ns = begin_ns;
        self.sockets.watch_parent(parent)?;
        // Commands that arrived with [`Command::Begin`] are in the channel's buffer, which epoll
        // does not see.
        if !self.answer(parent)? {
            return Ok(false);
        }
        while !self.ended {
            self.sockets
                .wait(self.timers.next_ns().map(|at_ns| begin_ns + at_ns))?;
            while let Some((key, readable)) = self.sockets.take() {
                match key {
                    _ if self.ended => break,
                    Key::Parent => {
                        if !self.hear(parent)? {
                            return Ok(false);
                        }
                    }
                    Key::Listener(number) => self.accept(number)?,
                    Key::Connection(index) => self.serve(index, readable)?,
                }
            }
            self.run_timers()?;
        }
        Ok(true)
    }

    /// Reads from the parent and answers; false if the parent has closed the channel.
    fn hear(&mut self, parent: &mut Parent) -> Result<bool> {
        let is_open = parent.fill()?;
        Ok(self.answer(parent)? && is_open)
    }

    /// Answers the commands that have arrived; false if the parent has closed the channel.
    fn answer(&mut self, parent: &mut Parent) -> Result<bool> {
        while let Some(command) = parent.received::<Command>()? {
            match command {
                Command::Look => parent.send(&Event::Looked(self.tell()?))?,
                Command::Begin { .. } | Command::Close => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The state of the connections under test.
    fn tell(&mut self) -> Result<Vec<ConnectionLook>> {
        let now_ns = self.now_ns();
        let backups = diag::list()?.backups();
        let is_backup = |subflow: &SubflowInfo| backups.contains(&(subflow.local, subflow.remote));
        let tell = |flow: &mut Flow| match flow.under_test {
            true => flow.tell(&self.spec, now_ns, is_backup),
            false => Ok(ConnectionLook::default()),
        };
        self.flows.iter_mut().map(tell).collect()
    }

    fn run_timers(&mut self) -> Result<()> {
        // Nothing is due before the run begins.
        let begin_ns = self.begin_ns;
        let elapsed_ns = || monotonic_ns().checked_sub(begin_ns);
        while let Some((at_ns, timer)) = elapsed_ns().and_then(|now_ns| self.timers.pop(now_ns)) {
            self.fire(at_ns, timer)?;
            if self.ended {
                break;
            }
        }
        Ok(())
    }

    fn fire(&mut self, at_ns: u64, timer: Timer) -> Result<()> {
        match timer {
            Timer::Connect(index) => self.connect(index),
            Timer::Wake(index) => {
                let now_ns = self.now_ns();
                let next_ns = self.flows[index].wake(now_ns);
                self.wake_at(index, next_ns);
                self.flows[index].write(&mut self.buffer)?;
                self.watch(index)
            }
            Timer::Join => {
                self.join();
                Ok(())
            }
            Timer::WarmUp => {
                self.look_at_all()?;
                let warm_up_ns = self.spec.warm_up_ns;
                // On a busy machine a connection may open only after the warm-up: then everything
                // that it delivers counts.
                let early = self
                    .flows
                    .iter_mut()
                    .filter(|flow| !flow.has_opened_since(warm_up_ns));
                early.for_each(|flow| flow.begin_measuring(at_ns));
                Ok(())
            }
            Timer::Sample => {
                self.look_at_all()?;
                self.check_subflows()?;
                let now_ns = self.now_ns();
                self.samples.take(at_ns, now_ns, &self.spec, &self.flows);
                // Skips samples that were missed while the machine was suspended or busy.
                let period_ns = self.spec.sample_every_ns;
                self.at(
                    at_ns + period_ns * (1 + now_ns.saturating_sub(at_ns) / period_ns),
                    Timer::Sample,
                );
                Ok(())
            }
            Timer::End => {
                self.look_at_all()?;
                self.end();
                Ok(())
            }
        }
    }

    fn connect(&mut self, index: usize) -> Result<()> {
        let connection = &self.spec.connections[index];
        let (mut from, to) = self.spec.ends(index);
        if self.spec.is_routed(index) {
            from.set_ip(Prefix::all_like(from.ip()).address());
        }
        let socket =
            socket::start_connecting(connection.protocol, from, to, &connection.options())?;
        self.sockets.watch(index, &socket, Interest::Write)?;
        self.flows[index].connecting(socket);
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Result<()> {
        while let Some((socket, peer)) = socket::accept(self.sockets.listener(listener))? {
            let index = self
                .spec
                .connection_of(peer)
                .filter(|index| self.flows[*index].phase == Phase::Waiting);
            let Some(index) = index else {
                return Err(Error::Run(format!(
                    "unexpected connection from {}",
                    canonical(peer)
                )));
            };
            socket::configure(&socket, &self.spec.connections[index].options())?;
            self.sockets.watch(index, &socket, Interest::Read)?;
            self.flows[index].accepted(socket);
            self.opened(index)?;
        }
        Ok(())
    }

    fn opened(&mut self, index: usize) -> Result<()> {
        let now_ns = self.now_ns();
        let next_ns = self.flows[index].opened(now_ns);
        self.wake_at(index, next_ns);
        if now_ns >= self.spec.warm_up_ns {
            // Before the first look, so that earlier data counts.
            self.flows[index].begin_measuring(now_ns);
        }
        self.flows[index].look(&self.spec, now_ns)?;
        self.flows[index].write(&mut self.buffer)?;
        self.watch(index)?;
        if let Some(joiner) = &mut self.joiner {
            joiner.opened(index, &self.spec, now_ns);
            self.join();
        }
        Ok(())
    }

    fn join(&mut self) {
        let (now_ns, flows) = (self.now_ns(), &self.flows);
        let Some(joiner) = &mut self.joiner else {
            return;
        };
        if let Some(next_ns) = joiner.act(&self.spec, now_ns, |index| flows[index].open_socket()) {
            self.at(next_ns.max(now_ns + join::RETRY_NS), Timer::Join);
        }
    }

    fn wake_at(&mut self, index: usize, at_ns: Option<u64>) {
        if let Some(at_ns) = at_ns {
            self.at(at_ns, Timer::Wake(index));
        }
    }

    /// Reads and writes a connection that is ready.
    fn serve(&mut self, index: usize, readable: bool) -> Result<()> {
        let begin_ns = self.begin_ns;
        let now_ns = move || monotonic_ns().saturating_sub(begin_ns);
        let flow = &mut self.flows[index];
        match flow.phase {
            Phase::Waiting | Phase::Finished => return Ok(()),
            Phase::Connecting => {
                let socket = flow
                    .socket()
                    .expect("a connection that is begun has a socket");
                socket::connected(socket, self.spec.ends(index).1)?;
                return self.opened(index);
            }
            Phase::Open => {}
        }
        if readable {
            let next_ns = flow.read(&mut self.buffer, now_ns)?;
            if flow.is_finished() {
                flow.look(&self.spec, now_ns())?;
                return self.finished(index);
            }
            self.wake_at(index, next_ns);
        }
        self.flows[index].write(&mut self.buffer)?;
        self.watch(index)
    }

    /// Waits for room in a socket only while there is data to write.
    fn watch(&mut self, index: usize) -> Result<()> {
        let flow = &self.flows[index];
        let Some(socket) = flow.open_socket() else {
            return Ok(());
        };
        let interest = if flow.wants_to_write() {
            Interest::ReadWrite
        } else {
            Interest::Read
        };
        self.sockets.watch(index, socket, interest)
    }

    /// Handles the end of a connection. The run is over when all connections under test have ended.
    fn finished(&mut self, index: usize) -> Result<()> {
        let socket = self.flows[index]
            .socket()
            .expect("a finished connection has a socket");
        self.sockets.forget(index, socket)?;
        if self
            .flows
            .iter()
            .filter(|flow| flow.under_test)
            .all(Flow::is_finished)
        {
            self.look_at_all()?;
            self.end();
        }
        Ok(())
    }

    fn end(&mut self) {
        self.flows.iter_mut().for_each(Flow::stop);
        self.ended = true;
    }

    fn look_at_all(&mut self) -> Result<()> {
        let now_ns = self.now_ns();
        let mut open = self
            .flows
            .iter_mut()
            .filter(|flow| flow.phase == Phase::Open);
        open.try_for_each(|flow| flow.look(&self.spec, now_ns))
    }

    fn check_subflows(&self) -> Result<()> {
        let (Side::Client, Some(patience_ns)) = (self.side, self.spec.join_within_ns) else {
            return Ok(());
        };
        let now_ns = self.now_ns();
        for flow in self
            .flows
            .iter()
            .filter(|flow| self.spec.connections[flow.index].protocol == Protocol::Mptcp)
        {
            let Some(place) = flow.overdue(&self.spec, now_ns, patience_ns) else {
                continue;
            };
            let connection = &self.spec.connections[flow.index];
            let path = &self.spec.paths[connection.paths[place]];
            let why = self
                .joiner
                .as_ref()
                .and_then(|joiner| joiner.failure(flow.index, place));
            let why = why.map_or_else(String::new, |error| format!(": {error}"));
            return Err(Error::Run(format!(
                "the subflow of {} over {} did not open within {} s{why}",
                connection.name,
                path.name,
                patience_ns as f64 / 1e9
            )));
        }
        Ok(())
    }

    /// The report, and the sockets that must stay open until the other end has its own.
    pub(super) fn report(self) -> (Report, (Vec<OwnedFd>, Vec<OwnedFd>)) {
        let ended_ns = self.now_ns().min(self.spec.duration_ns);
        let mut report = Report {
            ended_ns,
            samples: self.samples.into_vec(),
            connections: vec![],
        };
        let mut sockets = vec![];
        for mut flow in self.flows {
            sockets.extend(flow.take_socket());
            report.connections.push(flow.report(ended_ns));
        }
        (report, (sockets, self.sockets.into_listeners()))
    }
}
