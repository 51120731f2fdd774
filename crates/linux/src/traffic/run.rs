//! The loop of one end: one thread, one epoll, one timer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::error::{Doing, Error, Result};
use crate::mptcp::diag;
use crate::mptcp::info::{SubflowInfo, canonical};
use crate::mptcp::socket::{self, Protocol};
use crate::worker::Parent;

use super::flow::{Flow, Phase, Side};
use super::join::{self, Joiner};
use super::look::ConnectionLook;
use super::report::Report;
use super::samples::Samples;
use super::spec::{Command, Event, Spec};

/// What epoll says for the parent's channel, the timer and the first listener; connections follow.
const PARENT: u64 = 0;
const TIMER: u64 = 1;
const LISTENERS: u64 = 2;
const CONNECTIONS: u64 = 1 << 16;
/// Room for what one connection reads or writes at once, bytes.
const BUFFER_BYTES: usize = 1 << 18;
const NS_PER_S: u64 = 1_000_000_000;

/// An instant at which something is to be done. The order only matters between things of one instant.
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
struct Run {
    spec: Spec,
    side: Side,
    epoll: OwnedFd,
    timer: OwnedFd,
    timers: BinaryHeap<Reverse<(u64, Timer)>>,
    begin_ns: u64,
    listeners: Vec<OwnedFd>,
    joiner: Option<Joiner>,
    flows: Vec<Flow>,
    samples: Samples,
    buffer: Vec<u8>,
    ended: bool,
}

/// The worker's role: gets its [`Spec`], says [`Event::Ready`], waits for [`Command::Begin`], runs, reports, waits for
/// [`Command::Close`].
pub(crate) fn work(parent: &mut Parent, side: Side) -> Result<()> {
    let Some(spec) = parent.receive::<Spec>()? else { return Ok(()) };
    spec.check()?;
    let mut run = Run::prepare(spec, side)?;
    parent.send(&Event::Ready)?;
    match parent.receive::<Command>()? {
        Some(Command::Begin { at_ns }) => run.begin_ns = at_ns,
        Some(Command::Look | Command::Close) | None => return Ok(()),
    }
    run.add(parent.as_fd(), PARENT, EventFlags::IN).doing("watching the parent")?;
    if !run.until_end(parent)? {
        return Ok(());
    }
    let (report, sockets) = run.report();
    parent.send(&Event::Done(Box::new(report)))?;
    // Nobody may miss a subflow that the other end has not counted yet.
    let closed = loop {
        match parent.receive::<Command>() {
            // Asked before it heard of the end.
            Ok(Some(Command::Look)) => {}
            other => break other,
        }
    };
    drop(sockets);
    closed.map(|_| ())
}

/// The monotonic clock, ns: the same in all namespaces.
pub fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64
}

impl Run {
    fn prepare(spec: Spec, side: Side) -> Result<Self> {
        let flows = (0..spec.connections.len()).map(|index| Flow::new(&spec, index, side)).collect();
        let multipath = spec.connections.iter().any(|connection| connection.paths.len() > 1);
        let mut run = Run {
            side,
            epoll: epoll::create(CreateFlags::CLOEXEC).doing("making an epoll")?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
                .doing("making a timer")?,
            timers: BinaryHeap::new(),
            begin_ns: 0,
            listeners: vec![],
            joiner: None,
            flows,
            samples: Samples::new(&spec),
            buffer: vec![0; BUFFER_BYTES],
            ended: false,
            spec,
        };
        run.add(run.timer.as_fd(), TIMER, EventFlags::IN).doing("watching the timer")?;
        match side {
            Side::Server if multipath => join::prepare_server()?,
            Side::Client if multipath => run.joiner = Some(Joiner::prepare(&run.spec)?),
            Side::Server | Side::Client => {}
        }
        run.at(run.spec.warm_up_ns, Timer::WarmUp);
        run.at(run.spec.duration_ns, Timer::End);
        run.at(0, Timer::Sample);
        match side {
            Side::Server => run.listen()?,
            Side::Client => {
                for index in 0..run.flows.len() {
                    run.at(run.spec.connections[index].start_ns, Timer::Connect(index));
                }
            }
        }
        Ok(run)
    }

    /// One listener per address and protocol. It stays: further subflows come to it, too.
    fn listen(&mut self) -> Result<()> {
        let mut wanted: Vec<_> = (0..self.flows.len())
            .map(|index| (self.spec.ends(index).1, self.spec.connections[index].protocol, index))
            .collect();
        wanted.sort_by_key(|(at, _, _)| *at);
        wanted.dedup_by_key(|(at, _, _)| *at);
        for (at, protocol, index) in wanted {
            // Buffers are told in the handshake: those of the first connection hold until accept() knows better.
            let options = self.spec.connections[index].options();
            let listener = socket::listen(protocol, at, &options, u16::MAX >> 3)?;
            let number = LISTENERS + self.listeners.len() as u64;
            self.add(listener.as_fd(), number, EventFlags::IN).doing("watching a listener")?;
            self.listeners.push(listener);
        }
        Ok(())
    }

    fn add(&self, file: impl AsFd, data: u64, events: EventFlags) -> rustix::io::Result<()> {
        epoll::add(&self.epoll, file, EventData::new_u64(data), events)
    }

    /// Time since the run began; 0 before.
    fn now_ns(&self) -> u64 {
        clock_ns().saturating_sub(self.begin_ns)
    }

    fn at(&mut self, at_ns: u64, timer: Timer) {
        self.timers.push(Reverse((at_ns, timer)));
    }

    /// False if the parent wants to hear no more.
    fn until_end(&mut self, parent: &mut Parent) -> Result<bool> {
        let mut events = Vec::with_capacity(256);
        while !self.ended {
            self.set_timer().doing("setting the timer")?;
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::io("waiting for events", errno)),
            }
            for event in &events {
                if self.ended {
                    break;
                }
                match event.data.u64() {
                    PARENT => {
                        if !self.hear(parent)? {
                            return Ok(false);
                        }
                    }
                    TIMER => {}
                    listener @ LISTENERS..CONNECTIONS => self.accept((listener - LISTENERS) as usize)?,
                    connection => self.serve((connection - CONNECTIONS) as usize, event.flags)?,
                }
            }
            self.run_timers()?;
        }
        Ok(true)
    }

    /// False if the parent wants no more than that.
    fn hear(&mut self, parent: &mut Parent) -> Result<bool> {
        let open = parent.fill()?;
        while let Some(command) = parent.received::<Command>()? {
            match command {
                Command::Look => parent.send(&Event::Looked(self.tell()?))?,
                Command::Begin { .. } | Command::Close => return Ok(false),
            }
        }
        Ok(open)
    }

    /// The connections under test as they are.
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

    fn set_timer(&self) -> rustix::io::Result<()> {
        let Some(Reverse((at_ns, _))) = self.timers.peek() else { return Ok(()) };
        let at_ns = (self.begin_ns + at_ns).max(1);
        let value = Timespec { tv_sec: (at_ns / NS_PER_S) as i64, tv_nsec: (at_ns % NS_PER_S) as i64 };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec).map(|_| ())
    }

    fn run_timers(&mut self) -> Result<()> {
        while let Some(&Reverse((at_ns, timer))) = self.timers.peek() {
            if self.ended || clock_ns() < self.begin_ns + at_ns {
                break;
            }
            self.timers.pop();
            self.fire(at_ns, timer)?;
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
                self.flows.iter_mut().for_each(Flow::begin_measuring);
                Ok(())
            }
            Timer::Sample => {
                self.look_at_all()?;
                self.check_subflows()?;
                let now_ns = self.now_ns();
                self.samples.take(at_ns, now_ns, &self.spec, &self.flows);
                // After a pause of the machine: no burst of samples.
                let period_ns = self.spec.sample_every_ns;
                self.at(at_ns + period_ns * (1 + now_ns.saturating_sub(at_ns) / period_ns), Timer::Sample);
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
        let (from, to) = self.spec.ends(index);
        let socket = socket::start_connecting(connection.protocol, from, to, &connection.options())?;
        self.add(socket.as_fd(), CONNECTIONS + index as u64, EventFlags::OUT)
            .doing("watching a connection")?;
        self.flows[index].connecting(socket);
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Result<()> {
        while let Some((socket, peer)) = socket::accept(&self.listeners[listener])? {
            let index =
                self.spec.connection_of(peer).filter(|index| self.flows[*index].phase == Phase::Waiting);
            let Some(index) = index else {
                return Err(Error::Run(format!(
                    "{} connects, which is none of the clients",
                    canonical(peer)
                )));
            };
            socket::configure(&socket, &self.spec.connections[index].options())?;
            self.add(socket.as_fd(), CONNECTIONS + index as u64, EventFlags::IN)
                .doing("watching a connection")?;
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
            // Before the first look: what came until then counts.
            self.flows[index].begin_measuring();
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
        let Some(joiner) = &mut self.joiner else { return };
        if let Some(next_ns) = joiner.act(&self.spec, now_ns, |index| flows[index].open_socket()) {
            self.at(next_ns.max(now_ns + join::RETRY_NS), Timer::Join);
        }
    }

    fn wake_at(&mut self, index: usize, at_ns: Option<u64>) {
        if let Some(at_ns) = at_ns {
            self.at(at_ns, Timer::Wake(index));
        }
    }

    /// Something has happened to a connection.
    fn serve(&mut self, index: usize, flags: EventFlags) -> Result<()> {
        let begin_ns = self.begin_ns;
        let now_ns = move || clock_ns().saturating_sub(begin_ns);
        let flow = &mut self.flows[index];
        match flow.phase {
            Phase::Waiting | Phase::Finished => return Ok(()),
            Phase::Connecting => {
                let socket = flow.socket().expect("a connection that is begun has a socket");
                socket::connected(socket, self.spec.ends(index).1)?;
                return self.opened(index);
            }
            Phase::Open => {}
        }
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP) {
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

    /// Waits for room in a socket only while there is something to write.
    fn watch(&mut self, index: usize) -> Result<()> {
        let flow = &self.flows[index];
        let Some(socket) = flow.open_socket() else { return Ok(()) };
        let room = if flow.wants_to_write() { EventFlags::OUT } else { EventFlags::empty() };
        epoll::modify(
            &self.epoll,
            socket,
            EventData::new_u64(CONNECTIONS + index as u64),
            EventFlags::IN | room,
        )
        .doing("watching a connection")
    }

    /// The run is over when every connection under test is, unless one of them has no end.
    fn finished(&mut self, index: usize) -> Result<()> {
        let socket = self.flows[index].socket().expect("a finished connection has a socket");
        epoll::delete(&self.epoll, socket).doing("watching a connection no more")?;
        if self.flows.iter().filter(|flow| flow.under_test).all(Flow::is_finished) {
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
        let mut open = self.flows.iter_mut().filter(|flow| flow.phase == Phase::Open);
        open.try_for_each(|flow| flow.look(&self.spec, now_ns))
    }

    fn check_subflows(&self) -> Result<()> {
        let (Side::Client, Some(patience_ns)) = (self.side, self.spec.join_within_ns) else { return Ok(()) };
        let now_ns = self.now_ns();
        for flow in
            self.flows.iter().filter(|flow| self.spec.connections[flow.index].protocol == Protocol::Mptcp)
        {
            let Some(place) = flow.overdue(&self.spec, now_ns, patience_ns) else { continue };
            let connection = &self.spec.connections[flow.index];
            let path = &self.spec.paths[connection.paths[place]];
            let why = self.joiner.as_ref().and_then(|joiner| joiner.failure(flow.index, place));
            let why = why.map_or_else(String::new, |error| format!(": {error}"));
            return Err(Error::Run(format!(
                "the subflow of {} over {} did not come up within {} s{why}",
                connection.name,
                path.name,
                patience_ns as f64 / 1e9
            )));
        }
        Ok(())
    }

    /// The report, and what must stay open until the other end has its own.
    fn report(self) -> (Report, impl Sized) {
        let ended_ns = self.now_ns().min(self.spec.duration_ns);
        let mut report = Report { ended_ns, samples: self.samples.into_vec(), connections: vec![] };
        let mut sockets = vec![];
        for mut flow in self.flows {
            sockets.extend(flow.take_socket());
            report.connections.push(flow.report());
        }
        (report, (sockets, self.listeners))
    }
}
